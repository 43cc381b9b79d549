import type { Reply } from "../../Model.ts"
import type { CallEntry, Entry, ModelEntry, Repaired, RunReport } from "../../RunReport.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import { AppendOnly } from "../value/appendOnly.ts"
import { cut, maxDetail } from "../value/text.ts"
import { addUsage, reported, subtractUsage, tokensOf } from "../value/usage.ts"

type Counts = Omit<RunReport, "failures" | "repairs">

/** A report under construction. It is immutable. Extending it costs the same after one failure as after a thousand. */
export class Account {
  readonly #counts: Counts
  readonly #failures: AppendOnly<Entry>
  readonly #repairs: AppendOnly<Repaired>

  private constructor(counts: Counts, failures: AppendOnly<Entry>, repairs: AppendOnly<Repaired>) {
    this.#counts = counts
    this.#failures = failures
    this.#repairs = repairs
  }

  static readonly empty = new Account(
    { turns: 0, calls: 0 },
    AppendOnly.from([]),
    AppendOnly.from([])
  )

  static from({ failures, repairs, ...counts }: RunReport): Account {
    return new Account(counts, AppendOnly.from(failures), AppendOnly.from(repairs))
  }

  get report(): RunReport {
    return { ...this.#counts, failures: this.#failures.toArray(), repairs: this.#repairs.toArray() }
  }

  /** How many calls the model has made. */
  get calls(): number {
    return this.#counts.calls
  }

  /** The sum of input and output tokens, as far as providers report them. */
  get tokens(): number {
    return tokensOf(this.#counts)
  }

  /** What the run cost, as far as it is known. */
  get money(): number {
    return this.#counts.money ?? 0
  }

  get turns(): number {
    return this.#counts.turns
  }

  /** Returns the difference from an earlier account of the same run. */
  since(earlier: Account): RunReport {
    const before = earlier.#counts
    return subtractUsage(
      {
        turns: this.#counts.turns - before.turns,
        calls: this.#counts.calls - before.calls,
        failures: this.#failures.from(earlier.#failures.length),
        repairs: this.#repairs.from(earlier.#repairs.length)
      },
      this.#counts,
      before
    )
  }

  /** Adds failures of the model, whether or not the model was asked again after them. */
  modelFailed(failures: ReadonlyArray<ModelEntry>): Account {
    if (failures.length === 0) return this
    const counts = failures.reduce(
      (counts, { usage }) => usage === undefined ? counts : counted(counts, { ...none, ...usage }),
      this.#counts
    )
    return new Account(counts, this.#failures.append(failures), this.#repairs)
  }

  /** @param isFallback true for a text in place of a reply: no model wrote it, so no provider has to count it */
  replied(reply: Reply, isFallback = false): Account {
    const { calls, turns } = this.#counts
    const counts = addUsage(
      { turns: turns + 1, calls: calls + reply.calls.length },
      this.#counts,
      isFallback ? {} : reported(reply.usage)
    )
    return new Account(counts, this.#failures, this.#repairs)
  }

  /** Adds what the check of a text did, but not that it refused the text: a failure of the model says that. */
  checked(turn: number, asCall: Reply, outcomes: ReadonlyArray<ToolOutcome>): Account {
    return this.ended(turn, asCall, outcomes, false)
  }

  ended(turn: number, reply: Reply, outcomes: ReadonlyArray<ToolOutcome>, isTold = true): Account {
    if (outcomes.every(isPlain)) return this
    const failures: Array<Entry> = []
    const repairs: Array<Repaired> = []
    let counts = this.#counts
    outcomes.forEach((outcome, index) => {
      const call = { turn, call: index + 1, tool: reply.calls[index]?.name ?? "" }
      const { fixing, spent } = outcome
      if (spent !== undefined) counts = counted(counts, { ...none, ...spent })
      if (fixing !== undefined) counts = counted(counts, fixing)
      for (const inner of [fixing, spent]) {
        if (inner === undefined) continue
        failures.push(...inner.failures.map((entry) => placedIn(entry, call)))
        repairs.push(...inner.repairs.map((repaired) => placedIn(repaired, call)))
      }
      failures.push(...failuresOf(call, outcome, isTold))
      repairs.push(...(outcome.repairs ?? []).map((repair) => ({ ...call, ...repair })))
    })
    return new Account(counts, this.#failures.append(failures), this.#repairs.append(repairs))
  }
}

const none = { turns: 0, calls: 0 }

const counted = (one: Counts, other: Counts): Counts =>
  addUsage({ turns: one.turns + other.turns, calls: one.calls + other.calls }, one, other)

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
  const { attempts, certainty, intent } = outcome
  const call = { ...place, attempts, certainty, ...(intent?.key === undefined ? {} : { key: intent.key }) }
  const handled = outcome.handled.map(({ by, ...failure }) => ({ ...call, ...failure, handling: by }))
  if (outcome._tag !== "Failed" || !isTold) return handled
  const { _tag: tag, code, detail, severity } = outcome.failure
  const entry: CallEntry = { ...call, tag, code, detail: cut(detail, maxDetail), handling: "told" }
  return [...handled, severity === undefined ? entry : { ...entry, severity }]
}
