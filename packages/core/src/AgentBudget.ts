/**
 * The limits of a run: on its turns, calls, tokens and time, and on consecutive calls to one tool.
 *
 * When the turns, tokens or time are used up, the run ends before the model is asked again. A call beyond
 * `calls` or `consecutive` is refused, and the refusal tells the model to use what it has. If the model calls
 * tools again after it has exceeded `calls`, the run ends.
 *
 * An agent may correct the arguments of another run's call (`Fixer.agent`). Its turns, calls, tokens and time
 * then also count in that other run. The agent's own run ends when a limit of either run is used up.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import type { CallFacts } from "./CallFacts.ts"
import * as DispatchFailure from "./DispatchFailure.ts"
import { positive, whole } from "./internal/value/numberOption.ts"

/**
 * The limits of a run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Limits {
  /** How many times the model may reply: a whole number of at least 1. Default: 10. */
  readonly turns?: number
  /** How many tool calls the model may make, whatever their outcomes. Default: no limit. */
  readonly calls?: number
  /** How many input and output tokens the run may use, as far as the provider counts them. Default: no limit. */
  readonly tokens?: number
  /**
   * How long a run may take. A `Deadline` around the run also limits it. When the time is up, a running
   * model call ends, and every running tool call ends with a timeout as its outcome. The time that a run spends
   * waiting for its user does not count. Default: no limit.
   */
  readonly elapsed?: Duration.Input
  /** How many times in a row one tool may be called. Default: no limit. */
  readonly consecutive?: number
}

/**
 * The name of a limit that can end a run.
 *
 * @category models
 * @since 0.1.0
 */
export type Limit = typeof Limit.Type

/**
 * The schema of a {@link Limit}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Limit = Schema.Literals(["turns", "calls", "tokens", "elapsed"])

/**
 * {@link Limits} with all values filled in: `Infinity` means no limit, and the time is in milliseconds.
 *
 * @category models
 * @since 0.1.0
 */
export type AgentBudget = { readonly [K in keyof Limits]-?: number }

/**
 * Makes a budget from limits. Throws if a count limit is not a whole number of at least 1, or if the time limit
 * is not positive.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (limits: Limits = {}): AgentBudget => {
  const most = (of: string, limit: number | undefined): number =>
    limit === undefined ? Infinity : whole(`An agent's limit of ${of}`, limit)
  return {
    turns: most("turns", limits.turns ?? 10),
    calls: most("calls", limits.calls),
    tokens: most("tokens", limits.tokens),
    elapsed: limits.elapsed === undefined ? Infinity : Duration.toMillis(positive("limit of time", limits.elapsed)),
    consecutive: most("consecutive calls", limits.consecutive)
  }
}

/**
 * Returns the used-up limit that forbids asking the model again, or `undefined` if there is none.
 *
 * @param used the turns and tokens used so far
 * @category limits
 * @since 0.1.0
 */
export const usedUp = (
  budget: AgentBudget,
  used: { readonly turns: number; readonly tokens: number }
): Limit | undefined => used.turns >= budget.turns ? "turns" : used.tokens >= budget.tokens ? "tokens" : undefined

/**
 * Returns the refusal of a call that exceeds a limit, or `undefined` if the call may run.
 *
 * @param number the 1-based number of the call in its run
 * @category limits
 * @since 0.1.0
 */
export const refusal = (
  budget: AgentBudget,
  number: number,
  { inARow, last }: CallFacts
): DispatchFailure.DispatchFailure | undefined => {
  if (number > budget.calls) {
    return DispatchFailure.callLimit(
      `This call was not run: this run may make at most ${counted(budget.calls, "tool call")}.`,
      "Answer with what you have, and say what is missing."
    )
  }
  if (inARow > budget.consecutive) {
    return DispatchFailure.callLimit(
      `This call was not run: ${last} was already called ${counted(budget.consecutive, "time")} in a row.`,
      "Use the results that you have."
    )
  }
  return undefined
}

/**
 * Returns a limit as a text for people, such as "10 turns".
 *
 * @category limits
 * @since 0.1.0
 */
export const describe = (budget: AgentBudget, limit: Limit): string => {
  switch (limit) {
    case "turns":
      return counted(budget.turns, "turn")
    case "calls":
      return counted(budget.calls, "tool call")
    case "tokens":
      return counted(budget.tokens, "token")
    case "elapsed":
      return Number.isFinite(budget.elapsed) ? Duration.format(Duration.millis(budget.elapsed)) : "time"
  }
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`
