import { assert, describe, it } from "@effect/vitest"
import {
  CallEvent,
  Defect,
  Explanation,
  PartialData,
  Policy,
  RetryPolicy,
  SemanticGarbage,
  type SideEffect,
  Tool,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import { Clock, Context, Duration, Effect, Option, Random, Schedule, Scheduler, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { inWholeMillis } from "../support/virtualTime.ts"

const quote = (sideEffect: SideEffect.SideEffect = "none") =>
  Tool.make("get_quote", { description: "A quote", success: Schema.Finite, sideEffect }, () => Effect.succeed(1))

/** A quote that takes 5 s at the most. */
const timely = (sideEffect?: SideEffect.SideEffect) => Tool.timeout(quote(sideEffect), "5 seconds")

const twice = Schedule.exponential("200 millis").pipe(Schedule.upTo({ times: 2 }))

const lines = (text: string) => text.split("\n")

/** The rows of the table, without the heading and the handler. */
const rows = <T extends Tool.Any>(tool: T) => {
  const table = lines(Explanation.table(Tool.explain(tool)))
  return table.slice(3, table.indexOf("")).map((row) => row.trim().replace(/ {2,}/g, " | "))
}

const reasons = <T extends Tool.Any>(tool: T) => {
  const { attempts, time, waiting } = Tool.explain(tool)
  return [attempts, waiting, time].map(({ because }) => because.join("; "))
}

const codes = <T extends Tool.Any>(tool: T) => Tool.explain(tool).warnings.map(({ code }) => code)

/** What a policy by hand needs at least. */
const byHand = (name: string, bound?: Policy.Policy["bound"]): Policy.Policy =>
  Policy.make({
    kind: "custom",
    name,
    description: name,
    wrap: (run) => run,
    ...(bound === undefined ? {} : { bound })
  })

const adding = (policy: Policy.Any) => <T extends Tool.Any>(tool: T) => Tool.withDefaults(tool, [policy])

describe("no_identity", () => {
  const parameters = Schema.Struct({ pin: Schema.Redacted(Schema.String) })
  const codes = (sideEffect: SideEffect.SideEffect, identity?: () => unknown) =>
    Tool.explain(
      Tool.make("pay", {
        description: "",
        parameters,
        success: Schema.Void,
        sideEffect,
        ...(identity === undefined ? {} : { identity })
      }, () => Effect.void)
    ).warnings.map(({ code }) => code)

  it("warns of a tool that acts, and whose arguments make no key", () => {
    assert.deepStrictEqual(codes("non_idempotent"), ["no_identity"])
    assert.deepStrictEqual(codes("idempotent"), ["no_identity"])
  })

  it("warns neither of one that reads, nor of one that says what identifies it", () => {
    assert.deepStrictEqual(codes("none"), [])
    assert.deepStrictEqual(codes("non_idempotent", () => "7"), [])
  })
})

describe("Tool.explain", () => {
  describe("knows what each policy does:", () => {
    it("a handler runs once, and may take for ever", () => {
      const { attempts, time, waiting } = Tool.explain(quote())
      assert.deepStrictEqual({ attempts, time, waiting }, {
        attempts: { most: 1, because: [] },
        time: { most: Duration.infinity, because: ["the handler has no timeout"] },
        waiting: { most: Duration.zero, because: [] }
      })
    })

    it("timeout ends an attempt", () => {
      assert.deepStrictEqual(rows(timely()), ["timeout of 5s | 1 | 0ms | 5s"])
      assert.deepStrictEqual(rows(timely().pipe(Tool.timeout("2 seconds"), Tool.timeout("1 minute"))), [
        "timeout of 5s | 1 | 0ms | 5s",
        "timeout of 2s | 1 | 0ms | 2s",
        "timeout of 1m | 1 | 0ms | 2s"
      ])
      assert.deepStrictEqual(rows(quote().pipe(Tool.timeout(Duration.infinity))), [
        "timeout of Infinity | 1 | 0ms | unbounded"
      ])
    })

    it("retry multiplies what is inside, and waits", () => {
      assert.deepStrictEqual(rows(timely().pipe(Tool.retry(twice), Tool.retry(Schedule.recurs(1)))), [
        "timeout of 5s | 1 | 0ms | 5s",
        "retry of transient failures | 3 | 600ms | 15s 600ms",
        "retry of transient failures | 6 | 1s 200ms | 31s 200ms"
      ])
      assert.deepStrictEqual(rows(quote().pipe(Tool.retry(twice))), [
        "retry of transient failures | 3 | 600ms | unbounded"
      ])
    })

    it("a deadline, or a timeout outside of a retry, bounds attempts, waiting and time again", () => {
      for (const [kind, limit] of [["timeout", Tool.timeout], ["deadline", Tool.deadline]] as const) {
        const limited = (schedule: Schedule.Schedule<unknown>, outer: Duration.Input) =>
          rows(timely().pipe(Tool.retry(schedule), limit(outer))).at(-1)
        assert.strictEqual(limited(Schedule.spaced("1 second"), "7 seconds"), `${kind} of 7s | 7 | 7s | 7s`)
        assert.strictEqual(limited(Schedule.spaced("1 second"), 7_001), `${kind} of 7s 1ms | 8 | 7s 1ms | 7s 1ms`)
        assert.strictEqual(limited(twice, "7 seconds"), `${kind} of 7s | 3 | 600ms | 7s`)
        assert.strictEqual(limited(Schedule.forever, "7 seconds"), `${kind} of 7s | unbounded | 7s | 7s`)
      }
    })

    it("a fallback, a catch and a check take times of their own, which a timeout outside bounds", () => {
      const asking = [
        timely().pipe(Tool.fallback(() => Effect.succeed(2), { name: "the mirror" })),
        timely().pipe(Tool.fallback(() => Effect.succeed(2))),
        timely().pipe(Tool.catchTag("ToolUnavailable", () => Effect.succeed(2))),
        timely().pipe(Tool.reconcile(() => Effect.succeedNone))
      ]
      assert.deepStrictEqual(asking.map((tool) => [rows(tool).at(-1), reasons(tool).join("")]), [
        ["fallback to the mirror | 1 | 0ms | unbounded", "the fallback to the mirror has no timeout"],
        ["fallback | 1 | 0ms | unbounded", "the fallback has no timeout"],
        ["catch of ToolUnavailable | 1 | 0ms | unbounded", "the catch of ToolUnavailable has no timeout"],
        ["reconciles unknown outcomes | 1 | 0ms | unbounded", "the check of the outcome has no timeout"]
      ])
      assert.deepStrictEqual(
        asking.map((tool) => rows(adding(byHand("same", (inner) => inner))(Tool.timeout(tool, "8 seconds"))).at(-1)),
        asking.map(() => "same | 1 | 0ms | 8s")
      )
    })

    it("a fallback to a tool takes as long as that tool, and waits as long", () => {
      const mirror = Tool.timeout(quote(), "1 second").pipe(Tool.retry(twice))
      assert.deepStrictEqual(rows(timely().pipe(Tool.retry(Schedule.recurs(1)), Tool.fallback(mirror.run))), [
        "timeout of 5s | 1 | 0ms | 5s",
        "retry of transient failures | 2 | 0ms | 10s",
        "fallback | 2 | 600ms | 13s 600ms"
      ])
      assert.deepStrictEqual(reasons(timely().pipe(Tool.fallback(quote().run, { name: "the mirror" }))), [
        "",
        "",
        "the fallback to the mirror: the handler has no timeout"
      ])
    })

    it("mapping failures changes nothing", () => {
      const mapped = timely().pipe(Tool.mapFailure((failure) => failure))
      assert.deepStrictEqual(rows(mapped).slice(1), ["maps failures | 1 | 0ms | 5s"])
    })

    it("limit waits for a permit, as long as it is patient", () => {
      const limited = (maxWait?: Duration.Input) =>
        timely().pipe(Tool.concurrency(2, maxWait === undefined ? {} : { maxWait }))
      assert.deepStrictEqual([rows(limited(0))[1], rows(limited("1 second"))[1], rows(limited())[1]], [
        "concurrency limit of 2 | 1 | 0ms | 5s",
        "concurrency limit of 2 | 1 | 1s | 6s",
        "concurrency limit of 2 | 1 | unbounded | unbounded"
      ])
      const reason = "a call waits for a permit as long as it takes"
      assert.deepStrictEqual(reasons(limited()), ["", reason, reason])
    })

    it("complete fetches pages, for as long as it may", () => {
      const paged = (time: Duration.Input) =>
        timely().pipe(Tool.retry(twice), Tool.paginate({ merge: (_, page) => page, pages: 4, time }))
      assert.deepStrictEqual([rows(paged("1 minute")).at(-1), rows(paged("10 seconds")).at(-1)], [
        "fetches up to 4 pages | 12 | 2s 400ms | 1m 2s 400ms",
        "fetches up to 4 pages | 12 | 2s 400ms | 25s 600ms"
      ])
    })

    it("of a policy that does not say, nothing; a timeout outside helps", () => {
      const tool = timely().pipe(adding(byHand("mystery")))
      assert.deepStrictEqual(rows(tool).at(-1), "mystery | unbounded | unbounded | unbounded")
      assert.deepStrictEqual(reasons(tool), Array(3).fill("nothing is known of the policy 'mystery'"))
      assert.deepStrictEqual(
        rows(adding(byHand("same", (inner) => inner))(Tool.timeout(tool, "9 seconds"))).at(-1),
        "same | unbounded | 9s | 9s"
      )
    })

    it("what a policy made by hand says", () => {
      const slow = byHand("slow", (inner, { name }) => ({ ...inner, time: Explanation.unbounded(`${name} is slow`) }))
      assert.deepStrictEqual(reasons(timely().pipe(adding(slow))), ["", "", "get_quote is slow"])
    })

    it("defaults in their places", () => {
      assert.deepStrictEqual(
        rows(quote().pipe(Tool.retry(twice), Tool.withDefaults([Policy.timeout("5 seconds"), Policy.concurrency(1)]))),
        [
          "timeout of 5s | 1 | 0ms | 5s",
          "retry of transient failures | 3 | 600ms | 15s 600ms",
          "concurrency limit of 1 | 3 | unbounded | unbounded"
        ]
      )
    })
  })

  it("knows how often a run may repeat a failing call", () => {
    const repeats = <T extends Tool.Any>(tool: T) => {
      const { actingCalls, calls, executions } = Tool.explain(tool)
      return [calls, actingCalls, executions.most, executions.because.join("")]
    }
    assert.deepStrictEqual(repeats(quote()), [3, 3, 3, ""])
    assert.deepStrictEqual(repeats(quote("idempotent").pipe(Tool.retry(twice))), [3, 3, 5, ""])
    assert.deepStrictEqual(repeats(quote("non_idempotent").pipe(Tool.retry(twice))), [3, 1, 5, ""])
    assert.deepStrictEqual(repeats(quote().pipe(Tool.retry(Schedule.forever))), [
      3,
      3,
      Infinity,
      "the retry never ends"
    ])
  })

  describe("steps a schedule", () => {
    class Station extends Context.Service<Station, { readonly patience: Duration.Duration }>()("Station") {}

    /** Attempts and waiting of a tool that is retried, or why they are unbounded. */
    const costs = <R>(retries: Policy.Retries<R>) => {
      const { attempts, waiting } = Tool.explain(quote().pipe(Tool.retry(retries)))
      const because = [...new Set([...attempts.because, ...waiting.because])].join("; ")
      return because === "" ? `${attempts.most} attempts, ${Duration.format(waiting.most)}` : because
    }
    const delayed = (wait: (input: ToolUnavailable) => Duration.Input) =>
      Schedule.recurs(2).pipe(
        Schedule.setInputType<ToolUnavailable>(),
        Schedule.modifyDelay(({ input }) => Effect.succeed(wait(input)))
      )
    const times = (times: number) => Schedule.upTo({ times })
    const second = Schedule.spaced("1 second")

    // The expressions here can be read, so that it does not fail.
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

    it("that never ends, no further than it must", () => {
      for (const schedule of [Schedule.forever, second, Schedule.exponential(1), Schedule.during("5 seconds")]) {
        assert.strictEqual(costs(schedule), "the retry never ends")
      }
    })

    it("with the greatest draws, and with the least where they mean more attempts", () => {
      assert.strictEqual(costs(Schedule.jittered(twice)), "3 attempts, 720ms")
      assert.strictEqual(costs(Schedule.fixed("1 second").pipe(Schedule.jittered, times(3))), "4 attempts, 3s 600ms")
      const drawn = Schedule.recurs(2).pipe(Schedule.modifyDelay(() => Random.nextIntBetween(1, 50)))
      assert.strictEqual(costs(drawn), "3 attempts, 100ms")
      // 800 ms apart, 13 of them begin within 10 s.
      const { attempts } = Tool.explain(
        quote().pipe(Tool.retry(second.pipe(Schedule.jittered, Schedule.upTo({ duration: "10 seconds" }))))
      )
      assert.strictEqual(attempts.most, 14)
    })

    it("of this library for the failure that costs the most, also where it is part of another one", () => {
      assert.strictEqual(costs(RetryPolicy.transient), "3 attempts, 1m")
      assert.strictEqual(costs(RetryPolicy.rateLimited), "3 attempts, 2m 3s")
      assert.strictEqual(costs(RetryPolicy.transient.pipe(times(1))), "2 attempts, 30s")
      assert.strictEqual(costs(Schedule.max([RetryPolicy.transient, second])), "3 attempts, 1m")
      assert.strictEqual(costs(Schedule.concat(RetryPolicy.transient, second.pipe(times(1)))), "4 attempts, 1m 1s")
      // The second failure may ask for 30 s, when the first one did not.
      assert.strictEqual(costs(RetryPolicy.transient.pipe(Schedule.upTo({ duration: "1 second" }))), "3 attempts, 1m")
    })

    it("of one's own that honours Retry-After, for the longest wait that it grants", () => {
      const { honouring } = RetryPolicy
      assert.strictEqual(costs(honouring(Schedule.recurs(3))), "4 attempts, 1m 30s")
      assert.strictEqual(costs(honouring(second.pipe(times(2)), "10 seconds")), "3 attempts, 20s")
      assert.strictEqual(costs(honouring(Schedule.spaced("1 minute").pipe(times(2)), "10 seconds")), "3 attempts, 2m")
      assert.strictEqual(costs(honouring(second).pipe(times(1))), "2 attempts, 30s")
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

    it("that RetryPolicy.make makes, whatever it looks at", () => {
      const { make } = RetryPolicy
      assert.strictEqual(costs(make({ attempts: 1 })), "1 attempts, 0")
      assert.strictEqual(costs(make({ attempts: 5, honourRetryAfter: "10 seconds" })), "5 attempts, 40s")
      const backoff = { attempts: 5, base: "1 second", cap: "3 seconds", honourRetryAfter: false } as const
      assert.strictEqual(costs(make(backoff)), "5 attempts, 9s")
      assert.strictEqual(costs(make({ ...backoff, jitter: false })), "5 attempts, 9s")
      assert.strictEqual(costs(make({ retryTimeouts: false })), "3 attempts, 1m")
      assert.strictEqual(costs(make({ honourRetryAfter: false, retryTimeouts: false })), "3 attempts, 600ms")
    })

    it("with a timeout, where another schedule goes on after a policy that does not retry it", () => {
      const once = RetryPolicy.make({ honourRetryAfter: false, retryTimeouts: false })
      const slow = Schedule.spaced("10 seconds").pipe(times(1))
      assert.strictEqual(costs(Schedule.min([once, slow])), "3 attempts, 10s 400ms")
      assert.strictEqual(costs(Schedule.concat(once, slow)), "4 attempts, 20s 400ms")
    })

    it("but not one that looks at the failure, unless at what all of them have in common", () => {
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

    it("but not one that looks at what this library's own policies look at, alone or beside them", () => {
      const depends = "the waits of the retry depend on the failure"
      const cap = Duration.seconds(30)
      // Never longer than 30 s for any wait that is tried; 7777 ms would be an hour.
      const trap = delayed(({ code, retryAfter = Duration.zero }) =>
        code === "rate_limited" && Duration.toMillis(retryAfter) === 7_777 ? "1 hour" : Duration.min(retryAfter, cap)
      )
      assert.strictEqual(costs(trap), depends)
      assert.strictEqual(costs(Schedule.max([RetryPolicy.transient, trap])), depends)
      assert.strictEqual(costs(Schedule.concat(RetryPolicy.transient, trap)), depends)
      assert.strictEqual(costs(Schedule.min([RetryPolicy.rateLimited, trap])), depends)
    })

    it("by hand around one of this library, which still is what it was", () => {
      const { transient } = RetryPolicy
      const step = Schedule.toStep(transient)
      assert.strictEqual(costs(Schedule.fromStep(step)), "3 attempts, 1m")
      const others = Effect.map(
        step,
        (next) => (now: number, { retryAfter }: ToolUnavailable) =>
          next(now, retryAfter === undefined ? {} : { retryAfter })
      )
      assert.strictEqual(costs(Schedule.fromStep(others)), "the waits of the retry depend on the failure")
    })

    it("that a function makes", () => {
      assert.strictEqual(
        costs(($) => $(Schedule.recurs(3)).pipe(Schedule.addDelay(() => Effect.succeed(5)))),
        "4 attempts, 15ms"
      )
    })

    it("but not one that goes by the time of day", () => {
      for (const expression of ["0 4 * * *", "0 0 1 * *", "* * * * *", "* * * * * *"]) {
        assert.strictEqual(costs(cron(expression).pipe(times(1))), "the waits of the retry depend on the time of day")
      }
    })

    it("with attempts that take time, where what comes then waits longer", () => {
      const brief = Schedule.spaced(200).pipe(Schedule.upTo({ duration: "1 second" }))
      // With attempts of a second, only one wait is a short one.
      assert.strictEqual(costs(Schedule.concat(brief, Schedule.spaced(3_000)).pipe(times(4))), "5 attempts, 9s 200ms")
      assert.strictEqual(costs(Schedule.min([brief, Schedule.spaced(3_000)]).pipe(times(4))), "5 attempts, 9s 200ms")
    })

    it("but not one that waits the longer, the longer attempts take", () => {
      const growing = Schedule.recurs(2).pipe(Schedule.modifyDelay(({ elapsed }) => Effect.succeed(elapsed)))
      assert.strictEqual(costs(growing), "the waits of the retry grow with the time that attempts take")
    })

    it("but not one that needs what is not there, that waits for something, or that dies", () => {
      const patient = second.pipe(Schedule.modifyDelay(() => Effect.map(Station, ({ patience }) => patience)))
      const cannot = (why: string) => `the retry's schedule cannot be stepped before running (${why})`
      assert.strictEqual(costs(patient), cannot("Service not found: Station"))
      assert.strictEqual(costs(second.pipe(Schedule.tap(() => Effect.never))), cannot("it waits for something"))
      assert.strictEqual(costs(second.pipe(Schedule.tap(() => Effect.die("bug")))), cannot("bug"))
      const late = second.pipe(Schedule.while(({ attempt }) => attempt < 3 ? Effect.succeed(true) : Effect.die("late")))
      assert.strictEqual(costs(late), cannot("late"))
      const unlucky = second.pipe(
        times(1),
        Schedule.tap(() => Effect.flatMap(Random.next, (share) => share < 0.5 ? Effect.void : Effect.die("unlucky")))
      )
      assert.strictEqual(costs(unlucky), cannot("unlucky"))
    })

    it("and counts the time that a schedule takes for itself", () => {
      assert.strictEqual(costs(Schedule.recurs(2).pipe(Schedule.tap(() => Effect.sleep(100)))), "3 attempts, 200ms")
    })

    it("and begins no wait without end", () => {
      assert.strictEqual(costs(Schedule.spaced(Duration.infinity)), "1 attempts, 0")
    })

    it("without leaving anything behind: no fiber, no log", async () => {
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

  describe("warns of", () => {
    const steady = Schedule.jittered(twice)
    const retrying = Tool.retry(RetryPolicy.transient)
    const breaker = adding(
      Policy.make({ kind: "breaker", description: "breaker", wrap: (run) => run, bound: (inner) => inner })
    )

    it("a retry without jitter", () => {
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(twice))), ["unjittered_retry"])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(steady))), [])
      assert.deepStrictEqual(codes(timely().pipe(retrying)), [])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(RetryPolicy.none))), [])
    })

    it("a retry that never ends, unless a timeout ends it", () => {
      const endless = Schedule.jittered(Schedule.spaced("1 second"))
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(endless))), ["uncapped_retry"])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(endless), Tool.timeout("1 minute"))), [])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(endless), Tool.timeout(Duration.infinity))), [
        "uncapped_retry"
      ])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(Schedule.upTo(endless, { times: 9 })))), [])
    })

    it("a wait above a minute, unless a service asked for it", () => {
      const doubling = (times: number) =>
        Schedule.exponential("1 second").pipe(Schedule.jittered, Schedule.upTo({ times }))
      const [warning] = Tool.explain(timely().pipe(Tool.retry(doubling(7)))).warnings
      assert.deepStrictEqual([warning?.code, warning?.detail], [
        "uncapped_retry",
        "The retry waits up to 1m 16s 800ms at once."
      ])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(doubling(6)))), [])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(RetryPolicy.rateLimited))), [])
    })

    it("a retry of a tool that acts, unless it is reconciled", () => {
      assert.deepStrictEqual(codes(timely("non_idempotent").pipe(retrying)), ["retry_of_acting_tool"])
      // Meant for all tools, it is no mistake for one of them.
      assert.deepStrictEqual(codes(timely("non_idempotent").pipe(Tool.withDefaults(Policy.standard()))), [])
      assert.deepStrictEqual(codes(timely("idempotent").pipe(retrying)), [])
      assert.deepStrictEqual(codes(timely("non_idempotent").pipe(Tool.retry(RetryPolicy.none))), [])
      assert.deepStrictEqual(
        codes(timely("non_idempotent").pipe(Tool.reconcile(() => Effect.succeedNone, { final: true }), retrying)),
        []
      )
    })

    it("a retry around a retry", () => {
      assert.deepStrictEqual(codes(timely().pipe(retrying, retrying)), ["retry_around_retry"])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(RetryPolicy.none), retrying)), [])
      assert.deepStrictEqual(codes(timely().pipe(retrying, Tool.retry(RetryPolicy.none))), [])
    })

    it("a retry outside of a breaker", () => {
      assert.deepStrictEqual(codes(timely().pipe(breaker, retrying)), ["retry_around_breaker"])
      assert.deepStrictEqual(codes(timely().pipe(retrying, breaker)), [])
    })

    it("a fallback inside of a retry", () => {
      assert.deepStrictEqual(codes(timely().pipe(Tool.fallback(() => Effect.succeed(2)), retrying)), [
        "retry_around_fallback"
      ])
      assert.deepStrictEqual(codes(timely().pipe(retrying, Tool.fallback(() => Effect.succeed(2)))), [])
    })

    it("a time for all attempts that is no longer than that of the first", () => {
      for (const limit of [Tool.timeout, Tool.deadline]) {
        const outer = (duration: Duration.Input) => codes(timely().pipe(retrying, limit(duration)))
        assert.deepStrictEqual([outer(3_000), outer(5_000), outer(5_001)], [
          ["timeout_leaves_no_retry"],
          ["timeout_leaves_no_retry"],
          []
        ])
      }
      assert.deepStrictEqual(codes(quote().pipe(retrying, Tool.timeout(3_000))), [])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(RetryPolicy.none), Tool.timeout(3_000))), [])
      assert.deepStrictEqual(codes(timely().pipe(retrying, Tool.timeout(3_000), Tool.timeout(60_000))), [
        "timeout_leaves_no_retry"
      ])
    })

    it("a fallback of a tool that acts", () => {
      for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
        assert.deepStrictEqual(codes(timely(sideEffect).pipe(Tool.fallback(() => Effect.succeed(2)))), [
          "fallback_of_acting_tool"
        ])
      }
      assert.deepStrictEqual(codes(timely().pipe(Tool.fallback(() => Effect.succeed(2)))), [])
    })

    it("a catch of a tool that acts", () => {
      const caught = (tag: "SemanticGarbage" | "ToolUnavailable", sideEffect: SideEffect.SideEffect) =>
        codes(
          timely(sideEffect).pipe(
            Tool.mapFailure((failure): SemanticGarbage | ToolUnavailable => failure),
            Tool.catchTag(tag, () => Effect.succeed(2))
          )
        )
      for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
        assert.deepStrictEqual(caught("ToolUnavailable", sideEffect), ["fallback_of_acting_tool"])
        assert.deepStrictEqual(caught("SemanticGarbage", sideEffect), ["catch_of_acting_tool"])
      }
      assert.deepStrictEqual(caught("SemanticGarbage", "none"), [])
    })

    it("a check without a word of finality", () => {
      const acts = (options?: Policy.ReconcileOptions, sideEffect: SideEffect.SideEffect = "non_idempotent") =>
        codes(timely(sideEffect).pipe(Tool.reconcile(() => Effect.succeedNone, options)))
      assert.deepStrictEqual(acts(), ["reconcile_without_finality"])
      assert.deepStrictEqual(acts({}, "idempotent"), ["reconcile_without_finality"])
      assert.deepStrictEqual(acts({}, "none"), [])
      assert.deepStrictEqual(acts({ final: true }), [])
      assert.deepStrictEqual(acts({ settle: "10 seconds" }), [])
    })

    it("a time to settle that the time around it cuts short", () => {
      const settled = timely("non_idempotent").pipe(
        Tool.reconcile(() => Effect.succeedNone, { settle: "10 seconds" })
      )
      const within = (time: Duration.Input) => codes(Tool.timeout(settled, time))
      assert.deepStrictEqual(within("10 seconds"), ["settle_longer_than_timeout", "timeout_around_reconcile"])
      assert.deepStrictEqual(within("1 minute"), ["timeout_around_reconcile"])
      const before = (time: Duration.Input) => codes(Tool.deadline(settled, time))
      assert.deepStrictEqual([before(10_000), before(10_001)], [["settle_longer_than_timeout"], []])
    })

    it("a deadline that ends an attempt before it could be reconciled", () => {
      const final = { final: true }
      const checked = <T extends Tool.Tool<string, {}, number, ToolUnavailable>>(tool: T) =>
        Tool.reconcile(tool, () => Effect.succeedNone, final)
      const bare = Tool.mapFailure(quote("non_idempotent"), (failure): ToolUnavailable => failure)
      const before = (time: Duration.Input) => codes(checked(timely("non_idempotent")).pipe(Tool.deadline(time)))
      assert.deepStrictEqual([before(5_000), before(5_001)], [["timeout_around_reconcile"], []])
      assert.deepStrictEqual(codes(checked(bare).pipe(Tool.deadline("1 hour"))), ["timeout_around_reconcile"])
      assert.deepStrictEqual(codes(checked(bare).pipe(Tool.deadline(Duration.infinity))), [])
      assert.deepStrictEqual(codes(bare.pipe(Tool.deadline("1 hour"), (tool) => checked(tool))), [])
    })

    it("a breaker around a fallback", () => {
      const two = () => Effect.succeed(2)
      assert.deepStrictEqual(codes(timely().pipe(Tool.fallback(two), CircuitBreaker.protect())), [
        "breaker_around_fallback"
      ])
      assert.deepStrictEqual(codes(timely().pipe(CircuitBreaker.protect(), Tool.fallback(two))), [])
    })

    it("a timeout around a reconcile", () => {
      const nothing = () => Effect.succeedNone
      const limit = Tool.timeout("9 seconds")
      const final = { final: true }
      assert.deepStrictEqual(codes(quote("non_idempotent").pipe(Tool.reconcile(nothing, final), limit)), [
        "timeout_around_reconcile"
      ])
      assert.deepStrictEqual(codes(quote("non_idempotent").pipe(limit, Tool.reconcile(nothing, final))), [])
    })

    it("a check, or what serves instead, that is not in the toolkit", () => {
      const pay = Tool.make("pay", {
        description: "Pays",
        success: Schema.Void,
        check: "payment_sttaus",
        instead: ["status", "pay_later"]
      }, () => Effect.void)
      const status = Tool.make(
        "status",
        { description: "", success: Schema.Void, sideEffect: "none" },
        () => Effect.void
      )
      const warnings = Toolkit.explain(Toolkit.make(pay, status)).flatMap(({ warnings }) => warnings)
      assert.deepStrictEqual(warnings.map(({ code, detail }) => [code, detail]), [
        ["missing_tool", "The 'check' of pay names payment_sttaus, which is not in the toolkit."],
        ["missing_tool", "The 'instead' of pay names pay_later, which is not in the toolkit."]
      ])
    })

    it("what a policy made by hand warns of", () => {
      const warning = { code: "odd", detail: "It is odd.", hint: "Leave it out." }
      const odd = byHand("odd", (inner) => ({ ...inner, warnings: [...inner.warnings, warning] }))
      assert.deepStrictEqual(Tool.explain(timely().pipe(adding(odd))).warnings, [warning])
    })
  })

  it("is a plain value", () => {
    const explanation = Tool.explain(timely().pipe(Tool.retry(twice)))
    assert.deepStrictEqual(structuredClone(JSON.parse(JSON.stringify(explanation))).attempts, { most: 3, because: [] })
    assert.deepStrictEqual(explanation, Tool.explain(timely().pipe(Tool.retry(twice))))
  })
})

