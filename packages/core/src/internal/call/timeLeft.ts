import * as Clock from "effect/Clock"
import type * as Fiber from "effect/Fiber"
import * as Deadline from "../../Deadline.ts"

/**
 * Returns the time until the deadline of a fiber, in milliseconds; `Infinity` without a deadline.
 */
export const millisLeft = (fiber: Fiber.Fiber<unknown, unknown>): number => {
  const deadline = fiber.getRef(Deadline.current)
  return deadline === Infinity
    ? Infinity
    : Math.max(0, deadline - fiber.getRef(Clock.Clock).currentTimeMillisUnsafe())
}

/**
 * Returns the time until the deadline of a fiber minus {@link momentToAnswer}, in milliseconds. That
 * moment is reserved for answering with partial results.
 */
export const millisToAnswer = (fiber: Fiber.Fiber<unknown, unknown>): number =>
  Math.max(0, millisLeft(fiber) - momentToAnswer)

/**
 * The time reserved for answering before a deadline, in milliseconds.
 */
export const momentToAnswer = 100
