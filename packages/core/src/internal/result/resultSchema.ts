/*
 * The JSON Schema of a tool's results, and what it declares. Most tools never need it. A schema without a JSON form declares
 * nothing.
 */
import type { JsonSchema as AnyJsonSchema } from "@fallible/arguments"
import { choicesFor, keysDeclaredIn, secretKeysIn } from "@fallible/arguments/internal"
import { memoize } from "effect/Function"
import * as Schema from "effect/Schema"
import { encodedSide } from "../arguments/encodedSide.ts"
import { foreignOf } from "../arguments/foreignSchema.ts"
import { attempt } from "../value/untrusted.ts"

/** Returns the JSON Schema of results; `undefined` if they have no JSON form that can be described. */
export const resultSchemaOf = (success: Schema.Constraint): AnyJsonSchema | undefined => schemas(success).found

const schemas = memoize((success: Schema.Constraint): { readonly found: AnyJsonSchema | undefined } => {
  const foreign = foreignOf(success)
  if (foreign !== undefined) return { found: foreign.jsonSchema }
  return {
    found: attempt(() => {
      const { definitions, schema } = Schema.toJsonSchemaDocument(encodedSide(Schema.toCodecJson(success)))
      return { ...schema, $defs: definitions }
    })
  }
})

const none: ReadonlySet<string> = new Set()

/** Returns the choices that are declared for a field of results; `undefined` if the field is not declared. */
export const choicesOfField = (success: Schema.Constraint, field: string): ReadonlyArray<unknown> | undefined => {
  const found = resultSchemaOf(success)
  return found === undefined ? undefined : choicesFor(found, field)
}

/** Returns the names of all fields that results may have, at any depth. */
export const fieldNames = (success: Schema.Constraint): ReadonlySet<string> => {
  const found = resultSchemaOf(success)
  return found === undefined ? none : keysDeclaredIn(found)
}

/** Returns the names of all fields that are secret, or hold a secret. */
export const secretFields = memoize((success: Schema.Constraint): ReadonlySet<string> => {
  const found = resultSchemaOf(success)
  return found === undefined ? none : secretKeysIn(found)
})
