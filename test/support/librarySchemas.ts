/**
 * Schemas of Zod, Valibot and ArkType, each with inputs that it accepts and refuses. The inputs are as exact as the
 * schemas, so that no reading turns an invalid one into a valid one.
 */
import type { StandardSchema } from "@fallible/arguments"
import { toStandardJsonSchema } from "@valibot/to-json-schema"
import { scope, type } from "arktype"
import type { Schema } from "effect"
import * as v from "valibot"
import { z } from "zod"

export interface LibrarySchema {
  readonly schema: StandardSchema
  readonly valid: ReadonlyArray<Schema.Json>
  readonly invalid: ReadonlyArray<Schema.Json>
  /** Why no tool can be made with it, in the words of the error; absent if one can. */
  readonly refused?: RegExp
}

const sample = (
  schema: StandardSchema,
  valid: LibrarySchema["valid"] = [],
  invalid: LibrarySchema["invalid"] = [],
  refused?: RegExp
): LibrarySchema => ({ schema, valid, invalid, ...(refused === undefined ? {} : { refused }) })

const refused = (schema: StandardSchema, why: RegExp) => sample(schema, [], [], why)

/** Returns samples whose schema stands in a field `v`. */
const inFields = (
  wrap: (schema: never) => StandardSchema,
  rows: Readonly<
    Record<
      string,
      readonly [schema: unknown, valid?: LibrarySchema["valid"], invalid?: LibrarySchema["invalid"], why?: RegExp]
    >
  >
): Readonly<Record<string, LibrarySchema>> =>
  Object.fromEntries(
    Object.entries(rows).map(([name, [schema, valid = [], invalid = [], why]]) => [
      name,
      sample(wrap(asOwn(schema)), valid.map((value) => ({ v: value })), invalid.map((value) => ({ v: value })), why)
    ])
  )

// The schemas of one table are all of the library that its `wrap` belongs to.
const asOwn = (schema: unknown) => schema as never

const Color = { Red: "red", Blue: "blue" } as const

// -----------------------------------------------------------------------------
// Zod
// -----------------------------------------------------------------------------

const Category = z.object({
  name: z.string(),
  get children() {
    return z.array(Category)
  }
})

interface Comment {
  readonly text: string
  readonly replies?: ReadonlyArray<Comment> | undefined
}
const Comment: z.ZodType<Comment, Comment> = z.lazy(() =>
  z.object({ text: z.string(), replies: z.array(Comment).optional() })
)

const registry = z.globalRegistry
const Place = z.object({ city: z.string() })
registry.add(Place, { id: "TestPlace", title: "A place" })

const isoToDate = z.codec(z.iso.datetime(), z.date(), {
  decode: (text) => new Date(text),
  encode: (date) => date.toISOString()
})

const inZodField = (schema: never): StandardSchema => z.object({ v: schema })

const cat = z.object({ kind: z.literal("cat"), lives: z.int() })
const dog = z.object({ kind: z.literal("dog"), tricks: z.array(z.string()) })

