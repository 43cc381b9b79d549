import * as Context from "effect/Context"
import * as AgentBudget from "../../AgentBudget.ts"
import type { CallFacts } from "../../CallFacts.ts"
import * as DispatchFailure from "../../DispatchFailure.ts"
import type { Ledger } from "../../Ledger.ts"
import type { FixerFrame } from "../call/innerFrame.ts"
import type { Account } from "./account.ts"

interface Used {
  readonly turns: number
  readonly calls: number
  readonly tokens: number
}

const nothing: Used = { turns: 0, calls: 0, tokens: 0 }

const isNothing = ({ calls, inputTokens, outputTokens, turns }: Ledger): boolean =>
  turns + calls + inputTokens + outputTokens === 0

/** A limit that is used up, and whose it is. */
export interface UsedUp {
  readonly limit: AgentBudget.Limit
  readonly budget: AgentBudget.AgentBudget
  /** Is it the run's own, and not that of the run whose call it corrects? */
  readonly isOwn: boolean
}

const outerLimit = DispatchFailure.callLimit(
  "This call was not run: the tool calls of the run around this one are used up.",
  "Answer with what you have."
)

/** What a run has used of its limits, with what agents use meanwhile that correct the arguments of its calls. */
export class RunUsage {
  readonly #budget: AgentBudget.AgentBudget
  #account: Account
  /** Of such an agent: what the run uses whose call it corrects, and where that is told of it. */
  readonly #outer: { readonly spending: RunUsage | undefined; readonly asked: FixerFrame } | undefined
  /** What the account does not have yet. */
  #meanwhile = nothing
  /** How many calls of the last reply the outer run has left. */
  #granted = Infinity

  constructor(budget: AgentBudget.AgentBudget, account: Account, asked?: FixerFrame, spending?: RunUsage) {
    this.#budget = budget
    this.#account = account
    this.#outer = asked === undefined ? undefined : { spending, asked }
  }

  /**
   * The account of the run, whenever it has grown. It has all that was used in calls that have ended.
   *
   * @param calls how many calls the model has asked for just now
   */
  now(account: Account, calls = 0): void {
    const before = this.#account
    if (account === before) return
    // Those inside have told the outer runs already.
    const { calls: told, turns, tokens } = this.#meanwhile
    this.#account = account
    this.#meanwhile = nothing
    if (this.#outer === undefined) return
    const spent = account.since(before)
    const { asked, spending } = this.#outer
    this.#granted = Math.min(calls, spending?.callsLeft ?? Infinity)
    // What is refused there counts nowhere but here.
    const counted = { ...spent, calls: spent.calls - calls + this.#granted }
    spending?.add({
      turns: spent.turns - turns,
      calls: counted.calls - told,
      tokens: spent.inputTokens + spent.outputTokens - tokens
    })
    const { failures, repairs } = counted
    if (isNothing(counted) && failures.length === 0 && repairs.length === 0) return
    const { name: inside } = asked.tool
    asked.note({
      _tag: "FixerSpent",
      ...counted,
      failures: failures.map((failure) => ({ inside, ...failure })),
      repairs: repairs.map((repaired) => ({ inside, ...repaired }))
    })
  }

  /** An agent has used this that corrects arguments. */
  add(used: Used): void {
    const { calls, tokens, turns } = this.#meanwhile
    this.#meanwhile = { turns: turns + used.turns, calls: calls + used.calls, tokens: tokens + used.tokens }
    this.#outer?.spending?.add(used)
  }

  get callsLeft(): number {
    const own = Math.max(0, this.#budget.calls - this.#account.calls - this.#meanwhile.calls)
    return Math.min(own, this.#outer?.spending?.callsLeft ?? Infinity)
  }

  /** The limit that is used up, and in whose budget. */
  get usedUp(): UsedUp | undefined {
    const limit = AgentBudget.usedUp(this.#budget, {
      turns: this.#account.turns + this.#meanwhile.turns,
      tokens: this.#account.tokens + this.#meanwhile.tokens
    })
    if (limit !== undefined) return { limit, budget: this.#budget, isOwn: true }
    const outer = this.#outer?.spending?.usedUp
    return outer === undefined ? undefined : { ...outer, isOwn: false }
  }

  /**
   * Why a call of the last reply is not to be run, if so.
   *
   * @param index its position, from 0, of so many
   */
  refusal(index: number, count: number, facts: CallFacts): DispatchFailure.DispatchFailure | undefined {
    const number = this.#account.calls - count + index + 1
    return AgentBudget.refusal(this.#budget, number, facts) ?? (index < this.#granted ? undefined : outerLimit)
  }
}

/** What the run uses that is around here. */
export const outerUsage: Context.Reference<RunUsage | undefined> = Context.Reference<RunUsage | undefined>(
  "@fallible/core/spending",
  { defaultValue: () => undefined }
)
