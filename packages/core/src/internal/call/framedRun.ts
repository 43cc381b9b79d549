import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as CallEvent from "../../CallEvent.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { randomId } from "../effect/randomId.ts"
import { CallFrame } from "./callFrame.ts"
import { current, detached, type Frame, type Subject } from "./frame.ts"
import { hasPart, isRejection, ofAnother, saysNothingDone } from "./handlerEnding.ts"
import { entered, type InnerFrame } from "./innerFrame.ts"
import { doubtOf } from "./outcome.ts"
import { standaloneKey } from "./standaloneKey.ts"
import { toWatcher } from "./toWatcher.ts"

type Run = (params: unknown) => Effect.Effect<unknown, ToolFailure, unknown>

/** What is made of a run in its frame. */
type Finish<A, E extends ToolFailure, B, E2> = <R>(
  run: Effect.Effect<A, E, R>,
  frame: Frame
) => Effect.Effect<B, E2, R>

/** Each run is a call of its own, with a key that its attempts share: outside of a dispatch, and inside of another tool. */
export const framedRun = (tool: Subject, run: Run): Run => (params) => framed(tool, params, run(params), told)

/** The same, with something else made of the run. */
export const framed = <A, E extends ToolFailure, R, B, E2>(
  tool: Subject,
  params: unknown,
  run: Effect.Effect<A, E, R>,
  finish: Finish<A, E, B, E2>
): Effect.Effect<B, E2, R> =>
  Effect.withFiber((fiber) => {
    const outer = fiber.getRef(current)
    if (outer === detached) return alone(tool, run, finish, fiber)
    const own = entered(outer, tool, params)
    return finish(inside(own, outer, run), own)
  })

const alone = <A, E extends ToolFailure, R, B, E2>(
  tool: Subject,
  run: Effect.Effect<A, E, R>,
  finish: Finish<A, E, B, E2>,
  fiber: Fiber.Fiber<unknown, unknown>
) =>
  Effect.flatMap(idOf(fiber), (id) => {
    const hear = toWatcher(fiber, tool.name, id, fiber.getRef(CallEvent.watcher))
    const call = new CallFrame(id, tool, undefined, undefined, hear)
    if (fiber.getRef(standaloneKey) !== undefined) call.keyed = () => id
    return finish(Effect.provideService(run, current, call), call)
  })

// A key that a call is given names it, too.
const idOf = (fiber: Fiber.Fiber<unknown, unknown>): Effect.Effect<string> => {
  const key = fiber.getRef(standaloneKey)
  return key === undefined ? randomId("call") : Effect.succeed(key)
}

const inside = <A, E extends ToolFailure, R>(own: InnerFrame, outer: Frame, run: Effect.Effect<A, E, R>) => {
  outer.occupy()
  return Effect.onExit(Effect.provideService(run, current, own), (exit) =>
    Effect.sync(() => {
      outer.release()
      if (Exit.isFailure(exit)) {
        for (const reason of exit.cause.reasons) {
          // Its arguments were the outer handler's, and not those that the outer one was called with.
          if (!Cause.isFailReason(reason) || !saysNothingDone(reason.error)) continue
          outer.live.mayQuote = true
          if (isRejection(reason.error)) outer.live.hasRejected = true
        }
      }
      const hasAnswer = Exit.isSuccess(exit) || hasPart(exit.cause)
      own.ended(hasAnswer)
      if (!hasAnswer) return
      own.leave()
      // Where it is in doubt, the outer one is, too, and says so.
      const { certaintyOfAnswer } = own
      const doubt = certaintyOfAnswer === "unknown" ? undefined : doubtOf(own.tool, certaintyOfAnswer)
      if (doubt !== undefined) outer.note({ _tag: "CaveatAdded", text: doubt })
    }))
}

const told = <A, E extends ToolFailure, R>(run: Effect.Effect<A, E, R>, frame: Frame): Effect.Effect<A, E, R> =>
  Effect.mapError(run, (failure) => leaving(failure, frame))

/** What a failure is for whoever ran the tool: it says of its outcome what the call knows, whatever a policy made of it. */
export const leaving = <E extends ToolFailure>(failure: E, frame: Frame): E =>
  ofAnother(frame.known(failure), frame.done)
