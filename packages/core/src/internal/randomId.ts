import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/** A name that nothing else has: two random integers, so that a seed reproduces it. */
export const randomId = (prefix: string): Effect.Effect<string> =>
  Effect.zipWith(
    Random.nextInt,
    Random.nextInt,
    (a, b) => `${prefix}-${Math.abs(a).toString(36)}${Math.abs(b).toString(36)}`
  )
