/**
 * Schemas as other libraries write them. Each keyword is checked, or reported as unchecked, or the schema is refused.
 */
import { assert, describe, it } from "@effect/vitest"
import { decode, inspect, type Json, type JsonSchema, message, SchemaRefused } from "@fallible/arguments"
import { coerce, explain, fits } from "@fallible/arguments/internal"
import * as Arguments from "@fallible/core/Arguments"
import { Schema } from "effect"
import { Type } from "typebox"
import * as z from "zod"

/** Returns the unchecked parts of a schema, shortened to their last words. */
const unchecked = (schema: JsonSchema) => {
  const { refused, unchecked } = inspect(schema)
  assert.deepStrictEqual(refused, [])
  return unchecked.map(({ why }) => why)
}

const refusedFor = (schema: JsonSchema) => inspect(schema).refused.map(({ path, why }) => [path.join("/"), why])

const explained = (value: Json, schema: JsonSchema) => {
  const refusal = explain(value, schema)
  return refusal === undefined ? "" : message(refusal)
}

describe("zod", () => {
  const Order = z.strictObject({
    id: z.uuid(),
    email: z.email(),
    day: z.iso.date(),
    quantity: z.int().min(1).max(9),
    tags: z.array(z.string().regex(/^[a-z]+$/)).max(3).optional(),
    shape: z.discriminatedUnion("type", [
      z.object({ type: z.literal("circle"), radius: z.number().positive() }),
      z.object({ type: z.literal("box"), width: z.number() })
    ]),
    prices: z.record(z.string(), z.number()),
    note: z.string().nullable(),
    pair: z.tuple([z.string(), z.number()]),
    get part() {
      return Order.optional()
    }
  })
  const order = {
    id: "3f2c8a6e-6a0b-4d5e-9c1f-2b7a8d9e0f11",
    email: "ada@example.com",
    day: "2024-02-29",
    quantity: 3,
    shape: { type: "circle", radius: 2 },
    prices: { eur: 1.5 },
    note: null,
    pair: ["a", 1]
  }
  const wrong: ReadonlyArray<readonly [string, object]> = [
    ["id", { id: "3f2c8a6e" }],
    ["email", { email: "ada@" }],
    ["day", { day: "2023-02-29" }],
    ["quantity", { quantity: 10 }],
    ["tags.0", { tags: ["A"] }],
    ["tags", { tags: ["a", "b", "c", "d"] }],
    ["shape.radius", { shape: { type: "circle", radius: 0 } }],
    ["prices.eur", { prices: { eur: "x" } }],
    ["note", { note: 1 }],
    ["pair.1", { pair: ["a", "b"] }],
    ["part", { part: 1 }],
    ["part.email", { part: { ...order, email: "x" } }]
  ]

  it.each(["draft-2020-12", "draft-7", "draft-4", "openapi-3.0"] as const)("as %s", (target) => {
    const schema = z.toJSONSchema(Order, { target, io: "input" }) as JsonSchema
    // Both formats have a pattern beside them, which is checked.
    assert.deepStrictEqual(unchecked(schema), ["the format \"uuid\"", "the format \"email\""])
    assert.isTrue(fits(order, schema), explained(order, schema))
    assert.isTrue(fits({ ...order, part: order }, schema))
    for (const [path, change] of wrong) {
      // OpenAPI 3.0 has no tuples.
      if (path === "pair.1" && target === "openapi-3.0") continue
      const { issues = [] } = explain({ ...order, ...change }, schema) ?? {}
      assert.deepStrictEqual(issues.map(({ path }) => path.join(".")), [path], target)
    }
    assert.deepStrictEqual(
      coerce({ ...order, quantity: "3", Note: "x", note: undefined! }, schema).repairs.map(({ kind }) => kind),
      ["text_for_number"]
    )
  })
})

describe("TypeBox", () => {
  it("writes unions, records and tuples that are read", () => {
    const schema: JsonSchema = Type.Object({
      name: Type.String({ minLength: 1 }),
      size: Type.Union([Type.Literal("small"), Type.Literal("large")]),
      prices: Type.Record(Type.String(), Type.Number()),
      pair: Type.Tuple([Type.String(), Type.Number()])
    }, { additionalProperties: false }) as object as JsonSchema
    assert.deepStrictEqual(unchecked(schema), [])
    const value = { name: "a", size: "Small", prices: { eur: "1" }, pair: ["a", 1] }
    assert.deepStrictEqual<unknown>(coerce(value, schema).value, { ...value, size: "small", prices: { eur: 1 } })
    assert.isFalse(fits({ ...value, size: "small", prices: {}, pair: ["a", 1, 2] }, schema))
  })

  it("writes references by $id that are read", () => {
    const Node = Type.Object({ id: Type.String(), nodes: Type.Array(Type.Ref("Node")) })
    const schema = Type.Cyclic({ Node }, "Node") as object as JsonSchema
    assert.deepStrictEqual(unchecked(schema), [])
    assert.isTrue(fits({ id: "1", nodes: [{ id: "2", nodes: [] }] }, schema))
    assert.isFalse(fits({ id: "1", nodes: [{ id: 2, nodes: [] }] }, schema))
  })
})

