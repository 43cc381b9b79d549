/**
 * From a model's argument text to a tool's typed parameters: text to JSON ({@link parse}), JSON to
 * parameters ({@link decode}).
 *
 *     text ─ JSON.parse ─ faithful? ──────────────────────── value ─ decode ─ params
 *              └ no ─ the object in it ─ tolerant reader ─┘           └ no ─ coerce ─ decode
 *
 * The rule of both: **what has exactly one reading is accepted, and nothing else**. No text that was cut off is completed, even where only
 * closers are missing: `{"amount": 1` may have been 1500, and a schema does not see the difference. No value is guessed. What is refused
 * says where and why, and what to do.
 *
 * Strict JSON of one object is accepted as it is, at about the cost of `JSON.parse`. What else is accepted is a {@link Repair}:
 *
 * | repairs that the model is not told of                                           | with a note to the model             |
 * | ------------------------------------------------------------------------------- | ------------------------------------ |
 * | `no_arguments`: missing, blank, `null` or `[]`                                  | `prose`: words around strict JSON    |
 * | `byte_order_mark`, `code_fence`, `template_token` around the whole              | `surplus_closers` after it           |
 * | `double_encoded`: a JSON string that holds the object                           | `missing_comma`: see below           |
 * | `trailing_comma`, `single_quotes`, `unquoted_key`                               | `smart_quotes`                       |
 * | `comment`: `//`, a block, or `#` with white space before it                     |                                      |
 * | `remark`: a comment before or after the object                                  |                                      |
 * | `python_constant`: `True`, `False`, `None`                                      | `escaped_quotes`: all of them        |
 * | `control_character`: raw, in a string                                           | `duplicate_key` with an equal value  |
 *
 * At most two kinds of the right column in one text.
 *
 * A comma may be missing between a value and the next key, and in an array only over a line break. It may not be missing after a string, beside a
 * quote that touches a number (`[5", 6"]` are inches), or before a string that begins with a comma.
 *
 * Words around the object are passed over only for a tool that reads: "I will NOT call it with …" must not run even a deletion that is idempotent. The object has
 * to be strict JSON and the only one, and no name, `(` or `=` may touch it. Template tokens may stand between it and the words behind it. A `remark` counts as words.
 *
 * What is refused has a {@link ToolFailure.TextFault} of one of these kinds:
 *
 * | kind                                                 | it means                                                            |
 * | ---------------------------------------------------- | ------------------------------------------------------------------- |
 * | `cut_off`                                            | the text ends inside of a string, a number, a word or an open brace |
 * | `no_object`, `array`, `several_objects`              | not one object                                                      |
 * | `prose`                                              | words around the arguments of a tool that acts                      |
 * | `duplicate_key`                                      | a key stands twice, with different values                           |
 * | `prototype_key`                                      | `__proto__`, or `constructor` with a `prototype`                    |
 * | `expression`, `bareword`, `concatenation`            | something to be worked out, or a text without quotes                |
 * | `ellipsis`, `missing_value`                          | something was left out                                              |
 * | `invalid_number`                                     | NaN, Infinity, 1e999, 01, .5, 1_000, 0x10                           |
 * | `invalid_escape`                                     | a backslash before what JSON does not escape, as in `C:\Users`      |
 * | `unescaped_quote`, `unquoted_key`                    | a quote too many, one that is missing, or one for inches            |
 * | `missing_comma`, `missing_colon`, `bracket_mismatch` | the structure is a guess                                            |
 * | `unclear_comment`                                    | a quote or strange line break is in it; a `#` touches a value       |
 * | `too_many_repairs`                                   | three kinds of repairs that are each plausible                      |
 * | `too_deep`, `too_long`                               | more than {@link maxDepth} levels, or {@link maxBytes}              |
 * | `unexpected_character`                               | anything else                                                       |
 *
 * Decoding goes by the canonical JSON form of the parameters' schema, which is what the model was
 * shown ({@link jsonSchema}). It is closed: a key that no parameter has is refused. What does not decode is coerced, field by field
 * (`Coercion`).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import * as Coercion from "./Coercion.ts"
import * as DispatchFailure from "./DispatchFailure.ts"
import { findObject, isObject, type Kind, openingOf } from "./internal/argumentText.ts"
import { contained } from "./internal/containment.ts"
import { mentionsSecret } from "./internal/form.ts"
import { isFaithful } from "./internal/jsonCheck.ts"
import { maxDepth, numbersOf, Reader } from "./internal/jsonReader.ts"
import type { Fault, FaultKind } from "./internal/jsonScanner.ts"
import { choicesAt, isStricter, keysAt, schemaOf, shown, takesNothing } from "./internal/jsonSchema.ts"
import { excerpt, kind, list, oneLine, placeOf, utf8Length } from "./internal/text.ts"
import { meantAt, noSuchKey } from "./internal/unknownKey.ts"
import { nameOf as nameOfField, partAt } from "./internal/written.ts"
import type { SideEffect } from "./SideEffect.ts"
import * as Suggestion from "./Suggestion.ts"
import type { FieldIssue } from "./ToolFailure.ts"
import type { Repair, TextRepair } from "./ToolOutcome.ts"

/**
 * A readable argument text: its object, and what had to be repaired.
 *
 * @category models
 * @since 0.1.0
 */
