/*
 * The schemas of the AI SDK's tools: those of Zod and other libraries, JSON Schemas with or without a validation, and functions
 * that make one of them when they are called.
 */
import { asSchema } from "@ai-sdk/provider-utils"
import { closedSchema, explain } from "@fallible/arguments/internal"
import * as Parameters from "@fallible/core/Parameters"
import type { FlexibleSchema } from "ai"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { fieldsOf } from "../untyped.ts"
import { oneObject } from "./oneObject.ts"

/** Returns the schema of an input as a tool of ours takes it. Throws a `TypeError` that says why, if it cannot be used. */
export const inputOf = (what: string, schema: FlexibleSchema<unknown>): Parameters.Parameters<unknown> =>
  named(what, () => {
    if (isOfEffect(schema)) return schema
    if (writesItself(schema)) return asOneObject(schema)
    const { validate, write } = partsOf(schema)
    const written = write()
    if (validate !== undefined) return asOneObject(standardOf(validate, () => written))
    return oneObject(written) === undefined
      ? fromJsonSchema(written)
      : asOneObject(standardOf(checkedBy(written), () => written, () => written))
  })

/** Returns the schema of a result as a tool of ours takes it. Throws a `TypeError` that says why, if it cannot be used. */
export const outputOf = (what: string, schema: FlexibleSchema<unknown>): Parameters.Parameters<unknown> =>
  named(what, () => {
    if (isOfEffect(schema) || writesItself(schema)) return schema
    const { validate, write } = partsOf(schema)
    // A result is not meant to be changed.
    return validate === undefined ? fromJsonSchema(write()) : standardOf(validate, write, write)
  })

const named = <A>(what: string, make: () => A): A => {
  try {
    return make()
  } catch (error) {
    throw new TypeError(`${what}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

const partsOf = (schema: FlexibleSchema<unknown>) => {
  const theirs = asSchema(schema)
  const { validate } = theirs
  const write = (): object => {
    const { jsonSchema } = theirs
    if (!Predicate.isObject(jsonSchema) || Predicate.isPromiseLike(jsonSchema)) {
      throw new TypeError("Its JSON Schema is not known yet. Wait for it: jsonSchema(await promise).")
    }
    return validate === undefined ? jsonSchema : withoutOutputs(jsonSchema)
  }
  return { validate: validate === undefined ? undefined : async (value: unknown) => validate(value), write }
}

// The AI SDK does not check a JSON Schema without a validation: who runs the tool does. So a rule that cannot be checked here is
// left to them.
const fromJsonSchema = (schema: object) => Parameters.fromJsonSchema(schema, { uncheckedRules: "accept" })

// An Effect schema that implements Standard Schema still is one.
const isOfEffect = (schema: unknown): schema is Schema.ConstraintDecoder<unknown> => Schema.isSchema(schema)

// A library that writes its JSON Schema itself is asked directly. It then also says which values it changes.
const writesItself = (schema: unknown): schema is StandardSchema => {
  const standard = Reflect.get(Object(schema), "~standard")
  return Predicate.isObject(standard) && Predicate.isObject(standard["jsonSchema"])
}

/** Returns a schema that shows one object, and judges as before. */
const asOneObject = (schema: StandardSchema): StandardSchema => {
  const standard = schema["~standard"]
  let parts: object | undefined
  const write = (side: "input" | "output"): StandardSchema["~standard"]["jsonSchema"]["input"] => (options) => {
    const written = standard.jsonSchema[side]?.(options) ?? {}
    const whole = oneObject(written)
    if (whole !== undefined && side === "input") parts = written
    return whole ?? written
  }
  return {
    "~standard": {
      version: standard.version,
      vendor: standard.vendor,
      validate: (value) => {
        const validation = standard.validate(value)
        return parts === undefined ? validation : inWordsOf(parts, value, validation)
      },
      jsonSchema: {
        input: write("input"),
        ...(standard.jsonSchema.output === undefined ? {} : { output: write("output") })
      }
    }
  }
}

// What a model was not shown, it has to be told. A library may say no more than that no member of a union fits.
const inWordsOf = async (
  jsonSchema: object,
  value: unknown,
  validation: Validation | Promise<Validation>
): Promise<Validation> => {
  const result = await validation
  return result.issues === undefined ? result : { issues: misfitsIn(value, jsonSchema) ?? result.issues }
}

const misfitsIn = (value: unknown, jsonSchema: object): ReadonlyArray<Issue> | undefined =>
  explain(value, closedSchema(jsonSchema))?.issues.map(({ expected, path }) => ({
    message: `expected ${expected}`,
    path
  }))

// Zod 3 writes a pipe as all of its steps. A model writes the input of the first one.
const withoutOutputs = (schema: object): object => {
  const { allOf, ...rest } = fieldsOf(schema)
  const steps = (Array.isArray(allOf) ? allOf : []).map(fieldsOf)
  const isPipe = steps.every(({ type }) => typeof type === "string") && new Set(steps.map(({ type }) => type)).size > 1
  const read = isPipe ? { ...rest, ...steps[0] } : schema
  return Object.fromEntries(Object.entries(read).map(([key, part]) => [key, partWithoutOutputs(part)]))
}

const partWithoutOutputs = (part: unknown): unknown =>
  Array.isArray(part) ? part.map(partWithoutOutputs) : Predicate.isObject(part) ? withoutOutputs(part) : part

/** A schema of a library, by the Standard Schema interface. */
type StandardSchema = Extract<Parameters.Parameters<unknown>, { readonly "~standard": unknown }>

type Validation = Awaited<ReturnType<StandardSchema["~standard"]["validate"]>>

type Validated = { readonly success: true; readonly value: unknown } | {
  readonly success: false
  readonly error: unknown
}

const standardOf = (
  validate: (value: unknown) => Promise<Validated>,
  input: () => object,
  output = (): object => {
    throw new Error("the AI SDK does not say what a validation returns")
  }
): StandardSchema => ({
  "~standard": {
    version: 1,
    vendor: "ai-sdk",
    validate: async (value) => {
      const result = await validate(value)
      return result.success ? { value: result.value } : { issues: issuesOf(result.error) }
    },
    jsonSchema: { input, output }
  }
})

const checkedBy = (jsonSchema: object) => async (value: unknown): Promise<Validated> => {
  const issues = misfitsIn(value, jsonSchema)
  return issues === undefined ? { success: true, value } : { success: false, error: { issues } }
}

interface Issue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey>
}

const invalid = "It is not valid."

// The AI SDK wraps the errors of libraries.
const issuesOf = (error: unknown, depth = 0): ReadonlyArray<Issue> => {
  const { cause, issues = cause, message } = fieldsOf(error)
  if (Array.isArray(issues)) {
    return issues.map(fieldsOf).map(({ message, path }) => ({
      message: Predicate.isString(message) ? message : invalid,
      ...(Array.isArray(path) ? { path: path.map(keyOf) } : {})
    }))
  }
  if (cause !== undefined && depth < 4) return issuesOf(cause, depth + 1)
  return [{ message: [message, error].find(Predicate.isString) ?? invalid }]
}

const keyOf = (segment: unknown): PropertyKey => {
  const key = Predicate.isObject(segment) ? segment["key"] : segment
  return typeof key === "number" ? key : String(key)
}
