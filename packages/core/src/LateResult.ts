/**
 * How a handler that acts ended after nobody waited for it any more: the payment that went through after its timeout.
 *
 * The call was told long ago that nobody knows. Here is where operators hear what came of it, through {@link reporter}. Whoever watches
 * the call hears it, too: the event `AttemptEnded` says that it is `late`.
 *
 * Only what goes on can end late. A timeout interrupts the handler, and an HTTP client is cut off: what the service does then, only
 * `Tool.reconcile` finds out, or a job of your own, by the key. Declare the tool `uninterruptible` to let its request come to its end; its
 * permit of a `Tool.concurrency` stays taken until then.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Certainty } from "./Certainty.ts"
import { reported } from "./internal/effect/reported.ts"

/**
 * A late end.
 *
 * @category models
 * @since 0.1.0
 */
export interface LateResult {
  readonly tool: string
  /** The name of its call: in an agent `run-…/turn/1/call/1`, of which the ledger has the turn and the call. */
  readonly id: string
  /** The idempotency key that its handler was given. */
  readonly key: string
  /** The attempt that has ended, from 1. */
  readonly attempt: number
  /** Has it taken effect? */
  readonly certainty: Certainty
  /** The code of its failure, if it ended with one. */
  readonly code?: string
  /** When it ended, in milliseconds of the `Clock`. */
  readonly at: number
}

/**
 * Takes a late end.
 *
 * @category models
 * @since 0.1.0
 */
export type Reporter = (result: LateResult) => Effect.Effect<void>

const words: Readonly<Record<Certainty, string>> = {
  executed: "It has taken effect.",
  not_executed: "It has done nothing.",
  unknown: "Nobody knows whether it has taken effect."
}

const logged: Reporter = ({ attempt, certainty, code, id, key, tool }) =>
  Effect.annotateLogs(
    Effect.logWarning(
      `${tool} ended${code === undefined ? "" : ` (${code})`} after nobody waited for it any more. ${words[certainty]}`
    ),
    { tool, call: id, key, attempt, certainty }
  )

/**
 * Where late ends go. By default they are logged as warnings.
 *
 * When to use: to pass them on to whoever puts such things right. Nobody waits for it; what it fails with or dies of is left alone.
 *
 * @example
 * ```ts
 * import { LateResult, Tool } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const pay = Tool.make("pay", { description: "Pays", success: Schema.String, uninterruptible: true }, () =>
 *   Effect.delay(Effect.succeed("paid"), "20 millis")
 * ).pipe(Tool.timeout("5 millis"))
 *
 * const results: Array<LateResult.LateResult> = []
 * const reporter: LateResult.Reporter = (result) => Effect.sync(() => results.push(result))
 * const failure = await Effect.runPromise(Effect.flip(pay.run({})).pipe(
 *   Effect.tap(() => Effect.sleep("50 millis")),
 *   Effect.provideService(LateResult.reporter, reporter)
 * ))
 * failure.outcome // => "unknown"
 * results.map(({ certainty }) => certainty) // => ["executed"]
 * ```
 *
 * @category context
 * @since 0.1.0
 */
export const reporter: Context.Reference<Reporter> = Context.Reference("@fallible/core/LateResult/reporter", {
  defaultValue: (): Reporter => logged
})

/**
 * Reports a late end.
 *
 * @category reporting
 * @since 0.1.0
 */
export const report = (result: LateResult): Effect.Effect<void> =>
  Effect.flatMap(reporter, (report) => reported(() => report(result)))
