import * as Effect from "effect/Effect"
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
    if (scope.rejection !== undefined) scope.live.rejection = undefined
    // No further step: between two steps, an interruption could hide how the handler has ended.
    return Effect.catch(handler(params), (failure) => {
      // An inner tool's rejection is about arguments that the handler made, not the model.
      const isOwn = isRejection(failure) && !isOfTool(failure) && scope.quoted !== "rejection"
      if (isOwn && isOpen(scope)) scope.live.rejection = failure
      return Effect.fail(failure)
    })
  })
