/*
 * Whether a handler may start, by what its call has done so far.
 */
import type { SideEffect } from "../../SideEffect.ts"
import { both } from "../failure/effects.ts"
import { type Done, effectsOfAttempts, isActing as isActingIn, isLasting, nothing } from "./done.ts"
import type { Scope } from "./scope.ts"

/**
 * The reason why a handler must not start: its attempt was abandoned, an earlier attempt acts or may
 * have acted, or the tool has refused the call.
 */
export type WhyNotBegin = "abandoned" | "still_running" | "may_have_acted" | "refused"

/** Returns why the handler must not start now; `undefined` if it may. Checked before each attempt. */
export const whyNot = (innermost: Scope): WhyNotBegin | undefined => {
  let called: Scope | undefined = undefined
  for (let scope: Scope | undefined = innermost; scope !== undefined; scope = scope.around) {
    if (scope.phase === "closed") return "abandoned"
    // A page counts as an attempt of the call around it.
    if (scope.ownsRecord && scope.role !== "page") called ??= scope
    if (called !== undefined) scope = withItsPolicy(scope)
  }
  return called === undefined ? undefined : whyNotAgain(called.state.done, called.tool.sideEffect, called.hasLeftSome)
}

/** True if anything that may act is still running in the call. */
export const isActing = ({ acts, hasLeftSome, record }: Scope): boolean =>
  hasLeftSome || isActingIn(record.state.done, acts)

/** Returns what tells whether anything that may act is still running in a call; `undefined` if nothing is. */
export const whetherRunning = (scope: Scope): (() => boolean) | undefined =>
  isActing(scope) ? () => isActing(scope) : undefined

/** True if nobody has stopped waiting for the code that runs in a scope. */
export const isOpen = (innermost: Scope): boolean => {
  for (let scope: Scope | undefined = innermost; scope !== undefined; scope = withItsPolicy(scope).parent) {
    if (scope.phase === "closed") return false
  }
  return true
}

// If a run has ended before its policy did, the policy has not abandoned it: the end of the policy says nothing about it.
const withItsPolicy = (scope: Scope): Scope =>
  scope.role === "run" && scope.phase === "over" && scope.parent !== undefined ? scope.parent : scope

/** True if a run around this scope has ended: its time limit no longer applies to what runs in the background. */
export const isBackground = (innermost: Scope): boolean =>
  isAny(innermost, ({ ownsRecord, phase }) => phase === "over" && !ownsRecord)

/** True if a caller that waited for this scope, or for one around it, was interrupted. */
export const isLeft = (innermost: Scope): boolean => isAny(innermost, ({ wasLeft }) => wasLeft)

// A loop, so that deeply nested scopes cannot overflow the stack.
const isAny = (innermost: Scope, is: (scope: Scope) => boolean): boolean => {
  for (let scope: Scope | undefined = innermost; scope !== undefined; scope = scope.parent) if (is(scope)) return true
  return false
}

/**
 * Returns why a handler must not start (again); `undefined` if it may. A non-idempotent tool may run again only if every
 * earlier attempt certainly did nothing, and none is still running. Tools that policies run for their own purposes are
 * ignored.
 *
 * @param hasLeftSome true if an abandoned attempt is still running
 */
const whyNotAgain = (
  done: Done,
  sideEffect: SideEffect,
  hasLeftSome: boolean
): WhyNotBegin | undefined => {
  switch (sideEffect) {
    case "none":
    case "idempotent_by_key":
      // A read-only tool may have run inner tools that act. A tool's key does not make its inner tools safe to repeat.
      return isLasting(done) ? "may_have_acted" : undefined
    case "idempotent":
      return undefined
    case "non_idempotent":
      if (hasLeftSome || isActingIn(done, true)) return "still_running"
      if (done === nothing) return undefined
      if (done.isAnswered || both(effectsOfAttempts(done), done.sources) !== "none") return "may_have_acted"
      return done.isRefused ? "refused" : undefined
  }
}
