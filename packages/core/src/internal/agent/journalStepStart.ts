import * as Effect from "effect/Effect"

/** Marks the events of a step that did not run, because the journal returned its recorded result. */
export interface Replay {
  readonly replayed?: true
}

/** Reports the start of a step once: when the step begins or, if it never ran, as replayed when it ends. */
export class StepStart {
  readonly #report: (replay: Replay) => void
  #hasBegun = false

  constructor(report: (replay: Replay) => void) {
    this.#report = report
  }

  /** Reports that the step begins, unless that was already reported. */
  readonly begin = (): void => {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#report({})
  }

  /** Returns an Effect that reports the start of the step and then runs `self`. */
  of<A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.andThen(Effect.sync(this.begin), self)
  }

  /** Called when the step has ended. If the step never began, reports it as replayed. */
  replay(): Replay {
    if (this.#hasBegun) return {}
    const replay = { replayed: true } as const
    this.#report(replay)
    return replay
  }
}
