import * as Duration from "effect/Duration"

/** A duration above zero; anything else throws, since a limit that is none was not meant. */
export const positive = (what: string, input: Duration.Input): Duration.Duration => {
  const duration = Duration.fromInputUnsafe(input)
  if (Duration.isPositive(duration)) return duration
  const given = typeof input === "object" ? Duration.format(duration) : String(input)
  throw new TypeError(`A ${what} is a duration above zero; got ${given}.`)
}

/** A whole number from so many; anything else throws. */
export const whole = (what: string, limit: number, least = 1): number => {
  if (Number.isSafeInteger(limit) && limit >= least) return limit
  throw new TypeError(`${what} is a whole number from ${least}; got ${limit}.`)
}
