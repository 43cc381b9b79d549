import type { Entry, Ledger } from "../Ledger.ts"
import type { Reply } from "../Model.ts"
import type { ToolOutcome } from "../ToolOutcome.ts"
import { AppendOnly } from "./appendOnly.ts"
import { cut, mostDetail } from "./text.ts"

/** A ledger that is still being written: immutable, and as cheap to extend after a thousand failures as after one. */
export class Account {
  readonly #counts: Omit<Ledger, "failures">
  readonly #failures: AppendOnly<Entry>

  private constructor(counts: Omit<Ledger, "failures">, failures: AppendOnly<Entry>) {
    this.#counts = counts
    this.#failures = failures
  }

  static empty(): Account {
    return new Account({ turns: 0, calls: 0, inputTokens: 0, outputTokens: 0 }, AppendOnly.from<Entry>([]))
  }

  static from({ failures, ...counts }: Ledger): Account {
    return new Account(counts, AppendOnly.from(failures))
  }

  get ledger(): Ledger {
    return { ...this.#counts, failures: this.#failures.toArray() }
  }

  /** How many calls the model has made. */
  get calls(): number {
    return this.#counts.calls
  }

  /** Tokens in and out, as far as they were counted. */
  get tokens(): number {
    return this.#counts.inputTokens + this.#counts.outputTokens
  }

  replied(reply: Reply): Account {
    const { calls, inputTokens, outputTokens, turns } = this.#counts
    return new Account({
      turns: turns + 1,
      calls: calls + reply.calls.length,
      inputTokens: inputTokens + (reply.usage?.inputTokens ?? 0),
      outputTokens: outputTokens + (reply.usage?.outputTokens ?? 0)
    }, this.#failures)
  }

  ended(turn: number, reply: Reply, outcomes: ReadonlyArray<ToolOutcome>): Account {
    const entries = outcomes.flatMap((outcome, index) => entriesOf(turn, index, reply, outcome))
    return entries.length === 0 ? this : new Account(this.#counts, this.#failures.append(entries))
  }
}

const entriesOf = (turn: number, index: number, reply: Reply, outcome: ToolOutcome): ReadonlyArray<Entry> => {
  if (outcome._tag === "Completed" && outcome.handled.length === 0) return []
  const call = { turn, call: index + 1, tool: reply.calls[index]?.name ?? "", attempts: outcome.attempts }
  const handled = outcome.handled.map(({ by, ...failure }) => ({ ...call, ...failure, ended: by }))
  if (outcome._tag !== "Failed") return handled
  const { _tag: tag, code, detail } = outcome.failure
  return [...handled, { ...call, tag, code, detail: cut(detail, mostDetail), ended: "told" }]
}
