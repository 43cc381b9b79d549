import { assert, describe, it } from "@effect/vitest"
import { Agent, Dispatch, type SemanticGarbage, Tool, ToolCall, Toolkit, type ToolUnavailable } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Redacted, Schedule, Schema } from "effect"
import { lettered } from "../support/lettered.ts"
import { asNeedingNothing, busy, more, order, Payment, payments, playing, textsOf } from "../support/paidOrders.ts"
import { lost } from "../support/sequence.ts"
import { codesOf } from "../support/toldFailures.ts"

describe("H3 an idempotency key", () => {
  it.effect("has 32 hexadecimal digits, and reveals nothing of the arguments", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([])
      yield* playing(pay, [{ order: "abcdef-4711" }])
      assert.match(keys[0]!, /^[0-9a-f]{32}$/)
      assert.notInclude(keys[0]!, "4711")
    }))

  // Changing these keys would repeat every payment under way.
  it.effect("is stable across platforms and versions", () =>
    Effect.gen(function*() {
      const golden = Effect.fnUntraced(function*(tool: Tool.Any, keys: ReadonlyArray<string>, args: object) {
        yield* playing(tool, [args], { scope: "golden", facts: CallFacts.empty, id: "run-1" })
        return keys.at(-1)
      })
      const whole = payments([])
      assert.strictEqual(yield* golden(whole.pay, whole.keys, order), "c1613e11b6245be62943215dea3926d2")
      const declared = payments([], { identity: ({ order }) => order })
      assert.strictEqual(yield* golden(declared.pay, declared.keys, order), "5629e2863dbac216a52a0f0dd07c5d20")
      const any = Schema.Struct({
        at: Schema.Date,
        big: Schema.BigInt,
        price: Schema.BigDecimal,
        tags: Schema.Array(Schema.Union([Schema.Finite, Schema.Struct({ a: Schema.NullOr(Schema.String) })]))
      })
      const keys: Array<string> = []
      const rich = Tool.make("rich", { description: "", parameters: any, success: Schema.Void }, () =>
        Effect.map(ToolCall.current, ({ idempotencyKey }) =>
          void keys.push(idempotencyKey)))
      const args = { at: "2026-11-22T00:00:00Z", big: "12345678901234567890", price: "1.50", tags: [1e21, { a: null }] }
      assert.strictEqual(yield* golden(rich, keys, args), "e05c18c119a0df40e298187ee61f908b")
    }))

  it.effect("is equal for another spelling, and differs for another intent", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments(Array.from({ length: 9 }, () => busy), { failureLimit: 20 })
      yield* playing(pay, [
        { order: "7", amount: 5 },
        "{\"amount\":5,\"order\":\"7\"}",
        { order: "7", amount: "5" },
        { Order: "7", amount: 5.0 },
        { order: "7" },
        { order: "7", note: null },
        { order: "7", note: "" },
        { order: "8" },
        { order: "7", amount: 6 }
      ])
      assert.strictEqual(lettered(keys), "a a a a a a b c d")
    }))

  it.effect("stays the same after a failure or a doubt, and changes after a success", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([busy, lost, "paid", more, "paid"], {
        sideEffect: "idempotent_by_key",
        identity: "all"
      })
      yield* playing(pay, [order, order, order, order, order])
      assert.strictEqual(lettered(keys), "a a a b c")
    }))

  it.effect("differs for two equal calls in one turn only if two are intended", () =>
    Effect.gen(function*() {
      const joined = payments([])
      yield* playing(joined.pay, [[order, order], order])
      assert.strictEqual(lettered(joined.keys), "a b")
      const each = payments([], { joins: false })
      yield* playing(each.pay, [[order, order], order])
      assert.strictEqual(lettered(each.keys), "a b c")
    }))

  it.effect("is shared by two equal calls in one turn if the first is in doubt", () =>
    Effect.gen(function*() {
      const unkeyed = payments([lost], { joins: false })
      const answer = yield* playing(unkeyed.pay, [[order, order]])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call"])
      assert.strictEqual(unkeyed.keys.length, 1)
      const keyed = payments([lost], { sideEffect: "idempotent_by_key", identity: "all", joins: false })
      const [, second] = textsOf(yield* playing(keyed.pay, [[order, order]]))
      assert.strictEqual(lettered(keyed.keys), "a a")
      assert.deepStrictEqual(JSON.parse(second!), {
        value: "paid",
        notes: [
          "An earlier call of pay may already have taken effect. Both calls share one idempotency key, so the effect happens only once"
        ]
      })
    }))

  it.effect("differs between runs, but not between runs of one scope", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([], { repeats: true })
      const first = yield* playing(pay, [order])
      yield* playing(pay, [order])
      yield* playing(pay, [order], { id: "job-7" })
      yield* playing(pay, [order], { id: "job-7" })
      yield* playing(pay, [order], { id: "job-8" })
      yield* playing(pay, [order], { scope: "customer-1", facts: CallFacts.empty })
      yield* playing(pay, [order], { scope: "customer-1", facts: CallFacts.empty })
      yield* playing(pay, [order], { facts: first.facts })
      assert.strictEqual(lettered(keys), "a b c c d e e f")
    }))

  it.effect("is the same for every attempt, and for the check of a call", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([lost, lost], { sideEffect: "idempotent_by_key", identity: "all" })
      const checked = pay.pipe(
        Tool.reconcile(() =>
          Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => {
            keys.push(idempotencyKey)
            return Effect.succeedNone
          })
        ),
        Tool.retry(Schedule.recurs(2))
      )
      yield* playing(checked, [order])
      assert.strictEqual(lettered(keys), "a a a a a")
    }))

  it.effect("is in the outcome if the handler read it", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([])
      const call = (tool: Tool.Any) =>
        Dispatch.call(Toolkit.make(asNeedingNothing(tool)), {
          id: "1",
          name: tool.name,
          arguments: "{\"order\":\"7\"}"
        }, {
          facts: CallFacts.empty
        })
      const { intent } = yield* call(pay)
      assert.strictEqual(intent?.key, keys[0])
      assert.strictEqual(intent?.id, intent?.arguments)
      const quiet = Tool.make(
        "quiet",
        { description: "", parameters: Payment, success: Schema.Void },
        () => Effect.void
      )
      assert.hasAllKeys((yield* call(quiet)).intent, ["id", "arguments", "number"])
      const reading = Tool.make("read", {
        description: "",
        parameters: Payment,
        success: Schema.Void,
        sideEffect: "none"
      }, () => Effect.void)
      assert.isUndefined((yield* call(reading)).intent)
    }))

  it.effect("is the given one in a direct dispatch", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([])
      const call = { id: "1", name: "pay", arguments: "{\"order\":\"7\"}" }
      yield* Dispatch.call(Toolkit.make(pay), call, {
        idempotencyKey: "order-7",
        id: "call-1",
        facts: CallFacts.empty
      })
      yield* Dispatch.call(Toolkit.make(pay), call, { id: "call-1" })
      assert.deepStrictEqual(keys, ["order-7", "call-1"])
    }))

  it.effect("is not made from secrets, so such calls are distinguished by position", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const pay = Tool.make("pay", {
        description: "",
        parameters: Schema.Struct({ pin: Schema.Redacted(Schema.String) }),
        success: Schema.Void
      }, ({ pin }) =>
        Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => {
          keys.push(idempotencyKey)
          return Redacted.value(pin) === "1234" ? Effect.fail(lost) : Effect.fail(busy)
        }))
      const answer = yield* playing(pay, [{ pin: "0000" }, { pin: "0000" }, { pin: "1234" }, { pin: "1234" }], {
        id: "run-1"
      })
      assert.deepStrictEqual(keys, ["run-1/turn/1/call/1", "run-1/turn/2/call/1", "run-1/turn/3/call/1"])
      // They still count as the same call.
      assert.deepStrictEqual(codesOf(answer), ["busy", "busy", "outcome_unknown", "repeated_call"])
    }))
})

