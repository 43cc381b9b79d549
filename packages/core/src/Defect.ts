/**
 * Defects: programming errors, as opposed to failures. For example, a tool's handler or a rendering throws, or
 * the journal dies.
 *
 * The model is told that a call had an internal error, without any details, and the run continues. The
 * {@link reporter} receives each defect once, with its full cause.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { reported } from "./internal/fiber/runReporter.ts"

/**
 * A function that receives a defect: one sentence about what happened, and the full cause.
 *
 * @category models
 * @since 0.1.0
 */
export type Reporter = (message: string, cause: Cause.Cause<unknown>) => Effect.Effect<void>

/**
 * The reporter that receives all defects. By default, defects are logged as errors, annotated with the run,
 * the turn, the tool and the call.
 *
 * When to use: to send defects to an error tracker. The library waits at most one second for the reporter. It
 * ignores a reporter that dies or returns a rejected promise.
 *
 * @example
 * ```ts
 * import { Defect, Dispatch, Tool, Toolkit } from "@fallible/core"
 * import { Cause, Effect, Schema } from "effect"
 *
 * const broken = Tool.make("broken", { description: "Breaks", success: Schema.String }, () => Effect.die("No rows."))
 * const reported: Array<string> = []
 * const reporter: Defect.Reporter = (message, cause) =>
 *   Effect.sync(() => reported.push(`${message}: ${String(Cause.squash(cause))}`))
 *
 * const call = Dispatch.call(Toolkit.make(broken), { id: "1", name: "broken" })
 * Effect.runSync(Effect.provideService(call, Defect.reporter, reporter))
 * reported // => ["The tool broken failed with an internal error: No rows."]
 * ```
 *
 * @category context
 * @since 0.1.0
 */
export const reporter: Context.Reference<Reporter> = Context.Reference("@fallible/core/Defect/reporter", {
  defaultValue: (): Reporter => logged
})

// Printing the thrown value may throw, too.
const logged: Reporter = (message, cause) =>
  Effect.catchCause(
    Effect.logError(message, cause),
    () => Effect.logError(`${message}. The thrown value cannot be shown.`)
  )

/**
 * Reports a defect, and waits at most one second for the reporter.
 *
 * @category reporting
 * @since 0.1.0
 */
export const report = (message: string, cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Effect.flatMap(reporter, (report) =>
    Effect.flatMap(
      Effect.forkDetach(reported(() => report(message, cause)), { startImmediately: true }),
      (fiber) =>
        fiber.pollUnsafe() === undefined
          // A reporter that hangs must not block the run.
          ? Effect.asVoid(Effect.timeoutOption(Fiber.await(fiber), "1 second"))
          : Effect.void
    ))
