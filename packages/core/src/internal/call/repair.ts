import { textRepairKinds, valueRepairKinds } from "@fallible/arguments"
import * as Schema from "effect/Schema"
import { FieldIssue } from "../../ToolFailure.ts"

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
  /** The class of the mistake: `RULES.md` of `@fallible/arguments` has an example of each. */
  kind: Schema.Literals(textRepairKinds),
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
   * The class of the drift: `RULES.md` of `@fallible/arguments` has an example of each. `"fixed"`: a fixer has corrected the arguments (`Tool.fix`). `"repeated"`: the call
   * repeats an earlier one under its key, with the arguments of that one.
   */
  kind: Schema.Literals([...valueRepairKinds, "fixed", "repeated"]),
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
