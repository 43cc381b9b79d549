/** Findings of an attacker: circular schemas, secrets in unusual places, texts with two readings, off-by-one sums. */
import { assert, describe, it } from "@effect/vitest"
import { decode, fit, inspect, type JsonSchema, message, read, SchemaRefused } from "@fallible/arguments"
import { explain, fits } from "@fallible/arguments/internal"

const outputOf = (value: unknown, schema: JsonSchema, secrets?: ReadonlyArray<ReadonlyArray<string>>) => {
  const result = fit(value, schema, secrets === undefined ? {} : { secrets })
  return JSON.stringify(
    result.ok ? [result.repairs, message(result.repairs)] : [result.refusal, message(result.refusal)]
  )
}

describe("a circular schema", () => {
  const nested = (depth: number, level: (inner: object) => object, inner: object): object =>
    depth === 0 ? inner : nested(depth - 1, level, level(inner))

  it("ends, and gives the same result by both walks", () => {
    const circles: ReadonlyArray<readonly [value: unknown, schema: JsonSchema]> = [
      [{ a: 1 }, {
        $defs: { x: { anyOf: [{ $ref: "#/$defs/x" }, { properties: { a: true } }] } },
        $ref: "#/$defs/x",
        unevaluatedProperties: false
      }],
      ["x", { title: "t", anyOf: [{ $ref: "#" }, { type: "integer", writeOnly: true }] }],
      [{ "": { "": { "": 1 } } }, {
        properties: {
          "": {
            allOf: [{ $ref: "#", properties: { "": { $ref: "#" } } }],
            patternProperties: { "^x": { writeOnly: true } }
          }
        },
        required: ["b"]
      }],
      ["x", { allOf: [{ $ref: "#" }, { $ref: "#" }, { $ref: "#" }] }],
      [{}, { contains: { $ref: "#c" }, $defs: { C: { $anchor: "c", anyOf: [{ $ref: "#/$defs/C", maximum: 1 }] } } }]
    ]
    for (const [value, schema] of circles) {
      assert.strictEqual(explain(value, schema) === undefined, fits(value, schema))
      assert.strictEqual(fit(value, schema).ok, fits(value, schema))
    }
  })

  it("costs no more than its parts, however often they are referenced", () => {
    const doubling = Object.fromEntries(
      Array.from({ length: 24 }, (_, index) => {
        const next = { $ref: `#/$defs/d${index + 1}` }
        return [`d${index}`, { allOf: [next, next, next] }]
      })
    )
    const $defs = { ...doubling, d24: { type: "object", properties: { a: { type: "integer" } } } }
    const schema = { $defs, $ref: "#/$defs/d0" }
    assert.isTrue(fits({ a: 1 }, schema))
    assert.isDefined(explain({ a: "x" }, schema))
    assert.isTrue(fits({ a: 1 }, { ...schema, unevaluatedProperties: false }))
    const twice = {
      type: "object",
      properties: {
        name: { type: "integer" },
        child: { allOf: [{ $ref: "#" }, { properties: { child: { $ref: "#" } } }] }
      }
    }
    assert.isDefined(explain(nested(24, (child) => ({ name: "x", child }), { name: "x" }), twice))
    assert.isUndefined(explain(nested(24, (child) => ({ name: 1, child }), { name: 1 }), twice))
  })

  it("does not refuse a valid value because it is large", () => {
    const consts = { items: { anyOf: Array.from({ length: 300 }, (_, index) => ({ const: `c${index}` })) } }
    assert.isTrue(fits(Array.from({ length: 3_000 }, () => "c299"), consts))
    assert.isTrue(
      fits(1, nested(40, (inner) => ({ anyOf: [inner, { type: "null" }] }), { type: "integer" }))
    )
  })
})

describe("secrets", () => {
  const secret = { type: "string", writeOnly: true }

  it("are found wherever a schema declares them", () => {
    const pass = { properties: { pass: secret } }
    const schemas: ReadonlyArray<JsonSchema> = [
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      { if: true, then: pass },
      { if: false, else: pass },
      { dependentSchemas: { pass } },
      { dependencies: { pass } },
      { not: { not: pass } },
      { allOf: [{ $ref: "#/$defs/a" }], $defs: { a: pass } },
      { unevaluatedProperties: secret }
    ]
    for (const schema of schemas) {
      assert.notInclude(outputOf({ pass: { x: "hunter2" } }, schema), "hunter2", JSON.stringify(schema))
      assert.notInclude(JSON.stringify(decode("{\"pass\":hunter2}", schema)), "hunter2", JSON.stringify(schema))
    }
    assert.notInclude(outputOf(["hunter2"], { unevaluatedItems: { type: "integer", writeOnly: true } }), "hunter2")
  })

  it("stay secret under another name too", () => {
    const schema = { properties: { apiKey: { type: "string" } }, additionalProperties: false }
    for (const value of [{ api_key: 12345 }, { apiKye: "12345" }, { arguments: { apiKey: "12345", x: 1 } }]) {
      assert.notInclude(outputOf(value, schema, [["apiKey"]]), "12345", JSON.stringify(value))
    }
  })
})

