/*
 * Free text in the arguments of a tool: words that a model may choose differently each time, such as a note. If they count
 * as part of the intended effect, a call with other words is another call.
 */
import { memoize } from "effect/Function"
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import { attempt } from "../value/untrusted.ts"
import type { Identified } from "./argumentIdentity.ts"
import { schemaOf } from "./jsonSchema.ts"

/**
 * Whether the arguments of a tool say which effect is intended, however the model words the rest: the tool selects them by
 * its `identity`, or all of them count and none is free text.
 */
export const isIdentified = ({ identity, parameters }: Pick<Identified, "identity" | "parameters">): boolean =>
  Predicate.isFunction(identity) || identity === "all" && !hasFreeText(parameters)

/**
 * Whether any parameter is free text: a string without an enum, a pattern or a format, or any value. The keys of a record
 * are free text, too. What counts is what the model is shown: Effect shows a pattern only if it has the flag `u`.
 */
export const hasFreeText: (parameters: Schema.Constraint) => boolean = memoize((parameters) =>
  // A schema that cannot be shown may hold anything.
  attempt(() => isFreeIn(schemaOf(parameters))) ?? true
)

const isFreeIn = (root: JsonSchema.JsonSchema): boolean => {
  const definitions: { readonly [name: string]: unknown } = { ...Object(root["definitions"]), ...Object(root["$defs"]) }
  const seen = new Set<unknown>()
  const isFree = (node: unknown): boolean => {
    // `true` and a missing schema allow any value, `false` none.
    if (!Predicate.isObject(node)) return node !== false
    if (seen.has(node)) return false
    seen.add(node)
    const { $ref, additionalProperties, allOf, anyOf, items, oneOf, prefixItems, properties, type } = node
    const parts = listOf(allOf)
    if ([node, ...parts].some(isLimited)) return false
    if (Predicate.isString($ref)) return isFree(definitions[$ref.slice($ref.lastIndexOf("/") + 1)])
    const members = [...listOf(anyOf), ...listOf(oneOf)]
    if (members.length > 0) return members.some(isFree)
    if (type === undefined) return parts.length === 0 || parts.some(isFree)
    const types: ReadonlyArray<unknown> = Array.isArray(type) ? type : [type]
    return types.includes("string") ||
      types.includes("array") &&
        (prefixItems === undefined ? isFree(items) : [...listOf(prefixItems), items ?? false].some(isFree)) ||
      types.includes("object") &&
        (Object.values(Predicate.isObject(properties) ? properties : {}).some(isFree) ||
          additionalProperties !== false)
  }
  return isFree(root)
}

const isLimited = (node: unknown): boolean =>
  Predicate.isObject(node) && ["enum", "const", "pattern", "format"].some((word) => word in node)

const listOf = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []
