/**
 * Values that drifted from their schema: what they can only have meant, and what to say of those that
 * mean nothing.
 *
 * {@link coerce} undoes the drifts of models (a number in quotes, a key in another case, a list in a string) where a
 * value has exactly one reading; {@link misfits} says of each field that is left what was expected and what
 * came; {@link refusals} adds what only a tool's own schema knows. "Expected" is what the JSON Schema says that the
 * model was shown: tools from elsewhere have nothing else.
 *
 * Decode first, since a call without drift should cost nothing. When that fails, coerce and decode again; when it still
 * fails, say why.
 *
 * Why so few coercions? A value that passes the schema and is wrong runs; one that is refused is sent again.
 * So `"100"` is an integer where one is due, and `"1,000"` and `"1.000"`, which are one thousand or one, are not.
 *
 * Each coercion is a {@link ToolOutcome.ValueRepair}, and the model is told of those that are worth a word:
 *
 * | kind                 | the drift                                                                        | told to the model? |
 * | -------------------- | -------------------------------------------------------------------------------- | ------------------ |
 * | `text_for_number`    | `"100"` for an integer or a number, also with white space around it              | no                 |
 * | `text_for_boolean`   | `"true"`, `"True"` for a boolean                                                 | no                 |
 * | `text_for_array`     | an array as a text of strict JSON                                                | no                 |
 * | `text_for_object`    | an object as a text of strict JSON                                               | no                 |
 * | `choice_case`        | a choice in another case, or with white space around it                          | no                 |
 * | `null_for_optional`  | `null` for an optional key                                                       | no                 |
 * | `space_in_date_time` | a space for the `T` of a date-time                                               | no                 |
 * | `decimal_for_integer` | `"100.0"`, `"1e2"` for an integer                                               | yes                |
 * | `number_for_text`    | `100` for a string, with the digits of the text                                  | yes                |
 * | `boolean_for_text`   | `true` for a string                                                              | yes                |
 * | `text_for_choice`    | `"1"` for a choice that is a number                                              | yes                |
 * | `choice_spelling`    | a choice with other `-`, `_` and spaces                                          | yes                |
 * | `single_for_array`   | `"a"` for `["a"]`                                                                | yes                |
 * | `array_for_single`   | `["a"]` for `"a"`                                                                | yes                |
 * | `python_list`        | a Python list of literals in a text                                              | yes                |
 * | `text_with_drift`    | strict JSON in a text, with drifts of the first seven kinds inside               | yes                |
 * | `blank_for_optional` | `""`, `"null"`, `"None"`, `"undefined"` for an optional key that cannot be that  | yes                |
 * | `renamed_key`        | a key in another case, or with other `-`, `_` and spaces                         | yes                |
 * | `wrapper`            | `arguments`, `args`, `parameters`, `params`, `input` or `properties` around all  | yes                |
 * | `date_form`          | `2024-1-2`, or a date-time at midnight, for a date                               | yes                |
 * | `fixed`              | none of these: a fixer has corrected the arguments (`Tool.fix`)                  | yes                |
 *
 * What has no single reading stays as it is, and is refused:
 *
 * | for                | refused                                                                       |
 * | ------------------ | ----------------------------------------------------------------------------- |
 * | a number           | `"1.500"`, `"-150.000"`: three digits behind a dot, one to three before it    |
 * | a number           | `"1,000"`, `"$5"`, `"50%"`, `"0x10"`, `"1_000"`; `1.5` for an integer; `true` |
 * | a boolean          | `"yes"`, `"on"`, `1`                                                          |
 * | an array           | `"a,b"`, `"a，b"`, `"a、b"`, `"a،b"`, `"a; b"`, `"a & b"`; lines, tabs, bullets |
 * | an array           | `"5"` for `[5]`: two drifts at once                                           |
 * | an array of arrays | an array of anything else: `[1,2]` may be `[[1,2]]` or `[[1],[2]]`            |
 * | a choice           | one that is only near                                                         |
 * | a date             | `01/02/2024`, a number; a time without a zone, where a zone is needed         |
 * | a required key     | `""`, `null`                                                                  |
 * | a closed object    | keys that it does not have                                                    |
 *
 * What the schema calls `writeOnly`, or of the format `password`, is a secret (a `Schema.Redacted` is shown so): no note and no issue quotes it, or what it is
 * a part of.
 *
 * @since 0.1.0
 */
