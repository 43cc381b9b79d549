import type { Reply } from "../../Model.ts"
import type { CallEntry, Entry, ModelEntry, Repaired, RunReport } from "../../RunReport.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import { happened } from "../call/outcome.ts"
import { AppendOnly } from "../value/appendOnly.ts"
import { cut, maxDetail } from "../value/text.ts"
import { minusUsage, noTotals, plusReply, plusUsage, reportedIn, tokensOf, type Totals } from "../value/usage.ts"
import { countOwn } from "./providerApproval.ts"

/** A report under construction. It is immutable. Extending it costs the same after one failure as after a thousand. */
export class Account {
  readonly turns: number
  /** How many calls the model has made. */
  readonly calls: number
  readonly #used: Totals
  readonly #failures: AppendOnly<Entry>
  readonly #repairs: AppendOnly<Repaired>

  private constructor(
    turns: number,
    calls: number,
    used: Totals,
    failures: AppendOnly<Entry>,
    repairs: AppendOnly<Repaired>
  ) {
    this.turns = turns
    this.calls = calls
    this.#used = used
    this.#failures = failures
    this.#repairs = repairs
  }

  static readonly empty = new Account(0, 0, noTotals, AppendOnly.from([]), AppendOnly.from([]))

  static from(report: RunReport): Account {
    const { calls, failures, repairs, turns } = report
    return new Account(
      turns,
      calls,
      plusUsage(noTotals, report),
      AppendOnly.from(failures),
      AppendOnly.from(repairs)
    )
  }

  get report(): RunReport {
    return {
      turns: this.turns,
      calls: this.calls,
      ...reportedIn(this.#used),
      failures: this.#failures.toArray(),
      repairs: this.#repairs.toArray()
    }
  }

  /** The sum of input and output tokens, as far as providers report them. */
  get tokens(): number {
    return tokensOf(this.#used)
  }

  /** What the run cost, as far as it is known. */
  get money(): number {
    return this.#used.money ?? 0
  }

  /** Returns the difference from an earlier account of the same run. */
  since(earlier: Account): RunReport {
    return {
      turns: this.turns - earlier.turns,
      calls: this.calls - earlier.calls,
      ...reportedIn(minusUsage(this.#used, earlier.#used)),
      failures: this.#failures.from(earlier.#failures.length),
      repairs: this.#repairs.from(earlier.#repairs.length)
    }
  }

  /** Adds failures of the model, whether or not the model was asked again after them. */
  modelFailed(failures: ReadonlyArray<ModelEntry>): Account {
    if (failures.length === 0) return this
    const used = failures.reduce((used, { usage }) => usage === undefined ? used : plusUsage(used, usage), this.#used)
    return new Account(this.turns, this.calls, used, this.#failures.append(failures), this.#repairs)
  }

  /** @param isFallback true for a text in place of a reply: no model wrote it, so no provider has to count it */
  replied(reply: Reply, isFallback = false): Account {
    const used = isFallback ? this.#used : plusReply(this.#used, reply.usage)
    return new Account(this.turns + 1, this.calls + countOwn(reply), used, this.#failures, this.#repairs)
  }

  /** Adds what the check of a text did, but not that it refused the text: a failure of the model says that. */
  checked(turn: number, asCall: Reply, outcomes: ReadonlyArray<ToolOutcome>): Account {
    return this.ended(turn, asCall, outcomes, false)
  }

  ended(turn: number, reply: Reply, outcomes: ReadonlyArray<ToolOutcome>, isTold = true): Account {
    if (outcomes.every(isPlain)) return this
    const failures: Array<Entry> = []
    const repairs: Array<Repaired> = []
    let { calls, turns } = this
    let used = this.#used
    outcomes.forEach((outcome, index) => {
      const call = { turn, call: index + 1, tool: reply.calls[index]?.name ?? "" }
      const { fixing, spent } = outcome
      turns += fixing?.turns ?? 0
      calls += fixing?.calls ?? 0
      for (const inner of [fixing, spent]) {
        if (inner === undefined) continue
        used = plusUsage(used, inner)
        failures.push(...inner.failures.map((entry) => placedIn(entry, call)))
        repairs.push(...inner.repairs.map((repaired) => placedIn(repaired, call)))
      }
      failures.push(...failuresOf(call, outcome, isTold))
      repairs.push(...(outcome.repairs ?? []).map((repair) => ({ ...call, ...repair })))
    })
    return new Account(turns, calls, used, this.#failures.append(failures), this.#repairs.append(repairs))
  }
}

// Returns an inner agent's entry, with the turn and the position of the call inside which the agent ran.
const placedIn = <Placed extends Entry | Repaired>(
  entry: Placed,
  { call, turn }: Pick<CallEntry, "turn" | "call">
): Placed => ({
  ...entry,
  turn,
  ...("call" in entry ? { call } : {})
})

// True if nothing failed, nothing was repaired, and no agent ran inside, as in most calls.
const isPlain = ({ _tag, handled, repairs, spent }: ToolOutcome): boolean =>
  _tag === "Completed" && handled.length === 0 && (repairs === undefined || repairs.length === 0) &&
  spent === undefined

const failuresOf = (
  place: Pick<CallEntry, "turn" | "call" | "tool">,
  outcome: ToolOutcome,
  isTold: boolean
): ReadonlyArray<CallEntry> => {
  const { attempts, intent } = outcome
  const call = {
    ...place,
    attempts,
    certainty: happened(outcome),
    ...(intent?.key === undefined ? {} : { key: intent.key })
  }
  const handled = outcome.handled.map(({ by, ...failure }) => ({ ...call, ...failure, handling: by }))
  if (outcome._tag !== "Failed" || !isTold) return handled
  const { _tag: tag, code, detail, severity } = outcome.failure
  const entry: CallEntry = { ...call, tag, code, detail: cut(detail, maxDetail), handling: "told" }
  return [...handled, severity === undefined ? entry : { ...entry, severity }]
}
