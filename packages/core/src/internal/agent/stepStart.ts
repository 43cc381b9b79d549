import * as Effect from "effect/Effect"

/** What events say of a step that was not run, since a journal has its result. */
export interface Replay {
  readonly replayed?: true
}

/** Tells of a step when it begins; or at its end that it was replayed, if it never began. */
export class StepStart {
  readonly #tell: (replay: Replay) => void
  #hasBegun = false

  constructor(tell: (replay: Replay) => void) {
    this.#tell = tell
  }

  /** The step begins. */
  readonly begin = (): void => {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#tell({})
  }

  /** An Effect with which the step begins. */
  of<A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.andThen(Effect.sync(this.begin), self)
  }

  /** The step has ended. */
  replay(): Replay {
    if (this.#hasBegun) return {}
    const replay = { replayed: true } as const
    this.#tell(replay)
    return replay
  }
}
