/** Models that are made from one attempt: time, repetitions, streams that break, and names. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Model, ModelFailure, Tool, Toolkit } from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import * as ModelAdapter from "@fallible/core/ModelAdapter"
import { Effect, Fiber, Layer, Schedule, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { Untyped } from "../support/nonsense.ts"
import { request } from "../support/question.ts"

const server = { name: "Echo", address: "https://echo.example/chat" }
const hello: Model.Reply = { text: "Hello.", calls: [] }
const counted: Model.Reply = { ...hello, usage: { inputTokens: 3 } }
const busy = new ModelFailure({ code: "server_error", detail: "Busy.", transient: true })
const wrong = new ModelFailure({ code: "bad_request", detail: "Wrong.", transient: false })

const piece = (text: string): ModelAdapter.Piece => ({ parts: [{ _tag: "TextDelta", text }] })
const ended = (reply: Model.Reply = hello, isLast = false): ModelAdapter.Piece => ({
  reply: Effect.succeed(reply),
  isLast
})

type Pieces = Stream.Stream<ModelAdapter.Piece, ModelFailure>

const streaming = (pieces: Pieces, settings: ModelAdapter.Settings = {}) =>
  ModelAdapter.make(
    { name: "echo-1", server, respond: () => Effect.die("not asked"), stream: () => Effect.succeed(pieces) },
    settings
  )

const responding = (respond: ModelAdapter.Adapter["respond"], settings: ModelAdapter.Settings = {}) =>
  ModelAdapter.make(
    { name: "echo-1", server, respond, stream: () => Effect.die("not asked") },
    settings
  )

const partsOf = (model: Model.Model["Service"]) => Stream.runCollect(model.stream(request))

/** Checks that an effect has not ended just before a time, and returns its end at that time. */
const endingAt = <A, E>(seconds: number, effect: Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(Effect.exit(effect), { startImmediately: true })
    yield* TestClock.adjust(seconds * 1_000 - 1)
    assert.isUndefined(fiber.pollUnsafe())
    yield* TestClock.adjust(1)
    return yield* yield* Fiber.join(fiber)
  })

/** Pieces with pauses before them, in seconds. */
const paced = (...pieces: ReadonlyArray<readonly [seconds: number, piece: ModelAdapter.Piece]>): Pieces =>
  Stream.mapEffect(Stream.fromIterable(pieces), ([seconds, piece]) => Effect.as(Effect.sleep(seconds * 1_000), piece))

describe("the time of a model", () => {
  it.effect("ends a request that takes too long, and it is not repeated", () =>
    Effect.gen(function*() {
      let asked = 0
      const model = responding(() => Effect.andThen(Effect.sync(() => asked++), Effect.never), { timeout: "5 seconds" })
      const failure = yield* Effect.flip(endingAt(5, model.respond(request)))
      assert.deepInclude({ ...failure }, {
        code: "timeout",
        detail: "Echo did not answer at https://echo.example/chat within 5s.",
        transient: false
      })
      assert.strictEqual(asked, 1)
    }))

  it.effect("ends a stream that does not begin, or that pauses for too long", () =>
    Effect.gen(function*() {
      const silent = ModelAdapter.make(
        { name: "echo-1", server, respond: () => Effect.never, stream: () => Effect.never },
        { timeout: "5 seconds" }
      )
      assert.deepInclude({ ...yield* Effect.flip(endingAt(5, partsOf(silent))) }, { code: "timeout", transient: false })
      const pausing = streaming(paced([4, piece("Hel")], [4, piece("lo.")], [60, ended()]), { timeout: "5 seconds" })
      assert.deepInclude({ ...yield* Effect.flip(endingAt(13, partsOf(pausing))) }, { code: "timeout" })
    }))

  it.effect("ends a stream that never ends its reply, although pieces keep coming", () =>
    Effect.gen(function*() {
      const endless = streaming(Stream.repeat(paced([2, piece("la ")]), Schedule.forever), {
        timeout: "5 seconds",
        streamTimeout: "9 seconds"
      })
      const failure = yield* Effect.flip(endingAt(9, partsOf(endless)))
      assert.strictEqual(failure.detail, "Echo did not finish its reply at https://echo.example/chat within 9s.")
    }))

  it.effect("is five minutes for a reply, and an hour for a stream, if nothing else is said", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        (yield* Effect.flip(endingAt(300, responding(() => Effect.never).respond(request)))).code,
        "timeout"
      )
      const endless = streaming(Stream.repeat(paced([299, piece("la ")]), Schedule.forever))
      assert.strictEqual((yield* Effect.flip(endingAt(3_600, partsOf(endless)))).code, "timeout")
    }))

  it("is refused if it is none, and so is a window that is no size", () => {
    for (
      const settings of [{ timeout: 0 }, { timeout: -1 }, { streamTimeout: "0 seconds" }] as ReadonlyArray<Untyped>
    ) {
      assert.throws(() => responding(() => Effect.never, settings), "A timeout must be longer than zero.")
    }
    for (const contextWindow of [0, 1.5, NaN, "8000"] as ReadonlyArray<Untyped>) {
      assert.throws(() => responding(() => Effect.never, { contextWindow }), /A 'contextWindow' must be a whole number/)
    }
  })
})

