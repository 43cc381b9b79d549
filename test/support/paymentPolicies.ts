/** Random policies around a payment tool: ours, and custom ones that misbehave. */
import { Fixer, Policy, SchemaMismatch, SemanticGarbage, Tool, type ToolFailure, ToolUnavailable } from "@fallible/core"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as RateLimit from "@fallible/core/RateLimit"
import { Effect, type Option, Schedule, Schema } from "effect"
import type * as Breaker from "effect/persistence/CircuitBreaker"
import type * as RateLimiter from "effect/persistence/RateLimiter"
import * as fc from "fast-check"

export type Failure = ToolFailure.ToolFailure<string>

export const parameters = Schema.Struct({ order: Schema.String })

export type Pay = Tool.Tool<
  string,
  typeof parameters.Type,
  string,
  Failure,
  Breaker.CircuitBreaker | RateLimiter.RateLimiter
>

/** A policy, and its name in a failing run. */
export type Written = readonly [text: string, change: (tool: Pay) => Pay]

/** Failures that policies return in place of the original. */
export const made = {
  refused: new ToolUnavailable({ code: "made", detail: "Made.", transient: true, outcome: "not_executed" }),
  silent: new ToolUnavailable({ code: "made", detail: "Made.", transient: true }),
  garbage: new SemanticGarbage({ code: "made", detail: "Made." }),
  rejection: new SchemaMismatch({ side: "arguments", code: "invalid_arguments", detail: "Made." })
}

const custom = (
  name: string,
  move: <A, E extends ToolFailure.ToolFailure, R>(
    inside: Effect.Effect<A, E, R>,
    call: Policy.Call
  ) => Effect.Effect<A, E | Failure, R>
): Written => [
  name,
  (tool) =>
    Tool.with(
      tool,
      Policy.make<never, Failure>({
        kind: "custom",
        name,
        description: name,
        wrap: (run, _, call) => (params) => move(run(params), call)
      })
    )
]

const both = <A, E, R>(inside: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.all([inside, inside], { concurrency: 2 }), ([first]) => first)

export const users: ReadonlyArray<Written> = [
  custom("maps", (inside) => Effect.mapError(inside, () => made.refused)),
  custom("maps silently", (inside) => Effect.mapError(inside, () => made.silent)),
  custom("retries", (inside) => Effect.retry(inside, { times: 2 })),
  custom(
    "says that it tries again",
    (inside, call) => Effect.catch(inside, (failure) => Effect.andThen(call.again(failure), inside))
  ),
  custom("hedges", both),
  custom("hedges later", (inside) => Effect.raceFirst(inside, Effect.delay(inside, 700))),
  custom("runs twice", (inside) => Effect.andThen(Effect.ignore(inside), inside)),
  custom("fails after it", (inside) => Effect.andThen(inside, Effect.fail(made.refused))),
  custom("fails before it", () => Effect.fail(made.silent)),
  custom(
    "leaves it behind",
    (inside) => Effect.andThen(Effect.forkDetach(inside), Effect.andThen(Effect.sleep(900), Effect.fail(made.refused)))
  ),
  custom("leaves it behind at once", (inside) => Effect.andThen(Effect.forkDetach(inside), Effect.fail(made.refused))),
  custom("is deaf", (inside) => Effect.uninterruptible(Effect.catch(inside, () => inside))),
  custom(
    "tries again when interrupted",
    (inside) => Effect.onInterrupt(inside, () => Effect.asVoid(Effect.exit(inside)))
  ),
  custom("swallows defects", (inside) => Effect.catchCause(inside, () => inside)),
  custom("dies", (inside) => Effect.catch(inside, () => Effect.die("dies")))
]

/** The checks of a payment. */
export interface Checks {
  /** Looks up the order's payment. */
  readonly look: (order: string) => Effect.Effect<Option.Option<string>, Failure>
  /** Looks up the order's payment, and rules out any later one. */
  readonly final: (order: string) => Effect.Effect<Option.Option<string>, Failure>
  /** Looks up the order's payment while the service may still be settling it. */
  readonly settling: (order: string) => Effect.Effect<Option.Option<string>, Failure>
  /** The longest time, in milliseconds, until a payment can be found. */
  readonly settle: number
}

