/**
 * From a model's argument text to a tool's typed parameters: text to JSON ({@link parse}), JSON to
 * parameters ({@link decode}).
 *
 * The text has to be strict JSON, of one object; only where it is missing, blank, `null` or `[]` does
 * it count as `{}`, as models write for tools without parameters. Everything else is refused with
 * its place and with what to do about it, as a `SchemaMismatch` on the side of the arguments:
 * nothing is completed and nothing is guessed.
 *
 * Decoding goes by the canonical JSON form of the parameters' schema, which is what the model was
 * shown ({@link jsonSchema}). It is closed: a key that no parameter has is refused.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import * as Coercion from "./Coercion.ts"
import * as DispatchFailure from "./DispatchFailure.ts"
import { choicesAt, keysAt, shown, takesNothing } from "./internal/jsonSchema.ts"
import { faultOf, isNestedBeyond } from "./internal/jsonSyntax.ts"
import { cut, excerpt, list, oneLine } from "./internal/text.ts"
import * as Suggestion from "./Suggestion.ts"
import type { FieldIssue } from "./ToolFailure.ts"

/**
 * A change that was made to the model's text or values so that they could be read.
 *
 * @category models
 * @since 0.1.0
 */
export interface Repair {
  /** The class of the mistake, in snake_case. */
  readonly kind: string
  /** Where it was: in UTF-16 units from the start of the text. */
  readonly offset: number
  /** What the model is told, in one sentence; absent for a change that is not worth a word. */
  readonly note?: string
}

/**
 * A readable argument text: its object, and what had to be repaired.
 *
 * @category models
 * @since 0.1.0
 */
export interface Parsed {
  readonly value: Schema.JsonObject
  readonly repairs: ReadonlyArray<Repair>
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
}

/**
 * The longest argument text that is read: 1 MiB, in UTF-16 units.
 *
 * @category limits
 * @since 0.1.0
 */
export const maxLength = 1_048_576

/**
 * The deepest nesting of objects and arrays that is read.
 *
 * @category limits
 * @since 0.1.0
 */
export const maxDepth = 128

/**
 * Reads a model's argument text as one JSON object.
 *
 * Fails with code `invalid_json`: the failure's detail says where and why, and its only issue has
 * what was expected and an excerpt of what came.
 *
 * @example
 * ```ts
 * import { Arguments } from "@fallible/core"
 * import { Result } from "effect"
 *
 * Result.getOrThrow(Arguments.parse("{\"city\":\"Paris\"}")).value // => { city: "Paris" }
 * Result.getOrThrow(Arguments.parse(undefined)).value // => {}
 * Result.isFailure(Arguments.parse("{\"city\":\"Par")) // => true
 * ```
 *
 * @category decoding
 * @since 0.1.0
 */
export const parse = (text: string | undefined): Result.Result<Parsed, DispatchFailure.Mismatch> => {
  if (text === undefined || text === "") return empty
  if (text.length > maxLength) {
    return refuse(`They have ${text.length} characters, and at most ${maxLength} are read.`, "a shorter text", text, 0)
  }
  if (nothing.test(text)) return empty
  if (isNestedBeyond(text, maxDepth)) {
    return refuse(`They are nested more than ${maxDepth} levels deep.`, "less nesting", text, 0)
  }
  let value: Schema.Json
  try {
    value = JSON.parse(text)
  } catch {
    return refuseSyntax(text)
  }
  if (isJsonObject(value)) return Result.succeed({ value, repairs: none })
  if (!Array.isArray(value)) return refuse("They are no JSON object.", "one JSON object", text, 0)
  return value.length === 0
    ? empty
    : refuse("They are an array: send a separate call for each item.", "one JSON object", text, 0)
}

/**
 * Reads a model's argument text as the typed parameters of a tool.
 *
 * Fails as {@link parse} does, or with code `invalid_arguments`: one message for all fields, an
 * issue for each, and as alternatives the keys or choices that were expected, nearest first.
 *
 * @example
 * ```ts
 * import { Arguments } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const weather = { parameters: Schema.Struct({ city: Schema.String }) }
 *
 * Effect.runSync(Arguments.decode("{\"city\":\"Paris\"}", weather)).params // => { city: "Paris" }
 * Effect.runSync(Effect.flip(Arguments.decode("{\"town\":\"Paris\"}", weather))).alternatives // => ["city"]
 * ```
 *
 * @category decoding
 * @since 0.1.0
 */