describe("Explanation", () => {
  describe("table", () => {
    it("shows the bounds policy by policy, and what is likely not meant", () => {
      assert.deepStrictEqual(lines(Explanation.table(Tool.explain(timely().pipe(Tool.retry(twice))))), [
        "get_quote",
        "  policy                       attempts  waiting  time",
        "  handler                      1         0ms      unbounded",
        "  timeout of 5s                1         0ms      5s",
        "  retry of transient failures  3         600ms    15s 600ms",
        "",
        "  the same failing call in a run: refused after 3 executions, 5 in all at most",
        "  unjittered_retry: The retry waits equally long for all callers, who all return at once to a service that comes " +
        "back. Use RetryPolicy.transient, or Schedule.jittered."
      ])
    })

    it("says why something is unbounded, once", () => {
      const tool = quote("non_idempotent").pipe(
        Tool.retry(Schedule.jittered(Schedule.spaced("1 second"))),
        Tool.reconcile(() => Effect.succeedNone, { final: true })
      )
      assert.deepStrictEqual(lines(Explanation.table(Tool.explain(tool))), [
        "get_quote",
        "  policy                       attempts   waiting    time",
        "  handler                      1          0ms        unbounded",
        "  retry of transient failures  unbounded  unbounded  unbounded",
        "  reconciles unknown outcomes  unbounded  unbounded  unbounded",
        "",
        "  the same failing call in a run: refused after 3 executions (1 that may have acted), unbounded in all at most",
        "  attempts, waiting, time unbounded: the retry never ends",
        "  time unbounded: the handler has no timeout",
        "  time unbounded: the check of the outcome has no timeout",
        "  uncapped_retry: The retry never ends. Limit it by Schedule.upTo, or by a deadline around it.",
        "  retry_of_acting_tool: The tool acts, and is tried again only if all its attempts certainly did nothing. " +
        "Declare its sideEffect if it is read-only or idempotent; else put Tool.reconcile inside of the retry."
      ])
    })
  })

  describe("overview", () => {
    const named = <const Name extends string>(name: Name) =>
      Tool.make(name, { description: "", success: Schema.Finite }, () => Effect.succeed(1))

    it("shows each tool in a block of its own, sorted by name, a fact a line", () => {
      const toolkit = Toolkit.make(timely().pipe(Tool.retry(twice)), named("b"), named("B"), named("a")).pipe(
        Toolkit.withDefaults([Policy.concurrency(1)])
      )
      assert.deepStrictEqual(Toolkit.explain(toolkit).map(({ tool }) => tool), ["get_quote", "b", "B", "a"])
      const patient = "unbounded: a call waits for a permit as long as it takes"
      const [first, second, third, last] = Explanation.overview(Toolkit.explain(toolkit)).split("\n\n")
      assert.deepStrictEqual([first, second, third].map((block) => lines(block!)[0]), ["B", "a", "b"])
      assert.deepStrictEqual(lines(second!), [
        "a",
        "  side effect  non_idempotent",
        "  policy       concurrency limit of 1",
        "  attempts     1",
        `  waiting      ${patient}`,
        `  time         ${patient}; the handler has no timeout`,
        "  executions   3"
      ])
      assert.deepStrictEqual(lines(last!), [
        "get_quote",
        "  side effect  none",
        "  policy       timeout of 5s",
        "  policy       retry of transient failures",
        "  policy       concurrency limit of 1",
        "  attempts     3",
        `  waiting      ${patient}`,
        `  time         ${patient}`,
        "  executions   5",
        "  warning      unjittered_retry: The retry waits equally long for all callers, who all return at once to a service " +
        "that comes back."
      ])
    })

    it("is empty for no tools", () => {
      assert.strictEqual(Explanation.overview(Toolkit.explain(Toolkit.empty)), "")
    })
  })

  describe("timeline", () => {
    const timeline = <T extends Tool.Any>(tool: T) => lines(Explanation.timeline(Tool.explain(tool))).slice(1)

    it("tells the worst case moment by moment", () => {
      const tool = timely().pipe(Tool.retry(twice), Tool.concurrency(1, { maxWait: "1 second" }))
      assert.deepStrictEqual(lines(Explanation.timeline(Tool.explain(tool))), [
        "get_quote",
        "  0ms        waits for a permit",
        "  1s         attempt 1",
        "  6s         times out",
        "  6s         waits 200ms",
        "  6s 200ms   attempt 2",
        "  11s 200ms  times out",
        "  11s 200ms  waits 400ms",
        "  11s 600ms  attempt 3",
        "  16s 600ms  times out"
      ])
    })

    it("ends with a timeout around it all, which no wait outlasts", () => {
      const limited = (outer: Duration.Input) =>
        timeline(timely().pipe(Tool.retry(Schedule.spaced("2 seconds")), Tool.timeout(outer)))
      assert.deepStrictEqual(limited("8 seconds"), [
        "  0ms  attempt 1",
        "  5s   times out",
        "  5s   waits 2s",
        "  7s   attempt 2",
        "  8s   times out"
      ])
      assert.deepStrictEqual(limited("7 seconds"), [
        "  0ms  attempt 1",
        "  5s   times out",
        "  5s   fails: there is no time to wait 2s",
        "  7s at the latest, the end"
      ])
    })

    it("ends plainly where the time is unbounded", () => {
      assert.deepStrictEqual(timeline(quote().pipe(Tool.retry(twice))), [
        "  0ms  attempt 1",
        "  … with no end in sight: the handler has no timeout"
      ])
      assert.deepStrictEqual(timeline(timely().pipe(Tool.fallback(() => Effect.succeed(2), { name: "the mirror" }))), [
        "  0ms  attempt 1",
        "  5s   times out",
        "  5s   the fallback to the mirror",
        "  … with no end in sight: the fallback to the mirror has no timeout"
      ])
    })

    it("says when what is last ends", () => {
      const mirror = Tool.timeout(quote(), "1 second")
      assert.deepStrictEqual(timeline(timely().pipe(Tool.fallback(mirror.run))), [
        "  0ms  attempt 1",
        "  5s   times out",
        "  5s   the fallback",
        "  6s at the latest, the end"
      ])
    })

    it("says of a tool that acts what has to be so for it to be tried again", () => {
      assert.deepStrictEqual(timeline(timely("non_idempotent").pipe(Tool.retry(Schedule.recurs(1)))), [
        "  0ms  attempt 1",
        "  5s   fails or times out",
        "  5s   waits 0ms, if it was not executed",
        "  5s   attempt 2",
        "  10s  fails or times out"
      ])
    })

    it("follows pages", () => {
      const paged = timely().pipe(Tool.paginate({ merge: (_, page) => page, pages: 3, time: "7 seconds" }))
      assert.deepStrictEqual(timeline(paged), [
        "  0ms  attempt 1",
        "  5s   times out",
        "  5s   asks for the next page",
        "  5s   attempt 2",
        "  10s  times out",
        "  10s  asks for the next page",
        "  10s  attempt 3",
        "  12s  has no time for further pages"
      ])
    })

    it("is cut after 30 moments, with the count of those left out and the end", () => {
      const many = timeline(timely().pipe(Tool.retry(Schedule.recurs(20))))
      assert.deepStrictEqual([many.length, ...many.slice(29)], [
        32,
        "  50s  waits 0ms",
        "  … 32 more",
        "  1m 45s at the latest, the end"
      ])
      const endless = timeline(timely().pipe(Tool.retry(Schedule.spaced("1 second"))))
      assert.deepStrictEqual(endless.slice(30), ["  … and many more", "  … with no end in sight: the retry never ends"])
    })
  })
})

