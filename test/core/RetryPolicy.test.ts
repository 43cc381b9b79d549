import { assert, describe, it } from "@effect/vitest"
import { Model, ModelFailure, RetryPolicy, Tool, ToolUnavailable } from "@fallible/core"
import { Clock, Context, Duration, Effect, Exit, Fiber, Random, Schedule } from "effect"
import { TestClock } from "effect/testing"
import { after, disabled, doing, type Failure, paris, refused, Sequence, sunny } from "../support/sequence.ts"

const busy = (retryAfter: Duration.Input) =>
  new ToolUnavailable({ ...refused, code: "rate_limited", retryAfter: Duration.fromInputUnsafe(retryAfter) })

/** Returns the times of the attempts of an effect that always fails, in milliseconds from its start. */
const attempts = (
  provideRandom: <A, E>(self: Effect.Effect<A, E>) => Effect.Effect<A, E>,
  failure: ToolUnavailable = refused,
  policy: Schedule.Schedule<unknown, RetryPolicy.Retryable> = RetryPolicy.transient
) =>
  Effect.gen(function*() {
    const start = yield* Clock.currentTimeMillis
    const times: Array<number> = []
    const failing = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      times.push(Math.round(now - start))
      return Effect.fail(failure)
    })
    const fiber = yield* Effect.retry(failing, policy).pipe(provideRandom, Effect.flip, Effect.forkChild)
    yield* TestClock.adjust("5 minutes")
    assert.strictEqual(yield* Fiber.join(fiber), failure)
    return times
  })

/** Makes every random draw this share of its bound. */
const drawing = (share: number) =>
  Effect.provideService(Random.Random, { nextDoubleUnsafe: () => share, nextIntUnsafe: () => 0 })

