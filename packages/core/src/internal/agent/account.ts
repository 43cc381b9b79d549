import type { CallEntry, Entry, Ledger, ModelEntry, Repaired } from "../../Ledger.ts"
import type { Reply } from "../../Model.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import { AppendOnly } from "../value/appendOnly.ts"
import { cut, mostDetail } from "../value/text.ts"

type Counts = Omit<Ledger, "failures" | "repairs">

/** A ledger that is still being written: immutable, and as cheap to extend after a thousand failures as after one. */
export class Account {
  readonly #counts: Counts
  readonly #failures: AppendOnly<Entry>
  readonly #repairs: AppendOnly<Repaired>

  private constructor(counts: Counts, failures: AppendOnly<Entry>, repairs: AppendOnly<Repaired>) {
    this.#counts = counts
    this.#failures = failures
    this.#repairs = repairs
  }

  static empty(): Account {
    return Account.from({ turns: 0, calls: 0, inputTokens: 0, outputTokens: 0, failures: [], repairs: [] })
  }

  static from({ failures, repairs, ...counts }: Ledger): Account {
    return new Account(counts, AppendOnly.from(failures), AppendOnly.from(repairs))
  }

  get ledger(): Ledger {
    return { ...this.#counts, failures: this.#failures.toArray(), repairs: this.#repairs.toArray() }
  }

  /** How many calls the model has made. */
  get calls(): number {
    return this.#counts.calls
  }

  /** Tokens in and out, as far as they were counted. */
  get tokens(): number {
    return this.#counts.inputTokens + this.#counts.outputTokens
  }

  get turns(): number {
    return this.#counts.turns
  }

  /** What is new since an earlier one of the same run. */
  since(earlier: Account): Ledger {
    const { calls, inputTokens, outputTokens, turns } = this.#counts
    const before = earlier.#counts
    return {
      turns: turns - before.turns,
      calls: calls - before.calls,
      inputTokens: inputTokens - before.inputTokens,
      outputTokens: outputTokens - before.outputTokens,
      failures: this.#failures.from(earlier.#failures.length),
      repairs: this.#repairs.from(earlier.#repairs.length)
    }
  }

  /** The model failed, whether or not it was asked again. */
  modelFailed(failures: ReadonlyArray<ModelEntry>): Account {
    return failures.length === 0 ? this : new Account(this.#counts, this.#failures.append(failures), this.#repairs)
  }

  replied(reply: Reply): Account {
    const counts = counted(this.#counts, {
      turns: 1,
      calls: reply.calls.length,
      inputTokens: reply.usage?.inputTokens ?? 0,
      outputTokens: reply.usage?.outputTokens ?? 0
    })
    return new Account(counts, this.#failures, this.#repairs)
  }

  ended(turn: number, reply: Reply, outcomes: ReadonlyArray<ToolOutcome>): Account {
    if (outcomes.every(isPlain)) return this
    const failures: Array<Entry> = []
    const repairs: Array<Repaired> = []
    let counts = this.#counts
    outcomes.forEach((outcome, index) => {
      const call = { turn, call: index + 1, tool: reply.calls[index]?.name ?? "" }
      const { fixing } = outcome
      if (fixing !== undefined) {
        counts = counted(counts, fixing)
        failures.push(...fixing.failures.map((entry) => placedIn(entry, call)))
        repairs.push(...fixing.repairs.map((repaired) => placedIn(repaired, call)))
      }
      failures.push(...failuresOf(call, outcome))
      repairs.push(...(outcome.repairs ?? []).map((repair) => ({ ...call, ...repair })))
    })
    return new Account(counts, this.#failures.append(failures), this.#repairs.append(repairs))
  }
}

const counted = (counts: Counts, { calls, inputTokens, outputTokens, turns }: Counts): Counts => ({
  turns: counts.turns + turns,
  calls: counts.calls + calls,
  inputTokens: counts.inputTokens + inputTokens,
  outputTokens: counts.outputTokens + outputTokens
})

// What is told of an agent that corrected the arguments of a call has the place of that call.
const placedIn = <Told extends Entry | Repaired>(
  told: Told,
  { call, turn }: Pick<CallEntry, "turn" | "call">
): Told => ({
  ...told,
  turn,
  ...("call" in told ? { call } : {})
})

// Most calls are: nothing failed, nothing was repaired.
const isPlain = ({ _tag, handled, repairs = [] }: ToolOutcome): boolean =>
  _tag === "Completed" && handled.length === 0 && repairs.length === 0

const failuresOf = (
  place: Pick<CallEntry, "turn" | "call" | "tool">,
  outcome: ToolOutcome
): ReadonlyArray<CallEntry> => {
  const { attempts, certainty } = outcome
  const call = { ...place, attempts, certainty }
  const handled = outcome.handled.map(({ by, ...failure }) => ({ ...call, ...failure, ended: by }))
  if (outcome._tag !== "Failed") return handled
  const { _tag: tag, code, detail, severity } = outcome.failure
  const told: CallEntry = { ...call, tag, code, detail: cut(detail, mostDetail), ended: "told" }
  return [...handled, severity === undefined ? told : { ...told, severity }]
}
