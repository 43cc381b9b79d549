import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  type Answer,
  CallFacts,
  Dispatch,
  PartialData,
  SchemaMismatch,
  SemanticGarbage,
  type SideEffect,
  Tool,
  ToolCall,
  ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import { ScriptedModel } from "@fallible/testing"
import { Effect, HashMap, Random, Redacted, Schedule, Schema, SchemaGetter } from "effect"
import { lettered } from "../support/lettered.ts"

const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
const busy = new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" })
const declined = new SemanticGarbage({ code: "declined", detail: "The card was declined." })
const more = new PartialData({ code: "more_pages", detail: "1 of 2.", data: "paid" })

type End = "paid" | ToolFailure.ToolFailure<string>

const Payment = Schema.Struct({
  order: Schema.String,
  amount: Schema.Finite.pipe(Schema.withDecodingDefaultKey(Effect.succeed(5))),
  note: Schema.optionalKey(Schema.String)
})

type Options = Partial<Pick<Tool.Definition<string, typeof Payment.Type>, "identity" | "repeats" | "failureLimit">> & {
  readonly sideEffect?: SideEffect.SideEffect
}

/** A payment that ends as it is told, and then well; and what its handler was given. */
const payments = (ends: ReadonlyArray<End>, options: Options = {}) => {
  const keys: Array<string> = []
  const sent: Array<typeof Payment.Type> = []
  const left = [...ends]
  const pay = Tool.make(
    "pay",
    { description: "Pays an order", parameters: Payment, success: Schema.String, ...options },
    (params) =>
      Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => {
        keys.push(idempotencyKey)
        sent.push(params)
        const end = left.shift() ?? "paid"
        return end === "paid" ? Effect.succeed(end) : Effect.fail(end)
      })
  )
  return { keys, sent, pay }
}

/** A run in which the model makes these calls, one in a turn, or several. */
const playing = (
  tool: Tool.Any,
  calls: ReadonlyArray<string | object | ReadonlyArray<object>>,
  options: Agent.RunOptions = {}
) => {
  const moves = calls.map((args) =>
    Array.isArray(args)
      ? ScriptedModel.calls(...args.map((args: object): [string, object] => [tool.name, args]))
      : ScriptedModel.call(tool.name, args)
  )
  const agent = Agent.make({ toolkit: Toolkit.make(asNeedingNothing(tool)), limits: { turns: 30 } })
  return Effect.provide(agent.run("Go.", options), ScriptedModel.layer([...moves, ScriptedModel.text("Done.")]))
}

// The tools of these tests need no services.
const asNeedingNothing = (tool: Tool.Any) => tool as Tool.Tool<string, object, unknown, ToolUnavailable>

const codesOf = ({ ledger }: Answer.Answer) =>
  ledger.failures.flatMap(({ code, ended }) => ended === "told" ? [code] : [])

const textsOf = ({ transcript }: Answer.Answer) =>
  Array.from(transcript).flatMap((message) => message.role === "tool" ? [message.text] : [])

const order = { order: "7" }

