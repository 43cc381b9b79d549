/**
 * Fits a value to a JSON Schema, if the value has exactly one reading.
 *
 *     value ─ fits? ─────────────────────────── value
 *               └ no ─ coerce ─ fits? ───────── value and repairs
 *                                └ no ───────── a refusal: one issue for each field
 *
 * Why so few coercions? A tool acts on a wrong value that passes the schema, whereas a model corrects a value
 * that is refused. So `"100"` is read as an integer where an integer is expected. `"1,000"` and `"1.000"` are
 * refused, because each may mean one thousand or one.
 */
import { checkOptions, limitsOf } from "./checkedOptions.ts"
import { repairsOf } from "./coercion/repairNotes.ts"
import { undo } from "./coercion/undo.ts"
import { explain } from "./explain.ts"
import { asJson, isJsonObject, type Json, type JsonObject, type JsonSchema } from "./json.ts"
import { demandKnown, type Names } from "./knownOptions.ts"
import { type Limits, noFormats, noOptions, type Options } from "./options.ts"
import { plain } from "./plain.ts"
import { numberAt, readText, type Refused, refusedFor } from "./read.ts"
import type { Misfit, Refusal } from "./refusal.ts"
import type { Repair, ValueRepair } from "./repair.ts"
import { checksWith } from "./schema/check.ts"
import { type Conformance, conformanceTo } from "./schema/conformance.ts"
import { usable } from "./schema/inspect.ts"
import { mayHoldSecrets, secretsOf } from "./secret.ts"
import { isJson, kindOf, mark, type NumberAt, pathOf, show } from "./value.ts"

/** The result for a value that fits, perhaps after repairs. */
export interface Fitted<out A = Json> {
  readonly ok: true
  readonly value: A
  /** At most `limits.issues` repairs (default: 20) with a note, and at most that many without. */
  readonly repairs: ReadonlyArray<ValueRepair>
}

/** A value, coerced as far as possible. */
export interface Coerced {
  readonly value: Json
  /**
   * At most `limits.issues` repairs (default: 20) with a note, and at most that many without. The last note
   * says how many repairs are left out.
   */
  readonly repairs: ReadonlyArray<ValueRepair>
  readonly fits: boolean
}

/** How a value was written, and how problems with it are reported. */
export interface Origin extends Pick<Options, "formats" | "secrets"> {
  readonly limits?: Pick<Limits, "issues">
  /**
   * Returns the source text of the number at a path, if that text is known: `"1.10"`,
   * `"12345678901234567890"`. Without it, only a whole number in the safe range is read as text: any other may have lost
   * digits.
   */
  readonly numberAt?: NumberAt
}

/**
 * Coerces a value to the form that its schema describes, or returns a refusal that explains why the value
 * does not fit.
 *
 * When to use: for a value that is already parsed, for example by an SDK. For an argument text, see {@link
 * decode}.
 *
 * A *drift* is a deviation that models often make, such as a number in quotes. Every drift that has exactly
 * one reading is undone, unless a number in the value lost digits. A value that already fits stays as it is, and nothing is changed in place. Throws a
 * `SchemaRefused` for a schema that cannot be used (see `inspect`).
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
 * @param value any JSON value, as `JSON.parse` returns it. A part that is not JSON, or that contains itself, is refused
 * @param schema the JSON Schema of the value, including its definitions. Reuse the object, because results
 * are cached for it, and do not change it after its first use
 */
export const fit = (value: unknown, schema: object, options: Origin = noOptions): Fitted | Refused<Misfit> => {
  if (options !== noOptions) demandKnown("fit", options, names)
  return fitted(plain(value), usable(schema), options)
}

const names: Names<Origin> = { formats: true, limits: true, numberAt: true, secrets: true }

/** Fits a value as {@link fit} does. */
export const fitted = (value: unknown, schema: JsonSchema, options: Origin): Fitted | Refused<Misfit> => {
  const { conformance, fits, repairs, value: coerced } = coercion(value, schema, options)
  if (fits) return { ok: true, value: coerced, repairs }
  const refusal = explain(coerced, schema, {
    ...options,
    // After a repair, paths may not match the source text. So the coerced value is checked without it. This
    // is enough, because `coerce` repairs a value only if no number lost digits.
    ...(repairs.length === 0
      ? { conformance }
      : { numberAt: noSource, written: { value: asJson(value), numberAt: options.numberAt } })
  })
  return { ok: false, refusal: refusal ?? { kind: "misfit", issues: [], alternatives: [] } }
}

const noSource = () => ""

/**
 * Undoes every drift (see {@link fit}) that has exactly one reading, even if the value still does not fit
 * afterwards. Repairs nothing if a number in the value lost digits.
 *
 * When to use: if another decoder makes the final decision. `fit` also says why a value does not fit.
 *
 * A value that already fits stays as it is, and so does a part that has no reading or several. Nothing is
 * changed in place: if nothing was undone, the result has the same reference as `value`. Throws a
 * `SchemaRefused` for a schema that cannot be used (see `inspect`).
 *
 * @example
 * ```ts
 * import { coerce } from "@fallible/arguments/internal"
 *
 * coerce("7", { type: "integer" }) // => { value: 7, repairs: [{ kind: "text_for_number", path: [] }], fits: true }
 * coerce("7 or 8", { type: "integer" }) // => { value: "7 or 8", repairs: [], fits: false }
 * ```
 */
