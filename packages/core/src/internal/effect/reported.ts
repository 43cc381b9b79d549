import * as Effect from "effect/Effect"

/** A user's reporter, run: one without types may be a function of promises, or of nothing. What it fails with or dies of is left alone. */
export const reported = (report: () => Effect.Effect<void> | PromiseLike<void> | void): Effect.Effect<void> =>
  Effect.ignoreCause(Effect.suspend(() => {
    const answer = report()
    return Effect.isEffect(answer) ? answer : Effect.promise(async () => answer)
  }))
