/**
 * What a tool costs at worst: how often it is tried, how long it waits and how long it takes, computed before it runs.
 *
 *     const explanation = Tool.explain(tool)
 *     Explanation.table(explanation)       the bounds, policy by policy
 *     Explanation.timeline(explanation)    the worst case, moment by moment
 *
 *     Explanation.overview(Toolkit.explain(toolkit))    the worst cases of all tools, for a file that a test compares
 *
 * How? The handler runs once and may take for ever. Each policy around it says what it makes of the bounds of what is
 * inside: a retry multiplies and waits, a timeout cuts, a fallback adds. How long a retry waits is asked of its Schedule, which
 * is stepped with a simulated clock, by which attempts take no time, and with the least and the greatest random draws.
 *
 * What is not known is unbounded, and the bound says why: give what has no timeout a timeout, inside or outside. A bound may be
 * too high, since each is computed for itself: no single call need reach them all, and one that waits the longest may be tried
 * the least. It is not too low, unless by a schedule of your own whose longest waits lie at neither end of its draws, or that
 * goes on to shorter ones once a time is up.
 *
 * What a handler, a fallback or a check does inside of itself counts as time alone, the waits of tools that it runs included.
 * Defects and the caller's interruption end a call early.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import { durationText } from "./internal/value/durationText.ts"
import type { SideEffect } from "./SideEffect.ts"

/**
 * The most that something can be. Infinite when there is no most, and then it says why.
 *
 * @category models
 * @since 0.1.0
 */
export interface Bound<out A extends number | Duration.Duration> {
  readonly most: A
  /** Why it is unbounded, each reason in a few words; empty when it is bounded. */
  readonly because: ReadonlyArray<string>
}

/**
 * What a tool costs at worst.
 *
 * @category models
 * @since 0.1.0
 */
export interface Explanation {
  readonly tool: string
  readonly sideEffect: SideEffect
  /** How often the handler may run in one call. */
  readonly attempts: Bound<number>
  /** How long a call may wait in all: between attempts, and for a permit. */
  readonly waiting: Bound<Duration.Duration>
  /** How long a call may take, from start to end. */
  readonly time: Bound<Duration.Duration>
  /** How often a model can make the same failing call in one run, before it is refused; calls that never got to the handler aside. */
  readonly calls: number
  /** The same of a call that may have acted: fewer for a tool that is neither read-only nor idempotent. */
  readonly actingCalls: number
  /** How often the handler may run in one run for the same failing call. */
  readonly executions: Bound<number>
  /** The bounds from the handler outwards, policy by policy. */
  readonly steps: ReadonlyArray<Step>
  /** The worst case, as far as its first 30 moments. */
  readonly moments: ReadonlyArray<Moment>
  /** How many moments come after those; infinite when there are too many to count. */
  readonly more: number
  readonly warnings: ReadonlyArray<Warning>
}

/**
 * The bounds of the handler, or of a policy with all that is inside of it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Step {
  /** `"handler"`, or the policy's description. */
  readonly description: string
  readonly attempts: Bound<number>
  readonly waiting: Bound<Duration.Duration>
  readonly time: Bound<Duration.Duration>
}

/**
 * What happens at a moment of the worst case.
 *
 * @category models
 * @since 0.1.0
 */
export interface Moment {
  /** Since the start of the call. */
  readonly at: Duration.Duration
  readonly event: string
  /** How long it waits, if it is a wait that is only begun when it ends in time. */
  readonly wait?: Duration.Duration
}

/**
 * Something about the policies that is likely not meant.
 *
 * @category models
 * @since 0.1.0
 */
export interface Warning {
  readonly code: WarningCode
  /** One sentence: what is wrong. */
  readonly detail: string
  /** One sentence: what to do. */
  readonly hint: string
}

