import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Policy, Tool, Toolkit, type ToolUnavailable } from "@fallible/core"
import * as Deadline from "@fallible/core/Deadline"
import { Duration, Effect, Exit, Fiber, Schedule, Scheduler, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { after, type Failure, parameters, refused, Sequence, sunny } from "../support/sequence.ts"
import { withoutEvidence } from "../support/withoutEvidence.ts"

/** Makes a tool that records its start and its argument, then runs an effect. */
const beginning = (
  { note }: Sequence,
  handler: (city: string) => Effect.Effect<string, Failure>,
  name = "get_weather"
) =>
  Tool.make(
    name,
    { description: "The weather", parameters, success: Schema.String, sideEffect: "none" },
    ({ city }) => Effect.andThen(note(`${city} begins`), Effect.suspend(() => handler(city)))
  )

type Weather = Tool.Tool<string, { readonly city: string }, string, Failure>

/** Calls a tool at once. */
const calling = (sequence: Sequence, tool: Weather, city: string) =>
  Effect.forkChild(sequence.ending(tool.run({ city }), `${city} `), { startImmediately: true })

/** Calls a tool for each name at once, and lets an hour pass. */
const calls = (sequence: Sequence, tool: Weather, ...cities: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    yield* Effect.forEach(cities, (city) => calling(sequence, tool, city))
    yield* TestClock.adjust("1 hour")
    return sequence.events
  })

/** A scheduler that pauses a fiber once, at a given step. */
class PausingOnce extends Scheduler.MixedScheduler {
  private step = 0
  private readonly at: number

  constructor(at: number) {
    super("sync")
    this.at = at
  }

  override shouldYield() {
    return ++this.step === this.at
  }
}

/** Runs an effect in virtual time with microtasks only, which is fast enough for many cases. */
const quickly = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.runPromise(Effect.provide(effect, TestClock.layer()), { scheduler: new Scheduler.MixedScheduler("sync") })

const oneSecond = () => after(1_000, sunny)
const ignoring = (millis: number) => Effect.uninterruptible(after(millis, sunny))