export const ours = ({ final, look, settle, settling }: Checks): fc.Arbitrary<Written> =>
  fc.oneof(
    fc.constantFrom(900, 4_100).map((millis): Written => [`timeout ${millis}`, Tool.timeout(millis)]),
    fc.constantFrom(900, 4_100).map((millis): Written => [`deadline ${millis}`, Tool.deadline(millis)]),
    fc.constantFrom(0, 800).map((wait): Written => [
      `retry ${wait}`,
      Tool.retry(Schedule.upTo(Schedule.spaced(wait), { times: 2 }))
    ]),
    fc.constantFrom(0, 1_300, 20_000).map((maxWait): Written => [`limit ${maxWait}`, Tool.concurrency(1, { maxWait })]),
    fc.constantFrom(...Object.entries(made)).map(([name, failure]): Written => [
      `map ${name}`,
      Tool.mapFailure((): Failure => failure)
    ]),
    fc.constantFrom(...Object.entries(made)).map(([name, failure]): Written => [
      `catch ${name}`,
      Tool.catchTag(["ToolUnavailable", "SchemaMismatch"], (): Effect.Effect<string, Failure> => Effect.fail(failure))
    ]),
    fc.constantFrom(...Object.entries(made)).map(([name, failure]): Written => [
      `fallback ${name}`,
      Tool.fallback((): Effect.Effect<string, Failure> => Effect.fail(failure))
    ]),
    fc.constant<Written>(["fallback", Tool.fallback(() => Effect.succeed("queued"))]),
    fc.constant<Written>(["catch", Tool.catchTag("SemanticGarbage", () => Effect.succeed("caught"))]),
    fc.constant<Written>(["breaker", CircuitBreaker.protect()]),
    fc.constantFrom("wait" as const, "refuse" as const).map((onExceeded): Written => [
      `rate ${onExceeded}`,
      RateLimit.limit({ limit: 1, window: 2_000, onExceeded })
    ]),
    fc.constantFrom<Written>(
      ["reconcile", Tool.reconcile(({ order }) => look(order))],
      ["reconcile looks first", Tool.reconcile(({ order }) => look(order), { lookFirst: true })],
      ["reconcile fails first", Tool.reconcile(() => Effect.fail(made.silent), { lookFirst: true })],
      ["reconcile fails", Tool.reconcile(() => Effect.fail(made.silent))],
      ["reconcile final", Tool.reconcile(({ order }) => final(order), { final: true })],
      ["reconcile settles", Tool.reconcile(({ order }) => settling(order), { settle })]
    )
  )

const everything = ["SemanticGarbage", "ToolUnavailable", "defect"] as const

/** The behaviours of fixers. None of them may make a call worse. */
const answers: Readonly<Record<string, Fixer.Fixer>> = {
  "corrects": ({ before, tries }) => ({ order: `better ${before.length + tries}` }),
  "says the same": ({ text }) => text,
  "says nonsense": () => "Pay now!",
  "says another key": () => ({ odrer: "7" }),
  "says nothing": () => "",
  "gives a receipt": () => Fixer.answer("written by hand"),
  "gives a receipt that is none": () => Fixer.answer({ receipt: 7 }),
  "corrects late": ({ tries }) => Effect.delay(Effect.succeed({ order: `late ${tries}` }), 2_600),
  "hangs": () => Effect.never,
  "hangs, and is deaf": () => Effect.uninterruptible(Effect.delay(Effect.succeed({ order: "deaf" }), 40_000)),
  "fails": () => Effect.fail("no idea"),
  "dies": () => Effect.die("no idea"),
  "throws": () => {
    throw new Error("no idea")
  },
  "interrupts itself": () => Effect.interrupt,
  "escalates": () => Fixer.escalate({ detail: "Ask the user." })
}

/** Fixers. Wherever one is added, it wraps all policies. */
export const fixers: fc.Arbitrary<Written> = fc.tuple(
  fc.constantFrom(...Object.entries(answers)),
  fc.boolean(),
  fc.constantFrom(1, 2, 3)
).map(([[name, fixer], isForAll, tries]) => [
  `fixer ${name}${isForAll ? ", asked about everything" : ""}, up to ${tries} times`,
  Tool.fix(fixer, { tries, time: "5 seconds", ...(isForAll ? { on: everything } : {}) })
])

export const stack = (checks: Checks): fc.Arbitrary<ReadonlyArray<Written>> =>
  fc.array(
    fc.oneof(
      { weight: 4, arbitrary: ours(checks) },
      { weight: 2, arbitrary: fc.constantFrom(...users) },
      { weight: 1, arbitrary: fixers }
    ),
    { maxLength: 5 }
  )
