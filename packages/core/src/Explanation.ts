/**
 * The worst case of a tool, computed before it runs: how often it is tried, how long it waits, and how long
 * it takes.
 *
 *     const explanation = Tool.explain(tool)
 *     Explanation.table(explanation)       the bounds, policy by policy
 *     Explanation.timeline(explanation)    the worst case, moment by moment
 *
 *     Explanation.overview(Toolkit.explain(toolkit))    the worst cases of all tools, for a file that a test compares
 *
 * The handler runs once and may take for ever. Each policy around it changes the bounds inside it: a retry
 * multiplies and waits, a timeout cuts, a fallback adds. The waits of a retry come from its Schedule. The
 * Schedule is stepped with a simulated clock, on which attempts take no time. It is stepped with the smallest
 * and with the greatest random draws.
 *
 * An unknown value is unbounded, and the bound says why. To bound it, put a timeout inside or outside. A
 * bound may be too high, because each is computed separately: no single call need reach all of them. The call
 * that waits the longest may be tried the least.
 *
 * A bound may be too low only with a schedule of your own, in two cases. Its longest waits lie at neither end
 * of its draws, or its waits get shorter after some time.
 *
 * Work inside a handler, a fallback or a check counts only as time, and so do the waits of tools that it
 * runs. A defect or an interruption by the caller ends a call early.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import { durationText } from "./internal/value/durationText.ts"
import type { SideEffect } from "./SideEffect.ts"

/**
 * An upper bound. It is infinite if there is none, and then says why.
 *
 * @category models
 * @since 0.1.0
 */
export interface Bound<out A extends number | Duration.Duration> {
  readonly most: A
  /** The reasons why it is unbounded, in a few words each. Empty if it is bounded. */
  readonly because: ReadonlyArray<string>
}

/**
 * The worst case of a tool.
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
  /**
   * How often a model can make the same failing call in one run before it is refused. Calls that never reach
   * the handler do not count.
   */
  readonly calls: number
  /**
   * The same for a call that may have acted. It is lower for a tool that is neither read-only nor idempotent.
   */
  readonly actingCalls: number
  /** How often the handler may run for the same failing call in one run of an agent. */
  readonly executions: Bound<number>
  /** The bounds policy by policy, from the handler outwards. */
  readonly steps: ReadonlyArray<Step>
  /** The first 30 moments of the worst case. */
  readonly moments: ReadonlyArray<Moment>
  /** The number of moments after these; infinite if there are too many to count. */
  readonly more: number
  readonly warnings: ReadonlyArray<Warning>
}

/**
 * The bounds of the handler, or of a policy with everything inside it.
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
 * An event of the worst case, and when it happens.
 *
 * @category models
 * @since 0.1.0
 */
export interface Moment {
  /** The time since the start of the call. */
  readonly at: Duration.Duration
  readonly event: string
  /** The length of a wait that starts only if it can end in time. Absent for other events. */
  readonly wait?: Duration.Duration
}

