/*
 * A failure that was read off an error. It is about the request that failed, and the handler may have made others before.
 */
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

/** A failure of a tool that ran inside of another one: that this did nothing does not say that the other one did nothing. */
const foreign = new WeakSet<object>()

export const asForeign = <F extends object>(failure: F): F => {
  foreign.add(failure)
  return failure
}

export const isForeign = (failure: object): boolean => foreign.has(failure)

/** An answer that came after a redirect: the request that was redirected may have been done. */
const redirected = new WeakSet<object>()

export const asRedirected = <F extends object>(failure: F): F => {
  redirected.add(failure)
  return failure
}

export const isRedirected = (failure: object): boolean => redirected.has(failure)
