/** Streamed replies of careless servers. */
import { assert, describe, it } from "@effect/vitest"
import { Model } from "@fallible/core"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Stream } from "effect"
import { type Ask, chat, line, own } from "../support/bodies.ts"
import { ollama, openAi, serving } from "../support/models.ts"
import { request } from "../support/question.ts"

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

  it.effect("has its calls assembled by index, however they are interleaved", () =>
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

  it.effect("shows no arguments as those of another call", () =>
    Effect.gen(function*() {
      const shown = (...chunks: ReadonlyArray<object>) =>
        Effect.gen(function*() {
          const { stream } = yield* Model.Model
          const parts = yield* Stream.runCollect(stream(request))
          return parts.flatMap((part) => part._tag === "ArgumentsDelta" ? [[part.tool, part.text]] : [])
        }).pipe(
          Effect.provide(serving(openAi)([FakeModelServer.raw(events(...chunks, delta({}, "tool_calls"), "[DONE]"))]))
        )
      const login = { function: { name: "login", arguments: "{\"password\":\"x\"}" } }
      const answer = { function: { name: "final_answer", arguments: "{}" } }
      assert.deepStrictEqual(yield* shown(calling(login, answer)), [])
      assert.deepStrictEqual(yield* shown(calling({ index: 0, ...login }, { index: 0, ...answer })), [])
      const apart = [["login", login.function.arguments], ["final_answer", "{}"]]
      assert.deepStrictEqual(yield* shown(calling({ index: 0, ...login }, { index: 1, ...answer })), apart)
      assert.deepStrictEqual(yield* shown(calling(login), calling(answer)), apart)
    }))

  it.effect("has a name in pieces joined, and a repeated name kept once", () =>
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

  it.effect("separates calls without an index by name, and calls with one index by id", () =>
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

  it.effect("is complete once it has a stop reason, even without the closing events", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* chat.streamed(events(delta({ content: "Hi." }, "stop")))).text, "Hi.")
      assert.strictEqual((yield* chat.streamed(events(delta({ content: "Hi." }), "[DONE]"))).text, "Hi.")
      assert.strictEqual((yield* chat.streamed(events(delta({ content: "Hi." }, "stop"), "{garbage"))).text, "Hi.")
    }))

  it.effect("that reached its token limit may have calls, and reports the limit", () =>
    Effect.gen(function*() {
      const body = events(
        calling({ index: 0, id: "a", function: { name: "f", arguments: "{" } }),
        delta({}, "length"),
        "[DONE]"
      )
      assert.deepStrictEqual(yield* chat.streamed(body), { text: "", calls: [args("f", "{", "a")], truncated: true })
    }))

  it.effect("keeps labels once, and separates calls without arguments or with reused indexes", () =>
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

  it.effect("ends once, however often the server ends it", () =>
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

  it.effect("that is a web page, an error, or cut in its last event differs from one that ends too early", () =>
    Effect.gen(function*() {
      const code = (body: string) => Effect.map(Effect.flip(chat.streamed(body)), ({ code }) => code)
      assert.strictEqual(yield* code("<!doctype html><p>Sign in"), "malformed_reply")
      assert.strictEqual(yield* code("[{\"error\":{\"code\":429,\"message\":\"Slowly.\"}}]"), "rate_limited")
      assert.strictEqual(yield* code(`${events(delta({ content: "Hi" }))}data: {"choices":[{"del`), "cut_off")
      assert.strictEqual((yield* chat.streamed(`${events(delta({ content: "Hi." }))}data: [DONE]`)).text, "Hi.")
    }))

  it.effect("advises to check the base URL only if no part of a reply has come", () =>
    Effect.gen(function*() {
      const page = "<html>Bad gateway</html>"
      const piece = JSON.stringify(delta({ content: "Hi" }))
      const ownPiece = "{\"message\":{\"content\":\"Hi\"},\"done\":false}\n"
      const failureOf = (ask: Ask) => (body: string) =>
        Effect.map(Effect.flip(ask(body)), ({ code, hint = "" }) => [code, hint.startsWith("Check the base URL: ")])
      const foreign = ["malformed_reply", true]
      assert.deepStrictEqual(yield* failureOf(chat.streamed)(page), foreign)
      assert.deepStrictEqual(yield* failureOf(chat.streamed)("{\"status\":\"ok\"}"), foreign)
      assert.deepStrictEqual(yield* failureOf(chat.streamed)(events(page)), foreign)
      assert.deepStrictEqual(yield* failureOf(own.streamed)(page), foreign)
      assert.deepStrictEqual(yield* failureOf(own.streamed)("{\"status\":\"ok\"}\n"), foreign)
      const garbled = ["malformed_reply", false]
      assert.deepStrictEqual(yield* failureOf(chat.streamed)(events(piece, page)), garbled)
      assert.deepStrictEqual(yield* failureOf(own.streamed)(ownPiece + page), garbled)
      assert.deepStrictEqual(yield* failureOf(chat.streamed)("{\"choices\":[{\"del"), garbled)
      assert.deepStrictEqual(yield* failureOf(own.streamed)("{\"message\":{\"con"), garbled)
      assert.deepStrictEqual(yield* failureOf(chat.streamed)(events(piece)), ["cut_off", false])
    }))

  it.effect("may omit the empty line after its last event", () =>
    Effect.gen(function*() {
      const body = events(delta({ content: "Hi." }), delta({}, "stop")).trimEnd()
      assert.strictEqual((yield* chat.streamed(body)).text, "Hi.")
    }))

  it.effect("takes the first of several choices, and the delta beside a message", () =>
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

  it.effect("separates calls with the same index and no ids, once the previous call is complete", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* calls(
          calling({ index: 0, function: { name: "f", arguments: "{\"x\":1}" } }),
          calling({ index: 0, function: { name: "g", arguments: "{\"x\":2}" } })
        ),
        [args("f", "{\"x\":1}"), args("g", "{\"x\":2}")]
      )
    }))

  it.effect("keeps a model's reasoning part when it continues with text", () =>
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

  it.effect("may change the format of its content midway", () =>
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
    it.effect(`that the server abandoned (${reason}) counts as cut off, whole or streamed`, () =>
      Effect.gen(function*() {
        const streamed = yield* Effect.flip(chat.streamed(events(delta({ content: "Hi" }, reason), "[DONE]")))
        const whole = yield* Effect.flip(
          chat.whole(`{"choices":[{"message":{"content":"Hi"},"finish_reason":"${reason}"}]}`)
        )
        assert.deepStrictEqual([streamed.code, whole.code, whole.transient], ["cut_off", "cut_off", true])
      }))
  }

  it.effect("is not lost if more data follows its end", () =>
    Effect.gen(function*() {
      const usage = { usage: { prompt_tokens: 1, completion_tokens: 2 } }
      const reply = { text: "Hi.", calls: [], usage: { inputTokens: 1, outputTokens: 2 } }
      const after = (...chunks: ReadonlyArray<object | string>) =>
        chat.streamed(events(delta({ content: "Hi." }, "stop"), ...chunks))
      assert.deepStrictEqual(yield* after(usage, "[DONE] "), reply)
      assert.deepStrictEqual(yield* after({ choices: null, ...usage }, "[DONE]"), reply)
      assert.deepStrictEqual(yield* after(usage, { error: { message: "Too late." } }), reply)
    }))

  it.effect("may contain events of other kinds", () =>
    Effect.gen(function*() {
      const body = `event: ping\ndata: {"type":"ping"}\n\n${events(delta({ content: "Hi." }, "stop"), "[DONE]")}`
      assert.strictEqual((yield* chat.streamed(body)).text, "Hi.")
    }))

  it.effect("keeps calls once that repeat their names and ids, with or without an index", () =>
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

  it.effect("that ends without an end event counts as cut off", () =>
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

  it.effect("that fails midway quotes the server's error", () =>
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

  it.effect("that is a refusal is a distinct failure", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(
        chat.streamed(events(delta({ refusal: "I " }), delta({ refusal: "won't." }), delta({}, "stop"), "[DONE]"))
      )
      assert.deepInclude({ ...failure }, { code: "refused", detail: "The model refused: \"I won't.\"" })
    }))
})
