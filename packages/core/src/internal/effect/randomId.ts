import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/** A name to tell things apart by: two random integers. Under the same seed it is the same again. */
export const randomId = (prefix: string): Effect.Effect<string> =>
  Effect.zipWith(
    Random.nextInt,
    Random.nextInt,
    (a, b) => `${prefix}-${Math.abs(a).toString(36)}${Math.abs(b).toString(36)}`
  )
