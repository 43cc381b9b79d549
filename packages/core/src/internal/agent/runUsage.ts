import * as Context from "effect/Context"
import type { Limit } from "../../Limits.ts"
import type { RunReport } from "../../RunReport.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { fixerAround } from "../call/innerScope.ts"
import { note } from "../call/note.ts"
import { detached, type Scope } from "../call/scope.ts"
import { isNothing as isUnused, tokensOf } from "../value/usage.ts"
import { type Budget, type Left, refuseCall, spentUp, usedUp } from "./budget.ts"
import type { Account } from "./runAccount.ts"

interface Used {
  readonly turns: number
  readonly calls: number
  readonly tokens: number
  readonly money: number
}

// A function, and no accessor of the class: an engine calls private accessors slowly, and every turn asks several times.
const total = ({ calls, money, tokens, turns }: Used, meanwhile: Used): Used => ({
  turns: turns + meanwhile.turns,
  calls: calls + meanwhile.calls,
  tokens: tokens + meanwhile.tokens,
  money: money + meanwhile.money
})

const noTools: ReadonlyArray<string> = []
const noCalls = { tool: "", inARow: 0 }

const nothing: Used = { turns: 0, calls: 0, tokens: 0, money: 0 }

const isNothing = (report: RunReport): boolean => report.turns + report.calls === 0 && isUnused(report)

/** The failures and the repairs of a run inside a call of a tool. */
const wrongIn = ({ failures, repairs }: RunReport, inside: string) => ({
  failures: failures.map((failure) => ({ inside, ...failure })),
  repairs: repairs.map((repaired) => ({ inside, ...repaired }))
})

/** A limit that is used up, and the budget that sets it. */
export interface UsedUp {
  readonly limit: Limit
  readonly budget: Budget
  /** True if the budget is the run's own. False if it belongs to the run around this one. */
  readonly isOwn: boolean
}

const outerLimit = DispatchFailure.callLimit(
  "This call was not run: the outer run has no tool calls left.",
  "Answer with what you have."
)

/** The run around a run, and the scope of the call in which the inner run runs. */
interface Outer {
  readonly usage: RunUsage | undefined
  readonly scope: Scope
  /** The scope of the fixer, if the inner run corrects a call. Then it also shares the turns and calls. */
  readonly fixer: Scope | undefined
}

/** How much of its limits a run has used, including the usage of the agents that run inside its calls. */
export class RunUsage {
  readonly #budget: Budget
  #account: Account
  readonly #outer: Outer | undefined
  readonly #kept: number
  /** The usage of inner agents that `#account` does not include yet. */
  #meanwhile = nothing
  /** How many calls of this run's last reply the outer run permits. */
  #granted = Infinity
  /** How many calls each tool has had. Filled only if there is a limit. */
  #callsOf: Map<string, number> | undefined = undefined
  #spent: ReadonlyArray<string> = noTools
  /** How many tokens the latest request used. */
  latestTokens = 0
  /** What the latest request cost. */
  latestMoney = 0
  /** Whether each reply must have a price: this run, or a run around it, has a limit of money. */
  readonly needsPrices: boolean
  /** The tool of the latest call, and how many calls it has had in a row. */
  #latest = noCalls
  /** The refusals of the last reply, if counting a call twice would make a difference: a call that asked runs again. */
  #decided: Map<number, DispatchFailure.DispatchFailure | undefined> | undefined = undefined

  /** @param kept how many turns are kept for the conclusion of the run */
  constructor(
    budget: Budget,
    account: Account,
    scope: Scope,
    usage: RunUsage | undefined,
    kept: number
  ) {
    this.#budget = budget
    this.#kept = kept
    this.#account = account
    this.#outer = scope === detached ? undefined : { usage, scope, fixer: fixerAround(scope) }
    this.needsPrices = budget.money !== Infinity || this.#outer?.usage?.needsPrices === true
  }