export interface Parsed {
  readonly value: Schema.JsonObject
  readonly repairs: ReadonlyArray<TextRepair>
  /** Do its numbers have all digits of the text? Where not, `numberAt` has them. */
  readonly isExact: boolean
  /** The source text of the number at a path, as in `1.10`; `undefined` where there is none. */
  readonly numberAt: (path: FieldIssue["path"]) => string | undefined
}

/**
 * Arguments ready for the handler.
 *
 * @category models
 * @since 0.1.0
 */
export interface Decoded<out Params> {
  readonly params: Params
  readonly repairs: ReadonlyArray<Repair>
}

/**
 * What decoding needs of a tool.
 *
 * @category models
 * @since 0.1.0
 */
export interface Target<Params> {
  readonly parameters: Schema.ConstraintDecoder<Params>
  /** Around the arguments of a tool that acts, idempotent or not, no words are passed over. Default: `"none"`, it does not act. */
  readonly sideEffect?: SideEffect
}

/**
 * The longest argument text that is read: 1 MiB, in bytes of UTF-8.
 *
 * @category limits
 * @since 0.1.0
 */
export const maxBytes = 1_048_576

export {
  /**
   * The deepest nesting of objects and arrays that is read: 128 levels.
   *
   * @category limits
   * @since 0.1.0
   */
  maxDepth
}

/**
 * Reads a model's argument text as one JSON object.
 *
 * When to use: by hand, where there is no tool. What depends on a schema is decided by {@link decode}: here `null` is an object without keys, and
 * a whole number beyond the safe range is a number that has lost digits (`isExact` says so).
 *
 * Fails with code `invalid_json`: the failure's `fault` says where and in what way, and its only issue has
 * what was expected and an excerpt of what came.
 *
 * The idea that a text may be repaired by a real grammar, and not by regular expressions, is jsonrepair's; what is different is that it
 * never completes.
 *
 * @example
 * ```ts
 * import { Arguments } from "@fallible/core"
 * import { Result } from "effect"
 *
 * Result.getOrThrow(Arguments.parse("{\"city\":\"Paris\"}")).value // => { city: "Paris" }
 * Result.getOrThrow(Arguments.parse("{city: 'Paris',}")).value // => { city: "Paris" }
 * Result.getOrThrow(Arguments.parse(undefined)).value // => {}
 *
 * const refused = Result.flip(Arguments.parse("{\"city\":\"Par"))
 * Result.getOrThrow(refused).fault // => { kind: "cut_off", offset: 12, line: 1, column: 13 }
 * ```
 *
 * @category decoding
 * @since 0.1.0
 */
export const parse = (text: string | undefined): Result.Result<Parsed, DispatchFailure.Mismatch> => {
  const found = read(text)
  return Result.isSuccess(found) ? Result.succeed(found.success) : Result.fail(unreadable(text ?? "", found.failure))
}

