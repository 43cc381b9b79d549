/**
 * The limits of a run: on its turns, calls, tokens and time, on the calls of one tool, and on those in a row.
 *
 * When the turns, tokens or time are used up, the run ends before the model is asked again. A call beyond
 * `calls`, `callsPerTool` or `consecutive` is refused. If the model calls tools again after it has exceeded `calls`, the
 * run ends. A tool whose own limit is used up is no longer offered.
 *
 * A run ends with `LimitReached`. With the agent option `onLimit: "conclude"`, it instead asks the model once more,
 * without tools, for the best answer from what is known. The last of the `turns`, and a tenth of the time, are kept for
 * this request.
 *
 * When a fifth or less of a limit is left, the model is told how much is left.
 *
 * An agent may run inside another run: as a tool, or to correct the arguments of a call (`Fixer.agent`). Its tokens
 * and its time then also count in the outer run. The turns and calls of an agent that corrects arguments count there,
 * too. The inner run ends when a shared limit of either run is used up.
 *
 * @since 0.1.0
 */
import { demandKnown, type Names } from "@fallible/arguments/sentence"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as DispatchFailure from "./DispatchFailure.ts"
import { positive, whole } from "./internal/value/numberOption.ts"
import { cut, oneLine } from "./internal/value/text.ts"

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
  /**
   * How many calls of one tool the model may make: a number for every tool, or numbers by tool name, where `"*"`
   * stands for all other tools. Default: no limit.
   */
  readonly callsPerTool?: number | Readonly<Record<string, number>>
  /**
   * How many calls of one tool the model may make in a row, whatever their arguments. Default: no limit. Calls that are the
   * same are the business of the `LoopGuard`.
   */
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
export interface AgentBudget {
  readonly turns: number
  readonly calls: number
  readonly tokens: number
  readonly elapsed: number
  readonly callsPerTool: (tool: string) => number
  readonly consecutive: number
}

/**
 * Makes a budget from limits. Throws if a limit does not exist, if a count limit is not a whole number of at least 1,
 * or if the time limit is not positive.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (limits: Limits = {}): AgentBudget => {
  demandKnown("The record of an agent's limits", limits, names)
  return {
    turns: most("turns", limits.turns ?? 10),
    calls: most("calls", limits.calls),
    tokens: most("tokens", limits.tokens),
    elapsed: limits.elapsed === undefined ? Infinity : Duration.toMillis(positive("limit of time", limits.elapsed)),
    callsPerTool: mostByTool(limits.callsPerTool),
    consecutive: most("consecutive calls", limits.consecutive)
  }
}

const names: Names<Limits> = {
  turns: true,
  calls: true,
  tokens: true,
  elapsed: true,
  callsPerTool: true,
  consecutive: true
}

const most = (of: string, limit: number | undefined): number =>
  limit === undefined ? Infinity : whole(`An agent's limit of ${of}`, limit)

const mostByTool = (limits: Limits["callsPerTool"]): AgentBudget["callsPerTool"] => {
  if (limits === undefined) return unlimited
  if (typeof limits === "number") {
    const each = most("calls per tool", limits)
    return () => each
  }
  const byName = new Map(Object.entries(limits).map(([name, limit]) => [name, most(`calls of ${name}`, limit)]))
  return (tool) => byName.get(tool) ?? byName.get("*") ?? Infinity
}

const unlimited = () => Infinity

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
 * @param call the name of the tool, and the 1-based number of the call: in its run, among the calls of its tool, and among
 * those in a row
 * @category limits
 * @since 0.1.0
 */
export const refusal = (
  budget: AgentBudget,
  { inARow, number, ofTool, tool }: {
    readonly tool: string
    readonly number: number
    readonly ofTool: number
    readonly inARow: number
  }
): DispatchFailure.DispatchFailure | undefined => {
  if (number > budget.calls) {
    return DispatchFailure.callLimit(
      `This call was not run: this run may make at most ${counted(budget.calls, "tool call")}.`,
      "Answer with what you have, and say what is missing."
    )
  }
  const limit = budget.callsPerTool(tool)
  if (ofTool <= limit && inARow <= budget.consecutive) return undefined
  const times = ofTool > limit ? counted(limit, "time") : `${counted(budget.consecutive, "time")} in a row`
  return DispatchFailure.callLimit(
    `This call was not run: this run may call ${cut(oneLine(tool), 80)} at most ${times}.`,
    "Use the results that you have, or another tool."
  )
}

/**
 * How much of its limits a run has left. `Infinity` means no limit.
 *
 * @category models
 * @since 0.1.0
 */
export interface Left {
  /** How many more replies the model may make. */
  readonly turns: number
  readonly calls: number
  readonly tokens: number
  /** In milliseconds. */
  readonly elapsed: number
}

/**
 * Returns a sentence for the model that says what is left, or `undefined` if no limit is near, or if no reply is left. A
 * limit is near if a fifth or less of it is left.
 *
 * @category limits
 * @since 0.1.0
 */
export const nearLimit = (budget: AgentBudget, left: Left): string | undefined => {
  const { calls, elapsed, tokens, turns } = left
  const isAnyNear = isNear(budget.turns, turns) || isNear(budget.calls, calls) || isNear(budget.tokens, tokens) ||
    isNear(budget.elapsed, elapsed)
  if (turns < 1 || turns > 1 && !isAnyNear) return undefined
  if (turns === 1) return "Your next reply is the last one. Answer in it, without tools, and say what is missing."
  const near = Limit.literals.filter((limit) => isNear(budget[limit], left[limit])).map((limit) =>
    leftText(limit, left)
  )
  return `You have ${near.join(" and ")} left. Answer before nothing is left.`
}

// A limit that is used up needs no note: a refusal, or the end of the run, says so.
const isNear = (most: number, left: number): boolean => most !== Infinity && left > 0 && left <= most / 5

const leftText = (limit: Limit, left: Left): string => {
  switch (limit) {
    case "turns":
      return counted(left.turns, "reply", "replies")
    case "calls":
      return counted(left.calls, "tool call")
    case "tokens":
      return `about ${counted(left.tokens, "token")}`
    case "elapsed":
      return counted(Math.ceil(left.elapsed / 1000), "second")
  }
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

const counted = (count: number, what: string, many = `${what}s`): string => `${count} ${count === 1 ? what : many}`