export const zodSchemas: Readonly<Record<string, LibrarySchema>> = {
  ...inFields(inZodField, {
    "a string": [z.string(), ["a", ""], [{}]],
    "bounds of a string": [z.string().min(2).max(3), ["ab"], ["a", "abcd"]],
    "a pattern": [z.string().regex(/^[a-z]+$/), ["abc"], ["ABC"]],
    "a pattern that ignores case": [z.string().regex(/^[a-z]+$/i), ["ABC"], ["1-2"]],
    "trimmed and in lower case": [z.string().trim().toLowerCase(), [" A "], [{}]],
    "trimmed before its length counts": [z.string().trim().max(3), ["  abc  "], ["abcd"]],
    "an email": [z.email(), ["a@example.org"], ["a"]],
    "a URL": [z.url(), ["https://example.org/a"], ["a"]],
    "a UUID": [z.uuid(), ["123e4567-e89b-12d3-a456-426614174000"], ["a"]],
    "an ISO date": [z.iso.date(), ["2024-02-29"], ["2023-02-29", "soon"]],
    "an ISO time stamp": [z.iso.datetime(), ["2024-01-01T10:00:00Z"], ["soon"]],
    "a local ISO time stamp": [z.iso.datetime({ local: true, offset: true }), [
      "2024-01-01T10:00:00+02:00",
      "2024-01-01T10:00:00"
    ], ["soon"]],
    "a time": [z.iso.time(), ["10:00:00"], ["noon"]],
    "base64, IPv4, CUID and JWT": [
      z.union([z.base64(), z.ipv4(), z.cuid2(), z.jwt()]),
      ["aGk=", "127.0.0.1"],
      ["!"]
    ],
    "an integer": [z.int(), [3], [1.5]],
    "bounds of a number": [z.number().min(1).lt(5).multipleOf(0.5), [1, 4.5], [5, 0, 1.2]],
    "a finite number": [z.number(), [1e300], [{}]],
    "a boolean": [z.boolean(), [true], [{}]],
    "null": [z.null(), [null], ["a"]],
    "anything": [z.any(), [{ a: [1] }, null], []],
    "unknown": [z.unknown(), [{ a: [1] }, null], []],
    "never": [z.never(), [], [1]],
    "a literal": [z.literal("a"), ["a"], ["b"]],
    "several literals": [z.literal(["a", 1, null]), ["a", 1, null], ["b", 2]],
    "an enum": [z.enum(["red", "blue"]), ["red"], ["green"]],
    "a native enum": [z.enum(Color), ["blue"], ["green"]],
    "an optional string": [z.string().optional(), ["a"], [{}]],
    "a nullable string": [z.string().nullable(), ["a", null], [{}]],
    "a nullish string": [z.string().nullish(), ["a", null], [{}]],
    "a default": [z.number().default(3), [4], [{}]],
    "a default that is made for each call": [z.array(z.string()).default(() => []), [["a"]], [[{}]]],
    "a prefault": [z.string().trim().prefault(" a "), [" b "], [{}]],
    "a catch": [z.number().catch(7), [1], []],
    "a list": [z.array(z.int()).min(1).max(3), [[1, 2]], [[], [1, 2, 3, 4], [1.5]]],
    "a tuple": [z.tuple([z.string(), z.int()]), [["a", 1]], [["a"], ["a", 1, 2]]],
    "a tuple with a rest": [z.tuple([z.string()], z.int()), [["a"], ["a", 1, 2]], [["a", {}]]],
    "a record": [z.record(z.string(), z.int()), [{ a: 1 }, {}], [{ a: 1.5 }]],
    "a record with keys of an enum": [z.record(z.enum(["a", "b"]), z.int()), [{ a: 1, b: 2 }], [{ a: 1 }]],
    "a partial record": [z.partialRecord(z.enum(["a", "b"]), z.int()), [{ a: 1 }], [{ a: 1.5 }]],
    "a record with keys of a pattern": [
      z.record(z.string().regex(/^x-/), z.int()),
      [{ "x-a": 1 }],
      [{ "x-a": 1.5 }, { b: 1 }]
    ],
    "a nested object": [z.object({ a: z.object({ b: z.string().optional() }) }), [{ a: {} }, { a: { b: "c" } }], [{
      a: { b: {} }
    }, {}]],
    "a strict object": [z.strictObject({ a: z.string() }), [{ a: "b" }], [{ a: "b", extra: 1 }]],
    "a loose object": [z.looseObject({ a: z.string() }), [{ a: "b", extra: 1 }], [{ extra: 1 }]],
    "an object with a catch-all": [z.object({ a: z.string() }).catchall(z.int()), [{ a: "b", n: 1 }], [{
      a: "b",
      n: {}
    }]],
    "a partial object": [z.object({ a: z.string(), b: z.int() }).partial(), [{}, { a: "b" }], [{ b: 1.5 }]],
    "an extended object": [z.object({ a: z.string() }).extend({ b: z.int() }), [{ a: "c", b: 1 }], [{ a: "c" }]],
    "an empty object": [z.object({}), [{}], [1]],
    "a union": [z.union([z.string(), z.int()]), ["a", 1], [1.5, null]],
    "a union of objects": [z.union([z.object({ a: z.string() }), z.object({ b: z.int() })]), [{ a: "c" }, { b: 1 }], [{
      c: 1
    }]],
    "a discriminated union": [z.discriminatedUnion("kind", [cat, dog]), [{ kind: "cat", lives: 9 }, {
      kind: "dog",
      tricks: []
    }], [{ kind: "cow" }, { kind: "cat" }]],
    "an exclusive union": [z.xor([z.string(), z.int()]), ["a", 1], [1.5]],
    "an intersection": [z.intersection(z.object({ a: z.string() }), z.object({ b: z.int() })), [{ a: "c", b: 1 }], [{
      a: "c"
    }]],
    "a brand": [z.string().brand<"Id">(), ["a"], [{}]],
    "readonly": [z.array(z.string()).readonly(), [["a"]], [[{}]]],
    "a transform": [z.string().transform((text) => text.length), ["abc"], [{}]],
    "a transform of a valid value": [z.string().min(2).transform((text) => ({ text })), ["abc"], ["a"]],
    "a refinement": [z.string().refine((text) => text !== "no", "must not be no"), ["yes"], ["no"]],
    "a refinement of several fields": [
      z.object({ from: z.int(), to: z.int() }).refine(({ from, to }) => from < to, {
        path: ["to"],
        error: "too early"
      }),
      [{ from: 1, to: 2 }],
      [{ from: 2, to: 1 }]
    ],
    "an asynchronous refinement": [z.string().refine(async (text) => text !== "no"), ["yes"], ["no"]],
    "a superRefine": [
      z.string().superRefine((text, context) => {
        if (text === "no") context.addIssue({ code: "custom", message: "not no" })
      }),
      ["yes"],
      ["no"]
    ],
    "an overwrite": [z.number().overwrite((value) => Math.round(value)), [1.6], [{}]],
    "a pipe": [z.string().transform((text) => text.length).pipe(z.int().min(2)), ["abc"], ["a"]],
    "a pipe of strings": [z.string().pipe(z.email()), ["a@example.org"], ["a"]],
    "a codec": [isoToDate, ["2024-01-01T10:00:00.000Z"], ["soon"]],
    "a boolean in a text": [z.stringbool(), ["yes", "off"], ["perhaps"]],
    "a template literal": [z.templateLiteral(["id-", z.int()]), ["id-7"], ["id-x"]],
    "a string of JSON": [z.json(), [{ a: [1, null] }], []],
    "a recursive object": [Category, [{ name: "a", children: [{ name: "b", children: [] }] }], [{
      name: "a",
      children: [{ name: "b" }]
    }]],
    "a lazy object": [Comment, [{ text: "a", replies: [{ text: "b" }] }], [{ text: "a", replies: [{}] }]],
    "a definition by the id of the registry": [z.object({ from: Place, to: Place }), [{
      from: { city: "Rome" },
      to: { city: "Pisa" }
    }], [{ from: { city: "Rome" }, to: {} }]],
    "a description, examples and a title": [
      z.string().meta({ description: "A city", examples: ["Rome"], title: "City", deprecated: true }),
      ["Rome"],
      [{}]
    ],
    "a secret": [z.string().min(3).meta({ writeOnly: true }), ["hunter2"], ["ab"]],
    "a keyword of OpenAPI": [z.string().meta({ "x-order": 1, example: "Rome" }), ["Rome"], [{}]],
    "a keyword that JSON Schema does not know": [z.string().meta({ placeholder: "Rome" }), ["Rome"], [{}]],
    "coerced from anything": [z.coerce.number(), [4], []],
    "a preprocessed value": [z.preprocess((value) => value ?? "none", z.string()), ["a"], [{ a: 1 }]],
    "a file": [z.file(), [], ["a"]],
    "a Date": [
      z.date(),
      [],
      [],
      /^The parameters of 'probe' cannot be used: zod cannot write it as a JSON Schema: Date/
    ],
    "a coerced Date": [z.coerce.date(), [], [], /cannot be used: zod cannot write it/],
    "a bigint": [z.bigint(), [], [], /cannot be used: zod cannot write it/],
    "a Map": [z.map(z.string(), z.int()), [], [], /cannot be used: zod cannot write it/],
    "a Set": [z.set(z.string()), [], [], /cannot be used: zod cannot write it/],
    "a symbol": [z.symbol(), [], [], /cannot be used: zod cannot write it/],
    "undefined": [z.undefined(), [], [], /cannot be used: zod cannot write it/],
    "an instance of a class": [z.instanceof(URL), [], [], /cannot be used: zod cannot write it/],
    "a custom value": [
      z.custom<string>((value) => typeof value === "string"),
      [],
      [],
      /cannot be used: zod cannot write it/
    ]
  }),
  "a record as a whole": sample(z.record(z.string(), z.int()), [{ a: 1 }], [{ a: 1.5 }]),
  "a strict object as a whole": sample(z.strictObject({ a: z.string() }), [{ a: "b" }], [{}, { a: "b", c: 1 }]),
  "a loose object as a whole": sample(z.looseObject({ a: z.string() }), [{ a: "b", c: 1 }], [{}]),
  "an empty object as a whole": sample(z.object({}), [{}], [{ a: 1 }]),
  "a recursive object as a whole": sample(Category, [{ name: "a", children: [] }], [{ name: "a", children: [{}] }]),
  "a lazy object as a whole": sample(Comment, [{ text: "a", replies: [{ text: "b" }] }], [{ replies: [] }]),
  "a registered object as a whole": sample(Place, [{ city: "Rome" }], [{}]),
  "a branded object as a whole": sample(z.object({ a: z.string() }).brand<"A">(), [{ a: "b" }], [{}]),
  "a transformed object as a whole": sample(
    z.object({ a: z.string() }).transform(({ a }) => [a]),
    [{ a: "b" }],
    [{}]
  ),
  "a refined object as a whole": sample(
    z.object({ a: z.string(), b: z.string() }).refine(({ a, b }) => a === b, "a must equal b"),
    [{ a: "c", b: "c" }],
    [{ a: "c", b: "d" }]
  ),
  "a preprocessed object as a whole": sample(
    z.preprocess((value) => value, z.object({ a: z.string() })),
    [{ a: "b" }],
    [{}]
  ),
  "a readonly object with a default as a whole": sample(
    z.object({ a: z.string() }).readonly().default({ a: "b" }),
    [{ a: "c" }],
    [{}]
  ),
  "a union as a whole": refused(z.union([cat, dog]), /are a union, which model providers refuse.*Parameters\.inField/),
  "a discriminated union as a whole": refused(z.discriminatedUnion("kind", [cat, dog]), /are a union/),
  "an intersection as a whole": sample(
    z.intersection(cat, z.object({ b: z.int() })),
    [{ kind: "cat", lives: 9, b: 1 }],
    [{ kind: "cat", lives: 9 }]
  ),
  "an intersection with a union as a whole": refused(
    z.intersection(z.object({ a: z.string() }), z.union([cat, dog])),
    /are a union/
  ),
  "a string as a whole": refused(z.string(), /have the type "string"; a model can only send an object.*inField/),
  "a list as a whole": refused(z.array(z.string()), /have the type "array"; a model can only send an object/),
  "a nullable object as a whole": refused(z.object({ a: z.string() }).nullable(), /are a union/)
}

