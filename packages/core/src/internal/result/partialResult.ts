import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { type Coverage, PartialData } from "../../ToolFailure.ts"
import { kind } from "../value/text.ts"
import { attempt } from "../value/untrusted.ts"

/**
 * The description of an incomplete value, and how to get the rest.
 *
 * @category models
 * @since 0.1.0
 */
export interface Incomplete {
  /** The code of the failure. Default: `"more_pages"` if there is a `next`, else `"truncated"`. */
  readonly code?: string
  /** The text of the failure. Default: a sentence with the numbers of `coverage`. */
  readonly detail?: string
  readonly hint?: string
  /** How many parts the value has, and how many parts there are in all. */
  readonly coverage?: Coverage
  /** The arguments of the call that requests the next part. */
  readonly next?: Schema.JsonObject
}

/**
 * Checks and returns the result of a user's function. Throws a `TypeError` if that result is neither
 * an object nor `undefined`.
 */
export const incompleteOf = (functionName: string, incomplete: Incomplete | undefined): Incomplete | undefined => {
  const isEffect = attempt(() => Effect.isEffect(incomplete)) === true
  if (incomplete === undefined || typeof incomplete === "object" && incomplete !== null && !isEffect) return incomplete
  throw new TypeError(
    `${functionName} returned ${isEffect ? "an Effect" : kind(incomplete)}: return an object, or undefined.`
  )
}

/**
 * Makes a `PartialData` failure from an incomplete value.
 */
export const partialData = <A>(data: A, incomplete: Incomplete): PartialData<A> =>
  new PartialData({
    code: incomplete.next === undefined ? "truncated" : "more_pages",
    detail: extent(incomplete.coverage),
    ...incomplete,
    data
  })

const extent = (coverage: Coverage | undefined): string => {
  if (coverage === undefined) return "This is only part of the result."
  const { have, of, unit = "parts" } = coverage
  return of === undefined
    ? `This is only part of the result: ${have} ${unit}.`
    : `This is only part of the result: ${have} of ${of} ${unit}.`
}
