/**
 * A value, as what it can only have been meant to be by a JSON Schema.
 *
 *     value ─ fits? ─────────────────────────── value
 *               └ no ─ coerce ─ fits? ───────── value and repairs
 *                                └ no ───────── a refusal: one issue for each field
 *
 * Why so few coercions? A value that passes the schema and is wrong runs; one that is refused is sent again.
 * So `"100"` is an integer where one is due, and `"1,000"` and `"1.000"`, which are one thousand or one, are not.
 */
import { repairsOf } from "./coercion/told.ts"
import { undo } from "./coercion/undo.ts"
import { explain } from "./explain.ts"
import { asJson, isJsonObject, type Json, type JsonObject, type JsonSchema } from "./json.ts"
import { type Limits, limitsOf, type Options } from "./options.ts"
import { numberAt, read, type Refused } from "./read.ts"
import type { Misfit, Refusal } from "./refusal.ts"
import type { Repair, ValueRepair } from "./repair.ts"
import { conformanceTo } from "./schema/conformance.ts"
import { hasSecrets } from "./schema/document.ts"
import { usable } from "./schema/inspect.ts"
import { secretsOf } from "./secret.ts"
import { isJson, kindOf, mark, type NumberAt, pathOf, show } from "./value.ts"

/** A value that fits. */
export interface Fitted {
  readonly ok: true
  readonly value: Json
  /** At most twenty with a note, and twenty without. */
  readonly repairs: ReadonlyArray<ValueRepair>
}

/** A value as far as it could be coerced. */
export interface Coerced {
  readonly value: Json
  /** At most twenty with a note, the last of which counts those that are left out, and twenty without. */
  readonly repairs: ReadonlyArray<ValueRepair>
  readonly fits: boolean
}

/** How a value came about, and what is said of it. */
export interface Origin extends Pick<Options, "secrets"> {
  readonly limits?: Pick<Limits, "issues">
  /**
   * The source text of a number at a path, where it is known: `"1.10"`, `"12345678901234567890"`. Default: it was written as JavaScript writes it.
   */
  readonly numberAt?: NumberAt
}

/**
 * The value as the schema has it, with every drift undone that has exactly one reading; or why it does not fit.
 *
 * When to use: for a value that is there already, as where an SDK has parsed the arguments. For a text, see {@link decode}.
 *
 * What fits is never touched, and nothing is changed in place. Throws a `SchemaRefused` for a schema that cannot be used (see `inspect`).
 *
 * @example
 * ```ts
 * import { fit } from "@fallible/arguments"
 *
 * const schema = { type: "object", properties: { userId: { type: "integer" } }, additionalProperties: false }
 *
 * const seven = fit({ userId: "7" }, schema)
 * seven.ok && seven.value // => { userId: 7 }
 *
 * const renamed = fit({ user_id: 7 }, schema)
 * renamed.ok && renamed.repairs[0]?.note // => "'userId' was written as 'user_id'"
 *
 * fit({ userId: "7 or 8" }, schema).ok // => false
 * ```
 *
 * @param value any JSON, as `JSON.parse` gives it
 * @param schema the JSON Schema that describes it, with its definitions inside. Keep the object: what is made of it is kept with it, so it must not be
 * changed after its first use
 */
export const fit = (value: unknown, schema: JsonSchema, options: Origin = {}): Fitted | Refused<Misfit> => {
  const { fits, repairs, value: coerced } = coerce(value, schema, options)
  if (fits) return { ok: true, value: coerced, repairs }
  const refusal = explain(coerced, schema, {
    ...options,
    // What was written where is known of values that were not moved; of those that were, none has lost digits.
    ...(repairs.length === 0 ? {} : { numberAt: unknown, written: { value: asJson(value), ...from(options) } })
  })
  return { ok: false, refusal: refusal ?? { kind: "misfit", issues: [], alternatives: [] } }
}

const unknown = () => ""

const from = ({ numberAt }: Origin) => numberAt === undefined ? {} : { numberAt }

