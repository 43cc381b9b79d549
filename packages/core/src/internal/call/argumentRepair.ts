import { textRepairKinds, valueRepairKinds } from "@fallible/arguments"
import * as Schema from "effect/Schema"
import { FieldIssue } from "../../ToolFailure.ts"

/**
 * A change that made the model's arguments readable: to their text, at an offset, or to a value, at a path.
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
  /** The kind of the mistake. `RULES.md` of `@fallible/arguments` has an example of each. */
  kind: Schema.Literals(textRepairKinds),
  /** The position of the first mistake of this kind, in UTF-16 code units from the start of the text. */
  offset: Schema.Int,
  /** A short sentence for the model. Absent if the change is not worth mentioning. */
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
   * The kind of the drift. `RULES.md` of `@fallible/arguments` has an example of each. `"fixed"`: a fixer corrected
   * the arguments (`Tool.fix`). `"repeated"`: the call repeats an earlier one under its key, with the earlier
   * arguments.
   */
  kind: Schema.Literals([...valueRepairKinds, "fixed", "repeated"]),
  /** The path of the value: keys and indices from the root, as they were written. */
  path: FieldIssue.fields.path,
  /** A short sentence for the model. Absent if the change is not worth mentioning. */
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
