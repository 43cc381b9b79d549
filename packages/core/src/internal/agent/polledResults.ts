import type { ToolCall } from "../../ToolCall.ts"
import type { Completed, ToolOutcome } from "../../ToolOutcome.ts"
import { canonicalArguments } from "./canonicalArguments.ts"

/** How many calls are remembered. */
const most = 20

/** The results that a run has of the tools that it polls. */
export class PolledResults {
  readonly #results = new Map<string, Completed>()

  /** Returns the result that the model has of a call, if the same call was made before. */
  of(call: ToolCall): Completed | undefined {
    return this.#results.get(keyOf(call))
  }

  add(call: ToolCall, outcome: ToolOutcome): void {
    const key = keyOf(call)
    this.#results.delete(key)
    // After a failure, the model does not wait for a change.
    if (outcome._tag !== "Completed") return
    this.#results.set(key, outcome)
    const [oldest] = this.#results.keys()
    if (this.#results.size > most && oldest !== undefined) this.#results.delete(oldest)
  }
}

const keyOf = ({ arguments: text = "", name }: ToolCall): string =>
  JSON.stringify([name, canonicalArguments(text) ?? text])
