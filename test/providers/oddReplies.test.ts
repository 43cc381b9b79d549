/** Replies of careless servers: read if they have one meaning, or else a typed failure. */
import { assert, describe, it } from "@effect/vitest"
import type { Model } from "@fallible/core"
import { Effect } from "effect"
import { chat, line, own } from "../support/bodies.ts"

const completion = (message: object, others: object = {}) =>
  JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }], ...others })

const call = (fields: object) => ({
  tool_calls: [{ id: "1", type: "function", function: { name: "ping", ...fields } }]
})

describe("a whole reply", () => {
  const both: ReadonlyArray<readonly [what: string, message: object, reply: Omit<Model.Reply, "native" | "model">]> = [
    ["content null", { role: "assistant", content: null }, { text: "", calls: [] }],
    ["no content at all", { role: "assistant" }, { text: "", calls: [] }],
    [
      "content in parts",
      { content: [{ type: "text", text: "Hel" }, { type: "image" }, { type: "text", text: "lo." }] },
      { text: "Hello.", calls: [] }
    ],
    ["an empty list of calls", { content: "Hello.", tool_calls: [] }, { text: "Hello.", calls: [] }],
    ["null for its calls", { content: "Hello.", tool_calls: null }, { text: "Hello.", calls: [] }],
    ["arguments null", call({ arguments: null }), { text: "", calls: [{ id: "1", name: "ping" }] }],
    ["no arguments", call({}), { text: "", calls: [{ id: "1", name: "ping" }] }],
    ["empty arguments", call({ arguments: "" }), { text: "", calls: [{ id: "1", name: "ping", arguments: "" }] }],
    [
      "an object for its arguments",
      call({ arguments: { a: [1, { b: "}\\" }] } }),
      { text: "", calls: [{ id: "1", name: "ping", arguments: "{\"a\":[1,{\"b\":\"}\\\\\"}]}" }] }
    ],
    ["an array for its arguments", call({ arguments: [] }), {
      text: "",
      calls: [{ id: "1", name: "ping", arguments: "[]" }]
    }],
    ["a number for its arguments", call({ arguments: 5 }), {
      text: "",
      calls: [{ id: "1", name: "ping", arguments: "5" }]
    }],
    [
      "fields that nobody knows",
      {
        content: "Hello.",
        mood: { good: true },
        tool_calls: [{ id: "1", of: 3, function: { name: "ping", x: null } }]
      },
      { text: "Hello.", calls: [{ id: "1", name: "ping" }] }
    ],
    ["a call without an id", { tool_calls: [{ function: { name: "ping" } }] }, {
      text: "",
      calls: [{ id: "", name: "ping" }]
    }],
    [
      "a number for an id",
      { tool_calls: [{ id: 7, function: { name: "ping" } }] },
      { text: "", calls: [{ id: "", name: "ping" }] }
    ],
    ["a call of nothing", { tool_calls: [{ id: "1", function: null }] }, { text: "", calls: [{ id: "1", name: "" }] }],
    [
      "calls that have the same number",
      { tool_calls: [{ index: 0, function: { name: "a" } }, { index: 0, function: { name: "b" } }] },
      { text: "", calls: [{ id: "", name: "a" }, { id: "", name: "b" }] }
    ],
    ["a key of evil", { content: "Hello.", ["__proto__"]: { polluted: true } }, { text: "Hello.", calls: [] }]
  ]
  for (const [what, message, reply] of both) {
    it.effect(`with ${what} is read`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* chat.whole(completion(message)), reply)
        assert.deepStrictEqual(yield* own.whole(line(message)), reply)
        assert.deepStrictEqual(yield* own.streamed(line(message)), reply)
        assert.isUndefined(Reflect.get({}, "polluted"))
      }))
  }

  it.effect("keeps its arguments as written: long digits, duplicate keys, spaces", () =>
    Effect.gen(function*() {
      const text = "{ \"n\": 12345678901234567890, \"n\" : 1.0e0, \"s\":\"\\u00e9{\" }"
      const message =
        `{"x":{"tool_calls":[{"function":{"arguments":{"no":1}}}]},"tool_calls" : [ {"function":{"name":"a",` +
        `"arguments":"{}"}}, {"function":{"name":"b","arguments": ${text} }} ]}`
      const calls = [{ id: "", name: "a", arguments: "{}" }, { id: "", name: "b", arguments: text }]
      assert.deepStrictEqual((yield* chat.whole(`{"choices":[{"message":${message}}]}`)).calls, calls)
      assert.deepStrictEqual((yield* own.whole(`{"message":${message},"done":true}`)).calls, calls)
    }))

  it.effect("reports token usage only if it is a number", () =>
    Effect.gen(function*() {
      const usage = (usage: unknown) =>
        Effect.map(chat.whole(completion({ content: "." }, { usage })), ({ usage }) => usage)
      assert.deepStrictEqual(yield* usage({ prompt_tokens: 3, completion_tokens: 1 }), {
        inputTokens: 3,
        outputTokens: 1
      })
      // What a server does not count is unknown, and not 0.
      assert.deepStrictEqual(yield* usage({ prompt_tokens: 3 }), { inputTokens: 3 })
      assert.isUndefined(yield* usage(null))
      assert.isUndefined(yield* usage({ prompt_tokens: "3", completion_tokens: 1.5 }))
      // Ollama reports nothing for a cached prompt.
      assert.deepStrictEqual((yield* own.whole(line({ content: "." }, { eval_count: 4 }))).usage, { outputTokens: 4 })
    }))

  for (
    const [what, body, isForeign] of [
      ["empty", "", true],
      ["white space", " \n", true],
      ["no JSON", "<html>Bad gateway</html>", true],
      ["cut off", "{\"choices\":[{\"message\":{\"content\":\"Hel", false],
      ["the mark of a stream's end", "[DONE]", false],
      ["an array", "[]", true],
      ["null", "null", true],
      [
        "a message of the wrong shape",
        "{\"choices\":[{\"message\":{\"content\":5}}],\"message\":7,\"done\":true}",
        false
      ],
      ["a reply without a message", "{\"choices\":[],\"done\":true}", false],
      ["the JSON of another service", "{\"status\":\"ok\"}", true],
      ["full of control characters", "\u0000\u001b[31m\u2028", true]
    ] as const
  ) {
    it.effect(`that is ${what} is a transient failure${isForeign ? ", which asks to check the base URL" : ""}`, () =>
      Effect.gen(function*() {
        for (const [ask, path] of [[chat.whole, "/v1/chat/completions"], [own.whole, "/api/chat"]] as const) {
          const failure = yield* Effect.flip(ask(body))
          assert.deepInclude({ ...failure }, { code: "malformed_reply", transient: true })
          assert.notMatch(failure.detail, /[\p{Cc}\u2028]/u)
          const hint = failure.hint?.replace(/:\d+/, ":port")
          assert.strictEqual(
            hint,
            isForeign ? `Check the base URL: requests went to http://127.0.0.1:port${path}.` : undefined
          )
        }
      }))
  }

  it.effect("of Ollama that is not done counts as cut off", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        (yield* Effect.flip(own.whole("{\"message\":{\"content\":\"Hi\"},\"done\":false}"))).code,
        "cut_off"
      )
    }))

  it.effect("may have an empty error field beside it", () =>
    Effect.gen(function*() {
      for (const error of [null, false, ""]) {
        assert.strictEqual((yield* chat.whole(completion({ content: "Hi." }, { error }))).text, "Hi.")
      }
    }))

  it.effect("without a choice is a failure", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* Effect.flip(chat.whole("{\"choices\":[]}"))).code, "malformed_reply")
    }))

  it.effect("that is an error is a failure, whatever its status", () =>
    Effect.gen(function*() {
      const failure = (error: unknown) => Effect.flip(chat.whole(JSON.stringify({ error })))
      assert.deepInclude({ ...yield* failure({ message: "Overloaded", code: 503 }) }, {
        code: "server_error",
        transient: true
      })
      assert.deepInclude({ ...yield* failure({ message: "Slow down", code: "429" }) }, {
        code: "rate_limited",
        detail: "The model's server failed: \"Slow down\""
      })
      assert.deepInclude({ ...yield* failure({ message: "Who are you?", code: 401 }) }, { code: "permission_denied" })
      assert.deepInclude({ ...yield* failure("Oh no.") }, { code: "server_error", transient: true })
      assert.deepInclude({ ...yield* failure({ code: "context_length_exceeded", message: "4096" }) }, {
        code: "context_overflow",
        transient: false
      })
      assert.deepInclude({ ...yield* Effect.flip(own.whole("{\"error\":\"model runner has stopped\"}")) }, {
        code: "server_error",
        detail: "Ollama failed: \"model runner has stopped\""
      })
    }))

  it.effect("that is a refusal is a distinct failure", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(chat.whole(completion({ content: null, refusal: "I can't help with that." })))
      assert.deepInclude({ ...failure }, {
        code: "refused",
        detail: "The model refused: \"I can't help with that.\"",
        transient: false
      })
      const filtered = yield* Effect.flip(
        chat.whole("{\"choices\":[{\"message\":{\"content\":null},\"finish_reason\":\"content_filter\"}]}")
      )
      assert.deepInclude({ ...filtered }, { code: "refused", detail: "A content filter stopped the reply." })
      const unsafe = yield* Effect.flip(chat.whole("{\"choices\":[{\"message\":{},\"finish_reason\":\"SAFETY\"}]}"))
      assert.strictEqual(unsafe.code, "malformed_reply")
    }))

  it.effect("that used up its tokens before any text is a distinct failure", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(own.whole(line({ content: "", thinking: "Hm" }, { done_reason: "length" })))
      assert.deepInclude({ ...failure }, { code: "max_tokens", transient: false })
    }))
})
