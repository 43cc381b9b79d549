/** The options and results of the functions of `@fallible/arguments`. `rules.test.ts` tests the rules. */
import { assert, describe, it } from "@effect/vitest"
import {
  decode,
  fit,
  type Json,
  type JsonSchema,
  message,
  numberAt,
  type Options,
  preview,
  read
} from "@fallible/arguments"
import { coerce, explainWith, type Finding, parse, sources } from "@fallible/arguments/internal"

const weather: JsonSchema = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer", maximum: 5 } },
  required: ["city"],
  additionalProperties: false
}

const kindOf = (text: string, options?: Options) => {
  const result = read(text, options)
  return result.ok ? "read" : result.refusal.kind
}

const refused = (text: string, schema: JsonSchema, options?: Options) => {
  const result = decode(text, schema, options)
  return result.ok ? assert.fail("accepted") : { refusal: result.refusal, said: message(result.refusal) }
}

describe("decode", () => {
  it("lists the repairs of the text, then those of the values", () => {
    const result = decode("{'City': \"Paris\", 'days': '3',}", weather)
    if (!result.ok) return assert.fail(message(result.refusal))
    assert.deepStrictEqual<unknown>(result.value, { city: "Paris", days: 3 })
    assert.deepStrictEqual(result.repairs.map((repair) => [repair.kind, message(repair)]), [
      ["single_quotes", undefined],
      ["trailing_comma", undefined],
      ["renamed_key", "'city' was written as 'City'."],
      ["text_for_number", undefined]
    ])
  })

  it("reads a missing text and an empty one as no arguments", () => {
    for (const text of [undefined, "", "null", "[]"]) {
      assert.deepStrictEqual<unknown>(decode(text, {}), { ...decode(text, {}), ok: true, value: {} })
      assert.strictEqual(refused(text ?? "", weather).refusal.kind, "misfit")
    }
  })

  it("keeps the digits of a number that becomes a text, and refuses one that has lost digits", () => {
    const text = "{\"a\":12345678901234567890}"
    const asText = decode(text, { properties: { a: { type: "string" } } })
    assert.deepStrictEqual<unknown>(asText.ok && asText.value, { a: "12345678901234567890" })
    for (const type of ["integer", "number"]) {
      assert.include(refused(text, { properties: { a: { type } } }).said, "got 12345678901234567890")
    }
    assert.include(refused(text, {}).said, "'a': expected a whole number of at most 9007199254740991")
  })

  it("shows values as written, even beside coerced ones", () => {
    const { said } = refused("{\"ID\":\"1\",\"big\":12345678901234567890}", {
      properties: { id: { type: "integer" }, big: { type: "number" } },
      required: ["id"],
      additionalProperties: false
    })
    assert.include(said, "got 12345678901234567890")
  })

  it("names the keys only if one is missing or unknown", () => {
    const keysOf = (text: string) => {
      const { refusal } = refused(text, weather)
      return "keys" in refusal ? refusal.keys?.names : undefined
    }
    assert.deepStrictEqual(keysOf("{}"), ["city", "days"])
    assert.isUndefined(keysOf("{\"city\":\"Rome\",\"days\":9}"))
    assert.strictEqual(
      refused("{\"a\":1}", { type: "object", properties: {}, additionalProperties: false }).said,
      "'a': no such key. No arguments are expected."
    )
  })

  it("advises by the union member that can be meant", () => {
    const day = { anyOf: [{ type: "string", format: "date" }, { type: "null" }] }
    const schema = { properties: { day }, required: ["day"] }
    assert.include(refused("{\"day\":\"2023-02-29\"}", schema).said, "There is no 29 February 2023.")
    assert.include(refused("{\"day\":\"null\"}", schema).said, "Write null, without quotes.")
  })

  it("reports keys that no member of a union has", () => {
    const member = (kind: string, more: object) => ({
      type: "object",
      properties: { kind: { const: kind }, ...more },
      required: ["kind"],
      additionalProperties: false
    })
    const schema = { properties: { x: { anyOf: [member("a", { one: {} }), member("b", { two: {} })] } } }
    const { refusal } = refused("{\"x\":{\"kind\":\"c\",\"one\":1,\"three\":3}}", schema)
    const issues = refusal.kind === "misfit" ? refusal.issues : []
    assert.deepStrictEqual(issues.map(({ kind, path }) => [kind, path.join(".")]), [
      ["choice", "x.kind"],
      ["unknown_key", "x.three"]
    ])
    const open = { properties: { x: { anyOf: [member("a", {}), { ...member("b", {}), additionalProperties: true }] } } }
    const unlisted = refused("{\"x\":{\"kind\":\"c\",\"one\":1}}", open)
    assert.notInclude(unlisted.said, "'x.one'")
  })

  it("returns its advice as data", () => {
    const { refusal } = refused("{\"citi\":\"Rome\",\"days\":\"1,000\"}", weather)
    if (refusal.kind !== "misfit") return assert.fail(refusal.kind)
    assert.deepStrictEqual(refusal.issues, [
      { kind: "missing_key", path: ["city"], expected: "string", actual: "nothing" },
      { kind: "type", path: ["days"], expected: "integer of at most 5", actual: "\"1,000\"" },
      {
        kind: "unknown_key",
        path: ["citi"],
        expected: "no such key",
        actual: "\"Rome\"",
        advice: "Did you mean 'city'?"
      }
    ])
    assert.deepStrictEqual([refusal.alternatives, refusal.keys], [["city", "days"], {
      path: [],
      names: ["city", "days"]
    }])
  })
})