describe("Effect", () => {
  it("writes schemas that are read completely, in the form that a model gets", () => {
    class Place
      extends Schema.Class<Place>("Place")({ city: Schema.NonEmptyString, zip: Schema.optional(Schema.Int) })
    {}
    const schemas = [
      Schema.Struct({ place: Place, at: Schema.DateTimeUtcFromString, price: Schema.BigDecimalFromString }),
      Schema.Struct({ tags: Schema.NonEmptyArray(Schema.Literals(["a", "b"])), pair: Schema.Tuple([Schema.String]) }),
      Schema.Struct({
        by: Schema.Record(Schema.String, Schema.NullOr(Schema.Finite)),
        secret: Schema.Redacted(Schema.String)
      })
    ]
    for (const schema of schemas) assert.deepStrictEqual(unchecked(Arguments.jsonSchema(schema)), [])
  })
})

describe("OpenAPI", () => {
  it("3.0 has nullable, and boolean exclusive bounds", () => {
    const schema = {
      type: "object",
      properties: {
        price: { type: "number", minimum: 0, exclusiveMinimum: true },
        size: { type: "string", enum: ["s", "m"], nullable: true },
        at: { nullable: true, allOf: [{ $ref: "#/components/schemas/Place" }] }
      },
      components: {
        schemas: { Place: { type: "object", required: ["city"], properties: { city: { type: "string" } } } }
      }
    }
    assert.deepStrictEqual(unchecked(schema), [])
    assert.isTrue(fits({ price: 0.1, size: null, at: null }, schema))
    assert.strictEqual(explained({ price: 0 }, schema), "'price': expected number greater than 0, got 0.")
    const below = { type: "number", maximum: 5, exclusiveMaximum: true }
    assert.isTrue(fits(4.9, below))
    assert.strictEqual(explained(5, below), "the arguments: expected number less than 5, got 5.")
    assert.isTrue(fits(5, { ...below, exclusiveMaximum: false }))
    assert.strictEqual(explained({ size: "x" }, schema), "'size': expected \"s\" | \"m\" | null, got \"x\".")
    assert.include(explained({ at: {} }, schema), "'at.city'")
    assert.deepStrictEqual<unknown>(coerce({ size: "S" }, schema).value, { size: "s" })
  })

  it("3.1 is JSON Schema, and its extra keywords restrict nothing", () => {
    const schema = {
      oneOf: [
        { type: "object", properties: { kind: { const: "a" } }, required: ["kind"] },
        { type: "object", properties: { kind: { const: "b" } }, required: ["kind"] }
      ],
      discriminator: { propertyName: "kind" },
      "x-order": 1,
      example: { kind: "a" }
    }
    assert.deepStrictEqual(inspect(schema).unchecked.map(({ keyword }) => keyword), [])
    assert.isTrue(fits({ kind: "b" }, schema))
    assert.isFalse(fits({ kind: "c" }, schema))
  })
})

describe("Pydantic and MCP servers", () => {
  // As written by `model_json_schema()` of Pydantic 2, and sent by FastMCP.
  const schema = {
    $defs: {
      Color: { enum: ["red", "green"], title: "Color", type: "string" },
      Item: {
        properties: {
          sku: { maxLength: 8, pattern: "^[A-Z]{2}-\\d+$", title: "Sku", type: "string" },
          color: { anyOf: [{ $ref: "#/$defs/Color" }, { type: "null" }], default: null }
        },
        required: ["sku"],
        title: "Item",
        type: "object"
      }
    },
    properties: {
      items: { items: { $ref: "#/$defs/Item" }, minItems: 1, title: "Items", type: "array" },
      total: {
        anyOf: [{ exclusiveMinimum: 0, type: "number" }, {
          pattern: "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$",
          type: "string"
        }]
      },
      by: { additionalProperties: { type: "integer" }, title: "By", type: "object" }
    },
    required: ["items"],
    title: "orderArguments",
    type: "object"
  }

  it("are read completely", () => {
    assert.deepStrictEqual(unchecked(schema), [])
    assert.isTrue(fits({ items: [{ sku: "AB-1", color: null }], total: "1.5", by: { a: 1 } }, schema))
    assert.strictEqual(
      explained({ items: [{ sku: "ab-1" }] }, schema),
      "'items.0.sku': expected string of at most 8 characters, matching ^[A-Z]{2}-\\d+$, got \"ab-1\"."
    )
    const decoded = decode("{'items': '[{\"sku\": \"AB-1\", \"color\": \"Red\"}]'}", schema)
    assert.deepStrictEqual<unknown>(decoded.ok && decoded.value, { items: [{ sku: "AB-1", color: "red" }] })
  })

  it("may close an object across several schemas", () => {
    const closed = {
      allOf: [{ properties: { a: { type: "integer" } } }],
      properties: { b: { type: "string" } },
      dependentRequired: { b: ["a"] },
      if: { required: ["a"], properties: { a: { const: 1 } } },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { required: ["b"] },
      unevaluatedProperties: false
    }
    assert.deepStrictEqual(unchecked(closed), [])
    assert.isTrue(fits({ a: 2 }, closed))
    assert.include(explained({ a: 1 }, closed), "'b': expected string, got nothing.")
    assert.include(explained({ b: "x" }, closed), "'a': expected")
    assert.include(explained({ a: 2, c: 1 }, closed), "'c': no such key.")
  })
})