describe("H3 an idempotency key", () => {
  it.effect("is 32 hexadecimal digits, with nothing of the arguments in it", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([])
      yield* playing(pay, [{ order: "abcdef-4711" }])
      assert.match(keys[0]!, /^[0-9a-f]{32}$/)
      assert.notInclude(keys[0]!, "4711")
    }))

  // Whoever changes these makes a second payment of each that is under way.
  it.effect("stays what it is over platforms and versions", () =>
    Effect.gen(function*() {
      const golden = Effect.fnUntraced(function*(tool: Tool.Any, keys: ReadonlyArray<string>, args: object) {
        yield* playing(tool, [args], { scope: "golden", facts: CallFacts.empty, id: "run-1" })
        return keys.at(-1)
      })
      const whole = payments([])
      assert.strictEqual(yield* golden(whole.pay, whole.keys, order), "2610e44e7e4f5d327046a91a2db080d3")
      const declared = payments([], { identity: ({ order }) => order })
      assert.strictEqual(yield* golden(declared.pay, declared.keys, order), "be0828c5e2e2580d13dff755b47e8fa3")
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
      assert.strictEqual(yield* golden(rich, keys, args), "92ca446218bb1985b8c045c03e691953")
    }))

  it.effect("is the same for what is written in another way, and another for what is another effect", () =>
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

  it.effect("is the same after a failure and after doubt, and the next one after a success", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([busy, lost, "paid", more, "paid"], { sideEffect: "idempotent_by_key" })
      yield* playing(pay, [order, order, order, order, order])
      assert.strictEqual(lettered(keys), "a a a b c")
    }))

  it.effect("of two equal calls in one turn is two, since two may be meant", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([])
      yield* playing(pay, [[order, order], order])
      assert.strictEqual(lettered(keys), "a b c")
    }))

  it.effect("of two equal calls in one turn is one, if nobody knows what became of the first", () =>
    Effect.gen(function*() {
      const unkeyed = payments([lost])
      const answer = yield* playing(unkeyed.pay, [[order, order]])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call"])
      assert.strictEqual(unkeyed.keys.length, 1)
      const keyed = payments([lost], { sideEffect: "idempotent_by_key" })
      const [, second] = textsOf(yield* playing(keyed.pay, [[order, order]]))
      assert.strictEqual(lettered(keyed.keys), "a a")
      assert.deepStrictEqual(JSON.parse(second!), {
        value: "paid",
        notes: [
          "An earlier call of pay may already have taken effect. Both calls have one key, and take effect once"
        ]
      })
    }))

  it.effect("differs from run to run, and not from run to run of one scope", () =>
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

  it.effect("is the same for every attempt, and the call's own for a check", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([lost, lost], { sideEffect: "idempotent_by_key" })
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

  it.effect("is told by the outcome, if the handler asked for it", () =>
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

  it.effect("is the one that a dispatch by hand gives", () =>
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

  it.effect("is not made of secrets: their calls are told apart by their place", () =>
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
      // They are the same call all the same.
      assert.deepStrictEqual(codesOf(answer), ["busy", "busy", "outcome_unknown", "repeated_call"])
    }))
})

