/**
 * Tools of the AI SDK as authors of applications write them, with schemas of every library, each with one input that it accepts
 * and one that it refuses.
 */
import type { Json } from "@fallible/arguments"
import { toJsonSchema, toStandardJsonSchema } from "@valibot/to-json-schema"
import { dynamicTool, type FlexibleSchema, jsonSchema, type JSONSchema7, type Tool, tool, zodSchema } from "ai"
import { scope, type } from "arktype"
import { Schema } from "effect"
import { Type } from "typebox"
import { Value } from "typebox/value"
import * as v from "valibot"
import { z } from "zod"
import * as zm from "zod/mini"
import { z as z3 } from "zod/v3"

export interface ManyTool {
  readonly tool: Tool
  /** The JSON that a model writes. Absent if there is none, or if the tool cannot come in. */
  readonly valid?: Json
  readonly invalid?: Json
  /** The valid input does not fit the JSON Schema that its author shows: the library judges. */
  readonly isKinder?: boolean
  /** Why we refuse the invalid input, if the AI SDK does not. */
  readonly onlyHere?: string
  /** The important words of the reason why it cannot come in. */
  readonly refused?: string
}

type Notes = Pick<ManyTool, "isKinder" | "onlyHere" | "refused">
type Row = readonly [
  schema: FlexibleSchema<unknown>,
  valid?: Json | undefined,
  invalid?: Json | undefined,
  notes?: Notes | undefined
]
type Table = Readonly<Record<string, ManyTool>>

const execute = async () => "done"

const tools = (rows: Readonly<Record<string, Row>>): Table =>
  Object.fromEntries(
    Object.entries(rows).map(([name, [inputSchema, valid, invalid, notes]], index) => {
      const made = index % 2 === 0
        ? tool({ description: name, inputSchema, execute })
        : dynamicTool({ description: name, inputSchema, execute })
      return [name, {
        tool: made,
        ...(valid === undefined ? {} : { valid }),
        ...(invalid === undefined ? {} : { invalid }),
        ...notes
      }]
    })
  )

/** An input without the field. */
const leftOut = Symbol()

type Field = Json | typeof leftOut

/** Tools whose schema stands in a field `v`. */
const inField = (
  wrap: (schema: never) => FlexibleSchema<unknown>,
  rows: Readonly<
    Record<
      string,
      readonly [schema: unknown, valid?: Field | undefined, invalid?: Field | undefined, notes?: Notes | undefined]
    >
  >
): Table =>
  tools(
    Object.fromEntries(
      Object.entries(rows).map(([name, [schema, valid, invalid, notes]]) => [
        name,
        [wrap(asOwn(schema)), inputWith(valid), inputWith(invalid), notes]
      ])
    )
  )

const inputWith = (field: Field | undefined): Json | undefined =>
  field === undefined ? undefined : typeof field === "symbol" ? {} : { v: field }

// The schemas of one table are all of the library that its `wrap` belongs to.
const asOwn = (schema: unknown) => schema as never

const cannotBeWritten = { refused: "cannot be represented in JSON Schema" }

const onlyHere = (why: string): Notes => ({ onlyHere: why })

const kinder: Notes = { isKinder: true }

const unknownKeys = onlyHere("A key that is not declared is refused: the AI SDK drops it.")
const unchecked = onlyHere("The AI SDK does not check a JSON Schema without a validation.")
const valibotFailures = onlyHere("A failure of Valibot has a value, too. The AI SDK takes it for a success.")

const Priority = { Low: "low", High: "high" } as const

// As TypeScript compiles an enum of numbers.
const Level = { 1: "One", 2: "Two", One: 1, Two: 2 } as const

const deep = (depth: number): z.ZodType => depth === 0 ? z.string() : z.object({ next: deep(depth - 1) })
const deepValue = (depth: number, leaf: Json): Json => depth === 0 ? leaf : { next: deepValue(depth - 1, leaf) }
const wideKeys = Array.from({ length: 500 }, (_, index) => `field_${index}`)
const wideValue = Object.fromEntries(wideKeys.map((key, index) => [key, index]))
// A literal would set the prototype.
const withProto: Json = JSON.parse("{\"__proto__\":\"a\",\"a\":\"b\"}")
const keysOfObject = { constructor: "b", toString: "c", hasOwnProperty: "d" }

// -----------------------------------------------------------------------------
// Zod 4
// -----------------------------------------------------------------------------

const Money = z.object({ amount: z.int().nonnegative(), currency: z.enum(["EUR", "USD"]) }).meta({
  id: "ManyToolsMoney",
  description: "An amount in cents"
})

const Folder = z.object({
  name: z.string(),
  get folders() {
    return z.array(Folder).optional()
  }
})

interface Filter {
  readonly field?: string | undefined
  readonly and?: ReadonlyArray<Filter> | undefined
}
const Filter: z.ZodType<Filter> = z.lazy(() =>
  z.object({ field: z.string().optional(), and: z.array(Filter).optional() })
)

const dateCodec = z.codec(z.iso.datetime(), z.date(), {
  decode: (text) => new Date(text),
  encode: (date) => date.toISOString()
})

const shape = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("circle"), radius: z.number() }),
  z.object({ kind: z.literal("square"), side: z.number() })
])