describe("a check", () => {
  it("is exact", () => {
    assert.isFalse(fits(9_007_199_254_740_991, { multipleOf: 2 }))
    assert.isFalse(fits(2 ** 50 + 1, { multipleOf: 2 }))
    assert.isTrue(fits(0.3, { multipleOf: 0.1 }))
    assert.deepStrictEqual([1, 2].map((value) => fits(value, { enum: [1, 2], const: 1 })), [true, false])
    assert.isFalse(fits([1, "x"], { items: [{ type: "integer" }], unevaluatedItems: false }))
    assert.isTrue(fits([1, "x"], { items: [{ type: "integer" }], additionalItems: true, unevaluatedItems: false }))
  })

  it("is refused where it has no meaning", () => {
    for (
      const [schema, why] of [
        [{ multipleOf: 0 }, "expected a number greater than 0, got 0"],
        [{ title: "x", $ref: "#/title" }, "it leads to what is not a schema"]
      ] as const
    ) assert.deepStrictEqual(inspect(schema).refused.map(({ why }) => why), [why])
    assert.throws(() => fits(1, JSON.parse("true")), SchemaRefused)
  })

  it("may have choices of any type", () => {
    let deep: unknown = 1
    for (let level = 0; level < 20_000; level++) deep = [deep]
    for (const choices of [[{ toString: 1 }], [deep], [{ constructor: { prototype: 1 } }]]) {
      assert.isFalse(fit(" ", { enum: choices }).ok)
    }
  })
})

describe("a text with two readings", () => {
  it.each([
    ["A", ["A+", "A-"]],
    ["C", ["C++", "C-"]],
    ["UTC 5", ["UTC-5", "UTC+5"]],
    ["A-", ["A", "B"]]
  ])("%s is not one of %j", (value, choices) => {
    assert.isFalse(fit(value, { enum: choices }).ok)
  })

  it.each(["None of these: {\"a\":1}", "null and void, so: {\"a\":1}"])(
    "%s begins like a text without arguments",
    (text) => {
      assert.isFalse(read(text, { prose: true }).ok)
    }
  )

  it.each([
    "{\"tags\": [ #a, #b\n]}",
    "{\"ids\": [1, #2, #3\n]}",
    "{\"color\": #fff\n \"x\"}",
    "{a:true # x, b: -3\n}",
    "{a:1, // b: 2\n}"
  ])("%j may have lost the content of its comment", (text) => {
    const result = read(text)
    assert.strictEqual(result.ok ? "read" : result.refusal.kind, "unclear_comment")
  })

  it.each(["6 // 2.5e3\n", "6 // 2_0\n", "6 // 0b11\n", "6 // ~2\n", "[7 //\n2]"])("%j may be a division", (value) => {
    const result = read(`{"x":${value}}`)
    assert.strictEqual(result.ok ? "read" : result.refusal.kind, "expression")
  })
})

describe("advice", () => {
  const advice = (value: unknown, schema: JsonSchema) => explain(value, schema)?.issues.map(({ advice }) => advice)

  it("never suggests a value that would be refused", () => {
    for (
      const [value, schema] of [
        ["9007199254740993", { type: "number" }],
        ["9,007,199,254,740,993", { type: "integer" }],
        ["5²", { type: "integer" }],
        ["5k", { type: "integer" }],
        ["3 million", { type: "number" }],
        [19.99, { type: "integer" }],
        ["$1.20", { type: "integer" }],
        ["redd", { enum: ["red", "blue"], not: { const: "red" } }],
        ["2024-01-02", { type: "string", format: "date-time", maxLength: 5 }],
        [true, { allOf: [{ type: "array" }, { type: "number" }] }]
      ] as const
    ) {
      assert.notMatch(String(advice(value, schema)), /^Write (?!it|the)|^Did|^Add/, JSON.stringify(value))
    }
    assert.deepStrictEqual(advice("５００", { type: "integer" }), ["Write 500, without quotes."])
  })
})
