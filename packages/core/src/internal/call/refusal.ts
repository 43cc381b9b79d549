/*
 * The refusals of executions that must not begin.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Certainty } from "../../Certainty.ts"
import * as Deadline from "../../Deadline.ts"
import { type ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import { isBackground, whyNot, type WhyNotBegin } from "./mayBegin.ts"
import { note } from "./note.ts"
import { current, type Scope } from "./scope.ts"

/** Returns the refusal of a handler that must not start now, and notes it; `undefined` if it may start. */
export const refusalOf = (
  { acts, name, token }: { readonly acts: boolean; readonly name: string; readonly token: object },
  scope: Scope,
  fiber: Fiber.Fiber<unknown, unknown>
): ToolUnavailable | undefined => {
  // The scope is missing, or belongs to a different tool, only if a policy ran the tool outside the
  // fibers of the call.
  if (acts && scope.tool.token !== token) return refusedOutside(name, scope)
  if (!scope.acts) return undefined
  const why = whyNot(scope) ?? (isTooLate(fiber) && !isBackground(scope) ? "abandoned" : undefined)
  return why === undefined ? undefined : noted(makeRefusal(scope, why), scope)
}

/**
 * Fails if a read-only tool must not be retried, because an inner tool may have acted in the background during
 * the wait before the retry. An acting tool needs no check here: it is checked when its handler starts.
 */
export const mayRetry = (last: ToolFailure): Effect.Effect<void, ToolUnavailable> =>
  Effect.flatMap(current, (scope) => {
    const why = scope.acts ? undefined : whyNot(scope)
    return why === undefined ? Effect.void : Effect.fail(noted(makeRefusal(scope, why, last), scope))
  })

/**
 * Returns the refusal of a run in the fibers of another call, and notes it. It says nothing of what that call has done.
 *
 * @param scope the scope that notes it
 */
export const refusedOutside = (name: string, scope: Scope): ToolUnavailable => noted(refusalOutsideCall(name), scope)

const noted = (refusal: ToolUnavailable, scope: Scope): ToolUnavailable => {
  note(scope, { _tag: "CallRefused", code: refusal.code })
  return refusal
}

const refusalOutsideCall = (name: string): ToolUnavailable =>
  new ToolUnavailable({
    code: "outside_call",
    detail: `${name} was not run: a policy ran it outside its call, where repeated runs cannot be detected.`,
    hint: "In the policy, run it in a fiber of its own call, not through Effect.runPromise or a shared worker.",
    transient: false,
    outcome: "not_executed"
  })

const isTooLate = (fiber: Fiber.Fiber<unknown, unknown>): boolean => {
  const deadline = fiber.getRef(Deadline.current)
  return deadline !== Infinity && fiber.getRef(Clock.Clock).currentTimeMillisUnsafe() >= deadline
}

const makeRefusal = (
  { certainty, record, tool: { name } }: Scope,
  why: WhyNotBegin,
  last: ToolFailure | undefined = record.last
): ToolUnavailable => {
  if (why === "abandoned") {
    return new ToolUnavailable({
      code: "timeout",
      detail: `${name} was not run: its deadline had passed.`,
      transient: true,
      outcome: certainty
    })
  }
  const isInner = why === "may_have_acted" && record.ran?.again?.isInDoubt === true && record.state.executions === 0
  const before = last === undefined ? "" : ` Before: ${last.detail}`
  return new ToolUnavailable({
    code: "not_repeated",
    detail: `${name} was not run again: ${isInner ? reasonInside : reasons[why](certainty)}.${before}`,
    transient: false,
    // The tool works: it has refused only these arguments.
    ...(why === "refused" ? { scope: "arguments" } : {}),
    outcome: certainty,
    cause: last
  })
}

const reasonInside = "an earlier run inside this call may have taken effect"

const reasons: Readonly<Record<Exclude<WhyNotBegin, "abandoned">, (certainty: Certainty) => string>> = {
  still_running: () => "an earlier attempt of this call may still be running",
  may_have_acted: (certainty) =>
    `an earlier attempt of this call ${certainty === "executed" ? "has already" : "may have"} taken effect`,
  refused: () => "it has already refused this call"
}
