/** Schemas that mean the same, in the words of Effect, Zod and JSON Schema, and the texts that models write for them. */
import type { Json, JsonSchema } from "@fallible/arguments"
import * as Parameters from "@fallible/core/Parameters"
import { Effect, Schema } from "effect"
import * as fc from "fast-check"
import { z } from "zod"

/** What a schema means. Nothing of it transforms a value. */
export type Meaning =
  | { readonly of: "text"; readonly min?: number; readonly max?: number; readonly pattern?: string }
  | { readonly of: "int" | "number"; readonly min?: number; readonly max?: number }
  | { readonly of: "flag" }
  | { readonly of: "choice"; readonly choices: readonly [string, ...ReadonlyArray<string>] }
  | { readonly of: "nullable" | "list" | "record"; readonly inner: Meaning }
  | { readonly of: "object"; readonly fields: Readonly<Record<string, Field>> }

export interface Field {
  readonly meaning: Meaning
  readonly isOptional: boolean
  /** A field with a default may be left out. */
  readonly byDefault?: Json
}

/** The same schema from three origins. */
export interface Origins {
  readonly effect: Parameters.Parameters<unknown>
  readonly zod: Parameters.Parameters<unknown>
  readonly json: Parameters.Parameters<unknown>
}

export const originsOf = (meaning: Meaning): Origins => ({
  effect: effectOf(meaning),
  zod: zodOf(meaning),
  json: Parameters.fromJsonSchema(jsonOf(meaning))
})

// -----------------------------------------------------------------------------
// Effect
// -----------------------------------------------------------------------------

const effectOf = (meaning: Meaning): Schema.Codec<unknown> => {
  switch (meaning.of) {
    case "text":
      return asCodec(Schema.String.check(
        Schema.isMinLength(meaning.min ?? 0),
        Schema.isMaxLength(meaning.max ?? 1_000),
        ...(meaning.pattern === undefined ? [] : [
          Schema.isPattern(new RegExp(meaning.pattern), { toJsonSchema: () => ({ pattern: meaning.pattern }) })
        ])
      ))
    case "int":
    case "number":
      return asCodec(
        (meaning.of === "int" ? Schema.Int : Schema.Finite).check(
          Schema.isBetween({ minimum: meaning.min ?? -1_000, maximum: meaning.max ?? 1_000 })
        )
      )
    case "flag":
      return asCodec(Schema.Boolean)
    case "choice":
      return asCodec(Schema.Literals(meaning.choices))
    case "nullable":
      return asCodec(Schema.NullOr(effectOf(meaning.inner)))
    case "list":
      return asCodec(Schema.Array(effectOf(meaning.inner)))
    case "record":
      return asCodec(Schema.Record(Schema.String, effectOf(meaning.inner)))
    case "object":
      return asCodec(Schema.Struct(Object.fromEntries(
        Object.entries(meaning.fields).map(([key, { byDefault, isOptional, meaning }]) => {
          const schema = effectOf(meaning)
          return [
            key,
            byDefault !== undefined
              ? schema.pipe(Schema.withDecodingDefaultKey(Effect.succeed(byDefault)))
              : isOptional
              ? Schema.optionalKey(schema)
              : schema
          ]
        })
      )))
  }
}

// The type of a random schema is known only when it is made.
const asCodec = (schema: Schema.Constraint) => schema as Schema.Codec<unknown>

// -----------------------------------------------------------------------------
// Zod
// -----------------------------------------------------------------------------

const zodOf = (meaning: Meaning): z.ZodType => {
  switch (meaning.of) {
    case "text": {
      const text = z.string().min(meaning.min ?? 0).max(meaning.max ?? 1_000)
      return meaning.pattern === undefined ? text : text.regex(new RegExp(meaning.pattern))
    }
    case "int":
    case "number":
      return (meaning.of === "int" ? z.int() : z.number()).min(meaning.min ?? -1_000).max(meaning.max ?? 1_000)
    case "flag":
      return z.boolean()
    case "choice":
      return z.enum(meaning.choices)
    case "nullable":
      return zodOf(meaning.inner).nullable()
    case "list":
      return z.array(zodOf(meaning.inner))
    case "record":
      return z.record(z.string(), zodOf(meaning.inner))
    case "object":
      return z.object(Object.fromEntries(
        Object.entries(meaning.fields).map(([key, { byDefault, isOptional, meaning }]) => {
          const schema = zodOf(meaning)
          return [key, byDefault !== undefined ? schema.default(byDefault) : isOptional ? schema.optional() : schema]
        })
      ))
  }
}

// -----------------------------------------------------------------------------
// JSON Schema
// -----------------------------------------------------------------------------