/**
 * The codes of warnings. They are stable; a policy may use codes of its own.
 *
 * | code                         | it means                                                                        |
 * | ---------------------------- | ------------------------------------------------------------------------------- |
 * | `unjittered_retry`           | all callers wait equally long, and return at once                               |
 * | `uncapped_retry`             | a retry that never ends, or that waits for more than a minute of its own accord |
 * | `retry_of_acting_tool`       | it is hardly ever tried again; never said of the retry of `Policy.standard`     |
 * | `retry_around_retry`         | attempts multiply                                                               |
 * | `retry_around_breaker`       | the breaker sees each attempt, and the retry waits for an open circuit          |
 * | `retry_around_fallback`      | the fallback leaves nothing to try again                                        |
 * | `timeout_leaves_no_retry`    | the time for all attempts is up when that of the first one is                   |
 * | `breaker_around_fallback`    | the breaker sees no failure, and never opens                                    |
 * | `timeout_around_reconcile`   | what a timeout, or a deadline, ends is not reconciled                           |
 * | `reconcile_without_finality` | what the check does not find stays unknown                                      |
 * | `settle_longer_than_timeout` | a timeout, or a deadline, is up before the outcome has settled                  |
 * | `fallback_of_acting_tool`    | it may do elsewhere what has been done already                                  |
 * | `catch_of_acting_tool`       | it answers whether or not the tool has taken effect                             |
 * | `no_identity`                | the tool acts, and its arguments make no idempotency key                        |
 * | `missing_tool`               | a `check` or an `instead` names a tool that the toolkit does not have           |
 *
 * @category models
 * @since 0.1.0
 */
export type WarningCode =
  | "unjittered_retry"
  | "uncapped_retry"
  | "retry_of_acting_tool"
  | "retry_around_retry"
  | "retry_around_breaker"
  | "retry_around_fallback"
  | "timeout_leaves_no_retry"
  | "breaker_around_fallback"
  | "timeout_around_reconcile"
  | "reconcile_without_finality"
  | "settle_longer_than_timeout"
  | "fallback_of_acting_tool"
  | "catch_of_acting_tool"
  | "no_identity"
  | "missing_tool"
  // Any other snake_case code; the intersection keeps the list above in editors' completions.
  | (string & {})

/**
 * What a policy gets to know of what is inside of it, and says of itself with it: see the option `bound` of `Policy.make`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Bounds {
  /** How many attempts can begin within a time, when each fails at once and no wait is longer than it must be. */
  readonly attempts: (within: Duration.Duration) => Bound<number>
  readonly waiting: Bound<Duration.Duration>
  readonly time: Bound<Duration.Duration>
  /** The worst case, in order. An `attempt` gets its number where it is told. */
  readonly moments: () => Iterable<Moment>
  readonly warnings: ReadonlyArray<Warning>
}

// -----------------------------------------------------------------------------
// Constructors
// -----------------------------------------------------------------------------

/**
 * A time without a bound.
 *
 * When to use: in the `bound` of a policy of your own that takes time of which nothing is known.
 *
 * @param because why, in a few words
 *
 * @example
 * ```ts
 * import { Explanation, Policy, Tool } from "@fallible/core"
 * import { Schema, Effect } from "effect"
 *
 * const audited = Policy.make({
 *   kind: "custom",
 *   name: "audit",
 *   description: "audit of every call",
 *   wrap: (run) => (params) => Effect.tap(run(params), () => Effect.log("called")),
 *   bound: (inner) => ({ ...inner, time: Explanation.unbounded("the audit has no timeout") })
 * })
 * const ping = Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong"))
 *
 * Tool.explain(Tool.with(ping, audited)).time.because // => ["the audit has no timeout"]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const unbounded = (because: string): Bound<Duration.Duration> => ({
  most: Duration.infinity,
  because: [because]
})

// -----------------------------------------------------------------------------
// Rendering
// -----------------------------------------------------------------------------

/**
 * The bounds policy by policy, from the handler outwards; and below them how often a run may repeat a failing call, why
 * something is unbounded, and what is likely not meant.
 *
 * @example
 * ```ts
 * import { Explanation, Tool } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const quote = Tool.make("get_quote", { description: "A quote", success: Schema.Finite, sideEffect: "none" }, () =>
 *   Effect.succeed(1)
 * ).pipe(Tool.timeout("5 seconds"))
 *
 * Explanation.table(Tool.explain(quote)).split("\n").slice(1, 4)
 * // => ["  policy         attempts  waiting  time", "  handler        1         0ms      unbounded", "  timeout of 5s  1         0ms      5s"]
 * ```
 *
 * @category rendering
 * @since 0.1.0
 */
export const table = (explanation: Explanation): string => {
  const { actingCalls, attempts, calls, executions, steps, time, tool, waiting, warnings } = explanation
  const rows = steps.map((step) => [step.description, count(step.attempts), span(step.waiting), span(step.time)])
  const reasons = Object.entries({ attempts, waiting, time })
    .flatMap(([name, { because }]) => because.map((reason) => ({ name, reason })))
  const acting = actingCalls < calls ? ` (${actingCalls} that may have acted)` : ""
  return [
    tool,
    ...columns([["policy", "attempts", "waiting", "time"], ...rows]),
    "",
    `  the same failing call in a run: refused after ${calls} executions${acting}, ${count(executions)} in all at most`,
    ...Array.from(
      Map.groupBy(reasons, ({ reason }) => reason),
      ([reason, unbounded]) => `  ${unbounded.map(({ name }) => name).join(", ")} unbounded: ${reason}`
    ),
    ...warnings.map(({ code, detail, hint }) => `  ${code}: ${detail} ${hint}`)
  ].join("\n")
}