describe("RetryPolicy", () => {
  describe("transient", () => {
    it.effect("tries three times, with waits drawn from 0 to 200 ms and from 0 to 400 ms", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* attempts(drawing(0)), [0, 0, 0])
        assert.deepStrictEqual(yield* attempts(drawing(0.5)), [0, 100, 300])
        assert.deepStrictEqual(yield* attempts(drawing(0.999_999)), [0, 200, 600])
      }))

    it.effect("waits as long as a service asks, up to 30 s, and otherwise gives up", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* attempts(drawing(0.5), busy("50 millis")), [0, 100, 300])
        assert.deepStrictEqual(yield* attempts(drawing(0.5), busy("20 seconds")), [0, 20_000, 40_000])
        assert.deepStrictEqual(yield* attempts(drawing(0.5), busy("30 seconds")), [0, 30_000, 60_000])
        assert.deepStrictEqual(yield* attempts(drawing(0.5), busy("30001 millis")), [0])
        assert.deepStrictEqual(yield* attempts(drawing(0.5), busy("Infinity")), [0])
      }))

    it.effect("retries when the wait is over, and not a millisecond before", () =>
      Effect.gen(function*() {
        let tries = 0
        const failing = Effect.suspend(() => {
          tries++
          return Effect.fail(refused)
        })
        yield* Effect.retry(failing, RetryPolicy.transient).pipe(
          drawing(0.5),
          Effect.exit,
          Effect.forkChild({ startImmediately: true })
        )
        const seen: Array<number> = [tries]
        for (const step of ["99 millis", "1 millis", "199 millis", "1 millis", "1 hour"] as const) {
          yield* TestClock.adjust(step)
          seen.push(tries)
        }
        assert.deepStrictEqual(seen, [1, 1, 2, 2, 3, 3])
      }))

    it.effect("spreads callers out, and repeats itself with the same seed", () =>
      Effect.gen(function*() {
        const ada = yield* attempts(Random.withSeed("ada"))
        assert.deepStrictEqual(yield* attempts(Random.withSeed("ada")), ada)
        assert.notDeepEqual(yield* attempts(Random.withSeed("grace")), ada)
      }))
  })

  describe("rateLimited", () => {
    const limited = new ToolUnavailable({ ...refused, code: "rate_limited" })
    const times = (share: number, failure: ToolUnavailable) =>
      attempts(drawing(share), failure, RetryPolicy.rateLimited)

    it.effect("waits 1 to 2 s, then 2 to 4 s, if the service does not say how long", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* times(0, limited), [0, 1_000, 3_000])
        assert.deepStrictEqual(yield* times(0.5, limited), [0, 1_500, 4_500])
        assert.deepStrictEqual(yield* times(0.999_999, limited), [0, 2_000, 6_000])
      }))

    it.effect("waits as long as the service says, plus up to 1 s, then 2 s", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* times(0, busy("10 seconds")), [0, 10_000, 20_000])
        assert.deepStrictEqual(yield* times(0.5, busy("10 seconds")), [0, 10_500, 21_500])
        assert.deepStrictEqual(yield* times(0.999_999, busy("10 seconds")), [0, 11_000, 23_000])
        assert.deepStrictEqual(yield* times(0, busy(0)), [0, 0, 0])
      }))

    it.effect("waits if the service asks for up to 60 s, and otherwise gives up", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* times(0, busy("60 seconds")), [0, 60_000, 120_000])
        assert.deepStrictEqual(yield* times(0.5, busy("60 seconds")), [0, 60_500, 121_500])
        assert.deepStrictEqual(yield* times(0, busy("60001 millis")), [0])
        assert.deepStrictEqual(yield* times(0, busy("Infinity")), [0])
      }))

    it.effect("treats other failures like transient", () =>
      Effect.gen(function*() {
        for (const share of [0, 0.5, 0.999_999]) {
          assert.deepStrictEqual(yield* times(share, refused), yield* attempts(drawing(share)))
        }
        const down = new ToolUnavailable({ ...refused, code: "server_error", retryAfter: Duration.seconds(20) })
        assert.deepStrictEqual(yield* times(0.5, down), [0, 20_000, 40_000])
        const long = new ToolUnavailable({ ...down, retryAfter: Duration.seconds(45) })
        assert.deepStrictEqual(yield* times(0.5, long), [0, 45_000, 90_000])
      }))

    it.effect("considers each failure separately", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const flaky = tool([Effect.fail(refused), Effect.fail(limited), sunny]).pipe(
          Tool.retry(RetryPolicy.rateLimited)
        )
        assert.deepStrictEqual((yield* drawing(0.5)(play(flaky))).filter((event) => event.startsWith("waits")), [
          "waits 100",
          "waits 3000"
        ])
      }))

    it.effect("retries when the wait is over, and not a millisecond before", () =>
      Effect.gen(function*() {
        const { events, tool } = new Sequence()
        const limitedAtFirst = tool([Effect.fail(busy("10 seconds")), sunny]).pipe(Tool.retry(RetryPolicy.rateLimited))
        yield* limitedAtFirst.run(paris).pipe(drawing(0.5), Effect.forkChild({ startImmediately: true }))
        yield* TestClock.adjust(10_499)
        assert.deepStrictEqual(events, ["0 attempt 1"])
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(events, ["0 attempt 1", "10500 attempt 2"])
      }))

    it.effect("works for a model too", () =>
      Effect.gen(function*() {
        const { ending, events, note } = new Sequence()
        const failing = Effect.andThen(
          note("asked"),
          Effect.fail(new ModelFailure({ code: "rate_limited", detail: "Slow down.", transient: true }))
        )
        yield* Effect.forkChild(drawing(0)(ending(Model.retry(failing, RetryPolicy.rateLimited))))
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(events, ["0 asked", "1000 asked", "3000 asked", "3000 => rate_limited"])
      }))
  })

  it.effect("a schedule that dies is a defect, not a failure of the tool", () =>
    Effect.gen(function*() {
      const tool = doing(Effect.fail(refused)).pipe(
        Tool.retry(Schedule.tap(Schedule.recurs(2), () => Effect.die("broken schedule")))
      )
      assert.deepStrictEqual(yield* Effect.exit(tool.run(paris)), Exit.die("broken schedule"))
    }))

  describe("none", () => {
    it.effect("makes no second attempt", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        assert.deepStrictEqual(yield* play(tool([Effect.fail(refused), sunny]).pipe(Tool.retry(RetryPolicy.none))), [
          "0 attempt 1",
          "0 => connection"
        ])
        assert.deepStrictEqual(yield* attempts(drawing(0), refused, RetryPolicy.none), [0])
      }))
  })

  it.effect("timeouts and 5xx back off with jitter, 429 honours Retry-After and waits longer, other 4xx are not retried", () =>
    Effect.gen(function*() {
      const unavailable = (code: string, transient: boolean, retryAfter?: Duration.Duration) =>
        Effect.fail(
          new ToolUnavailable({
            code,
            detail: "No.",
            transient,
            ...(retryAfter === undefined ? {} : { retryAfter })
          })
        )
      const ends: Record<string, Effect.Effect<string, Failure>> = {
        "no answer": after(2_000, sunny),
        "408": unavailable("timeout", true),
        "503": unavailable("server_error", true),
        "429": unavailable("rate_limited", true),
        "429 with Retry-After": unavailable("rate_limited", true, Duration.seconds(10)),
        "403": unavailable("permission_denied", false),
        "404": Effect.fail(disabled)
      }
      const waits = Effect.fnUntraced(function*(end: Effect.Effect<string, Failure>) {
        const { play, tool } = new Sequence()
        const events = yield* play(tool([end]).pipe(Tool.timeout("1 second"), Tool.retry(RetryPolicy.rateLimited)))
        return events.flatMap((event) => event.startsWith("waits ") ? Number(event.slice(6)) : [])
      })
      const under = (share: number) =>
        drawing(share)(Effect.all(Object.fromEntries(Object.entries(ends).map(([name, end]) => [name, waits(end)]))))
      assert.deepStrictEqual(yield* under(0), {
        "no answer": [0, 0],
        "408": [0, 0],
        "503": [0, 0],
        "429": [1_000, 2_000],
        "429 with Retry-After": [10_000, 10_000],
        "403": [],
        "404": []
      })
      assert.deepStrictEqual(yield* under(0.5), {
        "no answer": [100, 200],
        "408": [100, 200],
        "503": [100, 200],
        "429": [1_500, 3_000],
        "429 with Retry-After": [10_500, 11_000],
        "403": [],
        "404": []
      })
    }))

  describe("make", () => {
    const times = (options: RetryPolicy.Options, failure = refused, share = 0.999_999) =>
      attempts(drawing(share), failure, RetryPolicy.make(options))
    const timedOut = new ToolUnavailable({ ...refused, code: "timeout" })

    it.effect("without options is transient", () =>
      Effect.gen(function*() {
        for (const failure of [refused, timedOut, busy("50 millis"), busy("30 seconds"), busy("30001 millis")]) {
          assert.deepStrictEqual(yield* times({}, failure), yield* attempts(drawing(0.999_999), failure))
        }
      }))

    it.effect("makes as many attempts as configured, including the first", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* times({ attempts: 1 }), [0])
        assert.deepStrictEqual(yield* times({ attempts: 2 }), [0, 200])
        assert.deepStrictEqual(yield* times({ attempts: 5 }), [0, 200, 600, 1_400, 3_000])
      }))

    it.effect("doubles the bound of its waits from the base to the cap, and draws each wait from zero to its bound", () =>
      Effect.gen(function*() {
        const options = { attempts: 5, base: "1 second", cap: "3 seconds" } as const
        assert.deepStrictEqual(yield* times(options, refused, 0), [0, 0, 0, 0, 0])
        assert.deepStrictEqual(yield* times(options, refused, 0.5), [0, 500, 1_500, 3_000, 4_500])
        assert.deepStrictEqual(yield* times({ ...options, jitter: false }, refused, 0), [0, 1_000, 3_000, 6_000, 9_000])
        assert.deepStrictEqual(yield* times({ base: "3 seconds", cap: "3 seconds", jitter: false }), [0, 3_000, 6_000])
      }))

    it.effect("honours Retry-After up to its limit, or not at all", () =>
      Effect.gen(function*() {
        const brief = { honourRetryAfter: "10 seconds" } as const
        assert.deepStrictEqual(yield* times(brief, busy("10 seconds")), [0, 10_000, 20_000])
        assert.deepStrictEqual(yield* times(brief, busy("10001 millis")), [0])
        assert.deepStrictEqual(yield* times({ honourRetryAfter: false }, busy("1 hour")), [0, 200, 600])
      }))

    it.effect("can call a hanging service only once, but still retries a connection that timed out", () =>
      Effect.gen(function*() {
        const once = { retryTimeouts: false }
        const ends = [timedOut, new ToolUnavailable({ ...timedOut, outcome: "unknown" })]
        for (const failure of ends) {
          assert.deepStrictEqual(yield* times(once, failure), [0])
          assert.deepStrictEqual(yield* times({}, failure), [0, 200, 600])
        }
        const goesOn = [new ToolUnavailable({ ...timedOut, outcome: "not_executed" }), refused]
        for (const failure of goesOn) assert.deepStrictEqual(yield* times(once, failure), [0, 200, 600])
      }))

    it.effect("considers each failure separately", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const hangsLater = tool([Effect.fail(refused), Effect.never]).pipe(
          Tool.timeout("1 second"),
          Tool.retry(RetryPolicy.make({ retryTimeouts: false }))
        )
        assert.deepStrictEqual(yield* drawing(0.5)(play(hangsLater)), [
          "0 attempt 1",
          "retry handles connection",
          "waits 100",
          "100 attempt 2",
          "1100 interrupted",
          "1100 => timeout"
        ])
      }))

    // A program without types may pass anything.
    const untyped = (options: object) => RetryPolicy.make(options)
    const refusals: ReadonlyArray<readonly [options: object, message: RegExp]> = [
      ...[0, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "3"].map((attempts) =>
        [{ attempts }, /^A retry's limit of attempts must be a whole number of at least 1; got /] as const
      ),
      ...[0, -1, "Infinity"].map((base) =>
        [{ base }, /^A retry's base must be a finite duration above zero; got /] as const
      ),
      [{ base: "1s" }, /^A retry's base must be a finite duration above zero, such as "5 seconds"; got "1s"\.$/],
      [{ cap: "Infinity" }, /^A retry's cap must be a finite duration above zero; got Infinity\.$/],
      [{ base: "6 seconds" }, /^A retry's base must not be longer than its cap; got 6s and 5s\.$/],
      ...[0, true, "Infinity", null].map((honourRetryAfter) =>
        [{ honourRetryAfter }, /^A longest wait for Retry-After must be a finite duration above zero/] as const
      ),
      [{ jitter: "full" }, /^A retry's jitter must be a boolean; got "full"\.$/],
      [{ retryTimeouts: 1 }, /^A retry's retryTimeouts must be a boolean; got 1\.$/]
    ]
    for (const [options, message] of refusals) {
      it(`throws at an invalid option, and says what is valid: ${JSON.stringify(options)}`, () => {
        assert.throws(() => untyped(options), TypeError)
        assert.throws(() => untyped(options), message)
      })
    }
  })

  describe("honouring", () => {
    const { honouring } = RetryPolicy
    const times = (schedule: Schedule.Schedule<unknown, RetryPolicy.Retryable>, failure = refused) =>
      attempts(drawing(0), failure, schedule)
    const twice = Schedule.spaced("1 second").pipe(Schedule.upTo({ times: 2 }))

    it.effect("waits at least as long as the service asks, and gives up if that is too long", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* times(honouring(Schedule.recurs(3))), [0, 0, 0, 0])
        assert.deepStrictEqual(yield* times(honouring(Schedule.recurs(3)), busy("5 seconds")), [
          0,
          5_000,
          10_000,
          15_000
        ])
        assert.deepStrictEqual(yield* times(honouring(Schedule.recurs(1)), busy("30 seconds")), [0, 30_000])
        assert.deepStrictEqual(yield* times(honouring(Schedule.recurs(1)), busy("30001 millis")), [0])
        assert.deepStrictEqual(yield* times(honouring(twice), busy("999 millis")), [0, 1_000, 2_000])
        assert.deepStrictEqual(yield* times(honouring(twice), busy("1001 millis")), [0, 1_001, 2_002])
        assert.deepStrictEqual(yield* times(honouring(twice, "2 seconds"), busy("2 seconds")), [0, 2_000, 4_000])
        assert.deepStrictEqual(yield* times(honouring(twice, "2 seconds"), busy("2001 millis")), [0])
      }))

    it.effect("keeps the output and the requirements of the schedule", () =>
      Effect.gen(function*() {
        class Patience extends Context.Service<Patience, Duration.Duration>()("Patience") {}
        const patient = Schedule.recurs(2).pipe(Schedule.modifyDelay(() => Patience))
        const counts: Array<number> = []
        const noting = Schedule.tap(honouring(patient), ({ output }) => Effect.sync(() => counts.push(output)))
        const { play, tool } = new Sequence()
        const failing = tool([Effect.fail(refused), Effect.fail(busy("9 seconds")), sunny]).pipe(Tool.retry(noting))
        const events = yield* play({
          ...failing,
          run: (params) => Effect.provideService(failing.run(params), Patience, Duration.seconds(4))
        })
        assert.deepStrictEqual(events.filter((event) => event.startsWith("waits")), ["waits 4000", "waits 9000"])
        assert.deepStrictEqual(counts, [0, 1])
      }))

    it.effect("lets the schedule see the failure", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const failing = tool([Effect.fail(refused), Effect.fail(busy("1 second"))]).pipe(
          Tool.retry(($) =>
            honouring($(Schedule.recurs(5)).pipe(Schedule.while(({ input }) => input.code !== "rate_limited")))
          )
        )
        assert.deepStrictEqual(yield* play(failing), [
          "0 attempt 1",
          "retry handles connection",
          "waits 0",
          "0 attempt 2",
          "0 => rate_limited"
        ])
      }))

    it("throws without a schedule, or at an infinite wait", () => {
      assert.throws(() => honouring("5 seconds" as never), /^RetryPolicy.honouring needs a Schedule; got a string\.$/)
      for (const longest of [0, "Infinity", "soon"]) {
        assert.throws(
          () => honouring(twice, longest as never),
          /^A longest wait for Retry-After must be a finite duration above zero/
        )
      }
    })
  })

  it.effect("publishes how often it retries, and keeps to it", () =>
    Effect.gen(function*() {
      const { honouring, make, none, rateLimited, transient } = RetryPolicy
      for (const policy of [transient, rateLimited, none, make({ attempts: 5 })]) {
        const { terms } = policy
        assert.strictEqual(
          (yield* attempts(drawing(0), refused, policy)).length,
          "attempts" in terms ? terms.attempts : 0
        )
      }
      const schedule = Schedule.recurs(3)
      assert.deepStrictEqual<unknown>(honouring(schedule, "1 minute").terms, {
        around: schedule,
        honours: Duration.minutes(1)
      })
      assert.deepStrictEqual(make({ attempts: 2, base: "1 second", honourRetryAfter: "3 seconds" }).terms, {
        attempts: 2,
        waits: [{ min: Duration.zero, max: Duration.seconds(3), own: Duration.seconds(1) }],
        isRandom: true,
        honours: Duration.seconds(3)
      })
    }))

  describe("a custom policy", () => {
    it.effect("sees the typed failure", () =>
      Effect.gen(function*() {
        const seen: Array<string> = []
        const policy = Tool.retry(($) =>
          $(Schedule.recurs(5)).pipe(
            Schedule.while(({ input }) => {
              const failure: ToolUnavailable = input
              seen.push(failure.code)
              return failure.code !== "rate_limited" && failure.outcome !== "unknown"
            })
          )
        )
        let attempt = 0
        const codes = ["connection", "timeout", "rate_limited", "connection"]
        const failing = doing(
          Effect.suspend(() => Effect.fail(new ToolUnavailable({ ...refused, code: codes[attempt++] ?? "none" })))
        )
        assert.strictEqual((yield* Effect.flip(policy(failing).run(paris))).code, "rate_limited")
        assert.deepStrictEqual(seen, ["connection", "timeout", "rate_limited"])
        const dataFirst = Tool.retry(failing, ($) => $(Schedule.recurs(0)))
        assert.strictEqual((yield* Effect.flip(dataFirst.run(paris))).code, "connection")
      }))
  })
})
