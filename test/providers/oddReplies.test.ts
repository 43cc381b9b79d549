/** Replies as careless servers send them: read where they have one meaning, and a typed failure where they have none. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Model, type ModelFailure, Toolkit, Transcript } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Schedule, Stream } from "effect"
import { ollama, openAi, serving, withoutNative } from "../support/models.ts"

const request: Model.Request = { transcript: Transcript.make([{ role: "user", text: "Hello?" }]), tools: [] }
const settings = { retry: Schedule.recurs(0) }

type Ask = (body: string) => Effect.Effect<Omit<Model.Reply, "native">, ModelFailure>

const asking = (provider: typeof openAi) => {
  const model = (body: string) => serving(provider)([FakeModelServer.raw(body)], { settings })
  const whole: Ask = (body) =>
    Effect.flatMap(Model.Model, ({ respond }) => respond(request)).pipe(
      Effect.map(withoutNative),
      Effect.provide(model(body))
    )
  const streamed: Ask = (body) =>
    Effect.flatMap(Model.Model, ({ stream }) => Stream.runLast(stream(request))).pipe(
      Effect.map((last) =>
        last._tag === "Some" && last.value._tag === "Replied"
          ? withoutNative(last.value.reply)
          : assert.fail("no reply")
      ),
      Effect.provide(model(body))
    )
  return { whole, streamed }
}

const chat = asking(openAi)
const own = asking(ollama)

const completion = (message: object, others: object = {}) =>
  JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }], ...others })
const line = (message: object, others: object = {}) => `${JSON.stringify({ message, done: true, ...others })}\n`
const call = (fields: object) => ({
  tool_calls: [{ id: "1", type: "function", function: { name: "ping", ...fields } }]
})

describe("a whole reply", () => {
  const both: ReadonlyArray<readonly [what: string, message: object, reply: Omit<Model.Reply, "native">]> = [
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

  it.effect("has its arguments as they were written, digits, doubles, spaces and all", () =>
    Effect.gen(function*() {
      const text = "{ \"n\": 12345678901234567890, \"n\" : 1.0e0, \"s\":\"\\u00e9{\" }"
      const message =
        `{"x":{"tool_calls":[{"function":{"arguments":{"no":1}}}]},"tool_calls" : [ {"function":{"name":"a",` +
        `"arguments":"{}"}}, {"function":{"name":"b","arguments": ${text} }} ]}`
      const calls = [{ id: "", name: "a", arguments: "{}" }, { id: "", name: "b", arguments: text }]
      assert.deepStrictEqual((yield* chat.whole(`{"choices":[{"message":${message}}]}`)).calls, calls)
      assert.deepStrictEqual((yield* own.whole(`{"message":${message},"done":true}`)).calls, calls)
    }))

  it.effect("says how many tokens it took only when that is a number", () =>
    Effect.gen(function*() {
      const usage = (usage: unknown) =>
        Effect.map(chat.whole(completion({ content: "." }, { usage })), ({ usage }) => usage)
      assert.deepStrictEqual(yield* usage({ prompt_tokens: 3, completion_tokens: 1 }), {
        inputTokens: 3,
        outputTokens: 1
      })
      assert.deepStrictEqual(yield* usage({ prompt_tokens: 3 }), { inputTokens: 3, outputTokens: 0 })
      assert.isUndefined(yield* usage(null))
      assert.isUndefined(yield* usage({ prompt_tokens: "3", completion_tokens: 1.5 }))
      // Of a prompt that is in its cache, Ollama says nothing.
      assert.deepStrictEqual((yield* own.whole(line({ content: "." }, { eval_count: 4 }))).usage, {
        inputTokens: 0,
        outputTokens: 4
      })
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

  it.effect("of Ollama that says it is not done is cut off", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        (yield* Effect.flip(own.whole("{\"message\":{\"content\":\"Hi\"},\"done\":false}"))).code,
        "cut_off"
      )
    }))

  it.effect("may have an error beside it that is none", () =>
    Effect.gen(function*() {
      for (const error of [null, false, ""]) {
        assert.strictEqual((yield* chat.whole(completion({ content: "Hi." }, { error }))).text, "Hi.")
      }
    }))

  it.effect("without any choice is no reply", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* Effect.flip(chat.whole("{\"choices\":[]}"))).code, "malformed_reply")
    }))

  it.effect("that is an error is one, whatever its status says", () =>
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

  it.effect("that is a refusal is a failure of its own", () =>
    Effect.gen(function*() {
      const said = yield* Effect.flip(chat.whole(completion({ content: null, refusal: "I can't help with that." })))
      assert.deepInclude({ ...said }, {
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

  it.effect("that used up its tokens before it said anything is a failure of its own", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(own.whole(line({ content: "", thinking: "Hm" }, { done_reason: "length" })))
      assert.deepInclude({ ...failure }, { code: "max_tokens", transient: false })
    }))
})

describe("a streamed reply", () => {
  const events = (...chunks: ReadonlyArray<object | string>) =>
    chunks.map((chunk) => `data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}\n\n`).join("")
  const delta = (delta: object, finish: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason: finish }]
  })
  const calling = (...calls: ReadonlyArray<object>) => delta({ tool_calls: calls })
  const args = (name: string, text: string, id = "") => ({ id, name, arguments: text })
  const calls = (...chunks: ReadonlyArray<object | string>) =>
    Effect.map(chat.streamed(events(...chunks, delta({}, "tool_calls"), "[DONE]")), ({ calls }) => calls)

  it.effect("has its calls put together by their index, however they are mixed", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* calls(
          calling({ index: 1, id: "b", function: { name: "two", arguments: "" } }),
          calling({ index: 0, id: "a", function: { name: "one", arguments: "{\"x\"" } }),
          calling({ index: 1, function: { arguments: "{}" } }, { index: 0, function: { arguments: ":1}" } })
        ),
        [args("two", "{}", "b"), args("one", "{\"x\":1}", "a")]
      )
    }))

  it.effect("has a name in pieces put together, and one that is repeated said once", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* calls(
          calling({ index: 0, id: "a", type: "function", function: { name: "get_", arguments: "" } }),
          calling({ index: 0, id: "a", type: "function", function: { name: "weather", arguments: "{" } }),
          calling({ index: 1, id: "b", function: { name: "ping", arguments: "{" } }),
          calling({ index: 1, id: "b", function: { name: "ping", arguments: "}" } }),
          calling({ index: 0, function: { name: null, arguments: "}" } })
        ),
        [args("get_weather", "{}", "a"), args("ping", "{}", "b")]
      )
    }))

  it.effect("has calls without an index told apart by their names, and those of one index by their ids", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* calls(
          calling({ id: "a", function: { name: "one", arguments: "{" } }),
          calling({ function: { arguments: "}" } }),
          calling({ id: "b", function: { name: "two", arguments: "{}" } })
        ),
        [args("one", "{}", "a"), args("two", "{}", "b")]
      )
      assert.deepStrictEqual(
        yield* calls(
          calling({ index: 0, id: "a", function: { name: "one", arguments: "{}" } }),
          calling({ index: 0, id: "b", function: { name: "one", arguments: "{}" } })
        ),
        [args("one", "{}", "a"), args("one", "{}", "b")]
      )
    }))

  it.effect("may have objects for arguments, comments, empty choices, nulls, and no space after its colons", () =>
    Effect.gen(function*() {
      const body =
        `:keep-alive\n\nretry: 3000\n\ndata:${JSON.stringify(delta({ role: "assistant", content: null }))}\r\n\r\n` +
        events(
          { choices: [] },
          calling({ index: 0, function: { name: "ping", arguments: { big: 1 } } }),
          delta({ content: "Hm.", tool_calls: null }),
          delta({}, "tool_calls"),
          { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } },
          "[DONE]"
        )
      assert.deepStrictEqual(yield* chat.streamed(body), {
        text: "Hm.",
        calls: [args("ping", "{\"big\":1}")],
        usage: { inputTokens: 1, outputTokens: 2 }
      })
    }))

  it.effect("is complete when it says why it stopped, though what should follow is missing", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* chat.streamed(events(delta({ content: "Hi." }, "stop")))).text, "Hi.")
      assert.strictEqual((yield* chat.streamed(events(delta({ content: "Hi." }), "[DONE]"))).text, "Hi.")
      assert.strictEqual((yield* chat.streamed(events(delta({ content: "Hi." }, "stop"), "{garbage"))).text, "Hi.")
    }))

  it.effect("that was cut off at its most tokens may have calls, and says so", () =>
    Effect.gen(function*() {
      const body = events(
        calling({ index: 0, id: "a", function: { name: "f", arguments: "{" } }),
        delta({}, "length"),
        "[DONE]"
      )
      assert.deepStrictEqual(yield* chat.streamed(body), { text: "", calls: [args("f", "{", "a")], truncated: true })
    }))

  it.effect("has its labels said once, and tells calls apart that have no arguments yet, or numbers used again", () =>
    Effect.gen(function*() {
      const piece = (id: string, name: string, text: string) =>
        calling({ index: 0, id, type: "function", function: { name, arguments: text } })
      assert.deepStrictEqual(yield* calls(piece("a", "f", ""), piece("b", "f", "{}")), [
        args("f", "", "a"),
        args("f", "{}", "b")
      ])
      assert.deepStrictEqual(
        yield* calls(
          piece("a", "f", "{}"),
          piece("b", "g", "{"),
          calling({ index: 0, function: { arguments: "}" } })
        ),
        [args("f", "{}", "a"), args("g", "{}", "b")]
      )
      const same = (text: string) => calling({ id: "a", function: { name: "f", arguments: text } })
      assert.deepStrictEqual(yield* calls(same("{}"), same("{}")), [args("f", "{}", "a"), args("f", "{}", "a")])
      const { stream } = yield* Model.Model
      const last = yield* Stream.runLast(stream(request))
      const native = last._tag === "Some" && last.value._tag === "Replied" ? last.value.reply.native : undefined
      assert.deepInclude(Object.values(native as object)[0], {
        tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: "{}" } }]
      })
    }).pipe(Effect.provide(
      serving(openAi)([
        FakeModelServer.raw(events(
          calling({ index: 0, id: "a", type: "function", function: { name: "f", arguments: "{" } }),
          calling({ index: 0, id: "a", type: "function", function: { name: "f", arguments: "}" } }),
          delta({}, "stop"),
          "[DONE]"
        ))
      ])
    )))

  it.effect("is over once, however often the server says so", () =>
    Effect.gen(function*() {
      for (const provider of [openAi, ollama]) {
        const body = provider === openAi
          ? events(delta({ content: "Hi." }, "stop"), "[DONE]", delta({ content: "More." }), "[DONE]")
          : line({ content: "Hi." }).repeat(2)
        const all = yield* Effect.flatMap(Model.Model, ({ stream }) => Stream.runCollect(stream(request))).pipe(
          Effect.provide(serving(provider)([FakeModelServer.raw(body)]))
        )
        assert.deepStrictEqual(all.map(({ _tag }) => _tag), ["TextDelta", "Replied"])
      }
    }))

  it.effect("that is a page, an error, or cut off in its last event is told apart from one that ends too early", () =>
    Effect.gen(function*() {
      const code = (body: string) => Effect.map(Effect.flip(chat.streamed(body)), ({ code }) => code)
      assert.strictEqual(yield* code("<!doctype html><p>Sign in"), "malformed_reply")
      assert.strictEqual(yield* code("[{\"error\":{\"code\":429,\"message\":\"Slowly.\"}}]"), "rate_limited")
      assert.strictEqual(yield* code(`${events(delta({ content: "Hi" }))}data: {"choices":[{"del`), "cut_off")
      assert.strictEqual((yield* chat.streamed(`${events(delta({ content: "Hi." }))}data: [DONE]`)).text, "Hi.")
    }))

  it.effect("asks to check the base URL when nothing of a reply has come, and not once it has begun", () =>
    Effect.gen(function*() {
      const page = "<html>Bad gateway</html>"
      const piece = JSON.stringify(delta({ content: "Hi" }))
      const ownPiece = "{\"message\":{\"content\":\"Hi\"},\"done\":false}\n"
      const told = (ask: Ask) => (body: string) =>
        Effect.map(Effect.flip(ask(body)), ({ code, hint = "" }) => [code, hint.startsWith("Check the base URL: ")])
      const foreign = ["malformed_reply", true]
      assert.deepStrictEqual(yield* told(chat.streamed)(page), foreign)
      assert.deepStrictEqual(yield* told(chat.streamed)("{\"status\":\"ok\"}"), foreign)
      assert.deepStrictEqual(yield* told(chat.streamed)(events(page)), foreign)
      assert.deepStrictEqual(yield* told(own.streamed)(page), foreign)
      assert.deepStrictEqual(yield* told(own.streamed)("{\"status\":\"ok\"}\n"), foreign)
      const garbled = ["malformed_reply", false]
      assert.deepStrictEqual(yield* told(chat.streamed)(events(piece, page)), garbled)
      assert.deepStrictEqual(yield* told(own.streamed)(ownPiece + page), garbled)
      assert.deepStrictEqual(yield* told(chat.streamed)("{\"choices\":[{\"del"), garbled)
      assert.deepStrictEqual(yield* told(own.streamed)("{\"message\":{\"con"), garbled)
      assert.deepStrictEqual(yield* told(chat.streamed)(events(piece)), ["cut_off", false])
    }))

  it.effect("may leave out the empty line behind its last event", () =>
    Effect.gen(function*() {
      const body = events(delta({ content: "Hi." }), delta({}, "stop")).trimEnd()
      assert.strictEqual((yield* chat.streamed(body)).text, "Hi.")
    }))

  it.effect("of several choices is the first, and of a delta and a message the delta", () =>
    Effect.gen(function*() {
      const other = { choices: [{ index: 1, delta: { content: "Other" } }] }
      const both = {
        choices: [{ index: 0, delta: { content: "i." }, message: { content: "Hi." }, finish_reason: "stop" }]
      }
      assert.strictEqual(
        (yield* chat.streamed(events(other, delta({ content: "H" }), other, both, "[DONE]"))).text,
        "Hi."
      )
      const whole = {
        choices: [{ index: 1, message: { content: "Other" } }, { delta: { content: "" }, message: { content: "Hi." } }]
      }
      assert.strictEqual((yield* chat.whole(JSON.stringify(whole))).text, "Hi.")
    }))

  it.effect("has calls told apart that share a number and have no ids, once the one before is complete", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* calls(
          calling({ index: 0, function: { name: "f", arguments: "{\"x\":1}" } }),
          calling({ index: 0, function: { name: "g", arguments: "{\"x\":2}" } })
        ),
        [args("f", "{\"x\":1}"), args("g", "{\"x\":2}")]
      )
    }))

  it.effect("keeps what a model thought in the form of a part, when it goes on with a text", () =>
    Effect.gen(function*() {
      const thinking = { type: "thinking", thinking: [{ type: "text", text: "Hm." }] }
      const { stream } = yield* Model.Model
      const last = yield* Stream.runLast(stream(request))
      const native = last._tag === "Some" && last.value._tag === "Replied" ? last.value.reply.native : undefined
      assert.deepStrictEqual(Object.values(native as object), [
        { content: [thinking, { type: "text", text: "Hi" }, { type: "text", text: "." }] }
      ])
    }).pipe(Effect.provide(
      serving(openAi)([
        FakeModelServer.raw(events(
          delta({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }] }),
          delta({ content: "Hi" }),
          delta({ content: "." }, "stop"),
          "[DONE]"
        ))
      ])
    )))

  it.effect("may change the form of its content in the middle", () =>
    Effect.gen(function*() {
      const parts = [{ type: "text", text: "lo" }, { type: "text", text: "." }]
      const body = events(
        delta({ content: "Hel" }),
        delta({ content: parts }),
        delta({ content: "." }, "stop"),
        "[DONE]"
      )
      assert.strictEqual((yield* chat.streamed(body)).text, "Hello..")
    }))

  for (const reason of ["error", "abort", "insufficient_system_resource"]) {
    it.effect(`that the server gave up (${reason}) is cut off, whole or streamed`, () =>
      Effect.gen(function*() {
        const streamed = yield* Effect.flip(chat.streamed(events(delta({ content: "Hi" }, reason), "[DONE]")))
        const whole = yield* Effect.flip(
          chat.whole(`{"choices":[{"message":{"content":"Hi"},"finish_reason":"${reason}"}]}`)
        )
        assert.deepStrictEqual([streamed.code, whole.code, whole.transient], ["cut_off", "cut_off", true])
      }))
  }

  it.effect("is not lost by what comes after its end", () =>
    Effect.gen(function*() {
      const usage = { usage: { prompt_tokens: 1, completion_tokens: 2 } }
      const reply = { text: "Hi.", calls: [], usage: { inputTokens: 1, outputTokens: 2 } }
      const after = (...chunks: ReadonlyArray<object | string>) =>
        chat.streamed(events(delta({ content: "Hi." }, "stop"), ...chunks))
      assert.deepStrictEqual(yield* after(usage, "[DONE] "), reply)
      assert.deepStrictEqual(yield* after({ choices: null, ...usage }, "[DONE]"), reply)
      assert.deepStrictEqual(yield* after(usage, { error: { message: "Too late." } }), reply)
    }))

  it.effect("may have events of other kinds in it", () =>
    Effect.gen(function*() {
      const body = `event: ping\ndata: {"type":"ping"}\n\n${events(delta({ content: "Hi." }, "stop"), "[DONE]")}`
      assert.strictEqual((yield* chat.streamed(body)).text, "Hi.")
    }))

  it.effect("has calls that repeat their names and ids, with or without a number, said once", () =>
    Effect.gen(function*() {
      for (const index of [{ index: 0 }, {}]) {
        const piece = (text: string) => calling({ ...index, id: "a", function: { name: "f", arguments: text } })
        assert.deepStrictEqual(yield* calls(piece("{\"x\""), piece(":1"), piece("}")), [args("f", "{\"x\":1}", "a")])
      }
      assert.deepStrictEqual(
        yield* calls(calling(
          { index: 0, id: "a", function: { name: "f", arguments: "{" } },
          { index: 0, function: { arguments: "}" } }
        )),
        [args("f", "{}", "a")]
      )
    }))

  it.effect("that ends without saying so is cut off", () =>
    Effect.gen(function*() {
      const failures = [
        yield* Effect.flip(chat.streamed(events(delta({ content: "Hi" })))),
        yield* Effect.flip(chat.streamed("")),
        yield* Effect.flip(own.streamed("{\"message\":{\"content\":\"Hi\"},\"done\":false}\n")),
        yield* Effect.flip(own.streamed("\n\n"))
      ]
      assert.deepStrictEqual(
        failures.map(({ code, transient }) => [code, transient]),
        failures.map(() => ["cut_off", true])
      )
    }))

  it.effect("that fails in the middle says what the server says", () =>
    Effect.gen(function*() {
      const chats = yield* Effect.flip(
        chat.streamed(events(delta({ content: "Hi" }), { error: { message: "GPU on fire", code: 500 } }))
      )
      assert.deepInclude({ ...chats }, { code: "server_error", detail: "The model's server failed: \"GPU on fire\"" })
      const owns = yield* Effect.flip(
        own.streamed("{\"message\":{\"content\":\"Hi\"},\"done\":false}\n{\"error\":\"out of memory\"}\n")
      )
      assert.deepInclude({ ...owns }, { code: "server_error", detail: "Ollama failed: \"out of memory\"" })
      const garbled = yield* Effect.flip(chat.streamed(events(delta({ content: "Hi" }), "{\"choices\":")))
      assert.deepInclude({ ...garbled }, { code: "malformed_reply", transient: true })
    }))

  it.effect("that is a refusal is a failure of its own", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(
        chat.streamed(events(delta({ refusal: "I " }), delta({ refusal: "won't." }), delta({}, "stop"), "[DONE]"))
      )
      assert.deepInclude({ ...failure }, { code: "refused", detail: "The model refused: \"I won't.\"" })
    }))
})

describe("a hostile reply", { tags: "slow" }, () => {
  const agent = Agent.make({ toolkit: Toolkit.empty })
  const deep = `${"{\"a\":".repeat(50_000)}1${"}".repeat(50_000)}`
  const nested = `{"tool_calls":[{"id":"1","function":{"name":"dig","arguments":${deep}}}]}`

  const manyCalls = Array.from(
    { length: 20_000 },
    (_, id) => `{"id":"${id}","function":{"name":"go","arguments":{"n":${id}}}}`
  ).join()

  for (
    const [what, provider, body] of [
      ["Chat Completions", openAi, `{"choices":[{"message":${nested}}]}`],
      ["Ollama", ollama, `{"message":${nested},"done":true}`]
    ] as const
  ) {
    it.effect(`with arguments nested 50,000 deep is answered, and the run goes on (${what})`, () =>
      Effect.gen(function*() {
        const answer = yield* agent.run("Dig.")
        assert.strictEqual(answer.text, "Enough.")
        const { requests } = yield* (yield* FakeModelServer.FakeModelServer).state
        assert.deepStrictEqual(requests.map(({ problem }) => problem), [undefined, undefined])
      }).pipe(
        Effect.provide(serving(provider)([FakeModelServer.raw(body), ScriptedModel.text("Enough.")]))
      ))

    it.effect(`with 20,000 calls in it is read, and each is answered (${what})`, () =>
      Effect.gen(function*() {
        const answer = yield* agent.run("Go.")
        assert.strictEqual(answer.ledger.calls, 20_000)
      }).pipe(
        Effect.provide(
          serving(provider)(
            [
              FakeModelServer.raw(body.replace(nested, `{"tool_calls":[${manyCalls}]}`)),
              ScriptedModel.text("Enough.")
            ],
            { maxBytes: 100_000_000 }
          )
        )
      ))
  }

  it.effect("of thousands of keys and pieces takes its time, and no more", () =>
    Effect.gen(function*() {
      const keys = Object.fromEntries(Array.from({ length: 50_000 }, (_, key) => [`key_${key}`, "x"]))
      const both = `${JSON.stringify({ message: { nested: keys }, done: false })}\n`.repeat(2) +
        line({ content: "Hi." })
      assert.strictEqual((yield* own.streamed(both)).text, "Hi.")
      const piece = `${JSON.stringify({ message: { content: [{ type: "text", text: "x" }] }, done: false })}\n`
      assert.strictEqual((yield* own.streamed(piece.repeat(50_000) + line({ content: "." }))).text.length, 50_001)
    }))

  it.effect("of fields nested 50,000 deep is read, and what cannot be written does not go back", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.empty })
      const field = `"deep":${"{\"a\":".repeat(50_000)}1${"}".repeat(50_000)}`
      const calls = "\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"dig\"}}]"
      const whole = FakeModelServer.raw(`{"message":{${calls},${field}},"done":true}`)
      const pieces = FakeModelServer.raw(
        `{"message":{${field}},"done":false}\n{"message":{${calls},${field}},"done":true}\n`
      )
      const play = (move: FakeModelServer.Move) =>
        Effect.provide(serving(ollama)([move, ScriptedModel.text("Enough.")]))
      assert.strictEqual((yield* agent.run("Dig.").pipe(play(whole))).text, "Enough.")
      const events = yield* Stream.runCollect(agent.stream("Dig.")).pipe(play(pieces))
      assert.strictEqual(events.at(-1)?._tag, "RunEnded")
    }))

  it.effect("of thousands of calls without ids is answered, too", () =>
    Effect.gen(function*() {
      const calls = Array.from({ length: 10_000 }, () => "{\"function\":{\"name\":\"go\"}}").join()
      const answer = yield* Agent.make({ toolkit: Toolkit.empty }).run("Go.").pipe(
        Effect.provide(
          serving(ollama)(
            [FakeModelServer.raw(`{"message":{"tool_calls":[${calls}]},"done":true}`), ScriptedModel.text("Enough.")],
            { maxBytes: 100_000_000 }
          )
        )
      )
      assert.strictEqual(answer.ledger.calls, 10_000)
    }))

  it.effect("of more than any reply has is given up, and not asked for again", () =>
    Effect.gen(function*() {
      const large = new Uint8Array(65 * 1024 * 1024).fill(32)
      const failure = yield* Effect.flip(Effect.flatMap(Model.Model, ({ respond }) => respond(request)))
        .pipe(Effect.provide(serving(openAi)([FakeModelServer.raw(large)])))
      assert.deepInclude({ ...failure }, { code: "malformed_reply", transient: false })
      assert.include(failure.detail, "more than 64 MiB")
    }))

  it.effect("of one endless line is given up, and not kept", () =>
    Effect.gen(function*() {
      const endless = "x".repeat(11 * 1024 * 1024)
      const event = yield* Effect.flip(chat.streamed(`data: ${endless}`))
      assert.deepInclude({ ...event }, { code: "malformed_reply", transient: false })
      const line = yield* Effect.flip(own.streamed(`${endless}\n`))
      assert.deepInclude({ ...line }, { code: "malformed_reply" })
      assert.isBelow(line.detail.length, 700)
    }))
})
