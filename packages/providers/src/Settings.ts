/**
 * Settings that all providers share.
 *
 * @since 0.1.0
 */
import type { ModelFailure } from "@fallible/core"
import type * as Duration from "effect/Duration"
import type * as Schedule from "effect/Schedule"

/**
 * How long to wait for a model, and when to retry.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settings {
  /**
   * How long to wait for a reply, or for the next piece of a streamed reply. After that time, the call fails
   * with `timeout`, and is not retried. Default: 5 minutes. (Node's own `fetch` also gives up after 5
   * minutes.)
   */
  readonly timeout?: Duration.Input
  /**
   * How long a streamed reply may take in total, even if pieces keep coming. After that time, the call fails
   * with `timeout`, and is not retried. Default: 1 hour. In an hour, a model that writes 40 tokens a second
   * writes 144,000 tokens.
   */
  readonly streamTimeout?: Duration.Input
  /**
   * The schedule on which transient failures are retried. Default: `RetryPolicy.transient`, which makes three
   * attempts in all. Once a streamed reply has begun, it is not retried.
   *
   * A lost connection is transient, and so is a reply that is malformed or cut off. The transient statuses
   * are 408, 429, and all from 500 on except 501 and 505.
   */
  readonly retry?: Schedule.Schedule<unknown, ModelFailure>
  /**
   * The size of the model's context window, in tokens. Big results of tools are then cut to what fits into it (`ResultSize`).
   * Ollama also gets it as `num_ctx`. Default: not known.
   */
  readonly contextWindow?: number
}
