/** Schemas of other libraries, by the Standard Schema interface: https://standardschema.dev */
import { isObject, isString, keysOf } from "../json.ts"

/**
 * A schema of zod (4.2 and later), Valibot, ArkType or another library that implements Standard Schema and Standard JSON
 * Schema.
 */
export interface StandardSchema<out Output = unknown> {
  readonly "~standard": {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => Validation<Output> | Promise<Validation<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
    readonly jsonSchema: {
      /** Writes the JSON Schema of a value before it is validated. */
      readonly input: WriteJsonSchema
      /** Writes the JSON Schema of a value after it was validated. */
      readonly output?: WriteJsonSchema
    }
  }
}

/** Throws for a schema that JSON Schema cannot express. */
export type WriteJsonSchema = (
  options: { readonly target: "draft-2020-12"; readonly libraryOptions?: Record<string, unknown> | undefined }
) => object

/** What a Standard Schema says about a value. */
export type Validation<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: ReadonlyArray<StandardIssue> }

export interface StandardIssue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
}

/** True for a schema that can write itself as a JSON Schema, and validate a value. */
export const isStandardSchema = (schema: object): schema is StandardSchema => {
  const standard: unknown = "~standard" in schema ? schema["~standard"] : undefined
  return isObject(standard) && typeof standard["validate"] === "function" && isObject(standard["jsonSchema"])
}

/**
 * Says what an object is that is passed as a JSON Schema and is none: `undefined` if it may be one. Without this check, such
 * an object would be a schema without keywords, and allow everything.
 */
export const strangerOf = (schema: { readonly [key: string]: unknown }, isKeyword: (key: string) => boolean) => {
  // A JSON Schema that zod has made carries the interface, too, but not among its keys.
  if (keysOf(schema).includes("~standard") || "_def" in schema || "_zod" in schema) {
    const { vendor }: { readonly vendor?: unknown } = Object(schema["~standard"])
    const owner = isString(vendor) ? vendor : "zod"
    return isStandardSchema(schema)
      ? schemaOf(owner, ": use Arguments.of(schema)")
      : convertible(owner, ", without a JSON Schema")
  }
  if ("ast" in schema) return convertible("effect", "")
  const keys = keysOf(schema)
  const inner = holders.find((key) =>
    isObject(schema[key]) && !keys.some((other) => other !== "type" && isKeyword(other))
  )
  return inner === undefined ? undefined : `it has the schema in '${inner}': pass that`
}

const schemaOf = (owner: string, what: string): string => `it is a schema of ${owner}${what}`

const convertible = (owner: string, what: string): string =>
  schemaOf(owner, `${what}: pass the JSON Schema that ${owner} makes of it`)

/** Where tools and requests have the schema of their arguments. */
const holders = ["inputSchema", "input_schema", "parameters", "jsonSchema", "json_schema", "schema", "function"]
