import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"

/** The step at which a journal failed. */
export interface Fault {
  readonly step: string
  readonly cause: Cause.Cause<unknown>
}

/** Whether the journal of a run has failed. A fault inside a call halts the run around it, and with it all runs inside. */
export class Halt {
  readonly #around: EnclosingStep | undefined
  #fault: Fault | undefined
  /** False while the run only takes what its journal has: until then, an earlier process has come further. */
  isAhead = false

  constructor(around: EnclosingStep | undefined) {
    this.#around = around
  }

  get fault(): Fault | undefined {
    return this.#fault ?? this.#around?.halt.fault
  }

  fail(fault: Fault): void {
    this.#fault ??= fault
    this.#around?.halt.fail(fault)
  }
}

/** The step of a journal in which code runs. The runs inside it record their steps under its name. */
export class EnclosingStep {
  readonly name: string
  /** That of the run to which the step belongs. */
  readonly halt: Halt
  /** True once the journal has interrupted a step inside: then this step has no result either. */
  isInterrupted = false
  readonly #runs = new Map<string, number>()

  constructor(name: string, halt: Halt) {
    this.name = name
    this.halt = halt
  }

  /**
   * Returns what the names of a run's steps begin with: the name of this step, the id of the run, and its number among
   * those with this id. A handler that is run again, or that runs its agent again, begins the next of them, and does not get
   * the recorded failure of the one before.
   */
  prefixOf(id: string): string {
    const number = (this.#runs.get(id) ?? 0) + 1
    this.#runs.set(id, number)
    return `${this.name}/${encodeURIComponent(id)}#${number}/`
  }
}

/** The step in which the current code runs; `undefined` if nothing is recorded around it. */
export const enclosing: Context.Reference<EnclosingStep | undefined> = Context.Reference<EnclosingStep | undefined>(
  "@fallible/core/enclosingStep",
  { defaultValue: () => undefined }
)