/**
 * Reads a model's argument text as the typed parameters of a tool.
 *
 * When to use: `Dispatch` does, for each call. By hand for what a tool takes, without the tool.
 *
 * Fails as {@link parse} does, or with code `invalid_arguments`: one message for all fields, an
 * issue for each, and as alternatives the keys or choices that were expected, nearest first.
 *
 * @example
 * ```ts
 * import { Arguments } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const weather = { parameters: Schema.Struct({ city: Schema.String, days: Schema.Int }) }
 *
 * Effect.runSync(Arguments.decode("{\"city\":\"Paris\",\"days\":\"3\"}", weather)).params // => { city: "Paris", days: 3 }
 * const refused = Effect.runSync(Effect.flip(Arguments.decode("{\"town\":\"Paris\",\"days\":3}", weather)))
 * refused.alternatives // => ["city", "days"]
 * ```
 *
 * @category decoding
 * @since 0.1.0
 */
export const decode = <Params>(
  text: string | undefined,
  target: Target<Params>
): Effect.Effect<Decoded<Params>, DispatchFailure.Mismatch> =>
  Effect.mapErrorEager(attempt(text, target), ({ failure }) => failure)

/**
 * Arguments that cannot be decoded, with what their text was read as, if it can be read.
 *
 * @internal
 */
export class Undecoded {
  readonly failure: DispatchFailure.Mismatch
  readonly parsed: Parsed | undefined

  constructor(failure: DispatchFailure.Mismatch, parsed?: Parsed) {
    this.failure = failure
    this.parsed = parsed
  }
}

/**
 * The same as {@link decode}. What cannot be decoded need not be read again to learn what was in it.
 *
 * @internal
 */
export const attempt = <Params>(
  text: string | undefined,
  target: Target<Params>
): Effect.Effect<Decoded<Params>, Undecoded> => {
  const contract = contractOf(target.parameters)
  const found = read(text)
  const unread = (fault: Fault) => Effect.fail(new Undecoded(unreadable(text ?? "", fault, contract.holdsSecret)))
  if (Result.isFailure(found)) return unread(found.failure)
  const parsed = found.success
  const { repairs, value } = parsed
  if (target.sideEffect !== undefined && target.sideEffect !== "none") {
    const prose = repairs.find(({ kind }) => kind === "prose" || kind === "remark")
    if (prose !== undefined) return unread({ ...asFault(prose), expected: "the object alone" })
  }
  if ((contract.isStricter || !parsed.isExact) && !Coercion.fits(value, contract.jsonSchema, parsed)) {
    return corrected(contract, parsed)
  }
  // Eager: decoding that needs no time takes no step of the runtime either.
  return contract.decode(value).pipe(
    Effect.mapEager((params) => ({ params, repairs })),
    Effect.catchEager(() => corrected(contract, parsed))
  )
}

/**
 * What is there so far of arguments that are still being written: to be shown, and for nothing else.
 *
 * It is typed apart from arguments: what is missing is missing, and what is there may yet turn out to be refused.
 *
 * @category models
 * @since 0.1.0
 */
export interface Preview {
  /**
   * An object with the members that are complete, also those of objects and arrays that are not. No tool takes it, since nothing is known of its type.
   */
  readonly soFar: unknown
}

/**
 * What is complete of arguments that are still streaming in.
 *
 * When to use: to show a person what a model is about to call, where you read its stream yourself (the events of an agent have
 * whole calls). It cannot be run: no tool's type takes it. A text or a number at the end is not shown, since it may go on. Never
 * fails; what cannot be read ends it.
 *
 * Each call reads the text from its start: call it as often as somebody looks, not for every piece.
 *
 * @example
 * ```ts
 * import { Arguments } from "@fallible/core"
 *
 * Arguments.preview("{\"city\":\"Paris\",\"days\":[1,2").soFar // => { city: "Paris", days: [1] }
 * ```
 *
 * @category decoding
 * @since 0.1.0
 */
export const preview = (text: string): Preview => {
  const reader = new Reader(text.slice(0, maxBytes), openingOf(text))
  reader.blank()
  const soFar = reader.fault === undefined ? reader.value() : undefined
  return { soFar: isObject(soFar) ? soFar : {} }
}

