import type * as Fiber from "effect/Fiber"

/**
 * The attempts of a call that are still running although a timeout or a policy no longer waits for them.
 * Until they have ended, a non-idempotent tool does not run again, and the permits that they hold stay taken.
 */
export class AbandonedAttempts {
  #fibers: Set<Fiber.Fiber<unknown, unknown>> | undefined = undefined
  readonly #outer: AbandonedAttempts | undefined

  /** @param outer the abandoned attempts of the outer call, to which every attempt added here is added, too */
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
