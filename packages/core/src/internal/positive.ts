import * as Duration from "effect/Duration"

/** A duration above zero; anything else throws, since a limit that is none was not meant. */
export const positive = (what: string, input: Duration.Input): Duration.Duration => {
  const duration = Duration.fromInputUnsafe(input)
  if (Duration.isPositive(duration)) return duration
  const given = typeof input === "object" ? Duration.format(duration) : String(input)
  throw new TypeError(`A ${what} is a duration above zero; got ${given}.`)
}
