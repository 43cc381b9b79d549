import * as Clock from "effect/Clock"
import type * as Fiber from "effect/Fiber"
import * as Deadline from "../../Deadline.ts"

/**
 * How many milliseconds a fiber has until its deadline.
 */
export const millisLeft = (fiber: Fiber.Fiber<unknown, unknown>): number => {
  const deadline = fiber.getRef(Deadline.current)
  return deadline === Infinity
    ? Infinity
    : Math.max(0, deadline - fiber.getRef(Clock.Clock).currentTimeMillisUnsafe())
}

/**
 * The time left, less a moment in which there can still be an answer of what was found until then.
 */
export const millisToAnswer = (fiber: Fiber.Fiber<unknown, unknown>): number =>
  Math.max(0, millisLeft(fiber) - momentToAnswer)

/**
 * That moment, in milliseconds.
 */
export const momentToAnswer = 100
