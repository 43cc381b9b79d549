import { textRepairKinds, valueRepairKinds } from "@fallible/arguments/internal"
import * as Schema from "effect/Schema"
import { FieldIssue } from "../../ToolFailure.ts"
import { namedStruct } from "../value/namedStruct.ts"

/**
 * A change that made the model's arguments readable. It applies either to their text (at an offset)
 * or to one value (at a path).
 *
 * @category models
 * @since 0.1.0
 */
export type Repair = TextRepair | ValueRepair

/**
 * A change to the text of the arguments.
 *
 * @category models
 * @since 0.1.0
 */
export class TextRepair extends namedStruct<TextRepair>()({
  /** The kind of the mistake. `RULES.md` of `@fallible/arguments` has an example of each kind. */
  kind: Schema.Literals(textRepairKinds),
  /** The 0-based offset of the first mistake of this kind in the text, in UTF-16 code units. */
  offset: Schema.Int,
  /** A short sentence for the model. Absent if the change is not worth mentioning. */
  note: Schema.optionalKey(Schema.String)
}) {}

/**
 * A change to a value of the arguments.
 *
 * @category models
 * @since 0.1.0
 */
export class ValueRepair extends namedStruct<ValueRepair>()({
  /**
   * The kind of the change. `RULES.md` of `@fallible/arguments` has examples of all kinds except four.
   * `"fixed"`: a fixer corrected the arguments (`Tool.fix`). `"repeated"`: the call repeats an
   * earlier call, and uses that call's key and arguments. `"joined"`: an equal call of the same turn ran in its place. `"edited"`: a
   * person changed the arguments when approving the call.
   */
  kind: Schema.Literals([...valueRepairKinds, "fixed", "repeated", "joined", "edited"]),
  /** The path to the value: keys and indices from the root, as the model wrote them. */
  path: FieldIssue.fields.path,
  /** A short sentence for the model. Absent if the change is not worth mentioning. */
  note: Schema.optionalKey(Schema.String)
}) {}

/**
 * The schema of a {@link Repair}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Repair = Schema.Union([TextRepair, ValueRepair])