/**
 * The JSON Schema that a model is shown for a tool's parameters: an object, closed, with its
 * definitions inside.
 *
 * @example
 * ```ts
 * import { Arguments } from "@fallible/core"
 * import { Schema } from "effect"
 *
 * Arguments.jsonSchema(Schema.Struct({}))
 * // => { type: "object", properties: {}, additionalProperties: false }
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const jsonSchema = (parameters: Schema.Constraint): JsonSchema.JsonSchema => shown(parameters)

// -----------------------------------------------------------------------------
// Contracts: what a parameters' schema compiles to, once
// -----------------------------------------------------------------------------

interface Contract<Params> {
  readonly decode: (value: unknown) => Effect.Effect<Params, SchemaIssue.Issue>
  readonly decodeAll: (value: unknown) => Effect.Effect<Params, SchemaIssue.Issue>
  readonly jsonSchema: JsonSchema.JsonSchema
  /** Does the decoder accept what the model was not shown? The JSON Schema is asked first then. */
  readonly isStricter: boolean
  /** Is there anything in it that no message may quote? */
  readonly holdsSecret: boolean
}

const contracts = new WeakMap<object, Contract<unknown>>()

const contractOf = <Params>(parameters: Schema.ConstraintDecoder<Params>): Contract<Params> => {
  const known = contracts.get(parameters)
  if (known !== undefined) return asContractOf(known)
  const codec = Schema.toCodecJson(parameters)
  const schema = schemaOf(parameters)
  const decode = SchemaParser.decodeUnknownEffect(codec, { onExcessProperty: "error" })
  const decodeAll = SchemaParser.decodeUnknownEffect(codec, { onExcessProperty: "error", errors: "all" })
  const contract: Contract<Params> = {
    // The first error is enough to know that there is one; collecting all takes three times as long.
    decode: (value) => contained(decode(value)),
    decodeAll: (value) => contained(decodeAll(value)),
    jsonSchema: schema,
    // A struct without fields decodes any object.
    isStricter: takesNothing(schema) || isStricter(schema, parameters),
    holdsSecret: mentionsSecret(schema)
  }
  contracts.set(parameters, contract)
  return contract
}

// A contract is stored under the very schema that it was made from, and so has its type.
const asContractOf = <Params>(contract: Contract<unknown>) => contract as Contract<Params>

// What did not decode, coerced and decoded once more; and what still does not fit, told field by field.
const corrected = <Params>(
  { decodeAll, isStricter, jsonSchema }: Contract<Params>,
  parsed: Parsed
): Effect.Effect<Decoded<Params>, Undecoded> => {
  const { repairs, value } = Coercion.coerce(parsed.value, jsonSchema, parsed)
  // What was written where is known of values that were not moved; of those that were, none has lost digits.
  const origin = repairs.length === 0 ? parsed : { numberAt: () => "" }
  const refused = (issue?: SchemaIssue.Issue) =>
    Effect.fail(
      new Undecoded(refusal(jsonSchema, value, Coercion.refusals(issue, value, jsonSchema, origin, parsed)), parsed)
    )
  return Effect.matchEffect(decodeAll(value), {
    onFailure: refused,
    onSuccess: (params) =>
      (isStricter || !parsed.isExact) && !Coercion.fits(value, jsonSchema, origin)
        ? refused()
        : Effect.succeed({ params, repairs: [...parsed.repairs, ...repairs] })
  })
}

// -----------------------------------------------------------------------------
// Texts
// -----------------------------------------------------------------------------

const none: ReadonlyArray<never> = []

const read = (text: string | undefined): Result.Result<Parsed, Fault> => {
  if (text === undefined) return noArguments()
  if (isTooLong(text)) return Result.fail({ kind: "too_long", offset: 0, expected: `at most ${maxBytes} bytes` })
  const value = strictObject(text)
  if (value !== undefined) {
    return Result.succeed({ value, repairs: none, isExact: true, numberAt: numbersOf(text, 0) })
  }
  const found = findObject(text)
  if ("kind" in found) return Result.fail(found)
  const repairs = found.repairs.toSorted(([, a], [, b]) => a - b).map(repair)
  const noted = repairs.filter(({ note }) => note !== undefined)
  if (noted.length > 2) {
    return Result.fail({ kind: "too_many_repairs", offset: noted[2]!.offset, expected: "plain JSON" })
  }
  return Result.succeed({
    value: found.value,
    repairs,
    isExact: !found.hasUnsafeInteger,
    numberAt: numbersOf(found.source, found.start)
  })
}

