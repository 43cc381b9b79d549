/*
 * Where the schemas of tools come from: Effect, another library, or a JSON Schema. All become Effect schemas, once, when a
 * tool is made. What cannot be understood is refused then, and not passed over.
 */
import {
  inspect,
  type JsonSchema as AnyJsonSchema,
  type KeywordAt,
  SchemaRefused,
  type StandardSchema
} from "@fallible/arguments"
import { closedSchema, hasSecrets, withSecretsOf } from "@fallible/arguments/internal"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { isSame, isSameText } from "../value/canonical.ts"
import { plainJson } from "../value/plainJson.ts"
import { cut, oneLine } from "../value/text.ts"
import { checkedBy, type Convert, declareForeign, Foreign, foreignOf, issueFrom, unchanged } from "./foreignSchema.ts"
import { isTransforming, validatorOf, vendorOf, writtenBy } from "./standardSchema.ts"

/** How a JSON Schema is read. */
export interface JsonSchemaOptions {
  /**
   * What happens to a key that the schema does not declare, in an object that it leaves open: the call is refused, and the
   * model is shown a closed object; or the key is passed on. Default: `"refuse"`.
   */
  readonly unknownKeys?: "refuse" | "accept"
  /**
   * What happens if the schema has a rule that cannot be checked: an unknown keyword or dialect, `$dynamicRef`, or a pattern
   * that cannot be matched in linear time. The schema is refused, or values that break the rule are accepted. Accept them if
   * somebody else checks the arguments, such as an MCP server. (A `format` other than `date` and `date-time` is never
   * checked, as JSON Schema says.) Default: `"refuse"`.
   */
  readonly uncheckedRules?: "refuse" | "accept"
}

/** Makes the schema of values that a JSON Schema describes. Throws a `SchemaRefused` if it cannot be used. */
export const schemaFromJson = <A>(
  schema: object,
  { uncheckedRules = "refuse", unknownKeys = "refuse" }: JsonSchemaOptions
): Schema.Codec<A> => {
  const library = libraryOf(schema)
  if (library !== undefined) {
    throw new TypeError(
      `Parameters.fromJsonSchema needs a JSON Schema; got a schema of ${library}. Pass it to the tool as it is.`
    )
  }
  const jsonSchema = closedSchema(schema, unknownKeys === "accept")
  const unchecked = uncheckedRules === "accept" ? [] : inspect(schema).unchecked.filter(isRule)
  if (unchecked.length > 0) throw new SchemaRefused(unchecked.map(withAdvice))
  return declareForeign(ofJsonSchema(jsonSchema, ofJsonSchema(closedSchema(schema, true))))
}

// A JSON Schema that zod has made carries the interface of a Standard Schema, too, but not among its keys.
const libraryOf = (schema: object): string | undefined =>
  Schema.isSchema(schema)
    ? "effect"
    : typeof schema === "function" ||
        Predicate.isObject(schema) && (Object.keys(schema).includes("~standard") || "_zod" in schema)
    ? vendorOf(schema)
    : undefined

const ofJsonSchema = (jsonSchema: object, forResults?: Foreign): Foreign =>
  new Foreign({
    jsonSchema: asJsonSchema(jsonSchema),
    validate: undefined,
    encode: checkedBy(asJsonSchema(jsonSchema))
  }, forResults)

// It has been inspected.
const asJsonSchema = (schema: object) => schema as AnyJsonSchema

const isRule = ({ keyword }: KeywordAt): boolean => keyword !== "format"

const withAdvice = (rule: KeywordAt): KeywordAt => ({
  ...rule,
  why: `${rule.why} cannot be checked. If that is meant, pass { uncheckedRules: "accept" }`
})

/** Makes the schema of a tool's arguments from one of another library. Throws a `SchemaRefused` if it cannot be used. */
export const parametersFrom: (library: StandardSchema) => Schema.Codec<unknown> = memoize((library) => {
  const written = writtenBy(library)
  if (written.input instanceof Error) {
    const why = `${vendorOf(library)} cannot write it as a JSON Schema: ${
      cut(oneLine(written.input.message).replace(/\.$/, ""), 300)
    }. Write all of it with one library, as the JSON that a model writes, and transform that`
    throw new SchemaRefused([{ path: [], keyword: "", why }])
  }
  const closed = closedSchema(written.input)
  // What is a secret after the validation was one before.
  const jsonSchema = withSecretsOf(closed, written.outline)
  const validate = validatorOf(library, { isSecret: hasSecrets(jsonSchema) })
  const encode = isTransforming(written) ? undefined : rewriting(validate)
  return declareForeign(new Foreign({ jsonSchema, validate, encode }))
})

// A decoded value is written as it is, if a validation leaves it as it is. Otherwise nobody knows how to write it: a price in
// cents would become one in hundredths of a cent.
const rewriting = (validate: Convert): Convert => (value) =>
  Effect.flatMapEager(
    unchanged(validate)(value),
    (written) => isSame(written, value) ? Effect.succeed(written) : Effect.fail(issueFrom([]))
  )

/** Makes the schema of a tool's results from one of another library. Throws a `SchemaRefused` if it cannot be used. */
export const resultsFrom: (library: StandardSchema) => Schema.Codec<unknown> = memoize((library) => {
  const written = writtenBy(library)
  if (isTransforming(written)) {
    const why = "it transforms values, so it does not say what a result is. Declare the result that the handler returns"
    throw new SchemaRefused([{ path: [], keyword: "", why }])
  }
  // A library may have no JSON Schema for a Date. What it writes, `JSON.stringify` says then.
  const jsonSchema = written.outline instanceof Error
    ? undefined
    : withSecretsOf(written.outline, written.outlineBefore)
  const refused = jsonSchema === undefined ? [] : inspect(jsonSchema).refused
  if (refused.length > 0) throw new SchemaRefused(refused)
  const isSecret = hasSecrets(jsonSchema ?? {})
  const validate = inWordsOf(jsonSchema, onlyTidying(validatorOf(library, { isSecret, mayQuote: false })))
  return declareForeign(new Foreign({ jsonSchema, validate, encode: validate }))
})

// A validation may leave out keys, fill in defaults and trim texts. If it changes the result again when it validates it once
// more, it computes something, so it cannot be known what the handler meant. A secret may be hidden that way: nothing is shown.
const onlyTidying = (validate: Convert): Convert => (value) =>
  Effect.flatMapEager(unchanged(validate)(value), (tidied) =>
    isSameText(tidied, value)
      ? Effect.succeed(tidied)
      : Effect.flatMapEager(unchanged(validate)(tidied), (again) =>
        isSame(again, tidied)
          ? Effect.succeed(tidied)
          : Effect.die(
            new TypeError("The success schema computes values. Declare the result that the handler returns.")
          )))

// A library's words may quote a result, which may be secret. So the words are those of the JSON Schema, if it refuses the
// result, too.
const inWordsOf = (jsonSchema: AnyJsonSchema = {}, validate: Convert): Convert => (value) =>
  Effect.catchEager(
    validate(value),
    (issue) => Effect.andThen(checkedBy(jsonSchema)(plainJson(value).json), Effect.fail(issue))
  )

/** Returns the schema of results that may have more keys than a JSON Schema declares. */
export const forResults = (success: Schema.Constraint): Schema.Constraint => {
  const foreign = foreignOf(success)?.forResults
  return foreign === undefined ? success : declareForeign(foreign)
}
