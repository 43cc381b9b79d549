/** The state of reading a text, and what all functions that read it share. */
import type { Json } from "../json.ts"
import { newMap } from "../memo.ts"
import { type Expected, type Fault, faultAt, type FaultKind } from "./fault.ts"

/** The kinds of repairs inside a JSON value. */
export type RepairKind =
  | "comment"
  | "control_character"
  | "duplicate_key"
  | "escaped_apostrophe"
  | "leading_point"
  | "missing_comma"
  | "python_constant"
  | "single_quotes"
  | "smart_quotes"
  | "trailing_comma"
  | "unquoted_key"

export type Container = Array<Json> | Record<string, Json>

/** The source texts of numbers, by container and key. */
export type NumberTokens = Map<object, Map<string | number, string>>

/** A position in a text. */
export interface Cursor {
  readonly text: string
  at: number
}

export interface Scanner extends Cursor {
  /** The deepest nesting of objects and arrays that is read. */
  readonly limit: number
  /** The number of objects and arrays around the current position. */
  depth: number
  /** The first fault. It ends the reading, because it moves to the end of the text. */
  fault: Fault | undefined
  /** The kinds of repairs so far, each with the offset of its first repair. */
  readonly repairs: Map<RepairKind, number>
  /** Whether the text so far has an integer that a JavaScript number cannot hold. */
  hasUnsafeInteger: boolean
  /**
   * The closing brackets after which more values follow. If one of them came too early, the end of the text
   * seems to have a surplus bracket.
   */
  readonly closedBeforeMore: Set<string>
  /** The source texts of numbers that JavaScript would write differently. */
  readonly tokens: NumberTokens
}

export const scannerOf = (text: string, at: number, limit: number): Scanner => ({
  text,
  at,
  limit,
  depth: 0,
  fault: undefined,
  repairs: newMap(),
  hasUnsafeInteger: false,
  closedBeforeMore: new Set(),
  tokens: newMap()
})

/** True if a sticky pattern matches here. */
export const sees = ({ at, text }: Cursor, pattern: RegExp): boolean => {
  pattern.lastIndex = at
  return pattern.test(text)
}

/** Reads the text that a sticky pattern matches here. */
export const match = (cursor: Cursor, pattern: RegExp): string | undefined => {
  const { at, text } = cursor
  if (!sees(cursor, pattern)) return undefined
  cursor.at = pattern.lastIndex
  return text.slice(at, cursor.at)
}

/** Records a repair, unless one of the same kind is already recorded. */
export const repaired = <K>({ repairs }: { readonly repairs: Map<K, number> }, kind: K, offset: number): void => {
  if (!repairs.has(kind)) repairs.set(kind, offset)
}

/** Records a fault, unless there already is one. At the end of the text, every fault is `cut_off`. */
export const fail = (scanner: Scanner, kind: FaultKind, offset: number, expected: Expected, of?: string): undefined => {
  const end = scanner.text.length
  scanner.at = end
  scanner.fault ??= faultAt(offset < end ? kind : "cut_off", Math.min(offset, end), expected, of)
}

/** Records that the text ends too early. */
export const cutOff = (scanner: Scanner, expected: Expected, of?: string): undefined =>
  fail(scanner, "cut_off", scanner.text.length, expected, of)
