/**
 * The result of an abandoned attempt of a tool that acts, for example a payment that succeeds after its
 * timeout.
 *
 * The call has ended by then, with an unknown outcome. {@link reporter} tells operators how the attempt
 * really ended. A watcher of the call learns it, too: its event `AttemptEnded` is marked `late`.
 *
 * Only an attempt that keeps running can end late. A timeout interrupts the handler, which cuts off an HTTP
 * client. After that, only `Tool.reconcile`, or a job of yours that asks by the key, can find out what the
 * service did. Declare the tool `uninterruptible` to let its request finish. Its `Tool.concurrency` permit
 * stays taken until then.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Certainty } from "./Certainty.ts"
import { reported } from "./internal/fiber/runReporter.ts"

/**
 * The end of an attempt after its caller stopped waiting.
 *
 * @category models
 * @since 0.1.0
 */
export interface LateResult {
  readonly tool: string
  /** The name of the call. In an agent it is `run-…/turn/1/call/1`; the ledger has the same turn and call. */
  readonly id: string
  /** The idempotency key of the call, as its handler saw it. */
  readonly key: string
  /** The number of the attempt that ended, from 1. */
  readonly attempt: number
  /** Whether the attempt took effect. */
  readonly certainty: Certainty
  /** The code of the failure, if the attempt failed. */
  readonly code?: string
  /** When it ended, in milliseconds of the `Clock`. */
  readonly at: number
}

/**
 * A function that takes a late result.
 *
 * @category models
 * @since 0.1.0
 */
export type Reporter = (result: LateResult) => Effect.Effect<void>

const certaintyText: Readonly<Record<Certainty, string>> = {
  executed: "It took effect.",
  not_executed: "It has done nothing.",
  unknown: "Whether it took effect is unknown."
}

const logged: Reporter = ({ attempt, certainty, code, id, key, tool }) =>
  Effect.annotateLogs(
    Effect.logWarning(
      `${tool} ended${code === undefined ? "" : ` (${code})`} after it had been abandoned. ${certaintyText[certainty]}`
    ),
    { tool, call: id, key, attempt, certainty }
  )

/**
 * The reporter that receives late results. Default: logs them as warnings.
 *
 * When to use: to send late results to the people or the job that resolves them. The library does not wait
 * for the reporter, and ignores its failures and defects.
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
 * Reports a late result.
 *
 * @category reporting
 * @since 0.1.0
 */
export const report = (result: LateResult): Effect.Effect<void> =>
  Effect.flatMap(reporter, (report) => reported(() => report(result)))