  /**
   * Replaces the account with a later one of the same run. The later account includes all usage of ended calls.
   *
   * @param calls how many calls the model's latest reply has; default: 0
   */
  now(account: Account, calls = 0): void {
    const before = this.#account
    if (account === before) return
    if (calls > 0) this.#decided = undefined
    // The inner agents have already added their usage to the outer runs.
    const meanwhile = this.#meanwhile
    if (account.turns > before.turns) {
      this.latestTokens = account.tokens - before.tokens
      this.latestMoney = account.money - before.money
    }
    this.#account = account
    this.#meanwhile = nothing
    if (this.#outer === undefined) return
    const spent = account.since(before)
    const { fixer, scope, usage } = this.#outer
    const [tokens, money] = [tokensOf(spent), spent.money ?? 0]
    if (fixer === undefined) {
      usage?.add({ ...nothing, tokens: tokens - meanwhile.tokens, money: money - meanwhile.money })
      const { calls: _, turns: __, ...went } = { ...spent, ...wrongIn(spent, scope.tool.name) }
      if (!isUnused(spent) || went.failures.length > 0 || went.repairs.length > 0) {
        note(scope, { _tag: "AgentSpent", ...went })
      }
      return
    }
    this.#granted = Math.min(calls, usage?.callsLeft ?? Infinity)
    // Calls that the outer run does not permit count only in this run.
    const counted = { ...spent, calls: spent.calls - calls + this.#granted }
    usage?.add({
      turns: spent.turns - meanwhile.turns,
      calls: counted.calls - meanwhile.calls,
      tokens: tokens - meanwhile.tokens,
      money: money - meanwhile.money
    })
    const { failures, repairs } = counted
    if (isNothing(counted) && failures.length === 0 && repairs.length === 0) return
    note(fixer, { _tag: "FixerSpent", ...counted, ...wrongIn(counted, fixer.tool.name) })
  }

  /** Adds usage of an agent that runs inside this run's calls. */
  add(used: Used): void {
    const { calls, money, tokens, turns } = this.#meanwhile
    this.#meanwhile = {
      turns: turns + used.turns,
      calls: calls + used.calls,
      tokens: tokens + used.tokens,
      money: money + used.money
    }
    const { fixer, usage } = this.#outer ?? {}
    usage?.add(fixer === undefined ? { ...used, turns: 0, calls: 0 } : used)
  }

  get callsLeft(): number {
    const own = Math.max(0, this.#budget.calls - this.#account.calls - this.#meanwhile.calls)
    return this.#outer?.fixer === undefined ? own : Math.min(own, this.#outer.usage?.callsLeft ?? Infinity)
  }

  /**
   * What is left of the run's own limits.
   *
   * @param millis how much time is left
   */
  left(millis: number): Left {
    const { money, tokens, turns } = this.#budget
    const used = total(this.#account, this.#meanwhile)
    return {
      turns: turns - used.turns,
      calls: this.callsLeft,
      tokens: Math.max(0, tokens - used.tokens),
      money: Math.max(0, money - used.money),
      elapsed: millis
    }
  }

  /** The used-up limit of this run or of a run around it, if there is one. */
  get usedUp(): UsedUp | undefined {
    const limit = usedUp(this.#budget, total(this.#account, this.#meanwhile))
    if (limit !== undefined) return { limit, budget: this.#budget, isOwn: true }
    const { fixer, usage } = this.#outer ?? {}
    const outer = fixer === undefined ? usage?.spentUp : usage?.usedUpInside
    return outer === undefined ? undefined : { ...outer, isOwn: false }
  }

  /** Like {@link usedUp}, for an agent inside that shares the turns. It may not take the turn that is kept. */
  get usedUpInside(): UsedUp | undefined {
    return this.#account.turns + this.#meanwhile.turns >= this.#budget.turns - this.#kept
      ? { limit: "turns", budget: this.#budget, isOwn: true }
      : this.usedUp
  }

  /** Like {@link usedUp}, but only for tokens and money: an agent that runs as a tool has its own turns. */
  get spentUp(): UsedUp | undefined {
    const limit = spentUp(this.#budget, total(this.#account, this.#meanwhile))
    return limit === undefined ? this.#outer?.usage?.spentUp : { limit, budget: this.#budget, isOwn: true }
  }

  /**
   * Returns the refusal of a call in the last reply, or `undefined` if the call may run. Counts the call, once, for the
   * limits of its tool.
   *
   * @param index the 0-based position of the call in the reply
   * @param count how many calls the reply has
   */
  refusal(index: number, count: number, tool: string): DispatchFailure.DispatchFailure | undefined {
    if (this.#decided?.has(index) === true) return this.#decided.get(index)
    const number = this.#account.calls - count + index + 1
    const ofTool = this.#count(tool)
    const refusal = refuseCall(this.#budget, { tool, number, ofTool, inARow: this.#latest.inARow }) ??
      (index < this.#granted ? undefined : outerLimit)
    if (ofTool > 0 || this.#budget.consecutive !== Infinity) {
      this.#decided ??= new Map()
      this.#decided.set(index, refusal)
    }
    return refusal
  }

  #count(tool: string): number {
    if (this.#budget.consecutive !== Infinity) {
      this.#latest = { tool, inARow: this.#latest.tool === tool ? this.#latest.inARow + 1 : 1 }
    }
    const limit = this.#budget.callsPerTool(tool)
    if (limit === Infinity) return 0
    this.#callsOf ??= new Map()
    const count = (this.#callsOf.get(tool) ?? 0) + 1
    this.#callsOf.set(tool, count)
    if (count === limit) this.#spent = [...this.#spent, tool]
    return count
  }

  /** The tools whose own limits are used up. The model is not offered them any more. */
  get spentTools(): ReadonlyArray<string> {
    return this.#spent
  }

  /** Counts calls that were made before a suspension, for the limits of single tools. */
  recall(names: Iterable<string>): void {
    for (const name of names) this.#count(name)
  }
}

/** The usage of the surrounding run; `undefined` outside any run. */
export const outerUsage: Context.Reference<RunUsage | undefined> = Context.Reference<RunUsage | undefined>(
  "@fallible/core/usage",
  { defaultValue: () => undefined }
)
