import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Deadline from "../../Deadline.ts"

/** The time that a run has used. Time counts only while a process works on the run, not between processes. */
export class RunTime {
  readonly #clock: Clock.Clock
  readonly #limit: number
  /** The outer deadline, in milliseconds of the clock. It ends the run even if the run has used less than its limit. */
  readonly #outer: number
  readonly #start: number
  /** How much of the limit is kept for the conclusion of the run, in milliseconds. */
  readonly #reserve: number
  #before: number
  #isShifted = false

  /**
   * @param limit how long the run may take, in milliseconds
   * @param before how much time earlier processes have used, in milliseconds
   * @param reserve how much of the limit is kept for the conclusion of the run, in milliseconds
   */
  constructor({ context }: Fiber.Fiber<unknown, unknown>, limit: number, before: number, reserve: number) {
    this.#clock = Context.get(context, Clock.Clock)
    this.#outer = Context.get(context, Deadline.current)
    this.#limit = limit
    this.#before = before
    this.#reserve = reserve
    this.#start = this.#clock.currentTimeMillisUnsafe()
  }

  /** The time, in milliseconds of the clock. */
  get now(): number {
    return this.#clock.currentTimeMillisUnsafe()
  }

  /** The time that the run has used, including earlier processes, in milliseconds. */
  get used(): number {
    return this.#before + this.#clock.currentTimeMillisUnsafe() - this.#start
  }

  /** When the time of the run is up, but for its conclusion, in milliseconds of the clock. */
  get deadline(): number {
    return Math.min(this.#outer, this.#start + this.#limit - this.#before - this.#reserve)
  }

  /** When all time of the run is up, in milliseconds of the clock. */
  get end(): number {
    return Math.min(this.#outer, this.#start + this.#limit - this.#before)
  }

  /** How much time is left until the deadline, in milliseconds. */
  get millisLeft(): number {
    return this.#millisTo(this.deadline)
  }

  /** How much time is left in all, in milliseconds. */
  get millisToEnd(): number {
    return this.#millisTo(this.end)
  }

  #millisTo(time: number): number {
    return time === Infinity ? time : Math.max(0, time - this.#clock.currentTimeMillisUnsafe())
  }

  /**
   * Adds the time that an earlier process spent until the end of a replayed step.
   *
   * @param used how much time the run had used when the step ended, in milliseconds
   */
  replayed(used: number): void {
    const missing = used - this.used
    if (missing <= 0) return
    this.#before += missing
    this.#isShifted = true
  }

  /**
   * Takes out the time that the run has waited for people.
   *
   * @param millis how long it has waited, in milliseconds
   */
  waited(millis: number): void {
    this.#before -= millis
    this.#isShifted = true
  }

  /** Runs an Effect under the current deadline, which is earlier if steps were replayed, and later if the run has waited. */
  within<A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => this.#isShifted ? Effect.provideService(self, Deadline.current, this.deadline) : self)
  }
}
