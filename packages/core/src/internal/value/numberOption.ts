import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import { excerpt } from "./text.ts"

/** A duration above zero; anything else throws, since a limit that is none was not meant. */
export const positive = (what: string, input: Duration.Input): Duration.Duration => limit(what, input, "")

/** The same, where there has to be an end. */
export const finite = (what: string, input: Duration.Input): Duration.Duration => {
  const duration = limit(what, input, "finite ")
  if (Duration.isFinite(duration)) return duration
  throw new TypeError(`${articled(what)} is a finite duration above zero; got Infinity.`)
}

const limit = (what: string, input: Duration.Input, finite: string): Duration.Duration => {
  const duration = Option.getOrUndefined(Duration.fromInput(input))
  if (duration === undefined) {
    throw new TypeError(
      `${articled(what)} is a ${finite}duration above zero, such as "5 seconds"; got ${excerpt(input)}.`
    )
  }
  if (Duration.isPositive(duration)) return duration
  const given = typeof input === "object" ? Duration.format(duration) : String(input)
  throw new TypeError(`${articled(what)} is a ${finite}duration above zero; got ${given}.`)
}

/** A whole number from so many; anything else throws. */
export const whole = (what: string, limit: number, least = 1): number => {
  if (Number.isSafeInteger(limit) && limit >= least) return limit
  throw new TypeError(
    `${what} is a whole number from ${least}; got ${typeof limit === "number" ? limit : excerpt(limit)}.`
  )
}

const articled = (what: string): string => `${/^[aeiou]/.test(what) ? "An" : "A"} ${what}`
