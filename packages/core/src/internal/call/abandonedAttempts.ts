import type * as Fiber from "effect/Fiber"

/**
 * The abandoned attempts of a call that still run. While there are any, a non-idempotent tool does not run
 * again, and permits stay taken.
 */
export class AbandonedAttempts {
  #fibers: Set<Fiber.Fiber<unknown, unknown>> | undefined = undefined
  readonly #outer: AbandonedAttempts | undefined

  /** @param outer also records every attempt that is abandoned here */
  constructor(outer?: AbandonedAttempts) {
    this.#outer = outer
  }

  add(fiber: Fiber.Fiber<unknown, unknown>): void {
    const fibers = this.#fibers ??= new Set()
    fibers.add(fiber)
    this.#outer?.add(fiber)
    fiber.addObserver(() => fibers.delete(fiber))
  }

  get fibers(): Iterable<Fiber.Fiber<unknown, unknown>> {
    return this.#fibers ?? []
  }

  get isAny(): boolean {
    return this.#fibers !== undefined && this.#fibers.size > 0
  }
}