const zod4 = inField((schema) => z.object({ v: schema }), {
  "a string": [z.string().min(2).max(5).describe("A code"), "abc", "a"],
  "a trimmed string": [z.string().trim().toLowerCase(), "  ABC ", {}],
  "an email": [z.email(), "a@example.org", "a"],
  "a URL": [z.url(), "https://example.org", "nowhere"],
  "a UUID": [z.uuid(), "123e4567-e89b-12d3-a456-426614174000", "1"],
  "an old UUID": [z.string().uuid(), "123e4567-e89b-12d3-a456-426614174000", "1"],
  "base64": [z.base64(), "aGk=", "!"],
  "base64url": [z.base64url(), "aGk", "!"],
  "an IPv4": [z.ipv4(), "127.0.0.1", "1.2"],
  "an IPv6": [z.ipv6(), "::1", "1.2"],
  "a CIDR": [z.cidrv4(), "10.0.0.0/8", "10"],
  "a JWT": [z.jwt(), "eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ.c2ln", "a.b"],
  "an emoji": [z.emoji(), "🎉", "a"],
  "a ULID, a CUID and a nanoid": [
    z.union([z.ulid(), z.cuid2(), z.nanoid()]),
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "!"
  ],
  "a phone number": [z.e164(), "+4915112345678", "call me"],
  "an ISO date": [z.iso.date(), "2024-02-29", "2023-02-29"],
  "an ISO time": [z.iso.time(), "10:00:00", "noon"],
  "an ISO time stamp": [z.iso.datetime({ offset: true }), "2024-01-01T10:00:00+02:00", "soon"],
  "an ISO duration": [z.iso.duration(), "P3DT4H", "3 days"],
  "a pattern with flags": [z.string().regex(/^ab+$/i), "ABB", "c", kinder],
  "a start and an end": [z.string().startsWith("a").endsWith("z").includes("-"), "a-z", "a"],
  "an integer": [z.int().positive(), 3, 1.5],
  "an int32": [z.int32(), 3, 3e10],
  "a multiple": [z.number().multipleOf(0.25), 0.75, 0.3],
  "a bound": [z.number().gt(0).lte(1), 1, 0],
  "a boolean": [z.boolean(), true, "perhaps"],
  "null": [z.null(), null, "a"],
  "anything": [z.any(), { a: [1, null] }],
  "unknown": [z.unknown(), [1]],
  "never, and so nothing": [z.never().optional(), leftOut, 1],
  "void": [z.void(), undefined, undefined, cannotBeWritten],
  "an enum": [z.enum(["red", "blue"]), "red", "green"],
  "an enum of TypeScript": [z.enum(Priority), "high", "none"],
  "an enum of numbers": [z.enum(Level), 2, 7],
  "an enum without a member": [z.enum(["red", "blue"]).exclude(["red"]), "blue", "red"],
  "a literal of mixed types": [z.literal(["auto", 7, true, null]), 7, "none"],
  "a default": [z.number().default(10), 3, {}],
  "a default that a model leaves out": [z.number().default(10), leftOut, {}],
  "a prefault": [z.string().trim().prefault("  x "), leftOut, {}],
  "a catch": [z.number().catch(7), 3],
  "optional": [z.string().optional(), leftOut, {}],
  "nullable": [z.string().nullable(), null, {}],
  "nullish": [z.string().nullish(), null, {}],
  "nullable, then optional with a default": [z.int().nullable().optional().default(null), leftOut, "x"],
  "not optional": [z.string().optional().nonoptional(), "a", null],
  "a list": [z.array(z.int()).min(1).max(3), [1, 2], []],
  "a tuple": [z.tuple([z.string(), z.int()]), ["a", 1], ["a"]],
  "a tuple with a rest": [z.tuple([z.string()], z.int()), ["a", 1, 2], ["a", "b!"]],
  "a tuple with an optional part": [z.tuple([z.string(), z.int().optional()]), ["a"], []],
  "a record": [z.record(z.string(), z.int()), { a: 1 }, { a: 1.5 }],
  "a record of an enum": [z.record(z.enum(["a", "b"]), z.int()), { a: 1, b: 2 }, { a: 1 }],
  "a partial record": [z.partialRecord(z.enum(["a", "b"]), z.int()), { a: 1 }, { c: 1 }],
  "a loose record": [z.looseRecord(z.string().regex(/^x-/), z.int()), { "x-a": 1 }, { "x-a": 1.5 }],
  "a record with numbers as keys": [z.record(z.coerce.number(), z.string()), { 7: "a" }, { 7: {} }],
  "a nested object": [z.object({ a: z.object({ b: z.string().optional() }) }), { a: {} }, {}],
  "a strict object": [z.strictObject({ a: z.string() }), { a: "b" }, { a: "b", c: 1 }],
  "a loose object": [z.looseObject({ a: z.string() }), { a: "b", c: { d: 1 } }, { c: 1 }],
  "an old passthrough": [z.object({ a: z.string() }).passthrough(), { a: "b", c: 1 }, { c: 1 }],
  "a catch-all": [z.object({ a: z.string() }).catchall(z.int()), { a: "b", n: 1 }, { a: "b", n: 1.5 }],
  "a key that is not declared": [z.object({ a: z.string() }), { a: "b" }, { a: "b", c: 1 }, unknownKeys],
  "a pick, an extension and a part": [
    z.object({ a: z.string(), b: z.int() }).pick({ a: true }).extend({ c: z.boolean() }).partial({ a: true }),
    { c: true },
    { a: "b" }
  ],
  "an object's keys": [z.object({ a: z.string(), b: z.int() }).keyof(), "a", "c"],
  "a union": [z.union([z.string(), z.int(), z.array(z.string())]), ["a"], 1.5],
  "a union of objects": [
    z.union([z.object({ id: z.int() }), z.object({ email: z.email() })]),
    { email: "a@example.org" },
    {}
  ],
  "a discriminated union": [shape, { kind: "square", side: 2 }, { kind: "square", radius: 2 }],
  "a nested discriminated union": [
    z.discriminatedUnion("kind", [shape, z.object({ kind: z.literal("none") })]),
    { kind: "none" },
    { kind: "line" }
  ],
  "an exclusive union": [z.xor([z.string(), z.int()]), 1, 1.5],
  "an intersection": [
    z.intersection(z.object({ a: z.string() }), z.object({ b: z.int() })),
    { a: "c", b: 1 },
    { a: "c" }
  ],
  "a brand": [z.string().brand<"Id">(), "a", {}],
  "read-only": [z.array(z.string()).readonly(), ["a"], [{}]],
  "a transform": [z.string().transform((text) => text.length), "abc", {}],
  "a transform of an object": [z.object({ a: z.string() }).transform(({ a }) => new Map([["a", a]])), { a: "b" }, {}],
  "an asynchronous transform": [z.string().transform(async (text) => text.toUpperCase()), "abc", {}],
  "a pipe": [z.string().transform((text) => text.length).pipe(z.int().min(2)), "abc", "a"],
  "a codec": [dateCodec, "2024-01-01T10:00:00.000Z", "soon"],
  "a boolean in a text": [z.stringbool(), "yes", "perhaps"],
  "a coerced number": [z.coerce.number(), 4, "many"],
  "a coerced string": [z.coerce.string(), "a"],
  "a coerced boolean": [z.coerce.boolean(), true],
  "a coerced date": [z.coerce.date(), undefined, undefined, { refused: "Date cannot be represented in JSON Schema" }],
  "a coerced bigint": [z.coerce.bigint(), undefined, undefined, cannotBeWritten],
  "a preprocessed value": [z.preprocess((value) => value === "" ? undefined : value, z.string().optional()), "", {}],
  "a preprocessed list": [z.preprocess((value) => [value].flat(), z.array(z.string())), ["a"], [{}]],
  "a refinement": [z.string().refine((text) => text !== "no", "must not be no"), "yes", "no"],
  "an asynchronous refinement": [z.string().refine(async (text) => text !== "no"), "yes", "no"],
  "a superRefine": [
    z.array(z.int()).superRefine((list, context) => {
      if (new Set(list).size < list.length) context.addIssue({ code: "custom", message: "twice" })
    }),
    [1, 2],
    [1, 1]
  ],
  "a check": [
    z.string().check((context) => {
      if (context.value === "no") context.issues.push({ code: "custom", message: "not no", input: context.value })
    }),
    "yes",
    "no"
  ],
  "an overwrite": [z.number().overwrite((value) => Math.round(value)), 1.6, {}],
  "a template literal": [z.templateLiteral(["id-", z.int()]), "id-7", "id-x"],
  "any JSON": [z.json(), { a: [1, "b", null] }],
  "a recursive object": [Folder, { name: "a", folders: [{ name: "b" }] }, { name: "a", folders: [{}] }],
  "a lazy object": [Filter, { and: [{ field: "a" }] }, { and: [{ field: {} }] }],
  "a shared definition": [
    z.object({ price: Money, fee: Money.optional(), tips: z.array(Money) }),
    { price: { amount: 1, currency: "EUR" }, tips: [{ amount: 2, currency: "USD" }] },
    { price: { amount: 1, currency: "GBP" }, tips: [] }
  ],
  "meta": [
    z.string().meta({ title: "City", examples: ["Rome"], deprecated: true, "x-order": 1, placeholder: "Rome" }),
    "Rome",
    {}
  ],
  "a deprecated format of OpenAPI": [z.string().meta({ format: "password" }), "hunter2", {}],
  "a deep object": [deep(40), deepValue(40, "a"), deepValue(40, {})],
  "a wide object": [
    z.object(Object.fromEntries(wideKeys.map((key) => [key, z.int()]))),
    wideValue,
    { ...wideValue, field_499: 1.5 }
  ],
  "keys of other scripts": [z.object({ größe: z.int(), 都市: z.string(), "🎉": z.boolean() }), {
    größe: 1,
    都市: "a",
    "🎉": true
  }, { größe: 1 }],
  "keys with spaces, dots and quotes": [
    z.object({ "a b": z.int(), "c.d": z.int(), "e\"f": z.int(), "g/h~i": z.int() }),
    {
      "a b": 1,
      "c.d": 2,
      "e\"f": 3,
      "g/h~i": 4
    },
    { "a b": 1 }
  ],
  "keys of Object": [
    z.object({ constructor: z.string(), toString: z.string(), hasOwnProperty: z.string() }),
    keysOfObject,
    {}
  ],
  "a record with keys of Object": [z.record(z.string(), z.string()), keysOfObject, { constructor: {} }],
  "an empty key": [z.object({ "": z.string() }), { "": "a" }, {}],
  "a set in a transform": [z.array(z.string()).transform((list) => new Set(list)), ["a"], [{}]],
  "a file": [z.file(), undefined, "a"],
  "a Date": [z.date(), undefined, undefined, { refused: "Date cannot be represented in JSON Schema" }],
  "a bigint": [z.bigint(), undefined, undefined, cannotBeWritten],
  "a Map": [z.map(z.string(), z.int()), undefined, undefined, { refused: "Map cannot be represented in JSON Schema" }],
  "a Set": [z.set(z.string()), undefined, undefined, { refused: "Set cannot be represented in JSON Schema" }],
  "a symbol": [z.symbol(), undefined, undefined, cannotBeWritten],
  "undefined": [z.undefined(), undefined, undefined, cannotBeWritten],
  "an instance": [z.instanceof(URL), undefined, undefined, { refused: "Custom types cannot be represented" }],
  "a function": [z.function(), undefined, undefined, { refused: "Function types cannot be represented" }],
  "a promise": [z.promise(z.string()), "a", {}]
})

