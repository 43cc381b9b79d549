import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/** Creates an id from random bits. The same seed gives the same id. */
export const randomId = (prefix: string): Effect.Effect<string> =>
  Effect.zipWith(Random.nextInt, Random.nextInt, (a, b) => `${prefix}-${digits(a)}${digits(b)}`)

// Digits of a large number are slow to make. Two small numbers have the same bits.
const digits = (number: number): string => {
  const bits = Math.abs(number)
  return `${Math.floor(bits / small).toString(36)}${(bits % small).toString(36).padStart(6, "0")}`
}

const small = 2 ** 27
