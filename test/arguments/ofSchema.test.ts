/** One object per schema: what it takes, what it refuses by name, and what the values become. */
import { assert, describe, it } from "@effect/vitest"
import { Arguments, decode, fit, inspect, type Json, message, preview, read, SchemaRefused } from "@fallible/arguments"
import { z } from "zod"

const refusedSchema = (schema: object): string => {
  try {
    Arguments.of(schema)
    return "accepted"
  } catch (error) {
    assert.instanceOf(error, SchemaRefused)
    return error.message.replace("The JSON Schema cannot be used: ", "")
  }
}

const said = (result: ReturnType<Arguments["decode"]>): unknown => result.ok ? result.value : message(result.refusal)

// What plain JavaScript passes.
const anything = (value: unknown): never => value as never

describe("a schema of a library", () => {
  const trip = Arguments.of(z.object({
    city: z.string().refine((city) => city !== "Nowhere", "there is no such city"),
    days: z.int().max(5).default(3),
    at: z.string().transform((at) => at.length).optional()
  }))

  it("gives values of its own type, with defaults, transformations and its own checks", () => {
    assert.deepStrictEqual(said(trip.decode("{'city':'Rome','at':'noon'}")), { city: "Rome", days: 3, at: 4 })
    assert.deepStrictEqual(said(trip.decode("{\"City\":\"Rome\",\"days\":\"2\"}")), { city: "Rome", days: 2 })
    assert.strictEqual(
      said(trip.decode("{\"city\":\"Rome\",\"days\":7}")),
      "'days': expected integer of at most 5, got 7."
    )
    const nowhere = trip.decode("{\"city\":\"Nowhere\"}")
    assert.strictEqual(said(nowhere), "'city': there is no such city, got \"Nowhere\".")
    assert(!nowhere.ok && nowhere.refusal.kind === "misfit")
    assert.deepStrictEqual(nowhere.refusal.issues.map(({ kind, path }) => [kind, path]), [["validator", ["city"]]])
    assert.deepStrictEqual(trip.unchecked, [])
  })

  it("judges what its JSON Schema cannot say: flags of a pattern, a text that is trimmed", () => {
    const codes = Arguments.of(z.object({
      code: z.string().regex(/^[a-z]+$/i),
      note: z.string().trim().max(3).optional(),
      n: z.int().optional()
    }))
    assert.deepStrictEqual(said(codes.decode("{'code':'ABC','note':' abc ','n':'5'}")), {
      code: "ABC",
      note: "abc",
      n: 5
    })
    assert.deepStrictEqual(said(codes.fit({ code: "ABC", n: "5" })), { code: "ABC", n: 5 })
    // What the library refuses, too, is told in the words of the JSON Schema.
    assert.strictEqual(
      said(codes.decode("{\"code\":\"A1\"}")),
      "'code': expected string matching ^[a-z]+$, got \"A1\"."
    )
    assert.strictEqual(
      said(codes.decode("{\"code\":\"ABC\",\"n\":\"x\"}")),
      [
        "'code': expected string matching ^[a-z]+$, got \"ABC\".",
        "'n': expected integer, got \"x\"."
      ].join(" ")
    )
  })

  it("is told in one line, whatever it says", () => {
    const standard = (issues: ReadonlyArray<{ readonly message: string }>) => ({
      "~standard": {
        version: 1 as const,
        vendor: "mine",
        validate: () => ({ issues }),
        jsonSchema: { input: () => ({ type: "object" }) }
      }
    })
    assert.strictEqual(said(Arguments.of(standard([])).decode("{}")), "the arguments: the value is not valid, got {}.")
    const long = said(Arguments.of(standard([{ message: `one\ntwo${"!".repeat(1_000)}` }])).decode("{}"))
    assert.match(String(long), /^the arguments: one two!{293}… \(707 more characters\), got \{\}\.$/)
  })

  it("keeps a secret out of its own words", () => {
    const login = Arguments.of(z.object({
      pin: z.string().meta({ writeOnly: true }).refine((pin) => pin.length > 9, {
        error: ({ input }) => `short: ${String(input)}`
      })
    }))
    assert.strictEqual(said(login.decode("{\"pin\":\"1234\"}")), "'pin': the value is not valid, got a string.")
    const cut = login.decode("{\"pin\":\"12")
    assert.notInclude(String(said(cut)), "12\"")
  })

  it("counts nothing as no arguments, and refuses what is no object", () => {
    assert.deepStrictEqual(Arguments.of(z.object({})).fit(undefined), { ok: true, value: {}, repairs: [] })
    assert.deepStrictEqual(Arguments.of({ type: "object" }).fit(null), { ok: true, value: {}, repairs: [] })
    assert.deepStrictEqual(said(Arguments.of({}).fit([1])), "the arguments: expected object, got [1].")
  })

  it("may be a JSON Schema that the library has made, and is then meant as it is", () => {
    const schema = z.toJSONSchema(z.strictObject({ n: z.string().transform(Number) }), { io: "input" })
    assert.deepStrictEqual(said(Arguments.of(schema).decode("{\"n\":\"5\"}")), { n: 5 })
    assert.match(String(said(Arguments.of(schema).decode("{\"n\":\"5\",\"m\":1}"))), /'m': no such key/)
  })

  it("that validates asynchronously, or throws, is a wrong use, and no promise is left behind", async () => {
    const asynchronous = Arguments.of(z.object({ a: z.string().refine(() => Promise.resolve(false)) }))
    assert.throws(
      () => asynchronous.decode("{\"a\":\"x\"}"),
      TypeError,
      "validates asynchronously, or one of its checks"
    )
    const throwing = Arguments.of(z.object({ a: z.string().transform((a) => new URL(a)) }))
    assert.throws(() => throwing.decode("{\"a\":\"x\"}"), TypeError, "one of its checks has thrown")
    // A rejection that nobody handles would fail this file.
    await Promise.resolve()
  })

  it("that has no JSON Schema is refused by name", () => {
    assert.match(refusedSchema(z.object({ d: z.date() })), /^zod cannot write it as a JSON Schema: /)
    const without = { "~standard": { version: 1, vendor: "valibot", validate: () => ({ value: {} }) } }
    assert.match(refusedSchema(without), /^it is a schema of valibot, without a JSON Schema/)
    assert.throws(() => decode("{}", z.object({})), SchemaRefused, "it is a schema of zod: use Arguments.of(schema)")
  })
})