const zod4Whole = tools({
  "no input": [z.object({}), {}, { a: 1 }, unknownKeys],
  "a strict object without keys": [z.strictObject({}), {}, { a: 1 }],
  "a record as a whole": [z.record(z.string(), z.int()), { a: 1 }, { a: 1.5 }],
  "a loose object as a whole": [z.looseObject({ a: z.string() }), { a: "b", c: 1 }, {}],
  "a recursive object as a whole": [Folder, { name: "a", folders: [{ name: "b" }] }, { folders: [] }],
  "a lazy object as a whole": [Filter, { and: [{}] }, { and: [1.5] }],
  "a shared definition as a whole": [Money, { amount: 1, currency: "EUR" }, { amount: 1.5, currency: "EUR" }],
  "a transform as a whole": [z.object({ a: z.string() }).transform(({ a }) => [a]), { a: "b" }, {}],
  "a refinement of two fields": [
    z.object({ from: z.iso.date(), to: z.iso.date() }).refine(({ from, to }) => from <= to, { path: ["to"] }),
    { from: "2024-01-01", to: "2024-01-02" },
    { from: "2024-01-02", to: "2024-01-01" }
  ],
  "a preprocess as a whole": [z.preprocess((value) => value, z.object({ a: z.string() })), { a: "b" }, {}],
  "an intersection as a whole": [
    z.object({ a: z.string() }).and(z.object({ b: z.int() })),
    { a: "c", b: 1 },
    { a: "c" }
  ],
  "zodSchema": [zodSchema(z.object({ a: z.string().default("x") })), {}, { a: {} }],
  "zodSchema with references": [
    zodSchema(z.object({ from: Money, to: Money, tree: Folder }), { useReferences: true }),
    { from: { amount: 1, currency: "EUR" }, to: { amount: 1, currency: "USD" }, tree: { name: "a" } },
    { from: { amount: 1, currency: "EUR" }, to: {}, tree: { name: "a" } }
  ],
  "a schema that is made when it is needed": [
    () => zodSchema(z.object({ a: z.int() })),
    { a: 1 },
    { a: 1.5 }
  ],
  "the key __proto__": [
    z.object(Object.fromEntries([["__proto__", z.string()], ["a", z.string()]])),
    undefined,
    withProto,
    onlyHere("It cannot be read. The AI SDK refuses it when it reads the text, too.")
  ],
  "a union as a whole": [z.union([z.object({ id: z.int() }), z.object({ email: z.string() })]), { id: 1 }, {}],
  "a discriminated union as a whole": [shape, { kind: "circle", radius: 1 }, { kind: "circle" }],
  "an object or null as a whole": [z.object({ a: z.string() }).nullable(), { a: "b" }, {}],
  "a string as a whole": [z.string(), undefined, undefined, { refused: "a model can only send an object" }],
  "a list as a whole": [z.array(z.string()), undefined, undefined, { refused: "a model can only send an object" }]
})

