/** Repairs: changes to what a model wrote, which made it readable. `RULES.md` has an example of each. */
import type { Path } from "./json.ts"

/** The kinds of repairs to the text. */
export const textRepairKinds = [
  "byte_order_mark",
  "code_fence",
  "comment",
  "control_character",
  "double_encoded",
  "duplicate_key",
  "escaped_apostrophe",
  "escaped_quotes",
  "leading_point",
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

/** The kinds of repairs to a value. */
export const valueRepairKinds = [
  "array_for_single",
  "blank_for_null",
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

/** A change to the text. */
export interface TextRepair {
  readonly kind: TextRepairKind
  /** The 0-based offset of the first repair of this kind in the text, in UTF-16 code units. */
  readonly offset: number
  /** A note for the model, in one short sentence; absent if the repair needs no mention. */
  readonly note?: string
}

/** A change to a value. */
export interface ValueRepair {
  readonly kind: ValueRepairKind
  /** Keys and indices from the root, as the model wrote them. */
  readonly path: Path
  /** A note for the model, in one short sentence; absent if the repair needs no mention. */
  readonly note?: string
}

/** A change to what a model wrote, which made it readable. */
export type Repair = TextRepair | ValueRepair
