/*
 * A failure that was read off an error. It is about the request that failed, and the handler may have made others before.
 */
import * as Predicate from "effect/Predicate"
import { and, type Done, nothing } from "../failure/done.ts"
import { at, listAt, most, withBelow } from "./look.ts"

const guesses = new WeakSet<object>()

/** That nothing was sent is not copied: a copy is its author's word, and leaves open what a guess only says of one request. */
export const asGuess = <F extends { readonly _tag: string }>(failure: F): F => {
  if ("outcome" in failure && failure.outcome === "not_executed") {
    Object.defineProperty(failure, "outcome", { value: failure.outcome, enumerable: false })
  }
  guesses.add(failure)
  return failure
}

export const isGuess = (failure: object): boolean => guesses.has(failure)

/** What the tool did that has ended with a failure, and when it was marked. */
interface Mark {
  readonly done: Done
  readonly order: number
}

/** Failures that a tool has ended with. That it did nothing does not say that whoever ran it did nothing. */
const foreign = new WeakMap<object, Mark>()
let marked = 0

/** @param done what that tool did */
export const asForeign = <F extends object>(failure: F, done: Done): F => {
  foreign.set(failure, { done, order: ++marked })
  return failure
}

export const isForeign = (failure: object): boolean => foreign.has(failure)

/** How many failures have been marked. */
export const marks = (): number => marked

/**
 * What the tools did that have ended with an error, or with what is below it.
 *
 * @param since only those that have ended since so many were marked: an error may be kept for later calls
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

/** Of an error, an exit, a cause and an outcome. */
export const partsOf = (one: unknown): ReadonlyArray<unknown> =>
  Array.isArray(one)
    ? one.slice(0, most.items)
    : [at(one, "cause"), at(one, "error"), at(one, "failure"), ...listAt(one, "errors"), ...listAt(one, "reasons")]

/** An answer that came after a redirect: the request that was redirected may have been done. */
const redirected = new WeakSet<object>()

export const asRedirected = <F extends object>(failure: F): F => {
  redirected.add(failure)
  return failure
}

export const isRedirected = (failure: object): boolean => redirected.has(failure)

/** The service refused with a status that also says that it knows the key already. */
const conflicts = new WeakSet<object>()

export const asConflict = <F extends object>(failure: F): F => {
  conflicts.add(failure)
  return failure
}

/** Is it marked so? */
export const isMarkedConflict = (failure: object): boolean => conflicts.has(failure)