/** What authors write for real services. */
const services = tools({
  "search flights": [
    z.object({
      from: z.string().length(3).toUpperCase().describe("IATA code"),
      to: z.string().length(3).toUpperCase(),
      date: z.iso.date().transform((text) => new Date(`${text}T00:00:00Z`)),
      passengers: z.int().min(1).max(9).default(1),
      cabin: z.enum(["economy", "business", "first"]).default("economy"),
      filters: z.object({ maxStops: z.int().nullable(), airlines: z.array(z.string()).default([]) }).partial()
        .optional()
    }),
    { from: "fra", to: "JFK", date: "2024-05-01", filters: { maxStops: null } },
    { from: "fra", to: "JFK", date: "tomorrow" }
  ],
  "create an issue": [
    z.object({
      title: z.string().min(1).max(256),
      body: z.string().optional(),
      labels: z.array(z.string()).max(10).optional(),
      assignee: z.union([z.literal("me"), z.object({ login: z.string() })]).optional(),
      milestone: z.union([z.int(), z.null()]).optional()
    }),
    { title: "It fails", labels: ["bug"], assignee: { login: "ada" }, milestone: null },
    { title: "", labels: [] }
  ],
  "send a mail": [
    z.object({
      to: z.union([z.email(), z.array(z.email()).nonempty()]),
      subject: z.string(),
      body: z.discriminatedUnion("type", [
        z.object({ type: z.literal("text"), text: z.string() }),
        z.object({ type: z.literal("html"), html: z.string(), inline: z.record(z.string(), z.base64()).optional() })
      ]),
      headers: z.record(z.string(), z.string()).optional(),
      sendAt: z.iso.datetime().nullish()
    }),
    {
      to: ["a@example.org"],
      subject: "Hi",
      body: { type: "html", html: "<p>", inline: { logo: "aGk=" } },
      sendAt: null
    },
    { to: [], subject: "Hi", body: { type: "text", text: "Hello" } }
  ],
  "query a database": [
    z.object({
      table: z.enum(["users", "orders"]),
      where: Filter.optional(),
      orderBy: z.tuple([z.string(), z.enum(["asc", "desc"])]).optional(),
      limit: z.coerce.number().int().max(100).default(20)
    }),
    { table: "users", where: { and: [{ field: "name" }] }, orderBy: ["name", "asc"] },
    { table: "users", limit: 1000 }
  ],
  "draw a chart": [
    z.object({
      title: z.string(),
      series: z.array(z.object({ name: z.string(), points: z.array(z.tuple([z.number(), z.number().nullable()])) })),
      axis: z.object({ min: z.number().optional(), max: z.number().optional() }).catchall(z.string()),
      colour: z.templateLiteral(["#", z.string().regex(/^[0-9a-f]{6}$/)]).optional()
    }),
    { title: "t", series: [{ name: "a", points: [[1, null]] }], axis: { max: 3, label: "km" }, colour: "#00ff00" },
    { title: "t", series: [], axis: {}, colour: "green" }
  ],
  "move a robot": [
    z.object({
      steps: z.array(z.discriminatedUnion("do", [
        z.object({ do: z.literal("go"), metres: z.number().positive().max(10) }),
        z.object({ do: z.literal("turn"), degrees: z.number().min(-180).max(180) }),
        z.object({ do: z.literal("wait"), for: z.iso.duration() })
      ])).min(1)
    }),
    { steps: [{ do: "go", metres: 2 }, { do: "wait", for: "PT3S" }] },
    { steps: [{ do: "go", metres: -2 }] }
  ]
})

// -----------------------------------------------------------------------------
// Zod 3
// -----------------------------------------------------------------------------

const Folder3: z3.ZodType<unknown> = z3.lazy(() =>
  z3.object({ name: z3.string(), folders: z3.array(Folder3).optional() })
)

const zod3 = {
  ...inField((schema) => z3.object({ v: schema }), {
    "a string": [z3.string().min(2).max(5), "abc", "a"],
    "an email": [z3.string().email(), "a@example.org", "a"],
    "a URL": [z3.string().url(), "https://example.org", "nowhere"],
    "a UUID": [z3.string().uuid(), "123e4567-e89b-12d3-a456-426614174000", "1"],
    "a time stamp": [z3.string().datetime(), "2024-01-01T10:00:00Z", "soon"],
    "base64, an IP and a CUID": [
      z3.union([z3.string().base64(), z3.string().ip(), z3.string().cuid2()]),
      "127.0.0.1",
      "!"
    ],
    "an emoji": [z3.string().emoji(), "🎉", "a"],
    "a pattern": [z3.string().regex(/^ab+$/i), "ABB", "c", kinder],
    "an integer": [z3.number().int().positive(), 3, 1.5],
    "a multiple": [z3.number().multipleOf(5), 10, 7],
    "anything": [z3.any(), { a: 1 }],
    "unknown": [z3.unknown(), [1]],
    "never": [z3.never().optional(), leftOut, 1],
    "void": [z3.void(), leftOut, 1],
    "null": [z3.null(), null, "a"],
    "an enum": [z3.enum(["red", "blue"]), "red", "green"],
    "an enum of TypeScript": [z3.nativeEnum(Priority), "high", "none"],
    "an enum of numbers": [z3.nativeEnum(Level), 2, 7],
    "a literal": [z3.literal(7), 7, 8],
    "a union": [z3.union([z3.string(), z3.number().int()]), "a", 1.5],
    "a discriminated union": [
      z3.discriminatedUnion("kind", [
        z3.object({ kind: z3.literal("a"), n: z3.number() }),
        z3.object({ kind: z3.literal("b"), s: z3.string() })
      ]),
      { kind: "b", s: "c" },
      { kind: "b", n: 1 }
    ],
    "an intersection": [
      z3.intersection(z3.object({ a: z3.string() }), z3.object({ b: z3.number() })),
      { a: "c", b: 1 },
      { a: "c" }
    ],
    "a default": [z3.number().default(10), leftOut, {}],
    "a catch": [z3.number().catch(7), 3],
    "nullish": [z3.string().nullish(), null, {}],
    "a list": [z3.array(z3.string()).nonempty(), ["a"], []],
    "a tuple": [z3.tuple([z3.string(), z3.number()]), ["a", 1], ["a"]],
    "a tuple with a rest": [z3.tuple([z3.string()]).rest(z3.number()), ["a", 1, 2], ["a", {}]],
    "a record": [z3.record(z3.number().int()), { a: 1 }, { a: 1.5 }],
    "a record of an enum": [z3.record(z3.enum(["a", "b"]), z3.number().int()), { a: 1 }, { c: 1 }],
    "a strict object": [z3.object({ a: z3.string() }).strict(), { a: "b" }, { a: "b", c: 1 }],
    "a passthrough": [z3.object({ a: z3.string() }).passthrough(), { a: "b", c: 1 }, { c: 1 }],
    "a catch-all": [z3.object({ a: z3.string() }).catchall(z3.number().int()), { a: "b", n: 1 }, { a: "b", n: 1.5 }],
    "a brand and read-only": [z3.array(z3.string().brand<"Id">()).readonly(), ["a"], [{}]],
    "a transform": [z3.string().transform((text) => text.length), "abc", {}],
    "a pipe": [z3.string().transform(Number).pipe(z3.number().int()), "7", "x"],
    "a preprocessed value": [z3.preprocess((value) => [value].flat(), z3.array(z3.string())), ["a"], [{}]],
    "a coerced date": [z3.coerce.date(), "2024-01-01T00:00:00Z", "soon"],
    "a coerced number": [z3.coerce.number(), 7, "x"],
    "a refinement": [z3.string().refine((text) => text !== "no"), "yes", "no"],
    "an asynchronous refinement": [z3.string().refine(async (text) => text !== "no"), "yes", "no"],
    "a superRefine": [
      z3.string().superRefine((text, context) => {
        if (text === "no") context.addIssue({ code: "custom", message: "not no" })
      }),
      "yes",
      "no"
    ],
    "a recursive object": [Folder3, { name: "a", folders: [{ name: "b" }] }, { name: "a", folders: [{}] }],
    "a Date": [z3.date(), undefined, "2024-01-01T00:00:00Z"],
    "a bigint": [z3.bigint(), undefined, 7],
    "a Map": [z3.map(z3.string(), z3.number()), undefined, [["a", 1]]],
    "a Set": [z3.set(z3.string()), undefined, ["a"]]
  }),
  ...tools({
    "a transform as a whole": [z3.object({ a: z3.string() }).transform(({ a }) => [a]), { a: "b" }, {}],
    "a refinement of two fields": [
      z3.object({ a: z3.number(), b: z3.number() }).refine(({ a, b }) => a < b),
      { a: 1, b: 2 },
      { a: 2, b: 1 }
    ],
    "a recursive object as a whole": [Folder3, { name: "a", folders: [{ name: "b" }] }, { folders: [] }],
    "a union as a whole": [
      z3.union([z3.object({ a: z3.string() }), z3.object({ b: z3.string() })]),
      { a: "x" },
      {}
    ]
  })
}

