import { assert, describe, it } from "@effect/vitest"
import { type Policy, RetryPolicy, Tool, type ToolUnavailable } from "@fallible/core"
import { Context, Duration, Effect, Random, Schedule } from "effect"
import { quote, twice } from "../support/explained.ts"

describe("Tool.explain", () => {
  describe("steps a schedule", () => {
    class Station extends Context.Service<Station, { readonly patience: Duration.Duration }>()("Station") {}

    /** Returns the attempts and the waiting of a retried tool, or why they are unbounded. */
    const costs = <R>(retries: Policy.Retries<R>) => {
      const { attempts, waiting } = Tool.explain(quote().pipe(Tool.retry(retries)))
      const because = [...new Set([...attempts.because, ...waiting.because])].join("; ")
      return because === "" ? `${attempts.max} attempts, ${Duration.format(waiting.max)}` : because
    }
    const delayed = (wait: (input: ToolUnavailable) => Duration.Input) =>
      Schedule.recurs(2).pipe(
        Schedule.setInputType<ToolUnavailable>(),
        Schedule.modifyDelay(({ input }) => Effect.succeed(wait(input)))
      )
    const times = (times: number) => Schedule.upTo({ times })
    const second = Schedule.spaced("1 second")

    // The expressions here are valid, so the schedule does not fail.
    const cron = (expression: string) => Schedule.cron(expression) as Schedule.Schedule<unknown>

    it("to its end", () => {
      assert.strictEqual(costs(Schedule.recurs(3)), "4 attempts, 0")
      assert.strictEqual(costs(RetryPolicy.none), "1 attempts, 0")
      assert.strictEqual(costs(twice), "3 attempts, 600ms")
      assert.strictEqual(costs(Schedule.fibonacci("1 second").pipe(times(4))), "5 attempts, 7s")
      assert.strictEqual(costs(second.pipe(Schedule.upTo({ duration: "5 seconds" }))), "7 attempts, 6s")
      assert.strictEqual(costs(Schedule.max([second, Schedule.during("5 seconds")])), "7 attempts, 6s")
      assert.strictEqual(costs(Schedule.fixed("1 second").pipe(times(3))), "4 attempts, 3s")
      assert.strictEqual(costs(Schedule.windowed("1 second").pipe(times(3))), "4 attempts, 3s")
      assert.strictEqual(costs(Schedule.concat(Schedule.recurs(2), second.pipe(times(2)))), "5 attempts, 2s")
    })

    it("that never ends, only as far as necessary", () => {
      for (const schedule of [Schedule.forever, second, Schedule.exponential(1), Schedule.during("5 seconds")]) {
        assert.strictEqual(costs(schedule), "the retry never ends")
      }
    })

    it("with the greatest random draws, or with the least if they mean more attempts", () => {
      assert.strictEqual(costs(Schedule.jittered(twice)), "3 attempts, 720ms")
      assert.strictEqual(costs(Schedule.fixed("1 second").pipe(Schedule.jittered, times(3))), "4 attempts, 3s 600ms")
      const drawn = Schedule.recurs(2).pipe(Schedule.modifyDelay(() => Random.nextIntBetween(1, 50)))
      assert.strictEqual(costs(drawn), "3 attempts, 100ms")
      // At 800 ms intervals, 13 attempts begin within 10 s.
      const { attempts } = Tool.explain(
        quote().pipe(Tool.retry(second.pipe(Schedule.jittered, Schedule.upTo({ duration: "10 seconds" }))))
      )
      assert.strictEqual(attempts.max, 14)
    })

    it("of this library for the most expensive failure, by its terms", () => {
      assert.strictEqual(costs(RetryPolicy.transient), "3 attempts, 1m")
      assert.strictEqual(costs(RetryPolicy.rateLimited), "3 attempts, 2m 3s")
      assert.strictEqual(costs(() => RetryPolicy.transient), "3 attempts, 1m")
      assert.strictEqual(costs(RetryPolicy.make({ attempts: 10_002 })), "the retry never ends")
    })

    it("of this library inside another schedule only if it does not read the failure", () => {
      const depends = "the waits of the retry depend on the failure"
      const patient = RetryPolicy.make({ honourRetryAfter: false })
      assert.strictEqual(costs(RetryPolicy.transient.pipe(times(1))), depends)
      assert.strictEqual(costs(Schedule.max([RetryPolicy.transient, second])), depends)
      assert.strictEqual(costs(patient.pipe(times(1))), "2 attempts, 200ms")
      assert.strictEqual(costs(Schedule.concat(patient, second.pipe(times(1)))), "4 attempts, 1s 600ms")
    })

    it("of a user that honours Retry-After, for the longest wait that it grants", () => {
      const { honouring } = RetryPolicy
      assert.strictEqual(costs(honouring(Schedule.recurs(3))), "4 attempts, 1m 30s")
      assert.strictEqual(costs(honouring(second.pipe(times(2)), "10 seconds")), "3 attempts, 20s")
      assert.strictEqual(costs(honouring(Schedule.spaced("1 minute").pipe(times(2)), "10 seconds")), "3 attempts, 2m")
      assert.strictEqual(costs(honouring(second.pipe(times(1)))), "2 attempts, 30s")
      assert.strictEqual(costs(honouring(RetryPolicy.transient, "1 minute")), "3 attempts, 1m")
      assert.strictEqual(costs(honouring(Schedule.forever)), "the retry never ends")
      assert.strictEqual(
        costs(($) => honouring($(second).pipe(Schedule.while(({ input }) => input.code !== "connection")))),
        "the waits of the retry depend on the failure"
      )
      const patient = second.pipe(Schedule.modifyDelay(() => Effect.map(Station, ({ patience }) => patience)))
      assert.strictEqual(
        costs(honouring(patient)),
        "the retry's schedule cannot be stepped before running (Service not found: Station)"
      )
    })

    it("that RetryPolicy.make returns, whatever it depends on", () => {
      const { make } = RetryPolicy
      assert.strictEqual(costs(make({ attempts: 1 })), "1 attempts, 0")
      assert.strictEqual(costs(make({ attempts: 5, honourRetryAfter: "10 seconds" })), "5 attempts, 40s")
      const backoff = { attempts: 5, base: "1 second", cap: "3 seconds", honourRetryAfter: false } as const
      assert.strictEqual(costs(make(backoff)), "5 attempts, 9s")
      assert.strictEqual(costs(make({ ...backoff, jitter: false })), "5 attempts, 9s")
      assert.strictEqual(costs(make({ retryTimeouts: false })), "3 attempts, 1m")
      assert.strictEqual(costs(make({ honourRetryAfter: false, retryTimeouts: false })), "3 attempts, 600ms")
    })

    it("but not one that depends on the failure, except on common properties of all failures", () => {
      const depends = "the waits of the retry depend on the failure"
      assert.strictEqual(costs(delayed(({ retryAfter }) => retryAfter ?? 0)), depends)
      assert.strictEqual(costs(delayed((failure) => Object.keys(failure).length)), depends)
      assert.strictEqual(costs(delayed((failure) => "retryAfter" in failure ? 1 : 2)), depends)
      assert.strictEqual(
        costs(($) => $(RetryPolicy.transient).pipe(Schedule.while(({ input }) => input.code !== "connection"))),
        depends
      )
      assert.strictEqual(
        costs(delayed(({ _tag, transient }) => _tag === "ToolUnavailable" && transient ? 5 : 6)),
        "3 attempts, 10ms"
      )
      assert.strictEqual(costs(delayed((failure) => Object.hasOwn(failure, "retryAfter") ? 1 : 2)), depends)
      assert.strictEqual(costs(Schedule.passthrough(Schedule.recurs(2))), "3 attempts, 0")
      const lucky = Schedule.recurs(2).pipe(
        Schedule.setInputType<ToolUnavailable>(),
        Schedule.modifyDelay(({ input }) => Effect.map(Random.next, (share) => share > 0.5 ? input.retryAfter ?? 0 : 0))
      )
      assert.strictEqual(costs(lucky), depends)
    })

    it("but not one that depends on the fields that our own policies use, alone or inside them", () => {
      const depends = "the waits of the retry depend on the failure"
      const cap = Duration.seconds(30)
      // At most 30 s for each tried retryAfter, but an hour for 7777 ms.
      const trap = delayed(({ code, retryAfter = Duration.zero }) =>
        code === "rate_limited" && Duration.toMillis(retryAfter) === 7_777 ? "1 hour" : Duration.min(retryAfter, cap)
      )
      assert.strictEqual(costs(trap), depends)
      assert.strictEqual(costs(RetryPolicy.honouring(trap)), depends)
    })

    it("that a function returns", () => {
      assert.strictEqual(
        costs(($) => $(Schedule.recurs(3)).pipe(Schedule.addDelay(() => Effect.succeed(5)))),
        "4 attempts, 15ms"
      )
    })

    it("but not one that depends on the time of day", () => {
      for (const expression of ["0 4 * * *", "0 0 1 * *", "* * * * *", "* * * * * *"]) {
        assert.strictEqual(costs(cron(expression).pipe(times(1))), "the waits of the retry depend on the time of day")
      }
    })

    it("with attempts that take time, if later waits are longer", () => {
      const brief = Schedule.spaced(200).pipe(Schedule.upTo({ duration: "1 second" }))
      // With attempts of one second, only one wait is short.
      assert.strictEqual(costs(Schedule.concat(brief, Schedule.spaced(3_000)).pipe(times(4))), "5 attempts, 9s 200ms")
      assert.strictEqual(costs(Schedule.min([brief, Schedule.spaced(3_000)]).pipe(times(4))), "5 attempts, 9s 200ms")
    })

    it("but not one whose waits grow with the duration of attempts", () => {
      const growing = Schedule.recurs(2).pipe(Schedule.modifyDelay(({ elapsed }) => Effect.succeed(elapsed)))
      assert.strictEqual(costs(growing), "the waits of the retry grow with the time that attempts take")
    })

    it("but not one that needs a missing service, waits for an event, or dies", () => {
      const patient = second.pipe(Schedule.modifyDelay(() => Effect.map(Station, ({ patience }) => patience)))
      const cannot = (why: string) => `the retry's schedule cannot be stepped before running (${why})`
      assert.strictEqual(costs(patient), cannot("Service not found: Station"))
      assert.strictEqual(costs(second.pipe(Schedule.tap(() => Effect.never))), cannot("it waits for an external event"))
      assert.strictEqual(costs(second.pipe(Schedule.tap(() => Effect.die("bug")))), cannot("bug"))
      const late = second.pipe(Schedule.while(({ attempt }) => attempt < 3 ? Effect.succeed(true) : Effect.die("late")))
      assert.strictEqual(costs(late), cannot("late"))
      const unlucky = second.pipe(
        times(1),
        Schedule.tap(() => Effect.flatMap(Random.next, (share) => share < 0.5 ? Effect.void : Effect.die("unlucky")))
      )
      assert.strictEqual(costs(unlucky), cannot("unlucky"))
    })

    it("and counts the time that a schedule itself takes", () => {
      assert.strictEqual(costs(Schedule.recurs(2).pipe(Schedule.tap(() => Effect.sleep(100)))), "3 attempts, 200ms")
    })

    it("and starts no infinite wait", () => {
      assert.strictEqual(costs(Schedule.spaced(Duration.infinity)), "1 attempts, 0")
    })

    it("without leaving a fiber or a log line", async () => {
      let steps = 0
      const asynchronous = Schedule.tap(second, () =>
        Effect.promise(async () => {
          steps++
        }))
      costs(asynchronous)
      costs(Schedule.recurs(2).pipe(Schedule.tap(() => Effect.logError("This must not be seen."))))
      await new Promise((resolve) => setImmediate(resolve))
      assert.strictEqual(steps, 1)
    })
  })
})