// -----------------------------------------------------------------------------
// Valibot
// -----------------------------------------------------------------------------

const standard = (schema: v.GenericSchema): StandardSchema => toStandardJsonSchema(schema)
const inValibotField = (schema: never): StandardSchema => toStandardJsonSchema(v.object({ v: schema }))

interface Folder {
  readonly name: string
  readonly folders: ReadonlyArray<Folder>
}
const Folder: v.GenericSchema<Folder> = v.object({ name: v.string(), folders: v.array(v.lazy(() => Folder)) })

const cannot = /cannot be used: valibot cannot write it as a JSON Schema: /

export const valibotSchemas: Readonly<Record<string, LibrarySchema>> = {
  ...inFields(inValibotField, {
    "a string": [v.string(), ["a"], [{}]],
    "bounds of a string": [v.pipe(v.string(), v.minLength(2), v.maxLength(3)), ["ab"], ["a", "abcd"]],
    "a pattern": [v.pipe(v.string(), v.regex(/^[a-z]+$/)), ["abc"], ["ABC"]],
    "an email": [v.pipe(v.string(), v.email()), ["a@example.org"], ["a"]],
    "an ISO date": [v.pipe(v.string(), v.isoDate()), ["2024-02-29"], ["soon"]],
    "an ISO time stamp": [v.pipe(v.string(), v.isoTimestamp()), ["2024-01-01T10:00:00Z"], ["soon"]],
    "a UUID": [v.pipe(v.string(), v.uuid()), ["123e4567-e89b-12d3-a456-426614174000"], ["a"]],
    "an integer": [v.pipe(v.number(), v.integer(), v.minValue(1)), [3], [1.5, 0]],
    "multiples": [v.pipe(v.number(), v.multipleOf(5)), [10], [7]],
    "a boolean": [v.boolean(), [true], [{}]],
    "null": [v.null(), [null], [1]],
    "a literal": [v.literal("a"), ["a"], ["b"]],
    "a picklist": [v.picklist(["a", "b"]), ["a"], ["c"]],
    "an enum": [v.enum(Color), ["red"], ["green"]],
    "optional with a default": [v.optional(v.number(), 4), [5], [{}]],
    "optional": [v.optional(v.string()), ["a"], [{}]],
    "nullable": [v.nullable(v.string()), ["a", null], [{}]],
    "nullish": [v.nullish(v.string()), ["a", null], [{}]],
    "an array": [v.pipe(v.array(v.string()), v.minLength(1)), [["a"]], [[], [{}]]],
    "a tuple": [v.strictTuple([v.string(), v.number()]), [["a", 1]], [["a"], ["a", 1, 2]]],
    "a loose tuple": [v.looseTuple([v.string()]), [["a", 1]], [[{}]]],
    "a tuple with a rest": [v.tupleWithRest([v.string()], v.number()), [["a", 1, 2]], [["a", {}]]],
    "an object": [v.object({ a: v.string(), b: v.optional(v.number()) }), [{ a: "c" }], [{}, { a: "c", b: {} }]],
    "a strict object": [v.strictObject({ a: v.string() }), [{ a: "b" }], [{ a: "b", c: 1 }]],
    // Valibot writes it like any object, so it is closed like any.
    "a loose object": [v.looseObject({ a: v.string() }), [{ a: "b" }], [{ c: 1 }, { a: "b", c: 1 }]],
    "an object with any rest": [v.objectWithRest({ a: v.string() }, v.unknown()), [{ a: "b", c: 1 }], [{ c: 1 }]],
    "an object with a rest": [v.objectWithRest({ a: v.string() }, v.number()), [{ a: "b", c: 1 }], [{ a: "b", c: {} }]],
    "a record": [v.record(v.string(), v.number()), [{ a: 1 }], [{ a: {} }]],
    "a union": [v.union([v.string(), v.number()]), ["a", 1], [null, [1, 2]]],
    "a variant": [
      v.variant("kind", [
        v.object({ kind: v.literal("a"), n: v.number() }),
        v.object({ kind: v.literal("b"), s: v.string() })
      ]),
      [{ kind: "a", n: 1 }, { kind: "b", s: "c" }],
      [{ kind: "c" }, { kind: "a" }]
    ],
    "an intersection": [v.intersect([v.object({ a: v.string() }), v.object({ b: v.number() })]), [{ a: "c", b: 1 }], [{
      a: "c"
    }]],
    "a description": [v.pipe(v.string(), v.title("City"), v.description("A city"), v.examples(["Rome"])), ["Rome"], [
      {}
    ]],
    "metadata": [v.pipe(v.string(), v.metadata({ order: 1 })), ["Rome"], [{}]],
    "a brand": [v.pipe(v.string(), v.brand("Id")), ["a"], []],
    "readonly": [v.pipe(v.array(v.string()), v.readonly()), [["a"]], [[{}]]],
    "a lazy object": [Folder, [{ name: "a", folders: [{ name: "b", folders: [] }] }], [{ name: "a", folders: [{}] }]],
    "a check": [v.pipe(v.string(), v.check((text) => text !== "no", "not no")), ["yes"], ["no"]],
    "a check of several fields": [
      v.pipe(v.object({ a: v.string(), b: v.string() }), v.check(({ a, b }) => a === b)),
      [{ a: "c", b: "c" }],
      [{ a: "c", b: "d" }]
    ],
    "a transform": [v.pipe(v.string(), v.transform((text) => text.length)), ["abc"], [{}]],
    "a number in a text": [v.pipe(v.string(), v.toNumber(), v.minValue(3)), ["4"], ["2"]],
    "trimmed before its length counts": [v.pipe(v.string(), v.trim(), v.maxLength(3)), ["  abc  "], ["abcd"]],
    "a bigint": [v.bigint(), [], [], cannot],
    "a Date": [v.date(), [], [], cannot],
    "a Map": [v.map(v.string(), v.number()), [], [], cannot],
    "a Set": [v.set(v.string()), [], [], cannot],
    "an instance of a class": [v.instance(URL), [], [], cannot],
    "a custom value": [v.custom<string>((value) => typeof value === "string"), [], [], cannot],
    "a file": [v.file(), [], [], cannot]
  }),
  "a strict object as a whole": sample(standard(v.strictObject({ a: v.string() })), [{ a: "b" }], [{}]),
  "a lazy object as a whole": sample(standard(Folder), [{ name: "a", folders: [] }], [{ name: "a", folders: [{}] }]),
  "a fallback as a whole": sample(standard(v.object({ a: v.fallback(v.number(), 3) })), [{ a: 4 }], []),
  "a union as a whole": refused(
    standard(v.union([v.object({ a: v.string() }), v.object({ b: v.string() })])),
    /are a union/
  ),
  "an intersection as a whole": refused(
    standard(v.intersect([v.object({ a: v.string() }), v.object({ b: v.string() })])),
    /'allOf'/
  ),
  "a string as a whole": refused(standard(v.string()), /have the type "string"/)
}

