import { numberPattern, toolSchema } from "@fallible/arguments/internal"
import { memoize } from "effect/Function"
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { encodedSide } from "./encodedSide.ts"
import { foreignOf } from "./foreignSchema.ts"

/**
 * Makes the JSON Schema of a tool's parameters for a model. It describes an object without further
 * keys, and contains all of its definitions (`$defs`).
 */
export const shown = (parameters: Schema.Constraint): JsonSchema.JsonSchema => {
  const foreign = foreignOf(parameters)
  if (foreign !== undefined) return toolSchema(foreign.jsonSchema ?? {})
  const { definitions, schema } = Schema.toJsonSchemaDocument(encodedSide(parameters), { onExcessProperty: "error" })
  // Effect describes an empty struct as any value except null.
  const root = "not" in schema ? { properties: {}, additionalProperties: false } : finite(schema)
  return {
    type: "object",
    ...root,
    ...(Object.keys(definitions).length === 0 ? {} : { $defs: finite(definitions) })
  }
}

/**
 * Returns why model providers refuse these parameters, and what to write instead; `undefined` if they do not. The
 * sentence goes on after "The parameters of 'x'".
 */
export const whyUnusable = (shown: JsonSchema.JsonSchema): string | undefined => {
  const { type } = shown
  if ("anyOf" in shown || "oneOf" in shown) {
    return `are a union, which model providers refuse. ${inField("union", "request")}`
  }
  if ("allOf" in shown) return `are combined by 'allOf', which model providers refuse. ${inField("value", "value")}`
  if (type === "object") return undefined
  const has = type === undefined ? "have no type" : `have the type ${JSON.stringify(type)}`
  return `${has}; a model can only send an object. ${inField("value", "value")}`
}

const inField = (what: string, field: string): string =>
  `Put the ${what} in a field: Parameters.inField("${field}", schema).`

/**
 * Returns the result of {@link shown} from a cache. All callers share that object: do not change it,
 * and do not give it to a user.
 */
export const schemaOf: (parameters: Schema.Constraint) => JsonSchema.JsonSchema = memoize((parameters) =>
  shown(parameters)
)

/**
 * Whether the JSON Schema refuses values that the codec of these parameters accepts. The codec accepts the strings
 * "NaN" and "Infinity" for a number. It also accepts any string that JavaScript can read as a date or as a number.
 */
export const isStricter = (shown: JsonSchema.JsonSchema, parameters: Schema.Constraint): boolean =>
  foreignOf(parameters) !== undefined ||
  hasWithin(
    shown,
    ({ format, pattern }) => format === "date" || format === "date-time" || pattern === numberPattern
  ) ||
  hasWithin(Schema.toJsonSchemaDocument(encodedSide(parameters)), isNonFinite)

/** Whether the schema is an object that allows no keys. */
export const takesNothing = (schema: JsonSchema.JsonSchema): boolean =>
  schema["additionalProperties"] === false && Predicate.isObject(schema["properties"]) &&
  Object.keys(schema["properties"]).length === 0

// Removes the strings "NaN" and "Infinity" from Effect's JSON form of a number. A model does not need to know them.
const finite = (node: JsonSchema.JsonSchema): JsonSchema.JsonSchema =>
  Object.fromEntries(
    Object.entries(node).flatMap(([key, value]): ReadonlyArray<readonly [string, unknown]> => {
      if (key !== "anyOf" || !Array.isArray(value)) return [[key, finiteWithin(value)]]
      const members = withMergedEnums(value.filter((member) => !isNonFinite(member))).map(finiteWithin)
      const [only] = members
      return members.length === 1 && Predicate.isObject(only) ? Object.entries(only) : [[key, members]]
    })
  )

// Merges the literals of a long enum into one schema. `encodedSide` marks a long enum by showing its
// first literal twice.
const withMergedEnums = (members: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  const start = members.findIndex((member, index) => isTwin(member, members[index + 1]))
  const first = members[start]
  if (!isLiteral(first)) return members
  const { type } = first
  const after = members.findIndex((member, index) => index > start && !(isLiteral(member) && member.type === type))
  const end = after === -1 ? members.length : after
  const choices = new Set(members.slice(start, end).flatMap((member) => isLiteral(member) ? member.enum : []))
  return [...members.slice(0, start), { type, enum: Array.from(choices) }, ...withMergedEnums(members.slice(end))]
}

const isTwin = (member: unknown, other: unknown): boolean =>
  isLiteral(member) && isLiteral(other) && member.enum[0] === other.enum[0]

const isLiteral = (member: unknown): member is { readonly type: unknown; readonly enum: ReadonlyArray<unknown> } =>
  Predicate.isObject(member) && Object.keys(member).length === 2 && "type" in member && Array.isArray(member["enum"]) &&
  member["enum"].length === 1

const finiteWithin = (value: unknown): unknown =>
  Array.isArray(value) ? value.map(finiteWithin) : Predicate.isObject(value) ? finite(value) : value

const hasWithin = (value: unknown, predicate: (node: JsonSchema.JsonSchema) => boolean): boolean =>
  Array.isArray(value)
    ? value.some((item) => hasWithin(item, predicate))
    : Predicate.isObject(value) &&
      (predicate(value) || Object.values(value).some((child) => hasWithin(child, predicate)))

const isNonFinite = (member: unknown): boolean =>
  Predicate.isObject(member) && Array.isArray(member["enum"]) && member["enum"].join() === "Infinity,-Infinity,NaN"
