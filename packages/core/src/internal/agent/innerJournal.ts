import type * as Journal from "../../Journal.ts"

/**
 * The journal inside a step. The steps of the runs inside it have names of their own: that of the step around them, the
 * id of the run, and its number among those with this id. A handler that is run again, or that runs its agent again,
 * begins the next of them, and does not get the recorded failure of the one before.
 */
export class InnerJournal implements Journal.Journal {
  readonly #outer: Journal.Journal
  readonly #name: string
  readonly #runs = new Map<string, number>()

  constructor(outer: Journal.Journal, name: string) {
    this.#outer = outer
    this.#name = name
  }

  readonly step: Journal.Journal["step"] = (step, effect) =>
    this.#outer.step({ ...step, name: `${this.#name}/${step.name}` }, effect)

  /** Returns the journal of the next run with this id. */
  ofRun(id: string): Journal.Journal {
    const number = (this.#runs.get(id) ?? 0) + 1
    this.#runs.set(id, number)
    return new InnerJournal(this, number === 1 ? id : `${id}.${number}`)
  }
}
