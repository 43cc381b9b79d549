import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ToolFailure } from "../../ToolFailure.ts"
import { isRejection } from "../call/ending.ts"
import { isOpen } from "../call/mayBegin.ts"
import { current } from "../call/scope.ts"
import { isOfTool } from "../failure/evidence.ts"
import { withoutOwnFiber, withOwnFiber } from "../policy/ownFiber.ts"

type Run = (params: unknown) => Effect.Effect<unknown, ToolFailure, unknown>

/**
 * Remembers whether the latest run of a handler has rejected its arguments. Policies see that failure like any other, and
 * may replace it. So the correction stage cannot tell by the failure of the call.
 */
export const rememberingRejections = (handler: Run): Run =>
  withOwnFiber(remembering(handler), remembering(withoutOwnFiber(handler)))

const remembering = (handler: Run): Run => (params) =>
  Effect.withFiber((fiber) => {
    const scope = fiber.getRef(current)
    scope.live.rejection = "none"
    // One step: between two steps, an interruption could hide how the handler has ended.
    return Effect.catchCause(handler(params), (cause) => {
      const failure = cause.reasons.length === 1 ? Option.getOrUndefined(Cause.findErrorOption(cause)) : undefined
      // An inner tool's rejection is about arguments that the handler made, not the model.
      if (
        failure !== undefined && isRejection(failure) && !isOfTool(failure) && scope.quoted !== "rejection" &&
        isOpen(scope)
      ) {
        scope.live.rejection = failure
      }
      return Effect.failCause(cause)
    })
  })
