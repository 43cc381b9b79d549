import { assert, describe, it } from "@effect/vitest"
import { type Json, type JsonSchema, masked, maskedText } from "@fallible/arguments"

const text = { type: "string" }
const pin = { ...text, writeOnly: true }
const struct = (properties: JsonSchema): JsonSchema => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false
})

const login = struct({ user: text, pin })

describe("masked", () => {
  const cases: ReadonlyArray<readonly [what: string, schema: JsonSchema, value: Json, shown: Json]> = [
    ["no secret", struct({ user: text }), { user: "ada" }, { user: "ada" }],
    ["a field", login, { user: "ada", pin: "1234" }, { user: "ada", pin: "<redacted>" }],
    [
      "a password",
      struct({ pin: { ...text, format: "password" } }),
      { pin: "1234" },
      { pin: "<redacted>" }
    ],
    [
      "a whole object, with its keys",
      struct({ login: { type: "object", additionalProperties: text, writeOnly: true } }),
      { login: { "1234": "1234" } },
      { login: "<redacted>" }
    ],
    [
      "the items of a list",
      struct({ logins: { type: "array", items: login } }),
      { logins: [{ user: "ada", pin: "1" }, { user: "bob", pin: "2" }] },
      { logins: [{ user: "ada", pin: "<redacted>" }, { user: "bob", pin: "<redacted>" }] }
    ],
    [
      "an item of a tuple",
      struct({ pair: { type: "array", prefixItems: [text, pin], minItems: 2, maxItems: 2 } }),
      { pair: ["ada", "1234"] },
      { pair: ["ada", "<redacted>"] }
    ],
    [
      "a member of a union, and no other member",
      struct({ login: { anyOf: [login, text, { type: "null" }] }, other: { anyOf: [login, { type: "null" }] } }),
      { login: "guest", other: null },
      { login: "guest", other: null }
    ],
    [
      "behind a reference",
      { ...struct({ login: { $ref: "#/$defs/Login" } }), $defs: { Login: login } },
      { login: { user: "ada", pin: "1234" } },
      { login: { user: "ada", pin: "<redacted>" } }
    ],
    [
      "a text of JSON with a secret",
      struct({ login: { ...text, contentMediaType: "application/json", contentSchema: login } }),
      { login: "{\"user\":\"ada\",\"pin\":\"1234\"}" },
      { login: "<redacted>" }
    ],
    ["a secret of the wrong type", login, { user: "ada", pin: ["1234"] }, { user: "ada", pin: "<redacted>" }],
    ["a secret under another name", login, { user: "ada", PIN: "1234" }, { user: "ada", PIN: "<redacted>" }],
    ["a secret one level up", struct({ login }), { login: "1234" }, { login: "<redacted>" }],
    ["a secret one level down", login, { args: { user: "ada", pin: "1234" } }, { args: "<redacted>" }],
    [
      "a tuple that does not fit",
      struct({ pair: { type: "array", prefixItems: [text, pin], minItems: 2, maxItems: 2 } }),
      { pair: [["ada", "1234"]] },
      { pair: "<redacted>" }
    ]
  ]
  for (const [what, schema, value, shown] of cases) {
    it(`hides ${what}`, () => {
      const before = JSON.stringify(value)
      assert.deepStrictEqual(masked(value, schema), shown)
      assert.strictEqual(JSON.stringify(value), before)
    })
  }
})

describe("maskedText", () => {
  for (
    const [what, written, shown] of [
      ["JSON", "{\"user\":\"ada\",\"pin\":\"1234\"}", "{\"user\":\"ada\",\"pin\":\"<redacted>\"}"],
      ["a text with mistakes", "{user: 'ada', pin: '1234',}", "{\"user\":\"ada\",\"pin\":\"<redacted>\"}"],
      [
        "words around it",
        "The pin is 1234: {\"user\":\"ada\",\"pin\":\"1234\"}",
        "{\"user\":\"ada\",\"pin\":\"<redacted>\"}"
      ],
      ["no arguments", "", "{}"],
      ["a text that is cut off", "{\"user\":\"ada\",\"pin\":\"12", "<redacted>"],
      ["a text that is no object", "1234", "<redacted>"]
    ] as const
  ) {
    it(`masks ${what}`, () => {
      assert.strictEqual(maskedText(written, login), shown)
    })
  }

  it("returns the text itself if there is no secret", () => {
    assert.strictEqual(maskedText("{user: ", struct({ user: text })), "{user: ")
  })
})