describe("H3 an identity", () => {
  it.effect("says which arguments mean the effect: a changed note is no other payment", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([lost], { identity: ({ amount, order }) => ({ amount, order }) })
      const answer = yield* playing(pay, [{ ...order, note: "a" }, { ...order, note: "b" }, { order: "8", note: "b" }])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call"])
      assert.strictEqual(keys.length, 2)
      assert.include(
        textsOf(answer)[1],
        "This call was not run: a call with the same purpose has already failed with outcome_unknown: Reset."
      )
    }))

  it.effect("that is refused may be tried with other arguments, and under another key", () =>
    Effect.gen(function*() {
      const { keys, pay, sent } = payments([declined, declined], { identity: ({ order }) => order })
      const answer = yield* playing(pay, [
        { ...order, amount: 100 },
        { ...order, amount: 100 },
        { ...order, amount: 60 },
        { ...order, amount: 50 }
      ])
      assert.deepStrictEqual(codesOf(answer), ["declined", "repeated_call", "declined"])
      assert.deepStrictEqual(sent.map(({ amount }) => amount), [100, 60, 50])
      assert.strictEqual(lettered(keys), "a b c")
    }))

  const empties: ReadonlyArray<unknown> = [undefined, null, "", "  ", [], {}, [undefined], {
    order: undefined,
    of: [""]
  }]

  it.effect("that is empty refuses the call, and says what to do", () =>
    Effect.gen(function*() {
      for (const empty of empties) {
        const { keys, pay } = payments([], { identity: () => empty })
        const answer = yield* playing(pay, [order])
        assert.deepStrictEqual(codesOf(answer), ["no_identity"])
        assert.deepStrictEqual(keys, [])
        assert.deepStrictEqual(JSON.parse(textsOf(answer)[0]!), {
          ok: false,
          error: "SchemaMismatch",
          code: "no_identity",
          detail: "This call was not run: its arguments do not identify what pay is to do.",
          hint: "Call it again with the arguments that identify it.",
          retry: "Do not repeat this call as it is. Call again with corrected arguments."
        })
      }
    }))

  it.effect("that is empty refuses a call that only reads, too", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([], { sideEffect: "none", identity: () => "" })
      assert.deepStrictEqual(codesOf(yield* playing(pay, [order])), ["no_identity"])
      assert.deepStrictEqual(keys, [])
    }))

  it.effect("that is zero or false is one", () =>
    Effect.gen(function*() {
      for (const identity of [0, false, 0n, [0], { a: false }, new Map([["a", 1]]), new Date(0)]) {
        const { keys, pay } = payments([], { identity: () => identity })
        yield* playing(pay, [order])
        assert.strictEqual(keys.length, 1)
      }
    }))

  class Opaque {
    readonly #order = "7"
    get order() {
      return this.#order
    }
  }

  it.effect("that throws, or that nobody can compare, is a fault of the tool: nothing runs", () =>
    Effect.gen(function*() {
      const faults: ReadonlyArray<() => unknown> = [
        () => {
          throw new Error("bug")
        },
        () => Promise.resolve("7"),
        () => () => "7",
        () => Redacted.make("7"),
        () => new Opaque(),
        () => Effect.succeed("7")
      ]
      for (const identity of faults) {
        const { keys, pay } = payments([], { identity })
        const answer = yield* playing(pay, [order])
        assert.deepStrictEqual(codesOf(answer), ["defect"])
        assert.deepStrictEqual(keys, [])
        const [entry] = answer.ledger.failures
        assert.deepInclude(entry, { certainty: "not_executed" })
      }
    }))

  it.effect("of what is corrected is looked at anew", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const strict = Tool.make("pay", { description: "", parameters: Payment, success: Schema.String }, ({ order }) =>
        Effect.flatMap(
          ToolCall.current,
          ({ idempotencyKey }): Effect.Effect<string, SchemaMismatch | ToolUnavailable> => {
            keys.push(idempotencyKey)
            return order === "x"
              ? Effect.fail(new SchemaMismatch({ side: "arguments", code: "unknown_order", detail: "No such order." }))
              : Effect.fail(lost)
          }
        )).pipe(Tool.fix(() =>
          order
        ))
      const answer = yield* playing(strict, [{ order: "x" }, order, { order: "x" }])
      assert.strictEqual(lettered(keys), "a b a")
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call", "repeated_call"])
      keys.length = 0
      const outer = Tool.make("outer", { description: "", success: Schema.String, sideEffect: "idempotent" }, () =>
        strict.run({ order: "x", amount: 5 }))
      yield* playing(outer, [{}])
      assert.strictEqual(lettered(keys), "a b")
    }))

  describe("is asked for by Tool.make of a tool whose service goes by the key,", () => {
    const make = (parameters: Schema.ConstraintDecoder<unknown>) => () =>
      Tool.make(
        "pay",
        { description: "", parameters, success: Schema.Void, sideEffect: "idempotent_by_key" },
        () => Effect.void
      )
    const drawn = Schema.Int.pipe(Schema.withDecodingDefaultKey(Random.nextInt))
    const oneWay = Schema.String.pipe(Schema.decodeTo(Schema.Int, {
      decode: SchemaGetter.transform((text: string) => text.length),
      encode: SchemaGetter.forbidden(() => "one way")
    }))
    const omitted = Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("x"), { encodingStrategy: "omit" }))
    const why: Readonly<Record<string, readonly [Schema.ConstraintDecoder<unknown>, string]>> = {
      "if its arguments hold a secret": [Schema.Struct({ a: Schema.Redacted(Schema.String) }), "they hold a secret"],
      "if a default is drawn": [
        Schema.Struct({ a: Schema.Array(Schema.Struct({ b: drawn })) }),
        "they have a default that may be another each time"
      ],
      "if a class has no codec": [
        Schema.Struct({ a: Schema.instanceOf(Opaque) }),
        "they cannot be encoded again without loss"
      ],
      "if they decode one way alone": [Schema.Struct({ a: oneWay }), "they cannot be encoded again without loss"],
      "if encoding leaves something out": [Schema.Struct({ a: omitted }), "they cannot be encoded again without loss"]
    }
    for (const [name, [parameters, reason]] of Object.entries(why)) {
      it(name, () => {
        assert.throws(
          make(parameters),
          `'pay' needs an 'identity', since no idempotency key can be made of its arguments as they are: ${reason}.`
        )
      })
    }

    it("and of no other", () => {
      class Money extends Schema.Class<Money>("Money")({ cents: Schema.Int }) {}
      for (
        const field of [
          Schema.Date,
          Schema.BigInt,
          Schema.BigDecimal,
          Schema.URL,
          Schema.Duration,
          Schema.FiniteFromString,
          Schema.Option(Schema.Int),
          Schema.OptionFromOptionalKey(Schema.Int),
          Schema.HashMap(Schema.String, Schema.Duration),
          Schema.Uint8ArrayFromBase64,
          Schema.Trim,
          Schema.optional(Schema.String),
          Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("x"))),
          Money
        ]
      ) {
        assert.doesNotThrow(make(Schema.Struct({ field })))
      }
      assert.doesNotThrow(() =>
        Tool.make("pay", {
          description: "",
          parameters: Schema.Struct({ order: Schema.String, at: drawn }),
          success: Schema.Void,
          sideEffect: "idempotent_by_key",
          identity: ({ order }) => order
        }, () => Effect.void)
      )
    })
  })

  it.effect("is the text, where a default is drawn", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = Tool.make("pay", {
        description: "",
        parameters: Schema.Struct({
          order: Schema.String,
          reference: Schema.Int.pipe(Schema.withDecodingDefaultKey(Random.nextInt))
        }),
        success: Schema.Void
      }, () =>
        Effect.suspend(() => {
          paid++
          return Effect.fail(lost)
        }))
      const answer = yield* playing(pay, [order, order])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call"])
      assert.strictEqual(paid, 1)
    }))
})

