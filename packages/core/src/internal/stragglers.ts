import type * as Fiber from "effect/Fiber"

/**
 * What earlier attempts of a call may have done, or may still do.
 *
 * Handlers that nobody waits for any more may still be running: a timeout left them behind. While there
 * are any, what acts is not tried again, and permits stay taken.
 */
export class Stragglers {
  private readonly fibers = new Set<Fiber.Fiber<unknown, unknown>>()
  private readonly outer: Stragglers | undefined
  private isSuspect = false

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

  /** An attempt has acted, or may have. */
  suspect() {
    this.isSuspect = true
  }

  /** May anything that was done so far have acted, or still act? It says nothing of a tool that only reads. */
  get mayHaveActed(): boolean {
    return this.isSuspect || this.fibers.size > 0
  }
}
