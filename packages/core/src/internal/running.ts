import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as CallEvent from "../CallEvent.ts"
import type { SideEffect } from "../SideEffect.ts"
import * as ToolCall from "../ToolCall.ts"
import { isNotExecuted, isOutcomeUnknown, type ToolFailure } from "../ToolFailure.ts"
import { isRejection } from "./callArguments.ts"
import { Call, current, detached, type Frame, type Subject } from "./frame.ts"
import { hearing } from "./hearing.ts"
import { isUncertain, withOutcome } from "./outcome.ts"
import { randomId } from "./randomId.ts"

type Run = (params: unknown) => Effect.Effect<unknown, ToolFailure, unknown>

/** Each run is a call of its own, with a key that its attempts share: outside of a dispatch, and inside of another tool. */
export const inContext = (
  { name, sideEffect }: { readonly name: string; readonly sideEffect: SideEffect },
  run: Run
): Run => {
  const tool = { name, acts: sideEffect !== "none" }
  return (params) =>
    Effect.withFiber((fiber) => {
      const outer = fiber.getRef(current)
      if (outer === detached) return alone(tool, run(params), fiber)
      const own = outer.enter(tool)
      return own === outer ? run(params) : inside(own, outer, run(params))
    })
}

const alone = <A, E, R>(tool: Subject, run: Effect.Effect<A, E, R>, fiber: Fiber.Fiber<unknown, unknown>) =>
  Effect.flatMap(ToolCall.keyOr(randomId("call")), (key) => {
    const hear = hearing(fiber, tool.name, key, fiber.getRef(CallEvent.watcher))
    const call = new Call(key, tool, undefined, undefined, hear)
    call.claim()
    return Effect.provideService(run, current, call)
  })

const inside = <A, E extends ToolFailure, R>(own: Frame, outer: Frame, run: Effect.Effect<A, E, R>) => {
  outer.occupy()
  return Effect.onExit(Effect.provideService(run, current, own), (exit) =>
    Effect.sync(() => {
      outer.release()
      if (Exit.isFailure(exit)) {
        for (const reason of exit.cause.reasons) {
          // Its arguments were the outer handler's, and not those that the outer one was called with.
          if (Cause.isFailReason(reason) && isRejection(reason.error)) outer.live.arguments.disown(reason.error)
        }
      }
      if (own.tool.acts && own.state.executions > 0 && !outer.state.hasActedInside && !didNothing(exit)) {
        outer.note({ _tag: "InnerActed", inside: own.tool.name })
      }
      if (Exit.isSuccess(exit)) own.leave()
    }))
}

const didNothing = (exit: Exit.Exit<unknown, ToolFailure>): boolean =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.every((reason) => Cause.isFailReason(reason) && isNotExecuted(reason.error))

/**
 * What the handler of a tool that acts fails with: a passing failure that says nothing of its outcome may have come after the
 * act, and that a tool inside was not executed says nothing of one that was before.
 */
export const afterAct = <E extends ToolFailure>(failure: E, hasActedInside: boolean): E => {
  if (failure._tag !== "ToolUnavailable") return failure
  const isUnknown = isUncertain(failure) || isNotExecuted(failure) && hasActedInside
  // What it is made of stays what it was, which the compiler does not see of a type parameter.
  return isUnknown && !isOutcomeUnknown(failure) ? withOutcome(failure, "unknown") as E : failure
}
