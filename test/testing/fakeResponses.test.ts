/** The fake server as OpenAI's Responses, tested by the official client and by a client that makes mistakes. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect } from "effect"
import type OpenAI from "openai"
import { collected, openAiClient, post } from "../support/officialClients.ts"
import { both, comparing, script } from "../support/twoCities.ts"

const user = { role: "user", content: "Hello?" }
const call = (id: string, fields: object = {}) => ({
  type: "function_call",
  call_id: id,
  name: "ping",
  arguments: "{}",
  ...fields
})
const output = (id: string) => ({ type: "function_call_output", call_id: id, output: "pong" })
const tool = {
  type: "function" as const,
  name: "get_weather",
  description: "The weather",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  strict: false
}

const ask: Pick<OpenAI.Responses.ResponseCreateParams, "model" | "tools" | "store" | "include"> = {
  model: "any",
  tools: [tool],
  store: false,
  include: ["reasoning.encrypted_content"]
}

const sendRequest = (fields: object, options?: FakeModelServer.Options) =>
  Effect.gen(function*() {
    const server = yield* FakeModelServer.make(() => both, options)
    const answered = yield* post(`${server.url}/v1/responses`, { model: "any", ...fields })
    const { requests } = yield* server.state
    assert.strictEqual(requests[0]?.problem === undefined, answered.status === 200)
    return { ...answered, json: JSON.parse(answered.body), asked: requests[0]?.asked }
  }).pipe(Effect.scoped)

describe("FakeModelServer as responses", () => {
  for (const stream of [false, true]) {
    it.live(`leads a conversation with the official client, ${stream ? "streamed" : "whole"}`, () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.make(script, stream ? { split: 1 } : {})
        const client = openAiClient(server.url)
        const respond = (input: OpenAI.Responses.ResponseInput) =>
          Effect.promise(async () => {
            if (!stream) return client.responses.create({ ...ask, input })
            const events = await collected(await client.responses.create({ ...ask, input, stream: true }))
            const last = events.at(-1)
            if (last?.type !== "response.completed") throw new Error(`The stream ended with ${last?.type}.`)
            assert.deepStrictEqual(events.map((event) => event.sequence_number), events.map((_, index) => index))
            assert.strictEqual(
              events.flatMap((event) => event.type === "response.output_text.delta" ? [event.delta] : []).join(""),
              last.response.output.flatMap((item) => item.type === "message" ? item.content : [])
                .flatMap((part) => part.type === "output_text" ? [part.text] : []).join("")
            )
            assert.deepStrictEqual(
              events.flatMap((event) => event.type === "response.output_item.done" ? [event.item.type] : []),
              last.response.output.map(({ type }) => type)
            )
            return last.response
          })

        const first = yield* respond([{ role: "user", content: "Which is warmer?" }])
        const [reasoning, message, ...calls] = first.output
        assert.deepInclude(reasoning, {
          type: "reasoning",
          summary: [{ type: "summary_text", text: both.reasoning }]
        })
        assert.isString(reasoning?.type === "reasoning" && reasoning.encrypted_content)
        assert.deepInclude(message, { type: "message", role: "assistant" })
        assert.deepStrictEqual(
          calls.map((item) => item.type === "function_call" && [item.call_id, item.name, item.arguments]),
          [["call_1", "get_weather", "{\"city\":\"Paris\"}"], ["call_2", "get_weather", "{\"city\":\"Zürich\"}"]]
        )
        assert.deepInclude(first.usage, {
          input_tokens: 100,
          input_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
          output_tokens: 50,
          output_tokens_details: { reasoning_tokens: 20 },
          total_tokens: 150
        })
        const second = yield* respond([
          { role: "user", content: "Which is warmer?" },
          ...first.output as OpenAI.Responses.ResponseInput,
          { type: "function_call_output", call_id: "call_2", output: "15 °C" },
          { type: "function_call_output", call_id: "call_1", output: "18 °C" }
        ])
        assert.strictEqual(second.output.length, 1)
        assert.deepInclude(second.output[0], { type: "message", status: "completed" })
        assert.isNull(second.usage)
        const { requests } = yield* server.state
        assert.deepStrictEqual(requests.map(({ format, problem }) => [format, problem]), [
          ["responses", undefined],
          ["responses", undefined]
        ])
        assert.deepStrictEqual(requests[1]?.asked, {
          messages: [
            ...comparing,
            { role: "tool", callId: "call_2", name: "get_weather", text: "15 °C" },
            { role: "tool", callId: "call_1", name: "get_weather", text: "18 °C" }
          ],
          tools: [{ name: tool.name, description: tool.description, parameters: tool.parameters }],
          options: {}
        })
      }).pipe(Effect.scoped))
  }

  it.live("streams the pieces of several calls in turn, and a summary before them", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make(script)
      const events = yield* Effect.promise(async () =>
        collected(await openAiClient(server.url).responses.create({ ...ask, input: "Which?", stream: true }))
      )
      const pieces = events.flatMap((event) =>
        event.type === "response.function_call_arguments.delta" ? [event.output_index] : []
      )
      assert.deepStrictEqual(pieces.slice(0, 4), [2, 3, 2, 3])
      assert.strictEqual(
        events.flatMap((event) => event.type === "response.reasoning_summary_text.delta" ? [event.delta] : []).join(""),
        both.reasoning
      )
      const added = events.find((event) => event.type === "response.output_item.added")
      const item = added?.type === "response.output_item.added" ? added.item : undefined
      assert.deepInclude(item, { type: "reasoning", summary: [] })
      assert.notProperty(item, "encrypted_content")
    }).pipe(Effect.scoped))

  it.live("sends the items of a script as they are, and encrypts reasoning", () =>
    Effect.gen(function*() {
      const before = [{ type: "reasoning", id: "rs_own", summary: [] }, { type: "web_search_call", id: "ws_1" }]
      const native = { responses: { before, status: "failed", error: { code: "server_error", message: "Oh no." } } }
      const server = yield* FakeModelServer.make(() => ({ ...ScriptedModel.text("Hello."), native }))
      const url = `${server.url}/v1/responses`
      const { body } = yield* post(url, { input: "Hello?", ...ask })
      const { error, output: [own, search, message] } = JSON.parse(body)
      assert.deepStrictEqual(search, before[1])
      assert.strictEqual(message.content[0].text, "Hello.")
      assert.strictEqual(error.message, "Oh no.")
      const again = yield* post(url, { ...ask, input: [user, own, message], stream: true })
      assert.strictEqual(again.status, 200, again.body)
      assert.include(again.body, "event: response.failed\n")
    }).pipe(Effect.scoped))

  it.live("accepts an id again when its call has been answered", () =>
    Effect.gen(function*() {
      const { status } = yield* sendRequest({ input: [user, call("1"), output("1"), call("1"), output("1")] })
      assert.strictEqual(status, 200)
    }))

  it.live("keeps the items of stored replies for references", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make(() => both)
      const send = (fields: object) => post(`${server.url}/v1/responses`, { model: "any", input: "Hello?", ...fields })
      const references = (body: string) => [
        user,
        ...JSON.parse(body).output.map(({ id }: { readonly id: string }) => ({ type: "item_reference", id })),
        output("call_1"),
        output("call_2")
      ]
      const { body: unstored } = yield* send({ store: false })
      assert.include((yield* send({ input: references(unstored) })).body, "not found.")
      const { body: stored } = yield* send({})
      assert.strictEqual((yield* send({ input: references(stored) })).status, 200)
      const { requests } = yield* server.state
      assert.deepInclude(requests.at(-1)?.asked?.messages[1], { role: "assistant", text: both.text, calls: both.calls })
    }).pipe(Effect.scoped))

  it.live("accepts images, files and instructions", () =>
    Effect.gen(function*() {
      const content = [
        { type: "input_text", text: "What is this?" },
        { type: "input_image", image_url: "data:image/png;base64,AAAA" },
        { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" }
      ]
      const { asked, status } = yield* sendRequest({
        instructions: "Be brief.",
        input: [{ role: "developer", content: "Be kind." }, { role: "user", content }],
        tools: [{ ...tool, strict: true, parameters: { type: "object", properties: {}, additionalProperties: false } }],
        tool_choice: { type: "function", name: tool.name },
        parallel_tool_calls: false,
        temperature: 0.5,
        max_output_tokens: 16,
        reasoning: { effort: "low" }
      })
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(asked?.messages, [
        { role: "system", text: "Be brief." },
        { role: "system", text: "Be kind." },
        { role: "user", text: "What is this?", files: [{ mediaType: "image/png", base64: "AAAA" }] }
      ])
      assert.deepStrictEqual(asked?.options, {
        toolChoice: { tool: tool.name },
        parallelCalls: false,
        temperature: 0.5,
        maxTokens: 16,
        provider: { reasoning: { effort: "low" } }
      })
    }))

  const rs = { type: "reasoning", id: "rs_x", summary: [] }
  for (
    const [what, fields, says] of [
      [
        "an output without its call",
        { input: [user, output("1")] },
        "No tool call found for function call output with call_id 1."
      ],
      ["a call without its output", { input: [user, call("1"), call("2"), output("1"), user] }, "for function call 2."],
      [
        "two calls of one id",
        { input: [user, call("1"), call("1"), output("1")] },
        "No tool output found for function call 1."
      ],
      ["a second output", { input: [user, call("1"), output("1"), output("1")] }, "with call_id 1."],
      [
        "reasoning at the end",
        { input: [user, rs] },
        "Item 'rs_x' of type 'reasoning' was provided without its required following item."
      ],
      [
        "reasoning before a question",
        { input: [user, rs, user] },
        "'rs_x' of type 'reasoning' was provided without its required following item."
      ],
      [
        "reasoning before the call of other reasoning",
        {
          input: [
            user,
            { ...rs, id: "rs_y" },
            call("0"),
            output("0"),
            rs,
            call("1", { id: "fc_y_after_1" }),
            output("1")
          ]
        },
        "'rs_x' of type 'reasoning' was provided without its required following item."
      ],
      [
        "a call without the reasoning that it came with",
        { input: [user, call("1", { id: "fc_x_after_1" }), output("1")] },
        "Item 'fc_x_after_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_x'."
      ],
      [
        "reasoning that nobody has stored",
        { input: [user, rs, call("1"), output("1")], store: false },
        "Item with id 'rs_x' not found. Items are not persisted when `store` is set to false."
      ],
      [
        "changed encrypted content",
        { input: [user, { ...rs, encrypted_content: "AAAA" }, call("1"), output("1")] },
        "The encrypted content for item rs_x could not be verified."
      ],
      ["a reference to an item", { input: [{ type: "item_reference", id: "rs_x" }] }, "Item with id 'rs_x' not found."],
      [
        "an id of another kind",
        { input: [call("1", { id: "call_1" }), output("1")] },
        "Invalid value for 'input[0].id'"
      ],
      ["arguments that are no object", { input: [call("1", { arguments: "[" }), output("1")] }, "'input[0].arguments'"],
      ["an unknown field", { input: "Hello?", stop: ["."] }, "Unknown parameter: 'stop'."],
      ["an unknown field of an item", { input: [user, call("1", { x: 1 })] }, "Unknown parameter: 'input[1].x'."],
      ["no input", {}, "Missing required parameter: 'input'."],
      [
        "text of the wrong side",
        { input: [{ role: "assistant", content: [{ type: "input_text", text: "." }] }] },
        "input[0]"
      ],
      ["too small a limit", { input: "Hello?", max_output_tokens: 15 }, "'max_output_tokens'"],
      [
        "an earlier response",
        { input: "Hello?", previous_response_id: "resp_9" },
        "response with id 'resp_9' not found."
      ],
      [
        "a choice without tools",
        { input: "Hello?", tool_choice: "required" },
        "'required' must be specified with 'tools'"
      ],
      [
        "a chosen tool that is not there",
        { input: "Hello?", tools: [tool], tool_choice: { type: "function", name: "pong" } },
        "Tool choice 'pong' not found in 'tools' parameter."
      ],
      ["a tool with a bad name", { input: "Hello?", tools: [{ ...tool, name: "a b" }] }, "'tools[0].name'"],
      [
        "an open schema of a strict tool",
        { input: "Hello?", tools: [{ ...tool, strict: true }] },
        "Invalid schema for function 'get_weather': In context=(), 'additionalProperties' is required"
      ]
    ] as const
  ) {
    it.live(`refuses ${what}`, () =>
      Effect.gen(function*() {
        const { json, status } = yield* sendRequest(fields)
        assert.strictEqual(status, 400)
        assert.include(json.error.message, says)
        assert.deepInclude(json.error, { type: "invalid_request_error", param: null, code: null })
      }))
  }
})
