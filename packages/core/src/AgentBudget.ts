/**
 * The limits of a run: turns, calls, tokens, time, and calls of one tool in a row.
 *
 * Turns, tokens and time end the run before the model is asked again. A call beyond a limit on calls is
 * refused, and the model is told to use what it has. If it then exceeds `calls` once more, the run ends.
 *
 * The turns, calls, tokens and time of an agent that corrects arguments (`Fixer.agent`) count in the run
 * whose call it corrects. The limits of that run end it, and so do its own limits.
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
  /** How often the model may reply: a whole number from 1. Default: 10. */
  readonly turns?: number
  /** How many tool calls the model may make, whatever their outcomes. Default: no limit. */
  readonly calls?: number
  /** How many input and output tokens the run may use, as far as the provider counts them. Default: no limit. */
  readonly tokens?: number
  /**
   * How long a run may take. A `Deadline` around the run limits it too. When the time is up, a model call
   * under way ends, and every tool call under way ends with a timeout as its outcome. The time in which a run
   * waits for its user does not count. Default: no limit.
   */
  readonly elapsed?: Duration.Input
  /** How often one tool may be called in a row. Default: no limit. */
  readonly consecutive?: number
}

/**
 * A limit that a run has used up.
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
 * {@link Limits} with all values filled in: `Infinity` for no limit, and milliseconds for the time.
 *
 * @category models
 * @since 0.1.0
 */
export type AgentBudget = { readonly [K in keyof Limits]-?: number }

/**
 * Makes a budget from limits. Throws for a limit that is not a whole number from 1, or not a positive time.
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
 * Returns the limit that keeps the model from being asked again, if any.
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
 * Returns the refusal of a call that exceeds a limit; `undefined` if it may run.
 *
 * @param number the number of the call in its run, from 1
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
 * Describes a limit for people: "10 turns".
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
