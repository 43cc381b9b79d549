/*
 * The input and the possible answers of a fixer, as `Fixer` exports them.
 */
import type * as JsonSchema from "effect/JsonSchema"
import type * as Schema from "effect/Schema"
import type { SchemaMismatch, SemanticGarbage, Severity, ToolUnavailable } from "../../ToolFailure.ts"
import { RawFailure } from "../failure/failureClass.ts"

/**
 * The kinds of failed executions that a fixer can be asked about.
 *
 * @category models
 * @since 0.1.0
 */
export type FailedExecution = "SemanticGarbage" | "ToolUnavailable" | "defect"

/**
 * A failure that a fixer can get: rejected arguments, or a failed execution of a kind listed in `on`. A
 * fixer gets a defect as a `ToolUnavailable` with the code `defect`.
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
 * Arguments that a fixer gets, and the failure that they led to.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rejected<out On extends FailedExecution = FailedExecution> {
  /**
   * The arguments as the model wrote them. In a direct run (`tool.run`), this text is the JSON form of the
   * parameters. The text is empty if the parameters contain a secret, or if it would be longer than 1
   * MiB.
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
  /** The arguments as an object; `undefined` if `text` cannot be read as an object or must not be shown. */
  readonly arguments: Schema.JsonObject | undefined
  /** The JSON Schema of the arguments, as the model gets it. */
  readonly schema: JsonSchema.JsonSchema
  /** How many times this fixer has been asked in this call, including this time. */
  readonly tries: number
  /** The earlier rejections that this fixer got in this call, oldest first. */
  readonly before: ReadonlyArray<Rejected<On>>
}

/**
 * The answer of a fixer: arguments, as an object or as a string, or a value in place of the tool's result
 * ({@link Answered}). `undefined` or an empty string means that the fixer has nothing better.
 *
 * Arguments from a fixer are decoded as strictly as arguments from a model.
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
 * The error with which a fixer gives up and says why. See `Fixer.escalate`.
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