export const coerce = (value: unknown, schema: object, options: Origin = noOptions): Coerced => {
  const { fits, repairs, value: coerced } = coercion(value, usable(schema), options)
  return { value: coerced, repairs, fits }
}

/** Coerces a value as {@link coerce} does. A conformance that still has a budget may be used again for the same value. */
const coercion = (
  value: unknown,
  schema: JsonSchema,
  options: Origin
): Coerced & { readonly conformance?: Conformance } => {
  const { issues } = limitsOf(options)
  const { formats = noFormats, numberAt = () => undefined } = options
  const checks = checksWith(formats)
  if (checks.sureTest(schema)(asJson(value), 0)) return { value: asJson(value), repairs: none, fits: true }
  const marked = mark(asJson(value), numberAt)
  const conformance = conformanceTo(schema, marked, checks)
  if (conformance.fits(marked, schema)) return { value: asJson(value), repairs: [], fits: true }
  const undone = undo(marked, schema, conformance, numberAt)
  // Lost digits are found in the source text by the number's path, and a repair may change that path. So a
  // value with lost digits is not repaired.
  if (!undone || !conformance.spend(0) || !isJson(undone.value)) {
    return { value: asJson(value), repairs: [], fits: false, ...(conformance.spend(0) ? { conformance } : {}) }
  }
  const isSecret = secretsOf(schema, options)
  return {
    value: undone.value,
    repairs: repairsOf(undone.repairs, issues, (value, place) => (isSecret(pathOf(place)) ? kindOf : show)(value)),
    fits: conformance.fits(undone.value, schema)
  }
}

/**
 * Reports whether a value fits a schema.
 *
 * When to use: if your decoder accepts more values than the schema that the model saw.
 *
 * @example
 * ```ts
 * import { fits } from "@fallible/arguments/internal"
 *
 * fits("2024-01-31", { type: "string", format: "date" }) // => true
 * fits("01/31/2024", { type: "string", format: "date" }) // => false
 * ```
 */
export const fits = (value: unknown, from: object, { formats = noFormats, numberAt }: Origin = noOptions): boolean => {
  const schema = usable(from)
  const checks = checksWith(formats)
  if (checks.sureTest(schema)(asJson(value), 0)) return true
  const marked = mark(asJson(value), numberAt)
  return conformanceTo(schema, marked, checks).fits(marked, schema)
}

/**
 * Returns a quick test for values that fit a schema, which must be a usable one. False means that a value needs a closer look.
 */
export const quickTest = (schema: JsonSchema): (value: Json) => boolean => {
  const test = checksWith(noFormats).sureTest(schema)
  return (value) => test(value, 0)
}

const none: ReadonlyArray<never> = []

/** The result for an argument text that was read and fits its schema. */
export interface Decoded<out A = JsonObject> {
  readonly ok: true
  readonly value: A
  /** Repairs of the text come first, in the order of the text. Repairs of values follow, as in {@link Coerced}. */
  readonly repairs: ReadonlyArray<Repair>
}

/**
 * Reads a model's argument text as a value that fits a JSON Schema.
 *
 * When to use: before a tool runs, in place of `JSON.parse` and a validator.
 *
 * Throws a `SchemaRefused` for a schema that cannot be used. Every problem with the text or the value is
 * returned as a refusal, which `message` puts into words.
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
 * @param text what the model wrote; `undefined` or `null` if the model sent nothing
 * @param schema the JSON Schema of the arguments, including its definitions. Reuse the object, and do not
 * change it after its first use
 */
export const decode = (
  text: string | null | undefined,
  schema: object,
  options: Options = noOptions
): Decoded | Refused<Refusal> => {
  checkOptions("decode", options)
  return decoded(text, usable(schema), options)
}

/** Decodes a text as {@link decode} does. */
export const decoded = (
  text: string | null | undefined,
  schema: JsonSchema,
  options: Options
): Decoded | Refused<Refusal> => {
  const readable = readText(text, options)
  if (!("ok" in readable)) {
    return refusedFor(text, readable, mayHoldSecrets(schema, options))
  }
  const { value } = readable
  // Nearly all values fit as they are.
  if (checksWith(options.formats ?? noFormats).sureTest(schema)(value, 0)) {
    return { ok: true, value, repairs: readable.repairs }
  }
  const fit = fitted(value, schema, { ...options, numberAt: (path) => numberAt(readable, path) })
  if (!fit.ok) return fit
  // Coercion never turns an object into a value of another type.
  return {
    ok: true,
    value: isJsonObject(fit.value) ? fit.value : value,
    repairs: [...readable.repairs, ...fit.repairs]
  }
}