// -----------------------------------------------------------------------------
// Never exceeded
// -----------------------------------------------------------------------------

/** What a handler, a source or a check does: how long it takes, and how it ends. */
interface Act {
  readonly takes: number
  readonly ends: keyof typeof ends
}

type Failure = ToolFailure.ToolFailure<string>

const transient = { code: "connection", detail: "Refused.", transient: true } as const

const ends = {
  succeeds: () => Effect.succeed("done"),
  fails: () => Effect.fail(new ToolUnavailable(transient)),
  "asks for a second": () => Effect.fail(new ToolUnavailable({ ...transient, retryAfter: Duration.seconds(1) })),
  "asks for 30 s": () =>
    Effect.fail(new ToolUnavailable({ ...transient, code: "rate_limited", retryAfter: Duration.seconds(30) })),
  "asks for 60 s": () =>
    Effect.fail(new ToolUnavailable({ ...transient, code: "rate_limited", retryAfter: Duration.seconds(60) })),
  "asks for 61 s": () => Effect.fail(new ToolUnavailable({ ...transient, retryAfter: Duration.seconds(61) })),
  "is limited": () => Effect.fail(new ToolUnavailable({ ...transient, code: "rate_limited" })),
  "did nothing": () => Effect.fail(new ToolUnavailable({ ...transient, outcome: "not_executed" })),
  "may have acted": () => Effect.fail(new ToolUnavailable({ ...transient, outcome: "unknown" })),
  "is wrong": () => Effect.fail(new SemanticGarbage({ code: "empty_result", detail: "No rows." })),
  "has another page": ({ page }: Params) =>
    Effect.fail(new PartialData({ code: "more_pages", detail: "More.", data: "done", next: { page: page + 1 } })),
  hangs: () => Effect.never,
  dies: () => Effect.die("bug")
} satisfies Record<string, (params: Params) => Effect.Effect<string, Failure>>

