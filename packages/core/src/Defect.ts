/**
 * Defects: programming errors, as opposed to failures. For example, a handler throws, a port dies, or
 * a rendering throws.
 *
 * The model learns of a defect without its internals, and the run continues. {@link reporter} receives each
 * defect once, with its full cause.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { reported } from "./internal/fiber/runReporter.ts"

/**
 * A function that takes a defect: one sentence about what happened, and the full cause.
 *
 * @category models
 * @since 0.1.0
 */
export type Reporter = (message: string, cause: Cause.Cause<unknown>) => Effect.Effect<void>

/**
 * The reporter that receives all defects. Default: logs them as errors, annotated with the run, the turn,
 * the tool and the call.
 *
 * When to use: to send defects to an error tracker. The library waits for the reporter for one second at
 * most. If the reporter dies or rejects a promise, that is ignored.
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
 * Reports a defect. It waits for the reporter for one second at most.
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
