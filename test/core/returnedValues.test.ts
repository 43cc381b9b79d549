/** What a handler returns reaches the model as JSON, and the call counts as executed. */
import { assert, describe, it } from "@effect/vitest"
import { Tool } from "@fallible/core"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Effect, Option, Redacted, Schema } from "effect"
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
  notes: notes.map((note) => /^\w+: /.test(note) ? note : note.charAt(0).toUpperCase() + note.slice(1))
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
      const { value: outcome } = yield* getOrder({ ...order, lines: [{ sku: "a", price: "12.50", cost: 3 }], note: 5 })
      const { caveats, value } = succeededWith(outcome)
      assert.deepStrictEqual(value, { ...order, lines: [{ sku: "a", price: "12.50" }], note: 5 })
      assert.deepStrictEqual(caveats, [
        `lines.0.price: expected number, got "12.50"; shown as received`,
        "note: expected string, got a number; shown as received"
      ])
    }))

  it.effect("never shows a secret, or what stands in its place", () =>
    Effect.gen(function*() {
      for (const pin of ["1234", 1234, { of: "1234" }, ["1234"], Redacted.make(1234)]) {
        const { logged, value: outcome } = yield* getOrder({ ...order, status: "on_hold", pin })
        assert.notInclude(read(outcome) + logged.join(), "1234")
      }
    }))

  it.effect("is refused if it lacks a field, or is another kind of value, and the model reads what is wrong", () =>
    Effect.gen(function*() {
      const { status: _, ...lacking } = order
      for (
        const [value, wrong] of [
          [lacking, "status: expected a value, got nothing"],
          ["<html>Please sign in</html>", "as a whole: expected object, got a string"],
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