describe("what is no JSON Schema of arguments", () => {
  it.each([
    [{ name: "pay", parameters: { type: "object" } }, "it has the schema in 'parameters': pass that."],
    [{ inputSchema: { type: "object" } }, "it has the schema in 'inputSchema': pass that."],
    [{ type: "function", function: { name: "pay" } }, "it has the schema in 'function': pass that."],
    [{ ast: {} }, "it is a schema of effect: pass the JSON Schema that effect makes of it."],
    [{ type: "array" }, "type: arguments are an object, which it does not allow."],
    [anything("{}"), "expected an object, got \"{}\"."],
    [anything(null), "expected an object, got null."]
  ])("is refused by name: %j", (schema, why) => {
    assert.strictEqual(refusedSchema(schema), why)
  })

  it("is not confused with a schema whose properties have such names", () => {
    assert.strictEqual(refusedSchema({ type: "object", properties: { parameters: { type: "object" } } }), "accepted")
  })

  it("is a schema that is too deep, or too large", () => {
    const nested = (levels: number, level: (inner: object) => object) => {
      let schema: object = { type: "object" }
      for (let depth = 0; depth < levels; depth++) schema = level(schema)
      return schema
    }
    assert.match(refusedSchema(nested(2_000, (inner) => ({ allOf: [inner] }))), /more than 200 of its schemas apply/)
    assert.strictEqual(
      refusedSchema(nested(2_000, (inner) => ({ properties: { a: inner } }))),
      "it has more than 1000 levels."
    )
    const $defs = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, index) => [`d${index}`, { $ref: `#/$defs/d${index + 1}` }])
    )
    assert.match(refusedSchema({ $ref: "#/$defs/d0", $defs: { ...$defs, d2000: {} } }), /more than 200 of its schemas/)
    assert.strictEqual(refusedSchema(nested(150, (inner) => ({ allOf: [inner] }))), "accepted")
    assert.isTrue(decode("{}", nested(150, (inner) => ({ allOf: [inner] }))).ok)
  })
})