describe("H3 a tool whose service goes by the key", () => {
  const byKey = { sideEffect: "idempotent_by_key", identity: ({ order }: { readonly order: string }) => order } as const

  it.effect("is sent the first arguments again while nobody knows what became of them, and the model is told", () =>
    Effect.gen(function*() {
      const { keys, pay, sent } = payments([lost], byKey)
      const answer = yield* playing(pay, [{ ...order, note: "a" }, { ...order, note: "b" }, { ...order, note: "c" }])
      assert.deepStrictEqual(sent.map(({ note }) => note), ["a", "a", "c"])
      assert.strictEqual(lettered(keys), "a a b")
      const { notes, value } = JSON.parse(textsOf(answer)[1]!)
      assert.deepInclude(answer.ledger.repairs, {
        turn: 2,
        call: 1,
        tool: "pay",
        kind: "repeated",
        path: [],
        note: notes[0]
      })
      assert.strictEqual(value, "paid")
      assert.deepStrictEqual(notes, [
        "An earlier call of pay may already have taken effect. Both calls have one key, and take effect once. The arguments of the earlier call were sent: {\"order\":\"7\",\"amount\":5,\"note\":\"a\"}"
      ])
    }))

  it.effect("is sent the new arguments once it is certain that the first ones did nothing", () =>
    Effect.gen(function*() {
      const { keys, pay, sent } = payments([busy], byKey)
      yield* playing(pay, [{ ...order, amount: 100 }, { ...order, amount: 50 }])
      assert.deepStrictEqual(sent.map(({ amount }) => amount), [100, 50])
      assert.strictEqual(lettered(keys), "a b")
    }))

  it.effect("keeps its doubt through a refusal that comes later, and loses it with a success", () =>
    Effect.gen(function*() {
      const refused = payments([lost, declined], byKey)
      const first = yield* playing(refused.pay, [order, order])
      const certainties = first.ledger.failures.map((entry) => "certainty" in entry ? entry.certainty : undefined)
      assert.deepStrictEqual(certainties, ["unknown", "unknown"])
      assert.include(textsOf(first)[1], "it may already have taken effect")
      const settled = payments([lost, "paid", declined], byKey)
      const second = yield* playing(settled.pay, [order, order, order])
      assert.deepStrictEqual(codesOf(second), ["connection", "declined"])
      assert.strictEqual(lettered(settled.keys), "a a b")
    }))

  it.effect("may not be repeated with other arguments, if the first ones hold a secret", () =>
    Effect.gen(function*() {
      const pins: Array<string> = []
      const pay = Tool.make("pay", {
        description: "",
        parameters: Schema.Struct({ order: Schema.String, pin: Schema.Redacted(Schema.String) }),
        success: Schema.String,
        ...byKey
      }, ({ pin }) =>
        Effect.suspend(() => {
          pins.push(Redacted.value(pin))
          return Effect.fail(lost)
        }))
      const answer = yield* playing(pay, [{ ...order, pin: "1" }, { ...order, pin: "2" }, { ...order, pin: "1" }])
      assert.deepStrictEqual(pins, ["1", "1"])
      assert.include(textsOf(answer)[1], "Call it with exactly the arguments of the earlier call: that is safe.")
      assert.include(
        textsOf(answer)[1],
        "Do not repeat this call with these arguments: it may already have taken effect."
      )
      assert.deepStrictEqual(codesOf(answer), ["connection", "repeated_call", "connection"])
      assert.notInclude(JSON.stringify(Schema.encodeSync(CallFacts.schema)(answer.facts)), "pin")
    }))

  it.effect("is told of the arguments that were sent only where they are others", () =>
    Effect.gen(function*() {
      const { pay, sent } = payments([declined, lost], byKey)
      const answer = yield* playing(pay, [{ ...order, note: "a" }, { ...order, note: "b" }, { ...order, note: "b" }])
      assert.deepStrictEqual(sent.map(({ note }) => note), ["a", "b", "b"])
      assert.notInclude(textsOf(answer)[2], "The arguments of the earlier call were sent")
      assert.include(textsOf(answer)[2], "Both calls have one key")
    }))

  it.effect("is sent the very same, also where decoding draws a default anew", () =>
    Effect.gen(function*() {
      const sent: Array<number> = []
      const pay = Tool.make("pay", {
        description: "",
        parameters: Schema.Struct({
          order: Schema.String,
          reference: Schema.Int.pipe(Schema.withDecodingDefaultKey(Random.nextInt))
        }),
        success: Schema.String,
        ...byKey
      }, ({ reference }) =>
        Effect.suspend(() => {
          sent.push(reference)
          return Effect.fail(lost)
        }))
      yield* playing(pay, [order, order, { ...order, reference: 5 }])
      assert.strictEqual(sent.length, 3)
      assert.strictEqual(new Set(sent).size, 1)
    }))

  it.effect("is sent the first arguments again for what a fixer makes of a call, while they may have been sent under its key", () =>
    Effect.gen(function*() {
      const { keys, pay, sent } = payments([lost, lost], byKey)
      const strict = Tool.fix(pay, () => ({ ...order, note: "fixed" }))
      const answer = yield* playing(strict, [{ ...order, note: "a" }, { oder: "7" }, { ...order, note: "fixed" }])
      assert.deepStrictEqual(sent.map(({ note }) => note), ["a", "a", "a"])
      assert.strictEqual(lettered(keys), "a a a")
      assert.deepStrictEqual(codesOf(answer), ["connection", "connection"])
      const bodies: Array<string | undefined> = []
      const outer = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byKey },
        (params) =>
          params.order === "x"
            ? Effect.fail(new SchemaMismatch({ side: "arguments", code: "unknown_order", detail: "No such order." }))
            : Effect.suspend((): Effect.Effect<string, ToolUnavailable | SemanticGarbage> =>
              Effect.fail(bodies.push(params.note) === 1 ? lost : declined)
            )
      ).pipe(Tool.fix(() => ({ ...order, note: "fixed" })))
      const certaintiesAfter = Effect.fnUntraced(function*(first: string) {
        bodies.length = 0
        const { ledger } = yield* playing(outer, [{ ...order, note: first }, { order: "x" }])
        return ledger.failures.flatMap((entry) =>
          "certainty" in entry && entry.ended === "told" ? [entry.certainty] : []
        )
      })
      // What it makes of a call is sent, where it is the very same; and it is known that it may have been done before.
      assert.deepStrictEqual(yield* certaintiesAfter("fixed"), ["unknown", "unknown"])
      assert.deepStrictEqual(bodies, ["fixed", "fixed"])
      assert.deepStrictEqual(yield* certaintiesAfter("a"), ["unknown", "unknown"])
      // Else what the service was sent first is sent again, as for any other call.
      assert.deepStrictEqual(bodies, ["a", "a"])
    }))

  it.effect("is refused where the first arguments cannot be read any more", () =>
    Effect.gen(function*() {
      const { pay } = payments([lost], byKey)
      const first = yield* playing(pay, [{ ...order, note: "a" }])
      let ran = 0
      const changed = Tool.make(
        "pay",
        { description: "", parameters: Schema.Struct({ order: Schema.String }), success: Schema.Void, ...byKey },
        () => Effect.sync(() => void ran++)
      )
      const answer = yield* playing(changed, [order], { facts: first.facts })
      assert.deepStrictEqual(codesOf(answer), ["repeated_call"])
      assert.strictEqual(ran, 0)
    }))

  it.effect("is refused after as many failures as it allows", () =>
    Effect.gen(function*() {
      for (const [failureLimit, ran] of [[undefined, 9], [1, 1], [5, 5]] as const) {
        const { keys, pay } = payments(
          Array.from({ length: 12 }, () => lost),
          failureLimit === undefined ? byKey : { ...byKey, failureLimit }
        )
        const answer = yield* playing(pay, Array.from({ length: 12 }, () => order))
        assert.strictEqual(keys.length, ran)
        assert.strictEqual(codesOf(answer).filter((code) => code === "repeated_call").length, 12 - ran)
      }
    }))
})