import type * as JsonSchema from "effect/JsonSchema"
import type * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import { ByPath } from "./internal/byPath.ts"
import { type Complaint, complaintsOf } from "./internal/complaint.ts"
import { conformanceTo, type Misfit } from "./internal/conformance.ts"
import { undo, type Undoing } from "./internal/drift.ts"
import { formsOf } from "./internal/form.ts"
import { Gathered, type Group, listed, within } from "./internal/gathered.ts"
import { excerpt, kind } from "./internal/text.ts"
import { noSuchKey, unknownKeyIn } from "./internal/unknownKey.ts"
import { isJson, kindOf, mark, nameOf, partAt, show, type Value } from "./internal/written.ts"
import { writtenAt } from "./internal/writtenAt.ts"
import type { FieldIssue } from "./ToolFailure.ts"
import type { ValueRepair } from "./ToolOutcome.ts"

/**
 * How a value came about, as far as its text is known.
 *
 * @category models
 * @since 0.1.0
 */
export interface Origin {
  /**
   * The source text of a number at a path (keys and indices), where it is known: `"1.10"`,
   * `"12345678901234567890"`. Without it a number is taken to have been written as JavaScript writes it.
   */
  readonly numberAt?: (path: FieldIssue["path"]) => string | undefined
}

/**
 * A value whose drifts were undone, and which these were.
 *
 * @category models
 * @since 0.1.0
 */
export interface Coerced {
  readonly value: Schema.Json
  /**
   * At most twenty with a note, the last of which counts those that are left out, and twenty without. Of one kind in the same field of an array's items, only the first has a
   * note: it counts the others.
   */
  readonly repairs: ReadonlyArray<ValueRepair>
}

// -----------------------------------------------------------------------------
// Coercion
// -----------------------------------------------------------------------------

/**
 * The value with every drift undone that has exactly one reading.
 *
 * When to use: after a value did not decode, and before it is decoded once more.
 *
 * What fits is never touched, and what has no single reading stays as it is. Changes nothing in place: where nothing
 * was undone, the value is the same reference.
 *
 * @example
 * ```ts
 * import { Coercion } from "@fallible/core"
 *
 * const schema = { type: "object", properties: { userId: { type: "integer" } }, additionalProperties: false }
 *
 * Coercion.coerce({ userId: "7" }, schema).value // => { userId: 7 }
 * Coercion.coerce({ user_id: 7 }, schema).repairs[0]?.note // => "'userId' was written as 'user_id'"
 * Coercion.coerce({ userId: "7 or 8" }, schema).repairs // => []
 * ```
 *
 * @param value any JSON
 * @param schema the JSON Schema that describes it, with its definitions inside
 * @param origin how the value was written; default: as JavaScript would write it
 * @category coercion
 * @since 0.1.0
 */
export const coerce = (value: Schema.Json, schema: JsonSchema.JsonSchema, origin: Origin = {}): Coerced => {
  const conformance = conformanceTo(schema)
  const numberAt = origin.numberAt ?? (() => undefined)
  const undone = undo(mark(value, numberAt), schema, conformance, numberAt)
  // A number that lost digits is refused by its place in the text, which a moved value no longer has.
  if (undone.repairs.length === 0 || !conformance.spend(0) || !isJson(undone.value)) return { value, repairs: [] }
  return { value: undone.value, repairs: told(undone.repairs) }
}