describe("a streamed reply", () => {
  const replies = (parts: ReadonlyArray<Model.Part>) =>
    parts.flatMap((part) => part._tag === "Replied" ? [part.reply] : [])

  it.effect("that ends without a reply was cut off", () =>
    Effect.gen(function*() {
      for (
        const pieces of [Stream.empty, Stream.make(piece("Hel")), Stream.make<[ModelAdapter.Piece]>({ isLast: true })]
      ) {
        const failure = yield* Effect.flip(partsOf(streaming(pieces, { retry: Schedule.recurs(0) })))
        assert.deepInclude({ ...failure }, { code: "cut_off", transient: true })
      }
    }))

  it.effect("has the parts of its last piece, and what its latest piece says", () =>
    Effect.gen(function*() {
      const parts = yield* partsOf(
        streaming(
          Stream.make(piece("Hel"), ended(hello), { ...piece("lo."), ...ended(counted, true) }, piece("Never."))
        )
      )
      assert.deepStrictEqual(parts, [
        { _tag: "TextDelta", text: "Hel" },
        { _tag: "TextDelta", text: "lo." },
        { _tag: "Replied", reply: counted }
      ])
    }))

  it.effect("is kept if the stream fails, or only ends, after its end", () =>
    Effect.gen(function*() {
      for (
        const rest of [Stream.fail(busy), Stream.empty, Stream.make(piece("")).pipe(Stream.concat(Stream.fail(busy)))]
      ) {
        const parts = yield* partsOf(streaming(Stream.concat(Stream.make(piece("Hello."), ended(counted)), rest)))
        assert.deepStrictEqual(replies(parts), [counted])
      }
      const after = yield* partsOf(streaming(Stream.concat(Stream.make(ended(counted, true)), Stream.fail(busy))))
      assert.deepStrictEqual(replies(after), [counted])
    }))

  it.effect("waits one second for what completes it, and a tenth of a second for the end of the stream", () =>
    Effect.gen(function*() {
      const late = streaming(paced([0, ended(hello)], [0.999, ended(counted, true)], [60, piece("")]))
      assert.deepStrictEqual(replies(yield* endingAt(1.099, partsOf(late))), [counted])
      const tooLate = streaming(paced([0, ended(hello)], [1.001, ended(counted, true)]))
      assert.deepStrictEqual(replies(yield* endingAt(1, partsOf(tooLate))), [hello])
    }))

  it.effect("fails with what its reply fails with", () =>
    Effect.gen(function*() {
      const refused = streaming(Stream.make(piece("I"), { reply: Effect.fail(wrong), isLast: true }))
      assert.strictEqual(yield* Effect.flip(partsOf(refused)), wrong)
      const later = streaming(Stream.make<[ModelAdapter.Piece]>({ reply: Effect.fail(wrong) }))
      assert.strictEqual(yield* Effect.flip(partsOf(later)), wrong)
    }))

  it.effect("closes what it opened when it ends, fails or is interrupted", () =>
    Effect.gen(function*() {
      const open: Array<string> = []
      const opening = (name: string, pieces: Pieces) =>
        ModelAdapter.make({
          name,
          server,
          respond: () => Effect.andThen(opened(name), Effect.never),
          stream: () => Effect.as(opened(name), pieces)
        }, { retry: Schedule.recurs(0) })
      const opened = (name: string) =>
        Effect.acquireRelease(
          Effect.sync(() => open.push(`+${name}`)),
          () => Effect.sync(() => open.push(`-${name}`))
        )
      yield* partsOf(opening("ended", Stream.make(ended(hello, true))))
      yield* Effect.flip(partsOf(opening("failed", Stream.fail(wrong))))
      const hanging = opening("interrupted", Stream.concat(Stream.make(piece("Hel")), Stream.never))
      for (const effect of [Effect.asVoid(partsOf(hanging)), Effect.asVoid(hanging.respond(request))]) {
        const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
        yield* Effect.yieldNow
        assert.strictEqual(open.at(-1), "+interrupted")
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(open.at(-1), "-interrupted")
      }
      assert.deepStrictEqual(open.slice(0, 4), ["+ended", "-ended", "+failed", "-failed"])
    }))
})