describe("H3 a 409 or a 422", () => {
  const conflicts: Readonly<Record<string, ToolFailure.ToolFailure<string>>> = {
    "by HttpFailure, 409": HttpFailure.fromStatus(409, { method: "POST" }),
    "by HttpFailure, 422": HttpFailure.fromStatus(422, { method: "POST" }),
    "read off an error": ToolFailure.from({ status: 409 }),
    "of a response": ToolFailure.from(new Response("{}", { status: 422 })),
    "of an author, with the response below": new SemanticGarbage({
      code: "conflict",
      detail: "It exists already.",
      cause: { response: { status: 409 } }
    })
  }
  const certainly = new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" })

  /** What a call comes to whose handler ends so, attempt by attempt. */
  const ending = (sideEffect: SideEffect.SideEffect, ...ends: ReadonlyArray<ToolFailure.ToolFailure<string>>) =>
    Effect.map(
      Tool.outcome(
        payments([...ends], { sideEffect }).pay.pipe(Tool.retry(Schedule.recurs(ends.length - 1))),
        { order: "7", amount: 5 }
      ),
      ({ certainty, executions }) => [executions, certainty]
    )

  for (const [what, conflict] of Object.entries(conflicts)) {
    it.effect(`${what}, on a key that was sent before, is doubt; on a new one it is a refusal`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* ending("idempotent_by_key", conflict), [1, "not_executed"])
        assert.deepStrictEqual(yield* ending("idempotent_by_key", certainly, conflict), [2, "unknown"])
        // Without keys, it is about the payment.
        assert.deepStrictEqual(yield* ending("non_idempotent", certainly, conflict), [2, "not_executed"])
        assert.deepStrictEqual(yield* ending("idempotent_by_key", certainly, declined), [2, "not_executed"])
      }))

    it.effect(`${what}, in another call under the key, is doubt, and asks no fixer`, () =>
      Effect.gen(function*() {
        let asked = 0
        const { keys, pay } = payments([certainly, conflict], { sideEffect: "idempotent_by_key" })
        const fixed = Tool.fix(pay, () => {
          asked++
          return { order: "8" }
        })
        const { ledger } = yield* playing(fixed, [order, order])
        assert.strictEqual(lettered(keys), "a a")
        assert.strictEqual(asked, 0)
        const last = ledger.failures.at(-1)
        assert.deepInclude(last, { certainty: "unknown" })
      }))
  }
})

