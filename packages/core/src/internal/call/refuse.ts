/*
 * The author's word that a tool has refused a call.
 */
import { SemanticGarbage, type ToolFailure } from "../../ToolFailure.ts"
import { textOf } from "../failure/failureField.ts"
import type { WireRecord } from "../wire/wireRecord.ts"

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

/**
 * Returns the failure of a tool that has refused a call, and done nothing.
 *
 * @param record the record of the attempt whose handler refuses
 */
export const refusalBecause = (
  record: WireRecord | undefined,
  detail: string,
  { code = "rejected", ...options }: RefuseOptions = {}
): SemanticGarbage => {
  const failure = new SemanticGarbage({
    ...options,
    code,
    detail: textOf(detail) ?? "The tool refused the call.",
    outcome: "not_executed",
    evidence: { refused: true }
  })
  if (record !== undefined) refusedIn.set(failure, record)
  return failure
}

const refusedIn = new WeakMap<ToolFailure, WireRecord>()

/** True if the handler of this attempt has refused the call in these words, so that they quote no tool that it ran. */
export const hasRefused = (record: WireRecord, failure: ToolFailure | undefined): boolean =>
  failure !== undefined && refusedIn.get(failure) === record