describe("the repetitions of a model", () => {
  it.effect("are made on the schedule, for transient failures only, each in a scope of its own", () =>
    Effect.gen(function*() {
      const attempts: Array<string> = []
      const play = (...failures: ReadonlyArray<ModelFailure>) => {
        attempts.length = 0
        const next = Effect.gen(function*() {
          const number = attempts.filter((text) => text.startsWith("+")).length
          yield* Effect.acquireRelease(
            Effect.sync(() => attempts.push(`+${number}`)),
            () => Effect.sync(() => attempts.push(`-${number}`))
          )
          const failure = failures[number]
          return failure === undefined ? hello : yield* Effect.fail(failure)
        })
        return responding(() => next, { retry: Schedule.recurs(2) }).respond(request)
      }
      assert.deepStrictEqual(yield* play(busy, busy), hello)
      assert.deepStrictEqual(attempts, ["+0", "-0", "+1", "-1", "+2", "-2"])
      assert.strictEqual((yield* Effect.flip(play(busy, busy, busy))).attempts, 3)
      const failure = yield* Effect.flip(play(wrong, busy))
      assert.deepStrictEqual([failure.code, failure.attempts, attempts.length], ["bad_request", undefined, 2])
    }))

  it.effect("end once a stream has begun, because its text may have been shown", () =>
    Effect.gen(function*() {
      let opened = 0
      const model = ModelAdapter.make({
        name: "echo-1",
        server,
        respond: () => Effect.die("not asked"),
        stream: () =>
          Effect.suspend(() =>
            ++opened === 1
              ? Effect.fail(busy)
              : Effect.succeed(Stream.concat(Stream.make(piece("Hel")), Stream.fail(busy)))
          )
      }, { retry: Schedule.recurs(5) })
      const failure = yield* Effect.flip(partsOf(model))
      assert.deepStrictEqual([opened, failure.code, failure.attempts], [2, "server_error", 2])
    }))
})

