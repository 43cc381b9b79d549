import type { ToolCall } from "../../ToolCall.ts"
import type { Completed, ToolOutcome } from "../../ToolOutcome.ts"
import { Latest } from "../value/latest.ts"
import { canonicalArguments } from "./canonicalArguments.ts"

/** The results that a run has of the tools that it polls. */
export class PolledResults {
  readonly #results = new Latest<string, Completed>(20)

  /** Returns the result that the model has of a call, if the same call was made before. */
  of(call: ToolCall): Completed | undefined {
    return this.#results.get(keyOf(call))
  }

  add(call: ToolCall, outcome: ToolOutcome): void {
    const key = keyOf(call)
    if (outcome._tag === "Completed") this.#results.set(key, outcome)
    // After a failure, the model does not wait for a change.
    else this.#results.delete(key)
  }
}

const keyOf = ({ arguments: text = "", name }: ToolCall): string =>
  JSON.stringify([name, canonicalArguments(text) ?? text])
