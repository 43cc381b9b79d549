import * as Context from "effect/Context"
import * as AgentBudget from "../../AgentBudget.ts"
import type { CallFacts } from "../../CallFacts.ts"
import * as DispatchFailure from "../../DispatchFailure.ts"
import type { Ledger } from "../../Ledger.ts"
import type { FixerFrame } from "../call/innerFrames.ts"
import type { Account } from "./runLedger.ts"

interface Used {
  readonly turns: number
  readonly calls: number
  readonly tokens: number
}

const nothing: Used = { turns: 0, calls: 0, tokens: 0 }

const isNothing = ({ calls, inputTokens, outputTokens, turns }: Ledger): boolean =>
  turns + calls + inputTokens + outputTokens === 0

/** A limit that is used up, and the budget that sets it. */
export interface UsedUp {
  readonly limit: AgentBudget.Limit
  readonly budget: AgentBudget.AgentBudget
  /** True if the budget is the run's own. False if it belongs to the run whose call this run corrects. */
  readonly isOwn: boolean
}

const outerLimit = DispatchFailure.callLimit(
  "This call was not run: the outer run has no tool calls left.",
  "Answer with what you have."
)

/** How much of its limits a run has used, including the usage of agents that correct the arguments of its calls. */
export class RunUsage {
  readonly #budget: AgentBudget.AgentBudget
  #account: Account
  /** If this run corrects a call of another run: the usage of that run, and the frame that reports to that call. */
  readonly #outer: { readonly usage: RunUsage | undefined; readonly fixerFrame: FixerFrame } | undefined
  /** The usage of correcting agents that `#account` does not include yet. */
  #meanwhile = nothing
  /** How many calls of this run's last reply the outer run permits. */
  #granted = Infinity

  constructor(budget: AgentBudget.AgentBudget, account: Account, fixerFrame?: FixerFrame, usage?: RunUsage) {
    this.#budget = budget
    this.#account = account
    this.#outer = fixerFrame === undefined ? undefined : { usage, fixerFrame }
  }

  /**
   * Replaces the account with a later one of the same run. The later account includes all usage of ended calls.
   *
   * @param calls how many calls the model's latest reply has; default: 0
   */
  now(account: Account, calls = 0): void {
    const before = this.#account
    if (account === before) return
    // The correcting agents have already added their usage to the outer runs.
    const { calls: added, turns, tokens } = this.#meanwhile
    this.#account = account
    this.#meanwhile = nothing
    if (this.#outer === undefined) return
    const spent = account.since(before)
    const { fixerFrame, usage } = this.#outer
    this.#granted = Math.min(calls, usage?.callsLeft ?? Infinity)
    // Calls that the outer run does not permit count only in this run.
    const counted = { ...spent, calls: spent.calls - calls + this.#granted }
    usage?.add({
      turns: spent.turns - turns,
      calls: counted.calls - added,
      tokens: spent.inputTokens + spent.outputTokens - tokens
    })
    const { failures, repairs } = counted
    if (isNothing(counted) && failures.length === 0 && repairs.length === 0) return
    const { name: inside } = fixerFrame.tool
    fixerFrame.note({
      _tag: "FixerSpent",
      ...counted,
      failures: failures.map((failure) => ({ inside, ...failure })),
      repairs: repairs.map((repaired) => ({ inside, ...repaired }))
    })
  }

  /** Adds usage of an agent that corrects the arguments of this run's calls. */
  add(used: Used): void {
    const { calls, tokens, turns } = this.#meanwhile
    this.#meanwhile = { turns: turns + used.turns, calls: calls + used.calls, tokens: tokens + used.tokens }
    this.#outer?.usage?.add(used)
  }

  get callsLeft(): number {
    const own = Math.max(0, this.#budget.calls - this.#account.calls - this.#meanwhile.calls)
    return Math.min(own, this.#outer?.usage?.callsLeft ?? Infinity)
  }

  /** The used-up limit of this run or of an outer run, if there is one. */
  get usedUp(): UsedUp | undefined {
    const limit = AgentBudget.usedUp(this.#budget, {
      turns: this.#account.turns + this.#meanwhile.turns,
      tokens: this.#account.tokens + this.#meanwhile.tokens
    })
    if (limit !== undefined) return { limit, budget: this.#budget, isOwn: true }
    const outer = this.#outer?.usage?.usedUp
    return outer === undefined ? undefined : { ...outer, isOwn: false }
  }

  /**
   * Returns the refusal of a call in the last reply, or `undefined` if the call may run.
   *
   * @param index the 0-based position of the call in the reply
   * @param count how many calls the reply has
   */
  refusal(index: number, count: number, facts: CallFacts): DispatchFailure.DispatchFailure | undefined {
    const number = this.#account.calls - count + index + 1
    return AgentBudget.refusal(this.#budget, number, facts) ?? (index < this.#granted ? undefined : outerLimit)
  }
}

/** The usage of the surrounding run; `undefined` outside any run. */
export const outerUsage: Context.Reference<RunUsage | undefined> = Context.Reference<RunUsage | undefined>(
  "@fallible/core/usage",
  { defaultValue: () => undefined }
)