/**
 * A warning about policies that are probably a mistake.
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
 * | code                         | meaning                                                                            |
 * | ---------------------------- | ---------------------------------------------------------------------------------- |
 * | `unjittered_retry`           | all callers wait equally long, and return at the same time                         |
 * | `uncapped_retry`             | the retry never ends, or waits longer than a minute on its own                     |
 * | `retry_of_acting_tool`       | the tool is hardly ever retried; never reported for the retry of `Policy.standard` |
 * | `retry_around_retry`         | attempts multiply                                                                  |
 * | `retry_around_breaker`       | the breaker sees each attempt, and the retry waits for an open circuit             |
 * | `retry_around_fallback`      | the fallback leaves nothing to retry                                               |
 * | `timeout_leaves_no_retry`    | the time for all attempts ends no later than that of the first one                 |
 * | `breaker_around_fallback`    | the breaker sees no failure, and never opens                                       |
 * | `timeout_around_reconcile`   | a call that a timeout or a deadline ends is not reconciled                         |
 * | `reconcile_without_finality` | the outcome stays unknown if the check finds nothing                               |
 * | `settle_longer_than_timeout` | a timeout or a deadline ends before the outcome has settled                        |
 * | `fallback_of_acting_tool`    | the fallback may repeat an action that has already been done                       |
 * | `catch_of_acting_tool`       | the catch answers whether or not the tool has taken effect                         |
 * | `no_identity`                | the tool acts, and no idempotency key can be made of its arguments                 |
 * | `missing_tool`               | a `check` or an `instead` names a tool that the toolkit does not have              |
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
  // Any other snake_case code. The intersection keeps the codes above in the completions of editors.
  | (string & {})

/**
 * The bounds inside a policy, which it turns into its own. See the option `bound` of `Policy.make`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Bounds {
  /** How many attempts can start within a time, if each fails at once and each wait is the shortest. */
  readonly attempts: (within: Duration.Duration) => Bound<number>
  readonly waiting: Bound<Duration.Duration>
  readonly time: Bound<Duration.Duration>
  /** The worst case, in order. An `attempt` gets its number later, in the explanation. */
  readonly moments: () => Iterable<Moment>
  readonly warnings: ReadonlyArray<Warning>
}

// -----------------------------------------------------------------------------
// Constructors
// -----------------------------------------------------------------------------

/**
 * Returns a time without a bound.
 *
 * When to use: in the `bound` of a policy of your own that takes an unknown time.
 *
 * @param because the reason, in a few words
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
 * Renders the bounds as a table, policy by policy, from the handler outwards. Below it are the limit for
 * repeats of a failing call, the reasons for unbounded values, and the warnings.
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
    ...alignColumns([["policy", "attempts", "waiting", "time"], ...rows]),
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
 * Renders the worst case, moment by moment: each attempt takes as long as it may, and each wait is the
 * longest.
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
    ...alignColumns(moments.map(({ at, event }) => [durationText(at), event])),
    ...(more === 0 ? [] : [more === Infinity ? "  … and many more" : `  … ${more} more`]),
    ...(!Duration.isFinite(time.most)
      ? [`  … with no end in sight: ${time.because.join("; ")}`]
      : more > 0 || Duration.isLessThan(last, time.most)
      ? [`  ${durationText(time.most)} at the latest, the end`]
      : [])
  ].join("\n")
}

/**
 * Renders the worst cases of several tools, sorted by name: a block for each tool, a line for each fact.
 *
 * When to use: to record the bounds of a toolkit. A change to one tool changes no line of another, so a diff
 * shows only that tool. `WorstCase.matchesFile` of `@fallible/testing` compares the text with a file in your
 * repository.
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
  explanations.toSorted((a, b) => a.tool < b.tool ? -1 : 1).map(renderBlock).join("\n\n")

const renderBlock = (explanation: Explanation): string => {
  const { attempts, executions, sideEffect, steps, time, tool, waiting, warnings } = explanation
  return [
    tool,
    ...alignColumns([
      ["side effect", sideEffect],
      ...steps.slice(1).map(({ description }) => ["policy", description]),
      ["attempts", withReasons(count(attempts), attempts)],
      ["waiting", withReasons(span(waiting), waiting)],
      ["time", withReasons(span(time), time)],
      ["executions", withReasons(count(executions), executions)],
      ...warnings.map(({ code, detail }) => ["warning", `${code}: ${detail}`])
    ])
  ].join("\n")
}

const withReasons = (most: string, { because }: Bound<number | Duration.Duration>): string =>
  because.length === 0 ? most : `${most}: ${because.join("; ")}`

const alignColumns = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> =>
  rows.map((row) =>
    row.map((cell, column) => cell.padEnd(Math.max(...rows.map((other) => other[column]?.length ?? 0))))
      .join("  ").trimEnd()
  ).map((line) => `  ${line}`)

const count = ({ most }: Bound<number>): string => most === Infinity ? "unbounded" : String(most)

const span = ({ most }: Bound<Duration.Duration>): string => Duration.isFinite(most) ? durationText(most) : "unbounded"
