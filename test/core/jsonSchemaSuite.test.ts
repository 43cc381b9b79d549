/**
 * Tools made from JSON Schemas: the JSON-Schema-Test-Suite (draft 2020-12) through real calls, then older dialects and
 * references one by one.
 *
 * The suite is not in this repository.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Json, JsonSchema } from "@fallible/arguments"
import { fits, valueRepairKinds } from "@fallible/arguments/internal"
import { Tool } from "@fallible/core"
import * as Arguments from "@fallible/core/Arguments"
import * as Parameters from "@fallible/core/Parameters"
import { type } from "arktype"
import { Effect, Schema } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { z } from "zod"
import { areThere, folder } from "../support/corpora.ts"
import { type Ending, endingOf, whyNotMade } from "../support/foreignTools.ts"

interface Row {
  readonly id: string
  readonly keyword: string
  readonly schema: JsonSchema | boolean
  readonly data: Json
  readonly valid: boolean
}

const rowsOfSuite = (): ReadonlyArray<Row> => JSON.parse(readFileSync(join(folder, "json_schema_2020_12.json"), "utf8"))

// A boolean schema stands in another one.
const schemaOf = ({ schema }: Row): JsonSchema => typeof schema === "boolean" ? { allOf: [schema] } : schema

const isOpen = { unknownKeys: "accept" } as const

const probe = (parameters: Parameters.Parameters<unknown>) =>
  Tool.make("probe", { description: "", parameters, success: Schema.Void, sideEffect: "none" }, () => Effect.void)

/** True for rows in which our rules are stricter than the suite. */
const isStricter = ({ data, schema }: Row): boolean =>
  typeof schema === "object" &&
  // An integer beyond the safe range may differ from the written one.
  (typeof data === "number" && Number.isInteger(data) && !Number.isSafeInteger(data) ||
    // In the suite, formats are only annotations.
    schema["format"] === "date" || schema["format"] === "date-time" ||
    // No text with this key is read, whatever the schema says.
    JSON.stringify(data).includes("\"__proto__\""))

/** The keywords of the suite that are not checked at all. */
const unheard = ["content", "dynamicRef", "format", "refRemote", "vocabulary"]

const isValueRepair = (kind: string): boolean => valueRepairKinds.some((other) => other === kind)

/** True if a call ends as its row demands. An invalid value may be repaired. */
const isRight = ({ isAccepted, params, repairs }: Ending, row: Row): boolean =>
  row.valid
    ? isAccepted && repairs.length === 0
    : !isAccepted || repairs.some(({ kind }) => isValueRepair(kind)) && fits(params, schemaOf(row))

describe.skipIf(!areThere)("the JSON-Schema-Test-Suite through calls", () => {
  const all = areThere ? rowsOfSuite() : []

  it.effect.each([...new Set(all.map(({ keyword }) => keyword))])("%s", (keyword) =>
    Effect.gen(function*() {
      const of = all.filter((row) => row.keyword === keyword)
      let held = 0
      for (const row of of) {
        const make = () => Parameters.inField("value", Parameters.fromJsonSchema(schemaOf(row), isOpen))
        const why = whyNotMade(() => probe(make()))
        if (why !== undefined) {
          assert.strictEqual(why.name, "SchemaRefused", row.id)
          assert.match(why.message, /^The JSON Schema cannot be used: (?:[^ ]+: )?\S/, row.id)
          continue
        }
        held++
        const parameters = make()
        const shown = Arguments.jsonSchema(parameters)
        const ending = yield* endingOf(parameters, JSON.stringify({ value: row.data }))
        // What the model is shown is what its arguments are judged by.
        if (ending.repairs.length === 0 && !isStricter(row)) {
          assert.strictEqual(fits({ value: row.data }, shown), ending.isAccepted, row.id)
        }
        if (!isStricter(row)) {
          assert.isTrue(isRight(ending, row), `${row.id}: ${JSON.stringify(row)}, ${JSON.stringify(ending)}`)
        }
        if (ending.isAccepted && ending.repairs.length === 0) assert.deepEqual(ending.params, row.data, row.id)
      }
      // A few of the remaining rows depend on remote schemas or on unsupported keywords.
      if (!unheard.includes(keyword)) assert.isAtLeast(held / of.length, keyword === "defs" ? 0 : 0.9)
    }))

  it("refuses few schemas, and only for what nobody could check", () => {
    const reasons = all.flatMap((row) =>
      whyNotMade(() => Parameters.fromJsonSchema(schemaOf(row), isOpen))?.message ?? []
    )
    for (const reason of reasons) {
      assert.match(reason, /\$ref: it leads nowhere|\$dynamicRef: a keyword|\$schema: the dialect/)
    }
    assert.isAtLeast(all.length - reasons.length, 1_200)
  })
})

