/**
 * Nearest names: the existing names that a model most likely meant by an unknown one.
 *
 * A suggestion is only for a reader. Nothing in this library acts on one.
 *
 * @since 0.1.0
 */
export {
  /**
   * Returns the one candidate that was probably meant, or `undefined` if none is near enough. The
   * candidate's distance is at most a third of the longer name's length, and no other candidate is as near.
   *
   * @example
   * ```ts
   * import { Suggestion } from "@fallible/core"
   *
   * Suggestion.didYouMean("get_wether", ["get_time", "get_weather"]) // => "get_weather"
   * Suggestion.didYouMean("launch", ["get_time", "get_weather"]) // => undefined
   * ```
   *
   * @category suggestions
   * @since 0.1.0
   */
  didYouMean,
  /**
   * Returns all candidates, nearest first. Candidates at the same distance keep their order.
   *
   * When to use: to list the valid choices in a failure's `alternatives`.
   *
   * @example
   * ```ts
   * import { Suggestion } from "@fallible/core"
   *
   * Suggestion.nearest("get_wether", ["get_time", "get_weather"]) // => ["get_weather", "get_time"]
   * ```
   *
   * @category suggestions
   * @since 0.1.0
   */
  nearest
} from "@fallible/arguments"
