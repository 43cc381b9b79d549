/** Random JSON Schemas and Zod schemas, and random values that some of them allow. */
import type { Json, JsonSchema } from "@fallible/arguments"
import * as fc from "fast-check"
import { z } from "zod"

const keys = ["a", "b", "c", "d"]
const key = fc.constantFrom(...keys)

const leaf: fc.Arbitrary<JsonSchema> = fc.constantFrom<JsonSchema>(
  { type: "string" },
  { type: "integer" },
  { type: "integer", minimum: 1 },
  { type: "boolean" },
  { type: "null" },
  { const: "x" },
  { enum: ["x", "y", 1] },
  { type: ["string", "null"] },
  { type: "string", maxLength: 1 },
  {}
)

/** Random JSON Schemas of draft 2020-12. They refer to the definitions `D` and `E`. */
const { schema } = fc.letrec<{ readonly schema: JsonSchema }>((tie) => {
  const properties = fc.dictionary(key, tie("schema"), { maxKeys: 3 })
  const members = fc.array(tie("schema"), { minLength: 1, maxLength: 3 })
  const object = fc.record({
    type: fc.constant("object"),
    properties,
    required: fc.uniqueArray(key, { maxLength: 2 }),
    additionalProperties: fc.oneof(fc.boolean(), tie("schema")),
    patternProperties: fc.dictionary(fc.constantFrom("^a", "[bc]"), tie("schema"), { minKeys: 1, maxKeys: 1 }),
    minProperties: fc.constantFrom(1, 2),
    dependentRequired: fc.dictionary(key, fc.array(key, { maxLength: 2 }), { maxKeys: 1 }),
    propertyNames: fc.constant({ enum: ["a", "b", "long"] }),
    unevaluatedProperties: fc.boolean()
  }, { requiredKeys: ["type", "properties"] })
  // Most objects that people write have no more than this.
  const plainObject = fc.record({
    type: fc.constant("object"),
    properties,
    required: fc.uniqueArray(key, { maxLength: 2 })
  }, { requiredKeys: ["type", "properties"] })
  const tagged = fc.array(properties, { minLength: 2, maxLength: 3 }).map((all) => ({
    oneOf: all.map((properties, index) => ({
      type: "object",
      properties: { ...properties, d: { const: ["x", "y", "z"][index] } },
      required: ["d"]
    }))
  }))
  return {
    schema: fc.oneof(
      { maxDepth: 4, depthSize: "small", withCrossShrink: true },
      leaf,
      { arbitrary: plainObject, weight: 4 },
      { arbitrary: object, weight: 2 },
      fc.record({ type: fc.constant("array"), items: tie("schema") }),
      fc.record({ type: fc.constant("array"), prefixItems: members, items: tie("schema"), contains: tie("schema") }, {
        requiredKeys: ["type", "prefixItems"]
      }),
      fc.record({ anyOf: members }),
      fc.record({ oneOf: members }),
      tagged,
      fc.record({ allOf: members }),
      fc.tuple(plainObject, fc.constantFrom("anyOf", "oneOf", "allOf"), members).map(([object, word, members]) => ({
        ...object,
        [word]: members
      })),
      fc.record({ type: fc.constant("object"), properties, not: tie("schema") }),
      fc.record({
        type: fc.constant("object"),
        properties,
        if: tie("schema"),
        // oxlint-disable-next-line unicorn/no-thenable
        then: tie("schema"),
        else: tie("schema")
      }, {
        requiredKeys: ["type", "properties", "if"]
      }),
      fc.record({
        type: fc.constant("object"),
        properties,
        dependentSchemas: fc.dictionary(key, tie("schema"), { maxKeys: 1 })
      }),
      fc.constantFrom({ $ref: "#/$defs/D" }, { $ref: "#/$defs/E" }, { $ref: "#" })
    )
  }
})

export const jsonSchemas: fc.Arbitrary<JsonSchema> = fc.record({
  type: fc.constant("object"),
  properties: fc.dictionary(key, schema, { minKeys: 1, maxKeys: 3 }),
  $defs: fc.record({ D: schema, E: schema })
})

/** Random JSON with few keys and values, so that it often fits a random schema. */
export const values: fc.Arbitrary<Json> = fc.letrec<{ readonly value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    fc.constantFrom("x", "y", "long", 0, 1, true, null),
    { arbitrary: fc.dictionary(key, tie("value"), { maxKeys: 3 }), weight: 3 },
    fc.array(tie("value"), { maxLength: 2 })
  )
})).value

const zodLeaf: fc.Arbitrary<z.ZodType> = fc.constantFrom<z.ZodType>(
  z.string(),
  z.string().min(2),
  z.string().regex(/^[a-z]+$/i),
  z.string().trim().max(3),
  z.email(),
  z.iso.date(),
  z.int(),
  z.number().min(0).lt(10),
  z.boolean(),
  z.null(),
  z.literal("x"),
  z.enum(["x", "y"]),
  z.string().transform((text) => text.length),
  z.string().refine((text) => text !== "x", "not x"),
  z.int().default(3),
  z.int().catch(3),
  z.string().prefault("x"),
  z.codec(z.string(), z.int(), { decode: (text) => text.length, encode: (length) => "x".repeat(length) }),
  z.unknown(),
  z.date(),
  z.bigint()
)

/** Random Zod schemas. A few cannot be written as JSON Schemas. */
export const zodSchemas: fc.Arbitrary<z.ZodType> = fc.letrec<{ readonly schema: z.ZodType }>((tie) => {
  const shape = fc.dictionary(key, tie("schema"), { maxKeys: 3 })
  const members = fc.tuple(tie("schema"), tie("schema"))
  return {
    schema: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      zodLeaf,
      { arbitrary: shape.map((shape) => z.object(shape)), weight: 3 },
      shape.map((shape) => z.strictObject(shape)),
      shape.map((shape) => z.looseObject(shape)),
      fc.tuple(shape, tie("schema")).map(([shape, rest]) => z.object(shape).catchall(rest)),
      // Zod throws if the two of them make different values of one key.
      fc.tuple(shape, tie("schema")).map(([one, other]) => z.intersection(z.object(one), z.object({ e: other }))),
      fc.tuple(shape, shape).map(([one, other]) =>
        z.discriminatedUnion("d", [
          z.object({ ...one, d: z.literal("x") }),
          z.object({ ...other, d: z.literal("y") })
        ])
      ),
      members.map((members) => z.union(members)),
      members.map((members) => z.xor(members)),
      members.map((members) => z.tuple(members)),
      tie("schema").map((item) => z.array(item)),
      tie("schema").map((item) => z.record(z.string(), item)),
      tie("schema").map((item) => item.optional()),
      tie("schema").map((item) => item.nullable()),
      tie("schema").map((item) => item.readonly()),
      tie("schema").map((item) => item.transform((value) => ({ value }))),
      tie("schema").map((item) => z.lazy(() => item)),
      tie("schema").map((item) => item.meta({ description: "what it is", examples: ["x"] }))
    )
  }
}).schema
