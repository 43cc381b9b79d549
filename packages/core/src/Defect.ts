/**
 * A fault of a program, and not of the world: what a handler throws, a port that dies, a rendering that cannot.
 *
 * The model is told without the insides, and the run goes on. Here is where the insides go: each defect is reported
 * whole, once, through {@link reporter}.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { reported } from "./internal/effect/reported.ts"

/**
 * Takes a defect: what happened in one sentence, and the whole cause.
 *
 * @category models
 * @since 0.1.0
 */
export type Reporter = (message: string, cause: Cause.Cause<unknown>) => Effect.Effect<void>

/**
 * Where defects go. By default they are logged as errors, with the annotations of the run, the turn, the tool and the call.
 *
 * When to use: to pass them on to an error reporter. After a second nobody waits for it any more; a reporter that dies itself, or
 * rejects a promise, is left alone.
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
 * reported // => ["The tool broken failed because of a fault of its own: No rows."]
 * ```
 *
 * @category context
 * @since 0.1.0
 */
export const reporter: Context.Reference<Reporter> = Context.Reference("@fallible/core/Defect/reporter", {
  defaultValue: (): Reporter => logged
})

// A look at what was thrown may throw, too.
const logged: Reporter = (message, cause) =>
  Effect.catchCause(
    Effect.logError(message, cause),
    () => Effect.logError(`${message}. What it threw cannot be shown.`)
  )

/**
 * Reports a defect.
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
          // One that hangs must not keep the run.
          ? Effect.asVoid(Effect.timeoutOption(Fiber.await(fiber), "1 second"))
          : Effect.void
    ))
