import { assert, describe, it } from "@effect/vitest"
import { Guard, type PartialData, type SchemaMismatch, SemanticGarbage } from "@fallible/core"
import { Cause, Context, Effect, Exit, Schema } from "effect"
import * as fc from "fast-check"

const Order = Schema.Struct({ id: Schema.String, total: Schema.Finite })
const Orders = Schema.Struct({ orders: Schema.Array(Order), page: Schema.Int, pages: Schema.Int })

const decoded = (value: unknown) => Guard.decode(Orders)(Effect.succeed(value))
const read = (text: string) => Guard.json(Orders)(Effect.succeed(text))

describe("Guard", () => {
  describe("decode", () => {
    it.effect("returns a value of the declared form, decoded", () =>
      Effect.gen(function*() {
        const date = Effect.succeed({ at: "2024-01-02" }).pipe(
          Guard.decode(Schema.Struct({ at: Schema.DateFromString }))
        )
        assert.deepStrictEqual(yield* date, { at: new Date("2024-01-02") })
      }))

    it.effect("refuses another form with an issue per field, and the first one in the detail", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(decoded({ orders: [{ id: 7, total: "12" }], page: 1 }))
        assert.deepStrictEqual({ ...failure }, {
          _tag: "SchemaMismatch",
          side: "result",
          code: "invalid_result",
          detail: "The result does not match its schema: orders.0.id: expected string, got a number.",
          issues: [
            { path: ["orders", 0, "id"], expected: "string", actual: "a number" },
            { path: ["orders", 0, "total"], expected: "number", actual: "a string" },
            { path: ["pages"], expected: "a value", actual: "nothing" }
          ],
          alternatives: []
        })
      }))

    it.effect("reports that the value as a whole is wrong", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(decoded(null))
        assert.match(failure.detail, /as a whole: expected .*, got null\.$/)
        assert.deepStrictEqual(failure.issues.map(({ path }) => path), [[]])
      }))

    const Status = Schema.Literals(["open", "closed"])

    const actual = (schema: Schema.ConstraintDecoder<unknown>, value: unknown) =>
      Effect.map(Effect.flip(Guard.decode(schema)(Effect.succeed(value))), ({ detail, issues }) => {
        const [issue] = issues
        assert.include(detail, `got ${issue?.actual}.`)
        return issue?.actual
      })

    it.effect("quotes an unknown choice, in any schema", () =>
      Effect.gen(function*() {
        const cases: ReadonlyArray<
          readonly [schema: Schema.ConstraintDecoder<unknown>, value: unknown, quoted: string]
        > = [
          [Status, "shipped", "\"shipped\""],
          [Schema.Literal("open"), "shipped", "\"shipped\""],
          [Schema.Enum({ Open: "open" }), "shipped", "\"shipped\""],
          [Schema.Literals([1, 2]), 3, "3"],
          [Schema.Struct({ status: Schema.optionalKey(Schema.NullOr(Status)) }), { status: "shipped" }, "\"shipped\""],
          [Schema.Array(Schema.Struct({ status: Schema.Union([Status, Schema.Int]) })), [{ status: "" }], "\"\""],
          [Status, "x".repeat(200), `"${"x".repeat(79)}… (122 more characters)`]
        ]
        for (const [schema, value, quoted] of cases) assert.strictEqual(yield* actual(schema, value), quoted)
        const failure = yield* Effect.flip(
          Guard.json(Schema.Array(Schema.Struct({ status: Status })))(Effect.succeed("[{\"status\":\"shipped\"}]"))
        )
        assert.include(failure.detail, "0.status: expected \"open\" | \"closed\", got \"shipped\".")
      }))

    it.effect("reveals only the type of other values, and of secrets", () =>
      Effect.gen(function*() {
        const secret = Schema.toCodecJson(Schema.Struct({ status: Schema.Redacted(Status) }))
        const cases: ReadonlyArray<readonly [schema: Schema.ConstraintDecoder<unknown>, value: unknown, kind: string]> =
          [
            [Status, { token: "s3cret" }, "an object"],
            [Status, null, "null"],
            [Schema.Int, "s3cret", "a string"],
            [Schema.String.check(Schema.isPattern(/^a/)), "s3cret", "a string"],
            [secret, { status: "s3cret" }, "a string"],
            [Status.annotate({ format: "password" }), "s3cret", "a string"],
            [Status.check(Schema.makeFilter(() => true)).annotate({ writeOnly: true }), "s3cret", "a string"],
            [Schema.Struct({ a: Status }).annotate({ writeOnly: true }), { a: "s3cret" }, "a string"],
            [Schema.Union([Status, Schema.Literal("a").annotate({ writeOnly: true })]), "s3cret", "a string"]
          ]
        for (const [schema, value, kind] of cases) assert.strictEqual(yield* actual(schema, value), kind)
      }))

    it.effect("keeps the failures and requirements of the guarded effect", () =>
      Effect.gen(function*() {
        class Upstream extends Context.Service<Upstream, { readonly body: unknown }>()("Upstream") {}
        const guarded: Effect.Effect<typeof Orders.Type, "refused" | SchemaMismatch, Upstream> = Upstream.use((
          { body }
        ) => body === undefined ? Effect.fail("refused" as const) : Effect.succeed(body)).pipe(Guard.decode(Orders))

        const exit = yield* Effect.exit(Effect.provideService(guarded, Upstream, { body: undefined }))
        assert.deepStrictEqual(exit, Exit.fail("refused"))
      }))
  })

  describe("json", () => {
    const text = JSON.stringify({ orders: [{ id: "a\n\"1\"", total: 12 }], page: 1, pages: 3 })

    it.effect("reads a text in the schema's JSON form", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* read(text), { orders: [{ id: "a\n\"1\"", total: 12 }], page: 1, pages: 3 })
        const date = Guard.json(Schema.Date)(Effect.succeed("\"2024-01-02T00:00:00.000Z\""))
        assert.deepStrictEqual(yield* date, new Date("2024-01-02"))
      }))

    it.effect("reports a text that ends inside an object, a list or a string as truncated", () =>
      Effect.gen(function*() {
        for (
          const start of [
            "",
            "{",
            "{\"orders\"",
            "{\"orders\":",
            "{\"orders\":[",
            "{\"orders\":[{\"id\":\"a",
            "{\"page\":1"
          ]
        ) {
          const failure = yield* Effect.flip(read(start))
          assert.strictEqual(failure.code, "truncated", start)
          assert.include(failure.detail, `The result was cut off after ${start.length} characters: `)
        }
      }))

    it.effect("names the field at which a text was cut off, in bounded words", () =>
      Effect.gen(function*() {
        const cases = [
          ["{\"orders\":[{\"id\":\"7\",\"total\":", "at orders[0].total, a value is missing."],
          [
            "{\"orders\":[{\"id\":\"7\",\"total\":1",
            "at orders[0].total, the rest after a number is missing."
          ],
          ["{\"or", "the closing '\"' of a string is missing."],
          ["[[1,2],[3", "at [1][0], the rest after a number is missing."],
          ["{\"a b\":{\"$c\":", "at [\"a b\"].$c, a value is missing."],
          [
            "{\"a\":".repeat(30),
            "at ….a.a.a.a.a.a.a.a.a.a, a value is missing."
          ],
          [
            `{"${"k".repeat(200)}":`,
            `at ["${"k".repeat(39)}… (162 more characters)], a value is missing.`
          ]
        ] as const
        for (const [start, told] of cases) {
          const failure = yield* Effect.flip(read(start))
          assert.strictEqual(failure.detail, `The result was cut off after ${start.length} characters: ${told}`)
        }
      }))

    it.effect("names the field at which a text is not JSON", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(read("{\"orders\":[{\"total\":NaN}]}"))
        assert.strictEqual(
          failure.detail,
          "The result is not valid JSON: at offset 20, in orders[0].total, expected a value, got \"NaN}]}\"."
        )
      }))

    it.effect("shows the place where another text is not JSON", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(read("<html><body>502 Bad Gateway</body></html>"))
        assert.strictEqual(failure.code, "invalid_json")
        assert.strictEqual(
          failure.detail,
          "The result is not valid JSON: at offset 0, expected a value, got \"<html><body>502 Bad Gateway</b\"."
        )
        assert.instanceOf(failure.cause, SyntaxError)
      }))

    it.effect("reports JSON of another form as invalid_result", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(read("{\"error\":\"quota\"}"))
        assert.strictEqual(failure.code, "invalid_result")
        assert.deepStrictEqual(failure.issues.map(({ path }) => path), [["orders"], ["page"], ["pages"]])
      }))

    it.effect("accepts no proper prefix of a body", () =>
      Effect.gen(function*() {
        const exits = yield* Effect.forEach(
          Array.from(text, (_, length) => text.slice(0, length)),
          (prefix) => Effect.exit(read(prefix))
        )
        assert.isTrue(exits.every(Exit.isFailure))
      }))

    it("fails with a SchemaMismatch and never with a defect, whatever the text", () => {
      fc.assert(fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.json()), (text) => {
        const exit = Effect.runSyncExit(read(text))
        const failed = Exit.isFailure(exit) ? exit.cause : assert.fail(`accepted ${text}`)
        assert.isFalse(Cause.hasDies(failed))
        assert.deepInclude(Cause.squash(failed), { _tag: "SchemaMismatch", side: "result" })
      }))
    })
  })

  describe("check", () => {
    const noOrders = new SemanticGarbage({ code: "empty_result", detail: "No orders." })
    const notEmpty = (orders: ReadonlyArray<string>) => orders.length === 0 ? noOrders : undefined

    it.effect("returns a valid value unchanged", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* Effect.succeed(["a"]).pipe(Guard.check(notEmpty)), ["a"])
        assert.deepStrictEqual(yield* Guard.check(Effect.succeed(["a"]), notEmpty), ["a"])
      }))

    it.effect("fails with the check's failure for an invalid value", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* Effect.flip(Effect.succeed([]).pipe(Guard.check(notEmpty))), noOrders)
        assert.strictEqual(yield* Effect.flip(Guard.check(Effect.succeed([]), notEmpty)), noOrders)
      }))

    it.effect("may run effects first, and keeps the value", () =>
      Effect.gen(function*() {
        class Known extends Context.Service<Known, ReadonlySet<string>>()("Known") {}
        const guarded = (city: string) =>
          Effect.succeed(city).pipe(
            Guard.check((city) => Known.use((known) => known.has(city) ? Effect.void : Effect.fail(noOrders))),
            Effect.provideService(Known, new Set(["Paris"]))
          )
        assert.strictEqual(yield* guarded("Paris"), "Paris")
        assert.strictEqual(yield* Effect.flip(guarded("Atlantis")), noOrders)
      }))
  })

  describe("check, as an Effect", () => {
    const empty = new SemanticGarbage({ code: "x", detail: "y" })
    const checked = (verdict: Effect.Effect<unknown>) =>
      Effect.exit(Effect.succeed({ n: 0 }).pipe(Guard.check(() => verdict as Effect.Effect<void>)))

    it.effect("fails with a failure that it succeeds with", () =>
      Effect.gen(function*() {
        const lookUp = Effect.succeed(false)
        const guarded = Effect.succeed({ n: 0 }).pipe(
          Guard.check(() => Effect.map(lookUp, (ok) => ok ? undefined : empty))
        )
        assert.strictEqual(yield* Effect.flip(guarded), empty)
        assert.deepStrictEqual(yield* checked(Effect.succeed(empty)), Exit.fail(empty as never))
      }))

    it.effect("passes nothing if it answers anything but undefined or a failure", () =>
      Effect.gen(function*() {
        for (const answer of [true, false, "ok", null, 0, { ok: true }, Effect.fail(empty)]) {
          const exit = yield* checked(Effect.succeed(answer))
          if (!Exit.isFailure(exit)) return assert.fail(JSON.stringify(answer))
          assert.include(
            String(Cause.squash(exit.cause)),
            "succeed with undefined if the value is good, and with a failure if it is not."
          )
        }
        assert.deepStrictEqual(yield* checked(Effect.void), Exit.succeed({ n: 0 }))
        for (const answer of [true, false]) {
          const exit = yield* Effect.exit(Guard.check(Effect.succeed(1), () => answer as unknown as undefined))
          assert.isTrue(Exit.hasDies(exit))
        }
      }))
  })

  describe("partial", () => {
    it.effect("marks nothing if it answers with an Effect", () =>
      Effect.gen(function*() {
        const lookUp = () => Effect.succeed(undefined) as Guard.Incomplete
        const exit = yield* Effect.exit(Guard.partial(Effect.succeed(1), lookUp))
        assert.include(
          Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "",
          "A function of Guard.partial returned an Effect: return an object, or undefined."
        )
      }))

    const users = { names: ["ada"], page: 1, pages: 3 }
    const say = (incomplete: Guard.Incomplete) => Effect.flip(Guard.partial(Effect.succeed(users), () => incomplete))

    it.effect("returns a complete value", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* Effect.succeed(users).pipe(Guard.partial(() => undefined)), users)
      }))

    it.effect("keeps the value, its coverage and the arguments to continue with", () =>
      Effect.gen(function*() {
        const failure: PartialData<typeof users> = yield* Effect.flip(
          Effect.succeed(users).pipe(
            Guard.partial(({ page, pages }) => ({
              coverage: { have: page, of: pages, unit: "pages" },
              next: { page: page + 1 }
            }))
          )
        )
        assert.deepStrictEqual({ ...failure }, {
          _tag: "PartialData",
          code: "more_pages",
          detail: "This is only part of the result: 1 of 3 pages.",
          data: users,
          coverage: { have: 1, of: 3, unit: "pages" },
          next: { page: 2 }
        })
      }))

    it.effect("has the code truncated if nothing continues it", () =>
      Effect.gen(function*() {
        const failure = yield* say({})
        assert.deepStrictEqual([failure.code, failure.detail], [
          "truncated",
          "This is only part of the result."
        ])
      }))

    it.effect("reports how much there is if the total is unknown", () =>
      Effect.gen(function*() {
        assert.strictEqual(
          (yield* say({ coverage: { have: 3, unit: "records" } })).detail,
          "This is only part of the result: 3 records."
        )
        assert.strictEqual(
          (yield* say({ coverage: { have: 3, of: 47 } })).detail,
          "This is only part of the result: 3 of 47 parts."
        )
      }))

    it.effect("prefers the given code and words", () =>
      Effect.gen(function*() {
        const failure = yield* say({ code: "stale_page", detail: "Page 1, of yesterday.", hint: "Ask again." })
        assert.deepInclude({ ...failure }, { code: "stale_page", detail: "Page 1, of yesterday.", hint: "Ask again." })
      }))
  })

  it.effect("adds one failure per stage: of the text, the form, the meaning and the rest", () =>
    Effect.gen(function*() {
      const guarded = (
        text: string
      ): Effect.Effect<typeof Orders.Type, SchemaMismatch | SemanticGarbage | PartialData<typeof Orders.Type>> =>
        Effect.succeed(text).pipe(
          Guard.json(Orders),
          Guard.check(({ orders }) =>
            orders.length === 0 ? new SemanticGarbage({ code: "empty_result", detail: "No orders." }) : undefined
          ),
          Guard.partial(({ page, pages }) => page < pages ? { next: { page: page + 1 } } : undefined)
        )
      const order = { id: "a", total: 1 }
      const verdicts = yield* Effect.forEach(
        [
          "{",
          "{}",
          JSON.stringify({ orders: [], page: 1, pages: 3 }),
          JSON.stringify({ orders: [order], page: 1, pages: 3 }),
          JSON.stringify({ orders: [order], page: 3, pages: 3 })
        ],
        (text) => Effect.match(guarded(text), { onFailure: ({ code }) => code, onSuccess: () => "whole" })
      )
      assert.deepStrictEqual(verdicts, ["truncated", "invalid_result", "empty_result", "more_pages", "whole"])
    }))
})