const Params = Schema.Struct({ call: Schema.Int, page: Schema.Int })
type Params = typeof Params.Type

const act: fc.Arbitrary<Act> = fc.record({
  takes: fc.constantFrom(0, 0, 1, 70, 700, 4_000),
  // What costs more comes more often.
  ends: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom<Act["ends"]>("fails", "did nothing", "asks for a second") },
    { weight: 2, arbitrary: fc.constantFrom<Act["ends"]>("has another page", "hangs") },
    { weight: 2, arbitrary: fc.constantFrom(...keysOf(ends)) }
  )
})

const perform = ({ ends: end, takes }: Act, params: Params): Effect.Effect<string, Failure> => {
  const ending: Effect.Effect<string, Failure> = ends[end](params)
  return takes === 0 ? ending : Effect.delay(ending, takes)
}

function keysOf<A extends object>(object: A) {
  return Object.keys(object) as Array<keyof A>
}

/** A value, as it is written. */
type Written<A> = readonly [text: string, value: A]
const written = <A>(text: string, value: A): Written<A> => [text, value]

type Retries = Schedule.Schedule<unknown, ToolUnavailable>

const asked: Retries = Schedule.spaced(100).pipe(
  Schedule.setInputType<ToolUnavailable>(),
  Schedule.modifyDelay(({ duration, input }) => Effect.succeed(input.retryAfter ?? duration))
)