// -----------------------------------------------------------------------------
// Zod mini
// -----------------------------------------------------------------------------

const FolderMini = zm.object({
  name: zm.string(),
  get folders() {
    return zm.optional(zm.array(FolderMini))
  }
})

const zodMini = inField((schema) => zm.object({ v: schema }), {
  "checks": [zm.string().check(zm.minLength(2), zm.regex(/^a/)), "abc", "a"],
  "optional, nullable and a default": [zm._default(zm.optional(zm.nullable(zm.string())), "x"), leftOut, {}],
  "a pipe": [zm.pipe(zm.string(), zm.transform((text) => text.length)), "abc", {}],
  "a discriminated union": [
    zm.discriminatedUnion("kind", [
      zm.object({ kind: zm.literal("a") }),
      zm.object({ kind: zm.literal("b"), n: zm.int() })
    ]),
    { kind: "b", n: 1 },
    { kind: "b" }
  ],
  "a recursive object": [FolderMini, { name: "a", folders: [{ name: "b" }] }, { name: "a", folders: [{}] }],
  "a record": [zm.record(zm.string(), zm.int()), { a: 1 }, { a: 1.5 }],
  "a strict object": [zm.strictObject({ a: zm.string() }), { a: "b" }, { a: "b", c: 1 }],
  "a refinement": [zm.string().check(zm.refine((text) => text !== "no")), "yes", "no"],
  "a catch": [zm.catch(zm.int(), 7), 3],
  "a Date": [zm.date(), undefined, undefined, { refused: "Date cannot be represented in JSON Schema" }]
})

// -----------------------------------------------------------------------------
// Valibot
// -----------------------------------------------------------------------------

interface VFolder {
  readonly name: string
  readonly folders: ReadonlyArray<VFolder>
}
const VFolder: v.GenericSchema<VFolder> = v.object({ name: v.string(), folders: v.array(v.lazy(() => VFolder)) })

const vAccount = v.object({ id: v.pipe(v.number(), v.integer()), mail: v.optional(v.pipe(v.string(), v.email())) })

const valibot = {
  ...inField((schema) => toStandardJsonSchema(v.object({ v: schema })), {
    "bounds": [v.pipe(v.string(), v.minLength(2), v.maxLength(3)), "ab", "a", valibotFailures],
    "a pattern": [v.pipe(v.string(), v.regex(/^[a-z]+$/)), "abc", "ABC", valibotFailures],
    "an ISO date": [v.pipe(v.string(), v.isoDate()), "2024-02-29", "soon", valibotFailures],
    "a default": [v.optional(v.number(), 4), leftOut, {}, valibotFailures],
    "nullish": [v.nullish(v.string()), null, {}, valibotFailures],
    "a picklist": [v.picklist(["a", "b"]), "a", "c", valibotFailures],
    "an enum": [v.enum(Priority), "low", "none", valibotFailures],
    "a tuple": [v.strictTuple([v.string(), v.number()]), ["a", 1], ["a"], valibotFailures],
    "a tuple with a rest": [v.tupleWithRest([v.string()], v.number()), ["a", 1], ["a", {}], valibotFailures],
    "a variant": [
      v.variant("kind", [
        v.object({ kind: v.literal("a"), n: v.number() }),
        v.object({ kind: v.literal("b"), s: v.string() })
      ]),
      { kind: "b", s: "c" },
      { kind: "b", n: 1 },
      valibotFailures
    ],
    "a record": [v.record(v.string(), v.number()), { a: 1 }, { a: {} }, valibotFailures],
    "a lazy object": [
      VFolder,
      { name: "a", folders: [{ name: "b", folders: [] }] },
      { name: "a", folders: [{}] },
      valibotFailures
    ],
    "a transform": [v.pipe(v.string(), v.transform((text) => text.length)), "abc", {}, valibotFailures],
    "trimmed": [v.pipe(v.string(), v.trim(), v.maxLength(3)), " abc ", "abcd", { ...kinder, ...valibotFailures }],
    "a check": [v.pipe(v.string(), v.check((text) => text !== "no")), "yes", "no", valibotFailures],
    "a fallback": [v.fallback(v.number(), 3), 4],
    "a Date": [v.date(), undefined, undefined, { refused: "cannot be converted to JSON Schema" }],
    "a custom value": [v.custom(() => true), undefined, undefined, { refused: "cannot be converted to JSON Schema" }]
  }),
  ...tools({
    "a schema that cannot write its JSON Schema": [v.object({ a: v.string() }), undefined, undefined, {
      refused: "does not support JSON Schema conversion"
    }],
    "a JSON Schema of Valibot": [
      jsonSchema(asJsonSchema(toJsonSchema(vAccount)), {
        validate: (value) => {
          const { issues, output, success } = v.safeParse(vAccount, value)
          return success ? { success, value: output } : { success, error: new v.ValiError(issues) }
        }
      }),
      { id: 1, mail: "a@example.org" },
      { id: 1.5 }
    ]
  })
}

