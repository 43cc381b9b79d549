/**
 * Log lines for failures of tools and of the model. Each failure is logged once: when it is handled, when it
 * is reported to the model, or when it ends the run.
 *
 *     flaky failed (connection): Refused. Retry 1 of 2 in 1.0 s.
 *     flaky failed (connection): Refused. The fallback was tried.
 *     flaky failed (connection): Refused. The model was told, after 3 attempts.
 *     The model failed (server_error): Busy. Retry 1 in 0.40 s.
 *     The model failed (server_error): Busy. The run ended, after 3 attempts.
 *
 * If a call fails and may have taken effect, its line is at least a warning. It names the requests of the handler, and is
 * annotated with the idempotency key, if the handler has read it. For the first such call of a tool that declares nothing
 * to settle its doubts, a second line says what would.
 *
 * Each line is annotated with the run, the turn, the tool and the call. Defects are logged separately, with
 * their full cause (`Defect`). A result that does not fit its schema is logged separately, too.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as LogLevel from "effect/LogLevel"

/**
 * The log level of these lines. By default, it is `"Debug"`, a level that Effect's loggers omit unless they are
 * configured otherwise. With `"None"`, nothing is logged.
 *
 * When to use: to raise the level to `"Warn"` or `"Info"` in a backend whose operators watch the logs.
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