// Where nothing was sent, nothing had to be repaired.
const noArguments = (): Result.Result<Parsed> =>
  Result.succeed({ value: {}, repairs: none, isExact: true, numberAt: () => undefined })

// A unit of UTF-16 is at most three bytes of UTF-8, and one where it is ASCII.
const isTooLong = (text: string): boolean =>
  text.length > maxBytes / 3 &&
  (text.length > maxBytes || /[\u0080-\uffff]/.test(text) && utf8Length(text) > maxBytes)

// What cannot be a strict object is not worth the price of an exception.
const beginsStrictly = /^\s*\{\s*["}]/

// As nearly all texts begin and end, or as the others may.
const mayBeStrict = (text: string): boolean =>
  text.charCodeAt(0) === 0x7b && text.charCodeAt(1) === 0x22 && text.charCodeAt(text.length - 1) === 0x7d ||
  beginsStrictly.test(text) && text.trimEnd().endsWith("}")

const strictObject = (text: string): Schema.JsonObject | undefined => {
  if (!mayBeStrict(text)) return undefined
  const limit = errors.stackTraceLimit
  if (isLimitWritable) errors.stackTraceLimit = 0
  try {
    const value: Schema.JsonObject = JSON.parse(text)
    return isFaithful(value, text) ? value : undefined
  } catch {
    return undefined
  } finally {
    if (isLimitWritable) errors.stackTraceLimit = limit
  }
}

// Nobody looks at the stack of the error, and capturing it costs as much as reading the text. Only V8 has a limit. (Effect does the same.)
const errors: ErrorConstructor & { stackTraceLimit?: number | undefined } = Error
const isLimitWritable = Object.getOwnPropertyDescriptor(errors, "stackTraceLimit")?.writable === true

/** What the model is told of a repair, where it is worth a word. */
const notes: { readonly [K in Kind]?: string } = {
  prose: "There were words around the arguments; send the object alone",
  surplus_closers: "There were brackets too many after the arguments",
  missing_comma: "A comma was missing in the arguments",
  smart_quotes: "The arguments had curly quotes; use straight ones",
  escaped_quotes: "All quotes of the arguments were escaped; send plain JSON",
  duplicate_key: "A key of the arguments stood twice, with the same value"
}

const repair = ([kind, offset]: readonly [Kind, number]): TextRepair => {
  const note = notes[kind]
  return note === undefined ? { kind, offset } : { kind, offset, note }
}

const asFault = ({ offset }: TextRepair) => ({ kind: "prose", offset }) as const

/** Of each kind of fault, what is the matter, and what to do about it. */
const faults: { readonly [K in FaultKind]: readonly [reason: string, advice?: string] } = {
  array: ["They are an array", "For several objects, make several calls."],
  bareword: ["A text has no quotes"],
  bracket_mismatch: ["The brackets do not match"],
  concatenation: ["Texts are not joined", "Send one text."],
  cut_off: ["They end too early"],
  duplicate_key: ["A key stands twice, with different values"],
  ellipsis: ["Something is left out", "Leave nothing out."],
  expression: ["An expression is no value", "Work it out, and send the result."],
  invalid_escape: ["A backslash is not escaped", "Write a backslash itself as \\\\."],
  invalid_number: ["JSON has no such number"],
  missing_colon: ["They are no valid JSON"],
  missing_comma: ["They are no valid JSON"],
  missing_value: ["A value is missing"],
  no_object: ["They are no JSON object"],
  prose: ["There are words around them", "Send the object alone."],
  prototype_key: ["A key is not allowed"],
  unclear_comment: ["A comment may be a part of a value", "Leave comments out."],
  several_objects: ["They are more than one object", "For several objects, make several calls."],
  too_deep: [`They are nested more than ${maxDepth} levels deep`],
  too_long: [`They have more than ${maxBytes} bytes`, "Send less."],
  too_many_repairs: ["There are too many mistakes in them"],
  unescaped_quote: [
    "A quote is missing, or one is too many",
    "Put texts in double quotes, and write a double quote inside of one as \\\"."
  ],
  unexpected_character: ["They are no valid JSON"],
  unquoted_key: ["A key has no quotes"]
}

/** What is said of the whole text, and of no place in it. */
const isWhole: ReadonlySet<FaultKind> = new Set(["array", "no_object", "prose", "too_long"])

/** @param isSecret may none of the text be quoted? */
const unreadable = (text: string, { expected, kind, offset }: Fault, isSecret = false) => {
  const { column, line } = placeOf(text, offset)
  const [reason, advice] = faults[kind]
  const place = `at offset ${offset} (line ${line}, column ${column})`
  const near = isSecret ? "" : `, near \`${oneLine(text.slice(Math.max(0, offset - 15), offset + 15))}\``
  return DispatchFailure.invalidJson({
    detail: `The arguments cannot be read. ${
      kind === "cut_off"
        ? `${reason}, ${place}: ${expected} is missing`
        : isWhole.has(kind)
        ? reason
        : `${reason}, ${place}${near}: expected ${expected}`
    }.`,
    advice,
    issue: { path: [], expected, actual: isSecret ? "a text" : around(text, offset) },
    fault: { kind, offset, line, column }
  })
}

const around = (text: string, offset: number): string =>
  offset >= text.length
    ? `the end, after ${excerpt(text.slice(-30))}`
    : excerpt(text.slice(Math.max(0, offset - 20), offset + 20))

// -----------------------------------------------------------------------------
// Fields
// -----------------------------------------------------------------------------

const refusal = (
  schema: JsonSchema.JsonSchema,
  value: Schema.Json,
  issues: ReadonlyArray<FieldIssue>
) =>
  DispatchFailure.invalidArguments({
    detail: [...issues.map(sentence), ...expectedKeys(issues, schema)].join(" "),
    issues,
    alternatives: alternatives(issues, value, schema)
  })

// Where a key is unknown, or missing, all that there are are worth a word.
const expectedKeys = (issues: ReadonlyArray<FieldIssue>, schema: JsonSchema.JsonSchema): ReadonlyArray<string> => {
  const atFault = issues.find(({ actual, expected }) => isUnknownKey(expected) || actual === kind(undefined))
  if (atFault === undefined) return []
  const parent = atFault.path.slice(0, -1)
  const keys = keysAt(schema, parent)
  if (keys.length > 0) return [`Expected keys${parent.length === 0 ? "" : ` of ${nameOf(parent)}`}: ${list(keys, 20)}.`]
  return takesNothing(schema) ? ["The tool takes no arguments."] : []
}

const isUnknownKey = (expected: string): boolean => expected.startsWith(noSuchKey)

const nameOf = (path: FieldIssue["path"]): string => path.length === 0 ? "the arguments" : nameOfField(path)

const sentence = ({ actual, expected, path }: FieldIssue): string =>
  isUnknownKey(expected)
    ? `${nameOf(path)}: ${expected}${expected.endsWith("?") ? "" : "."}`
    : `${nameOf(path)}: expected ${expected}, got ${actual}.`

// What stands beside the mistakes: the keys of the object with an unknown one, else the choices of the one field at fault.
const alternatives = (
  issues: ReadonlyArray<FieldIssue>,
  value: Schema.Json,
  schema: JsonSchema.JsonSchema
): ReadonlyArray<string> => {
  const unknown = issues.find(({ expected }) => isUnknownKey(expected))
  if (unknown !== undefined) return meantAt(schema, value, unknown.path)
  const [only, ...others] = issues
  if (only === undefined || others.length > 0) return []
  const came = partAt(value, only.path)
  return Suggestion.nearest(typeof came === "string" ? came : excerpt(came), choicesAt(schema, only.path))
}
