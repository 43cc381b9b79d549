import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Deadline from "../../Deadline.ts"

/** How much of its time a run has used: that in which a process was at work on it, and not the one in between. */
export class RunTime {
  readonly #clock: Clock.Clock
  readonly #limit: number
  /** What ends the run from outside, whatever it has used. */
  readonly #outer: number
  readonly #start: number
  #before: number
  #isShifted = false

  /**
   * @param limit how long the run may take, in milliseconds
   * @param before how much of that earlier processes have used
   */
  constructor({ context }: Fiber.Fiber<unknown, unknown>, limit: number, before: number) {
    this.#clock = Context.get(context, Clock.Clock)
    this.#outer = Context.get(context, Deadline.current)
    this.#limit = limit
    this.#before = before
    this.#start = this.#clock.currentTimeMillisUnsafe()
  }

  /** In milliseconds, with what earlier processes have used. */
  get used(): number {
    return this.#before + this.#clock.currentTimeMillisUnsafe() - this.#start
  }

  /** When the time is up, in milliseconds of the clock. */
  get deadline(): number {
    return Math.min(this.#outer, this.#start + this.#limit - this.#before)
  }

  get millisLeft(): number {
    const { deadline } = this
    return deadline === Infinity ? deadline : Math.max(0, deadline - this.#clock.currentTimeMillisUnsafe())
  }

  /** A step was not run, since an earlier process had: when it ended, so much was used. */
  replayed(used: number): void {
    const missing = used - this.used
    if (missing <= 0) return
    this.#before += missing
    this.#isShifted = true
  }

  /** What runs in the run's time: its deadline may have moved since the run began. */
  within<A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => this.#isShifted ? Effect.provideService(self, Deadline.current, this.deadline) : self)
  }
}
