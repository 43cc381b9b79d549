/**
 * What an agent does when its model fails: give up, ask again, or answer with a fallback.
 *
 *     Agent.make({ toolkit, onModelFailure: ModelRecovery.retryTimeouts })
 *
 * The agent asks its `onModelFailure` about each failed request to the model. Without it, a transient failure is
 * retried, and any other failure ends the run. The agent's `modelRetry` says when to ask again, and how often in one
 * turn. A limit of the run, or its interruption, is not a failure of the model, and is never asked about.
 *
 * One failure is handled before, unless results are never cut (`results: "whole"`): if the conversation is longer than the model can read (`context_overflow`), the
 * results are shortened to half in what is sent, the oldest first, and the model is asked once more.
 *
 * The idea of a decision for each failed request comes from the strategies of Koog.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { ModelFailure } from "./Model.ts"

/**
 * What happens after a failed request.
 *
 * @category models
 * @since 0.1.0
 */
export type Decision =
  /** The failure ends the run: with `RunPostponed` if the model says when to ask again, or else with `ModelFailed`. */
  | { readonly _tag: "Rethrow" }
  /** The model is asked again, if the agent's `modelRetry` permits it. */
  | { readonly _tag: "Retry" }
  /** The run ends with this text as its answer. */
  | { readonly _tag: "RespondWith"; readonly text: string }

/**
 * A function that decides what happens after a failed request. It must not fail. If it dies, the run ends with a
 * `ModelFailure` whose code is `defect`.
 *
 * @category models
 * @since 0.1.0
 */
export type ModelRecovery = (failure: ModelFailure, request: {
  /** The 1-based number of the turn. */
  readonly turn: number
  /**
   * How many times the agent asked in vain in this turn, this time included. The `attempts` of the failure say how often
   * the provider itself tried this time.
   */
  readonly attempt: number
}) => Decision | Effect.Effect<Decision>

/**
 * Ends the run with the failure. This is the default for failures that are not transient.
 *
 * @category decisions
 * @since 0.1.0
 */
export const rethrow: Decision = { _tag: "Rethrow" }

/**
 * Asks the model again, if the agent's `modelRetry` permits it. This is the default for transient failures.
 *
 * @category decisions
 * @since 0.1.0
 */
export const retry: Decision = { _tag: "Retry" }

/**
 * Ends the run with a text as its answer. Both the answer and the failure in the report say `"fallback"`.
 *
 * @example
 * ```ts
 * import { Agent, Model, ModelFailure, Toolkit } from "@fallible/core"
 * import * as ModelRecovery from "@fallible/core/ModelRecovery"
 * import { Effect } from "effect"
 *
 * const refused = new ModelFailure({ code: "refused", detail: "The model will not answer.", transient: false })
 * const model = Model.layer({ respond: () => Effect.fail(refused) })
 * const agent = Agent.make({
 *   toolkit: Toolkit.empty,
 *   onModelFailure: ({ code }) =>
 *     code === "refused" ? ModelRecovery.respondWith("I cannot help with that.") : ModelRecovery.rethrow
 * })
 *
 * const answer = Effect.runSync(Effect.provide(agent.run("Hi"), model))
 * answer.text // => "I cannot help with that."
 * answer.stopReason // => "fallback"
 * answer.report.failures[0]?.code // => "refused"
 * ```
 *
 * @category decisions
 * @since 0.1.0
 */
export const respondWith = (text: string): Decision => ({ _tag: "RespondWith", text })

/**
 * Asks again after transient failures and after timeouts.
 *
 * When to use: if a second request is worth its cost. The server may still work on the first one, so both may be billed.
 *
 * @category recoveries
 * @since 0.1.0
 */
export const retryTimeouts: ModelRecovery = ({ code, transient }) => transient || code === "timeout" ? retry : rethrow
