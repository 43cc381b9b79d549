/* What the limits of a run permit, and what a model reads about them. `Limits` describes them. */
import { demandKnown, type Names } from "@fallible/arguments/internal"
import * as Duration from "effect/Duration"
import { Limit, type Limits } from "../../Limits.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { positive, whole } from "../value/numberOption.ts"
import { cut, excerpt, oneLine } from "../value/text.ts"

/**
 * `Limits` with all values filled in: `Infinity` means no limit, and the time is in milliseconds.
 */
export interface Budget {
  readonly turns: number
  readonly calls: number
  readonly tokens: number
  readonly money: number
  readonly elapsed: number
  readonly callsPerTool: (tool: string) => number
  readonly consecutive: number
}

/**
 * Makes a budget from limits. Throws if a limit does not exist, if a count limit is not a whole number of at least 1,
 * or if the time limit is not positive.
 */
export const makeBudget = (limits: Limits = {}): Budget => {
  demandKnown("The record of an agent's limits", limits, names)
  return {
    turns: max("turns", limits.turns ?? 30),
    calls: max("calls", limits.calls),
    tokens: max("tokens", limits.tokens),
    money: maxMoney(limits.money),
    elapsed: limits.elapsed === undefined ? Infinity : Duration.toMillis(positive("limit of time", limits.elapsed)),
    callsPerTool: maxByTool(limits.callsPerTool),
    consecutive: max("consecutive calls", limits.consecutive)
  }
}

const names: Names<Limits> = {
  turns: true,
  calls: true,
  tokens: true,
  money: true,
  elapsed: true,
  callsPerTool: true,
  consecutive: true
}

const max = (of: string, limit: number | undefined): number =>
  limit === undefined ? Infinity : whole(`An agent's limit of ${of}`, limit)

const maxMoney = (limit: number | undefined): number => {
  if (limit === undefined) return Infinity
  if (typeof limit === "number" && limit > 0) return limit
  throw new TypeError(
    `An agent's limit of money must be a number above zero; got ${typeof limit === "number" ? limit : excerpt(limit)}.`
  )
}

const maxByTool = (limits: Limits["callsPerTool"]): Budget["callsPerTool"] => {
  if (limits === undefined) return unlimited
  if (typeof limits === "number") {
    const each = max("calls per tool", limits)
    return () => each
  }
  const byName = new Map(Object.entries(limits).map(([name, limit]) => [name, max(`calls of ${name}`, limit)]))
  return (tool) => byName.get(tool) ?? byName.get("*") ?? Infinity
}

const unlimited = () => Infinity

/**
 * Returns the used-up limit that forbids asking the model again, or `undefined` if there is none.
 *
 * @param used what has been used so far
 */
export const usedUp = (
  budget: Budget,
  used: { readonly turns: number; readonly tokens: number; readonly money: number }
): Limit | undefined => used.turns >= budget.turns ? "turns" : spentUp(budget, used)

/** Like {@link usedUp}, but only for what an agent inside shares with its run: tokens and money. */
export const spentUp = (
  budget: Budget,
  used: { readonly tokens: number; readonly money: number }
): Limit | undefined => used.tokens >= budget.tokens ? "tokens" : used.money >= budget.money ? "money" : undefined

/**
 * Returns the refusal of a call that exceeds a limit, or `undefined` if the call may run.
 *
 * @param call the name of the tool, and the 1-based number of the call: in its run, among the calls of its tool, and among
 * those in a row
 */
export const refuseCall = (
  budget: Budget,
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
 */
export interface Left {
  /** How many more replies the model may make. */
  readonly turns: number
  readonly calls: number
  readonly tokens: number
  readonly money: number
  /** In milliseconds. */
  readonly elapsed: number
}

/**
 * Returns a sentence for the model that says what is left, or `undefined` if no limit is near, or if no reply is left. A
 * limit is near if a fifth or less of it is left.
 */
export const nearLimit = (budget: Budget, left: Left): string | undefined => {
  const { calls, elapsed, money, tokens, turns } = left
  const isAnyNear = isNear(budget.turns, turns) || isNear(budget.calls, calls) || isNear(budget.tokens, tokens) ||
    isNear(budget.money, money) || isNear(budget.elapsed, elapsed)
  if (turns < 1 || turns > 1 && !isAnyNear) return undefined
  if (turns === 1) return "Your next reply is the last one. Answer in it, without tools, and say what is missing."
  const near = Limit.literals.filter((limit) => isNear(budget[limit], left[limit])).map((limit) =>
    leftText(budget, limit, left)
  )
  return `You have ${near.join(" and ")} left. Answer before nothing is left.`
}

// A limit that is used up needs no note: a refusal, or the end of the run, says so.
const isNear = (max: number, left: number): boolean => max !== Infinity && left > 0 && left <= max / 5

const leftText = (budget: Budget, limit: Limit, left: Left): string => {
  switch (limit) {
    case "turns":
      return counted(left.turns, "reply", "replies")
    case "calls":
      return counted(left.calls, "tool call")
    case "tokens":
      return `about ${counted(left.tokens, "token")}`
    case "money":
      return `about ${Math.ceil(100 * left.money / budget.money)}% of the money`
    case "elapsed":
      return counted(Math.ceil(left.elapsed / 1000), "second")
  }
}

/**
 * Returns a limit as a text for people, such as "10 turns".
 */
export const describeLimit = (budget: Budget, limit: Limit): string => {
  switch (limit) {
    case "turns":
      return counted(budget.turns, "turn")
    case "calls":
      return counted(budget.calls, "tool call")
    case "tokens":
      return counted(budget.tokens, "token")
    case "money":
      return `money (${budget.money})`
    case "elapsed":
      return Number.isFinite(budget.elapsed) ? Duration.format(Duration.millis(budget.elapsed)) : "time"
  }
}

const counted = (count: number, what: string, many = `${what}s`): string => `${count} ${count === 1 ? what : many}`
