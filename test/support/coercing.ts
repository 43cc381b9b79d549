/** Coerces values to schemas, and returns the results, the notes or the refusals. */
import { assert } from "@effect/vitest"
import type { Origin } from "@fallible/arguments"
import { coerce } from "@fallible/arguments/internal"
import type { Schema } from "effect"
import type * as JsonSchema from "effect/JsonSchema"
import { misfits } from "./misfits.ts"

export const numberAt = (tokens: { readonly [path: string]: string }): Origin => ({
  numberAt: (path) => tokens[path.join(".")]
})

export const integer = { type: "integer" }
export const string = { type: "string" }
export const strings = { type: "array", items: string }
export const date = { type: "string", format: "date" }
export const time = { type: "string", format: "date-time" }
export const closed = (properties: JsonSchema.JsonSchema, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false
})

/** Returns the coerced value and the kinds of its repairs. A kind with a note is in capitals. */
export const coerced = (value: Schema.Json, schema: JsonSchema.JsonSchema, origin?: Origin) => {
  const { repairs, value: result } = coerce(frozen(value), schema, origin)
  assert.deepStrictEqual(misfits(result, schema, repairs.length === 0 ? origin : undefined), [])
  return [result, ...repairs.map(({ kind, note }) => note === undefined ? kind : kind.toUpperCase())]
}

export const notes = (value: Schema.Json, schema: JsonSchema.JsonSchema, origin?: Origin) =>
  coerce(value, schema, origin).repairs.map(({ note }) => note)

export const refused = (value: Schema.Json, schema: JsonSchema.JsonSchema, origin?: Origin) => {
  const result = coerce(frozen(value), schema, origin)
  assert.deepStrictEqual(result, { value, repairs: [], fits: false })
  assert.strictEqual(result.value, value)
  const issues = misfits(value, schema, origin)
  assert.isNotEmpty(issues)
  return issues
}

export const expected = (value: Schema.Json, schema: JsonSchema.JsonSchema) =>
  misfits(value, schema).map((issue) => [issue.path.join("."), issue.expected])

export const frozen = <A>(value: A): A => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(frozen)
  }
  return value
}
