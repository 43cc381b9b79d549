/** The fake server as Google's Gemini, tested by the official client and by a client that makes mistakes. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import type { Content, GenerateContentResponse, Part } from "@google/genai"
import { Effect } from "effect"
import { collected, geminiClient, post } from "../support/officialClients.ts"
import { both, comparing, script } from "../support/twoCities.ts"

const user = { role: "user", parts: [{ text: "Hello?" }] }
const says = (...parts: ReadonlyArray<object>) => ({ role: "user", parts })
const replies = (...parts: ReadonlyArray<object>) => ({ role: "model", parts })
const call = (name = "ping", fields: object = {}) => ({ functionCall: { name, args: {} }, ...fields })
const response = (name = "ping", fields: object = {}) => ({
  functionResponse: { name, response: { output: "pong" }, ...fields }
})
const schema = { type: "object", properties: { city: { type: "string" } } }
const tool = { name: "get_weather", description: "The weather", parametersJsonSchema: schema }

const path = "/v1beta/models/any:generateContent"

const sendRequest = (fields: object, reply: FakeModelServer.Script = [both]) =>
  Effect.gen(function*() {
    const server = yield* FakeModelServer.make(reply)
    const answered = yield* post(`${server.url}${path}`, fields)
    const { requests } = yield* server.state
    assert.strictEqual(requests[0]?.problem === undefined, answered.status === 200)
    return { ...answered, json: JSON.parse(answered.body), asked: requests[0]?.asked }
  }).pipe(Effect.scoped)

/** Joins the parts of a stream as clients do. */
const joined = (chunks: ReadonlyArray<GenerateContentResponse>): ReadonlyArray<Part> => {
  const parts: Array<Part> = []
  for (const part of chunks.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])) {
    const last = parts.at(-1)
    if (part.text === undefined || last?.text === undefined || part.thought !== last.thought) parts.push(part)
    else parts.splice(-1, 1, { ...last, ...part, text: last.text + part.text })
  }
  return parts
}