const shapes = {
  spaced: Schedule.spaced,
  exponential: Schedule.exponential,
  fibonacci: Schedule.fibonacci,
  fixed: Schedule.fixed,
  windowed: Schedule.windowed
} satisfies Record<string, (millis: number) => Retries>

const simple: fc.Arbitrary<Written<Retries>> = fc.oneof(
  fc.record({
    name: fc.constantFrom(...keysOf(shapes)),
    millis: fc.constantFrom(200, 250, 1_000, 3_000)
  }).map(({ millis, name }) => written<Retries>(`${name}(${millis})`, shapes[name](millis))),
  fc.constantFrom<Written<Retries>>(
    written("transient", RetryPolicy.transient),
    written("rateLimited", RetryPolicy.rateLimited),
    written(
      "make(4, 50 to 400, false)",
      RetryPolicy.make({ attempts: 4, base: 50, cap: 400, honourRetryAfter: false })
    ),
    written("make(no timeouts)", RetryPolicy.make({ retryTimeouts: false })),
    written("honouring(spaced(200), 1000)", RetryPolicy.honouring(Schedule.spaced(200), 1_000)),
    written("honouring(recurs(3))", RetryPolicy.honouring(Schedule.recurs(3))),
    written("recurs(2)", Schedule.recurs(2)),
    written("jittered", Schedule.jittered(Schedule.exponential(300))),
    written("spaced(as asked)", asked)
  )
)

