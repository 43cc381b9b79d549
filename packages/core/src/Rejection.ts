/**
 * Arguments that were rejected: what a fixer is told of them, and how it answers.
 *
 * They are rejected in two places, and a fixer need not know in which: while they are decoded, because their text cannot be
 * read or does not fit the tool's parameters; and by the handler, which fails with a `SchemaMismatch` on the side of the
 * arguments. A fixer answers with better ones ({@link Fixed}), gives up with a word for the model ({@link Escalation}), or
 * fails in any way of its own. `Fixer` has what makes fixers, `Tool.fix` what uses them.
 *
 * @since 0.1.0
 */
import type * as JsonSchema from "effect/JsonSchema"
import type * as Schema from "effect/Schema"
import { RawFailure } from "./internal/failure.ts"
import type { SchemaMismatch, Severity } from "./ToolFailure.ts"

/**
 * Arguments, and why they were rejected.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rejected {
  /**
   * The text as it was written, with whatever a model or a user has put in it. Of typed parameters that no model wrote (`tool.run` by
   * hand) it is their JSON, and empty when they have none. Empty, too, for a tool whose parameters have anything `Redacted`: of these
   * a fixer is told the failure alone.
   */
  readonly text: string
  readonly failure: SchemaMismatch
}

/**
 * What a fixer is told.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rejection extends Rejected {
  /** The tool's name. */
  readonly tool: string
  /** The object that the text was read as, where it could be read. */
  readonly arguments: Schema.JsonObject | undefined
  /** What the model was shown of the tool's parameters. */
  readonly schema: JsonSchema.JsonSchema
  /** Which try of this call it is, from 1. */
  readonly tries: number
  /** What was rejected before, oldest first: what the model wrote, and then what a fixer has answered. Empty on the first try. */
  readonly before: ReadonlyArray<Rejected>
}

/**
 * Better arguments: their object, or its text. They are decoded as a model's are, and as strictly.
 *
 * @category models
 * @since 0.1.0
 */
export type Fixed = string | Schema.JsonObject

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
