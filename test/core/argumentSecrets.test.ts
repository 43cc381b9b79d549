import { assert, describe, it } from "@effect/vitest"
import { coerce, hasSecrets } from "@fallible/arguments/internal"
import * as Arguments from "@fallible/core/Arguments"
import { Result, Schema } from "effect"
import { misfitOf } from "../../packages/core/src/internal/arguments/fieldIssue.ts"
import { closed, notes } from "../support/coercing.ts"
import { refusals } from "../support/refusals.ts"

describe("Coercion", () => {
  describe("secrets", () => {
    const secret = "hunter2-hunter2"
    const Password = Schema.RedactedFromValue(Schema.String.check(Schema.isMinLength(20)))
    const login = Schema.Struct({ user: Schema.String, password: Password })
    const messageOf = <S extends Schema.Codec<unknown, unknown>>(parameters: S, value: Schema.Json): string => {
      const { repairs } = coerce(value, Arguments.jsonSchema(parameters))
      const issues = refusals(parameters, value)
      assert.isTrue(issues.length > 0 || repairs.length > 0)
      return JSON.stringify([issues, repairs])
    }

    it("are shown as write-only", () => {
      const shown = Arguments.jsonSchema(Schema.Struct({
        a: Password,
        b: Schema.optionalKey(Schema.Redacted(Schema.String.annotate({ description: "a key" }))),
        c: Schema.Array(Schema.Redacted(Schema.Int)),
        d: Schema.fromJsonString(Schema.Struct({ key: Schema.RedactedFromValue(Schema.String) })),
        e: login.pipe(Schema.encodeKeys({ password: "pass_word" })),
        f: Schema.RedactedFromValue(Schema.String.check(Schema.makeFilter((text: string) => text.length > 3)))
      }))
      const properties = JSON.stringify(shown["properties"])
      assert.deepInclude(shown["properties"], {
        a: { type: "string", minLength: 10, writeOnly: true },
        b: { type: "string", description: "a key", writeOnly: true },
        d: { type: "string", writeOnly: true },
        f: { type: "string", writeOnly: true }
      })
      assert.strictEqual(properties.match(/"writeOnly":true/g)?.length, 6)
      assert.deepStrictEqual(shown["required"], ["a", "c", "d", "e", "f"])
    })

    const types: { readonly [name: string]: Schema.Codec<unknown, unknown> } = {
      String: Schema.String,
      Number: Schema.Number,
      Finite: Schema.Finite,
      BigInt: Schema.BigInt,
      FiniteFromString: Schema.FiniteFromString,
      Date: Schema.Date,
      URL: Schema.URL,
      Unknown: Schema.Unknown,
      Struct: Schema.Struct({ a: Schema.String }),
      Class: class Inner extends Schema.Class<Inner>("Inner")({ a: Schema.String }) {},
      Option: Schema.Option(Schema.String),
      HashMap: Schema.HashMap(Schema.String, Schema.String),
      Uint8Array: Schema.Uint8Array,
      Duration: Schema.Duration
    }
    const marks: { readonly [name: string]: (schema: Schema.Codec<unknown, unknown>) => Schema.Constraint } = {
      Redacted: (schema) => Schema.Redacted(schema),
      RedactedFromValue: (schema) => Schema.RedactedFromValue(schema),
      writeOnly: (schema) => schema.annotate({ writeOnly: true }),
      password: (schema) => schema.annotate({ format: "password" })
    }
    for (const [type, schema] of Object.entries(types)) {
      for (const [mark, marked] of Object.entries(marks)) {
        it(`are known by ${mark}, as a ${type}`, () => {
          assert.isTrue(hasSecrets(Arguments.jsonSchema(Schema.Struct({ x: marked(schema) }))))
          assert.isTrue(hasSecrets(Arguments.jsonSchema(Schema.Struct({ x: Schema.Array(marked(schema)) }))))
        })
      }
    }

    it("are not quoted from another place of their tuple", () => {
      const pair = Schema.Struct({ pair: Schema.Tuple([Schema.Int, Password]) })
      assert.notInclude(messageOf(pair, { pair: [[1, secret]] }), "hunter2")
    })

    it("are never quoted, at their path, below it or above it", () => {
      assert.deepStrictEqual(refusals(login, { user: "u", password: secret }), [
        ["password", "string of at least 20 characters", "a string"]
      ])
      for (
        const value of [
          secret,
          { user: "u", password: [secret, secret] },
          { user: "u", password: { inner: secret } },
          { user: "u", pasword: secret },
          { user: "u", password: [secret] },
          { user: "u", login: { user: "u", password: secret } },
          { args: { user: 7, password: secret } }
        ]
      ) assert.notInclude(messageOf(login, value), "hunter2")
    })

    it("are not quoted in notes either", () => {
      const open = closed({
        password: { type: "string", writeOnly: true },
        pins: { type: "array", items: { type: "string", format: "password" } }
      }, [])
      assert.deepStrictEqual(notes({ password: 123456 }, open), [
        "'password' is a string: a number was read as a string"
      ])
      assert.deepStrictEqual(notes({ pins: secret }, open), ["'pins' is an array: a string was read as an array of 1"])
      assert.deepStrictEqual(notes({ password: [secret] }, open), [
        "'password' is a single value: an array of 1 was read as a string"
      ])
    })

    it("are not quoted from unions, arrays, records, recursive schemas and classes", () => {
      class Login extends Schema.Class<Login>("Login")({ user: Schema.String, password: Password }) {}
      interface Tree {
        readonly key: string
        readonly kids: ReadonlyArray<Tree>
      }
      const Tree = Schema.Struct({
        key: Schema.RedactedFromValue(Schema.String),
        kids: Schema.Array(Schema.suspend((): Schema.Codec<unknown, unknown> => Tree))
      })
      const cases: ReadonlyArray<readonly [Schema.Codec<unknown, unknown>, Schema.Json]> = [
        [Schema.Union([login, Schema.Int]), secret],
        [Schema.Union([login, Schema.Struct({ token: Password })]), { user: "u", token: secret, password: secret }],
        [Schema.Union([Schema.Int, Password]), secret],
        [Schema.Array(Password), [secret]],
        [Schema.Array(Password), secret],
        [Schema.Record(Schema.String, Password), { a: secret }],
        [Schema.Record(Schema.String, Password), secret],
        [Login, { user: "u", password: secret, extra: secret }],
        [Tree, { key: "a", kids: [{ key: [secret, secret], kids: [] }] }],
        [Tree, { key: "a", kids: secret }],
        [Schema.RedactedFromValue(Schema.Struct({ pin: Schema.Int })), { pin: secret }]
      ]
      for (const [schema, value] of cases) {
        assert.notInclude(messageOf(Schema.Struct({ x: schema }), { x: value }), "hunter2", JSON.stringify(value))
      }
    })

    it("are not quoted in an author's words, nor in a decoder's own message", () => {
      const parameters = Schema.Struct({
        x: Schema.RedactedFromValue(Schema.String.check(Schema.makeFilter((text: string) => `${text} is too weak`)))
      })
      assert.notInclude(messageOf(parameters, { x: secret }), "hunter2")
      const decoded = Schema.decodeUnknownResult(Schema.toCodecJson(parameters))({ x: secret })
      if (Result.isSuccess(decoded)) return assert.fail()
      const schema = Arguments.jsonSchema(parameters)
      assert.notInclude(
        JSON.stringify(misfitOf(decoded.failure.issue, { x: secret }, schema, {})),
        "hunter2"
      )
    })

    it("do not hide the values beside them", () => {
      assert.deepStrictEqual(refusals(login, { user: ["a", "b"], password: `${secret}${secret}` }), [
        ["user", "string", "[\"a\",\"b\"]"]
      ])
    })
  })
})
