/*
 * What the author of a handler has written is told as it is, but for stacks and paths of files: those of an error that the
 * author has quoted.
 */
import { withoutPaths } from "@fallible/errors"
import type { ToolFailure } from "../../ToolFailure.ts"
import { withFields } from "./failureClass.ts"

/**
 * Returns a failure without stacks and paths. What was removed stays in its cause, for the log.
 *
 * @param said the text of the call's arguments: the model knows the paths in it
 */
export const withoutInternals = (failure: ToolFailure, said: string | undefined): ToolFailure => {
  const { detail, hint } = failure
  if (!mayHave.test(detail) && (hint === undefined || !mayHave.test(hint))) return failure
  // In JSON, a backslash is written twice.
  const known = said?.replaceAll("\\\\", "\\") ?? ""
  const told = (text: string): string => {
    const plain = withoutPaths(text, (path) => known.includes(path))
    return plain === text ? text : plain.trim()
  }
  const fields = { detail: told(detail) || untold, ...(hint === undefined ? {} : { hint: told(hint) }) }
  if (fields.detail === detail && fields.hint === hint) return failure
  return withFields<ToolFailure>(failure, { ...fields, cause: failure.cause ?? failure })
}

/** A quick test: most details have neither. */
const mayHave = /[\\/\n]|node:/

const untold = "The tool failed. Only its operators can see why."