interface Sample {
  readonly schema: JsonSchema
  readonly fit: ReadonlyArray<Json>
  readonly unfit: ReadonlyArray<Json>
}

const text = { type: "string" }
const count = { type: "integer" }

const tree = {
  type: "object",
  properties: { name: text, kids: { type: "array", items: { $ref: "#" } } },
  required: ["name"]
}

// No reading turns an unfit value of these into a fit one.
const samples: Readonly<Record<string, Sample>> = {
  "the definitions of draft 7": {
    schema: {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: {
        to: { $ref: "#/definitions/Place" },
        via: { type: "array", items: { $ref: "#/definitions/Place" } }
      },
      definitions: { Place: { type: "object", properties: { city: text }, required: ["city"] } }
    },
    fit: [{ to: { city: "Rome" } }, { via: [{ city: "Rome" }, { city: "Pisa" }] }],
    unfit: [{ to: {} }, { via: [{ city: "Rome" }, { city: {} }] }]
  },
  "the dependencies of draft 7": {
    schema: {
      type: "object",
      properties: { card: text, code: text, gift: { type: "boolean" } },
      dependencies: { card: ["code"], gift: { properties: { code: { maxLength: 2 } } } }
    },
    fit: [{ card: "1", code: "2" }, { code: "222" }, { gift: true, code: "22" }],
    unfit: [{ card: "1" }, { gift: true, code: "222" }]
  },
  "the tuples of draft 7": {
    schema: {
      type: "object",
      properties: { at: { type: "array", items: [{ type: "number" }, { type: "number" }], additionalItems: false } }
    },
    fit: [{ at: [1, 2] }],
    unfit: [{ at: [1, 2, 3] }, { at: [1, [2]] }]
  },
  "the nullable of OpenAPI 3.0": {
    schema: { type: "object", properties: { city: { type: "string", nullable: true } }, required: ["city"] },
    fit: [{ city: null }, { city: "Rome" }],
    unfit: [{ city: {} }, {}]
  },
  "the exclusive bounds of draft 4": {
    schema: {
      type: "object",
      properties: { share: { type: "number", minimum: 0, exclusiveMinimum: true, maximum: 1, exclusiveMaximum: false } }
    },
    fit: [{ share: 0.1 }, { share: 1 }],
    unfit: [{ share: 0 }, { share: 1.1 }]
  },
  "the components of OpenAPI": {
    schema: {
      type: "object",
      properties: { pet: { $ref: "#/components/schemas/Pet" } },
      components: { schemas: { Pet: { type: "object", properties: { id: count }, required: ["id"] } } }
    },
    fit: [{ pet: { id: 1 } }],
    unfit: [{ pet: {} }]
  },
  "a reference at the root": {
    schema: {
      $ref: "#/$defs/Trip",
      $defs: { Trip: { type: "object", properties: { days: count }, required: ["days"] } }
    },
    fit: [{ days: 1 }],
    unfit: [{}, { days: 1.5 }]
  },
  "a chain of references at the root": {
    schema: {
      $ref: "#/definitions/A",
      description: "what the root says",
      definitions: { A: { $ref: "#/definitions/B" }, B: { type: "object", properties: { days: count } } }
    },
    fit: [{ days: 1 }, {}],
    unfit: [{ days: 1.5 }]
  },
  "a reference at the root to what refers to itself": {
    schema: {
      $ref: "#/$defs/Node",
      $defs: { Node: { type: "object", properties: { id: count, next: { $ref: "#/$defs/Node" } }, required: ["id"] } }
    },
    fit: [{ id: 1, next: { id: 2, next: { id: 3 } } }],
    unfit: [{ id: 1, next: { id: 2, next: {} } }]
  },
  "recursion through the root": {
    schema: tree,
    fit: [{ name: "a", kids: [{ name: "b", kids: [{ name: "c" }] }] }],
    unfit: [{ name: "a", kids: [{ name: "b", kids: [{ kids: [] }] }] }]
  },
  "recursion through a definition that leads to the root": {
    schema: {
      type: "object",
      properties: { name: text, kids: { $ref: "#/$defs/Kids" } },
      required: ["name"],
      $defs: { Kids: { type: "array", items: { $ref: "#" } } }
    },
    fit: [{ name: "a", kids: [{ name: "b", kids: [] }] }],
    unfit: [{ name: "a", kids: [{ kids: [] }] }]
  },
  "an address": {
    schema: {
      $id: "https://example.com/trip.json",
      type: "object",
      properties: { to: { $ref: "place.json" }, from: { $ref: "#/$defs/Place" }, back: { $ref: "trip.json" } },
      $defs: { Place: { $id: "place.json", type: "object", properties: { city: text }, required: ["city"] } }
    },
    fit: [{ to: { city: "Rome" }, from: { city: "Pisa" }, back: { to: { city: "Lucca" } } }],
    unfit: [{ to: {} }, { from: {} }, { back: { to: {} } }]
  },
  "an address of a part": {
    schema: {
      type: "object",
      properties: { pet: { $ref: "https://example.com/pet" }, name: { type: "string", maxLength: 2 } },
      $defs: {
        pet: {
          $id: "https://example.com/pet",
          type: "object",
          properties: { name: text, first: { $ref: "#/properties/name" } }
        }
      }
    },
    fit: [{ pet: { name: "long", first: "long" }, name: "ab" }],
    unfit: [{ pet: { first: {} } }, { name: "abc" }]
  },
  "an anchor": {
    schema: {
      type: "object",
      properties: {
        home: { $anchor: "place", type: "object", properties: { city: text }, required: ["city"] },
        work: { $ref: "#place" }
      }
    },
    fit: [{ work: { city: "Rome" } }],
    unfit: [{ work: {} }, { home: {} }]
  },
  "a reference to a property": {
    schema: { type: "object", properties: { x: count, y: { $ref: "#/properties/x" } } },
    fit: [{ x: 1, y: 2 }],
    unfit: [{ y: 1.5 }]
  },
  "a reference from a definition to a property": {
    schema: {
      type: "object",
      properties: { x: count, list: { $ref: "#/$defs/List" } },
      $defs: { List: { type: "array", items: { $ref: "#/properties/x" } } }
    },
    fit: [{ list: [1] }],
    unfit: [{ list: [1.5] }]
  },
  "a reference to a definition with an escaped name": {
    schema: {
      type: "object",
      properties: { x: { $ref: "#/$defs/a~1b~0c" }, y: { $ref: "#/$defs/%C3%A4%20b" }, z: { $ref: "#/%24defs/plain" } },
      $defs: { "a/b~c": count, "ä b": count, plain: count }
    },
    fit: [{ x: 1, y: 2, z: 3 }],
    unfit: [{ x: 1.5 }, { y: 1.5 }, { z: 1.5 }]
  }
}

