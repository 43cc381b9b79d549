import type * as Schema from "effect/Schema"
import { type Coverage, PartialData } from "../../ToolFailure.ts"
import { kind } from "../value/text.ts"

/**
 * What is said of a value that is not the whole.
 *
 * @category models
 * @since 0.1.0
 */
export interface Incomplete {
  /** Default: `"more_pages"` when there is a `next`, else `"truncated"`. */
  readonly code?: string
  /** Default: how much is there, by `coverage`. */
  readonly detail?: string
  readonly hint?: string
  /** How much of how much there is. */
  readonly coverage?: Coverage
  /** The arguments of the call that continues. */
  readonly next?: Schema.JsonObject
}

/**
 * What a user's function has said of a value; throws where that is not of its type.
 */
export const incompleteOf = (who: string, what: Incomplete | undefined): Incomplete | undefined => {
  if (what === undefined || typeof what === "object" && what !== null) return what
  throw new TypeError(`${who} returned ${kind(what)}: return an object, or undefined.`)
}

/**
 * A value that is not the whole, as a failure.
 */
export const partialData = <A>(data: A, what: Incomplete): PartialData<A> =>
  new PartialData({
    code: what.next === undefined ? "truncated" : "more_pages",
    detail: extent(what.coverage),
    ...what,
    data
  })

const extent = (coverage: Coverage | undefined): string => {
  if (coverage === undefined) return "This is only part of the result."
  const { have, of, unit = "parts" } = coverage
  return of === undefined ? `This is ${have} ${unit}, and not all.` : `This is ${have} of ${of} ${unit}.`
}
