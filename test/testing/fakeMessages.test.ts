/** The fake server as Anthropic's Messages, tested by the official client and by a client that makes mistakes. */
import type Anthropic from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect } from "effect"
import { anthropicClient, collected, post } from "../support/officialClients.ts"
import { both, comparing, script } from "../support/twoCities.ts"

const user = { role: "user", content: "Hello?" }
const says = (...content: ReadonlyArray<object>) => ({ role: "user", content })
const replies = (...content: ReadonlyArray<object>) => ({ role: "assistant", content })
const use = (id: string, fields: object = {}) => ({ type: "tool_use", id, name: "ping", input: {}, ...fields })
const result = (id: string, fields: object = {}) => ({
  type: "tool_result",
  tool_use_id: id,
  content: "pong",
  ...fields
})
const text = (text: string, fields: object = {}) => ({ type: "text", text, ...fields })
const cached = { cache_control: { type: "ephemeral" } }
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }
const tool = {
  name: "get_weather",
  description: "The weather",
  input_schema: { type: "object" as const, properties: { city: { type: "string" } } }
}
const version = { "anthropic-version": "2023-06-01" }

const ask = {
  model: "any",
  max_tokens: 4096,
  tools: [tool],
  thinking: { type: "enabled" as const, budget_tokens: 1024 }
}

const sendRequest = (fields: object, headers: Record<string, string> = version) =>
  Effect.gen(function*() {
    const server = yield* FakeModelServer.make(() => both)
    const answered = yield* post(`${server.url}/v1/messages`, { model: "any", max_tokens: 10, ...fields }, headers)
    const { requests } = yield* server.state
    assert.strictEqual(requests[0]?.problem === undefined, answered.status === 200)
    return { ...answered, json: JSON.parse(answered.body), asked: requests[0]?.asked }
  }).pipe(Effect.scoped)