describe("Tool.concurrency", () => {
  it.effect("runs up to the limit at once, and the others in order of arrival", () =>
    Effect.gen(function*() {
      const sequence = new Sequence()
      const limited = beginning(sequence, oneSecond).pipe(Tool.concurrency(2))
      assert.deepStrictEqual(yield* calls(sequence, limited, "a", "b", "c", "d", "e"), [
        "0 a begins",
        "0 b begins",
        "1000 a => sunny",
        "1000 c begins",
        "1000 b => sunny",
        "1000 d begins",
        "2000 c => sunny",
        "2000 e begins",
        "2000 d => sunny",
        "3000 e => sunny"
      ])
    }))

  it.effect("never serves a returning caller before the waiting ones", () =>
    Effect.gen(function*() {
      const sequence = new Sequence()
      const limited = beginning(sequence, oneSecond).pipe(Tool.concurrency(1))
      yield* Effect.forkChild(
        Effect.forEach(["a1", "a2", "a3"], (city) => sequence.ending(limited.run({ city }), `${city} `)),
        { startImmediately: true }
      )
      yield* calling(sequence, limited, "b")
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(sequence.events.filter((event) => event.includes("begins")), [
        "0 a1 begins",
        "1000 b begins",
        "2000 a2 begins",
        "3000 a3 begins"
      ])
    }))

  it.effect("releases the permit after a failure, a defect and an interruption too", () =>
    Effect.gen(function*() {
      const ends: Record<string, Effect.Effect<string, Failure>> = {
        fails: Effect.fail(refused),
        dies: Effect.die("bug"),
        interrupts: Effect.interrupt
      }
      const sequence = new Sequence()
      const limited = beginning(sequence, (city) => ends[city] ?? sunny).pipe(Tool.concurrency(1, { maxWait: 0 }))
      for (const city of Object.keys(ends)) {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(limited.run({ city }))), city)
        assert.strictEqual(yield* limited.run({ city: "next" }), "sunny", city)
      }
    }))

  it.effect("reports how long a call waited, with and without getting a permit", () =>
    Effect.gen(function*() {
      const waits = (maxWait: number) =>
        Effect.gen(function*() {
          const toolkit = Toolkit.make(beginning(new Sequence(), oneSecond).pipe(Tool.concurrency(1, { maxWait })))
          const call = Dispatch.call(toolkit, { id: "1", name: "get_weather", arguments: "{\"city\":\"Paris\"}" })
          const both = yield* Effect.forkChild(Effect.all([call, call], { concurrency: 2 }))
          yield* TestClock.adjust("1 hour")
          return (yield* Fiber.join(both)).map(({ _tag, waited }) => [_tag, Duration.toMillis(waited)])
        })
      assert.deepStrictEqual(yield* waits(5_000), [["Completed", 0], ["Completed", 1_000]])
      assert.deepStrictEqual(yield* waits(600), [["Completed", 0], ["Failed", 600]])
      assert.deepStrictEqual(yield* waits(Infinity), [["Completed", 0], ["Completed", 1_000]])
    }))

  it.effect("refuses at once without a wait, and certainly does nothing", () =>
    Effect.gen(function*() {
      const sequence = new Sequence()
      const limited = beginning(sequence, oneSecond).pipe(Tool.concurrency(1, { maxWait: 0 }))
      yield* calling(sequence, limited, "a")
      const refusal = withoutEvidence(yield* Effect.flip(limited.run({ city: "b" })))
      assert.deepStrictEqual(refusal, {
        _tag: "ToolUnavailable",
        code: "bulkhead_full",
        detail: "get_weather already has 1 call running.",
        transient: true,
        outcome: "not_executed"
      })
      yield* TestClock.adjust(999)
      yield* calling(sequence, limited, "c")
      yield* TestClock.adjust(1)
      yield* calling(sequence, limited, "d")
      assert.deepStrictEqual(sequence.events, [
        "0 a begins",
        "999 c => bulkhead_full",
        "1000 a => sunny",
        "1000 d begins"
      ])
    }))

  for (const [maxWait, comesTo] of [[999, "999 b => bulkhead_full"], [1_001, "1000 b begins"]] as const) {
    it.effect(`that waits ${maxWait} ms for what takes 1000 comes to: ${comesTo}`, () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const limited = beginning(sequence, oneSecond).pipe(Tool.concurrency(1, { maxWait }))
        yield* calls(sequence, limited, "a", "b")
        assert.include(sequence.events, comesTo)
        assert.strictEqual(sequence.events.some((event) => event.includes("b begins")), maxWait === 1_001)
      }))
  }

  for (const steps of [[1_000], [500, 500]]) {
    it.effect(`does not start a refused call if a permit is freed just as maxWait ends (${steps.join(" + ")})`, () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const inSteps = steps.reduceRight((end, step) => after(step, end), sunny)
        const limited = beginning(sequence, () => inSteps).pipe(Tool.concurrency(1, { maxWait: 1_000 }))
        yield* calls(sequence, limited, "a", "b")
        const begun = sequence.events.includes("1000 b begins")
        assert.strictEqual(sequence.events.includes("1000 b => bulkhead_full"), !begun, sequence.events.join("; "))
        yield* calling(sequence, limited, "c")
        assert.match(sequence.events.at(-1) ?? "", /c begins$/)
      }))
  }

  it.effect("counts maxWait from the call's own start, and not once it runs", () =>
    Effect.gen(function*() {
      const sequence = new Sequence()
      const limited = beginning(sequence, () => after(5_000, sunny)).pipe(Tool.concurrency(1, { maxWait: 6_000 }))
      yield* calling(sequence, limited, "a")
      yield* TestClock.adjust(2_000)
      yield* calling(sequence, limited, "b")
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(sequence.events, [
        "0 a begins",
        "5000 a => sunny",
        "5000 b begins",
        "10000 b => sunny"
      ])
    }))

  for (const maxWait of ["Infinity", "1 hour"] as const) {
    it.effect(`forgets a call that is interrupted while it waits (for ${maxWait})`, () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const limited = beginning(sequence, oneSecond).pipe(Tool.concurrency(1, { maxWait }))
        yield* calling(sequence, limited, "a")
        const b = yield* calling(sequence, limited, "b")
        yield* calling(sequence, limited, "c")
        yield* TestClock.adjust(500)
        yield* Fiber.interrupt(b)
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(sequence.events, [
          "0 a begins",
          "1000 a => sunny",
          "1000 c begins",
          "2000 c => sunny"
        ])
      }))

    it.effect(`gives the permit of a call that is interrupted while it runs to the next (after ${maxWait} at most)`, () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const limited = beginning(sequence, oneSecond).pipe(Tool.concurrency(1, { maxWait }))
        yield* calling(sequence, limited, "a")
        const b = yield* calling(sequence, limited, "b")
        yield* calling(sequence, limited, "c")
        yield* TestClock.adjust(1_500)
        yield* Fiber.interrupt(b)
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(sequence.events, [
          "0 a begins",
          "1000 a => sunny",
          "1000 b begins",
          "1500 c begins",
          "2500 c => sunny"
        ])
      }))

    it(`loses no permit, at whatever step a call is interrupted (maxWait: ${maxWait})`, () =>
      Effect.gen(function*() {
        const lost: Array<string> = []
        for (const isTaken of [false, true]) {
          for (let step = 1; step <= 100; step++) {
            const sequence = new Sequence()
            const limited = beginning(sequence, () => Effect.never).pipe(Tool.concurrency(1, { maxWait }))
            const holder = isTaken ? yield* calling(sequence, limited, "holder") : undefined
            const fiber = yield* limited.run({ city: "b" }).pipe(
              Effect.provideService(Scheduler.Scheduler, new PausingOnce(step)),
              Effect.forkChild({ startImmediately: true })
            )
            if (holder !== undefined) yield* Fiber.interrupt(holder)
            yield* Fiber.interrupt(fiber)
            const next = yield* calling(sequence, limited, "next")
            yield* Effect.yieldNow
            yield* Effect.yieldNow
            if (!sequence.events.some((event) => event.endsWith("next begins"))) {
              lost.push(`${isTaken ? "waiting" : "free"}, at step ${step}`)
            }
            yield* Fiber.interrupt(next)
          }
        }
        assert.deepStrictEqual(lost, [])
      }).pipe(quickly))
  }

  it.effect("ends its wait in time even if its caller is uninterruptible", () =>
    Effect.gen(function*() {
      const sequence = new Sequence()
      const limited = beginning(sequence, () => Effect.never).pipe(Tool.concurrency(1, { maxWait: "1 second" }))
      yield* calling(sequence, limited, "a")
      const fiber = yield* Effect.ignore(limited.run({ city: "b" })).pipe(
        Effect.uninterruptible,
        Effect.forkChild({ startImmediately: true })
      )
      yield* TestClock.adjust("1 second")
      assert.isDefined(fiber.pollUnsafe())
    }))

  it.effect("does not wait beyond the deadline, and starts nothing after it", () =>
    Effect.gen(function*() {
      const sequence = new Sequence()
      const limited = beginning(sequence, oneSecond).pipe(Tool.concurrency(1))
      yield* calling(sequence, limited, "a")
      const fiber = yield* Effect.flip(limited.run({ city: "b" })).pipe(
        Deadline.within("500 millis"),
        Effect.forkChild({ startImmediately: true })
      )
      yield* TestClock.adjust(499)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(fiber)).code, "bulkhead_full")
      yield* TestClock.adjust("1 minute")
      assert.notInclude(sequence.events.join(), "b begins")
    }))

  describe("and a handler that ignores its timeout", () => {
    it.effect("keeps the permit until it has really ended, with the limit outside the timeout", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const limited = beginning(sequence, (city) => city === "a" ? ignoring(10_000) : sunny).pipe(
          Tool.timeout("1 second"),
          Tool.concurrency(1)
        )
        assert.deepStrictEqual(yield* calls(sequence, limited, "a", "b"), [
          "0 a begins",
          "1000 a => timeout",
          "10000 b begins",
          "10000 b => sunny"
        ])
      }))

    it.effect("keeps the permit until it has really ended, with the limit inside the timeout", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const limited = beginning(sequence, (city) => city === "a" ? ignoring(10_000) : sunny).pipe(
          Tool.concurrency(1),
          Tool.timeout("1 second")
        )
        yield* calling(sequence, limited, "a")
        yield* calling(sequence, limited, "b")
        yield* TestClock.adjust(9_500)
        yield* calling(sequence, limited, "c")
        yield* TestClock.adjust(499)
        assert.deepStrictEqual(sequence.events, ["0 a begins", "1000 a => timeout", "1000 b => bulkhead_full"])
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(sequence.events.slice(3), ["10000 c begins", "10000 c => sunny"])
      }))

    it.effect("keeps one permit, and leaves the others to later attempts", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        let attempt = 0
        const limited = beginning(
          sequence,
          (city) => city === "a" && ++attempt === 1 ? ignoring(10_000) : after(500, sunny)
        ).pipe(Tool.timeout("1 second"), Tool.concurrency(2), Tool.retry(Schedule.recurs(1)))
        yield* calling(sequence, limited, "a")
        yield* TestClock.adjust(2_000)
        yield* calling(sequence, limited, "b")
        yield* calling(sequence, limited, "c")
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(sequence.events, [
          "0 a begins",
          "1000 a begins",
          "1500 a => sunny",
          "2000 b begins",
          "2500 b => sunny",
          "2500 c begins",
          "3000 c => sunny"
        ])
      }))
  })

  describe("and retry", () => {
    const failingOnce = (sequence: Sequence) => {
      const seen = new Set<string>()
      return beginning(sequence, (city) =>
        seen.has(city) ? sunny : Effect.suspend(() => {
          seen.add(city)
          return after(100, Effect.fail(refused))
        }))
    }

    it.effect("outside a retry, a call keeps its permit while it waits", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const limited = failingOnce(sequence).pipe(
          Tool.retry(Schedule.upTo(Schedule.spaced("1 second"), { times: 1 })),
          Tool.concurrency(1)
        )
        assert.deepStrictEqual(yield* calls(sequence, limited, "a", "b"), [
          "0 a begins",
          "1100 a begins",
          "1100 a => sunny",
          "1100 b begins",
          "2200 b begins",
          "2200 b => sunny"
        ])
      }))

    it.effect("inside a retry, each attempt takes a permit", () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const limited = failingOnce(sequence).pipe(
          Tool.concurrency(1),
          Tool.retry(Schedule.upTo(Schedule.spaced("1 second"), { times: 1 }))
        )
        assert.deepStrictEqual(yield* calls(sequence, limited, "a", "b"), [
          "0 a begins",
          "100 b begins",
          "1100 a begins",
          "1100 a => sunny",
          "1200 b begins",
          "1200 b => sunny"
        ])
      }))

    it.effect("a refusal is retried even for a tool that acts, because nothing was done", () =>
      Effect.gen(function*() {
        const { ending, events, note } = new Sequence()
        const pays = Tool.make(
          "pay",
          { description: "Pays", success: Schema.String },
          () => Effect.andThen(note("pays"), after(1_500, sunny))
        ).pipe(
          Tool.concurrency(1, { maxWait: 0 }),
          Tool.retry(Schedule.spaced("1 second"))
        )
        yield* Effect.forkChild(ending(pays.run({}), "a "), { startImmediately: true })
        yield* Effect.forkChild(ending(pays.run({}), "b "), { startImmediately: true })
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(events, ["0 pays", "1500 a => sunny", "2000 pays", "3500 b => sunny"])
      }))
  })

  it.effect("as a default has separate permits for each tool, whatever policies are added later", () =>
    Effect.gen(function*() {
      const sequence = new Sequence()
      const { tools } = Toolkit.make(
        beginning(sequence, oneSecond, "weather"),
        beginning(sequence, oneSecond, "tides")
      ).pipe(Toolkit.withDefaults([Policy.concurrency(1, { maxWait: 0 })]))
      const weather = tools.get("weather") ?? assert.fail("no such tool")
      const tides = tools.get("tides") ?? assert.fail("no such tool")
      yield* calling(sequence, weather, "a")
      yield* calling(sequence, tides, "b")
      yield* calling(sequence, Tool.timeout(weather, "1 minute"), "c")
      assert.deepStrictEqual(sequence.events, ["0 a begins", "0 b begins", "0 c => bulkhead_full"])
    }))

  it.effect("data-first is the same", () =>
    Effect.gen(function*() {
      const sequence = new Sequence()
      const bare = beginning(sequence, oneSecond)
      const patient = Tool.concurrency(bare, 1)
      const impatient = Tool.concurrency(bare, 1, { maxWait: 0 })
      assert.deepStrictEqual(patient.policies.map(({ description, kind }) => [kind, description]), [
        ["concurrency", "concurrency limit of 1"]
      ])
      yield* calling(sequence, impatient, "a")
      const failure: ToolUnavailable | Failure = yield* Effect.flip(impatient.run({ city: "b" }))
      assert.strictEqual(failure.code, "bulkhead_full")
    }))

  it("throws if the limit is not a whole number of at least 1", () => {
    for (const permits of [0, -1, 1.5, Number.NaN, Infinity, 2 ** 53]) {
      assert.throws(() => Policy.concurrency(permits), TypeError)
    }
  })

  const call = fc.record({
    start: fc.nat(12),
    lasts: fc.nat(8),
    end: fc.constantFrom("succeeds", "fails", "dies", "ignores"),
    interruptedAt: fc.option(fc.nat(20), { nil: undefined })
  })

  it("never exceeds its limit, and never loses or duplicates a permit, whatever happens", () =>
    fc.assert(
      fc.asyncProperty(
        fc.record({
          permits: fc.integer({ min: 1, max: 3 }),
          maxWait: fc.constantFrom(0, 1, 3, 6, Infinity),
          timeout: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
          isLimitInside: fc.boolean(),
          calls: fc.array(call, { minLength: 1, maxLength: 8 })
        }),
        ({ calls, isLimitInside, maxWait, permits, timeout }) =>
          Effect.gen(function*() {
            let running = 0
            let max = 0
            const began = new Set<string>()
            const bare = Tool.make(
              "get_weather",
              { description: "", parameters, success: Schema.String, sideEffect: "none" },
              ({ city }) =>
                Effect.suspend(() => {
                  began.add(city)
                  max = Math.max(max, ++running)
                  const { end, lasts } = calls[Number(city)] ?? { end: "succeeds", lasts: 1 }
                  const does = after<string, Failure>(
                    lasts,
                    end === "fails" ? Effect.fail(refused) : end === "dies" ? Effect.die("bug") : sunny
                  )
                  return Effect.onExit(
                    end === "ignores" ? Effect.uninterruptible(does) : does,
                    () => Effect.sync(() => running--)
                  )
                })
            )
            const limiting = Tool.concurrency(permits, { maxWait })
            const tool: Weather = timeout === undefined
              ? limiting(bare)
              : isLimitInside
              ? Tool.timeout(limiting(bare), timeout)
              : limiting(Tool.timeout(bare, timeout))
            const exits: Array<string> = []
            yield* Effect.forEach(calls, ({ interruptedAt, start }, index) =>
              Effect.gen(function*() {
                const run = tool.run({ city: String(index) }).pipe(
                  Effect.catch(({ code }) => Effect.sync(() => exits.push(`${index} ${code}`)))
                )
                const fiber = yield* Effect.forkChild(Effect.delay(run, start))
                if (interruptedAt !== undefined) {
                  yield* Effect.forkChild(Effect.delay(Fiber.interrupt(fiber), interruptedAt))
                }
              }))
            for (let millis = 0; millis < 22; millis++) yield* TestClock.adjust(1)
            yield* TestClock.adjust("1 minute")
            assert.strictEqual(running, 0)
            for (const index of began) assert.notInclude(exits, `${index} bulkhead_full`)
            // All permits are free, and none was added.
            for (let index = 0; index <= permits; index++) {
              yield* Effect.forkChild(tool.run({ city: `${calls.length + index}` }), { startImmediately: true })
            }
            assert.strictEqual(running, permits)
            assert.isAtMost(max, permits)
          }).pipe(quickly)
      ),
      { numRuns: 300 }
    ))
})