// -----------------------------------------------------------------------------
// ArkType
// -----------------------------------------------------------------------------

const ark = scope({ part: { name: "string", "parts?": "part[]" } }).export()

const arktype = tools({
  "a trip": [
    type({ to: "string > 1", "nights?": "1 <= number.integer <= 30", kind: "'bus' | 'train'", "+": "reject" }),
    { to: "Rome", nights: 3, kind: "bus" },
    { to: "Rome", nights: 31, kind: "bus" }
  ],
  "a default": [type({ n: "number = 3" }), {}, { n: {} }],
  "a morph": [type({ n: "string.numeric.parse" }), { n: "12.5" }, { n: "x" }],
  "a recursive object": [ark.part, { name: "a", parts: [{ name: "b" }] }, { name: "a", parts: [{}] }],
  "a record": [type({ "[string]": "number" }), { a: 1 }, { a: {} }],
  "a discriminated union": [
    type({ v: type({ kind: "'a'", n: "number" }).or({ kind: "'b'", s: "string" }) }),
    { v: { kind: "b", s: "c" } },
    { v: { kind: "b", n: 1 } }
  ],
  "a narrowed text": [
    type({ v: type("string").narrow((text, context) => text !== "no" || context.mustBe("not no")) }),
    { v: "yes" },
    { v: "no" }
  ],
  "a Date": [type({ v: "Date" }), undefined, undefined, { refused: "arktype cannot write it" }]
})

// -----------------------------------------------------------------------------
// Effect
// -----------------------------------------------------------------------------

const effectSchema = Schema.Struct({
  city: Schema.NonEmptyString,
  nights: Schema.optionalKey(Schema.Int),
  from: Schema.DateTimeUtcFromString,
  kind: Schema.Literals(["bus", "train"])
})

const effect = tools({
  "a struct": [
    Schema.toStandardJSONSchemaV1(Schema.toStandardSchemaV1(effectSchema)),
    { city: "Rome", from: "2024-01-01T00:00:00.000Z", kind: "bus" },
    { city: "", from: "2024-01-01T00:00:00.000Z", kind: "bus" }
  ],
  "a struct without its JSON Schema": [
    Schema.toStandardSchemaV1(Schema.Struct({ city: Schema.String })),
    { city: "Rome" },
    { city: {} }
  ]
})

// -----------------------------------------------------------------------------
// JSON Schema
// -----------------------------------------------------------------------------

// The types of the AI SDK know only draft 7.
function asJsonSchema(schema: object) {
  return schema as JSONSchema7
}

const json = (schema: object) => jsonSchema(asJsonSchema(schema))
const object = (properties: object, more: object = {}) => json({ type: "object", properties, ...more })

const TypeBoxTrip = Type.Object({
  to: Type.String({ minLength: 2 }),
  legs: Type.Array(Type.Union([Type.Literal("bus"), Type.Literal("train")]), { minItems: 1 }),
  meta: Type.Optional(Type.Record(Type.String(), Type.Number()))
})

const typebox = tools({
  "as a JSON Schema": [
    json(TypeBoxTrip),
    { to: "Rome", legs: ["bus"], meta: { a: 1 } },
    { to: "Rome", legs: [] },
    unchecked
  ],
  "with its validation": [
    jsonSchema(asJsonSchema(TypeBoxTrip), {
      validate: (value) =>
        Value.Check(TypeBoxTrip, value)
          ? { success: true, value }
          : { success: false, error: new Error("It is not a trip.") }
    }),
    { to: "Rome", legs: ["bus"] },
    { to: "R", legs: ["bus"] }
  ]
})

const vehicle = {
  oneOf: [{ $ref: "#/$defs/car" }, { $ref: "#/$defs/bike" }],
  discriminator: { propertyName: "kind", mapping: { car: "#/$defs/car", bike: "#/$defs/bike" } }
}
const vehicles = {
  car: {
    type: "object",
    properties: { kind: { const: "car" }, doors: { type: "integer" } },
    required: ["kind", "doors"]
  },
  bike: { type: "object", properties: { kind: { const: "bike" }, gears: { type: "integer" } }, required: ["kind"] }
}