/**
 * The value with every drift undone that has exactly one reading, whether it fits then or not.
 *
 * When to use: where another decoder has the last word. `fit` says why a value does not fit.
 *
 * What fits is never touched, and what has no single reading stays as it is. Changes nothing in place: where nothing
 * was undone, the value is the same reference.
 *
 * @example
 * ```ts
 * import { coerce } from "@fallible/arguments"
 *
 * coerce("7", { type: "integer" }) // => { value: 7, repairs: [{ kind: "text_for_number", path: [] }], fits: true }
 * coerce("7 or 8", { type: "integer" }) // => { value: "7 or 8", repairs: [], fits: false }
 * ```
 */
export const coerce = (value: unknown, schema: JsonSchema, options: Origin = {}): Coerced => {
  const { issues } = limitsOf(options)
  const { numberAt = () => undefined } = options
  const marked = mark(asJson(value), numberAt)
  const conformance = conformanceTo(usable(schema), marked)
  if (conformance.fits(marked, schema)) return { value: asJson(value), repairs: [], fits: true }
  const undone = undo(marked, schema, conformance, numberAt)
  // A number that lost digits is refused by its place in the text, which a moved value no longer has.
  if (undone === undefined || !conformance.spend(0) || !isJson(undone.value)) {
    return { value: asJson(value), repairs: [], fits: false }
  }
  const isSecret = secretsOf(schema, options)
  return {
    value: undone.value,
    repairs: repairsOf(undone.repairs, issues, (value, place) => (isSecret(pathOf(place)) ? kindOf : show)(value)),
    fits: conformance.fits(undone.value, schema)
  }
}

/**
 * Does the value fit the schema?
 *
 * When to use: where a decoder accepts more than the model was told.
 *
 * @example
 * ```ts
 * import { fits } from "@fallible/arguments"
 *
 * fits("2024-01-31", { type: "string", format: "date" }) // => true
 * fits("01/31/2024", { type: "string", format: "date" }) // => false
 * ```
 */
export const fits = (value: unknown, schema: JsonSchema, { numberAt }: Origin = {}): boolean => {
  const marked = mark(asJson(value), numberAt)
  return conformanceTo(usable(schema), marked).fits(marked, schema)
}

/** A text that was read, and fits. */
export interface Decoded {
  readonly ok: true
  readonly value: JsonObject
  /** Those of the text first, in its order; then those of the values, as in {@link Coerced}. */
  readonly repairs: ReadonlyArray<Repair>
}

/**
 * Reads a model's argument text as what a JSON Schema describes.
 *
 * When to use: before a tool runs, in place of `JSON.parse` and a validator.
 *
 * Throws a `SchemaRefused` for a schema that cannot be used; everything about the text is a refusal, which `message` says in words.
 *
 * @example
 * ```ts
 * import { decode, message } from "@fallible/arguments"
 *
 * const schema = {
 *   type: "object",
 *   properties: { city: { type: "string" }, days: { type: "integer" } },
 *   required: ["city"],
 *   additionalProperties: false
 * }
 *
 * const paris = decode("{'city': 'Paris', 'days': '3',}", schema)
 * paris.ok && paris.value // => { city: "Paris", days: 3 }
 *
 * const refused = decode("{\"town\":\"Paris\"}", schema)
 * refused.ok || message(refused.refusal)
 * // => "'city': expected string, got nothing. 'town': no such key. Expected keys: 'city', 'days'."
 * ```
 *
 * @param text what the model wrote; `undefined` where it sent nothing
 * @param schema the JSON Schema of the arguments, with its definitions inside. Keep the object, and do not change it after its first use
 */
export const decode = (
  text: string | undefined,
  schema: JsonSchema,
  options: Options = {}
): Decoded | Refused<Refusal> => {
  // Where anything in it is a secret, no part of a text is quoted that cannot be read.
  const found = read(text, hasSecrets(schema) ? { ...options, secrets: [[]] } : options)
  if (!found.ok) return found
  const fitted = fit(found.value, schema, { ...options, numberAt: (path) => numberAt(found, path) })
  if (!fitted.ok) return fitted
  // What was made of an object is one, whatever a schema asks for.
  const value = isJsonObject(fitted.value) ? fitted.value : found.value
  return { ok: true, value, repairs: [...found.repairs, ...fitted.repairs] }
}