const jsonOf = (meaning: Meaning): JsonSchema => {
  switch (meaning.of) {
    case "text": {
      const { max = 1_000, min = 0, pattern } = meaning
      return { type: "string", minLength: min, maxLength: max, ...(pattern === undefined ? {} : { pattern }) }
    }
    case "int":
    case "number":
      return {
        type: meaning.of === "int" ? "integer" : "number",
        minimum: meaning.min ?? -1_000,
        maximum: meaning.max ?? 1_000
      }
    case "flag":
      return { type: "boolean" }
    case "choice":
      return { type: "string", enum: meaning.choices }
    case "nullable":
      return { anyOf: [jsonOf(meaning.inner), { type: "null" }] }
    case "list":
      return { type: "array", items: jsonOf(meaning.inner) }
    case "record":
      return { type: "object", additionalProperties: jsonOf(meaning.inner) }
    case "object":
      return {
        type: "object",
        properties: Object.fromEntries(
          Object.entries(meaning.fields).map(([key, { byDefault, meaning }]) => [
            key,
            { ...jsonOf(meaning), ...(byDefault === undefined ? {} : { default: byDefault }) }
          ])
        ),
        required: Object.entries(meaning.fields).filter(([, { byDefault, isOptional }]) =>
          !isOptional && byDefault === undefined
        ).map(([key]) => key)
      }
  }
}

// -----------------------------------------------------------------------------
// Random meanings, and texts for them
// -----------------------------------------------------------------------------

const names = ["userId", "firstName", "max_days", "city", "isUrgent", "tags", "order"]

type FieldOf = (meaning: Meaning) => fc.Arbitrary<Field>

const meaningsOf = (fieldOf: FieldOf): fc.Arbitrary<Meaning> =>
  fc.letrec<{ readonly meaning: Meaning; readonly object: Meaning }>((tie) => ({
    meaning: fc.oneof(
      { maxDepth: 3, depthSize: "small", withCrossShrink: true },
      fc.constantFrom<Meaning>(
        { of: "text" },
        { of: "text", min: 1, max: 5 },
        { of: "text", pattern: "^[a-z]+$" },
        { of: "int" },
        { of: "int", min: 1, max: 9 },
        { of: "number" },
        { of: "number", min: 0 },
        { of: "flag" },
        { of: "choice", choices: ["red", "dark_blue", "green"] },
        { of: "choice", choices: ["only"] }
      ),
      tie("object"),
      // Each library writes "nullable" twice in another way.
      fc.record({
        of: fc.constantFrom<"nullable" | "list" | "record">("nullable", "list", "record"),
        inner: tie("meaning")
      }).filter(({ inner, of }) => of !== "nullable" || inner.of !== "nullable")
    ),
    object: fc.record({
      of: fc.constant<"object">("object"),
      fields: fc.dictionary(fc.constantFrom(...names), tie("meaning").chain(fieldOf), { minKeys: 1, maxKeys: 4 })
    })
  })).object

/** Random objects without defaults. */
export const meanings: fc.Arbitrary<Meaning> = meaningsOf((meaning) =>
  fc.boolean().map((isOptional) => ({ meaning, isOptional }))
)

/** Random objects in which many fields have a default. Libraries differ in whether a default may leave out others. */
export const meaningsWithDefaults: fc.Arbitrary<Meaning> = meaningsOf((meaning) =>
  meaning.of === "object" || meaning.of === "record" || meaning.of === "list" || meaning.of === "nullable"
    ? fc.boolean().map((isOptional) => ({ meaning, isOptional }))
    : valueOf(meaning).map((byDefault) => ({ meaning, isOptional: true, byDefault }))
)

/** Makes a value that has a meaning. */
export const valueOf = (meaning: Meaning): fc.Arbitrary<Json> => {
  switch (meaning.of) {
    case "text":
      return meaning.pattern === undefined
        ? fc.constantFrom("a", "Rome", "12", "true").filter((text) => text.length <= (meaning.max ?? 9))
        : fc.constantFrom("abc", "x")
    case "int":
      return fc.integer({ min: meaning.min ?? -20, max: meaning.max ?? 20 })
    case "number":
      return fc.constantFrom(0, 0.5, 3, 12.25)
    case "flag":
      return fc.boolean()
    case "choice":
      return fc.constantFrom(...meaning.choices)
    case "nullable":
      return fc.option(valueOf(meaning.inner))
    case "list":
      return fc.array(valueOf(meaning.inner), { maxLength: 2 })
    case "record":
      return fc.dictionary(fc.constantFrom("one", "two"), valueOf(meaning.inner), { maxKeys: 2 })
    case "object": {
      const entries = Object.entries(meaning.fields)
      const isNeeded = ([, { byDefault, isOptional }]: readonly [string, Field]) =>
        !isOptional && byDefault === undefined
      return fc.record(Object.fromEntries(entries.map(([key, { meaning }]) => [key, valueOf(meaning)])), {
        requiredKeys: entries.filter(isNeeded).map(([key]) => key)
      })
    }
  }
}

