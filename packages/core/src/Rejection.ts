/**
 * What a fixer is told, and how it answers.
 *
 * It is told of arguments that were rejected: while they are decoded, or by the handler, which fails with a `SchemaMismatch` on the side of
 * the arguments. When it is declared so (`on`), it is told of failed executions, too. It answers with better arguments or with a value
 * ({@link Fixed}), escalates ({@link Escalation}), or fails in any way of its own. `Fixer` has what makes fixers and where they are declared.
 *
 * @since 0.1.0
 */
import type * as JsonSchema from "effect/JsonSchema"
import type * as Schema from "effect/Schema"
import { RawFailure } from "./internal/failure/failureClass.ts"
import type { SchemaMismatch, SemanticGarbage, Severity, ToolUnavailable } from "./ToolFailure.ts"

/**
 * How an execution may fail that a fixer is asked about.
 *
 * @category models
 * @since 0.1.0
 */
export type FailedExecution = "SemanticGarbage" | "ToolUnavailable" | "defect"

/**
 * What a fixer may be told of: rejected arguments, and the failed executions that it is asked about. A defect is a `ToolUnavailable` with
 * the code `defect`.
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
 * Arguments, and how the call failed with them.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rejected<out On extends FailedExecution = FailedExecution> {
  /**
   * The text as the model wrote it. In a run by hand (`tool.run`) it is the JSON of the parameters. It is empty where it holds anything
   * `Redacted`, or has more than 1 MiB.
   */
  readonly text: string
  readonly failure: Fixable<On>
}

/**
 * What a fixer is told.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rejection<out On extends FailedExecution = FailedExecution> extends Rejected<On> {
  /** The tool's name. */
  readonly tool: string
  /** The arguments as an object, where their text can be read, and may be shown. */
  readonly arguments: Schema.JsonObject | undefined
  /** The JSON Schema of the arguments, as the model was shown it. */
  readonly schema: JsonSchema.JsonSchema
  /** How often this fixer has been asked in this call, this time included. */
  readonly tries: number
  /** What this fixer was told before in this call, oldest first. */
  readonly before: ReadonlyArray<Rejected<On>>
}

/**
 * How a fixer answers: with arguments, as an object or as its text, or with a value in place of the tool's ({@link Answered}); with
 * `undefined`, or an empty text, where it has nothing better.
 *
 * Arguments are decoded as strictly as a model's.
 *
 * @category models
 * @since 0.1.0
 */
export type Fixed = string | Schema.JsonObject | Answered | undefined

/**
 * A value in place of the tool's result: see `Fixer.answer`.
 *
 * @category models
 * @since 0.1.0
 */
export class Answered {
  /** The JSON form of a result of the tool. */
  readonly value: Schema.Json

  constructor(value: Schema.Json) {
    this.value = value
  }
}

/**
 * A fixer gives up, and says why: see `Fixer.escalate`.
 *
 * @category failures
 * @since 0.1.0
 */
export class Escalation extends RawFailure<{
  /** One line: what is wrong, as the model is to read it. */
  readonly detail: string
  /** One line: what the model is to do next. */
  readonly hint?: string
  readonly severity?: Severity
  /** The arguments with which the model should call again. */
  readonly arguments?: Schema.JsonObject
}> {
  readonly _tag = "Escalation"
}