const jsonSchemas = tools({
  "no properties": [json({ type: "object" }), { a: 1 }],
  "no type": [json({ properties: { a: { type: "string" } }, required: ["a"] }), { a: "b" }, {}, unchecked],
  "nothing at all": [json({}), { a: 1 }],
  "additional properties": [
    object({ a: { type: "string" } }, { additionalProperties: { type: "integer" } }),
    { a: "b", n: 1 },
    { n: 1.5 },
    unchecked
  ],
  "any additional properties": [
    object({ a: { type: "string" } }, { additionalProperties: true, required: ["a"] }),
    { a: "b", n: { m: 1 } },
    {},
    unchecked
  ],
  "oneOf with a discriminator": [
    object({ vehicle }, { $defs: vehicles, required: ["vehicle"] }),
    { vehicle: { kind: "car", doors: 4 } },
    { vehicle: { kind: "car" } },
    unchecked
  ],
  "definitions of draft 7": [
    object({ tree: { $ref: "#/definitions/tree" } }, {
      definitions: {
        tree: {
          type: "object",
          properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/definitions/tree" } } },
          required: ["name"]
        }
      }
    }),
    { tree: { name: "a", children: [{ name: "b" }] } },
    { tree: { name: "a", children: [{}] } },
    unchecked
  ],
  "a reference to the root": [
    object({ name: { type: "string" }, child: { $ref: "#" } }, { required: ["name"] }),
    { name: "a", child: { name: "b" } },
    { name: "a", child: {} },
    unchecked
  ],
  "a reference as a whole": [
    json({
      $ref: "#/$defs/args",
      $defs: { args: { type: "object", properties: { a: { type: "string" } }, required: ["a"] } }
    }),
    { a: "b" },
    {},
    unchecked
  ],
  "references in a circle": [
    object({ a: { $ref: "#/$defs/a" } }, {
      $defs: {
        a: { type: "object", properties: { b: { $ref: "#/$defs/b" } } },
        b: { type: "object", properties: { a: { $ref: "#/$defs/a" } } }
      }
    }),
    { a: { b: { a: {} } } },
    { a: { b: { a: 1.5 } } },
    unchecked
  ],
  "nullable types": [
    object({ a: { type: ["string", "null"] }, b: { type: "integer", nullable: true } }, { required: ["a", "b"] }),
    { a: null, b: null },
    { a: null },
    unchecked
  ],
  "an enum of mixed types": [
    object({ a: { enum: ["auto", 1, null, true, { x: 1 }, [1]] } }, { required: ["a"] }),
    { a: { x: 1 } },
    { a: "none" },
    unchecked
  ],
  "a const that is an object": [object({ a: { const: { b: [1] } } }), { a: { b: [1] } }, { a: { b: [2] } }, unchecked],
  "if, then, else": [
    object({ a: { type: "string" }, b: { type: "string" } }, {
      required: ["a"],
      if: { properties: { a: { const: "x" } } },
      // oxlint-disable-next-line unicorn/no-thenable -- the keyword
      then: { required: ["b"] }
    }),
    { a: "x", b: "y" },
    { a: "x" },
    unchecked
  ],
  "dependentRequired": [
    object({ card: { type: "string" }, address: { type: "string" } }, { dependentRequired: { card: ["address"] } }),
    { card: "1", address: "a" },
    { card: "1" },
    unchecked
  ],
  "dependencies of draft 7": [
    object({ card: { type: "string" }, address: { type: "string" } }, { dependencies: { card: ["address"] } }),
    { card: "1", address: "a" },
    { card: "1" },
    unchecked
  ],
  "patternProperties": [
    object({}, { patternProperties: { "^x-": { type: "integer" } }, additionalProperties: false }),
    { "x-a": 1 },
    { "x-a": 1.5 },
    unchecked
  ],
  "propertyNames and counts": [
    object({
      env: {
        type: "object",
        propertyNames: { pattern: "^[A-Z]+$" },
        minProperties: 1,
        additionalProperties: { type: "string" }
      }
    }),
    { env: { HOME: "/" } },
    { env: {} },
    unchecked
  ],
  "not": [object({ a: { not: { const: "no" } } }), { a: "yes" }, { a: "no" }, unchecked],
  "allOf in a field": [
    object({ a: { allOf: [{ type: "object", properties: { b: { type: "string" } } }, { required: ["b"] }] } }),
    { a: { b: "c" } },
    { a: {} },
    unchecked
  ],
  "a tuple of draft 7": [
    object({ a: { type: "array", items: [{ type: "string" }, { type: "integer" }], additionalItems: false } }),
    { a: ["b", 1] },
    { a: ["b", 1, 2] },
    unchecked
  ],
  "a tuple of 2020-12": [
    object({ a: { type: "array", prefixItems: [{ type: "string" }], items: { type: "integer" } } }),
    { a: ["b", 1] },
    { a: ["b", {}] },
    unchecked
  ],
  "contains and uniqueItems": [
    object({ a: { type: "array", contains: { const: 1 }, uniqueItems: true } }),
    { a: [1, 2] },
    { a: [2] },
    unchecked
  ],
  "exclusive bounds of draft 4": [
    object({ a: { type: "integer", minimum: 0, exclusiveMinimum: true } }),
    { a: 1 },
    { a: -1 },
    unchecked
  ],
  "unevaluatedProperties": [
    object({ a: { type: "string" } }, { unevaluatedProperties: false }),
    { a: "b" },
    { a: "b", c: 1 },
    unchecked
  ],
  "formats, encodings, examples": [
    object({
      id: { type: "string", format: "uuid", examples: ["1"], default: "1" },
      file: { type: "string", contentEncoding: "base64", contentMediaType: "image/png" },
      size: { type: "integer", format: "int64", example: 7, deprecated: true, readOnly: true }
    }, { title: "Input", $schema: "http://json-schema.org/draft-07/schema#", $id: "https://example.org/input" }),
    { id: "x", file: "aGk=", size: 7 },
    { size: 1.5 },
    unchecked
  ],
  "extensions of OpenAPI": [
    object({
      a: { type: "string", "x-go-name": "A", xml: { name: "a" }, externalDocs: { url: "https://example.org" } }
    }),
    { a: "b" },
    { a: {} },
    unchecked
  ],
  "a keyword that nobody knows": [
    object({ a: { type: "string", component: "select" } }, { required: ["a"] }),
    { a: "b" },
    {},
    unchecked
  ],
  "an unknown dialect": [
    object({ a: { type: "integer" } }, { $schema: "https://example.org/my-dialect", required: ["a"] }),
    { a: 1 },
    {},
    unchecked
  ],
  "a pattern that takes too long": [
    object({ a: { type: "string", pattern: "^(a+)+$" } }),
    { a: "aa" },
    { a: {} },
    unchecked
  ],
  "a pattern of another language": [
    object({ a: { type: "string", pattern: "(?i)^ab$" } }),
    { a: "ab" },
    { a: {} },
    unchecked
  ],
  "true and false as schemas": [object({ a: true, b: false }), { a: [1] }, { b: 1 }, unchecked],
  "required without a property": [
    object({ a: { type: "string" } }, { required: ["a", "b"], additionalProperties: true }),
    { a: "b", b: 1 },
    { a: "b" },
    unchecked
  ],
  "a type that is a list as a whole": [
    json({ type: ["object"], properties: { a: { type: "string" } }, required: ["a"] }),
    { a: "b" },
    {},
    unchecked
  ],
  "an object or null as a whole, by its type": [
    json({ type: ["object", "null"], properties: { a: { type: "string" } }, required: ["a"] }),
    { a: "b" },
    {},
    unchecked
  ],
  "a choice of required keys as a whole": [
    object({ id: { type: "integer" }, mail: { type: "string" } }, {
      anyOf: [{ required: ["id"] }, { required: ["mail"] }]
    }),
    { id: 1 },
    {},
    unchecked
  ],
  "oneOf as a whole": [
    json({ oneOf: [vehicles.car, vehicles.bike] }),
    { kind: "bike" },
    { kind: "car" },
    unchecked
  ],
  "a union that leads to its parts again and again": [
    json({
      anyOf: [{ $ref: "#/$defs/level1" }, { $ref: "#/$defs/level1" }],
      $defs: {
        ...Object.fromEntries(Array.from({ length: 60 }, (_, level) => {
          const next = { $ref: `#/$defs/level${level + 2}` }
          return [`level${level + 1}`, { anyOf: [next, next] }]
        })),
        level61: { type: "object", properties: { a: { type: "string" } }, required: ["a"] }
      }
    }),
    { a: "b" },
    {},
    unchecked
  ],
  "a union that leads to itself": [
    json({ anyOf: [{ $ref: "#" }, { type: "object", properties: { a: { type: "string" } }, required: ["a"] }] }),
    { a: "b" },
    {},
    unchecked
  ],
  "a union of texts as a whole": [
    json({ anyOf: [{ type: "string" }, { type: "array" }] }),
    undefined,
    undefined,
    { refused: "are a union" }
  ],
  "a union with keys of its own": [
    object({ note: { type: "string" } }, {
      oneOf: [
        { properties: { id: { type: "integer" } }, required: ["id"] },
        { properties: { mail: { type: "string" } }, required: ["mail"] }
      ],
      required: ["note"]
    }),
    { note: "n", mail: "m" },
    { note: "n" },
    unchecked
  ],
  "a union with open members": [
    json({
      anyOf: [
        {
          type: "object",
          properties: { a: { type: "string" } },
          required: ["a"],
          additionalProperties: { type: "integer" }
        },
        { type: "object", properties: { b: { type: "string" } }, required: ["b"] }
      ]
    }),
    { a: "x", n: 1 },
    { b: "x", n: 1 },
    unchecked
  ],
  "allOf as a whole": [
    json({
      type: "object",
      allOf: [{ $ref: "#/$defs/base" }, { properties: { b: { type: "integer" } }, required: ["b"] }],
      $defs: { base: { type: "object", properties: { a: { type: "string" } }, required: ["a"] } }
    }),
    { a: "c", b: 1 },
    { b: 1 },
    unchecked
  ],
  "a reference that leads nowhere": [
    object({ a: { $ref: "#/components/schemas/A" } }),
    undefined,
    undefined,
    { refused: "properties/a/$ref: it leads nowhere" }
  ],
  "a reference to another document": [
    object({ a: { $ref: "https://example.org/a.json" } }),
    undefined,
    undefined,
    { refused: "properties/a/$ref" }
  ],
  "a type that does not exist": [object({ a: { type: "int" } }), undefined, undefined, {
    refused: "properties/a/type"
  }],
  "required on a property": [
    object({ a: { type: "string", required: true } }),
    undefined,
    undefined,
    { refused: "properties/a/required" }
  ],
  "made from a promise": [
    jsonSchema(Promise.resolve({ type: "object" as const })),
    undefined,
    undefined,
    { refused: "Wait for it" }
  ],
  "made by a function": [
    jsonSchema(() => asJsonSchema({ type: "object", properties: { a: { type: "integer" } }, required: ["a"] })),
    { a: 1 },
    {},
    unchecked
  ],
  "made by a function that fails": [
    jsonSchema(() => {
      throw new Error("no schema today")
    }),
    undefined,
    undefined,
    { refused: "no schema today" }
  ]
})