export const decode = <Params>(
  text: string | undefined,
  target: Target<Params>
): Effect.Effect<Decoded<Params>, DispatchFailure.Mismatch> => {
  const parsed = parse(text)
  if (Result.isFailure(parsed)) return Effect.fail(parsed.failure)
  const { repairs, value } = parsed.success
  const contract = contractOf(target.parameters)
  // A struct without fields decodes any object.
  if (contract.takesNothing && Object.keys(value).length > 0) {
    return Effect.fail(refusal(contract.jsonSchema, value, Coercion.unexpectedKeys(value)))
  }
  // Eager: decoding that needs no time takes no step of the runtime either.
  return contract.decode(value).pipe(
    Effect.catchEager(() =>
      Effect.mapErrorEager(contract.decodeAll(value), (issue) => {
        const issues = Coercion.fieldIssues(issue, value, { schema: contract.jsonSchema })
        return refusal(contract.jsonSchema, value, issues)
      })
    ),
    Effect.mapEager((params) => ({ params, repairs }))
  )
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
  readonly takesNothing: boolean
}

const contracts = new WeakMap<object, Contract<unknown>>()

const contractOf = <Params>(parameters: Schema.ConstraintDecoder<Params>): Contract<Params> => {
  const known = contracts.get(parameters)
  if (known !== undefined) return asContractOf(known)
  const codec = Schema.toCodecJson(parameters)
  const schema = jsonSchema(parameters)
  const contract: Contract<Params> = {
    // The first error is enough to know that there is one; collecting all takes three times as long.
    decode: SchemaParser.decodeUnknownEffect(codec, { onExcessProperty: "error" }),
    decodeAll: SchemaParser.decodeUnknownEffect(codec, { onExcessProperty: "error", errors: "all" }),
    jsonSchema: schema,
    takesNothing: takesNothing(schema)
  }
  contracts.set(parameters, contract)
  return contract
}

// A contract is stored under the very schema that it was made from, and so has its type.
const asContractOf = <Params>(contract: Contract<unknown>) => contract as Contract<Params>

// -----------------------------------------------------------------------------
// Refusals
// -----------------------------------------------------------------------------

const nothing = /^\s*(?:null\s*)?$/
const none: ReadonlyArray<Repair> = []
const empty: Result.Result<Parsed> = Result.succeed({ value: {}, repairs: none })

const isJsonObject = (value: Schema.Json): value is Schema.JsonObject => Predicate.isObject(value)

const refuseSyntax = (text: string) => {
  const { expected, offset } = faultOf(text)
  return offset === text.length
    ? refuse(`They end too early, at offset ${offset}: ${expected} is missing.`, expected, text, offset)
    : refuse(`They are no valid JSON at ${place(text, offset)}: expected ${expected}.`, expected, text, offset)
}

const refuse = (reason: string, expected: string, text: string, offset: number) =>
  Result.fail(
    DispatchFailure.invalidJson(`The arguments cannot be read. ${reason}`, {
      path: [],
      expected,
      actual: around(text, offset)
    })
  )

const place = (text: string, offset: number): string => {
  const before = text.slice(0, offset).split("\n")
  return `offset ${offset} (line ${before.length}, column ${before.at(-1)!.length + 1})`
}

const around = (text: string, offset: number): string =>
  offset >= text.length
    ? `the end, after ${excerpt(text.slice(-30))}`
    : excerpt(text.slice(Math.max(0, offset - 20), offset + 20))

const refusal = (
  schema: JsonSchema.JsonSchema,
  value: Schema.JsonObject,
  issues: ReadonlyArray<FieldIssue>
) => {
  const keys = keysAt(schema, [])
  const expected = keys.length > 0
    ? [`Expected keys: ${list(keys)}.`]
    : takesNothing(schema)
    ? ["The tool takes no arguments."]
    : []
  return DispatchFailure.invalidArguments({
    detail: [...issues.map(sentence), ...expected].join(" "),
    issues,
    alternatives: alternatives(issues, value, schema)
  })
}

const sentence = ({ actual, expected, path }: FieldIssue): string => {
  const name = path.length === 0 ? "the arguments" : `'${cut(oneLine(path.join(".")), 80)}'`
  return expected.startsWith(Coercion.noSuchKey)
    ? `${name}: ${expected}${expected.endsWith("?") ? "" : "."}`
    : `${name}: expected ${expected}, got ${actual}.`
}

// What stands beside the mistakes: the keys of the object with an unknown one, else an enum's choices.
const alternatives = (
  issues: ReadonlyArray<FieldIssue>,
  value: Schema.JsonObject,
  schema: JsonSchema.JsonSchema
): ReadonlyArray<string> => {
  const unknown = issues.find((issue) => issue.expected.startsWith(Coercion.noSuchKey))
  if (unknown !== undefined) return Coercion.meantKeys(schema, value, unknown.path)
  for (const { path } of issues) {
    const choices = choicesAt(schema, path)
    if (choices.length > 0) return Suggestion.nearest(String(Coercion.valueAt(value, path)), choices)
  }
  return []
}
