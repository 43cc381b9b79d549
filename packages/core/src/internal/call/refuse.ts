/*
 * The author's word that a tool has refused a call.
 */
import { SemanticGarbage } from "../../ToolFailure.ts"
import { textOf } from "../failure/failureField.ts"

/**
 * What a refusal says besides its sentence.
 *
 * @category models
 * @since 0.1.0
 */
export interface RefuseOptions {
  /** A stable name in snake_case. Default: `"rejected"`. */
  readonly code?: string
  /** One line: what to do next. */
  readonly hint?: string
  /** The valid choices, nearest first. Default: none. */
  readonly alternatives?: ReadonlyArray<string>
}

/** Returns the failure of a tool that has refused a call, and done nothing. */
export const refusalBecause = (
  detail: string,
  { code = "rejected", ...options }: RefuseOptions = {}
): SemanticGarbage =>
  new SemanticGarbage({
    ...options,
    code,
    detail: textOf(detail) ?? "The tool refused the call.",
    outcome: "not_executed",
    evidence: { refused: true }
  })