describe("prose", () => {
  it("is skipped only if the option asks for it", () => {
    const text = "I will NOT call it with {\"city\":\"Rome\"}"
    assert.strictEqual(kindOf(text), "prose")
    assert.strictEqual(kindOf(text, { prose: false }), "prose")
    assert.strictEqual(kindOf(text, { prose: true }), "read")
    assert.isFalse(decode(text, weather).ok)
    assert.isTrue(decode(text, weather, { prose: true }).ok)
  })
})

describe("secrets", () => {
  const secret = "hunter2-hunter2"
  const login: JsonSchema = {
    type: "object",
    properties: {
      user: { type: "string" },
      logins: {
        type: "array",
        items: { type: "object", properties: { pin: { type: "integer" }, note: { type: "string" } }, required: ["pin"] }
      }
    },
    additionalProperties: false
  }
  const secrets = [["logins", "*", "pin"]]
  const all = (value: Json, schema: JsonSchema, options: Options) => {
    const result = fit(value, schema, options)
    return JSON.stringify([result, result.ok ? result.repairs.map(message) : message(result.refusal)])
  }

  it("are never quoted, nor are the values that contain them", () => {
    const values: ReadonlyArray<Json> = [
      { user: "a", logins: [{ pin: secret }] },
      { user: "a", logins: [{ pin: { deep: [secret] } }] },
      { user: "a", logins: [[secret]] },
      { user: "a", logins: secret },
      { user: 1, logins: { pin: secret } },
      [{ logins: [{ pin: secret }] }],
      { logins: [{ pin: 1, note: null }, { pin: [secret] }] }
    ]
    for (const value of values) {
      // A coerced secret is only in the value.
      assert.notInclude(all(value, login, { secrets }), secret, JSON.stringify(value))
      assert.include(JSON.stringify(fit(value, login)), "hunter2")
    }
  })

  it("are also declared by the schema", () => {
    for (const mark of [{ writeOnly: true }, { format: "password" }]) {
      const schema = { properties: { a: { type: "integer", ...mark } } }
      assert.notInclude(all({ a: secret }, schema, {}), secret)
      assert.notInclude(JSON.stringify(decode(`{"a": ${secret}}`, schema)), secret)
    }
  })

  it("may be declared by one member of a union", () => {
    const schema = {
      properties: {
        a: {
          anyOf: [{ type: "object", properties: { pin: { writeOnly: true, type: "integer" } } }, { type: "integer" }]
        }
      }
    }
    assert.notInclude(all({ a: [secret] }, schema, {}), secret)
  })

  it("do not hide other values", () => {
    assert.include(all({ user: 1.5, logins: [{ pin: "x", note: {} }] }, login, { secrets }), "expected string, got {}")
  })

  it("hide an unreadable text", () => {
    const result = refused(`{"logins":[{"pin":${secret}}]}`, login, { secrets })
    assert.notInclude(JSON.stringify(result), "hunter2")
    assert.include(JSON.stringify(refused(`{"logins":[{"pin":${secret}}]}`, login)), "hunter2")
  })
})

describe("limits", () => {
  it("bound the text's bytes and depth", () => {
    assert.strictEqual(kindOf("{\"a\":\"éé\"}", { limits: { bytes: 12 } }), "read")
    assert.strictEqual(kindOf("{\"a\":\"éé\"}", { limits: { bytes: 11 } }), "too_long")
    assert.strictEqual(kindOf("{\"a\":[[]]}", { limits: { depth: 3 } }), "read")
    assert.strictEqual(kindOf("{\"a\":[[]]}", { limits: { depth: 2 } }), "too_deep")
    assert.strictEqual(kindOf("{'a':[[]]}", { limits: { depth: 2 } }), "too_deep")
    assert.deepStrictEqual(preview("{\"a\":1,\"b\":[[2]]}", { limits: { depth: 2 } }).soFar, { a: 1, b: [[]] })
  })

  it("bound the issues and the notes", () => {
    const schema = { additionalProperties: { type: "integer" } }
    const value = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`key${index}`, index % 2 === 0 ? "x" : "1.0"])
    )
    for (const [limits, max] of [[{}, 20], [{ issues: 3 }, 3]] as const) {
      const result = fit(value, schema, { limits })
      assert.strictEqual(
        result.ok ? 0 : result.refusal.kind === "misfit" && result.refusal.issues.length,
        Math.min(max, 15)
      )
      assert.strictEqual(coerce(value, schema, { limits }).repairs.length, Math.min(max, 15))
    }
  })

  it("that are invalid are refused with an explanation", () => {
    for (
      const [limits, said] of [
        [{ bytes: 0 }, "limits.bytes has to be a whole number from 1 to 9007199254740991, and is 0."],
        [{ depth: 257 }, "limits.depth has to be a whole number from 1 to 256, and is 257."],
        [{ issues: 1.5 }, "limits.issues has to be a whole number from 1 to 9007199254740991, and is 1.5."]
      ] as const
    ) {
      assert.throws(() => read("{}", { limits }), RangeError, said)
      assert.throws(() => decode("{}", {}, { limits }), RangeError, said)
    }
  })
})