describe("a model's name", () => {
  const played = (model: Model.Model["Service"]) =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.empty, modelRetry: Schedule.recurs(0) })
      const events: Array<AgentEvent.AgentEvent> = []
      const failure = yield* Effect.flip(
        Stream.runForEach(agent.stream("?"), (event) => Effect.sync(() => events.push(event)))
      )
      return { events, failure }
    }).pipe(Effect.provide(Layer.succeed(Model.Model, model)))

  it.effect("is in each failure: in the report, in the events, and in the end", () =>
    Effect.gen(function*() {
      const model = ModelAdapter.make({
        name: "echo-1",
        server,
        respond: () => Effect.fail(busy),
        stream: () => Effect.fail(busy)
      }, { retry: Schedule.recurs(1) })
      const { events, failure } = yield* played(model)
      assert.strictEqual(failure._tag === "ModelFailed" && failure.failure.model, "echo-1")
      assert.deepStrictEqual(failure.report.failures.map((entry) => "model" in entry && entry.model), [
        "echo-1",
        "echo-1"
      ])
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ModelRetried" ? [event.failure.model] : []),
        ["echo-1"]
      )
    }))

  it.effect("is that of the reply or the failure, if it has one of its own; without any, there is none", () =>
    Effect.gen(function*() {
      const named = new ModelFailure({ ...busy, model: "echo-2" })
      const { failure } = yield* played({ ...responding(() => Effect.never), stream: () => Stream.fail(named) })
      assert.strictEqual(failure._tag === "ModelFailed" && failure.failure.model, "echo-2")
      const repliedBy = (model: Omit<Model.Model["Service"], "stream">) =>
        Stream.runCollect(Agent.make({ toolkit: Toolkit.empty }).stream("?")).pipe(
          Effect.provide(Model.layer(model)),
          Effect.map((events) => events.flatMap((event) => event._tag === "ModelReplied" ? [event.reply.model] : []))
        )
      const respond = () => Effect.succeed(hello)
      assert.deepStrictEqual(yield* repliedBy({ name: "echo-1", respond }), ["echo-1"])
      assert.deepStrictEqual(yield* repliedBy({ respond }), [undefined])
      assert.deepStrictEqual(
        yield* repliedBy({ name: "echo-1", respond: () => Effect.succeed({ ...hello, model: "echo-3" }) }),
        ["echo-3"]
      )
    }))

  it.effect("is in a failure after which the model was asked with shorter results", () =>
    Effect.gen(function*() {
      const overflow = new ModelFailure({ code: "context_overflow", detail: "Too long.", transient: false })
      const big = Tool.make(
        "big",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => Effect.succeed("word ".repeat(20_000))
      )
      let asked = 0
      const model = responding(() =>
        Effect.suspend((): Effect.Effect<Model.Reply, ModelFailure> => {
          asked++
          if (asked === 2) return Effect.fail(overflow)
          return Effect.succeed(asked === 1 ? { text: "", calls: [{ id: "1", name: "big" }] } : hello)
        })
      )
      const { report } = yield* Agent.make({ toolkit: Toolkit.make(big) }).run("?").pipe(
        Effect.provide(Layer.succeed(Model.Model, model))
      )
      assert.deepStrictEqual(
        report.failures.map((entry) => [entry.code, entry.handling, "model" in entry && entry.model]),
        [["context_overflow", "retry", "echo-1"]]
      )
    }))
})

describe("parts of a request", () => {
  it("are names of tools that servers accept", () => {
    assert.deepStrictEqual(["files.read all", "", "ü", "a".repeat(70), "get_1-x"].map(ModelAdapter.toolName), [
      "files_read_all",
      "unknown",
      "_",
      "a".repeat(64),
      "get_1-x"
    ])
  })

  it("are the arguments of an earlier call as the text of an object, whatever the model wrote", () => {
    const texts = ["{ \"a\": 1.0 }", "{a:1,}", "", "[1]", "{\"a\":12345678901234567890", "no", undefined]
    for (const text of texts) {
      const written = ModelAdapter.argumentsText(text === undefined ? {} : { arguments: text })
      const value: unknown = JSON.parse(written)
      assert.isTrue(typeof value === "object" && value !== null && !Array.isArray(value), text)
    }
    assert.strictEqual(ModelAdapter.argumentsText({ arguments: "{ \"a\": 1.0 }" }), "{ \"a\": 1.0 }")
    assert.strictEqual(ModelAdapter.argumentsText({ arguments: "{a:1,}" }), "{\"a\":1}")
  })

  it("are notes of files, without their bytes", () => {
    const note = (what: string) => `[A file is attached here that you cannot read: ${what}.]`
    assert.strictEqual(ModelAdapter.fileNote({ mediaType: "a/b", base64: "" }), note("a/b, 0 bytes"))
    assert.strictEqual(
      ModelAdapter.fileNote({ mediaType: "a/b", base64: "QQ==", name: "x\ny" }),
      note("x y, a/b, 1 byte")
    )
    assert.strictEqual(ModelAdapter.fileNote({ url: "data:a/b;base64,R0lG" }), note("a/b, 3 bytes"))
    assert.strictEqual(
      ModelAdapter.fileNote({ url: `https://x.example/${"a".repeat(500)}` }).length,
      note("").length + 200
    )
  })
})
