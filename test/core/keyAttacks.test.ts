/** Findings of attacks: ways in which a key was sent with two bodies, or did not cover an effect. */
import { assert, describe, it } from "@effect/vitest"
import { Policy, SchemaMismatch, Tool, ToolCall, ToolUnavailable } from "@fallible/core"
import { Effect, Schedule, Schema, SchemaGetter } from "effect"
import { byKey, mailing, note, paying, Payment, played, service } from "../support/keyedService.ts"
import { lettered } from "../support/lettered.ts"
import { codesOf } from "../support/toldFailures.ts"

describe("one key has one body", () => {
  it.effect("if a fixer corrects arguments that the service refused, in the same call", () =>
    Effect.gen(function*() {
      const paid = service("refuses")
      const fixed = Tool.fix(paying(paid), () => note("short"))
      const answer = yield* played(fixed, [note("very long"), note("short")])
      assert.deepStrictEqual(paid.requests, ["refuses", "acts", "acts"])
      assert.strictEqual(lettered(paid.keys), "a b c")
      assert.deepStrictEqual(codesOf(answer), [])
    }))

  it.effect("and the next call has the key of the corrected arguments while these are in doubt", () =>
    Effect.gen(function*() {
      const paid = service("refuses", "acts and drops")
      const fixed = Tool.fix(paying(paid), () => note("short"))
      yield* played(fixed, [note("very long"), note("other")])
      assert.deepStrictEqual(paid.requests, ["refuses", "acts and drops", "known"])
      assert.strictEqual(lettered(paid.keys), "a b b")
      assert.strictEqual(paid.acted, 1)
    }))

  it.effect("if its codec is lossy but its identity is complete", () =>
    Effect.gen(function*() {
      const rounding = Schema.String.pipe(Schema.decodeTo(Schema.Finite, {
        decode: SchemaGetter.transform(Number),
        encode: SchemaGetter.transform((amount: number) => amount.toFixed(0))
      }))
      const amounts: Array<number> = []
      const pay = Tool.make("pay", {
        description: "",
        parameters: Schema.Struct({ order: Schema.String, amount: rounding }),
        success: Schema.String,
        ...byKey
      }, ({ amount }) =>
        Effect.suspend(() => {
          amounts.push(amount)
          return Effect.fail(
            new ToolUnavailable({ code: "lost", detail: "Lost.", transient: true, outcome: "unknown" })
          )
        }))
      yield* played(pay, [{ order: "7", amount: "5.1" }, { order: "7", amount: "5.4" }])
      assert.deepStrictEqual(amounts, [5.1, 5.1])
    }))

  it.effect("whatever its first spelling: the order of a Set, the zeros of a number", () =>
    Effect.gen(function*() {
      for (
        const [kind, value] of [
          [Schema.ReadonlySet(Schema.String), ["b", "a"]],
          [Schema.ReadonlyMap(Schema.String, Schema.Finite), [["b", 1], ["a", 2]]],
          [Schema.BigDecimal, "1.50"]
        ] as const
      ) {
        const paid = service("acts and drops")
        const parameters: Schema.ConstraintDecoder<{ readonly value: unknown }> = Schema.Struct({ value: kind })
        const sideEffect = "idempotent_by_key"
        const pay = Tool.make(
          "pay",
          { description: "", parameters, success: Schema.String, sideEffect, identity: "all" },
          ({ value }) =>
            Effect.flatMap(
              ToolCall.current,
              ({ idempotencyKey }) =>
                paid.post(idempotencyKey, { value: value instanceof Set || value instanceof Map ? [...value] : value })
            )
        )
        yield* played(pay, [{ value }, { value }])
        assert.deepStrictEqual(paid.requests, ["acts and drops", "known"])
      }
    }))

  it.effect("if a default has changed since then", () =>
    Effect.gen(function*() {
      const bodies: Array<unknown> = []
      const pay = (currency: string, end: Effect.Effect<string, ToolUnavailable>) =>
        Tool.make("pay", {
          description: "",
          parameters: Schema.Struct({
            order: Schema.String,
            currency: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed(currency)))
          }),
          success: Schema.String,
          ...byKey
        }, (params) =>
          Effect.suspend(() => {
            bodies.push(params)
            return end
          }))
      const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
      const { facts } = yield* played(pay("EUR", Effect.fail(lost)), [{ order: "7" }])
      yield* played(pay("USD", Effect.succeed("receipt")), [{ order: "7" }], { facts })
      assert.deepStrictEqual(bodies, [{ order: "7", currency: "EUR" }, { order: "7", currency: "EUR" }])
    }))
})

describe("inside a call", () => {
  const busy = new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" })

  it.effect("a refused key is in doubt if an earlier attempt sent it", () =>
    Effect.gen(function*() {
      const conflict = new SchemaMismatch({
        side: "arguments",
        code: "conflict",
        detail: "In use.",
        cause: { status: 409 }
      })
      const ends = [Effect.fail(busy), Effect.fail(conflict)]
      const inner = Tool.make("inner", { description: "", parameters: Payment, success: Schema.String, ...byKey }, () =>
        Effect.suspend((): Effect.Effect<string, ToolUnavailable | SchemaMismatch> =>
          ends.shift() ?? Effect.succeed("")
        ))
      const outer = Tool.make("outer", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        inner.run({ order: "7" })).pipe(Tool.retry(Schedule.recurs(1)))
      assert.strictEqual((yield* Tool.outcome(outer, {})).certainty, "unknown")
    }))

  it.effect("a policy's own call has another key than the same call in the handler", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const log = Tool.make("log", { description: "", parameters: Payment, success: Schema.Void, ...byKey }, () =>
        Effect.map(ToolCall.current, ({ idempotencyKey }) =>
          void keys.push(idempotencyKey)))
      const tool = Tool.make("outer", { description: "", success: Schema.Void, sideEffect: "idempotent" }, () =>
        log.run({ order: "7" })).pipe(
          Tool.retry(Schedule.recurs(1)),
          Tool.with(Policy.make({
            kind: "custom",
            name: "logs",
            description: "logs first",
            wrap: (run) => (params) =>
              Effect.andThen(log.run({ order: "7" }), run(params))
          }))
        )
      yield* Tool.outcome(tool, {})
      assert.strictEqual(lettered(keys), "a b")
    }))
})

describe("doubt", () => {
  it.effect("about an inner effect without a key prevents a repetition", () =>
    Effect.gen(function*() {
      const { mail, sent } = mailing()
      const pay = Tool.make("pay", { description: "", parameters: Payment, success: Schema.String, ...byKey }, () =>
        mail.run({})).pipe(
          Tool.retry(Schedule.recurs(2))
        )
      const answer = yield* played(pay, [note("a"), note("a")])
      assert.strictEqual(sent.length, 1)
      assert.strictEqual(codesOf(answer).at(-1), "repeated_call")
    }))
})