/** A value, and what a model writes for it: the value itself, or something like it. */
export const textsOf = (meaning: Meaning): fc.Arbitrary<string> =>
  fc.tuple(
    valueOf(meaning),
    fc.array(fc.tuple(fc.nat(), fc.constantFrom(...drifts)), { maxLength: 2 }),
    fc.constantFrom(...spoilers)
  )
    .map(([value, drifts, spoil]) =>
      spoil(JSON.stringify(drifts.reduce((value, [at, drift]) => drifted(value, at, drift), value)))
    )

type Drift = (value: Json) => Json

const drifts: ReadonlyArray<Drift> = [
  (value) => typeof value === "string" ? value.toUpperCase() : value,
  (value) => typeof value === "number" ? `${value}` : value,
  (value) => typeof value === "number" ? `${value}.0` : value,
  (value) => typeof value === "number" ? value * 10_000 : value,
  (value) => typeof value === "number" ? value + 0.25 : value,
  (value) => typeof value === "boolean" ? String(value) : value,
  (value) => typeof value === "string" ? Number(value) || value : value,
  (value) => typeof value === "string" ? `${value}, ${value}` : value,
  (value) => Array.isArray(value) ? value[0] ?? null : [value],
  (value) => JSON.stringify(value),
  () => null,
  () => "",
  () => ({}),
  () => "nothing of the kind",
  inKeys((key) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
  inKeys((key) => key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())),
  inKeys((key) => key.toUpperCase()),
  inKeys((key) => `${key}x`),
  (value) => isRecord(value) ? { ...value, surplus: 1 } : value,
  (value) => isRecord(value) ? Object.fromEntries(Object.entries(value).slice(1)) : value,
  (value) => isRecord(value) ? { arguments: value } : value
]

function inKeys(change: (key: string) => string): Drift {
  return (value) =>
    isRecord(value) ? Object.fromEntries(Object.entries(value).map(([key, part]) => [change(key), part])) : value
}

const isRecord = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Changes the part of a value with a number. Parts are counted from the value itself. */
const drifted = (value: Json, at: number, drift: Drift): Json => {
  let left = at % (partsOf(value))
  const change = (part: Json): Json => {
    if (left-- === 0) return drift(part)
    if (Array.isArray(part)) return part.map(change)
    return isRecord(part) ? Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, change(inner)])) : part
  }
  return change(value)
}

const partsOf = (value: Json): number =>
  typeof value === "object" && value !== null
    ? Object.values(value).reduce<number>((sum, part: Json) => sum + partsOf(part), 1)
    : 1

const spoilers: ReadonlyArray<(text: string) => string> = [
  (text) => text,
  (text) => text,
  (text) => text,
  (text) => text,
  (text) => text.replaceAll("\"", "'"),
  (text) => text.replace(/\}$/, ",}"),
  (text) => `\`\`\`json\n${text}\n\`\`\``,
  (text) => text.slice(0, -1),
  (text) => text.slice(0, Math.ceil(text.length / 2)),
  (text) => text.replaceAll(/"(\w+)":/g, "$1:")
]

/** Fills in the defaults of a value that has a meaning. */
export const filled = (meaning: Meaning, value: unknown): unknown => {
  if (meaning.of === "nullable") return value === null ? null : filled(meaning.inner, value)
  if (Array.isArray(value)) return value.map((item) => "inner" in meaning ? filled(meaning.inner, item) : item)
  if (typeof value !== "object" || value === null) return value
  const entries: ReadonlyArray<readonly [string, unknown]> = Object.entries(value)
  if (meaning.of !== "object") {
    return Object.fromEntries(
      entries.map(([key, part]) => [key, "inner" in meaning ? filled(meaning.inner, part) : part])
    )
  }
  const missing = Object.entries(meaning.fields).flatMap(([key, { byDefault }]) =>
    byDefault === undefined || Object.hasOwn(value, key) ? [] : [[key, byDefault] as const]
  )
  const parts = entries.map(([key, part]): readonly [string, unknown] => {
    const field = meaning.fields[key]
    return [key, field === undefined ? part : filled(field.meaning, part)]
  })
  return Object.fromEntries([...parts, ...missing])
}