describe("H3 an inner call", () => {
  const keyed = (name: string, keys: Array<string>) =>
    Tool.make(
      name,
      {
        description: "",
        parameters: Payment,
        success: Schema.String,
        sideEffect: "idempotent_by_key",
        identity: "all"
      },
      ({ order }) =>
        Effect.map(ToolCall.current, ({ idempotencyKey }) => {
          keys.push(`${order} ${idempotencyKey}`)
          return "paid"
        })
    )

  const outer = (handler: (attempt: number) => Effect.Effect<unknown, ToolUnavailable | SemanticGarbage>) =>
    Tool.make(
      "outer",
      { description: "", parameters: Payment, success: Schema.String, sideEffect: "idempotent" },
      () => Effect.flatMap(ToolCall.current, ({ attempt }) => Effect.as(handler(attempt), "done"))
    ).pipe(
      Tool.retry(Schedule.recurs(1))
    )

  it.effect("has a key of its own intent, whatever the order in which tools start", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const pay = keyed("pay", keys)
      const both = outer((attempt) => {
        const runs = ["7", "8"].map((order) => pay.run({ order, amount: 5 }))
        const all = Effect.all(attempt === 1 ? runs : runs.toReversed(), { concurrency: 2 })
        return attempt === 1 ? Effect.andThen(all, Effect.fail(lost)) : all
      })
      yield* playing(both, [order])
      const [seven, eight, eightAgain, sevenAgain] = keys
      assert.notStrictEqual(seven?.slice(2), eight?.slice(2))
      assert.deepStrictEqual([eightAgain, sevenAgain], [eight, seven])
    }))

  it.effect("has one key per repetition of the same act", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const pay = keyed("pay", keys)
      const twice = outer((attempt) => {
        const all = Effect.all([pay.run({ order: "7", amount: 5 }), pay.run({ order: "7", amount: 5 })])
        return attempt === 1 ? Effect.andThen(all, Effect.fail(lost)) : all
      })
      yield* playing(twice, [order])
      assert.strictEqual(lettered(keys), "a b a b")
    }))

  it.effect("has the same keys in every attempt when dispatched by hand", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const toolkit = Toolkit.make(keyed("pay", keys))
      const call = (order: string) =>
        Dispatch.call(toolkit, { id: "1", name: "pay", arguments: JSON.stringify({ order }) })
      const both = outer((attempt) => {
        const calls = ["7", "8", "8"].map(call)
        const all = Effect.all(attempt === 1 ? calls : calls.toReversed(), { concurrency: 3 })
        return attempt === 1 ? Effect.andThen(all, Effect.fail(lost)) : all
      })
      yield* playing(both, [order])
      assert.strictEqual(new Set(keys.slice(0, 3)).size, 3)
      assert.deepStrictEqual(keys.slice(3).toSorted(), keys.slice(0, 3).toSorted())
    }))

  it.effect("has other keys as a fallback, which is a different effect", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const key = Effect.map(ToolCall.current, ({ idempotencyKey }) => void keys.push(idempotencyKey))
      const mirror = Tool.make("mirror", { description: "", parameters: Payment, success: Schema.String }, () =>
        Effect.as(key, "mirrored"))
      const tool = Tool.make("outer", { description: "", parameters: Payment, success: Schema.String }, () =>
        Effect.andThen(key, Effect.fail(busy))).pipe(
          Tool.fallback(() =>
            Effect.andThen(key, Effect.fail(busy))
          ),
          Tool.fallback(() =>
            Effect.andThen(key, Effect.fail(busy))
          ),
          Tool.fallback(mirror.run)
        )
      yield* playing(tool, [order])
      assert.strictEqual(lettered(keys), "a b c d")
    }))

  it.effect("may be an agent, whose run id comes from the call, so a retry pays under the same keys", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const ids: Array<string> = []
      const inner = Agent.make({ toolkit: Toolkit.make(keyed("pay", keys)) })
      const script = () => ScriptedModel.layer([ScriptedModel.call("pay", order), ScriptedModel.text("Paid.")])
      const assistant = outer((attempt) => {
        const asked = (question: string) =>
          Effect.map(Effect.orDie(Effect.provide(inner.run(question), script())), ({ facts }) => {
            ids.push(facts.scope ?? "")
          })
        const all = Effect.all([asked("one"), asked("one"), asked("two")])
        return attempt === 1 ? Effect.andThen(all, Effect.fail(lost)) : all
      })
      yield* playing(assistant, [order])
      assert.strictEqual(lettered(ids), "a b c a b c")
      assert.strictEqual(lettered(keys), "a b c a b c")
      assert.match(ids[0]!, /^run-[0-9a-f]{32}$/)
    }))
})
