import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Watcher } from "../CallEvent.ts"
import * as Defect from "../Defect.ts"
import type { Hear } from "./frame.ts"

/** Tells a watcher, if there is one, of the events of a call: each with its time, by the clock of the fiber that runs the call. */
export const hearing = (
  fiber: Fiber.Fiber<unknown, unknown>,
  tool: string,
  key: string,
  watcher: Watcher | undefined
): Hear | undefined =>
  watcher === undefined ? undefined : ((event, failure, attempt) => {
    const at = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
    try {
      watcher({ ...event, tool, key, at, attempt }, failure)
    } catch (fault) {
      // A call does not fail because somebody watches it.
      Effect.runForkWith(fiber.context)(Defect.report("A watcher of calls threw an error", Cause.die(fault)))
    }
  })