type Modifier = fc.Arbitrary<Written<(schedule: Retries) => Retries>>

const counted: Modifier = fc.oneof(
  fc.nat(4).map((times) => written(`times(${times})`, (schedule: Retries) => Schedule.upTo(schedule, { times }))),
  fc.nat(4).map((times) =>
    written(`jittered.times(${times})`, (schedule: Retries) => Schedule.upTo(Schedule.jittered(schedule), { times }))
  )
)

const timed: Modifier = fc.constantFrom(1_000, 5_000).map((duration) =>
  written(`duration(${duration})`, (schedule: Retries) => Schedule.upTo(schedule, { duration }))
)

const modified = (schedule: fc.Arbitrary<Written<Retries>>, modifier: Modifier): fc.Arbitrary<Written<Retries>> =>
  fc.tuple(schedule, fc.array(modifier, { maxLength: 2 })).map(([schedule, modifiers]) =>
    modifiers.reduce(([text, schedule], [name, modify]) => written(`${text}.${name}`, modify(schedule)), schedule)
  )

const joints = {
  concat: (one: Retries, other: Retries) => Schedule.concat(one, other),
  max: (one: Retries, other: Retries) => Schedule.max([one, other]),
  min: (one: Retries, other: Retries) => Schedule.min([one, other])
}

