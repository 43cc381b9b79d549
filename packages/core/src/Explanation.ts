/**
 * The worst case of a call to a tool, computed before the tool runs: the number of attempts, the waiting time and
 * the total time.
 *
 *     const explanation = Tool.explain(tool)
 *     Explanation.table(explanation)       the bounds, policy by policy
 *     Explanation.timeline(explanation)    the worst case, moment by moment
 *
 *     Explanation.overview(Toolkit.explain(toolkit))    the worst cases of all tools, for a file that a test compares
 *
 * Without policies, a handler runs once and may take forever. Each policy around the handler changes these bounds:
 * a retry multiplies them and adds waits, a timeout limits them, a fallback adds its own time.
 *
 * The waits of a retry come from its Schedule. To compute the waits, the Schedule is stepped on a simulated clock,
 * on which attempts take no time. This is done with the smallest and with the largest random draws.
 *
 * A value that cannot be known in advance counts as unbounded, and its bound says why. To bound it, put a timeout
 * inside or outside the policy in question. A bound may be too high, because each bound is computed separately.
 * For example, the call that waits the longest may be the one that makes the fewest attempts.
 *
 * A bound may be too low only with your own schedule, in two cases. Either its longest waits come from random draws
 * between the smallest and the largest, or its waits get shorter after some time.
 *
 * Code inside a handler, a fallback function or a check counts only toward the `time` bound. If such code runs other
 * tools, their waits count only toward that bound, too. A defect, or an interruption by the caller, ends a call
 * early.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import { alignColumns } from "./internal/value/columns.ts"
import { durationText } from "./internal/value/durationText.ts"
import type { SideEffect } from "./SideEffect.ts"

/**
 * An upper bound. If a value has no upper bound, `max` is infinite, and `because` says why.
 *
 * @category models
 * @since 0.1.0
 */
