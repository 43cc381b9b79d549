/**
 * Key numbers after refusals, for a service that honours keys, and also stores the requests that it refuses.
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, type AgentFailure, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as CallFacts from "@fallible/core/CallFacts"
import { ScriptedModel } from "@fallible/testing"
import { Deferred, Effect, Redacted, Schema } from "effect"

type Deed = "pays" | "pays and hangs" | "refuses" | "is busy" | "drops"

/** Returns a shop, and a function that pays order 7 with the given notes, one after the other, in one run. */
const shop = (planned: ReadonlyArray<Deed>) => {
  const deeds = [...planned]
  const known = new Map<string, { readonly body: string; readonly isPaid: boolean }>()
  const paid: Array<string> = []
  const hanging = Deferred.makeUnsafe<void>()
  const hang = Effect.andThen(Deferred.succeed(hanging, undefined), Effect.never)
  const post = (key: string, body: string): Effect.Effect<string, ToolUnavailable> => {
    const deed = deeds.shift()
    if (deed === "is busy") return Effect.fail(busy)
    const before = known.get(key)
    if (before !== undefined && before.body !== body) return refusal(422)
    if (before !== undefined) return before.isPaid ? Effect.succeed("paid") : refusal(400)
    known.set(key, { body, isPaid: deed !== "refuses" })
    if (deed === "refuses") return refusal(400)
    paid.push(body)
    return deed === "drops" ? Effect.fail(lost) : deed === "pays and hangs" ? hang : Effect.succeed("paid")
  }
  const pay = Tool.make("pay", {
    description: "",
    parameters: Schema.Struct({ order: Schema.String, note: Schema.String }),
    success: Schema.String,
    sideEffect: "idempotent_by_key",
    identity: ({ order }) => order
  }, ({ note }) =>
    Effect.gen(function*() {
      const { idempotencyKey } = yield* ToolCall.current
      if (note.endsWith("?")) yield* ToolCall.ask("Sure?")
      return yield* post(idempotencyKey, note)
    }))
  const agent = Agent.make({ toolkit: Toolkit.make(pay) })
  const model = (...notes: ReadonlyArray<string>) =>
    ScriptedModel.layer([
      ...notes.map((note) => ScriptedModel.call("pay", { order: "7", note })),
      ScriptedModel.text("Done.")
    ])
  const run = (facts: CallFacts.CallFacts, ...notes: ReadonlyArray<string>) =>
    Effect.provide(agent.run("Pay.", { scope: "s", facts }), model(...notes))
  const resume = ({ suspension }: AgentFailure.RunSuspended, ...notes: ReadonlyArray<string>) =>
    Effect.provide(agent.resume(suspension, "yes"), model(...notes))
  return { paid, left: Deferred.await(hanging), run, resume }
}

const refusal = (status: number): Effect.Effect<never, ToolUnavailable> =>
  Effect.andThen(
    Effect.flatMap(ToolCall.current, ({ idempotencyKey }) =>
      ToolCall.noteRequest({
        method: "POST",
        url: "https://shop.example/pay",
        headers: { "idempotency-key": idempotencyKey },
        status
      })),
    Effect.fail(
      new ToolUnavailable({ code: "rejected", detail: `Status ${status}.`, transient: false, cause: { status } })
    )
  )
const busy = new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" })
const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: false, outcome: "unknown" })

const suspended = (run: Effect.Effect<Answer.Answer, AgentFailure.AgentFailure>) =>
  Effect.map(Effect.flip(run), (failure) => {
    assert(failure._tag === "RunSuspended")
    return failure
  })

describe("the number of a key", () => {
  it.effect("does not grow after a request that was not served, although an earlier one was refused", () =>
    Effect.gen(function*() {
      const { left, paid, run } = shop(["refuses", "pays and hangs", "pays", "is busy"])
      yield* Effect.raceFirst(run(CallFacts.empty, "a", "b"), left)
      assert.deepStrictEqual(paid, ["b"])
      // The client has left, and its next run does not know that b was paid.
      yield* run(CallFacts.empty, "a", "b", "c")
      assert.deepStrictEqual(paid, ["b"])
    }))

  it.effect("grows after a refusal of other arguments than those that were not served", () =>
    Effect.gen(function*() {
      const { paid, run } = shop(["is busy", "refuses"])
      yield* run(CallFacts.empty, "a", "b", "a")
      assert.deepStrictEqual(paid, ["a"])
    }))

  it.effect("grows in a new run if a call that was refused is suspended when it is repeated", () =>
    Effect.gen(function*() {
      const { paid, resume, run } = shop(["refuses"])
      const first = yield* suspended(run(CallFacts.empty, "a?"))
      const second = yield* suspended(resume(first, "a?"))
      const { report } = yield* run(second.facts, "b")
      assert.deepStrictEqual(report.failures, [])
      assert.deepStrictEqual(paid, ["b"])
    }))
})

describe("a conflict", () => {
  it.effect("keeps its key in later runs: a run whose client has left may still hold it", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const hanging = Deferred.makeUnsafe<string>()
      let isOpen = false
      const pay = Tool.make("pay", {
        description: "",
        success: Schema.String,
        sideEffect: "idempotent_by_key",
        identity: "all"
      }, () =>
        Effect.flatMap(ToolCall.current, ({ idempotencyKey: key }) => {
          if (isOpen) {
            return refusal(409)
          }
          if (paid.includes(key)) {
            return Effect.succeed("paid")
          }
          if (Deferred.isDoneUnsafe(hanging)) {
            return Effect.sync(() => `${paid.push(key)}`)
          }
          isOpen = true
          return Effect.andThen(Deferred.succeed(hanging, key), Effect.never)
        }))
      const agent = Agent.make({ toolkit: Toolkit.make(pay) })
      const run = (facts: CallFacts.CallFacts) =>
        Effect.provide(
          agent.run("Pay.", { facts }),
          ScriptedModel.layer([ScriptedModel.call("pay"), ScriptedModel.text("Done.")])
        )
      const { facts } = yield* Effect.provide(agent.run("Hello."), ScriptedModel.layer([ScriptedModel.text("Hello.")]))
      yield* Effect.raceFirst(run(facts), Deferred.await(hanging))
      const second = yield* run(facts)
      isOpen = false
      paid.push(yield* Deferred.await(hanging))
      yield* run(second.facts)
      assert.strictEqual(paid.length, 1)
    }))
})

describe("a call in doubt after one that was not served", () => {
  it.effect("is not repeated with the arguments that were not served, if its own are secret", () =>
    Effect.gen(function*() {
      const bodies: Array<string> = []
      const pay = Tool.make("pay", {
        description: "",
        parameters: Schema.Struct({ order: Schema.String, card: Schema.RedactedFromValue(Schema.String) }),
        success: Schema.String,
        sideEffect: "idempotent_by_key",
        identity: ({ order }) => order
      }, ({ card }) => Effect.fail(bodies.push(Redacted.value(card)) === 1 ? busy : lost))
      const model = ScriptedModel.layer([
        ...["a", "b", "a", "b"].map((card) => ScriptedModel.call("pay", { order: "7", card })),
        ScriptedModel.text("Done.")
      ])
      yield* Effect.provide(Agent.make({ toolkit: Toolkit.make(pay) }).run("Pay."), model)
      assert.deepStrictEqual(bodies, ["a", "b", "b"])
    }))
})