// Thirty items that drifted in one way are one thing to learn, and of a thousand things twenty teach as much.
const told = (undoings: ReadonlyArray<Undoing>): ReadonlyArray<ValueRepair> => {
  const groups = new Map<Undoing["kind"], ByPath<{ count: number }>>()
  const firsts = new Map<Undoing, { count: number }>()
  for (const undoing of undoings) {
    const { kind, note, path } = undoing
    if (note === undefined) continue
    const alike = groups.get(kind) ?? new ByPath(true)
    const group = alike.get(path) ?? { count: 0 }
    if (group.count++ > 0) continue
    groups.set(kind, alike)
    alike.set(path, group)
    firsts.set(undoing, group)
  }
  const left = { silent: mostRepairs, noted: mostRepairs }
  const others = Array.from(firsts.values()).slice(mostRepairs).reduce((sum, { count }) => sum + count, 0)
  return undoings.flatMap((undoing): ReadonlyArray<ValueRepair> => {
    const { kind, note, path } = undoing
    const count = firsts.get(undoing)?.count
    if (note === undefined || count === undefined) return left.silent-- > 0 ? [{ kind, path }] : []
    if (left.noted-- <= 0) return []
    const more = count > 1 ? `, and ${count - 1} more like it` : ""
    const unlisted = left.noted === 0 && others > 0 ? `; ${others} more repairs are not listed` : ""
    return [{ kind, path, note: `${note()}${more}${unlisted}` }]
  })
}

const mostRepairs = 20

// -----------------------------------------------------------------------------
// Misfits
// -----------------------------------------------------------------------------

/**
 * Does the value fit the schema?
 *
 * When to use: where a decoder accepts more than the model was told.
 *
 * @example
 * ```ts
 * import { Coercion } from "@fallible/core"
 *
 * Coercion.fits("2024-01-31", { type: "string", format: "date" }) // => true
 * Coercion.fits("01/31/2024", { type: "string", format: "date" }) // => false
 * ```
 *
 * @param value any JSON
 * @param schema the JSON Schema that describes it, with its definitions inside
 * @param origin how the value was written; default: as JavaScript would write it
 * @category issues
 * @since 0.1.0
 */
export const fits = (value: Schema.Json, schema: JsonSchema.JsonSchema, origin?: Origin): boolean =>
  conformanceTo(schema).fits(mark(value, origin?.numberAt), schema)

/**
 * Everything about a value that does not fit: one issue per field, at most twenty. Empty when it fits.
 *
 * When to use: to tell a model what to send instead.
 *
 * @example
 * ```ts
 * import { Coercion } from "@fallible/core"
 *
 * const schema = { type: "object", properties: { days: { type: "integer", minimum: 1, maximum: 5 } } }
 *
 * Coercion.misfits({ days: 7 }, schema) // => [{ path: ["days"], expected: "integer from 1 to 5", actual: "7" }]
 * ```
 *
 * @param value any JSON
 * @param schema the JSON Schema that describes it, with its definitions inside
 * @param origin how the value was written; default: as JavaScript would write it
 * @category issues
 * @since 0.1.0
 */
export const misfits = (
  value: Schema.Json,
  schema: JsonSchema.JsonSchema,
  origin?: Origin
): ReadonlyArray<FieldIssue> => refusals(undefined, value, schema, origin)

/**
 * Everything that is wrong with a value: its misfits, and what its decoder alone knows (a brand, a
 * filter, a transformation). One issue per field, at most twenty.
 *
 * When to use: when a value that was coerced as far as possible still does not decode.
 *
 * Where both speak of a field, the decoder has the word only for a check in an author's own words.
 *
 * @example
 * ```ts
 * import { Coercion } from "@fallible/core"
 *
 * Coercion.refusals(undefined, "7", { type: "boolean" }) // => [{ path: [], expected: "boolean", actual: "\"7\"" }]
 * ```
 *
 * @param issue why the value did not decode (decode with `errors: "all"`), if it did not
 * @param value the value that did not
 * @param schema the JSON Schema that describes it, with its definitions inside
 * @param origin how the value was written; default: as JavaScript would write it
 * @param written what the model wrote, where the value was coerced: issues show that
 * @category issues
 * @since 0.1.0
 */
