/*
 * A failure that was read off an error. It is about the request that failed, and the handler may have made others before.
 */
import * as Predicate from "effect/Predicate"
import { and, type Done, nothing } from "../done.ts"
import { at, listAt, most } from "./look.ts"

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

/** Failures that a tool has ended with. That it did nothing does not say that whoever ran it did nothing. */
const foreign = new WeakMap<object, Done>()

/** @param done what that tool did, as far as nobody else knows of it */
export const asForeign = <F extends object>(failure: F, done: Done): F => {
  foreign.set(failure, done)
  return failure
}

/** What the tool did that has ended with this failure; `undefined` of any other failure. */
export const doneByOther = (failure: object): Done | undefined => foreign.get(failure)

/** What the tools did that have ended with what is below an error. */
export const doneBelow = (error: unknown): Done => {
  // Errors may hold each other, and be many.
  const all = new Set([error])
  let done = nothing
  for (const one of all) {
    if (Predicate.isObjectOrArray(one)) done = and(done, doneByOther(one) ?? nothing)
    for (const below of [at(one, "cause"), ...listAt(one, "errors")]) {
      if (below !== undefined && all.size < most.errors) all.add(below)
    }
  }
  return done
}

/** An answer that came after a redirect: the request that was redirected may have been done. */
const redirected = new WeakSet<object>()

export const asRedirected = <F extends object>(failure: F): F => {
  redirected.add(failure)
  return failure
}

export const isRedirected = (failure: object): boolean => redirected.has(failure)
