/**
 * What a run may use up: turns, calls, tokens, time, and calls of one tool in a row.
 *
 * Turns, tokens and time end the run before the model is asked again. A call beyond a limit on calls is refused, and
 * the model is told to answer with what it has; when it makes another one all the same, the run ends.
 *
 * What an agent uses that corrects arguments (`Fixer.agent`) counts in the run whose call it corrects: turns, calls, tokens and time. It is
 * ended by that run's limits, and by its own.
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
  /** How often the model may reply; at least 1. Default: 10. */
  readonly turns?: number
  /** How many tool calls the model may make, whatever becomes of them. Default: no limit. */
  readonly calls?: number
  /** How many tokens, in and out, as far as the provider counts them. Default: no limit. */
  readonly tokens?: number
  /**
   * How long a run may take; a `Deadline` that is set around it counts, too. What is under way then is ended: a model call, and
   * every tool call, which has a time-out as its outcome. A run that waits for its user has its time anew when it is resumed.
   * Default: no limit.
   */
  readonly elapsed?: Duration.Input
  /** How often one tool may be called in a row. Default: no limit. */
  readonly consecutive?: number
}

/**
 * Which limit a run has used up.
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
 * {@link Limits} with every number in place: `Infinity` where there is no limit, milliseconds for time.
 *
 * @category models
 * @since 0.1.0
 */
export type AgentBudget = { readonly [K in keyof Limits]-?: number }

/**
 * A budget from its limits. A limit that is no whole number from 1, or no positive time, throws.
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
 * The limit that keeps the model from being asked again, if any.
 *
 * @param used the turns and tokens that have been used
 * @category limits
 * @since 0.1.0
 */
export const usedUp = (
  budget: AgentBudget,
  used: { readonly turns: number; readonly tokens: number }
): Limit | undefined => used.turns >= budget.turns ? "turns" : used.tokens >= budget.tokens ? "tokens" : undefined

/**
 * Why a call is not to be run, if so.
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
      `This call was not run: the ${budget.calls} tool calls of this run are used up.`,
      "Answer with what you have, and say what is missing."
    )
  }
  if (inARow > budget.consecutive) {
    return DispatchFailure.callLimit(
      `This call was not run: ${last} was called ${budget.consecutive} times in a row already.`,
      "Use what it has returned."
    )
  }
  return undefined
}

/**
 * What a limit was, for people: "10 turns".
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
