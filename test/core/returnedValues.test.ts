/** What a handler returns reaches the model as JSON, and the call counts as executed. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Logger, Option, Predicate, Redacted, Schema, SchemaGetter } from "effect"
import { logging, outcomeOf, read } from "../support/illTyped.ts"
import { type Returned, returned } from "../support/returnedValues.ts"

const succeededWith = (outcome: ToolOutcome.ToolOutcome) =>
  outcome._tag === "Completed" ? outcome : assert.fail(read(outcome))

const sent = (success: Schema.ConstraintCodec<unknown, unknown>, value: unknown) =>
  outcomeOf(Tool.promise("send", { description: "", success }, async () => value), {})

const inField = ({ json, notes = [], ...rest }: Returned, field: string) => ({
  ...rest,
  json: json === undefined ? {} : { [field]: json },
  notes: notes.map((note) => /^\w+: /.test(note) ? `${field}.${note}` : `${field}: ${note}`)
})

const alone = ({ json = null, notes = [], ...rest }: Returned) => ({
  ...rest,
  json,
  notes: [
    ...notes.map((note) => /^\w+: /.test(note) ? note : note.charAt(0).toUpperCase() + note.slice(1)),
    ...(Predicate.hasProperty(json, "error")
      ? ["The result has an error. If this is the outcome of the call itself, it has failed."]
      : [])
  ]
})

describe("a value that a handler returns", () => {
  const kinds: Record<
    string,
    readonly [
      Schema.ConstraintCodec<unknown, unknown>,
      (value: unknown) => unknown,
      (returned: Returned) => { readonly json: unknown; readonly notes: ReadonlyArray<string> }
    ]
  > = {
    "Schema.Unknown": [Schema.Unknown, (value) => value, alone],
    "Schema.Any": [Schema.Any, (value) => value, alone],
    "Schema.Json": [Schema.Json, (value) => value, alone],
    "a field of a struct": [
      Schema.Struct({ value: Schema.Unknown }),
      (value) => ({ value }),
      (returned) => inField(returned, "value")
    ],
    "a field of a record": [
      Schema.Record(Schema.String, Schema.Any),
      (value) => ({ a: value }),
      (returned) => inField(returned, "a")
    ]
  }
  for (const [kind, [success, wrap, expectedOf]] of Object.entries(kinds)) {
    it.effect(`reaches the model under ${kind}`, () =>
      Effect.gen(function*() {
        for (const row of returned) {
          const outcome = succeededWith(yield* sent(success, wrap(row.value)))
          const { json, notes } = expectedOf(row)
          assert.deepStrictEqual(outcome.value, json, `${row.name} under ${kind}`)
          assert.deepStrictEqual(outcome.caveats, notes, `${row.name} under ${kind}`)
          assert.strictEqual(outcome.certainty, "executed")
        }
      }))
  }

  it.effect("may have any depth and size: what is beyond the limits is marked", () =>
    Effect.gen(function*() {
      let nested: unknown = 1
      for (let level = 0; level < 20_000; level++) nested = [nested]
      const deep = succeededWith(yield* sent(Schema.Unknown, nested))
      assert.strictEqual(JSON.stringify(deep.value), `${"[".repeat(512)}"…"${"]".repeat(512)}`)
      assert.deepStrictEqual(deep.caveats, ["What is marked '…' is left out: the result is too deep"])

      let doubled: unknown = 1
      for (let level = 0; level < 600; level++) doubled = [doubled, doubled]
      const shared = succeededWith(yield* sent(Schema.Any, doubled))
      assert.match(shared.caveats.join(), /^What is marked '…' is left out/)
    }))

  it.effect("is encoded by its schema where the schema has a JSON form", () =>
    Effect.gen(function*() {
      const at = Schema.Struct({
        at: Schema.Date,
        by: Schema.optionalKey(Schema.String),
        of: Schema.Option(Schema.Int)
      })
      const encoded = succeededWith(yield* sent(at, { at: new Date(0), of: Option.some(1), hash: "x" }))
      assert.deepStrictEqual(encoded.value, { at: "1970-01-01T00:00:00.000Z", of: { _tag: "Some", value: 1 } })
    }))

  it.effect("may have the schema's encoded form, and loses the fields that are not declared", () =>
    Effect.gen(function*() {
      const row = Schema.Struct({ at: Schema.Date, by: Schema.optionalKey(Schema.String) })
      const written = { at: "1970-01-01T00:00:00.000Z", by: undefined, passwordHash: "x" }
      const outcome = succeededWith(yield* sent(row, written))
      assert.deepStrictEqual(outcome.value, { at: "1970-01-01T00:00:00.000Z" })
      assert.deepStrictEqual(outcome.caveats, [])
    }))

  it.effect("of a class is shown without the fields that are not declared", () =>
    Effect.gen(function*() {
      const success = Schema.Struct({ made: Schema.instanceOf(Date), by: Schema.optional(Schema.Unknown) })
      const outcome = succeededWith(yield* sent(success, { made: new Date(0), left: { token: "t" } }))
      assert.notInclude(JSON.stringify(outcome.value), "token")
    }))
})

describe("a result of which a part does not fit", () => {
  it.effect("has its other parts encoded by their own schemas", () =>
    Effect.gen(function*() {
      const Cents = Schema.Finite.pipe(Schema.decodeTo(Schema.Finite, {
        decode: SchemaGetter.transform((dollars: number) => dollars * 100),
        encode: SchemaGetter.transform((cents: number) => cents / 100)
      }))
      const Card = Schema.String.pipe(Schema.decodeTo(Schema.String, {
        decode: SchemaGetter.transform((card: string) => card),
        encode: SchemaGetter.transform((card: string) => `****${card.slice(-4)}`)
      }))
      const rows: ReadonlyArray<readonly [Schema.ConstraintCodec<unknown, unknown>, unknown, unknown]> = [
        // An amount in cents, beside a field that is undefined.
        [
          Schema.Struct({ amount: Cents, note: Schema.optionalKey(Schema.String) }),
          { amount: 1250, note: undefined },
          { amount: 12.5 }
        ],
        // A card that is shortened, beside a new status and beside a class.
        [
          Schema.Struct({ card: Card, status: Schema.Literals(["open"]) }),
          { card: "4111111111111111", status: "frozen" },
          { card: "****1111", status: "frozen" }
        ],
        [
          Schema.Struct({ card: Card, at: Schema.instanceOf(URL) }),
          { card: "4111111111111111", at: new URL("https://a.b/") },
          { card: "****1111", at: "https://a.b/" }
        ],
        // A Map beside a new status.
        [
          Schema.Struct({ x: Schema.ReadonlyMap(Schema.String, Schema.Int), status: Schema.Literals(["open"]) }),
          { x: new Map([["a", 1]]), status: "frozen" },
          { x: [["a", 1]], status: "frozen" }
        ],
        [
          Schema.Struct({ list: Schema.Array(Schema.Unknown), status: Schema.Literals(["open"]) }),
          { list: [new Error("Sold out.")], status: "frozen" },
          { list: [{ error: "Sold out." }], status: "frozen" }
        ]
      ]
      for (const [schema, value, json] of rows) {
        assert.deepStrictEqual(succeededWith(yield* sent(schema, value)).value, json)
      }
    }))

  it.effect("is refused if an author's transformation could not write it", () =>
    Effect.gen(function*() {
      const outcome = yield* sent(
        Schema.Struct({ at: Schema.DateFromString, card: Schema.FiniteFromString }),
        { at: new Date(0), card: "4111111111111111" }
      )
      assert.isTrue(outcome._tag === "Failed" && outcome.failure.code === "invalid_result")
      assert.notInclude(read(outcome), "4111")
    }))

  it.effect("is shown however many rows are alike", () =>
    Effect.gen(function*() {
      const Row = Schema.Struct({ id: Schema.Int, status: Schema.Literals(["open"]) })
      const value = Array.from({ length: 30 }, (_, id) => ({ id, status: "frozen" }))
      assert.deepStrictEqual(succeededWith(yield* sent(Schema.Array(Row), value)).value, value)
    }))

  it.effect("settles no doubt", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = Tool.make("pay", {
        description: "",
        parameters: Schema.Struct({ order: Schema.String }),
        success: Schema.String,
        identity: ({ order }) => order,
        check: "find_payment"
      }, () =>
        Effect.suspend(() => {
          paid++
          return Effect.fail(new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true }))
        }))
      const find = (success: Schema.ConstraintCodec<unknown, unknown>, value: unknown) =>
        Tool.promise("find_payment", {
          description: "",
          parameters: Schema.Struct({ order: Schema.String }),
          success: success as Schema.ConstraintCodec<{ readonly count: number }, unknown>,
          sideEffect: "none",
          identity: ({ order }) => order,
          settles: { outcome: ({ count }) => count === 1 ? "executed" : "not_executed", final: true }
        }, async () => value as { readonly count: number })
      const order = { order: "7" }
      for (
        const [success, value] of [
          [Schema.Struct({ count: Schema.FiniteFromString }), { count: "1" }],
          [Schema.Struct({ count: Schema.Union([Schema.Int, Schema.Date]) }), { count: "1970-01-01T00:00:00.000Z" }],
          [Schema.Struct({ count: Schema.Literals([1]) }), { count: 0 }],
          [Schema.Unknown, { count: Number.NaN }]
        ] as const
      ) {
        paid = 0
        yield* Agent.make({ toolkit: Toolkit.make(pay, find(success as never, value)) }).run("Pay.").pipe(
          Effect.provide(ScriptedModel.layer([
            ScriptedModel.call("pay", order),
            ScriptedModel.call("find_payment", order),
            ScriptedModel.call("pay", order),
            ScriptedModel.text("I do not know.")
          ])),
          Effect.provide(Logger.layer([]))
        )
        assert.strictEqual(paid, 1)
      }
    }))
})

describe("a result that services write in another form", () => {
  const Row = Schema.Struct({
    id: Schema.String,
    total: Schema.Finite,
    paid: Schema.Boolean,
    state: Schema.Literals(["open", "closed"]),
    note: Schema.optionalKey(Schema.String)
  })
  const row = { id: "7", total: 231.5, paid: true, state: "open" }
  const rows: ReadonlyArray<readonly [name: string, field: object, json: object, note: string]> = [
    ["null for an absent field", { note: null }, row, "note: expected string, got null; left out"],
    ["a number as text", { total: "231.50" }, row, "total: expected number, got a string; converted"],
    ["a text as a number", { id: 7 }, row, "id: expected string, got a number; converted"],
    ["a boolean as text", { paid: "true" }, row, "paid: expected boolean, got a string; converted"],
    [
      "a choice in capitals",
      { state: "OPEN" },
      row,
      "state: expected \"open\" | \"closed\", got \"OPEN\"; converted"
    ]
  ]
  const list = (value: unknown, onMismatch: "show" | "refuse" = "show") =>
    outcomeOf(
      Tool.promise("list", { description: "", success: Schema.Array(Row), onMismatch }, async () => [value] as never),
      {}
    )

  for (const [name, field, json, note] of rows) {
    it.effect(`is read like arguments, with a note: ${name}`, () =>
      Effect.gen(function*() {
        const { caveats, certainty, value } = succeededWith(yield* list({ ...row, ...field }))
        assert.deepStrictEqual([value, caveats, certainty], [[json], [`0.${note}`], "executed"])
      }))

    it.effect(`is refused where only exact results are wanted: ${name}`, () =>
      Effect.gen(function*() {
        const outcome = yield* list({ ...row, ...field }, "refuse")
        assert.isTrue(outcome._tag === "Failed" && outcome.failure.code === "invalid_result")
      }))
  }

  it.effect("is converted as far as it can be, and the rest is shown as received", () =>
    Effect.gen(function*() {
      const { caveats, value } = succeededWith(yield* list({ ...row, total: "231.50", state: "frozen" }))
      assert.deepStrictEqual(value, [{ ...row, state: "frozen" }])
      assert.deepStrictEqual(caveats, [
        "0.total: expected number, got a string; converted",
        "0.state: expected \"open\" | \"closed\", got \"frozen\"; shown as received"
      ])
    }))

  it.effect("is not converted if that would hide lost digits, or has two readings", () =>
    Effect.gen(function*() {
      for (const [field, value] of [["id", 2 ** 70], ["total", "1,000"], ["paid", "yes"]] as const) {
        const { caveats, value: shown } = succeededWith(yield* list({ ...row, [field]: value }))
        assert.deepStrictEqual(shown, [{ ...row, [field]: value }])
        assert.match(caveats.join(), /; shown as received$/)
      }
    }))

  it.effect("may be a single item in place of its list, if it fits as one", () =>
    Effect.gen(function*() {
      const rowsOf = (value: unknown) => sent(Schema.Struct({ rows: Schema.Array(Row) }), { rows: value })
      const one = succeededWith(yield* rowsOf({ ...row, total: "231.50" }))
      assert.deepStrictEqual(one.value, { rows: [row] })
      assert.deepStrictEqual(one.caveats, ["rows: expected array, got an object; converted"])
      for (const outcome of [yield* rowsOf({ error: "x" }), yield* sent(Schema.Array(Row), { error: "x" })]) {
        assert.isTrue(outcome._tag === "Failed" && outcome.failure.code === "invalid_result")
      }
    }))

  it.effect("may be very long: the notes say how many items are alike", () =>
    Effect.gen(function*() {
      const tool = Tool.promise("list", { description: "", success: Schema.Array(Row) }, async () =>
        Array.from({ length: 3000 }, () => ({ ...row, total: "1.5" })) as never)
      const { caveats, value } = succeededWith(yield* outcomeOf(tool, {}))
      assert.deepStrictEqual(value, Array.from({ length: 3000 }, () => ({ ...row, total: 1.5 })))
      assert.isAtMost(caveats.length, 21)
    }))

  it.effect("shows no secret in a note", () =>
    Effect.gen(function*() {
      const success = Schema.Struct({ pin: Schema.Redacted(Schema.String), total: Schema.Finite })
      const tool = Tool.promise("list", { description: "", success }, async () => ({ pin: 1234, total: "5" }) as never)
      assert.notInclude(read(yield* outcomeOf(tool, {})), "1234")
    }))
})

describe("a result that does not match its schema", () => {
  const Order = Schema.Struct({
    id: Schema.String,
    status: Schema.Literals(["open", "closed"]),
    pin: Schema.optionalKey(Schema.Redacted(Schema.String)),
    lines: Schema.Array(Schema.Struct({ sku: Schema.String, price: Schema.Number })),
    note: Schema.optionalKey(Schema.String)
  })
  const order = { id: "7", status: "open", lines: [{ sku: "a", price: 1 }] }
  const getOrder = (value: unknown, onMismatch?: "show" | "refuse") =>
    logging(outcomeOf(
      Tool.promise(
        "get_order",
        {
          description: "",
          success: Order,
          ...(onMismatch && { onMismatch })
        },
        async () => value as typeof Order.Type
      ),
      {}
    ))

  it.effect("is shown as received, with what is wrong", () =>
    Effect.gen(function*() {
      const { logged, value: outcome } = yield* getOrder({ ...order, status: "on_hold", passwordHash: "x" })
      const { certainty, caveats, value } = succeededWith(outcome)
      assert.deepStrictEqual(value, { ...order, status: "on_hold" })
      assert.deepStrictEqual(caveats, [
        `status: expected "open" | "closed", got "on_hold"; shown as received`
      ])
      assert.strictEqual(certainty, "executed")
      assert.deepStrictEqual(logged, [
        `Warn | The result of 'get_order' does not match its schema:\n  status: expected "open" | "closed", got "on_hold"`
      ])
    }))

  it.effect("is shown at any depth", () =>
    Effect.gen(function*() {
      const { value: outcome } = yield* getOrder({
        ...order,
        lines: [{ sku: "a", price: "about 12", cost: 3 }],
        note: 5
      })
      const { caveats, value } = succeededWith(outcome)
      assert.deepStrictEqual(value, { ...order, lines: [{ sku: "a", price: "about 12" }], note: "5" })
      assert.deepStrictEqual(caveats, [
        "note: expected string, got a number; converted",
        `lines.0.price: expected number, got "about 12"; shown as received`
      ])
    }))

  it.effect("never shows a secret, or what stands in its place", () =>
    Effect.gen(function*() {
      for (const pin of ["1234", 1234, { of: "1234" }, ["1234"], Redacted.make(1234)]) {
        const { logged, value: outcome } = yield* getOrder({ ...order, status: "on_hold", pin })
        assert.notInclude(read(outcome) + logged.join(), "1234")
      }
    }))

  it.effect("is shown if it lacks a field, or is nothing", () =>
    Effect.gen(function*() {
      const { status: _, ...lacking } = order
      for (
        const [value, json, note] of [
          [lacking, lacking, "status: expected a value, got nothing; shown as received"],
          [undefined, null, "The tool ended without an error, and returned nothing"],
          [null, null, "The tool ended without an error, and returned nothing"]
        ] as const
      ) {
        const { value: outcome } = yield* getOrder(value)
        const { caveats, certainty, value: shown } = succeededWith(outcome)
        assert.deepStrictEqual([shown, caveats, certainty], [json, [note], "executed"])
      }
    }))

  it.effect("is shown if it is a word in place of an object that holds no secret", () =>
    Effect.gen(function*() {
      const { caveats, value } = succeededWith(yield* sent(Schema.Struct({ ok: Schema.Boolean }), "Deleted."))
      assert.deepStrictEqual(value, "Deleted.")
      assert.deepStrictEqual(caveats, ["as a whole: expected object, got a string; shown as received"])
    }))

  it.effect("is refused if nothing of what is declared is there, and the model reads what is wrong", () =>
    Effect.gen(function*() {
      for (
        const [value, wrong] of [
          ["<html>Please sign in</html>", "as a whole: expected object, got a string"],
          ["{\"id\":\"7\",\"sta", "as a whole: expected object, got a string"],
          [[], "as a whole: expected object, got an array of 0"],
          [{ ok: false, error: "service_unavailable" }, "id: expected a value, got nothing"]
        ] as const
      ) {
        const { value: outcome } = yield* getOrder(value)
        if (outcome._tag !== "Failed") return assert.fail(read(outcome))
        assert.strictEqual(outcome.failure.code, "invalid_result")
        assert.strictEqual(outcome.failure.detail, `The result of get_order does not match its schema: ${wrong}.`)
        assert.strictEqual(outcome.certainty, "executed")
        assert.notInclude(read(outcome), "may already have taken effect")
      }
    }))

  it.effect("is refused if nothing is left of it but lists and objects whose fields are not declared", () =>
    Effect.gen(function*() {
      const Priced = Schema.Array(Schema.Struct({ price: Schema.Finite }))
      const Page = Schema.Struct({ rows: Priced, total: Schema.optionalKey(Schema.Finite) })
      const refused: ReadonlyArray<readonly [schema: typeof Priced | typeof Page, value: unknown]> = [
        [Priced, Array.from({ length: 200 }, () => ({ cost: 5 }))],
        [Priced, [{}]],
        [Page, { rows: [{ cost: 5 }] }]
      ]
      for (const [schema, value] of refused) {
        const outcome = yield* sent(schema, value)
        assert.isTrue(
          outcome._tag === "Failed" && outcome.failure.code === "invalid_result",
          JSON.stringify(value).slice(0, 99)
        )
      }
      const Counted = Schema.Struct({ counts: Schema.Record(Schema.String, Schema.Finite), total: Schema.Finite })
      const shown: ReadonlyArray<
        readonly [schema: typeof Priced | typeof Page | typeof Counted, value: unknown, json: unknown]
      > = [
        [Priced, [{ cost: 5 }, { price: 6 }], [{}, { price: 6 }]],
        [Page, { rows: [], total: "many" }, { rows: [], total: "many" }],
        [Counted, { counts: {} }, { counts: {} }],
        [Page, { rows: [{ cost: 5 }], total: 1 }, { rows: [{}], total: 1 }]
      ]
      for (const [schema, value, json] of shown) {
        assert.deepStrictEqual(succeededWith(yield* sent(schema, value)).value, json)
      }
    }))

  it.effect("is refused if the tool says so", () =>
    Effect.gen(function*() {
      const { value: outcome } = yield* getOrder({ ...order, status: "on_hold" }, "refuse")
      assert.isTrue(outcome._tag === "Failed" && outcome.failure.code === "invalid_result")
      assert.include(read(outcome), "status: expected")
    }))

  it("must be shown or refused", () => {
    assert.throws(
      () => Tool.promise("a", { description: "", success: Schema.Json, onMismatch: "hide" as "show" }, () => 1),
      `A tool's 'onMismatch' must be "show" or "refuse"; got "hide".`
    )
  })
})
