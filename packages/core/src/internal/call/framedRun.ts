import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as CallEvent from "../../CallEvent.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { randomId } from "../value/randomId.ts"
import { CallFrame } from "./callFrame.ts"
import { current, detached, type Frame, type Subject } from "./frame.ts"
import { hasPart, isRejection, ofAnother, saysNothingDone } from "./handlerEnding.ts"
import { entered, type InnerFrame } from "./innerFrames.ts"
import { reportingInterruption } from "./interruptedCall.ts"
import { toWatcher } from "./notifyWatcher.ts"
import { doubtOf } from "./outcome.ts"
import { standaloneKey } from "./withoutAgent.ts"

type Run = (params: unknown) => Effect.Effect<unknown, ToolFailure, unknown>

/** A function that wraps a run, and also receives the frame of that run. */
type Finish<A, E extends ToolFailure, B, E2> = <R>(
  run: Effect.Effect<A, E, R>,
  frame: Frame
) => Effect.Effect<B, E2, R>

/**
 * Makes each run of a tool a separate call, whose attempts share one idempotency key. Used for runs
 * outside a dispatch, and for runs inside another tool.
 */
export const framedRun = (tool: Subject, run: Run): Run => (params) => framed(tool, params, run(params), failLeaving)

/** Runs an Effect as a separate call, wrapped by `finish`. */
export const framed = <A, E extends ToolFailure, R, B, E2>(
  tool: Subject,
  params: unknown,
  run: Effect.Effect<A, E, R>,
  finish: Finish<A, E, B, E2>
): Effect.Effect<B, E2, R> =>
  Effect.withFiber((fiber) => {
    const outer = fiber.getRef(current)
    if (outer === detached) return runAlone(tool, run, finish, fiber)
    const inner = entered(outer, tool, params)
    return finish(reportingInterruption(runInside(inner, outer, run), inner), inner)
  })

const runAlone = <A, E extends ToolFailure, R, B, E2>(
  tool: Subject,
  run: Effect.Effect<A, E, R>,
  finish: Finish<A, E, B, E2>,
  fiber: Fiber.Fiber<unknown, unknown>
) =>
  Effect.flatMap(idOf(fiber), (id) => {
    const hear = toWatcher(fiber, tool.name, id, fiber.getRef(CallEvent.watcher))
    const call = new CallFrame(id, tool, undefined, undefined, hear)
    if (fiber.getRef(standaloneKey) !== undefined) call.keyed = () => id
    return finish(reportingInterruption(Effect.provideService(run, current, call), call), call)
  })

// A key that the program sets is also the id of the call.
const idOf = (fiber: Fiber.Fiber<unknown, unknown>): Effect.Effect<string> => {
  const key = fiber.getRef(standaloneKey)
  return key === undefined ? randomId("call") : Effect.succeed(key)
}

const runInside = <A, E extends ToolFailure, R>(inner: InnerFrame, outer: Frame, run: Effect.Effect<A, E, R>) => {
  outer.occupy()
  return Effect.onExit(Effect.provideService(run, current, inner), (exit) =>
    Effect.sync(() => {
      outer.release()
      if (Exit.isFailure(exit)) {
        for (const reason of exit.cause.reasons) {
          // The inner tool's arguments came from the outer handler. So the failure says nothing about
          // the outer call's own arguments.
          if (!Cause.isFailReason(reason) || !saysNothingDone(reason.error)) continue
          outer.live.mayQuote = true
          if (isRejection(reason.error)) outer.live.hasRejected = true
        }
      }
      const hasAnswer = Exit.isSuccess(exit) || hasPart(exit.cause)
      inner.ended(hasAnswer)
      if (!hasAnswer) return
      inner.leave()
      // If the inner call is in doubt, so is the outer call, which adds that caveat itself.
      const { certaintyOfAnswer } = inner
      const doubt = certaintyOfAnswer === "unknown" ? undefined : doubtOf(inner.tool, certaintyOfAnswer)
      if (doubt !== undefined) outer.note({ _tag: "CaveatAdded", text: doubt })
    }))
}

const failLeaving = <A, E extends ToolFailure, R>(run: Effect.Effect<A, E, R>, frame: Frame): Effect.Effect<A, E, R> =>
  Effect.mapError(run, (failure) => leaving(failure, frame))

/**
 * Converts a failure for the code that ran the tool. Sets its `outcome` to the certainty of the call,
 * even if a policy has changed that outcome.
 */
export const leaving = <E extends ToolFailure>(failure: E, frame: Frame): E =>
  ofAnother(frame.known(failure), frame.done)
