import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import { excerpt } from "./text.ts"

/** Parses a duration above zero. Throws for anything else, since a limit of zero is surely a mistake. */
export const positive = (what: string, input: Duration.Input): Duration.Duration => limit(what, input, "")

/** Parses a finite duration above zero. Throws for anything else. */
export const finite = (what: string, input: Duration.Input): Duration.Duration => {
  const duration = limit(what, input, "finite ")
  if (Duration.isFinite(duration)) return duration
  throw new TypeError(`${articled(what)} must be a finite duration above zero; got Infinity.`)
}

const limit = (what: string, input: Duration.Input, finite: string): Duration.Duration => {
  const duration = Option.getOrUndefined(Duration.fromInput(input))
  if (duration === undefined) {
    throw new TypeError(
      `${articled(what)} must be a ${finite}duration above zero, such as "5 seconds"; got ${excerpt(input)}.`
    )
  }
  if (Duration.isPositive(duration)) return duration
  const actual = typeof input === "object" ? Duration.format(duration) : String(input)
  throw new TypeError(`${articled(what)} must be a ${finite}duration above zero; got ${actual}.`)
}

/**
 * Returns the given number if it is whole and large enough. Throws for anything else.
 *
 * @param min the smallest number allowed; default: 1
 */
export const whole = (what: string, limit: number, min = 1): number => {
  if (Number.isSafeInteger(limit) && limit >= min) return limit
  throw new TypeError(
    `${what} must be a whole number of at least ${min}; got ${typeof limit === "number" ? limit : excerpt(limit)}.`
  )
}

const articled = (what: string): string => `${/^[aeiou]/.test(what) ? "An" : "A"} ${what}`
