/*
 * A failure that was read off an error. It speaks of the request that failed, and the handler may have made others before.
 */
const guesses = new WeakSet<object>()

export const asGuess = <F extends object>(failure: F): F => {
  guesses.add(failure)
  return failure
}

export const isGuess = (failure: object): boolean => guesses.has(failure)
