/**
 * Nearest names: what a model most likely meant by a name that does not exist.
 *
 * A suggestion is for a reader; nothing in this library ever acts on one by itself.
 *
 * @since 0.1.0
 */
export {
  /**
   * The one candidate that is probably meant, or `undefined` where none is near enough: its distance is at
   * most a third of the longer name's length, and no second candidate is as near.
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
   * All candidates, nearest first. Equal distances keep the order of the candidates.
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
