import * as Effect from "effect/Effect"

/** The mark of events about a step that was not run, since the journal has its result. */
export interface Replay {
  readonly replayed?: true
}

/** Reports a step once: when it begins, or at its end as replayed if it never began. */
export class StepStart {
  readonly #report: (replay: Replay) => void
  #hasBegun = false

  constructor(report: (replay: Replay) => void) {
    this.#report = report
  }

  /** Reports that the step begins. */
  readonly begin = (): void => {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#report({})
  }

  /** Returns an Effect that begins the step, and then runs. */
  of<A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.andThen(Effect.sync(this.begin), self)
  }

  /** Ends the step. Reports it as replayed if it never began. */
  replay(): Replay {
    if (this.#hasBegun) return {}
    const replay = { replayed: true } as const
    this.#report(replay)
    return replay
  }
}