describe("an unusable schema", () => {
  const cases: ReadonlyArray<readonly [JsonSchema, path: string, why: string]> = [
    [
      { type: "int" },
      "type",
      "expected one of array, boolean, integer, null, number, object, string, or a list of these, got \"int\""
    ],
    [
      { properties: { a: { type: "string", required: true } } },
      "properties/a/required",
      "expected a list of keys, got true"
    ],
    [{ properties: { a: { minimum: "1" } } }, "properties/a/minimum", "expected a number, got \"1\""],
    [{ enum: "a" }, "enum", "expected a list, got \"a\""],
    [{ items: { $ref: "https://example.com/item.json" } }, "items/$ref", "it leads nowhere in this schema"],
    [{ $ref: "#/$defs/Missing" }, "$ref", "it leads nowhere in this schema"],
    [{ not: { pattern: "(a)\\1" } }, "not/pattern", "the pattern \"(a)\\\\1\""],
    [{ oneOf: [{ pattern: "(a)\\1" }] }, "oneOf/0/pattern", "the pattern \"(a)\\\\1\""],
    [{ if: { pattern: "(a)\\1" } }, "if/pattern", "the pattern \"(a)\\\\1\""],
    [
      { contains: { properties: { a: { pattern: "(a)\\1" } } } },
      "contains/properties/a/pattern",
      "the pattern \"(a)\\\\1\""
    ]
  ]

  it.each(cases)("%j", (schema, path, why) => {
    assert.deepStrictEqual(refusedFor(schema), [[path, why]])
    assert.throws(() => fits(1, schema), SchemaRefused, `The JSON Schema cannot be used: ${path}: ${why}.`)
    assert.throws(() => decode("{}", schema), SchemaRefused)
  })

  it("has its ignored parts reported", () => {
    assert.deepStrictEqual(
      inspect({
        properties: {
          a: { type: "string", pattern: "(a)\\1" },
          b: { type: "string", contentEncoding: "base64" },
          c: { $dynamicRef: "#c" },
          d: { type: "string", format: "email" }
        },
        patternProperties: { "(x)\\1": {} },
        additionalProperties: false,
        $schema: "https://example.com/my-dialect",
        strict: true
      }).unchecked.map(({ path, why }) => `${path.join("/")}: ${why}`),
      [
        "patternProperties: the pattern \"(x)\\\\1\"",
        "$schema: the dialect \"https://example.com/my-dialect\"",
        "strict: a keyword that is not known",
        "properties/a/pattern: the pattern \"(a)\\\\1\"",
        "properties/c/$dynamicRef: a keyword that is not known",
        "properties/d/format: the format \"email\""
      ]
    )
  })

  it("is never refused for an ignored part", () => {
    assert.isTrue(fits({ xx: 1 }, { patternProperties: { "(x)\\1": {} }, additionalProperties: false }))
    assert.isTrue(fits("ab", { pattern: "(a)\\1" }))
  })

  it("may refer to itself, share parts, or be huge", () => {
    const shared = { type: "string" }
    assert.deepStrictEqual(inspect({ properties: { a: shared, b: shared } }), { unchecked: [], refused: [] })
    assert.isTrue(fits({ a: { a: {} } }, { properties: { a: { $ref: "#" } }, additionalProperties: false }))
    assert.isFalse(fits(1, { $ref: "#" }))
    let deep: JsonSchema = { type: "integer" }
    for (let level = 0; level < 900; level++) deep = { items: deep }
    assert.deepStrictEqual(inspect(deep), { unchecked: [], refused: [] })
    assert.isTrue(decode("{\"a\":[[[1]]]}", { properties: { a: deep } }).ok)
    const knot: { [keyword: string]: unknown } = { type: "array" }
    knot["items"] = knot
    assert.isTrue(fits([[[]]], knot))
    assert.isFalse(fits([[1]], knot))
  })

  it("is checked against values of any depth", () => {
    let deep: Json = 1
    for (let level = 0; level < 50_000; level++) deep = [deep]
    for (const schema of [{}, { uniqueItems: true }, { enum: [[1]] }, { const: { a: 1 } }, { items: { $ref: "#" } }]) {
      assert.isFalse(fits(deep, schema))
      assert.isDefined(explain(deep, schema))
      assert.isFalse(coerce({ a: deep }, schema).fits)
    }
  })
})
