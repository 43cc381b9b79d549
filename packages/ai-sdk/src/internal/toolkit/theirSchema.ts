/*
 * The schemas of the AI SDK's tools: those of Zod and other libraries, JSON Schemas with or without a validation, and functions
 * that make one of them when they are called.
 */
import { asSchema } from "@ai-sdk/provider-utils"
import * as Parameters from "@fallible/core/Parameters"
import type { FlexibleSchema } from "ai"
import * as Predicate from "effect/Predicate"
import { fieldsOf } from "../untyped.ts"

/** Returns a schema as a tool of ours takes it. Throws a `TypeError` that says why, if it cannot be used. */
export const schemaOf = (what: string, schema: FlexibleSchema<unknown>): Parameters.Parameters<unknown> => {
  try {
    return writesItself(schema) ? schema : converted(schema)
  } catch (error) {
    throw new TypeError(`${what}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

const converted = (schema: FlexibleSchema<unknown>): Parameters.Parameters<unknown> => {
  const { jsonSchema, validate } = asSchema(schema)
  if (!Predicate.isObject(jsonSchema) || Predicate.isPromiseLike(jsonSchema)) {
    throw new TypeError("Its JSON Schema is not known yet. Wait for it: jsonSchema(await promise).")
  }
  // The AI SDK does not check a JSON Schema without a validation: who runs the tool does. So a rule that cannot be checked here is
  // left to them.
  if (validate === undefined) return Parameters.fromJsonSchema(jsonSchema, { uncheckedRules: "accept" })
  return validated(jsonSchema, async (value) => validate(value))
}

// A library that writes its JSON Schema itself is asked directly. It then also says which values it changes.
const writesItself = (
  schema: FlexibleSchema<unknown>
): schema is FlexibleSchema<unknown> & Parameters.Parameters<unknown> => {
  const standard = Reflect.get(Object(schema), "~standard")
  return Predicate.isObject(standard) && Predicate.isObject(standard["jsonSchema"])
}

type Validated = { readonly success: true; readonly value: unknown } | {
  readonly success: false
  readonly error: Error
}

const validated = (
  jsonSchema: object,
  validate: (value: unknown) => Promise<Validated>
): Parameters.Parameters<unknown> => ({
  "~standard": {
    version: 1,
    vendor: "ai-sdk",
    validate: async (value) => {
      const result = await validate(value)
      return result.success ? { value: result.value } : { issues: issuesOf(result.error) }
    },
    jsonSchema: {
      input: () => jsonSchema,
      output: () => {
        throw new Error("the AI SDK does not say what a validation returns")
      }
    }
  }
})

interface Issue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey>
}

// The AI SDK wraps the errors of libraries.
const issuesOf = (error: unknown, depth = 0): ReadonlyArray<Issue> => {
  const { cause, issues = cause, message } = fieldsOf(error)
  if (Array.isArray(issues)) {
    return issues.map(fieldsOf).map(({ message, path }) => ({
      message: typeof message === "string" ? message : "It is not valid.",
      ...(Array.isArray(path) ? { path: path.map(keyOf) } : {})
    }))
  }
  return cause === undefined || depth > 3 ? [{ message: String(message ?? error) }] : issuesOf(cause, depth + 1)
}

const keyOf = (segment: unknown): PropertyKey => {
  const key = Predicate.isObject(segment) ? segment["key"] : segment
  return typeof key === "number" ? key : String(key)
}
