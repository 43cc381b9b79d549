/**
 * The input of a fixer, and its possible answers.
 *
 * A fixer gets arguments that were rejected: while they were decoded, or by the handler. A handler rejects
 * its arguments with a `SchemaMismatch` of side `"arguments"`. With `on`, a fixer also gets failed
 * executions. It answers with better arguments or with a value ({@link Fixed}), escalates
 * ({@link Escalation}), or fails with an error of any kind. `Fixer` has the functions for fixers, and says
 * where to declare them.
 *
 * @since 0.1.0
 */
import type * as JsonSchema from "effect/JsonSchema"
import type * as Schema from "effect/Schema"
import { RawFailure } from "./internal/failure/failureClass.ts"
import type { SchemaMismatch, SemanticGarbage, Severity, ToolUnavailable } from "./ToolFailure.ts"

/**
 * The kinds of failed executions that a fixer can be asked about.
 *
 * @category models
 * @since 0.1.0
 */
export type FailedExecution = "SemanticGarbage" | "ToolUnavailable" | "defect"

/**
 * A failure that a fixer can get: rejected arguments, or a failed execution that `on` lists. A defect is a
 * `ToolUnavailable` with the code `defect`.
 *
 * @category models
 * @since 0.1.0
 */
export type Fixable<On extends FailedExecution = FailedExecution> = SchemaMismatch | FailureOf[On]

interface FailureOf {
  readonly SemanticGarbage: SemanticGarbage
  readonly ToolUnavailable: ToolUnavailable
  readonly defect: ToolUnavailable
}

/**
 * Rejected arguments, and the failure of the call.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rejected<out On extends FailedExecution = FailedExecution> {
  /**
   * The text as the model wrote it. In a direct run (`tool.run`), it is the JSON of the parameters. It is
   * empty if the parameters contain a `Redacted`, or if it is longer than 1 MiB.
   */
  readonly text: string
  readonly failure: Fixable<On>
}

/**
 * The input of a fixer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rejection<out On extends FailedExecution = FailedExecution> extends Rejected<On> {
  /** The tool's name. */
  readonly tool: string
  /** The arguments as an object, if their text can be read and may be shown. */
  readonly arguments: Schema.JsonObject | undefined
  /** The JSON Schema of the arguments, as the model reads it. */
  readonly schema: JsonSchema.JsonSchema
  /** How often this fixer has been asked in this call, this time included. */
  readonly tries: number
  /** The earlier rejections that this fixer got in this call, oldest first. */
  readonly before: ReadonlyArray<Rejected<On>>
}

/**
 * The answer of a fixer: arguments, as an object or as text, or a value in place of the tool's result
 * ({@link Answered}). `undefined` and an empty text mean that the fixer has nothing better.
 *
 * Arguments are decoded as strictly as a model's.
 *
 * @category models
 * @since 0.1.0
 */
export type Fixed = string | Schema.JsonObject | Answered | undefined

/**
 * A value in place of the tool's result. See `Fixer.answer`.
 *
 * @category models
 * @since 0.1.0
 */
export class Answered {
  /** A result of the tool in its JSON form. */
  readonly value: Schema.Json

  constructor(value: Schema.Json) {
    this.value = value
  }
}

/**
 * The error of a fixer that gives up, and says why. See `Fixer.escalate`.
 *
 * @category failures
 * @since 0.1.0
 */
export class Escalation extends RawFailure<{
  /** One line for the model: what is wrong. */
  readonly detail: string
  /** One line for the model: what to do next. */
  readonly hint?: string
  readonly severity?: Severity
  /** The arguments with which the model should call again. */
  readonly arguments?: Schema.JsonObject
}> {
  readonly _tag = "Escalation"
}
