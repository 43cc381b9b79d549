import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Observer from "../../Observer.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { certaintyOf } from "../failure/effects.ts"
import { randomId } from "../value/randomId.ts"
import { hasPart, isRejection, saysNothingDone } from "./ending.ts"
import { endInner, handOut, innerScope } from "./innerScope.ts"
import { reportingInterruption } from "./interruptedCall.ts"
import { failureLeaving } from "./known.ts"
import { note } from "./note.ts"
import { toObserver } from "./notifyObserver.ts"
import { doubtOf } from "./outcome.ts"
import { callScope } from "./partScope.ts"
import { current, detached, type Scope, type Subject } from "./scope.ts"
import { standaloneKey } from "./withoutAgent.ts"

type Run = (params: unknown) => Effect.Effect<unknown, ToolFailure, unknown>

/**
 * Makes each run of a tool a separate call, whose attempts share one idempotency key. Used for runs
 * outside a dispatch, and for runs inside another tool.
 */
export const asCalls = (tool: Subject, run: Run): Run => (params) =>
  runAsCall(tool, params, run(params), (call) => call)

/** Runs an Effect as a separate call, wrapped by `finish`, which also receives the scope of that call. */
export const runAsCall = <A, E extends ToolFailure, R, B, E2>(
  tool: Subject,
  params: unknown,
  run: Effect.Effect<A, E, R>,
  finish: (call: Effect.Effect<A, E, R>, scope: Scope) => Effect.Effect<B, E2, R>
): Effect.Effect<B, E2, R> =>
  Effect.withFiber((fiber) => {
    const outer = fiber.getRef(current)
    if (outer === detached) {
      return Effect.flatMap(
        aloneScope(tool, fiber),
        (scope) => finish(reportingInterruption(told(run, scope), scope), scope)
      )
    }
    const inner = innerScope(outer, tool, params)
    return finish(reportingInterruption(runInside(inner, outer, told(run, inner)), inner), inner)
  })

// Runs in a scope, and fails with what is known of that call.
const told = <A, E extends ToolFailure, R>(run: Effect.Effect<A, E, R>, scope: Scope): Effect.Effect<A, E, R> =>
  Effect.mapError(Effect.provideService(run, current, scope), (failure) => failureLeaving(failure, scope))

const aloneScope = (tool: Subject, fiber: Fiber.Fiber<unknown, unknown>): Effect.Effect<Scope> =>
  Effect.map(idOf(fiber), (id) => {
    const call = callScope(id, tool, toObserver(fiber, tool.name, id, fiber.getRef(Observer.current).onEvent))
    if (fiber.getRef(standaloneKey) !== undefined) call.keyBy(() => id)
    return call
  })

// A key that the program sets is also the id of the call.
const idOf = (fiber: Fiber.Fiber<unknown, unknown>): Effect.Effect<string> => {
  const key = fiber.getRef(standaloneKey)
  return key === undefined ? randomId("call") : Effect.succeed(key)
}

const runInside = <A, E extends ToolFailure, R>(inner: Scope, outer: Scope, run: Effect.Effect<A, E, R>) => {
  outer.policy?.occupy()
  return Effect.onExit(run, (exit) =>
    Effect.sync(() => {
      outer.policy?.release()
      const reasons = Exit.isFailure(exit) ? exit.cause.reasons : []
      for (const reason of reasons) if (Cause.isFailReason(reason)) mayBeQuoted(reason.error, outer)
      const hasAnswer = Exit.isSuccess(exit) || hasPart(exit.cause)
      endInner(inner, hasAnswer)
      if (!hasAnswer) return
      handOut(inner)
      // If the inner call is in doubt, so is the outer call, which adds that caveat itself.
      const certainty = certaintyOf(inner.effects(true))
      const doubt = certainty === "unknown" ? undefined : doubtOf(inner.tool, certainty)
      if (doubt !== undefined) note(outer, { _tag: "CaveatAdded", text: doubt })
    }))
}

/**
 * Remembers that an inner tool has ended with a failure that the handler may copy. The inner tool's arguments came from
 * that handler. So the failure says nothing about the outer call, nor about its arguments.
 */
export const mayBeQuoted = (failure: ToolFailure, { live }: Scope): void => {
  if (isRejection(failure)) live.quoted = "rejection"
  else if (saysNothingDone(failure)) live.quoted ??= "nothing"
}