/**
 * The worst case, moment by moment, when each attempt takes as long as it may and each wait is the longest.
 *
 * @example
 * ```ts
 * import { Explanation, Tool } from "@fallible/core"
 * import { Effect, Schedule, Schema } from "effect"
 *
 * const quote = Tool.make("get_quote", { description: "A quote", success: Schema.Finite, sideEffect: "none" }, () =>
 *   Effect.succeed(1)
 * ).pipe(Tool.timeout("5 seconds"), Tool.retry(Schedule.recurs(1)))
 *
 * Explanation.timeline(Tool.explain(quote)).split("\n")
 * // => ["get_quote", "  0ms  attempt 1", "  5s   times out", "  5s   waits 0ms", "  5s   attempt 2", "  10s  times out"]
 * ```
 *
 * @category rendering
 * @since 0.1.0
 */
export const timeline = ({ moments, more, time, tool }: Explanation): string => {
  const last = moments.at(-1)?.at ?? Duration.zero
  return [
    tool,
    ...columns(moments.map(({ at, event }) => [durationText(at), event])),
    ...(more === 0 ? [] : [more === Infinity ? "  … and many more" : `  … ${more} more`]),
    ...(!Duration.isFinite(time.most)
      ? [`  … with no end in sight: ${time.because.join("; ")}`]
      : more > 0 || Duration.isLessThan(last, time.most)
      ? [`  ${durationText(time.most)} at the latest, the end`]
      : [])
  ].join("\n")
}

/**
 * The worst cases of several tools, sorted by name: a block for each tool, a line for each fact.
 *
 * When to use: to write down the bounds of a toolkit. What changes for one tool changes no line of another one, so that a diff
 * shows that alone. `WorstCase.matchesFile` of `@fallible/testing` compares it with a file in your repository.
 *
 * @example
 * ```ts
 * import { Explanation, Tool, Toolkit } from "@fallible/core"
 * import { Effect, Schedule, Schema } from "effect"
 *
 * const quote = Tool.make("get_quote", { description: "A quote", success: Schema.Finite, sideEffect: "none" }, () =>
 *   Effect.succeed(1)
 * ).pipe(Tool.retry(Schedule.jittered(Schedule.recurs(1))))
 *
 * Explanation.overview(Toolkit.explain(Toolkit.make(quote))).split("\n").slice(0, 4)
 * // => ["get_quote", "  side effect  none", "  policy       retry of transient failures", "  attempts     2"]
 * ```
 *
 * @category rendering
 * @since 0.1.0
 */
export const overview = (explanations: ReadonlyArray<Explanation>): string =>
  explanations.toSorted((a, b) => a.tool < b.tool ? -1 : 1).map(block).join("\n\n")

const block = (explanation: Explanation): string => {
  const { attempts, executions, sideEffect, steps, time, tool, waiting, warnings } = explanation
  return [
    tool,
    ...columns([
      ["side effect", sideEffect],
      ...steps.slice(1).map(({ description }) => ["policy", description]),
      ["attempts", reasoned(count(attempts), attempts)],
      ["waiting", reasoned(span(waiting), waiting)],
      ["time", reasoned(span(time), time)],
      ["executions", reasoned(count(executions), executions)],
      ...warnings.map(({ code, detail }) => ["warning", `${code}: ${detail}`])
    ])
  ].join("\n")
}

const reasoned = (most: string, { because }: Bound<number | Duration.Duration>): string =>
  because.length === 0 ? most : `${most}: ${because.join("; ")}`

const columns = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> =>
  rows.map((row) =>
    row.map((cell, column) => cell.padEnd(Math.max(...rows.map((other) => other[column]?.length ?? 0))))
      .join("  ").trimEnd()
  ).map((line) => `  ${line}`)

const count = ({ most }: Bound<number>): string => most === Infinity ? "unbounded" : String(most)

const span = ({ most }: Bound<Duration.Duration>): string => Duration.isFinite(most) ? durationText(most) : "unbounded"