// What goes on with a part when the time of another one is up depends on how long each single attempt takes.
const part = modified(simple, counted)

const joined = fc.tuple(fc.constantFrom(...keysOf(joints)), part, part).map(([name, one, other]) =>
  written<Retries>(`${name}(${one[0]}, ${other[0]})`, joints[name](one[1], other[1]))
)

const schedule: fc.Arbitrary<Written<Retries>> = modified(
  fc.oneof({ weight: 3, arbitrary: simple }, { weight: 1, arbitrary: joined }),
  fc.oneof(counted, timed)
)

type Subject = Tool.Tool<"subject", Params, string, Failure>
type Change = (tool: Subject) => Subject

const mirror = (act: Act) =>
  Tool.make(
    "mirror",
    { description: "", parameters: Params, success: Schema.String, sideEffect: "none" },
    (params) => perform(act, params)
  ).pipe(Tool.timeout(1_000), Tool.retry(RetryPolicy.transient))

const policies: Record<string, fc.Arbitrary<Written<Change>>> = {
  retry: schedule.map(([text, schedule]) => written(text, Tool.retry(schedule))),
  timeout: fc.constantFrom(50, 500, 2_000, 5_000, 20_000).map((millis) => written(`${millis}`, Tool.timeout(millis))),
  deadline: fc.constantFrom(500, 5_000, 40_000).map((millis) => written(`${millis}`, Tool.deadline(millis))),
  limit: fc.tuple(fc.integer({ min: 1, max: 2 }), fc.constantFrom(0, 500, 3_000, Infinity)).map(([permits, maxWait]) =>
    written(`${permits}, ${maxWait}`, Tool.concurrency(permits, { maxWait }))
  ),
  fallback: act.map((act) =>
    written<Change>(JSON.stringify(act), (tool) => Tool.fallback(tool, (params) => perform(act, params)))
  ),
  fallbackToTool: act.map((act) =>
    written<Change>(JSON.stringify(act), (tool) => Tool.fallback(tool, mirror(act).run))
  ),
  catchTag: fc.tuple(fc.constantFrom("SemanticGarbage", "ToolUnavailable"), act).map(([tag, act]) =>
    written<Change>(
      `${tag}, ${JSON.stringify(act)}`,
      (tool) => Tool.catchTag(tool, tag, (_, params) => perform(act, params))
    )
  ),
  reconcile: fc.tuple(fc.boolean(), act).map(([isDone, act]) =>
    written<Change>(
      `${isDone}, ${JSON.stringify(act)}`,
      (tool) =>
        Tool.reconcile(tool, (params) =>
          Effect.map(perform(act, params), (value) => isDone ? Option.some(value) : Option.none()))
    )
  ),
  complete: fc.record({ pages: fc.integer({ min: 2, max: 3 }), time: fc.constantFrom(500, 3_000) }).map((limits) =>
    written<Change>(
      JSON.stringify(limits),
      (tool) =>
        tool.sideEffect === "non_idempotent" ? tool : Tool.paginate(tool, { ...limits, merge: (_, page) => page })
    )
  )
}