const fields = ["request", "a/b~c", "ä b", "$defs", "properties", "%41", "__proto"]

describe("a tool from a JSON Schema", () => {
  it.effect.each(Object.entries(samples))("reads %s", ([, { fit, schema, unfit }]) =>
    Effect.gen(function*() {
      const parameters = Parameters.fromJsonSchema(schema)
      const shown = Arguments.jsonSchema(parameters)
      assert.strictEqual(shown["type"], "object")
      assert.notProperty(shown, "$ref")
      for (const value of fit) {
        const ending = yield* endingOf(parameters, JSON.stringify(value))
        assert.deepStrictEqual([ending.detail, ending.params, ending.repairs], ["", value, []])
      }
      for (const value of unfit) assert.isFalse((yield* endingOf(parameters, JSON.stringify(value))).isAccepted)
      for (const field of fields) {
        const inner = Parameters.inField(field, parameters)
        for (const value of fit) {
          const ending = yield* endingOf(inner, JSON.stringify({ [field]: value }))
          assert.deepStrictEqual([ending.detail, ending.params, ending.repairs], ["", value, []], field)
        }
        for (const value of unfit) {
          const { detail, isAccepted } = yield* endingOf(inner, JSON.stringify({ [field]: value }))
          assert.isFalse(isAccepted, field)
          assert.include(detail, field)
        }
      }
    }))

  it("closes each object that declares its keys, and leaves the rest as it is", () => {
    for (const { schema } of Object.values(samples)) {
      const shown = JSON.stringify(Arguments.jsonSchema(Parameters.fromJsonSchema(schema)))
      const open = JSON.stringify(Arguments.jsonSchema(Parameters.fromJsonSchema(schema, isOpen)))
      assert.notInclude(open, "additionalProperties")
      assert.strictEqual(shown.replaceAll(",\"additionalProperties\":false", ""), open)
    }
    assert.deepStrictEqual(Arguments.jsonSchema(Parameters.fromJsonSchema(tree)), {
      ...tree,
      additionalProperties: false
    })
    assert.deepStrictEqual(Arguments.jsonSchema(Parameters.fromJsonSchema(tree, isOpen)), tree)
  })

  it("moves references in a field to the same places", () => {
    assert.deepStrictEqual(Arguments.jsonSchema(Parameters.inField("a/b~c ä", Parameters.fromJsonSchema(tree))), {
      type: "object",
      properties: {
        "a/b~c ä": {
          ...tree,
          properties: {
            ...tree.properties,
            kids: { type: "array", items: { $ref: "#/properties/a~1b~0c%20%C3%A4" } }
          },
          additionalProperties: false
        }
      },
      required: ["a/b~c ä"],
      additionalProperties: false
    })
  })

  it("may stand in a field of what stands in a field", () =>
    Effect.runPromise(Effect.gen(function*() {
      const inner = Parameters.inField("outer", Parameters.inField("inner", Parameters.fromJsonSchema(tree)))
      const value = { name: "a", kids: [{ name: "b" }] }
      const { params } = yield* endingOf(inner, JSON.stringify({ outer: { inner: value } }))
      assert.deepStrictEqual(params, value)
      const refused = yield* endingOf(inner, JSON.stringify({ outer: { inner: { name: "a", kids: [{}] } } }))
      assert.match(refused.detail, /^'outer\.inner\.kids\.0\.name'/)
    })))

  it("is refused when it is made, with the path and what to do", () => {
    const why = (properties: object, more: object = {}) =>
      whyNotMade(() => Parameters.fromJsonSchema({ type: "object", properties, ...more }))?.message
        .replace("The JSON Schema cannot be used: ", "").replace(advice, " ADVICE")
    const advice = " cannot be checked. If that is meant, pass { uncheckedRules: \"accept\" }."
    assert.deepStrictEqual([
      why({ a: { type: "int" } }),
      why({ a: { items: { $ref: "#/$defs/none" } } }),
      why({ a: { minLenght: 3 } }),
      why({ a: { $dynamicRef: "#a" } }),
      why({ a: { pattern: "(a)\\1" } }),
      why({}, { $schema: "https://example.com/mine" })
    ], [
      "properties/a/type: expected one of array, boolean, integer, null, number, object, string, or a list of these, got \"int\".",
      "properties/a/items/$ref: it leads nowhere in this schema.",
      "properties/a/minLenght: a keyword that is not known ADVICE",
      "properties/a/$dynamicRef: a keyword that is not known ADVICE",
      "properties/a/pattern: the pattern \"(a)\\\\1\" ADVICE",
      "$schema: the dialect \"https://example.com/mine\" ADVICE"
    ])
  })

  it("accepts what cannot be checked if its author says so, and all formats", () => {
    const unchecked = { uncheckedRules: "accept" } as const
    for (const rule of [{ minLenght: 3 }, { $dynamicRef: "#a" }, { pattern: "(a)\\1" }, { $ref: "#/$defs/none" }]) {
      const schema = { type: "object", properties: { a: rule } }
      const isBroken = "$ref" in rule
      assert.strictEqual(whyNotMade(() => Parameters.fromJsonSchema(schema, unchecked)) !== undefined, isBroken)
    }
    assert.isUndefined(
      whyNotMade(() => Parameters.fromJsonSchema({ type: "object", properties: { a: { format: "email" } } }))
    )
  })

  it("is not made of a schema of a library, which says so, but of what a library has written", () => {
    const why = (schema: object) => String(whyNotMade(() => Parameters.fromJsonSchema(schema))?.message)
    for (
      const [library, schema] of Object.entries({ zod: z.object({}), arktype: type({}), effect: Schema.Struct({}) })
    ) {
      assert.strictEqual(
        why(schema),
        `Parameters.fromJsonSchema needs a JSON Schema; got a schema of ${library}. Pass it to the tool as it is.`
      )
    }
    assert.strictEqual(why(z.toJSONSchema(z.object({ a: z.string() }))), "undefined")
    // What a program without types may pass.
    for (const value of JSON.parse("[null, 5, \"x\", [], true]")) {
      assert.match(why(value), /^The JSON Schema cannot be used: expected an object, got /)
    }
    assert.match(why({ inputSchema: { type: "object" } }), /it has the schema in 'inputSchema': pass that/)
  })

  it("stays as it was when it was made", () => {
    const schema = { type: "object", properties: { a: { type: "string" } } }
    const parameters = Parameters.fromJsonSchema(schema)
    schema.properties.a.type = "integer"
    assert.deepInclude(Arguments.jsonSchema(parameters), { properties: { a: { type: "string" } } })
  })
})
