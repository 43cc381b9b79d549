/**
 * `ActsOnce` plays what models, providers and programs do around a tool: other words, calls sent twice, another run. The
 * tools here were found to act twice.
 */
import { assert, describe, it } from "@effect/vitest"
import { Policy, RetryPolicy, Tool, ToolCall, ToolFailure } from "@fallible/core"
import { ActsOnce, type FakeService } from "@fallible/testing"
import { Effect, Schema } from "effect"

const Charge = Schema.Struct({ booking: Schema.String, note: Schema.optionalKey(Schema.String) })
type Charge = typeof Charge.Type
const charging = { arguments: { booking: "B-7", note: "two nights" }, runs: 150 }

/** The tool of a reader: it has no identity unless it is given one. */
const chargeCard = (definition: Partial<Tool.Definition<unknown, Charge>> = {}) => (service: FakeService.FakeService) =>
  Tool.promise("charge_card", {
    description: "Charges the card of a booking",
    parameters: Charge,
    success: Schema.Unknown,
    ...definition
  }, async ({ booking, note }, { idempotencyKey, signal }) => {
    const response = await service.fetch("https://bank.example/charges", {
      method: "POST",
      headers: { "idempotency-key": idempotencyKey },
      body: JSON.stringify({ booking, note }),
      signal
    })
    if (!response.ok) throw response
    return await response.json()
  })

const twice = <T extends Tool.Any>(options: ActsOnce.Options<T>) =>
  Effect.map(
    Effect.flip(ActsOnce.check(options)),
    (failure) => failure._tag === "ActedTwice" ? failure : assert.fail(`It found ${failure._tag}: ${failure.message}`)
  )

const booking = ({ booking }: Charge) => booking

describe("H4 a model that says the same in other words", () => {
  it.live("charges once with an identity, and with a key", () =>
    Effect.gen(function*() {
      const tools = [
        chargeCard({ identity: booking }),
        chargeCard({ identity: booking, sideEffect: "idempotent_by_key" })
      ]
      for (const tool of tools) assert.strictEqual((yield* ActsOnce.check({ ...charging, tool })).runs, 150)
    }))

  it.live("charges twice without an identity, if both calls come in one turn", () =>
    Effect.gen(function*() {
      const { sequence } = yield* twice({ ...charging, tool: chargeCard() })
      assert.deepStrictEqual(sequence, [
        "The model calls charge_card.",
        "The provider sends the call twice, in other words: note \"two nights, again\".",
        "Request 1, key a: the service acts, and answers.",
        "Request 2, key b: the service acts, and answers."
      ])
    }))

  it.live("charges once without an identity in separate turns, because a doubt closes the tool", () =>
    Effect.gen(function*() {
      // The model of the check is told which fields it may not reword: none is left for one turn.
      yield* ActsOnce.check({ ...charging, tool: chargeCard(), reworded: [] })
    }))

  it.live("charges twice if the note counts as part of the effect", () =>
    Effect.gen(function*() {
      const tool = chargeCard({ identity: ({ booking, note }) => [booking, note] })
      const { sequence } = yield* twice({ ...charging, tool, reworded: ["note"] })
      assert.include(sequence.join("\n"), "in other words: note \"two nights, again\".")
    }))

  it.live("charges twice under a key for which the note is another effect", () =>
    Effect.gen(function*() {
      const sideEffect = "idempotent_by_key"
      const tool = chargeCard({ sideEffect, identity: ({ booking, note }) => [booking, note] })
      const { sequence } = yield* twice({ ...charging, tool, reworded: ["note"] })
      assert.include(sequence.join("\n"), "in other words: note")
    }))

  it.live("charges twice if a sentence is believed to prove that nothing was done", () =>
    Effect.gen(function*() {
      const tool = (service: FakeService.FakeService) =>
        Tool.promise("charge_card", {
          description: "",
          parameters: Charge,
          success: Schema.Unknown,
          identity: ({ booking, note }) => [booking, note]
        }, async (_, { refuse }) => {
          const response = await service.fetch("https://bank.example/charges", { method: "POST" })
          const answer = await response.json()
          return response.ok ? answer : refuse("Receipt missing")
        })
      yield* twice({ ...charging, tool, reworded: ["note"] })
    }))

  it("dies if a chosen field is no field of the tool", async () => {
    const check = ActsOnce.check({ ...charging, tool: chargeCard({ identity: booking }), reworded: ["amount"] })
    const { message } = await Effect.runPromise(Effect.flip(Effect.catchDefect(check, Effect.fail))) as Error
    assert.strictEqual(message, "The option 'reworded' names 'amount', which is no field of charge_card.")
  })
})

describe("H4 a provider that sends a call twice", () => {
  it.live("charges twice if the tool says that each of two equal calls is meant", () =>
    Effect.gen(function*() {
      const { sequence } = yield* twice({ ...charging, tool: chargeCard({ identity: booking, joins: false }) })
      assert.deepStrictEqual(sequence, [
        "The model calls charge_card.",
        "The provider sends the call twice, in other words: note \"two nights, again\".",
        "Request 1, key a: the service acts, and answers.",
        "Request 2, key b: the service acts, and answers."
      ])
    }))
})

describe("H4 a program that runs the agent again", () => {
  it.live("charges twice if a refusal is declared that is none, although the model calls once in each run", () =>
    Effect.gen(function*() {
      const tool = (service: FakeService.FakeService) =>
        Tool.make(
          "charge_card",
          { description: "", parameters: Charge, success: Schema.Unknown },
          () => Effect.mapError(service.act(), (error) => ToolFailure.from(error, { refuses: [Error] }))
        )
      const { sequence } = yield* twice({ ...charging, tool, calls: 1, reworded: [] })
      assert.isTrue(sequence.some((line) => line.startsWith("The program runs the agent again")), sequence.join("\n"))
    }))
})

describe("H4 a handler and a fixer", () => {
  const inner = (service: FakeService.FakeService) =>
    Tool.make("pay", {
      description: "",
      parameters: Charge,
      success: Schema.Unknown,
      identity: booking
    }, ({ booking }) =>
      Effect.flatMap(ToolCall.current, ({ idempotencyKey }) =>
        Effect.mapError(service.act({ key: idempotencyKey, body: booking }), (error) =>
          ToolFailure.from(error))))

  it.live("pay once, although the handler repeats an inner run by itself", () =>
    Effect.gen(function*() {
      const tool = (service: FakeService.FakeService) =>
        Tool.make("charge_card", {
          description: "",
          parameters: Charge,
          success: Schema.Unknown,
          identity: booking
        }, (params) => Effect.retry(inner(service).run(params), { times: 3 }))
      yield* ActsOnce.check({ ...charging, tool })
    }))

  it.live("pay once, although a fixer words its correction differently each time", () =>
    Effect.gen(function*() {
      const tool = (service: FakeService.FakeService) => {
        let asked = 0
        return inner(service).pipe(Tool.fix(() => ({ booking: "B-7", note: `for Ada ${++asked}` })))
      }
      yield* ActsOnce.check({ arguments: { bookng: "B-7" }, tool, runs: 150 })
    }))

  it.live("pay once under the usual policies", () =>
    Effect.gen(function*() {
      const tool = (service: FakeService.FakeService) => inner(service).pipe(Tool.retry(RetryPolicy.transient))
      yield* ActsOnce.check({ ...charging, tool, policies: Policy.standard() })
    }))
})
