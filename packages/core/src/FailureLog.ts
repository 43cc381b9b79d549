/**
 * Failures of tools and of the model, as log lines: each one once, when it is handled, or told to the model, or ends the run.
 *
 *     flaky failed (connection): Refused. Retry 1 of 2 in 1.0 s.
 *     flaky failed (connection): Refused. The fallback was asked.
 *     flaky failed (connection): Refused. The model was told, after 3 attempts.
 *     The model failed (server_error): Busy. Retry 1 in 0.40 s.
 *     The model failed (server_error): Busy. The run ended, after 3 attempts.
 *
 * Lines have the annotations of the run, the turn, the tool and the call. A defect is logged apart, whole (`Defect`), and so is a
 * result that does not fit its schema.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as LogLevel from "effect/LogLevel"

/**
 * The level of the lines. Default: `"Debug"`, which effect's loggers leave out unless asked; `"None"` logs nothing at all.
 *
 * When to use: set it to `"Warn"` or `"Info"` in a backend whose operators watch its logs.
 *
 * @example
 * ```ts
 * import { Dispatch, FailureLog, SemanticGarbage, Tool, Toolkit } from "@fallible/core"
 * import { Effect, Logger, Schema } from "effect"
 *
 * const lines: Array<unknown> = []
 * const logger = Logger.layer([Logger.make(({ message }) => lines.push(message))])
 * const lost = Tool.make("find", { description: "Finds", success: Schema.String, sideEffect: "none" }, () =>
 *   Effect.fail(new SemanticGarbage({ code: "unknown_city", detail: "Unknown city." }))
 * )
 * const call = Dispatch.call(Toolkit.make(lost), { id: "1", name: "find" })
 * Effect.runSync(call.pipe(Effect.provideService(FailureLog.level, "Info"), Effect.provide(logger)))
 * lines // => [["find failed (unknown_city): Unknown city. The model was told."]]
 * ```
 *
 * @category context
 * @since 0.1.0
 */
export const level: Context.Reference<LogLevel.Severity | "None"> = Context.Reference<LogLevel.Severity | "None">(
  "@fallible/core/FailureLog/level",
  { defaultValue: () => "Debug" }
)