describe("what plain JavaScript passes", () => {
  it("is refused with a sentence that says what to do", () => {
    for (
      const [run, words] of [
        [() => decode("{}", {}, anything({ prosa: true })), "decode has no option 'prosa'. Did you mean 'prose'?"],
        [() => read("{}", anything({ limits: { byte: 5 } })), "'limits' has no option 'byte'. Did you mean 'bytes'?"],
        [() => read("{}", anything({ limits: null })), "'limits' is null, not an object."],
        [() => fit({}, {}, anything({ prose: true })), "fit has no option 'prose'."],
        [
          () => Arguments.of({}, anything({ secret: [] })),
          "Arguments.of has no option 'secret'. Did you mean 'secrets'?"
        ],
        [() => decode("{}", {}, anything({ secrets: ["pin"] })), "'secrets' is a list of paths"],
        [() => decode("{}", {}, anything({ formats: { email: 5 } })), "formats.email is a number, not a function."],
        [
          () => decode(anything({ a: 1 }), {}),
          "The arguments are an object, not a text. For a value that is already parsed"
        ]
      ] as const
    ) assert.throws(run, TypeError, words)
    assert.deepStrictEqual(decode(null, { type: "object" }), { ok: true, value: {}, repairs: [] })
    assert.deepStrictEqual(preview(anything(undefined)).soFar, {})
    assert.deepStrictEqual(inspect(anything(null)).refused.map(({ why }) => why), ["expected an object, got null"])
  })

  it("is refused where it is not JSON, and ends", () => {
    const circle: { [key: string]: unknown } = { a: 1 }
    circle["self"] = circle
    let shared: object = {}
    for (let depth = 0; depth < 28; depth++) shared = { x: shared, y: shared }
    for (
      const value of [
        circle,
        { a: () => 1 },
        { a: 1n },
        { a: Infinity },
        { a: new Date(0) },
        { a: undefined },
        shared,
        JSON.parse(
          "{\"__proto__\":{\"admin\":true}}"
        )
      ]
    ) {
      assert.isFalse(fit(value, {}).ok)
      assert.isFalse(fit(value, { type: "object", properties: { a: { type: "integer" } } }).ok)
    }
  })
})

describe("formats of the user", () => {
  const formats = { email: (text: string) => text.includes("@") }
  const schema = { type: "object", properties: { to: { type: "array", items: { type: "string", format: "email" } } } }

  it("are checked, and are no longer listed as unchecked", () => {
    assert.strictEqual(
      said(decode("{\"to\":[\"ann\"]}", schema, { formats })),
      "'to.0': expected string with the format email, got \"ann\"."
    )
    assert.isTrue(decode("{\"to\":\"ann@x.co\"}", schema, { formats }).ok)
    assert.isTrue(decode("{\"to\":[\"ann\"]}", schema).ok)
    assert.strictEqual(inspect(schema).unchecked.length, 1)
    assert.deepStrictEqual(inspect(schema, { formats }).unchecked, [])
    assert.deepStrictEqual(Arguments.of(schema, { formats }).unchecked, [])
  })
})

describe("texts and schemas that take long", () => {
  // Each of these took from two seconds to a minute. A test that measured time would be flaky: this one would not end.
  it("are read in linear time", () => {
    const numbers = { type: "object", properties: { a: { type: "array", items: { type: "integer" } } } }
    assert.isFalse(decode(`{"a":"${" ".repeat(500_000)}x"}`, numbers).ok)
    assert.isFalse(decode(`{"a":"${"\\n".repeat(400_000)}x"}`, numbers).ok)
    const parts = Array.from({ length: 3_000 }, (_, index) => ({ properties: { [`p${index}`]: { type: "integer" } } }))
    assert.deepStrictEqual<unknown>(said(decode("{\"p1\":\"5\"}", { type: "object", allOf: parts })), { p1: 5 })
    const bounds = Array.from(
      { length: 2_000 },
      (_, index) => ({ properties: { a: { type: "integer", minimum: -index } } })
    )
    assert.deepStrictEqual<unknown>(said(decode("{\"a\":\"5\"}", { type: "object", allOf: bounds })), { a: 5 })
    const patterns = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`^z${index}`, { type: "integer" }]))
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, 1])))
    assert.isFalse(decode(many, { type: "object", patternProperties: patterns }).ok)
    const choices = Array.from({ length: 1_500 }, (_, index): Json => ({ x: index }))
    const items = JSON.stringify({ v: Array.from({ length: 3_000 }, (_, index) => ({ x: index })) })
    assert.isFalse(decode(items, { type: "object", properties: { v: { items: { enum: choices } } } }).ok)
  })
})
