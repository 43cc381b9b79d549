import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Observer } from "../../Observer.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import type { Hear } from "./scope.ts"

/**
 * Returns a function that passes the events of a call to an observer; `undefined` if there is
 * none. The clock with which the call started gives each event its time, because the fiber may
 * have a different clock when a late event arrives.
 */
export const toObserver = (
  fiber: Fiber.Fiber<unknown, unknown>,
  tool: string,
  id: string,
  onEvent: Observer["onEvent"]
): Hear | undefined => {
  if (onEvent === undefined) return undefined
  const { context } = fiber
  const clock = Context.get(context, Clock.Clock)
  return (event, failure, attempt) => {
    const at = clock.currentTimeMillisUnsafe()
    try {
      onEvent({ ...event, tool, id, at, attempt }, failure)
    } catch (error) {
      // An observer that throws must not fail the call.
      Effect.runForkWith(context)(reportDefect("An observer of calls threw an error", Cause.die(error)))
    }
  }
}
