import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Watcher } from "../../CallEvent.ts"
import * as Defect from "../../Defect.ts"
import type { Hear } from "./frame.ts"

/**
 * Tells a watcher, if there is one, of the events of a call: each with its time, by the clock that the call began with. Late ones may come
 * when its fiber has left what provided that clock.
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
    } catch (fault) {
      // A call does not fail because somebody watches it.
      Effect.runForkWith(context)(Defect.report("A watcher of calls threw an error", Cause.die(fault)))
    }
  }
}