export const refusals = (
  issue: SchemaIssue.Issue | undefined,
  value: Schema.Json,
  schema: JsonSchema.JsonSchema,
  origin?: Origin,
  written?: Origin & { readonly value: Schema.Json }
): ReadonlyArray<FieldIssue> => {
  const marked = mark(value, origin?.numberAt)
  const original = written === undefined ? marked : mark(written.value, written.numberAt)
  const conformance = conformanceTo(schema)
  const { forms } = conformance
  const { fields, unions } = conformance.misfits(marked, schema, mostIssues, unknownKeyIn(conformance))
  const actual = ({ path, value: came }: Pick<Misfit, "path" | "value">): string =>
    (forms.isSecretAt(path) ? kindOf : show)(original === marked ? came : writtenAt(original, marked, path))

  const complaints = issue === undefined ? [] : complaintsOf(issue, value, schema)
  const byPath = new ByPath<Complaint>()
  for (const complaint of complaints) byPath.set(complaint.path, complaint)
  const told = fields.map((group) => ({
    ...group,
    first: group.first.map((misfit): FieldIssue => {
      const { expected, isBound, path } = misfit
      const decoder = isBound ? byPath.get(path) : undefined
      return { path, expected: decoder?.authors ?? decoder?.exact() ?? expected, actual: actual(misfit) }
    })
  }))

  // Of what the schema does not see: all but what other members of a union say, of which one was meant.
  const isTold = within(fields)
  const settled = new ByPath<true>()
  for (const path of unions) settled.set(path, true)
  const isNew = ({ isOfKind, path }: Complaint) =>
    !isTold(path) && !settled.hasAlong(path) && !(isOfKind && forms.isInUnion(path))
  const news = complaints.filter(isNew)
  const rest = new Gathered<FieldIssue>(mostIssues)
  for (const complaint of news.length === 0 && told.length === 0 ? complaints : news) {
    const { path } = complaint
    const at = partAt(marked, path)
    rest.add(path, () => ({
      path,
      expected: complaint.expected(),
      actual: actual({ path, value: isValue(at) ? at : undefined })
    }))
  }
  return listed([...told, ...rest.groups()], mostIssues, others)
}

const mostIssues = 20

const isValue = (value: unknown): value is Value => value !== undefined

// Sixty items that are wrong in the same way are told of three times, and counted.
const others = ({ first, path }: Group<FieldIssue>, count: number): FieldIssue => {
  const index = path.findIndex((key) => typeof key === "number")
  const [array, field] = [path.slice(0, index), path.slice(index + 1)]
  const [expected = "", ...rest] = new Set(first.map(({ expected }) => expected))
  const more = `${count} more ${count === 1 ? "item" : "items"} like these`
  const name = field.length === 0 ? "" : `${nameOf(field)} of `
  return expected.startsWith(noSuchKey)
    ? { path: array, expected: `${noSuchKey} as ${nameOf(field)}: ${more}`, actual: more }
    : { path: array, expected: `${rest.length === 0 ? expected : "the same"} for ${name}each item`, actual: more }
}

// -----------------------------------------------------------------------------
// What a decoder says
// -----------------------------------------------------------------------------

/**
 * What a decoder says of a value: one entry per field, at most twenty, for a thousand would teach no more.
 *
 * When to use: for a value that no model wrote, such as a tool's result; else see {@link refusals}.
 *
 * @param issue why the value did not decode (decode with `errors: "all"`)
 * @param input the value that did not
 * @param options `schema`: the JSON Schema that describes the value. `show`: how a value that came is
 * put; default: an excerpt of it
 * @category issues
 * @since 0.1.0
 */
export const fieldIssues = (
  issue: SchemaIssue.Issue,
  input: unknown,
  options: {
    readonly schema?: JsonSchema.JsonSchema
    readonly show?: (value: unknown) => string
  } = {}
): ReadonlyArray<FieldIssue> => {
  const { schema = {}, show = excerpt } = options
  const { isSecretAt } = formsOf(schema)
  const found = new Gathered<FieldIssue>(mostIssues)
  for (const { expected, path } of complaintsOf(issue, input, schema)) {
    found.add(path, () => ({
      path,
      expected: expected(),
      actual: (isSecretAt(path) ? kind : show)(partAt(input, path))
    }))
  }
  return listed(found.groups(), mostIssues, others)
}
