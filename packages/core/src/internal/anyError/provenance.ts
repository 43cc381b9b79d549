/*
 * Marks failures with facts that their fields cannot express: a failure was inferred from an error, came from
 * another tool, or followed a redirect. An inferred failure concerns only the request that failed. The
 * handler may have made other requests before that request.
 */
import * as Predicate from "effect/Predicate"
import { and, type Done, nothing } from "../failure/effectsDone.ts"
import { at, listAt, most, withBelow } from "./readError.ts"

const guesses = new WeakSet<object>()

/**
 * Marks a failure as inferred from an error.
 *
 * `outcome: "not_executed"` becomes non-enumerable, so that copies lose it. The outcome is true only of the
 * failed request, and a copy would claim it for the whole handler.
 */
export const asGuess = <F extends { readonly _tag: string }>(failure: F): F => {
  if ("outcome" in failure && failure.outcome === "not_executed") {
    Object.defineProperty(failure, "outcome", { value: failure.outcome, enumerable: false })
  }
  guesses.add(failure)
  return failure
}

export const isGuess = (failure: object): boolean => guesses.has(failure)

/** The effects of the tool that ended with a failure, and the failure's position in the order of marking. */
interface Mark {
  readonly done: Done
  readonly order: number
}

/**
 * Failures with which inner tools ended. Even if an inner tool did nothing, the handler around it may have
 * done something.
 */
const foreign = new WeakMap<object, Mark>()
let marked = 0

/**
 * Marks a failure as one with which another tool ended.
 *
 * @param done the effects of that tool
 */
export const asForeign = <F extends object>(failure: F, done: Done): F => {
  foreign.set(failure, { done, order: ++marked })
  return failure
}

export const isForeign = (failure: object): boolean => foreign.has(failure)

/** Returns how many failures have been marked so far. */
export const marks = (): number => marked

/**
 * Returns the combined effects of the tools that ended with this error, or with an error inside it.
 *
 * @param since a result of {@link marks}: earlier marks are ignored, since a program may keep an error and
 * throw it again in later calls
 */
export const doneBelow = (error: unknown, since: number): Done => {
  if (since === marked) return nothing
  let done = nothing
  for (const one of withBelow(error, partsOf)) {
    const mark = Predicate.isObjectOrArray(one) ? foreign.get(one) : undefined
    if (mark !== undefined && mark.order > since) done = and(done, mark.done)
  }
  return done
}

/** Returns the parts of an error, an exit, a cause or an outcome. */
export const partsOf = (one: unknown): ReadonlyArray<unknown> =>
  Array.isArray(one)
    ? one.slice(0, most.items)
    : [at(one, "cause"), at(one, "error"), at(one, "failure"), ...listAt(one, "errors"), ...listAt(one, "reasons")]

/** Failures that followed a redirect: the request that was redirected may have taken effect. */
const redirected = new WeakSet<object>()

export const asRedirected = <F extends object>(failure: F): F => {
  redirected.add(failure)
  return failure
}

export const isRedirected = (failure: object): boolean => redirected.has(failure)

/** Failures with a status that may also mean that the service already knows the idempotency key. */
const conflicts = new WeakSet<object>()

export const asConflict = <F extends object>(failure: F): F => {
  conflicts.add(failure)
  return failure
}

/** True if {@link asConflict} has marked a failure. */
export const isMarkedConflict = (failure: object): boolean => conflicts.has(failure)
