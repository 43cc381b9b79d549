/**
 * Faults: what is wrong with the text. Each has a kind, a place, and the expectation there. The module
 * `words` puts faults into sentences.
 */

/** The kinds of faults. */
export const faultKinds = [
  "array",
  "bareword",
  "bracket_mismatch",
  "call",
  "concatenation",
  "cut_off",
  "duplicate_key",
  "ellipsis",
  "expression",
  "invalid_escape",
  "invalid_number",
  "invisible_character",
  "markup",
  "missing_colon",
  "missing_comma",
  "missing_value",
  "no_object",
  "prose",
  "prototype_key",
  "several_objects",
  "too_deep",
  "too_long",
  "too_many_repairs",
  "unclear_comment",
  "unescaped_quote",
  "unexpected_character",
  "unquoted_key"
] as const

export type FaultKind = typeof faultKinds[number]

/**
 * The expectation at the place of a fault. Some expectations mention a key, a bracket, a quote or a limit
 * (`Fault.of`).
 */
export type Expected =
  | "another_key"
  | "bytes"
  | "closer"
  | "closing_quote"
  | "colon"
  | "comma_or_closer"
  | "computed"
  | "constant"
  | "control_escape"
  | "double_quotes"
  | "end"
  | "end_of_comment"
  | "escape"
  | "finite"
  | "key"
  | "key_once"
  | "levels"
  | "member"
  | "no_comment"
  | "no_hash"
  | "no_trailing_comma"
  | "nothing_left_out"
  | "number"
  | "object"
  | "object_alone"
  | "plain_json"
  | "plain_quotes"
  | "quote"
  | "rest_of_escape"
  | "rest_of_number"
  | "rest_of_word"
  | "text_in_quotes"
  | "value"
  | "value_or_no_key"

/** The first fault in the text. */
export interface Fault {
  readonly kind: FaultKind
  /** The 0-based offset in the text, in UTF-16 code units. */
  readonly offset: number
  readonly expected: Expected
  /** The key, the closing bracket, the quote or the limit that `expected` mentions. */
  readonly of?: string | undefined
}

export const faultAt = (kind: FaultKind, offset: number, expected: Expected, of?: string): Fault => ({
  kind,
  offset,
  expected,
  of
})