describe("H3 a repetition", () => {
  it.effect("of a success is refused, if the tool says so, and is told what it answered", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([], { repeats: false })
      const answer = yield* playing(pay, [order, order, { order: "8" }])
      assert.strictEqual(keys.length, 2)
      assert.deepStrictEqual(codesOf(answer), ["already_done"])
      assert.deepStrictEqual(JSON.parse(textsOf(answer)[1]!), {
        ok: false,
        error: "ToolUnavailable",
        code: "already_done",
        detail: "This call was not run, since it has already been done: \"paid\"",
        retry: "Do not repeat this call: it has already taken effect."
      })
    }))

  it.effect("in a later run of the scope is refused, unless it says that it repeats, or is idempotent by itself", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [Options, ReadonlyArray<string>]> = [
        [{}, ["already_done"]],
        [{ sideEffect: "idempotent_by_key" }, ["already_done"]],
        [{ sideEffect: "idempotent" }, []],
        [{ repeats: true }, []],
        [{ repeats: false, sideEffect: "idempotent" }, ["already_done"]]
      ]
      for (const [options, codes] of cases) {
        const { keys, pay } = payments([], options)
        const first = yield* playing(pay, [order])
        const stored = JSON.stringify(Schema.encodeSync(CallFacts.schema)(first.facts))
        const facts = Schema.decodeUnknownSync(CallFacts.schema)(JSON.parse(stored))
        const second = yield* playing(pay, [order, { order: "8" }], { facts, transcript: first.transcript })
        assert.deepStrictEqual(codesOf(second), codes)
        assert.strictEqual(new Set(keys).size, keys.length)
      }
    }))

  it.effect("in a later run is refused while nobody knows what became of it, and goes on under its key", () =>
    Effect.gen(function*() {
      const unkeyed = payments([lost])
      const first = yield* playing(unkeyed.pay, [order])
      assert.deepStrictEqual(codesOf(yield* playing(unkeyed.pay, [order], { facts: first.facts })), ["repeated_call"])
      assert.strictEqual(unkeyed.keys.length, 1)
      const keyed = payments([lost, lost, lost], { sideEffect: "idempotent_by_key", failureLimit: 3 })
      const before = yield* playing(keyed.pay, [order, order, order, order])
      assert.deepStrictEqual(codesOf(before).slice(2), ["connection", "repeated_call"])
      const answer = yield* playing(keyed.pay, [order, order], { facts: before.facts })
      // It was meant in the earlier run, and has been done for that one.
      assert.deepStrictEqual(codesOf(answer), ["already_done"])
      assert.strictEqual(lettered(keyed.keys), "a a a a")
    }))

  it.effect("in a later run has another key than what was refused in the one before, also after a success", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments(["paid", declined, "paid"], { repeats: true, identity: ({ order }) => order })
      const first = yield* playing(pay, [order, { ...order, note: "a" }])
      yield* playing(pay, [{ ...order, note: "b" }], { facts: first.facts })
      assert.strictEqual(lettered(keys), "a b c")
    }))

  it.effect("of what was answered from elsewhere is none", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([busy, "paid"], { repeats: false })
      const answer = yield* playing(Tool.fallback(pay, () => Effect.succeed("queued")), [order, order, order])
      assert.strictEqual(lettered(keys), "a a")
      assert.deepStrictEqual(codesOf(answer), ["already_done"])
    }))

  it.effect("of a tool that is idempotent by itself is told nothing of keys", () =>
    Effect.gen(function*() {
      const { keys, pay, sent } = payments([lost], { sideEffect: "idempotent", identity: ({ order }) => order })
      const answer = yield* playing(pay, [{ ...order, note: "a" }, { ...order, note: "b" }])
      assert.strictEqual(textsOf(answer)[1], "\"paid\"")
      assert.deepStrictEqual(sent.map(({ note }) => note), ["a", "b"])
      assert.strictEqual(lettered(keys), "a a")
    }))

  it.effect("in a later run goes on with what is in doubt, also where the same has been done before that", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments(["paid", lost], { sideEffect: "idempotent_by_key" })
      const first = yield* playing(pay, [order, order])
      const second = yield* playing(pay, [order, order], { facts: first.facts })
      assert.deepStrictEqual(codesOf(second), ["already_done"])
      assert.strictEqual(lettered(keys), "a b b")
    }))

  it.effect("in a later run is free, where the earlier one certainly did nothing", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([declined])
      const first = yield* playing(pay, [order])
      const second = yield* playing(pay, [{ ...order, amount: 5, note: "other" }, order], { facts: first.facts })
      assert.deepStrictEqual(codesOf(second), [])
      // A service may have kept what it refused.
      assert.strictEqual(lettered(keys), "a b c")
    }))

  it.effect("may be made as often as a tool that reads allows", () =>
    Effect.gen(function*() {
      let looked = 0
      const look = Tool.make(
        "look",
        { description: "", success: Schema.Void, sideEffect: "none", failureLimit: 6 },
        () =>
          Effect.suspend(() => {
            looked++
            return Effect.fail(declined)
          })
      )
      yield* playing(look, Array.from({ length: 9 }, () => ({})))
      assert.strictEqual(looked, 6)
    }))
})

