/**
 * Late results of tools that act (have side effects). A result is late if the attempt ends after its caller has
 * stopped waiting: for example, a payment succeeds after its timeout.
 *
 * By then, the call has already ended with an unknown outcome. The {@link reporter} tells operators how the
 * attempt really ended. A watcher of the call receives the event `AttemptEnded`, marked as `late`.
 *
 * The reporter also receives each acting call that is interrupted while it may have acted, for example because
 * the client of a run has left. Such a call has no outcome, and its run has no ledger and no facts.
 *
 * A handler may also have ended, and send a request afterwards, for example from a timer. What was known of its call is
 * then no longer true. The result has that `request`, and the certainty `unknown`.
 *
 * Only an attempt that keeps running can have a late result of its own. By default, a timeout interrupts the handler, and
 * the interruption aborts the handler's HTTP request. After that, only two things can find out what the service
 * did: `Tool.reconcile`, or your own job that queries the service by the idempotency key. To let the request
 * finish, declare the tool `uninterruptible`. The attempt then keeps its `Tool.concurrency` permit until it ends.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Certainty } from "./Certainty.ts"
import * as Deadline from "./Deadline.ts"
import { current, detached } from "./internal/call/scope.ts"
import { reported } from "./internal/fiber/runReporter.ts"
import type { WireRequest } from "./WireRequest.ts"

/**
 * How an attempt ended after its caller had stopped waiting.
 *
 * @category models
 * @since 0.1.0
 */
export interface LateResult {
  readonly tool: string
  /** The name of the call. In an agent, it is `run-…/turn/1/call/1`, with the same turn and call as in the ledger. */
  readonly id: string
  /** The idempotency key of the call, as its handler saw it. */
  readonly key: string
  /** The 1-based number of the attempt that ended. */
  readonly attempt: number
  /** Whether the attempt took effect. */
  readonly certainty: Certainty
  /** The code of the failure, if the attempt failed; `"interrupted"` if the call was interrupted. */
  readonly code?: string
  /** The request that the handler sent after it had ended, if that is what is reported. */
  readonly request?: WireRequest
  /** When the attempt ended, in milliseconds of the `Clock`. */
  readonly at: number
}

/**
 * A function that receives a late result.
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

const logged: Reporter = ({ attempt, certainty, code, id, key, request, tool }) =>
  Effect.annotateLogs(
    Effect.logWarning(
      request !== undefined
        ? `${tool} sent a request after it had ended: ${request.method} ${request.url}. ${certaintyText[certainty]}`
        : code === "interrupted"
        ? `${tool} was interrupted. ${certaintyText[certainty]}`
        : `${tool} ended${code === undefined ? "" : ` (${code})`} after it had been abandoned. ${
          certaintyText[certainty]
        }`
    ),
    { tool, call: id, key, attempt, certainty }
  )

/**
 * The reporter that receives late results. By default, late results are logged as warnings.
 *
 * When to use: to send late results to the people or the job that must act on them. The library does not wait
 * for the reporter, and ignores the reporter's failures and defects.
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
 * Reports a late result. The reporter may run tools: it is not part of the call, and has no deadline.
 *
 * @category reporting
 * @since 0.1.0
 */
export const report = (result: LateResult): Effect.Effect<void> =>
  Effect.flatMap(reporter, (report) => reported(() => report(result))).pipe(
    Effect.provideService(current, detached),
    Effect.provideService(Deadline.current, Infinity)
  )
