/**
 * Changes to what a model wrote, so that it could be read: to its text, or to a value. `RULES.md` has an example of each.
 */
import type { Path } from "./json.ts"

/** The classes of changes to a text. */
export const textRepairKinds = [
  "byte_order_mark",
  "code_fence",
  "comment",
  "control_character",
  "double_encoded",
  "duplicate_key",
  "escaped_quotes",
  "missing_comma",
  "no_arguments",
  "prose",
  "python_constant",
  "single_quotes",
  "smart_quotes",
  "surplus_closers",
  "template_token",
  "trailing_comma",
  "unquoted_key"
] as const

export type TextRepairKind = typeof textRepairKinds[number]

/** The classes of changes to a value. */
export const valueRepairKinds = [
  "array_for_single",
  "blank_for_optional",
  "boolean_for_text",
  "choice_case",
  "choice_spelling",
  "date_form",
  "decimal_for_integer",
  "null_for_optional",
  "number_for_text",
  "python_list",
  "renamed_key",
  "single_for_array",
  "space_in_date_time",
  "text_for_array",
  "text_for_boolean",
  "text_for_choice",
  "text_for_number",
  "text_for_object",
  "text_with_drift",
  "wrapper"
] as const

export type ValueRepairKind = typeof valueRepairKinds[number]

/** Is a change worth a word to the model? Of those that are, a text may have two kinds at most. */
export const isTold = (kind: TextRepairKind | ValueRepairKind): boolean => told.has(kind)

const told: ReadonlySet<TextRepairKind | ValueRepairKind> = new Set<TextRepairKind | ValueRepairKind>([
  "duplicate_key",
  "escaped_quotes",
  "missing_comma",
  "prose",
  "smart_quotes",
  "surplus_closers",
  "array_for_single",
  "blank_for_optional",
  "boolean_for_text",
  "choice_spelling",
  "date_form",
  "decimal_for_integer",
  "number_for_text",
  "python_list",
  "renamed_key",
  "single_for_array",
  "text_for_choice",
  "text_with_drift",
  "wrapper"
])

/** A change to the text. */
export interface TextRepair {
  readonly kind: TextRepairKind
  /** Where the first of its kind was: in UTF-16 units from the start of the text. */
  readonly offset: number
  /** What a model should be told, in one short sentence; absent for a change that is not worth a word. */
  readonly note?: string
}

/** A change to a value. */
export interface ValueRepair {
  readonly kind: ValueRepairKind
  /** Where: keys and indices from the root, as they were written. */
  readonly path: Path
  /** What a model should be told, in one short sentence; absent for a change that is not worth a word. */
  readonly note?: string
}

/** A change to what a model wrote, so that it could be read. */
export type Repair = TextRepair | ValueRepair