describe("FakeModelServer as gemini", () => {
  for (const stream of [false, true]) {
    it.live(`leads a conversation with the official client, ${stream ? "streamed" : "whole"}`, () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.make(script, stream ? { split: 1 } : {})
        const { models } = geminiClient(server.url)
        const respond = (contents: Array<Content>) =>
          Effect.promise(async () => {
            const asking = { model: "any", contents, config: { tools: [{ functionDeclarations: [tool] }] } }
            const chunks = stream
              ? await collected(await models.generateContentStream(asking))
              : [await models.generateContent(asking)]
            const last = chunks.at(-1)
            return { parts: joined(chunks), usage: last?.usageMetadata, ending: last?.candidates?.[0]?.finishReason }
          })
        const question = { role: "user", parts: [{ text: "Which is warmer?" }] }
        const first = yield* respond([question])
        const [thought, said, one, two] = first.parts
        assert.strictEqual(first.parts.length, 4)
        assert.deepStrictEqual({ ...thought }, { text: both.reasoning, thought: true })
        assert.deepStrictEqual({ ...said }, { text: both.text })
        assert.deepStrictEqual(one?.functionCall, { id: "call_1", name: "get_weather", args: { city: "Paris" } })
        assert.deepStrictEqual(two?.functionCall, { id: "call_2", name: "get_weather", args: { city: "Zürich" } })
        assert.isString(one?.thoughtSignature)
        assert.isUndefined(two?.thoughtSignature)
        assert.strictEqual(first.ending, "STOP")
        assert.deepStrictEqual({ ...first.usage }, {
          promptTokenCount: 100,
          cachedContentTokenCount: 60,
          candidatesTokenCount: 30,
          thoughtsTokenCount: 20,
          totalTokenCount: 150
        })
        const answers = [
          { functionResponse: { id: "call_2", name: "get_weather", response: { output: "15 °C" } } },
          { functionResponse: { id: "call_1", name: "get_weather", response: { error: "No.", code: 1 } } }
        ]
        const second = yield* respond([
          question,
          { role: "model", parts: [...first.parts] },
          { role: "user", parts: answers }
        ])
        assert.deepStrictEqual(second.parts.map(({ text }) => text).join(""), "Paris is warmer.")
        assert.isUndefined(second.usage)
        const { requests } = yield* server.state
        assert.deepStrictEqual(requests.map(({ format, problem, stream }) => [format, problem, stream]), [
          ["gemini", undefined, stream],
          ["gemini", undefined, stream]
        ])
        assert.deepStrictEqual(requests[1]?.asked, {
          messages: [
            ...comparing,
            { role: "tool", callId: "call_2", name: "get_weather", text: "15 °C" },
            { role: "tool", callId: "call_1", name: "get_weather", text: "{\"error\":\"No.\",\"code\":1}" }
          ],
          tools: [{ name: tool.name, description: tool.description, parameters: schema }],
          options: {}
        })
      }).pipe(Effect.scoped))
  }

  it.live("reports in each piece of a stream what it has read, and in the last what it has written", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([{ ...ScriptedModel.text("Hello."), usage: both.usage }])
      const chunks = yield* Effect.promise(async () =>
        collected(await geminiClient(server.url).models.generateContentStream({ model: "any", contents: "Hello?" }))
      )
      const counts = chunks.map(({ usageMetadata: usage }) => [usage?.promptTokenCount, usage?.totalTokenCount])
      assert.deepStrictEqual(counts, [[100, 100], [100, 100], [100, 150]])
    }).pipe(Effect.scoped))

  for (
    const [what, part, message] of [
      ["none", call("ping"), "Function call is missing a thought_signature in functionCall parts."],
      ["a changed one", call("ping", { thoughtSignature: "AAAA" }), "Corrupted thought signature."],
      ["another call's", undefined, "Corrupted thought signature."]
    ] as const
  ) {
    it.live(`refuses a signed call that returns with ${what} for a signature`, () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.make(() => ({ ...ScriptedModel.call("ping", {}), reasoning: "" }))
        const url = `${server.url}${path}`
        const first = JSON.parse((yield* post(url, { contents: [user] })).body).candidates[0].content
        assert.deepStrictEqual(first.parts.length, 1)
        const send = (part: object, ...after: ReadonlyArray<object>) =>
          post(url, { contents: [user, replies(part), says(response()), ...after] })
        const signed = first.parts[0]
        const changed = part ?? { ...signed, functionCall: { ...signed.functionCall, args: { x: 1 } } }
        const answered = yield* send(changed)
        assert.strictEqual(answered.status, 400)
        assert.include(JSON.parse(answered.body).error.message, message)
        assert.strictEqual((yield* send(signed)).status, 200)
      }).pipe(Effect.scoped))
  }

  it.live("signs a reply without calls in its last text, and of equal calls the first", () =>
    Effect.gen(function*() {
      const texts = [{ ...ScriptedModel.text("Hello."), reasoning: "Hm." }]
      const calls = [{ ...ScriptedModel.calls(["ping", {}], ["ping", {}]), reasoning: "" }]
      const server = yield* FakeModelServer.make([...texts, ...texts, ...calls, ...calls])
      const { models } = geminiClient(server.url)
      const asking = { model: "any", contents: "Hello?" }
      const whole = yield* Effect.promise(() => models.generateContent(asking))
      const chunks = yield* Effect.promise(async () => collected(await models.generateContentStream(asking)))
      assert.deepStrictEqual(joined([whole]), joined(chunks))
      assert.isString(joined(chunks).at(-1)?.thoughtSignature)
      const { body } = yield* post(`${server.url}${path}`, { contents: [user] })
      const again = [user, JSON.parse(body).candidates[0].content, says(response(), response())]
      assert.strictEqual((yield* post(`${server.url}${path}`, { contents: again })).status, 200)
    }).pipe(Effect.scoped))

  it.live("demands no signature of earlier turns, of unsigned calls, or of calls that are marked as foreign", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make((_, index) =>
        index === 0 ? ScriptedModel.call("unsigned", {}) : { ...ScriptedModel.call("ping", {}), reasoning: "" }
      )
      const url = `${server.url}${path}`
      yield* post(url, { contents: [user] })
      yield* post(url, { contents: [user] })
      const send = (...contents: ReadonlyArray<object>) =>
        Effect.map(post(url, { contents: [user, ...contents] }), ({ status }) => status)
      assert.strictEqual(yield* send(replies(call("unsigned")), says(response("unsigned"))), 200)
      assert.strictEqual(yield* send(replies(call()), says(response())), 400)
      assert.strictEqual(yield* send(replies(call()), says(response()), replies({ text: "." }), user), 200)
      const foreign = call("ping", { thoughtSignature: "skip_thought_signature_validator" })
      assert.strictEqual(yield* send(replies(foreign), says(response())), 200)
    }).pipe(Effect.scoped))

  for (const text of ["{\"city\":", "[1]", "\"Paris\""]) {
    it.live(`cannot send the arguments ${text}, and says so as the real server does`, () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.make(() => ({ ...ScriptedModel.call("ping", text), text: "One moment." }))
        const { models } = geminiClient(server.url)
        const asking = { model: "any", contents: "Hello?" }
        const whole = yield* Effect.promise(() => models.generateContent(asking))
        const chunks = yield* Effect.promise(async () => collected(await models.generateContentStream(asking)))
        for (const last of [whole, chunks.at(-1)]) {
          assert.strictEqual(last?.candidates?.[0]?.finishReason, "MALFORMED_FUNCTION_CALL")
        }
        // The client drops the message.
        const { body } = yield* post(`${server.url}${path}`, { contents: [user] })
        assert.strictEqual(JSON.parse(body).candidates[0].finishMessage, `Malformed function call: ping(${text})`)
        assert.deepStrictEqual(joined([whole]), joined(chunks))
        assert.isUndefined(whole.functionCalls)
      }).pipe(Effect.scoped))
  }

  it.live("sends the parts of a script as they are", () =>
    Effect.gen(function*() {
      const part = { inlineData: { mimeType: "image/png", data: "AAAA" } }
      const native = { gemini: { before: [part], finishReason: "RECITATION" } }
      const server = yield* FakeModelServer.make(() => ({ ...ScriptedModel.text("Hello."), native }))
      const { models } = geminiClient(server.url)
      const asking = { model: "any", contents: "Hello?" }
      const whole = yield* Effect.promise(() => models.generateContent(asking))
      const chunks = yield* Effect.promise(async () => collected(await models.generateContentStream(asking)))
      assert.deepStrictEqual(joined([whole]), [part, { text: "Hello." }])
      assert.deepStrictEqual(joined(chunks), [part, { text: "Hello." }])
      assert.strictEqual(chunks.at(-1)?.candidates?.[0]?.finishReason, "RECITATION")
    }).pipe(Effect.scoped))

  it.live("accepts images, instructions, settings, and calls without ids", () =>
    Effect.gen(function*() {
      const { asked, body, status } = yield* sendRequest({
        systemInstruction: { parts: [{ text: "Be brief." }] },
        contents: [
          says({ text: "What is this?" }, { inlineData: { mimeType: "image/png", data: "AAAA" } }),
          replies({ text: "Hm.", thought: true }, { text: "I look." }, call("one"), call("two")),
          says(response("two"), response("one"))
        ],
        tools: [{ functionDeclarations: [{ name: "one", parameters: schema }, { name: "two" }] }],
        toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["one"] } },
        generationConfig: { temperature: 0.5, maxOutputTokens: 10, topK: 1 },
        safetySettings: []
      })
      assert.strictEqual(status, 200, body)
      assert.deepStrictEqual(asked?.messages, [
        { role: "system", text: "Be brief." },
        { role: "user", text: "What is this?", files: [{ mediaType: "image/png", base64: "AAAA" }] },
        {
          role: "assistant",
          text: "I look.",
          calls: [{ id: "call_1_0", name: "one", arguments: "{}" }, { id: "call_1_1", name: "two", arguments: "{}" }]
        },
        { role: "tool", callId: "call_1_1", name: "two", text: "pong" },
        { role: "tool", callId: "call_1_0", name: "one", text: "pong" }
      ])
      assert.deepStrictEqual(asked?.options, {
        temperature: 0.5,
        maxTokens: 10,
        toolChoice: { tool: "one" },
        provider: { safetySettings: [], generationConfig: { topK: 1 } }
      })
    }))

  const equal =
    "Please ensure that the number of function response parts is equal to the number of function call parts " +
    "of the function call turn."
  const declared = (fields: object) => ({
    contents: [user],
    tools: [{ functionDeclarations: [{ name: "ping", ...fields }] }]
  })
  for (
    const [what, fields, message] of [
      ["too few responses", { contents: [user, replies(call(), call()), says(response())] }, equal],
      ["too many responses", { contents: [user, replies(call()), says(response(), response())] }, equal],
      ["a call at the end", { contents: [user, replies(call())] }, equal],
      [
        "responses in two messages",
        { contents: [user, replies(call(), call()), says(response()), says(response())] },
        equal
      ],
      [
        "a response of another name",
        { contents: [user, replies(call("one"), call("two")), says(response("one"), response("one"))] },
        "each function response part has the name of its function call part."
      ],
      [
        "a response without its call",
        { contents: [user, says(response())] },
        "Please ensure that function response turn comes immediately after a function call turn."
      ],
      [
        "a call after an answer",
        { contents: [user, replies({ text: "." }), replies(call()), says(response())] },
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
      ],
      [
        "a role that nobody has",
        { contents: [{ ...user, role: "assistant" }] },
        "Please use a valid role: user, model."
      ],
      ["no contents", { contents: [] }, "* GenerateContentRequest.contents: contents is not specified"],
      [
        "no parts",
        { contents: [says()] },
        "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty."
      ],
      [
        "a part of nothing",
        { contents: [says({ thought: true })] },
        "required oneof field 'data' must have one initialized field"
      ],
      [
        "a part of two things",
        { contents: [says({ text: ".", ...response() })] },
        "oneof field 'data' is already set."
      ],
      [
        "an unknown name",
        { contents: [user], x: 1 },
        "Invalid JSON payload received. Unknown name \"x\": Cannot find field."
      ],
      [
        "an unknown name inside",
        { contents: [says({ text: ".", functionCalls: [] })] },
        "Unknown name \"functionCalls\" at 'contents[0].parts[0]': Cannot find field."
      ],
      [
        "a keyword of JSON Schema in parameters",
        declared({
          parameters: { type: "object", properties: { a: { type: "object", additionalProperties: false } } }
        }),
        "Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters.properties.a'"
      ],
      ["a bad name", declared({ name: "1" }), "Invalid value at 'tools[0].function_declarations[0].name'"],
      [
        "arguments in a text",
        { contents: [user, replies({ functionCall: { name: "ping", args: "{}" } })] },
        "function_call.args'"
      ],
      [
        "a response in a text",
        { contents: [user, replies(call()), says(response("ping", { response: "pong" }))] },
        "function_response.response'"
      ],
      [
        "two tools of one name",
        { contents: [user], tools: [{ functionDeclarations: [{ name: "ping" }, { name: "ping" }] }] },
        "Duplicate function declaration found: ping"
      ],
      [
        "a mode without tools",
        { contents: [user], toolConfig: { functionCallingConfig: { mode: "ANY" } } },
        "Function calling config is set without function_declarations."
      ],
      [
        "allowed names in another mode",
        { ...declared({}), toolConfig: { functionCallingConfig: { mode: "AUTO", allowedFunctionNames: ["ping"] } } },
        "Allowed function names should only be set when function calling mode is ANY."
      ],
      [
        "an allowed name that is not declared",
        { ...declared({}), toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["pong"] } } },
        "Allowed function name 'pong' is not in function_declarations."
      ]
    ] as const
  ) {
    it.live(`refuses ${what}`, () =>
      Effect.gen(function*() {
        const { json, status } = yield* sendRequest(fields)
        assert.strictEqual(status, 400)
        assert.include(json.error.message, message)
        assert.deepInclude(json.error, { code: 400, status: "INVALID_ARGUMENT" })
      }))
  }

  it.live("streams only as server-sent events", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([both])
      const { body, status } = yield* post(`${server.url}${path.replace("generate", "streamGenerate")}`, {
        contents: [user]
      })
      assert.strictEqual(status, 400)
      assert.include(body, "alt=sse")
    }).pipe(Effect.scoped))
})