const weights: Readonly<Record<string, number>> = { retry: 5, timeout: 5, limit: 3, complete: 3 }

const policy: fc.Arbitrary<Written<Change>> = fc.oneof(
  ...Object.entries(policies).map(([name, arbitrary]) => ({
    weight: weights[name] ?? 1,
    arbitrary: arbitrary.map(([text, change]) => written(`${name}(${text})`, change))
  }))
)

/** What a call has cost. */
class Cost {
  executions = 0
  waited = 0
  elapsed: number | undefined = undefined
}

interface Scenario {
  readonly acts: ReadonlyArray<Act>
  readonly isDeaf: boolean
  readonly sideEffect: SideEffect.SideEffect
  readonly policies: ReadonlyArray<Written<Change>>
  readonly starts: ReadonlyArray<number>
  readonly seed: number
}

const scenario: fc.Arbitrary<Scenario> = fc.record({
  acts: fc.array(act, { minLength: 1, maxLength: 4 }),
  isDeaf: fc.boolean(),
  sideEffect: fc.constantFrom("none", "idempotent", "non_idempotent"),
  policies: fc.array(policy, { maxLength: 5 }),
  starts: fc.array(fc.constantFrom(0, 300, 2_000), { minLength: 1, maxLength: 3 }),
  seed: fc.integer()
})

/** Runs calls of a tool, and says what each has cost within five minutes. */
const play = ({ acts, isDeaf, policies, seed, sideEffect, starts }: Scenario) =>
  Effect.gen(function*() {
    const costs = starts.map(() => new Cost())
    const bare: Subject = Tool.make(
      "subject",
      { description: "", parameters: Params, success: Schema.String, sideEffect },
      (params) =>
        Effect.suspend(() => {
          const { executions } = costs[params.call]!
          costs[params.call]!.executions++
          const act = acts[executions] ?? acts.at(-1)!
          return isDeaf && act.ends !== "hangs" ? Effect.uninterruptible(perform(act, params)) : perform(act, params)
        })
    )
    const tool = policies.reduce((tool, [, policy]) => policy(tool), bare)
    const metered = (params: typeof Params.Type) =>
      Effect.provideService(tool.run(params), CallEvent.watcher, (event) => {
        if (event._tag === "WaitEnded") costs[params.call]!.waited += Duration.toMillis(event.wait)
      })
    for (const [call, start] of starts.entries()) {
      yield* Effect.gen(function*() {
        yield* Effect.sleep(start)
        const began = yield* Clock.currentTimeMillis
        yield* Effect.exit(metered({ call, page: 1 }))
        costs[call]!.elapsed = (yield* Clock.currentTimeMillis) - began
      }).pipe(Effect.forkDetach)
    }
    yield* TestClock.adjust("5 minutes")
    return { tool, costs }
  }).pipe(
    Random.withSeed(seed),
    inWholeMillis,
    Effect.provideService(Defect.reporter, () => Effect.void),
    Effect.provide(TestClock.layer()),
    (effect) => Effect.runPromise(effect, { scheduler: new Scheduler.MixedScheduler("sync") })
  )

describe("no run", () => {
  it("is tried more often for a failure that a part of its schedule refuses at first", async () => {
    const once = Schedule.spaced(200).pipe(Schedule.upTo({ times: 1 }))
    const { costs, tool } = await play({
      acts: [{ takes: 0, ends: "asks for 61 s" }, { takes: 0, ends: "fails" }],
      isDeaf: false,
      sideEffect: "none",
      policies: [written("min", Tool.retry(Schedule.min([RetryPolicy.transient, once])))],
      starts: [0],
      seed: 1
    })
    assert.deepStrictEqual([costs[0]?.executions, Tool.explain(tool).attempts.most], [3, 3])
  })

  it("ever exceeds its bounds, whatever the policies are", { tags: "slow" }, async () => {
    const bounded = { attempts: 0, waiting: 0, time: 0, reached: 0 }
    await fc.assert(
      fc.asyncProperty(scenario, async (scenario) => {
        const { costs, tool } = await play(scenario)
        const { attempts, time, waiting } = Tool.explain(tool)
        // A clock of whole milliseconds is off by less than one.
        const mostWaiting = Duration.toMillis(waiting.most) + 1
        const mostTime = Duration.toMillis(time.most) + 1
        const text = scenario.policies.map(([text]) => text).join(" ")
        for (const [call, { elapsed = 300_000 - scenario.starts[call]!, executions, waited }] of costs.entries()) {
          assert.isAtMost(executions, attempts.most, `attempts of ${text}`)
          assert.isAtMost(waited, mostWaiting, `waiting of ${text}`)
          assert.isAtMost(elapsed, mostTime, `time of ${text}`)
          if (executions > 1 && executions === attempts.most) bounded.reached++
        }
        if (attempts.most < Infinity) bounded.attempts++
        if (mostWaiting < Infinity) bounded.waiting++
        if (mostTime < Infinity) bounded.time++
      }),
      { numRuns: 1_000 }
    )
    // It says something of many of them.
    for (const [name, count] of Object.entries(bounded)) assert.isAbove(count, 25, name)
  })
})
