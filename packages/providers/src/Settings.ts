/**
 * What can be set of any provider.
 *
 * @since 0.1.0
 */
import type { ModelFailure } from "@fallible/core"
import type * as Duration from "effect/Duration"
import type * as Schedule from "effect/Schedule"

/**
 * How long to wait for a model, and when to ask it again.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settings {
  /**
   * How long to wait for a reply, or for the next piece of a streamed one; what takes longer fails with
   * `timeout`, and is not asked for again. Default: 5 minutes. (Node's `fetch` gives up after 5 minutes by itself.)
   */
  readonly timeout?: Duration.Input
  /**
   * How long a streamed reply may take from its beginning to its end, however often a piece comes; what takes longer
   * fails with `timeout`, and is not asked for again. Default: 1 hour, in which a model that writes 40 tokens a second
   * writes 144,000.
   */
  readonly streamTimeout?: Duration.Input
  /**
   * When to ask again after a failure that is transient and came before a reply began: a lost connection, a status of
   * 408, 429, 500, 502, 503 or 504, a whole reply that is none. Default: `RetryPolicy.transient`, three attempts in all.
   */
  readonly retry?: Schedule.Schedule<unknown, ModelFailure>
}
