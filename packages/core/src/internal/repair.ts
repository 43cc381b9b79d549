import * as Schema from "effect/Schema"
import { FieldIssue } from "../ToolFailure.ts"

/**
 * A change that was made to what the model wrote, so that it could be read: to its text, at an offset, or to a value, at a path.
 *
 * @category models
 * @since 0.1.0
 */
export type Repair = TextRepair | ValueRepair

/**
 * The schema of a {@link TextRepair}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TextRepair = Schema.Struct({
  /** The class of the mistake; `Arguments` says what each means. */
  kind: Schema.Literals([
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
    "remark",
    "single_quotes",
    "smart_quotes",
    "surplus_closers",
    "template_token",
    "trailing_comma",
    "unquoted_key"
  ]),
  /** Where the first of its class was: in UTF-16 units from the start of the text. */
  offset: Schema.Int,
  /** What the model is told, in one short sentence; absent for a change that is not worth a word. */
  note: Schema.optionalKey(Schema.String)
})

/**
 * A change to the text of the arguments.
 *
 * @category models
 * @since 0.1.0
 */
export interface TextRepair extends Schema.Schema.Type<typeof TextRepair> {}

/**
 * The schema of a {@link ValueRepair}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ValueRepair = Schema.Struct({
  /**
   * The class of the drift; `Coercion` says what each means. `"fixed"`: a fixer has corrected the arguments (`Tool.fix`). `"repeated"`: the call
   * repeats an earlier one under its key, with the arguments of that one.
   */
  kind: Schema.Literals([
    "array_for_single",
    "blank_for_optional",
    "boolean_for_text",
    "choice_case",
    "choice_spelling",
    "date_form",
    "decimal_for_integer",
    "fixed",
    "null_for_optional",
    "number_for_text",
    "python_list",
    "renamed_key",
    "repeated",
    "single_for_array",
    "space_in_date_time",
    "text_for_array",
    "text_for_boolean",
    "text_for_choice",
    "text_for_number",
    "text_for_object",
    "text_with_drift",
    "wrapper"
  ]),
  /** Where: keys and indices from the root, as they were written. */
  path: FieldIssue.fields.path,
  /** What the model is told, in one short sentence; absent for a change that is not worth a word. */
  note: Schema.optionalKey(Schema.String)
})

/**
 * A change to a value of the arguments.
 *
 * @category models
 * @since 0.1.0
 */
export interface ValueRepair extends Schema.Schema.Type<typeof ValueRepair> {}

/**
 * The schema of a {@link Repair}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Repair = Schema.Union([TextRepair, ValueRepair])