// -----------------------------------------------------------------------------
// ArkType
// -----------------------------------------------------------------------------

const inArkField = (schema: never): StandardSchema => type({ v: schema })

const things = scope({
  thing: { name: "string", "parts?": "thing[]" },
  id: "string>2"
}).export()

const noArk = /cannot be used: arktype cannot write it as a JSON Schema: /

export const arkSchemas: Readonly<Record<string, LibrarySchema>> = {
  ...inFields(inArkField, {
    "a string": ["string", ["a"], [{}]],
    "bounds of a string": ["2 <= string <= 3", ["ab"], ["a", "abcd"]],
    "an integer": ["number.integer >= 18", [20], [17, 18.5]],
    "a range": ["0 < number < 1", [0.5], [1]],
    "multiples": ["number % 5", [10], [7]],
    "a pattern": [/^[a-z]+$/, ["abc"], ["ABC"]],
    "an email": ["string.email", ["a@example.org"], ["a"]],
    "a UUID": ["string.uuid", ["123e4567-e89b-42d3-a456-426614174000"], ["a"]],
    "an ISO date": ["string.date.iso", ["2024-01-01T10:00:00Z"], ["soon"]],
    "a union of literals": ["'a' | 'b' | 1", ["a", 1], ["c"]],
    "a union": ["string | number.integer", ["a", 1], [1.5]],
    "a nullable string": ["string | null", ["a", null], [{}]],
    "a boolean": ["boolean", [true], [{}]],
    "unknown": ["unknown", [{ a: 1 }], []],
    "a list": ["string[] >= 1", [["a"]], [[], [{}]]],
    "a tuple": [["string", "number"], [["a", 1]], [["a"]]],
    "a nested object": [{ a: "string", "b?": "number" }, [{ a: "c" }, { a: "c", b: 1 }], [{}]],
    "a closed object": [{ "+": "reject", a: "string" }, [{ a: "b" }], [{ a: "b", c: 1 }]],
    "an object that drops other keys": [{ "+": "delete", a: "string" }, [{ a: "b" }], [{}]],
    "a record": [{ "[string]": "number" }, [{ a: 1 }], [{ a: {} }]],
    "a default": ["number = 3", [4], [{}]],
    "a description": [type("string").describe("A city"), ["Rome"], [{}]],
    "metadata": [type("string").configure({ title: "City", examples: ["Rome"] }), ["Rome"], [{}]],
    "a recursive object": [things.thing, [{ name: "a", parts: [{ name: "b" }] }], [{ name: "a", parts: [{}] }]],
    "a part of a scope": [things.id, ["abc"], ["a"]],
    "an intersection": [type({ a: "string" }).and({ b: "number" }), [{ a: "c", b: 1 }], [{ a: "c" }]],
    "an enumeration": [type.enumerated("a", "b"), ["a"], ["c"]],
    "a discriminated union": [
      type({ kind: "'a'", n: "number" }).or({ kind: "'b'", s: "string" }),
      [{ kind: "a", n: 1 }, { kind: "b", s: "c" }],
      [{ kind: "c" }, { kind: "a" }]
    ],
    "a morph": [type("string").pipe((text) => text.length), ["abc"], [{}]],
    "a number in a text": ["string.numeric.parse", ["12.5"], ["x"]],
    "a date in a text": ["string.date.parse", ["2024-01-01"], ["soon"]],
    "trimmed": ["string.trim", [" a "], [{}]],
    "a brand": [type("string").brand("id"), ["a"], [{}]],
    "narrowed": [type("string").narrow((text, context) => text !== "no" || context.mustBe("not no")), ["yes"], ["no"]],
    "or undefined": ["string | undefined", ["a"], [1]],
    "a bigint": ["bigint", [], [], noArk],
    "a Date": ["Date", [], [], noArk],
    "a symbol": ["symbol", [], [], noArk],
    "an instance of a class": [type.instanceOf(URL), [], [], noArk]
  }),
  "a recursive object as a whole": sample(things.thing, [{ name: "a", parts: [{ name: "b" }] }], [{
    name: "a",
    parts: [{}]
  }]),
  "a closed object as a whole": sample(type({ "+": "reject", a: "string" }), [{ a: "b" }], [{}]),
  "any object as a whole": sample(type("object"), [{ a: 1 }], []),
  "a union as a whole": refused(type({ a: "string" }).or({ b: "string" }), /are a union/),
  "a string as a whole": refused(type("string"), /have the type "string"/)
}
