/**
 * The schemas of a tool's arguments that are not Effect's.
 *
 * A schema of zod, Valibot or ArkType is passed to `Tool.make` as it is. A plain JSON Schema, such as an MCP server has,
 * is passed through {@link fromJsonSchema}. A union, or a value that is not an object, is put in a field by {@link inField}.
 *
 * The model is shown the author's own JSON Schema, with its definitions, descriptions, examples and defaults. Objects that it
 * leaves open are closed. A model's text is read and repaired by that JSON Schema, and then validated by the library. The
 * handler gets what the library returns. An asynchronous validation has 30 seconds, or until the run's deadline. One that
 * throws, or never ends, fails its call. Write all of a schema with one library.
 *
 * The identity of a call goes by its arguments as JSON, after repairs. Defaults that the JSON Schema declares are filled in,
 * if the library keeps to them. If a library transforms values, that cannot be undone, so an acting tool must declare its
 * `identity`.
 *
 * @since 0.1.0
 */
import type { StandardSchema } from "@fallible/arguments"
import { demandKnown, type Names } from "@fallible/arguments/internal"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import { declareForeign, foreignInField, foreignOf } from "./internal/arguments/foreignSchema.ts"
import { type JsonSchemaOptions, parametersFrom, schemaFromJson } from "./internal/arguments/schemaSource.ts"
import { standardSchemaIn } from "./internal/arguments/standardSchema.ts"

export type { JsonSchemaOptions } from "./internal/arguments/schemaSource.ts"

/**
 * A schema of arguments with the type `A`: Effect's, or another library's (Standard Schema 1.1 with its JSON Schema part).
 *
 * @category models
 * @since 0.1.0
 */
export type Parameters<A> = Schema.ConstraintDecoder<A> | StandardSchema<A>

/**
 * Makes the schema of a tool's arguments, or of its results, from a JSON Schema.
 *
 * When to use: for a tool from elsewhere, such as an MCP server or an OpenAPI document.
 *
 * All keywords of draft 2020-12 but `$dynamicRef` are checked, and those of draft 7 (`definitions`) and OpenAPI 3.0
 * (`nullable`), too. Throws a `SchemaRefused`, with the path, for a schema that cannot be used or has rules that cannot be
 * checked. The type of the value is `JsonObject`. `fromJsonSchema<Trip>(schema)` claims another one, which nobody checks.
 *
 * @param schema the JSON Schema, with its definitions
 * @param options `unknownKeys`: whether a key that is not declared is refused where the schema leaves that open (default:
 * `"refuse"`). `uncheckedRules`: whether a schema with a rule that cannot be checked is refused (default: `"refuse"`)
 *
 * @example
 * ```ts
 * import { Tool } from "@fallible/core"
 * import * as Parameters from "@fallible/core/Parameters"
 * import { Effect, Schema } from "effect"
 *
 * const weather = Tool.make("get_weather", {
 *   description: "The weather",
 *   parameters: Parameters.fromJsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"] }),
 *   success: Schema.String,
 *   sideEffect: "none"
 * }, ({ city }) => Effect.succeed(`Sunny in ${city}.`))
 *
 * Effect.runSync(weather.run({ city: "Paris" })) // => "Sunny in Paris."
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromJsonSchema: {
  // Two signatures: with one, the compiler would claim the type that the place around the call asks for.
  (schema: object, options?: JsonSchemaOptions): Schema.Codec<Schema.JsonObject>
  <A>(schema: object, options?: JsonSchemaOptions): Schema.Codec<A>
} = <A>(schema: object, options: JsonSchemaOptions = {}): Schema.Codec<A> => {
  demandKnown("Parameters.fromJsonSchema", options, names)
  return schemaFromJson<A>(schema, options)
}

const names: Names<JsonSchemaOptions> = { uncheckedRules: true, unknownKeys: true }

/**
 * Puts a value in the only field of the arguments. The model sends `{ "request": … }`, and the handler gets what is in it.
 *
 * When to use: if the schema of the arguments is a union, or is not an object. Model providers refuse both at the top level.
 *
 * @param field the name of the field, which the model reads
 * @param schema the schema of the value
 *
 * @example
 * ```ts
 * import * as Arguments from "@fallible/core/Arguments"
 * import * as Parameters from "@fallible/core/Parameters"
 * import { Effect, Schema } from "effect"
 *
 * const target = Schema.Union([Schema.Struct({ id: Schema.Int }), Schema.Struct({ email: Schema.String })])
 * const parameters = Parameters.inField("customer", target)
 *
 * Effect.runSync(Arguments.decode("{\"customer\":{\"id\":7}}", { parameters })).params // => { id: 7 }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const inField = <A>(field: string, schema: Parameters<A>): Schema.Codec<A> => {
  if (field in {}) {
    throw new TypeError(`Parameters.inField needs another field than '${field}', which every object has.`)
  }
  const own = Schema.isSchema(schema) ? schema : parametersFrom(asStandard(schema))
  const foreign = foreignOf(own)
  if (foreign !== undefined) return declareForeign(foreignInField(field, foreign))
  return asCodec(
    Schema.Struct({ [field]: asCodec<unknown>(own) }).pipe(
      Schema.decodeTo(Schema.toType(asCodec<unknown>(own)), {
        decode: SchemaGetter.transform((outer) => outer[field]),
        encode: SchemaGetter.transform((inner) => ({ [field]: inner }))
      })
    )
  )
}

const asStandard = (schema: unknown): StandardSchema => {
  const library = standardSchemaIn(schema)
  if (library !== undefined) return library
  throw new TypeError("Parameters.inField needs a Schema. For a JSON Schema, pass Parameters.fromJsonSchema(schema).")
}

// The struct has one field, whose type is that of the schema.
const asCodec = <A>(schema: Schema.Constraint) => schema as Schema.Codec<A>