describe("preview", () => {
  it.each(
    [
      ["{\"a\":\"Dear", { a: "Dear" }],
      ["{\"a\":\"Dear \\", { a: "Dear " }],
      ["{\"a\":\"Dear \\u00e", { a: "Dear " }],
      ["{\"a\":\"\\\\", { a: "\\" }],
      ["{\"a\":\"", { a: "" }],
      ["{'a':['x', 'y", { a: ["x", "y"] }],
      ["{“a”:“x", { a: "x" }],
      ["{\"a\":1", {}],
      ["{\"a\":tru", {}],
      ["{\"a\":1,\"ke", { a: 1 }],
      ["{\"a\":1,\"ke\"", { a: 1 }],
      ["{\"a\":\"x\" @ \"y", { a: "x" }],
      ["", {}],
      ["no", {}]
    ] as const
  )("of %s is %j", (text, soFar) => {
    assert.deepStrictEqual<unknown>(preview(text).soFar, soFar)
  })
})

describe("explain", () => {
  const schema = { type: "object", properties: { id: { type: "string", maxLength: 8 }, days: { type: "integer" } } }

  it("joins the issues of another validator", () => {
    const findings: ReadonlyArray<Finding> = [
      { path: ["id"], kind: "check", expected: "'P-' and four digits", isAuthors: true },
      { path: ["days"], kind: "type", expected: "a number" },
      { path: ["more"], kind: "check", expected: "a prime" }
    ]
    const issues = explainWith({ id: "123456789", days: "x", more: 4 }, schema, findings)?.issues ?? []
    assert.deepStrictEqual(issues.map(({ expected, kind, path }) => [path[0], kind, expected]), [
      ["id", "bound", "'P-' and four digits"],
      ["days", "type", "integer"],
      ["more", "other", "a prime"]
    ])
  })

  it("reports only another validator's issues if there is no schema", () => {
    const findings: ReadonlyArray<Finding> = [{ path: ["a"], kind: "check", expected: "a prime" }]
    assert.strictEqual(message(explainWith({ a: 4 }, undefined, findings)!), "'a': expected a prime, got 4.")
    assert.isUndefined(explainWith({ a: 4 }, undefined, []))
  })
})

describe("strict texts", () => {
  it("are parsed as by JSON.parse, or refused with the place", () => {
    assert.deepStrictEqual(parse("[1e999,{\"__proto__\":1}]").ok, true)
    for (
      const [text, kind, path] of [
        ["{\"a\":[1,", "cut_off", ["a", 1]],
        ["{\"a\":[1,]}", "unexpected_character", ["a", 0]],
        ["{'a':1}", "unexpected_character", []],
        ["{\"a\":\u00a01}", "invisible_character", ["a"]],
        ["", "cut_off", []]
      ] as const
    ) {
      const result = parse(text)
      assert.deepInclude(result.ok ? {} : { ...result.refusal }, { kind, path }, text)
    }
  })

  it("have sources at any depth", () => {
    const deep = `${"[".repeat(50_000)}1e2${"]".repeat(50_000)}`
    assert.deepStrictEqual(
      sources(`{"x":${deep},"a":[{"b":1.10},{"c":{}},{"b":${deep}}]}`, ["a", "*", "b"]),
      [{ path: ["a", 0, "b"], text: "1.10" }, { path: ["a", 2, "b"], text: deep }]
    )
    assert.deepStrictEqual(sources(" [\"a]\\\"\", {\"k\" : 1} ] ", ["*"]).map(({ text }) => text), [
      "\"a]\\\"\"",
      "{\"k\" : 1}"
    ])
    assert.deepStrictEqual(sources("7", []), [{ path: [], text: "7" }])
    assert.deepStrictEqual(sources("{}", ["a"]), [])
  })
})

describe("numberAt", () => {
  it("knows how a number was written, even inside a text and after words", () => {
    for (
      const text of ["{\"a\":[{\"b\":1.10}]}", JSON.stringify("{\"a\":[{\"b\":1.10}]}"), "So: {\"a\":[{\"b\":1.10}]}"]
    ) {
      const result = read(text, { prose: true })
      if (!result.ok) return assert.fail(text)
      assert.strictEqual(numberAt(result, ["a", 0, "b"]), "1.10")
      assert.isUndefined(numberAt(result, ["a", 0]))
      assert.isUndefined(numberAt(result, ["c"]))
      assert.isUndefined(numberAt(result, []))
    }
  })
})