describe("FakeModelServer as messages", () => {
  for (const stream of [false, true]) {
    it.live(`leads a conversation with the official client, ${stream ? "streamed" : "whole"}`, () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.make(script, stream ? { split: 1 } : {})
        const client = anthropicClient(server.url)
        const respond = (messages: Array<Anthropic.MessageParam>) =>
          Effect.promise(() =>
            stream
              ? client.messages.stream({ ...ask, messages }).finalMessage()
              : client.messages.create({ ...ask, messages })
          )
        const first = yield* respond([{ role: "user", content: "Which is warmer?" }])
        const [thinking, said, ...uses] = first.content
        assert.deepInclude(thinking, { type: "thinking", thinking: both.reasoning })
        assert.deepInclude(said, { type: "text", text: both.text })
        assert.deepStrictEqual(
          uses.map((block) => block.type === "tool_use" && [block.id, block.name, block.input]),
          [["call_1", "get_weather", { city: "Paris" }], ["call_2", "get_weather", { city: "Zürich" }]]
        )
        assert.strictEqual(first.stop_reason, "tool_use")
        assert.deepInclude(first.usage, {
          input_tokens: 30,
          cache_read_input_tokens: 60,
          cache_creation_input_tokens: 10,
          output_tokens: 50,
          output_tokens_details: { thinking_tokens: 20 }
        })
        const second = yield* respond([
          { role: "user", content: "Which is warmer?" },
          { role: "assistant", content: first.content as Array<Anthropic.ContentBlockParam> },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "call_2", content: "15 °C" },
              { type: "tool_result", tool_use_id: "call_1", content: [{ type: "text", text: "18 °C" }] },
              { type: "text", text: "Now?" }
            ]
          }
        ])
        assert.deepInclude(second.content.at(-1), { type: "text", text: "Paris is warmer." })
        // A model that must think has thought.
        assert.deepInclude(second.content[0], { type: "thinking", thinking: "" })
        assert.strictEqual(second.stop_reason, "end_turn")
        assert.strictEqual(second.usage.output_tokens, 0)
        const { requests } = yield* server.state
        assert.deepStrictEqual(requests.map(({ format, problem }) => [format, problem]), [
          ["messages", undefined],
          ["messages", undefined]
        ])
        assert.deepStrictEqual(requests[1]?.asked, {
          messages: [
            ...comparing,
            { role: "tool", callId: "call_2", name: "get_weather", text: "15 °C" },
            { role: "tool", callId: "call_1", name: "get_weather", text: "18 °C" },
            { role: "user", text: "Now?" }
          ],
          tools: [{ name: tool.name, description: tool.description, parameters: tool.input_schema }],
          options: { maxTokens: 4096, provider: { thinking: ask.thinking } }
        })
      }).pipe(Effect.scoped))
  }

  it.live("streams the events of the real server, in its order", () =>
    Effect.gen(function*() {
      const reply = { ...ScriptedModel.call("get_weather", "[1"), reasoning: "Hm." }
      const server = yield* FakeModelServer.make([reply])
      const { body } = yield* post(
        `${server.url}/v1/messages`,
        { ...ask, messages: [user], stream: true },
        version
      )
      const events = body.split("\n\n").filter((text) => text !== "").map((text) => {
        const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(text) ?? []
        const event = JSON.parse(data ?? "")
        assert.strictEqual(event.type, name)
        return event.delta?.type === undefined ? name : event.delta.type
      })
      assert.strictEqual(
        events.join(" "),
        "message_start ping " +
          "content_block_start thinking_delta signature_delta content_block_stop " +
          "content_block_start input_json_delta input_json_delta content_block_stop " +
          "message_delta message_stop"
      )
    }).pipe(Effect.scoped))

  it.live("sends the blocks of a script as they are, and signs thinking", () =>
    Effect.gen(function*() {
      const before = [{ type: "redacted_thinking", data: "AAAA" }, { type: "thinking", thinking: "Hm." }]
      const native = { messages: { before, stop_reason: "pause_turn" } }
      const server = yield* FakeModelServer.make(() => ({ ...ScriptedModel.text("Hello."), native }))
      const client = anthropicClient(server.url)
      const messages: Array<Anthropic.MessageParam> = [{ role: "user", content: "Hello?" }]
      const whole = yield* Effect.promise(() => client.messages.create({ ...ask, messages }))
      const streamed = yield* Effect.promise(() => client.messages.stream({ ...ask, messages }).finalMessage())
      assert.deepStrictEqual(streamed.content, whole.content)
      assert.deepStrictEqual(whole.content.map(({ type }) => type), ["redacted_thinking", "thinking", "text"])
      assert.strictEqual(whole.stop_reason, "pause_turn")
      assert.strictEqual(streamed.stop_reason, "pause_turn")
      const content = whole.content as Array<Anthropic.ContentBlockParam>
      yield* Effect.promise(() =>
        client.messages.create({ ...ask, messages: [...messages, { role: "assistant", content }, ...messages] })
      )
    }).pipe(Effect.scoped))

  it.live("sends argument text that is not JSON: in pieces as it is, whole as a string", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make(() => ScriptedModel.call("get_weather", "{\"city\":"))
      const client = anthropicClient(server.url)
      const asking = { model: "any", max_tokens: 10, messages: [{ role: "user" as const, content: "Hello?" }] }
      const whole = yield* Effect.promise(() => client.messages.create(asking))
      assert.deepInclude(whole.content[0], { type: "tool_use", input: "{\"city\":" })
      const events = yield* Effect.promise(async () =>
        collected(await client.messages.create({ ...asking, stream: true }))
      )
      assert.strictEqual(
        events.flatMap((event) =>
          event.type === "content_block_delta" && event.delta.type === "input_json_delta"
            ? [event.delta.partial_json]
            : []
        ).join(""),
        "{\"city\":"
      )
    }).pipe(Effect.scoped))

  it.live("accepts images, documents, a system text, and messages of one role that follow each other", () =>
    Effect.gen(function*() {
      const document = { type: "document", source: { type: "url", url: "https://example.com/a.pdf" } }
      const { asked, body, status } = yield* sendRequest({
        system: [text("Be brief.", cached)],
        messages: [
          user,
          says(text("What is this?"), image, document),
          replies(use("1")),
          replies(use("2")),
          says(result("1", { content: [text("pong"), image] })),
          says(result("2", { is_error: true })),
          { role: "assistant", content: "" }
        ],
        tools: [{ ...tool, ...cached }],
        tool_choice: { type: "any", disable_parallel_tool_use: true },
        temperature: 0.5
      })
      assert.strictEqual(status, 200, body)
      assert.deepStrictEqual(asked?.messages, [
        { role: "system", text: "Be brief." },
        { role: "user", text: "Hello?What is this?", files: [{ mediaType: "image/png", base64: "AAAA" }] },
        {
          role: "assistant",
          text: "",
          calls: [{ id: "1", name: "ping", arguments: "{}" }, { id: "2", name: "ping", arguments: "{}" }]
        },
        { role: "tool", callId: "1", name: "ping", text: "pong" },
        { role: "tool", callId: "2", name: "ping", text: "pong" },
        { role: "assistant", text: "", calls: [] }
      ])
      assert.deepStrictEqual(asked?.options, {
        maxTokens: 10,
        temperature: 0.5,
        toolChoice: "required",
        parallelCalls: false
      })
    }))

  it.live("demands the header of its version", () =>
    Effect.gen(function*() {
      const { json, status } = yield* sendRequest({ messages: [user] }, {})
      assert.strictEqual(status, 400)
      assert.deepInclude(json.error, {
        type: "invalid_request_error",
        message: "anthropic-version: header is required"
      })
    }))

  const five = says(...Array.from({ length: 5 }, () => text("Hello?", cached)))
  const thinking = { thinking: ask.thinking, max_tokens: 4096 }
  for (
    const [what, fields, message] of [
      ["no limit", { max_tokens: undefined, messages: [user] }, "max_tokens: Field required"],
      ["an unknown field", { messages: [user], n: 1 }, "n: Extra inputs are not permitted"],
      [
        "an unknown field of a block",
        { messages: [user, replies(text(".", { x: 1 })), user] },
        "messages.1.content.0.x: Extra inputs are not permitted"
      ],
      ["an answer first", { messages: [replies(text("."))] }, "first message must use the \"user\" role"],
      [
        "an empty message",
        { messages: [user, { role: "assistant", content: "" }, user] },
        "messages.1: all messages must have non-empty content except for the optional final assistant message"
      ],
      ["an empty text", { messages: [says(text(""))] }, "messages: text content blocks must be non-empty"],
      ["a blank text", { messages: [says(text(" "))] }, "text content blocks must contain non-whitespace text"],
      [
        "whitespace at the end",
        { messages: [user, { role: "assistant", content: "Hello. " }] },
        "messages: final assistant content cannot end with trailing whitespace"
      ],
      [
        "a call without its result",
        { messages: [user, replies(use("1"), use("2")), says(result("1"))] },
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 2."
      ],
      ["a call at the end", { messages: [user, replies(use("1"))] }, "immediately after: 1."],
      [
        "a result after a text",
        { messages: [user, replies(use("1")), says(text("Here:"), result("1"))] },
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 1."
      ],
      [
        "a result without its call",
        { messages: [user, replies(use("1")), says(result("1"), result("9"))] },
        "unexpected `tool_use_id` found in `tool_result` blocks: 9."
      ],
      [
        "a second result",
        { messages: [user, replies(use("1")), says(result("1"), result("1"))] },
        "Found multiple `tool_result` blocks with id: 1"
      ],
      [
        "two calls of one id",
        { messages: [user, replies(use("1"), use("1")), says(result("1"))] },
        "ids must be unique"
      ],
      ["a call of the user", { messages: [says(use("1"))] }, "`tool_use` blocks can only be in `assistant` messages"],
      ["a result of the assistant", { messages: [user, replies(result("1"))] }, "can only be in `user` messages"],
      [
        "an input that is no object",
        { messages: [user, replies(use("1", { input: "{}" })), says(result("1"))] },
        "messages.1.content.0.input: "
      ],
      ["a bad name", { messages: [user], tools: [{ ...tool, name: "a.b" }] }, "tools.0.name: "],
      [
        "two tools of one name",
        { messages: [user], tools: [tool, tool] },
        "tools: Tool names must be unique."
      ],
      [
        "a schema of alternatives",
        { messages: [user], tools: [{ ...tool, input_schema: { type: "object", anyOf: [] } }] },
        "input_schema does not support oneOf, allOf, or anyOf at the top level"
      ],
      [
        "a choice without tools",
        { messages: [user], tool_choice: { type: "auto" } },
        "only be specified while providing tools"
      ],
      [
        "a chosen tool that is not there",
        { messages: [user], tools: [tool], tool_choice: { type: "tool", name: "pong" } },
        "Tool 'pong' not found in provided tools"
      ],
      [
        "an image in an error",
        { messages: [user, replies(use("1")), says(result("1", { is_error: true, content: [image] }))] },
        "all content must be type `text`"
      ],
      [
        "an image of another kind",
        { messages: [says({ ...image, source: { ...image.source, media_type: "image/bmp" } })] },
        "messages.0.content.0.source.media_type: "
      ],
      [
        "five breakpoints in different places",
        {
          messages: [
            says(text("Hello?", cached)),
            replies(use("1")),
            says(result("1", { content: [text("pong", cached)] }))
          ],
          system: [text("Be brief.", cached)],
          tools: [{ ...tool, ...cached }],
          ...cached
        },
        "A maximum of 4 blocks with cache_control may be provided. Found 5."
      ],
      ["five breakpoints", { messages: [five] }, "A maximum of 4 blocks with cache_control may be provided. Found 5."],
      [
        "a signature that the server did not issue",
        { messages: [user, replies({ type: "thinking", thinking: "Hm.", signature: "AAAA" }, text(".")), user] },
        "messages.1.content.0: Invalid `signature` in `thinking` block"
      ],
      [
        "a call without its thinking",
        { messages: [user, replies(use("1")), says(result("1"))], ...thinking },
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
      ],
      [
        "too large a budget",
        { messages: [user], thinking: ask.thinking, max_tokens: 1024 },
        "`max_tokens` must be greater than `thinking.budget_tokens`."
      ],
      [
        "thinking at another temperature",
        { messages: [user], ...thinking, temperature: 0 },
        "`temperature` may only be set to 1 when thinking is enabled."
      ],
      [
        "thinking before a forced call",
        { messages: [user], ...thinking, tools: [tool], tool_choice: { type: "any" } },
        "Thinking may not be enabled when tool_choice forces tool use."
      ],
      ["too high a temperature", { messages: [user], temperature: 1.5 }, "temperature: "]
    ] as const
  ) {
    it.live(`refuses ${what}`, () =>
      Effect.gen(function*() {
        const { json, status } = yield* sendRequest(fields)
        assert.strictEqual(status, 400)
        assert.include(json.error.message, message)
        assert.deepInclude(json, { type: "error" })
        assert.strictEqual(json.error.type, "invalid_request_error")
      }))
  }

  it.live("accepts redacted thinking before a call", () =>
    Effect.gen(function*() {
      const redacted = { type: "redacted_thinking", data: "AAAA" }
      const { status } = yield* sendRequest({
        messages: [user, replies(redacted, use("1")), says(result("1"))],
        ...thinking
      })
      assert.strictEqual(status, 200)
    }))

  it.live("refuses thinking that was changed on the way", () =>
    Effect.gen(function*() {
      const { json } = yield* sendRequest({ messages: [user] })
      const [thinking, ...others] = json.content
      const answers = says(result("call_1"), result("call_2"))
      const again = (thinking: object) => sendRequest({ messages: [user, replies(thinking, ...others), answers] })
      assert.strictEqual((yield* again(thinking)).status, 200)
      assert.include((yield* again({ ...thinking, thinking: "Other." })).body, "Invalid `signature`")
    }))
})