type JsonSchemaOptions = NonNullable<Parameters<typeof jsonSchema>[1]>

const count = asJsonSchema({ type: "object", properties: { n: { type: "number" } }, required: ["n"] })
const tooLarge = { success: false, error: new Error("n must be below 10") } as const
const below = (limit: number) => (value: unknown) => Number(Object(value).n) < limit
const checked = (validate: NonNullable<JsonSchemaOptions["validate"]>) => jsonSchema(count, { validate })

const validations = tools({
  "at once": [checked((value) => below(10)(value) ? { success: true, value } : tooLarge), { n: 1 }, { n: 11 }],
  "later": [checked(async (value) => below(10)(value) ? { success: true, value } : tooLarge), { n: 1 }, { n: 11 }],
  "that transforms": [
    checked((value) => ({ success: true, value: [value] })),
    { n: 1 },
    { n: {} },
    onlyHere("Its JSON Schema is checked, too.")
  ],
  "that changes what it gets": [
    checked((value) => ({ success: true, value: Object.assign(Object(value), { seen: true }) })),
    { n: 1 }
  ],
  "that returns undefined as its value": [checked(() => ({ success: true, value: undefined })), { n: 1 }]
})

export const manyTools: Readonly<Record<string, Table>> = {
  "Zod 4, in a field": zod4,
  "Zod 4, as a whole": zod4Whole,
  "Zod 4, for services": services,
  "Zod 3": zod3,
  "Zod mini": zodMini,
  Valibot: valibot,
  ArkType: arktype,
  Effect: effect,
  TypeBox: typebox,
  "JSON Schema": jsonSchemas,
  "JSON Schema with a validation": validations
}

/** Results, with what the model reads of them. */
export const results: Readonly<
  Record<string, readonly [schema: FlexibleSchema<unknown>, result: unknown, told: Json]>
> = {
  "of Zod 4": [z.object({ a: z.string() }), { a: "b" }, { a: "b" }],
  "of Zod 4 with a default": [z.object({ a: z.string().default("x") }), { a: "b" }, { a: "b" }],
  "of Zod 3": [z3.object({ a: z3.string() }), { a: "b" }, { a: "b" }],
  "of Zod mini": [zm.object({ a: zm.string() }), { a: "b" }, { a: "b" }],
  "that are a union": [z.union([z.object({ a: z.string() }), z.string()]), "b", "b"],
  "that are a list": [z.array(z.int()), [1], [1]],
  "that are nothing": [z.void(), undefined, null],
  "that JSON does not have": [z.object({ a: z.bigint(), b: z.date() }), { a: 1n, b: new Date(0) }, {
    a: "1",
    b: "1970-01-01T00:00:00.000Z"
  }],
  "that JSON does not have, of Zod 3": [z3.object({ b: z3.date() }), { b: new Date(0) }, {
    b: "1970-01-01T00:00:00.000Z"
  }],
  "that JSON does not have, of Zod mini": [zm.object({ b: zm.date() }), { b: new Date(0) }, {
    b: "1970-01-01T00:00:00.000Z"
  }],
  "of a JSON Schema, with another key": [
    json({ type: "object", properties: { a: { type: "string" } } }),
    { a: "b", c: 1 },
    { a: "b", c: 1 }
  ],
  "of a JSON Schema that is a union": [json({ anyOf: [{ type: "object" }, { type: "null" }] }), { a: 1 }, { a: 1 }],
  "of a JSON Schema with a validation": [checked((value) => ({ success: true, value })), { n: 1 }, { n: 1 }],
  "of Effect": [
    Schema.toStandardSchemaV1(Schema.Struct({ at: Schema.DateFromString })),
    { at: new Date(0) },
    { at: "1970-01-01T00:00:00.000Z" }
  ]
}

/** Validations that break what they promise, so that no call gets through. */
const broken: Readonly<Record<string, () => unknown>> = {
  throws: () => {
    throw new Error("broken")
  },
  rejects: () => Promise.reject(new Error("broken")),
  "returns nothing": () => undefined,
  "returns a string": () => "valid",
  "returns true": () => true,
  "returns an empty object": () => ({}),
  "promises nothing": async () => undefined,
  "fails without an error": () => ({ success: false })
}

export const brokenValidations: Readonly<Record<string, Tool>> = Object.fromEntries(
  Object.entries(broken).map(([name, validate]) => [
    name,
    tool({ inputSchema: jsonSchema(count, { validate: asValidation(validate) }), execute })
  ])
)

// JavaScript is not checked.
function asValidation(validate: () => unknown) {
  return validate as () => { readonly success: true; readonly value: unknown }
}
