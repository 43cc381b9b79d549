import * as Effect from "effect/Effect"

/**
 * Runs a user's reporter, which may also return a promise or nothing. The reporter's failures and defects are
 * ignored.
 */
export const runReporter = (report: () => Effect.Effect<void> | PromiseLike<void> | void): Effect.Effect<void> =>
  Effect.ignoreCause(Effect.suspend(() => {
    const answer = report()
    return Effect.isEffect(answer) ? answer : Effect.promise(async () => answer)
  }))
