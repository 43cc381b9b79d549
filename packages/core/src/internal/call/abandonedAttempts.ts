import type * as Fiber from "effect/Fiber"

/**
 * Attempts that nobody waits for any more, and that may still run: a timeout left them behind. While there are any, what acts is not
 * tried again, and permits stay taken.
 */
export class AbandonedAttempts {
  #fibers: Set<Fiber.Fiber<unknown, unknown>> | undefined = undefined
  readonly #outer: AbandonedAttempts | undefined

  /** @param outer what this call leaves behind, the outer one does, too */
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
