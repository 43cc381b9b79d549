import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Deadline from "../../Deadline.ts"

/** The time of a run. Only time in which a process works on the run counts, not the time between processes. */
export class RunTime {
  readonly #clock: Clock.Clock
  readonly #limit: number
  /** The outer deadline, which ends the run whatever it has used, in milliseconds of the clock. */
  readonly #outer: number
  readonly #start: number
  #before: number
  #isShifted = false

  /**
   * @param limit how long the run may take, in milliseconds
   * @param before how much of it earlier processes have used, in milliseconds
   */
  constructor({ context }: Fiber.Fiber<unknown, unknown>, limit: number, before: number) {
    this.#clock = Context.get(context, Clock.Clock)
    this.#outer = Context.get(context, Deadline.current)
    this.#limit = limit
    this.#before = before
    this.#start = this.#clock.currentTimeMillisUnsafe()
  }

  /** The time used, including earlier processes, in milliseconds. */
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

  /**
   * Counts the time of a step that an earlier process ran.
   *
   * @param used how much time the run had used when the step ended, in milliseconds
   */
  replayed(used: number): void {
    const missing = used - this.used
    if (missing <= 0) return
    this.#before += missing
    this.#isShifted = true
  }

  /** Runs an Effect under the current deadline, which replayed steps may have moved. */
  within<A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => this.#isShifted ? Effect.provideService(self, Deadline.current, this.deadline) : self)
  }
}
