import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Watcher } from "../../CallEvent.ts"
import * as Defect from "../../Defect.ts"
import type { Hear } from "./scope.ts"

/**
 * Returns a function that passes the events of a call to a watcher; `undefined` if there is no
 * watcher. The clock with which the call started gives each event its time, because the fiber may
 * have a different clock when a late event arrives.
 */
export const toWatcher = (
  fiber: Fiber.Fiber<unknown, unknown>,
  tool: string,
  id: string,
  watcher: Watcher | undefined
): Hear | undefined => {
  if (watcher === undefined) return undefined
  const { context } = fiber
  const clock = Context.get(context, Clock.Clock)
  return (event, failure, attempt) => {
    const at = clock.currentTimeMillisUnsafe()
    try {
      watcher({ ...event, tool, id, at, attempt }, failure)
    } catch (error) {
      // A watcher that throws must not fail the call.
      Effect.runForkWith(context)(Defect.report("A watcher of calls threw an error", Cause.die(error)))
    }
  }
}