export interface Bound<out A extends number | Duration.Duration> {
  readonly max: A
  /** The reasons why the value is unbounded, in a few words each. Empty if the value is bounded. */
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
  /** The most times that the handler can run in one call. */
  readonly attempts: Bound<number>
  /** The longest that a call can wait in all: between attempts, and for a permit. */
  readonly waiting: Bound<Duration.Duration>
  /** The longest that a call can take, from start to end. */
  readonly time: Bound<Duration.Duration>
  /**
   * The most times that a model can make the same failing call in one run, before further calls are refused. Calls
   * that never reach the handler are not counted.
   */
  readonly calls: number
  /**
   * The same number for a failing call that may have taken effect: 1 if the tool is non-idempotent, and equal to
   * `calls` otherwise.
   */
  readonly actingCalls: number
  /**
   * The most times that the handler can run for the same failing call in one run of an agent. A tool that only reads may run
   * more often: if it asks to wait for a moment, if it does not find yet what the run has made, and half a minute later.
   */
  readonly executions: Bound<number>
  /**
   * What asks people before a call runs, or while the tool is down, in a few words each. The bounds do not count how long people
   * take. Questions inside the handler are not known.
   */
  readonly asks: ReadonlyArray<string>
  /** The bounds policy by policy, from the handler outwards. */
  readonly steps: ReadonlyArray<Step>
  /** The first 30 moments of the worst case. */
  readonly moments: ReadonlyArray<Moment>
  /** The number of moments after the first 30; infinite if there are too many to count. */
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
 * An event of the worst case, and the time at which it happens.
 *
 * @category models
 * @since 0.1.0
 */
export interface Moment {
  /** The time since the start of the call. */
  readonly at: Duration.Duration
  readonly event: string
  /** Present if the event is the start of a wait: the length of the wait. A wait starts only if it can end in time. */
  readonly wait?: Duration.Duration
}

/**
 * A warning about a probable mistake in a tool's definition or policies.
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
 * The codes of warnings. These codes are stable. A custom policy may use other codes.
 *
 * | code                         | meaning                                                                                 |
 * | ---------------------------- | --------------------------------------------------------------------------------------- |
 * | `unjittered_retry`           | all callers wait equally long, and then call again at the same time                     |
 * | `uncapped_retry`             | the retry never ends, or its schedule waits longer than a minute                        |
 * | `retry_of_acting_tool`       | a non-idempotent tool is hardly ever retried; not reported for `Policy.standard`        |
 * | `retry_around_retry`         | the attempts of nested retries multiply                                                 |
 * | `retry_around_breaker`       | the breaker counts each attempt as a call, and the retry waits for an open circuit      |
 * | `retry_around_fallback`      | the fallback handles every failure, so nothing is left to retry                         |
 * | `timeout_leaves_no_retry`    | the timeout around all attempts is no longer than one attempt                           |
 * | `breaker_around_fallback`    | the breaker sees no failure, and never opens                                            |
 * | `timeout_around_reconcile`   | if a timeout or a deadline ends a call, the call is not reconciled                      |
 * | `reconcile_without_finality` | the outcome stays unknown if the check finds nothing                                    |
 * | `settle_longer_than_timeout` | a surrounding timeout or deadline ends before the outcome has settled                   |
 * | `settle_shorter_than_timeout` | an attempt may take longer than its outcome takes to settle, and act afterwards        |
 * | `unbounded_fallback`         | the tool has a time limit, and the tool of its fallback has none                        |
 * | `fallback_of_acting_tool`    | the fallback may repeat an effect that the tool has already had                         |
 * | `catch_of_acting_tool`       | the catch answers whether or not the tool has taken effect                              |
 * | `free_text_identity`         | the tool acts, and a call with other words in a free text counts as another call        |
 * | `nothing_declared`           | the definition does not say what the tool does, so the safest is assumed                |
 * | `missing_tool`               | the definition's `check` or `instead` names a tool that is not in the toolkit           |
 * | `request_without_key`        | seen in this process: a request of the tool left without the key of its call            |
 * | `doubt_not_settled`          | seen in this process: a call was in doubt, and the tool declares nothing to settle it   |
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
  | "settle_shorter_than_timeout"
  | "unbounded_fallback"
  | "fallback_of_acting_tool"
  | "catch_of_acting_tool"
  | "free_text_identity"
  | "nothing_declared"
  | "missing_tool"
  | "request_without_key"
  | "doubt_not_settled"
  // Any other snake_case code. The intersection keeps the codes above in editor completions.
  | (string & {})

// -----------------------------------------------------------------------------
// Rendering
// -----------------------------------------------------------------------------

/**
 * Renders the bounds as a table, policy by policy, from the handler outwards. Below the table are the limit on
 * repetitions of a failing call, the reasons for unbounded values, and the warnings.
 *
 * @example
 * ```ts
 * import { Tool } from "@fallible/core"
 * import * as Explanation from "@fallible/core/Explanation"
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
  const { actingCalls, asks, attempts, calls, executions, sideEffect, steps, time, tool, waiting, warnings } =
    explanation
  const rows = steps.map((step) => [step.description, count(step.attempts), span(step.waiting), span(step.time)])
  const reasons = Object.entries({ attempts, waiting, time })
    .flatMap(([name, { because }]) => because.map((reason) => ({ name, reason })))
  const again = sideEffect === "none" ? "; more if it asks to wait, and again after 30s" : ""
  const acting = actingCalls < calls ? ` (${actingCalls} that may have acted)` : ""
  return [
    tool,
    ...alignColumns([["policy", "attempts", "waiting", "time"], ...rows]),
    "",
    `  the same failing call in a run: refused after ${calls} executions${acting}, ${
      count(executions)
    } in all at most${again}`,
    ...asks.map((question) => `  asks: ${question}`),
    ...Array.from(
      Map.groupBy(reasons, ({ reason }) => reason),
      ([reason, unbounded]) => `  ${unbounded.map(({ name }) => name).join(", ")} unbounded: ${reason}`
    ),
    ...warnings.map(({ code, detail, hint }) => `  ${code}: ${detail} ${hint}`)
  ].join("\n")
}

/**
 * Renders the worst case, moment by moment: each attempt and each wait takes as long as it can.
 *
 * @example
 * ```ts
 * import { Tool } from "@fallible/core"
 * import * as Explanation from "@fallible/core/Explanation"
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
    ...(!Duration.isFinite(time.max)
      ? [`  … with no end in sight: ${time.because.join("; ")}`]
      : more > 0 || Duration.isLessThan(last, time.max)
      ? [`  ${durationText(time.max)} at the latest, the end`]
      : [])
  ].join("\n")
}

/**
 * Renders the worst cases of several tools, sorted by name: a block for each tool, a line for each fact.
 *
 * When to use: to record the bounds of a toolkit. A change to one tool does not change the lines of other tools,
 * so a diff shows only that tool. `WorstCase.matchesFile` of `@fallible/testing` compares the rendered text with a
 * file in your repository.
 *
 * @example
 * ```ts
 * import { Tool, Toolkit } from "@fallible/core"
 * import * as Explanation from "@fallible/core/Explanation"
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
  const { asks, attempts, executions, sideEffect, steps, time, tool, waiting, warnings } = explanation
  return [
    tool,
    ...alignColumns([
      ["side effect", sideEffect],
      ...asks.map((question) => ["asks", question]),
      ...steps.slice(1).map(({ description }) => ["policy", description]),
      ["attempts", withReasons(count(attempts), attempts)],
      ["waiting", withReasons(span(waiting), waiting)],
      ["time", withReasons(span(time), time)],
      ["executions", withReasons(count(executions), executions)],
      ...warnings.map(({ code, detail }) => ["warning", `${code}: ${detail}`])
    ])
  ].join("\n")
}

const withReasons = (max: string, { because }: Bound<number | Duration.Duration>): string =>
  because.length === 0 ? max : `${max}: ${because.join("; ")}`

const count = ({ max }: Bound<number>): string => max === Infinity ? "unbounded" : String(max)

const span = ({ max }: Bound<Duration.Duration>): string => Duration.isFinite(max) ? durationText(max) : "unbounded"
