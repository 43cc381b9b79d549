/** No run exceeds its bounds, whatever its policies, and whatever happens in it. */
import { assert, describe, it } from "@effect/vitest"
import {
  Observer,
  PartialData,
  RetryPolicy,
  SemanticGarbage,
  Tool,
  type ToolFailure,
  ToolUnavailable
} from "@fallible/core"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Clock, Duration, Effect, Option, Random, Schedule, Scheduler, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { keysOf } from "../support/keysOf.ts"
import { cases, runs } from "../support/runs.ts"
import { inWholeMillis } from "../support/virtualTime.ts"

/** An act of a handler, a source or a check: its duration, and how it ends. */
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
  // Expensive ends are more frequent.
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

/** A value, and its text in a failing run. */
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

// A schedule that continues with one part after the time of another depends on the duration of each attempt.
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

/** The cost of a call. */
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

/** Runs calls of a tool, and returns the cost of each within five minutes. */
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
      Observer.observe(tool.run(params), {
        onEvent: (event) => {
          if (event._tag === "WaitEnded") costs[params.call]!.waited += Duration.toMillis(event.wait)
        }
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
    Observer.observe({ onDefect: () => Effect.void }),
    Effect.provide(TestClock.layer()),
    (effect) => Effect.runPromise(effect, { scheduler: new Scheduler.MixedScheduler("sync") })
  )

describe("no run", () => {
  it("has more attempts than its bound, if a part of its schedule refuses one failure: the waits count as unknown", async () => {
    const twice = (schedule: Retries) => Schedule.upTo(schedule, { times: 2 })
    const parts = [twice(RetryPolicy.make({ attempts: 9, retryTimeouts: false })), twice(Schedule.spaced(200))] as const
    const { costs, tool } = await play({
      acts: [{ takes: 0, ends: "hangs" }, { takes: 0, ends: "hangs" }, { takes: 0, ends: "fails" }],
      isDeaf: false,
      sideEffect: "none",
      policies: [written("timeout", Tool.timeout(50)), written("min", Tool.retry(Schedule.min(parts)))],
      starts: [0],
      seed: 1
    })
    assert.deepStrictEqual([costs[0]?.executions, Tool.explain(tool).attempts.max], [5, Infinity])
  })

  it("exceeds its bounds, whatever the policies", { tags: "slow" }, async () => {
    const bounded = { attempts: 0, waiting: 0, time: 0, reached: 0 }
    await fc.assert(
      fc.asyncProperty(scenario, async (scenario) => {
        const { costs, tool } = await play(scenario)
        const { attempts, time, waiting } = Tool.explain(tool)
        // A clock of whole milliseconds is inexact by less than one: in each wait, so once for each policy that waits.
        const maxWaiting = Duration.toMillis(waiting.max) + scenario.policies.length + 1
        const maxTime = Duration.toMillis(time.max) + 1
        const text = scenario.policies.map(([text]) => text).join(" ")
        for (const [call, { elapsed = 300_000 - scenario.starts[call]!, executions, waited }] of costs.entries()) {
          assert.isAtMost(executions, attempts.max, `attempts of ${text}`)
          assert.isAtMost(waited, maxWaiting, `waiting of ${text}`)
          assert.isAtMost(elapsed, maxTime, `time of ${text}`)
          if (executions > 1 && executions === attempts.max) bounded.reached++
        }
        if (attempts.max < Infinity) bounded.attempts++
        if (maxWaiting < Infinity) bounded.waiting++
        if (maxTime < Infinity) bounded.time++
      }),
      { numRuns: runs(1_000) }
    )
    // The sample covers many bounds of each kind.
    for (const [name, count] of Object.entries(bounded)) assert.isAbove(count, cases(25), name)
  })
})
