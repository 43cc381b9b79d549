import { assert, describe, it } from "@effect/vitest"
import { SchemaMismatch, SemanticGarbage, Tool, ToolFailure, ToolUnavailable } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as HttpFailure from "@fallible/core/HttpFailure"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Effect, Random, Redacted, Schedule, Schema } from "effect"
import { byKey } from "../support/keyedService.ts"
import { lettered } from "../support/lettered.ts"
import { busy, declined, type End, order, Payment, payments, playing, textsOf } from "../support/paidOrders.ts"
import { lost } from "../support/sequence.ts"
import { codesOf } from "../support/toldFailures.ts"

describe("H3 a tool that is idempotent by key", () => {
  it.effect("sends the first arguments again while they are in doubt, and tells the model", () =>
    Effect.gen(function*() {
      const { keys, pay, sent } = payments([lost], byKey)
      const answer = yield* playing(pay, [{ ...order, note: "a" }, { ...order, note: "b" }, { ...order, note: "c" }])
      assert.deepStrictEqual(sent.map(({ note }) => note), ["a", "a", "c"])
      assert.strictEqual(lettered(keys), "a a b")
      const { notes, value } = JSON.parse(textsOf(answer)[1]!)
      assert.deepInclude(answer.report.repairs, {
        turn: 2,
        call: 1,
        tool: "pay",
        kind: "repeated",
        path: [],
        note: notes[0]
      })
      assert.strictEqual(value, "paid")
      assert.deepStrictEqual(notes, [
        "An earlier call of pay may already have taken effect. Both calls share one idempotency key, so the effect happens only once. The arguments of the earlier call were sent: {\"order\":\"7\",\"amount\":5,\"note\":\"a\"}"
      ])
    }))

  it.effect("sends the new arguments once the first ones certainly did nothing, under a new key if they were refused", () =>
    Effect.gen(function*() {
      for (const [failure, expected] of [[declined, "a b"], [busy, "a a"]] as const) {
        const { keys, pay, sent } = payments([failure], byKey)
        yield* playing(pay, [{ ...order, amount: 100 }, { ...order, amount: 50 }])
        assert.deepStrictEqual(sent.map(({ amount }) => amount), [100, 50])
        assert.strictEqual(lettered(keys), expected)
      }
    }))

  it.effect("stays in doubt through a later refusal, until a success", () =>
    Effect.gen(function*() {
      const refused = payments([lost, declined], byKey)
      const first = yield* playing(refused.pay, [order, order])
      const certainties = first.report.failures.map((entry) => "certainty" in entry ? entry.certainty : undefined)
      assert.deepStrictEqual(certainties, ["unknown", "unknown"])
      assert.include(textsOf(first)[1], "it may already have taken effect")
      const settled = payments([lost, "paid", declined], byKey)
      const second = yield* playing(settled.pay, [order, order, order])
      assert.deepStrictEqual(codesOf(second), ["connection", "declined"])
      assert.strictEqual(lettered(settled.keys), "a a b")
    }))

  it.effect("cannot be repeated with other arguments if the first ones contain a secret", () =>
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

  it.effect("reports the sent arguments only if they differ", () =>
    Effect.gen(function*() {
      const { pay, sent } = payments([declined, lost], byKey)
      const answer = yield* playing(pay, [{ ...order, note: "a" }, { ...order, note: "b" }, { ...order, note: "b" }])
      assert.deepStrictEqual(sent.map(({ note }) => note), ["a", "b", "b"])
      assert.notInclude(textsOf(answer)[2], "The arguments of the earlier call were sent")
      assert.include(textsOf(answer)[2], "Both calls share one idempotency key")
    }))

  it.effect("sends identical arguments even if decoding draws a new random default", () =>
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

  it.effect("sends the first arguments again instead of a correction, while they may have been sent under its key", () =>
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
        const { report } = yield* playing(outer, [{ ...order, note: first }, { order: "x" }])
        return report.failures.flatMap((entry) =>
          "certainty" in entry && entry.handling === "told" ? [entry.certainty] : []
        )
      })
      // The correction is sent if it equals the first arguments, and the call is known to be in doubt.
      assert.deepStrictEqual(yield* certaintiesAfter("fixed"), ["unknown", "unknown"])
      assert.deepStrictEqual(bodies, ["fixed", "fixed"])
      assert.deepStrictEqual(yield* certaintiesAfter("a"), ["unknown", "unknown"])
      // Otherwise the arguments that the service got first are sent again, as for any other call.
      assert.deepStrictEqual(bodies, ["a", "a"])
    }))

  it.effect("is refused if the first arguments are no longer readable", () =>
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

  it.effect("is refused after its failure limit", () =>
    Effect.gen(function*() {
      for (const [failureLimit, ran] of [[undefined, 9], [1, 1], [5, 5]] as const) {
        const { keys, pay } = payments(
          Array.from({ length: 12 }, () => lost),
          failureLimit === undefined ? byKey : { ...byKey, failureLimit }
        )
        const answer = yield* playing(pay, Array.from({ length: ran + 3 }, () => order))
        assert.strictEqual(keys.length, ran)
        assert.strictEqual(codesOf(answer).filter((code) => code === "repeated_call").length, 3)
      }
    }))
})

describe("H3 a 409 or a 422", () => {
  const conflicts: Readonly<Record<string, End>> = {
    "by HttpFailure, 409": { status: 409, failure: HttpFailure.fromStatus(409, { method: "POST" }) },
    "by HttpFailure, 422": { status: 422, failure: HttpFailure.fromStatus(422, { method: "POST" }) },
    "read off an error": { status: 409, failure: ToolFailure.from({ status: 409 }) },
    "of a response": { status: 422, failure: ToolFailure.from(new Response("{}", { status: 422 })) },
    "of an author, with the response below": new SemanticGarbage({
      code: "conflict",
      detail: "It exists already.",
      cause: { response: { status: 409 } }
    })
  }
  const certainly = new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" })

  /** Returns the outcome of a call whose attempts end as given. */
  const ending = (sideEffect: SideEffect.SideEffect, ...ends: ReadonlyArray<End>) =>
    Effect.map(
      Tool.outcome(
        payments([...ends], { sideEffect }).pay.pipe(Tool.retry(Schedule.recurs(ends.length - 1))),
        { order: "7", amount: 5 }
      ),
      ({ certainty, executions }) => [executions, certainty]
    )

  for (const [what, conflict] of Object.entries(conflicts)) {
    it.effect(`${what}: is doubt on a key that was sent before, and a refusal on a new one`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* ending("idempotent_by_key", conflict), [1, "not_executed"])
        assert.deepStrictEqual(yield* ending("idempotent_by_key", certainly, conflict), [2, "unknown"])
        // Without keys, the answer is about the payment itself.
        assert.deepStrictEqual(yield* ending("non_idempotent", certainly, conflict), [2, "not_executed"])
        assert.deepStrictEqual(yield* ending("idempotent_by_key", certainly, declined), [2, "not_executed"])
      }))

    it.effect(`${what}: is doubt in a later call with the key, and asks no fixer`, () =>
      Effect.gen(function*() {
        let asked = 0
        const { keys, pay } = payments([certainly, conflict], { sideEffect: "idempotent_by_key" })
        const fixed = Tool.fix(pay, () => {
          asked++
          return { order: "8" }
        })
        const { report } = yield* playing(fixed, [order, order])
        assert.strictEqual(lettered(keys), "a a")
        assert.strictEqual(asked, 0)
        const last = report.failures.at(-1)
        assert.deepInclude(last, { certainty: "unknown" })
      }))
  }
})
