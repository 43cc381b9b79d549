import type { Json } from "../json.ts"
import { deepest } from "../options.ts"
import type { RepairKind } from "../text/lexer.ts"
import { Reader } from "../text/reader.ts"

/** True for the repairs that turn Python's notation for lists into JSON. */
const isPython = (kind: RepairKind): boolean =>
  kind === "single_quotes" || kind === "python_constant" || kind === "trailing_comma"

/**
 * Parses a non-empty list of literals in Python's notation, such as `['a', None]`. Returns `undefined` for
 * any other string.
 */
export const pythonList = (text: string): ReadonlyArray<Json> | undefined => {
  const list = text.trim()
  if (!list.startsWith("[")) return undefined
  const reader = new Reader(list, 0, { depth: deepest })
  const value = reader.value()
  const isRead = reader.fault === undefined && reader.at === list.length && !reader.hasUnsafeInteger &&
    Array.from(reader.repairs.keys()).every(isPython)
  return isRead && Array.isArray(value) && value.length > 0 && value.every(isLiteral) ? value : undefined
}

const isLiteral = (value: Json): boolean => typeof value !== "object" || value === null
