/**
 * How big the results of tools may be when a model reads them.
 *
 * An agent cuts a result that cannot fit into the model's context window, so that one result of 5 MB does not end the run.
 * A result that is merely big stays whole. Arrays, objects and strings are cut inside, so the result stays valid JSON. An
 * object keeps its fields as long as they have room, unless it has more than 100: it is then cut like an array. Totals and
 * counts are kept first, wherever they stand, and numbers and short texts are not shortened. At most 50,000 bytes are shown of
 * a result that is cut. A note says what was left out, and how to get the rest: with the parameter that the tool declares as
 * its `size`, or with the tool `read_more`, which the agent offers as soon as it has cut a result.
 *
 * There is also a limit for all results of one request to the model. Beyond it, older results are shortened in what is
 * sent. The transcript keeps them. Short results stay whole, so very many of them can exceed the limit.
 *
 * The whole results that were cut are kept in memory, for this run. Up to 20 MB are kept, the latest ones. With a
 * rendering of the user's own, nothing is kept, because `read_more` might show what the rendering hides.
 *
 * Only what a model reads is cut. `tool.run`, the outcome of a call and the journal always have the whole result.
 *
 * @since 0.1.0
 */
import { whole } from "./internal/value/numberOption.ts"

/**
 * The limits of a {@link ResultSize}.
 *
 * The defaults follow the model's context window (`Model.contextWindow`), at 3 bytes a token: one result may fill half of
 * it, and all results three quarters. If the window is not known, it is taken to have 128,000 tokens.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** The most bytes of one result, as JSON in UTF-8. Default: 1.5 times the tokens of the window, so 192,000. */
  readonly bytes?: number
  /** The most items of an array in a result. Default: no limit. */
  readonly items?: number
  /** The most bytes of all results in one request, in UTF-8. Default: 2.25 times the tokens of the window, so 288,000. */
  readonly request?: number
}

/**
 * {@link Options} with all values filled in.
 *
 * @category models
 * @since 0.1.0
 */
export type ResultSize = Required<Options>

/**
 * Makes the limits. Throws if a number is not whole, or if one is too small: `bytes` must be at least 1,000, `items` at
 * least 1, and `request` at least `bytes`.
 *
 * @param contextWindow the size of the model's context window, in tokens; default: 128,000
 *
 * @example
 * ```ts
 * import * as ResultSize from "@fallible/core/ResultSize"
 *
 * ResultSize.make({ bytes: 10_000 }) // => { bytes: 10000, items: Infinity, request: 288000 }
 * ResultSize.make({}, 8_192) // => { bytes: 12288, items: Infinity, request: 18432 }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}, contextWindow = 128_000): ResultSize => {
  const window = whole("A context window", contextWindow)
  const { items, request = Infinity } = options
  const half = Math.max(1000, Math.min(Math.floor(window * 1.5), request))
  const bytes = whole("A result's 'bytes'", options.bytes ?? half, 1000)
  return {
    bytes,
    items: items === undefined ? Infinity : whole("A result's 'items'", items),
    request: whole("The results' 'request'", options.request ?? Math.max(Math.floor(window * 2.25), bytes), bytes)
  }
}
