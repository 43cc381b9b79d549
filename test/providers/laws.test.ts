/** Laws of every model that plays a script: over each protocol, split at odd places or not, and without a network. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Model, ModelFailure, Tool, Toolkit, Transcript } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Deferred, Duration, Effect, Fiber, Layer, Schedule, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { atOnce, players, withoutNative } from "../support/models.ts"

const question = Transcript.make([{ role: "user", text: "How warm is it in Zürich?" }])
const request: Model.Request = { transcript: question, tools: [] }

const whole = Effect.flatMap(Model.Model, ({ respond }) => respond(request))
const parts = Effect.flatMap(Model.Model, ({ stream }) => Stream.runCollect(stream(request)))
const asked = Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests)

const once = { retry: Schedule.recurs(0) }

const replies: ReadonlyArray<readonly [what: string, reply: Model.Reply]> = [
  ["a text", { text: "It is 21 °C in Zürich. ☀️🌡️ \"Warm\",\n they say.", calls: [] }],
  ["nothing", { text: "", calls: [] }],
  ["a long text", { text: "naïve café 日本語 ".repeat(100), calls: [] }],
  ["what it took", { text: "21.", calls: [], usage: { inputTokens: 12, outputTokens: 3 } }],
  ["what it thought", { text: "21.", calls: [], reasoning: "It is ☀️ July, and\n Zürich is warm then." }],
  ["a text that was cut off", { text: "It is", calls: [], truncated: true }],
  ["a call", ScriptedModel.call("get_weather", { city: "Zürich 🌧", days: 3 })],
  ["a text and a call", { ...ScriptedModel.call("get_weather", { city: "Zürich" }), text: "Let me see." }],
  ["several calls", ScriptedModel.calls(["a", { x: "first one" }], ["b", { y: [1, 2, 3] }], ["a", { x: "third one" }])],
  ["a call without arguments", ScriptedModel.call("ping")],
  [
    "arguments as they were written",
    ScriptedModel.call("pay", "{ \"amount\": 12345678901234567890, \"to\" : \"}\\\"{\", \"to\":1.50, \"n\": [ ] }")
  ],
  ["arguments that are no JSON", ScriptedModel.call("pay", "{amount: 5,}")]
]

const failures: ReadonlyArray<ModelFailure> = [
  new ModelFailure({ code: "bad_request", detail: "No such field.", transient: false, status: 400 }),
  new ModelFailure({ code: "permission_denied", detail: "Not for you.", transient: false, status: 401 }),
  new ModelFailure({ code: "permission_denied", detail: "Not for you.", transient: false, status: 403 }),
  new ModelFailure({ code: "quota_exhausted", detail: "Pay first.", transient: false, status: 402 }),
  new ModelFailure({ code: "quota_exhausted", detail: "Used up.", transient: false, status: 429 }),
  new ModelFailure({ code: "unknown_model", detail: "No model 'any'.", transient: false, status: 404 }),
  new ModelFailure({ code: "bad_address", detail: "Nothing here.", transient: false, status: 404 }),
  new ModelFailure({ code: "context_overflow", detail: "Too long.", transient: false, status: 400 }),
  new ModelFailure({ code: "context_overflow", detail: "Too large.", transient: false, status: 413 }),
  new ModelFailure({ code: "bad_request", detail: "A teapot.", transient: false, status: 418 }),
  new ModelFailure({ code: "timeout", detail: "Too slow.", transient: true, status: 408 }),
  new ModelFailure({ code: "rate_limited", detail: "Slowly.", transient: true, status: 429 }),
  new ModelFailure({
    code: "rate_limited",
    detail: "Slowly.",
    transient: true,
    status: 429,
    retryAfter: Duration.seconds(7)
  }),
  new ModelFailure({
    code: "server_error",
    detail: "Back soon.",
    transient: true,
    status: 503,
    retryAfter: Duration.minutes(2)
  }),
  ...[500, 502, 503, 504, 529].map((status) =>
    new ModelFailure({ code: "server_error", detail: "Oh.", transient: true, status })
  ),
  ...[501, 505].map((status) => new ModelFailure({ code: "server_error", detail: "Oh.", transient: false, status })),
  new ModelFailure({ code: "max_tokens", detail: "", transient: false }),
  new ModelFailure({ code: "connection", detail: "", transient: true }),
  new ModelFailure({ code: "cut_off", detail: "", transient: true }),
  new ModelFailure({ code: "malformed_reply", detail: "Gateway", transient: true })
]

const named = ({ code, retryAfter, status }: ModelFailure) =>
  [code, status, retryAfter && Duration.format(retryAfter)].filter((part) => part !== undefined).join(" ")

const busy = new ModelFailure({ code: "server_error", detail: "Busy.", transient: true, status: 503 })
const brokenOff = new ModelFailure({ code: "cut_off", detail: "It broke off.", transient: true })
const noReply = new ModelFailure({ code: "malformed_reply", detail: "Nothing.", transient: true })

const ping = Tool.make(
  "ping",
  { description: "Answers", success: Schema.String, sideEffect: "none" },
  () => Effect.succeed("pong")
)
const pinging = Agent.make({ instructions: "Be brief.", toolkit: Toolkit.make(ping) })

for (const { adds, layer, name } of players) {
  describe(`a model, played by ${name}`, () => {
    for (const [what, reply] of replies) {
      it.effect(`replies with ${what}`, () =>
        Effect.gen(function*() {
          assert.deepStrictEqual(withoutNative(yield* whole), { ...reply, ...adds })
        }).pipe(Effect.provide(layer([reply]))))

      it.effect(`streams ${what}, piece by piece, and then the whole`, () =>
        Effect.gen(function*() {
          const all = yield* parts
          const text = all.map((part) => part._tag === "TextDelta" ? part.text : "").join("")
          assert.strictEqual(text, reply.text)
          const ends = all.flatMap((part) => part._tag === "Replied" ? [withoutNative(part.reply)] : [])
          assert.deepStrictEqual(ends, [{ ...reply, ...adds }])
          assert.strictEqual(all.at(-1)?._tag, "Replied")
        }).pipe(Effect.provide(layer([reply]))))
    }

    for (const failure of failures) {
      const same = (found: ModelFailure) => {
        assert.instanceOf(found, ModelFailure)
        const { detail, hint: _, ...fields } = { ...found }
        const { detail: expected, ...others } = { ...failure }
        assert.deepStrictEqual(fields, others)
        assert.include(detail, expected)
        assert.isBelow(detail.length, 700)
      }
      it.effect(`fails with ${named(failure)}`, () =>
        Effect.gen(function*() {
          same(yield* Effect.flip(whole))
        }).pipe(Effect.provide(layer([failure], once))))

      it.effect(`fails a stream with ${named(failure)}`, () =>
        Effect.gen(function*() {
          same(yield* Effect.flip(parts))
        }).pipe(Effect.provide(layer([failure], once))))
    }

    it.effect("gets the whole conversation", () =>
      Effect.gen(function*() {
        const messages: ReadonlyArray<Transcript.Message> = [
          { role: "system", text: "Be brief. Sois bref. 簡潔に。" },
          {
            role: "user",
            text: "What are these?",
            files: [
              Transcript.file(new Uint8Array([71, 73, 70, 56]), "image/gif"),
              Transcript.file(new Uint8Array([137, 80, 78, 71, 13]), "image/png")
            ]
          },
          {
            role: "assistant",
            text: "I'll look.",
            calls: [{ id: "1", name: "look", arguments: "{\"at\":\"both\"}" }, {
              id: "2",
              name: "ping",
              arguments: "{}"
            }]
          },
          { role: "tool", callId: "1", name: "look", text: "\"a cat\"" },
          { role: "tool", callId: "2", name: "ping", text: "" },
          { role: "assistant", text: "A cat.", calls: [] },
          { role: "user", text: "" }
        ]
        yield* Effect.flatMap(
          Model.Model,
          ({ respond }) => respond({ transcript: Transcript.make(messages), tools: [] })
        )
        assert.deepStrictEqual((yield* asked)[0]?.messages, messages)
      }).pipe(Effect.provide(layer([ScriptedModel.text("Hello.")]))))

    it.effect("gets the tools and the reply options", () =>
      Effect.gen(function*() {
        const options = { temperature: 0.2, maxTokens: 100, provider: { seed: 7 } }
        yield* pinging.run("Ping!", { modelOptions: options })
        assert.deepInclude((yield* asked)[0], { tools: Toolkit.make(ping).definitions, options })
      }).pipe(Effect.provide(layer([ScriptedModel.text("Hello.")]))))

    it.effect("gets the results of its calls, whatever it called and however", () =>
      Effect.gen(function*() {
        const answer = yield* pinging.run("Ping!")
        assert.strictEqual(answer.text, "Enough.")
        const { messages } = (yield* asked)[1]!
        assert.deepStrictEqual(messages.map(({ role }) => role), [
          "system",
          "user",
          "assistant",
          ...Array.from({ length: 8 }, () => "tool")
        ])
        assert.deepStrictEqual(answer.report.failures.map(({ code }) => code), [
          "unknown_tool",
          "unknown_tool",
          "unknown_tool",
          "invalid_json",
          "invalid_arguments"
        ])
      }).pipe(Effect.provide(layer([
        ScriptedModel.calls(
          ["ping"],
          ["ping", ""],
          ["ping", "null"],
          ["get wether, please!", "{}"],
          ["", "{}"],
          ["a".repeat(100)],
          ["ping", "{\"a\": "],
          ["ping", "{'a': 1}"]
        ),
        ScriptedModel.text("Enough.")
      ]))))

    it.effect("has each call answered, even if ids are equal or missing", () =>
      Effect.gen(function*() {
        const answer = yield* pinging.run("Ping!")
        assert.strictEqual(answer.text, "Pong.")
        assert.deepStrictEqual(answer.report.failures, [])
        const { messages } = (yield* asked)[1]!
        assert.deepStrictEqual(
          messages.flatMap((message) => message.role === "tool" ? [message.callId] : []),
          ["same", "same_1", "call_1"]
        )
      }).pipe(Effect.provide(layer([
        {
          text: "",
          calls: [
            { id: "same", name: "ping", arguments: "{}" },
            { id: "same", name: "ping", arguments: "{ }" },
            { id: "", name: "ping" }
          ]
        },
        ScriptedModel.text("Pong.")
      ]))))

    it.effect("continues a conversation with another model", () =>
      Effect.gen(function*() {
        const transcript = Transcript.make([
          { role: "user", text: "Hello?" },
          { role: "assistant", text: "Hello.", calls: [], native: { elsewhere: { content: 7, secret: "theirs" } } }
        ])
        yield* pinging.run("And?", { transcript })
        const { messages } = (yield* asked)[0]!
        assert.deepInclude(messages.at(-2), { role: "assistant", text: "Hello.", calls: [] })
      }).pipe(Effect.provide(layer([ScriptedModel.text("And.")]))))

    for (const failure of [busy, brokenOff, noReply]) {
      it.effect(`is tried three times in all if it fails with ${failure.code}, by run and by stream`, () =>
        Effect.gen(function*() {
          assert.strictEqual((yield* atOnce(pinging.run("Ping!"))).text, "Here.")
          const events = yield* atOnce(Stream.runCollect(pinging.stream("Ping!")))
          assert.deepStrictEqual(
            events.filter(({ _tag }) => _tag !== "TextDelta").map(({ _tag }) => _tag),
            ["TurnStarted", "ModelRetried", "ModelRetried", "ModelReplied", "RunEnded"]
          )
          const failed = yield* Effect.flip(atOnce(pinging.run("Ping!")))
          assert.deepInclude(failed, { _tag: "ModelFailed" })
          assert.isTrue(failed._tag === "ModelFailed" && failed.failure.code === failure.code)
          assert.isTrue(failed._tag === "ModelFailed" && failed.failure.attempts === 3)
          assert.strictEqual((yield* asked).length, 9)
        }).pipe(Effect.provide(layer([
          failure,
          failure,
          ScriptedModel.text("Here."),
          failure,
          failure,
          ScriptedModel.text("Here."),
          failure,
          failure,
          failure
        ]))))
    }

    it.effect("is not retried after a permanent failure", () =>
      Effect.gen(function*() {
        yield* Effect.flip(atOnce(pinging.run("Ping!")))
        assert.strictEqual((yield* asked).length, 1)
      }).pipe(Effect.provide(layer([failures[0]!, ScriptedModel.text("Here.")]))))

    it.effect("takes its time", () =>
      Effect.gen(function*() {
        const begun = yield* Deferred.make<void>()
        const over = yield* Deferred.make<void>()
        const slow = Deferred.succeed(begun, undefined).pipe(
          Effect.andThen(Effect.sleep("1 minute")),
          Effect.andThen(Deferred.succeed(over, undefined)),
          Effect.as(ScriptedModel.text("At last."))
        )
        const fiber = yield* whole.pipe(Effect.provide(layer([slow])), Effect.forkChild)
        yield* Deferred.await(begun)
        yield* TestClock.adjust("59 seconds")
        assert.isFalse(Deferred.isDoneUnsafe(over))
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.join(fiber)).text, "At last.")
      }))

    for (const [how, effect] of [["whole", Effect.asVoid(whole)], ["streamed", Effect.asVoid(parts)]] as const) {
      it.effect(`stops when the caller stops waiting (${how})`, () =>
        Effect.gen(function*() {
          const begun = yield* Deferred.make<void>()
          const stopped = yield* Deferred.make<void>()
          const hanging = Deferred.succeed(begun, undefined).pipe(
            Effect.andThen(Effect.never),
            Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
          )
          const model = yield* Layer.build(layer([hanging]))
          const fiber = yield* Effect.forkChild(Effect.provide(effect, model))
          yield* Deferred.await(begun)
          yield* Fiber.interrupt(fiber)
          // The server still runs, so only the closed connection can stop the reply.
          yield* Deferred.await(stopped)
        }).pipe(Effect.scoped))
    }
  })
}
