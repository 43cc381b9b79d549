import { assert, describe, it } from "@effect/vitest"
import {
  Availability,
  Dispatch,
  PartialData,
  SchemaMismatch,
  Tool,
  ToolCall,
  ToolHealth,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import { Duration, Effect, Exit, Fiber, Layer, Schedule, Stream } from "effect"
import * as Breaker from "effect/persistence/CircuitBreaker"
import { TestClock } from "effect/testing"
import {
  after,
  custom,
  doing,
  type Failure,
  lost,
  paris,
  refused,
  Sequence,
  sunny,
  unknownCity
} from "../support/sequence.ts"

const noTotal = new SchemaMismatch({ side: "result", code: "invalid_result", detail: "No total." })
const firstPage = new PartialData({ code: "more_pages", detail: "Page 1 of 3.", data: "sunny" })
const fail = Effect.fail(refused)

/** Effect's own breaker: it opens after so many failures in a row, for 30 seconds. */
const breaker = (failures = 1, openDuration: Duration.Input = "30 seconds") =>
  Breaker.layer({ tripPolicy: Breaker.consecutive(failures), openDuration }).pipe(
    Layer.provide(Breaker.layerStoreMemory())
  )

const watched = (failures?: number) => Layer.merge(breaker(failures), ToolHealth.layer)

/** Calls at their times, in one hour. */
const calling = Effect.fnUntraced(function*<R>(
  { ending, events }: Sequence,
  tool: Tool.Tool<string, typeof paris, string, Failure, R>,
  times: ReadonlyArray<number>
) {
  for (const time of times) yield* Effect.forkChild(Effect.delay(ending(tool.run(paris)), time))
  yield* TestClock.adjust("1 hour")
  return events
})

/** What the health says whenever a tool's status changes, among the events. */
const noting = Effect.fnUntraced(function*({ note }: Sequence) {
  const health = yield* ToolHealth.ToolHealth
  yield* Effect.forkChild(
    Stream.runForEach(
      health.changes,
      ({ to, tool }) =>
        note(`${tool} is ${to._tag === "CircuitOpen" ? `open until ${to.until}` : to._tag.toLowerCase()}`)
    ),
    { startImmediately: true }
  )
  yield* Effect.yieldNow
  return health
})

/** A breaker whose circuits cannot be looked at. */
const unreadable = Layer.effect(
  Breaker.CircuitBreaker,
  Effect.map(
    Breaker.CircuitBreaker,
    (breaker) => Breaker.CircuitBreaker.of({ ...breaker, state: (key) => assert.fail(`looked at ${key}`) })
  )
).pipe(Layer.provide(breaker()))

const storeError = Effect.fail(
  new Breaker.CircuitBreakerError({ reason: new Breaker.CircuitBreakerStoreError({ message: "No connection." }) })
)

describe("CircuitBreaker", () => {
  describe("protect", () => {
    it.effect("is open for 29,999 ms of 30,000, and then lets one call try", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = sequence.tool([fail, sunny]).pipe(CircuitBreaker.protect())
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 1, 29_999, 30_000, 30_001]), [
          "0 attempt 1",
          "0 => connection",
          "1 => circuit_open",
          "29999 => circuit_open",
          "30000 attempt 2",
          "30000 => sunny",
          "30001 attempt 3",
          "30001 => sunny"
        ])
      }).pipe(Effect.provide(breaker())))

    it.effect("says of a refused call that it was not made, and when there is a probe", () =>
      Effect.gen(function*() {
        const tool = doing(fail).pipe(CircuitBreaker.protect())
        const run: Effect.Effect<string, ToolUnavailable, Breaker.CircuitBreaker> = tool.run(paris)
        yield* Effect.flip(run)
        yield* TestClock.adjust("10 seconds")
        const { retryAfter, ...failure } = yield* Effect.flip(run)
        assert.deepStrictEqual({ ...failure }, {
          _tag: "ToolUnavailable",
          code: "circuit_open",
          detail: "get_weather is disabled: it has failed too often.",
          transient: true,
          outcome: "not_executed"
        })
        assert.deepStrictEqual(retryAfter, Duration.seconds(20))
      }).pipe(Effect.provide(breaker())))

    it.effect("counts one failure a call, however often it is tried inside", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = sequence.tool([fail]).pipe(Tool.retry(Schedule.recurs(2)), CircuitBreaker.protect())
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 1, 2]), [
          "0 attempt 1",
          "0 attempt 2",
          "0 attempt 3",
          "0 => connection",
          "1 attempt 4",
          "1 attempt 5",
          "1 attempt 6",
          "1 => connection",
          "2 => circuit_open"
        ])
      }).pipe(Effect.provide(breaker(2))))

    it.effect("counts a call that a retry has rescued as a success", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = sequence.tool([fail, fail, sunny, fail]).pipe(
          Tool.retry(Schedule.recurs(1)),
          CircuitBreaker.protect()
        )
        const events = yield* calling(sequence, tool, [0, 1, 2])
        assert.deepStrictEqual(events.filter((event) => event.includes("=>")), [
          "0 => connection",
          "1 => sunny",
          "2 => connection"
        ])
      }).pipe(Effect.provide(breaker(2))))

    it.effect("counts a timeout inside", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = doing(Effect.never).pipe(Tool.timeout("1 second"), CircuitBreaker.protect())
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 1_000]), [
          "1000 => timeout",
          "1000 => circuit_open"
        ])
      }).pipe(Effect.provide(breaker())))

    for (const failure of [unknownCity, noTotal, firstPage]) {
      it.effect(`takes ${failure._tag} for an answer, also a probe's`, () =>
        Effect.gen(function*() {
          const sequence = new Sequence()
          const answer = Effect.fail(unknownCity)
          const tool = sequence.tool<Failure>([answer, fail, answer, fail, fail, answer]).pipe(
            Tool.mapFailure((wrong) => wrong === unknownCity ? failure : wrong),
            CircuitBreaker.protect(),
            Tool.catchTag("PartialData", ({ code }) => Effect.succeed(code))
          )
          const events = yield* calling(sequence, tool, [0, 1, 2, 3, 4, 5, 30_004, 30_005])
          assert.deepStrictEqual(events.filter((event) => event.includes("=>")), [
            `0 => ${failure.code}`,
            "1 => connection",
            `2 => ${failure.code}`,
            "3 => connection",
            "4 => connection",
            "5 => circuit_open",
            `30004 => ${failure.code}`,
            `30005 => ${failure.code}`
          ])
        }).pipe(Effect.provide(breaker(2))))
    }

    it.effect("counts neither signals, nor what our own policies refuse, nor interruptions", () =>
      Effect.gen(function*() {
        const own = ["bulkhead_full", "throttled", "limiter_unavailable", "circuit_open", "breaker_unavailable"]
        const ends = [
          ...own.map((code) => Effect.fail(new ToolUnavailable({ ...refused, code }))),
          ToolCall.ask("Which Paris?"),
          ToolCall.stop("Enough."),
          Effect.interrupt,
          Effect.onInterrupt(Effect.interrupt, () => Effect.die("bug"))
        ]
        for (const end of ends) {
          const sequence = new Sequence()
          const tool = sequence.tool<ToolUnavailable>([end, end, sunny]).pipe(CircuitBreaker.protect())
          yield* Effect.exit(tool.run(paris))
          yield* Effect.exit(tool.run(paris))
          assert.strictEqual(yield* tool.run(paris), "sunny")
        }
      }).pipe(Effect.provide(breaker())))

    it.effect("counts a defect, whatever kind it is", () =>
      Effect.gen(function*() {
        const promise: unknown = Promise.resolve("sunny")
        const ends = [Effect.die("bug"), Effect.die(new TypeError("Oh.")), promise as Effect.Effect<string>]
        for (const end of ends) {
          const sequence = new Sequence()
          const { run } = sequence.tool<ToolUnavailable>([end]).pipe(CircuitBreaker.protect())
          assert.isTrue(Exit.hasDies(yield* Effect.exit(run(paris))))
          assert.strictEqual((yield* Effect.flip(run(paris))).code, "circuit_open")
          yield* TestClock.adjust("30 seconds")
          assert.isTrue(Exit.hasDies(yield* Effect.exit(run(paris))))
          assert.strictEqual((yield* Effect.flip(run(paris))).code, "circuit_open")
          yield* TestClock.adjust("1 hour")
        }
      }).pipe(Effect.provide(breaker())))

    it.effect("takes a permanent failure that is about the arguments for an answer, and no other", () =>
      Effect.gen(function*() {
        const ended = Effect.fnUntraced(function*(fields: Partial<ConstructorParameters<typeof ToolUnavailable>[0]>) {
          const sequence = new Sequence()
          const end = Effect.fail(new ToolUnavailable({ ...refused, transient: false, ...fields }))
          const { run } = sequence.tool<ToolUnavailable>([fail, end, fail]).pipe(CircuitBreaker.protect())
          const codes = []
          for (let call = 0; call < 4; call++) codes.push((yield* Effect.flip(run(paris))).code)
          return codes.filter((code) => code === "circuit_open").length
        })
        const count = (fields: Parameters<typeof ended>[0]) => Effect.provide(ended(fields), breaker(2))
        // It answers in between, so that two failures do not follow one another.
        assert.strictEqual(yield* count({ scope: "arguments" }), 0)
        assert.strictEqual(yield* count({ scope: "tool" }), 2)
        assert.strictEqual(yield* count({}), 2)
        assert.strictEqual(yield* count({ scope: "arguments", transient: true }), 2)
      }))

    it.effect("counts an act that may have taken effect, also where a policy inside was refused another one", () =>
      Effect.gen(function*() {
        const again = custom((run) => Effect.catch(run, () => run))
        const { run } = doing<ToolUnavailable>(Effect.fail(lost), "non_idempotent").pipe(
          Tool.with(again),
          CircuitBreaker.protect()
        )
        assert.strictEqual((yield* Effect.flip(run(paris))).code, "not_repeated")
        assert.strictEqual((yield* Effect.flip(run(paris))).code, "circuit_open")
      }).pipe(Effect.provide(breaker())))

    it.effect("stays open for as long as the failure asks for", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const later = new ToolUnavailable({ ...refused, code: "rate_limited", retryAfter: Duration.seconds(60) })
        const tool = sequence.tool([Effect.fail(later), sunny]).pipe(CircuitBreaker.protect())
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 59_999, 60_000]), [
          "0 attempt 1",
          "0 => rate_limited",
          "59999 => circuit_open",
          "60000 attempt 2",
          "60000 => sunny"
        ])
      }).pipe(Effect.provide(breaker())))

    it.effect("is shared by tools of one key, and by no others", () =>
      Effect.gen(function*() {
        const tool = (name: string, end: typeof fail | typeof sunny, options?: CircuitBreaker.Options) =>
          doing<ToolUnavailable>(end, "none", name).pipe(CircuitBreaker.protect(options)).run(paris)
        const codes = yield* Effect.forEach([
          tool("a", fail, { key: "station" }),
          tool("b", sunny, { key: "station" }),
          tool("a", sunny),
          tool("c", sunny)
        ], (run) => Effect.match(run, { onFailure: ({ code }) => code, onSuccess: (value) => value }))
        assert.deepStrictEqual(codes, ["connection", "circuit_open", "sunny", "sunny"])
      }).pipe(Effect.provide(breaker())))

    it.effect("leaves the answer to a fallback outside while it is open", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = sequence.tool([fail]).pipe(
          CircuitBreaker.protect(),
          Tool.fallback((_, { code }) => Effect.succeed(`rain, for ${code}`))
        )
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 1]), [
          "0 attempt 1",
          "0 => rain, for connection",
          "1 => rain, for circuit_open"
        ])
      }).pipe(Effect.provide(breaker())))

    it.effect("fails when its store does, if it is told to, and else lets the call through", () =>
      Effect.gen(function*() {
        const withStore = (onStoreError: "allow" | "fail") =>
          Breaker.layer({ tripPolicy: Breaker.consecutive(1), openDuration: "1 second", onStoreError }).pipe(
            Layer.provide(Layer.succeed(Breaker.CircuitBreakerStore, {
              admit: () => storeError,
              record: () => storeError,
              state: () => storeError
            })),
            Layer.provideMerge(ToolHealth.layer)
          )
        const run = doing<ToolUnavailable>(sunny).pipe(CircuitBreaker.protect()).run(paris)
        const { cause, ...failure } = yield* Effect.flip(Effect.provide(run, withStore("fail")))
        assert.deepStrictEqual({ ...failure }, {
          _tag: "ToolUnavailable",
          code: "breaker_unavailable",
          detail: "get_weather was not called: its circuit breaker does not answer.",
          transient: true,
          outcome: "not_executed"
        })
        assert.instanceOf(cause, Breaker.CircuitBreakerError)
        assert.strictEqual(yield* Effect.provide(run, withStore("allow")), "sunny")
      }))
  })

  describe("a probe", () => {
    it.effect("that fails opens the circuit again", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = sequence.tool([fail, fail, sunny]).pipe(CircuitBreaker.protect())
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 30_000, 59_999, 60_000]), [
          "0 attempt 1",
          "0 => connection",
          "30000 attempt 2",
          "30000 => connection",
          "59999 => circuit_open",
          "60000 attempt 3",
          "60000 => sunny"
        ])
      }).pipe(Effect.provide(breaker())))

    it.effect("is one call, and all others are refused until it has ended", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = sequence.tool([fail, after(500, sunny), sunny]).pipe(CircuitBreaker.protect())
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 30_000, 30_000, 30_499, 30_501]), [
          "0 attempt 1",
          "0 => connection",
          "30000 attempt 2",
          "30000 => circuit_open",
          "30499 => circuit_open",
          "30500 => sunny",
          "30501 attempt 3",
          "30501 => sunny"
        ])
      }).pipe(Effect.provide(breaker())))

    it.effect("is why the others are refused, without a time to come back", () =>
      Effect.gen(function*() {
        const { tool } = new Sequence()
        const { run } = tool([fail, Effect.never]).pipe(CircuitBreaker.protect())
        yield* Effect.flip(run(paris))
        yield* TestClock.adjust("30 seconds")
        yield* Effect.forkChild(run(paris), { startImmediately: true })
        assert.deepStrictEqual({ ...(yield* Effect.flip(run(paris))) }, {
          _tag: "ToolUnavailable",
          code: "circuit_open",
          detail: "get_weather is disabled: it has failed too often. Another call is testing it now.",
          transient: true,
          outcome: "not_executed"
        })
      }).pipe(Effect.provide(breaker())))

    it.effect("that is interrupted leaves its place to the next call", () =>
      Effect.gen(function*() {
        const { tool } = new Sequence()
        const { run } = tool([fail, Effect.never, sunny]).pipe(CircuitBreaker.protect())
        yield* Effect.flip(run(paris))
        yield* TestClock.adjust("30 seconds")
        const probe = yield* Effect.forkChild(run(paris), { startImmediately: true })
        yield* Fiber.interrupt(probe)
        assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(probe)))
        assert.strictEqual(yield* run(paris), "sunny")
      }).pipe(Effect.provide(breaker())))
  })

  describe("the tool's health", () => {
    it.effect("is told when the circuit opens, is probed, opens again and closes", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        yield* noting(sequence)
        const tool = sequence.tool([fail, after(500, fail), sunny]).pipe(CircuitBreaker.protect())
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 1, 30_000, 30_100, 60_499, 60_500, 60_501]), [
          "0 attempt 1",
          "0 get_weather is open until 30000",
          "0 => connection",
          "1 => circuit_open",
          "30000 get_weather is probing",
          "30000 attempt 2",
          "30100 => circuit_open",
          "30500 get_weather is open until 60500",
          "30500 => connection",
          "60499 => circuit_open",
          "60500 get_weather is probing",
          "60500 attempt 3",
          "60500 get_weather is available",
          "60500 => sunny",
          "60501 attempt 4",
          "60501 => sunny"
        ])
      }).pipe(Effect.provide(watched())))

    it.effect("hears nothing of failures that open no circuit", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        yield* noting(sequence)
        const tool = sequence.tool([fail, sunny]).pipe(CircuitBreaker.protect())
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 1]), [
          "0 attempt 1",
          "0 => connection",
          "1 attempt 2",
          "1 => sunny"
        ])
      }).pipe(Effect.provide(watched(2))))

    it.effect("takes a tool for callable after a probe that was interrupted", () =>
      Effect.gen(function*() {
        const health = yield* ToolHealth.ToolHealth
        const { tool } = new Sequence()
        const guarded = tool([fail, Effect.never]).pipe(CircuitBreaker.protect())
        yield* Effect.flip(guarded.run(paris))
        yield* TestClock.adjust("40 seconds")
        const probe = yield* Effect.forkChild(guarded.run(paris), { startImmediately: true })
        assert.deepStrictEqual(yield* health.status("get_weather"), { _tag: "Probing" })
        yield* TestClock.adjust("1 second")
        yield* Fiber.interrupt(probe)
        assert.deepStrictEqual(yield* health.status("get_weather"), { _tag: "CircuitOpen", until: 41_000 })
        const { get_weather } = Object.fromEntries(yield* Availability.of(Toolkit.make(guarded)))
        assert.deepStrictEqual(get_weather, { _tag: "Available" })
      }).pipe(Effect.provide(watched())))

    it.effect("is not told of a probe by those that it refuses: they would never say how it ended", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const { tool } = sequence
        const health = yield* noting(sequence)
        const shared = CircuitBreaker.protect({ key: "station" })
        const probed = tool([fail, after(500, sunny)]).pipe(shared)
        const other = doing(sunny, "none", "get_rain").pipe(shared)
        yield* Effect.forkChild(calling(sequence, probed, [0, 30_000]))
        yield* calling(sequence, other, [1, 30_001])
        assert.deepStrictEqual(sequence.events, [
          "0 attempt 1",
          "0 get_weather is open until 30000",
          "0 => connection",
          "1 get_rain is open until 30000",
          "1 => circuit_open",
          "30000 get_weather is probing",
          "30000 attempt 2",
          "30001 => circuit_open",
          "30500 get_weather is available",
          "30500 => sunny"
        ])
        yield* other.run(paris)
        assert.deepStrictEqual(yield* health.status("get_rain"), { _tag: "Available" })
      }).pipe(Effect.provide(watched())))

    it.effect("makes the circuit start anew when the tool is enabled by hand", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const { ending, events, note, tool } = sequence
        const health = yield* noting(sequence)
        const late = tool([after(20, fail), fail, sunny, fail, sunny]).pipe(CircuitBreaker.protect())
        const call = ending(late.run(paris))
        yield* Effect.forkChild(call, { startImmediately: true })
        yield* TestClock.adjust(10)
        yield* call
        yield* call
        yield* Effect.andThen(note("enabled"), health.enable("get_weather"))
        yield* call
        yield* TestClock.adjust(10)
        yield* Effect.andThen(note("enabled"), health.enable("get_weather"))
        yield* call
        yield* call
        yield* Effect.andThen(note("enabled"), health.enable("get_weather"))
        yield* call
        assert.deepStrictEqual(events, [
          "0 attempt 1",
          "10 attempt 2",
          "10 get_weather is open until 30010",
          "10 => connection",
          "10 => circuit_open",
          "10 enabled",
          "10 get_weather is available",
          "10 attempt 3",
          "10 => sunny",
          // A call of the circuit that is gone.
          "20 => connection",
          "20 enabled",
          "20 attempt 4",
          "20 get_weather is open until 30020",
          "20 => connection",
          "20 => circuit_open",
          "20 enabled",
          "20 get_weather is available",
          "20 attempt 5",
          "20 => sunny"
        ])
      }).pipe(Effect.provide(watched())))

    it.effect("is told of a circuit that a defect has opened, and of its probe", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        yield* noting(sequence)
        const tool = sequence.tool<ToolUnavailable>([Effect.die("bug"), Effect.die("bug"), sunny]).pipe(
          CircuitBreaker.protect()
        )
        const { events } = sequence
        yield* Effect.exit(tool.run(paris))
        yield* TestClock.adjust("30 seconds")
        yield* Effect.exit(tool.run(paris))
        yield* TestClock.adjust("30 seconds")
        yield* Effect.exit(tool.run(paris))
        assert.deepStrictEqual(events, [
          "0 attempt 1",
          "0 get_weather is open until 30000",
          "30000 get_weather is probing",
          "30000 attempt 2",
          "30000 get_weather is open until 60000",
          "60000 get_weather is probing",
          "60000 attempt 3",
          "60000 get_weather is available"
        ])
      }).pipe(Effect.provide(watched())))

    // The whole of it: disabled after so many errors, refused at once, probed after a while, enabled by hand.
    it.effect("E7 says of a refused call how many errors there were in a row, and the last one", () =>
      Effect.gen(function*() {
        const health = yield* ToolHealth.ToolHealth
        const { tool } = new Sequence()
        const bug = Effect.die("bug")
        const toolkit = Toolkit.make(
          tool<ToolUnavailable>([fail, bug, fail, fail, sunny]).pipe(CircuitBreaker.protect())
        )
        const call = Effect.map(
          Dispatch.call(toolkit, { id: "1", name: "get_weather", arguments: JSON.stringify(paris) }),
          (outcome) => outcome._tag === "Failed" ? outcome.failure.detail : outcome._tag
        )
        const broken = "The tool get_weather failed because of a fault of its own."
        assert.deepStrictEqual(yield* Effect.all([call, call, call]), ["Refused.", broken, "Refused."])
        assert.strictEqual(
          yield* call,
          "get_weather is disabled after 3 consecutive errors; last: connection."
        )
        assert.deepStrictEqual(health.reportUnsafe("get_weather")?.status, { _tag: "CircuitOpen", until: 30_000 })
        yield* TestClock.adjust("30 seconds")
        assert.strictEqual(yield* call, "Refused.")
        assert.strictEqual(
          yield* call,
          "get_weather is disabled after 4 consecutive errors; last: connection."
        )
        assert.deepStrictEqual(
          health.reportUnsafe("get_weather")?.errorsByCode.map(({ code, count }) => [code, count]),
          [["connection", 3], ["defect", 1]]
        )
        yield* health.enable("get_weather")
        assert.strictEqual(yield* call, "Completed")
      }).pipe(Effect.provide(watched(3))))

    it.effect("E7 says the last error of a tool that a single one has disabled", () =>
      Effect.gen(function*() {
        const toolkit = Toolkit.make(doing(fail).pipe(CircuitBreaker.protect()))
        const call = Dispatch.call(toolkit, { id: "1", name: "get_weather", arguments: JSON.stringify(paris) })
        yield* call
        const outcome = yield* call
        assert.strictEqual(
          outcome._tag === "Failed" && outcome.failure.detail,
          "get_weather is disabled: it has failed too often. Last error: connection."
        )
      }).pipe(Effect.provide(watched())))

    it.effect("leaves a tool disabled until somebody enables it, when its circuit opens for ever", () =>
      Effect.gen(function*() {
        const health = yield* ToolHealth.ToolHealth
        const { tool } = new Sequence()
        const { run } = tool([fail, sunny]).pipe(CircuitBreaker.protect())
        yield* Effect.flip(run(paris))
        assert.deepStrictEqual(yield* health.status("get_weather"), { _tag: "CircuitOpen" })
        yield* TestClock.adjust("1000 days")
        assert.strictEqual((yield* Effect.flip(run(paris))).code, "circuit_open")
        yield* health.enable("get_weather")
        assert.strictEqual(yield* run(paris), "sunny")
      }).pipe(Effect.provide(Layer.merge(breaker(1, Duration.infinity), ToolHealth.layer))))

    it.effect("keeps a tool disabled that was disabled by hand", () =>
      Effect.gen(function*() {
        const health = yield* ToolHealth.ToolHealth
        yield* health.disable("get_weather")
        const { run } = doing(fail).pipe(CircuitBreaker.protect())
        yield* Effect.flip(run(paris))
        yield* Effect.flip(run(paris))
        assert.deepStrictEqual(yield* health.status("get_weather"), { _tag: "Disabled" })
      }).pipe(Effect.provide(watched())))

    it.effect("is not left with a probe when the store cannot say how it ended", () =>
      Effect.gen(function*() {
        const health = yield* ToolHealth.ToolHealth
        const inner = yield* Breaker.CircuitBreaker
        let isReadable = true
        const sometimes = Breaker.CircuitBreaker.of({
          ...inner,
          state: (key) => isReadable ? inner.state(key) : storeError
        })
        const { tool } = new Sequence()
        const outage = Effect.sync(() => {
          isReadable = false
          return "sunny"
        })
        const run = tool([fail, outage]).pipe(CircuitBreaker.protect()).run(paris).pipe(
          Effect.provideService(Breaker.CircuitBreaker, sometimes)
        )
        yield* Effect.flip(run)
        yield* TestClock.adjust("30 seconds")
        yield* run
        assert.deepStrictEqual(yield* health.status("get_weather"), { _tag: "CircuitOpen", until: 30_000 })
        isReadable = true
        yield* run
        assert.deepStrictEqual(yield* health.status("get_weather"), { _tag: "Available" })
      }).pipe(Effect.provide(watched())))

    it.effect("costs a call that goes well no look at the circuit, and is not needed", () =>
      Effect.gen(function*() {
        const healthy = doing(sunny).pipe(CircuitBreaker.protect()).run(paris)
        assert.strictEqual(yield* Effect.provide(healthy, ToolHealth.layer), "sunny")
        const failing = doing(fail).pipe(CircuitBreaker.protect()).run(paris)
        assert.strictEqual((yield* Effect.flip(failing)).code, "connection")
        assert.strictEqual((yield* Effect.flip(failing)).code, "circuit_open")
      }).pipe(Effect.provide(unreadable)))
  })

  describe("policy", () => {
    it("says what it is", () => {
      assert.strictEqual(CircuitBreaker.policy().kind, "breaker")
      assert.strictEqual(CircuitBreaker.policy().description, "breaker")
      assert.strictEqual(CircuitBreaker.policy({ key: "station" }).description, "breaker of station")
    })

    it("changes nothing of what a tool costs at worst", () => {
      const tool = doing(fail).pipe(Tool.timeout("5 seconds"), Tool.retry(Schedule.recurs(2)))
      const { attempts, time } = Tool.explain(tool.pipe(CircuitBreaker.protect()))
      assert.deepStrictEqual([attempts.most, Duration.toSeconds(time.most)], [3, 15])
    })

    it.effect("as a default gives each tool of a toolkit a circuit, inside of its fallback", () =>
      Effect.gen(function*() {
        const toolkit = Toolkit.make(
          doing(fail, "none", "a"),
          doing<ToolUnavailable>(sunny, "none", "b"),
          doing(fail, "none", "c").pipe(Tool.fallback(() => Effect.succeed("rain")))
        ).pipe(Toolkit.withDefaults([CircuitBreaker.policy()]))
        assert.deepStrictEqual(toolkit.tools.get("c")?.policies.map(({ kind }) => kind), ["breaker", "fallback"])
        const call = Effect.fnUntraced(function*(name: string) {
          const outcome = yield* Dispatch.call(toolkit, { id: "1", name, arguments: JSON.stringify(paris) })
          const end = outcome._tag === "Failed" ? outcome.failure.code : outcome._tag === "Completed" && outcome.value
          return [name, end, outcome.attempts]
        })
        assert.deepStrictEqual(yield* Effect.forEach(["a", "a", "b", "c", "c"], call), [
          ["a", "connection", 1],
          ["a", "circuit_open", 0],
          ["b", "sunny", 1],
          ["c", "rain", 1],
          ["c", "rain", 0]
        ])
      }).pipe(Effect.provide(breaker())))
  })
})
