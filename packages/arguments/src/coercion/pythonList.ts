import { isArray, isContainer, type Json } from "../json.ts"
import { deepest } from "../options.ts"
import { readValue } from "../text/reader.ts"
import { type RepairKind, scannerOf } from "../text/scanner.ts"

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
  const scanner = scannerOf(list, 0, deepest)
  const value = readValue(scanner)
  const isRead = !scanner.fault && scanner.at === list.length && !scanner.hasUnsafeInteger &&
    Array.from(scanner.repairs.keys()).every(isPython)
  return isRead && isArray(value) && value.length > 0 && value.every(isLiteral) ? value : undefined
}

const isLiteral = (value: Json): boolean => !isContainer(value)
