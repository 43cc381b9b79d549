/**
 * Finds the existing names that a model most likely meant when it wrote an unknown name.
 *
 * A suggestion is only shown to a reader. This library never acts on a suggestion.
 *
 * @since 0.1.0
 */
export {
  /**
   * Returns the candidate that was probably meant by a name, or `undefined` if no candidate is near enough. The
   * candidate's edit distance from the name must be at most a third of the length of the longer of the two. All
   * other candidates must have a larger distance.
   *
   * @example
   * ```ts
   * import * as Suggestion from "@fallible/core/Suggestion"
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
   * Returns all candidates, those nearest to a name first. Candidates at the same distance keep their order.
   *
   * When to use: to list the valid choices in a failure's `alternatives`.
   *
   * @example
   * ```ts
   * import * as Suggestion from "@fallible/core/Suggestion"
   *
   * Suggestion.nearest("get_wether", ["get_time", "get_weather"]) // => ["get_weather", "get_time"]
   * ```
   *
   * @category suggestions
   * @since 0.1.0
   */
  nearest
} from "@fallible/arguments/internal"
