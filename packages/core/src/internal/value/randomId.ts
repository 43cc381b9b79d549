import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/** Creates an id from two random integers. The same seed gives the same id. */
export const randomId = (prefix: string): Effect.Effect<string> =>
  Effect.zipWith(
    Random.nextInt,
    Random.nextInt,
    (a, b) => `${prefix}-${Math.abs(a).toString(36)}${Math.abs(b).toString(36)}`
  )
