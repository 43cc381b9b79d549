import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Toolkit, type ToolUnavailable } from "@fallible/core"
import * as Availability from "@fallible/core/Availability"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as ToolHealth from "@fallible/core/ToolHealth"
import { Duration, Effect, Fiber, Layer, Stream } from "effect"
import * as Breaker from "effect/persistence/CircuitBreaker"
import { TestClock } from "effect/testing"
import { breaker, calling, fail, storeError } from "../support/circuits.ts"
import { after, doing, paris, Sequence, sunny } from "../support/sequence.ts"

const watched = (failures?: number) => Layer.merge(breaker(failures), ToolHealth.layer)

/** Records each change of a tool's health status among the events. */
const recordStatuses = Effect.fnUntraced(function*({ note }: Sequence) {
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

/** A breaker whose state cannot be read. */
const unreadable = Layer.effect(
  Breaker.CircuitBreaker,
  Effect.map(
    Breaker.CircuitBreaker,
    (breaker) => Breaker.CircuitBreaker.of({ ...breaker, state: (key) => assert.fail(`looked at ${key}`) })
  )
).pipe(Layer.provide(breaker()))

describe("CircuitBreaker", () => {
  describe("the tool's health", () => {
    it.effect("is updated when the circuit opens, is probed, reopens and closes", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        yield* recordStatuses(sequence)
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

    it.effect("is not updated by failures that open no circuit", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        yield* recordStatuses(sequence)
        const tool = sequence.tool([fail, sunny]).pipe(CircuitBreaker.protect())
        assert.deepStrictEqual(yield* calling(sequence, tool, [0, 1]), [
          "0 attempt 1",
          "0 => connection",
          "1 attempt 2",
          "1 => sunny"
        ])
      }).pipe(Effect.provide(watched(2))))

    it.effect("treats a tool as callable after an interrupted probe", () =>
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

    it.effect("is not updated by calls that a probe refuses, because they cannot report its end", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const { tool } = sequence
        const health = yield* recordStatuses(sequence)
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

    it.effect("resets the circuit when the tool is enabled by hand", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const { ending, events, note, tool } = sequence
        const health = yield* recordStatuses(sequence)
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
          // A call of the old circuit.
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

    it.effect("is updated by a circuit that a defect opened, and by its probe", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        yield* recordStatuses(sequence)
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

    // The whole cycle: disabled after several errors, refused at once, probed after a while, enabled by hand.
    it.effect("E7 names the number of consecutive errors and the last one in a refusal", () =>
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
        const broken = "The tool get_weather failed with an internal error."
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

    it.effect("E7 names the error if a single one disabled the tool", () =>
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

    it.effect("keeps a tool disabled until it is enabled by hand if its circuit opens forever", () =>
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

    it.effect("is not stuck with a probe if the store cannot report its end", () =>
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

    it.effect("is optional, and a successful call does not read the circuit for it", () =>
      Effect.gen(function*() {
        const healthy = doing(sunny).pipe(CircuitBreaker.protect()).run(paris)
        assert.strictEqual(yield* Effect.provide(healthy, ToolHealth.layer), "sunny")
        const failing = doing(fail).pipe(CircuitBreaker.protect()).run(paris)
        assert.strictEqual((yield* Effect.flip(failing)).code, "connection")
        assert.strictEqual((yield* Effect.flip(failing)).code, "circuit_open")
      }).pipe(Effect.provide(unreadable)))
  })
})
