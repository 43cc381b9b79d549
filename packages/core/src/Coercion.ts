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
 * So `"100"` is an integer where one is due, and `"1,000"`, which is one thousand or one, is not.
 *
 * @since 0.1.0
 */
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { conformanceTo, type Misfit } from "./internal/conformance.ts"
import { undo } from "./internal/drift.ts"
import { propertiesOf } from "./internal/form.ts"
import { describeAt, isUnionAt, keysAt } from "./internal/jsonSchema.ts"
import { excerpt } from "./internal/text.ts"
import { isJson, mark, show } from "./internal/written.ts"
import * as Suggestion from "./Suggestion.ts"
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
  /** At most twenty with a note, and twenty without. */
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
  const undone = undo(mark(value, origin), schema, conformance, numberAt)
  // A number that lost digits is refused by its place in the text, which a moved value no longer has.
  if (undone.repairs.length === 0 || !conformance.spend(0) || !isJson(undone.value)) return { value, repairs: [] }
  return { value: undone.value, repairs: first(undone.repairs) }
}

// A thousand would teach no more, and are kept with the call.
const first = (repairs: ReadonlyArray<ValueRepair>): ReadonlyArray<ValueRepair> => {
  const left = { silent: 20, noted: 20 }
  return repairs.filter(({ note }) => left[note === undefined ? "silent" : "noted"]-- > 0)
}

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
  conformanceTo(schema).fits(mark(value, origin), schema)

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
): ReadonlyArray<FieldIssue> => misfitsOf(value, schema, origin).map(toIssue)

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
 * @category issues
 * @since 0.1.0
 */
export const refusals = (
  issue: SchemaIssue.Issue | undefined,
  value: Schema.Json,
  schema: JsonSchema.JsonSchema,
  origin?: Origin
): ReadonlyArray<FieldIssue> => {
  const found = misfitsOf(value, schema, origin)
  const decoded = issue === undefined ? [] : fieldIssues(issue, value, { schema })
  const ids = new Map(decoded.map((issue) => [JSON.stringify(issue.path), issue]))
  const told = found.map((misfit) => {
    const other = misfit.isBound ? ids.get(JSON.stringify(misfit.path)) : undefined
    return other !== undefined && !ofEffect.test(other.expected) ? other : toIssue(misfit)
  })
  const rest = decoded.filter(({ path }) => !found.some((misfit) => isAlong(misfit.path, path)))
  return [...told, ...rest].slice(0, mostIssues)
}

const misfitsOf = (value: Schema.Json, schema: JsonSchema.JsonSchema, origin: Origin | undefined) =>
  conformanceTo(schema).misfits(
    mark(value, origin),
    schema,
    mostIssues,
    (record, key, schema) => noSuchKeyBut(nearestKey(key, Object.keys(propertiesOf(schema)), record))
  )

const mostIssues = 20

const toIssue = ({ expected, path, value }: Misfit): FieldIssue => ({ path, expected, actual: show(value) })

// How Effect words its own checks; the JSON Schema says the same with the type before it.
const ofEffect = /^(?:an? (?:value|string|integer|finite|array|object|32-bit|base64|GUID|ASCII)\b|Expected |number$)/

// Is one path a part of the other?
const isAlong = (first: FieldIssue["path"], second: FieldIssue["path"]): boolean =>
  first.slice(0, second.length).every((key, index) => key === second[index])

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
  const byField = new Map<string, { readonly path: FieldIssue["path"]; readonly expected: Set<string> }>()
  for (const { message, path = [] } of format(issue).issues) {
    const keys = path.map(toKey)
    const id = JSON.stringify(keys)
    if (!byField.has(id) && byField.size >= mostIssues) continue
    const field = byField.get(id) ?? { path: keys, expected: new Set() }
    field.expected.add(expectation(message, keys, input, schema))
    byField.set(id, field)
  }
  return Array.from(byField.values(), ({ expected, path }) => ({
    path,
    expected: Array.from(expected).join(" or "),
    actual: show(valueAt(input, path))
  }))
}

/**
 * The issues of an object of which no key was expected.
 *
 * @category issues
 * @since 0.1.0
 */
export const unexpectedKeys = (input: object): ReadonlyArray<FieldIssue> =>
  Object.entries(input).slice(0, 20).map(([key, value]) => ({
    path: [key],
    expected: noSuchKey,
    actual: excerpt(value)
  }))

/**
 * The keys that could have been meant by the unknown one at the end of a path: nearest first, and
 * those that the object already has last.
 *
 * @category issues
 * @since 0.1.0
 */
export const meantKeys = (
  schema: JsonSchema.JsonSchema,
  input: unknown,
  path: ReadonlyArray<string | number>
): ReadonlyArray<string> =>
  freeFirst(
    Suggestion.nearest(String(path.at(-1)), keysAt(schema, path.slice(0, -1))),
    valueAt(input, path.slice(0, -1))
  )

/**
 * The part of a value at a path, as far as it has one of its own.
 *
 * @category issues
 * @since 0.1.0
 */
export const valueAt = (value: unknown, path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>(
    (at, key) => Predicate.isObjectKeyword(at) && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined,
    value
  )

/**
 * What is expected of a key that should not be there; a nearer name may follow.
 *
 * @category issues
 * @since 0.1.0
 */
export const noSuchKey = "no such key"

// Effect's JSON form of a number allows these texts, too; nobody needs to be told.
const nonFinite = /(?:number \| )?"Infinity" \| "-Infinity" \| "NaN"/

const missingKey = "Missing key"
const excessKey = "Expected no excess property"

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (leaf) =>
    leaf._tag === "MissingKey"
      ? missingKey
      : leaf._tag === "UnexpectedKey"
      ? excessKey
      : SchemaIssue.defaultLeafHook(leaf)
})

const expectation = (
  message: string,
  path: FieldIssue["path"],
  input: unknown,
  schema: JsonSchema.JsonSchema
): string => {
  if (message === excessKey) return unknownKey(path, input, schema)
  if (message === missingKey) return describeAt(schema, path) ?? "a value"
  // Of a union the decoder names the members that came nearest, the schema all.
  const all = isUnionAt(schema, path) ? describeAt(schema, path) : undefined
  return all ?? message.replace(/^Expected /, "").replace(nonFinite, "number")
}

const unknownKey = (path: FieldIssue["path"], input: unknown, schema: JsonSchema.JsonSchema): string =>
  noSuchKeyBut(nearestKey(String(path.at(-1)), keysAt(schema, path.slice(0, -1)), valueAt(input, path.slice(0, -1))))

// The nearest of the keys that are free, if it is near enough; else of those that the object has.
const nearestKey = (written: string, keys: ReadonlyArray<string>, parent: unknown): string | undefined => {
  const [meant] = freeFirst(Suggestion.nearest(written, keys), parent)
  return meant !== undefined && meant === Suggestion.didYouMean(written, [meant]) ? meant : undefined
}

const freeFirst = (keys: ReadonlyArray<string>, parent: unknown): ReadonlyArray<string> => {
  const isUsed = (key: string) => Predicate.isObject(parent) && Object.hasOwn(parent, key)
  return [...keys.filter((key) => !isUsed(key)), ...keys.filter(isUsed)]
}

const noSuchKeyBut = (meant: string | undefined): string =>
  meant === undefined ? noSuchKey : `${noSuchKey}; did you mean '${meant}'?`

const toKey = (segment: PropertyKey | { readonly key: PropertyKey }): string | number => {
  const key = typeof segment === "object" ? segment.key : segment
  return typeof key === "number" ? key : String(key)
}