describe("H3 a scope", () => {
  const agent = Agent.make({ toolkit: Toolkit.empty })
  const run = (options: Agent.RunOptions) =>
    Effect.flip(Effect.provide(agent.run("?", options), ScriptedModel.layer([ScriptedModel.text("Hi.")])))

  it.effect("without facts is refused before anything runs, and says what to give", () =>
    Effect.gen(function*() {
      const failure = yield* run({ scope: "order-7" })
      assert.strictEqual(failure._tag, "RunRefused")
      assert.strictEqual(
        failure.detail,
        "The run was not begun: facts: expected the facts of the scope's earlier runs, or CallFacts.empty for its first run, got nothing."
      )
    }))

  it.effect("with the facts of another one is refused", () =>
    Effect.gen(function*() {
      const failure = yield* run({ scope: "order-7", facts: { ...CallFacts.empty, scope: "order-8" } })
      assert.strictEqual(
        failure.detail,
        "The run was not begun: facts: expected facts of the scope 'order-7', got those of 'order-8'."
      )
    }))

  it.effect("takes no name that is none, and no facts that were not decoded", () =>
    Effect.gen(function*() {
      const encoded: unknown = JSON.parse(JSON.stringify(Schema.encodeSync(CallFacts.schema)(CallFacts.empty)))
      const wrong: ReadonlyArray<object> = [
        { id: "" },
        { id: " " },
        { id: 7 },
        { id: "x".repeat(257) },
        { scope: "", facts: CallFacts.empty },
        { facts: encoded },
        { facts: null },
        { facts: {} },
        { scope: 7, facts: CallFacts.empty }
      ]
      for (const options of wrong) assert.strictEqual((yield* run(options))._tag, "RunRefused", JSON.stringify(options))
    }))

  it.effect("goes on with the facts of a run that failed", () =>
    Effect.gen(function*() {
      const { keys, pay } = payments([])
      const once = Agent.make({ toolkit: Toolkit.make(pay), limits: { turns: 1 } })
      const failure = yield* Effect.flip(
        Effect.provide(once.run("Go."), ScriptedModel.layer([ScriptedModel.call("pay", order)]))
      )
      assert.strictEqual(failure._tag, "LimitReached")
      assert.deepStrictEqual(codesOf(yield* playing(pay, [order], { facts: failure.facts })), ["already_done"])
      assert.strictEqual(keys.length, 1)
    }))

  it.effect("of a thousand runs keeps what was done, and forgets what did nothing", () =>
    Effect.gen(function*() {
      const { pay } = payments(Array.from({ length: 400 }, (_, index) => index % 2 === 0 ? declined : "paid"))
      let facts = CallFacts.empty
      for (let number = 0; number < 400; number++) {
        ;({ facts } = yield* playing(pay, [{ order: `o-${number}` }], { facts }))
      }
      assert.strictEqual(facts.run, 399)
      assert.strictEqual(HashMap.size(facts.intents), 200)
    }))
})

describe("H3 what runs inside of a call", () => {
  const keyed = (name: string, keys: Array<string>) =>
    Tool.make(
      name,
      { description: "", parameters: Payment, success: Schema.String, sideEffect: "idempotent_by_key" },
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

  it.effect("has a key of what it is to do, in whatever order its tools begin", () =>
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

  it.effect("has as many keys as it does the same", () =>
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

  it.effect("has the same keys when it is dispatched by hand, in every attempt", () =>
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

  it.effect("has other keys where it answers for the tool: a fallback is another effect", () =>
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

  it.effect("is an agent whose run has an id of the call, so that it pays under the same keys when it is tried again", () =>
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
