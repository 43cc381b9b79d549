import type * as Fiber from "effect/Fiber"

/**
 * Handlers that nobody waits for any more, and that may still be running: a timeout left them behind. While there
 * are any, what acts is not tried again, and permits stay taken.
 */
export class Stragglers {
  private readonly fibers = new Set<Fiber.Fiber<unknown, unknown>>()
  private readonly outer: Stragglers | undefined

  constructor(outer?: Stragglers) {
    this.outer = outer
  }

  add(fiber: Fiber.Fiber<unknown, unknown>) {
    this.fibers.add(fiber)
    this.outer?.add(fiber)
    fiber.addObserver(() => this.fibers.delete(fiber))
  }

  get running(): ReadonlySet<Fiber.Fiber<unknown, unknown>> {
    return this.fibers
  }
}
