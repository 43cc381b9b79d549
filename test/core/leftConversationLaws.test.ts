/**
 * The law of a conversation whose client leaves: whatever the model writes, the service answers and the user does, a
 * service that honours keys pays each order once. The user asks again with the latest facts, and resumes runs that asked.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, type AgentFailure, SchemaMismatch, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Deferred, Effect, Exit, Logger, Option, Schema } from "effect"
import * as fc from "fast-check"
import { runs } from "../support/runs.ts"
import { stored } from "../support/storedFacts.ts"

const Payment = Schema.Struct({ order: Schema.String, note: Schema.String })

/** What the service does with a request whose key it does not know. */
const deeds = ["pays", "pays and drops", "pays and hangs", "hangs", "refuses", "is not reached"] as const
type Deed = typeof deeds[number]

/** A call that the model makes. `sure` asks the user, `pay` may ask before it pays. */
const call = fc.record({
  tool: fc.constantFrom("pay", "pay", "pay", "sure"),
  order: fc.constantFrom("7", "8"),
  note: fc.constantFrom("a", "b"),
  asks: fc.boolean()
})

const conversation = fc.record({
  /** Runs of the agent: the turns of each, and the calls of each turn. */
  visits: fc.array(fc.array(fc.array(call, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 3 }), {
    minLength: 2,
    maxLength: 4
  }),
  deeds: fc.array(fc.constantFrom(...deeds), { maxLength: 12 }),
  /** Whether the user replies to a question, or asks anew. */
  replies: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 })
})

type Conversation = typeof conversation extends fc.Arbitrary<infer A> ? A : never

/** A service that stores each key that it has received, with its body and its answer. */
class Service {
  readonly paid = new Map<string, Set<string>>()
  /** Done when a request hangs, so that its client leaves. */
  hanging = Deferred.makeUnsafe<void>()
  readonly #known = new Map<string, { readonly body: string; readonly isPaid: boolean }>()
  readonly #deeds: Array<Deed>

  constructor(planned: ReadonlyArray<Deed>) {
    this.#deeds = [...planned]
  }

  post(key: string, payment: typeof Payment.Type): Effect.Effect<string, SchemaMismatch | ToolUnavailable> {
    return Effect.suspend((): Effect.Effect<string, SchemaMismatch | ToolUnavailable> => {
      const deed = this.#deeds.shift() ?? "pays"
      if (deed === "is not reached") return Effect.fail(unreached)
      if (deed === "hangs") return this.#hang
      const body = JSON.stringify(payment)
      const known = this.#known.get(key)
      if (known !== undefined) {
        if (known.body !== body) return Effect.fail(refusal(422))
        return known.isPaid ? Effect.succeed("paid") : Effect.fail(refusal(400))
      }
      this.#known.set(key, { body, isPaid: deed !== "refuses" })
      if (deed === "refuses") return Effect.fail(refusal(400))
      const keys = this.paid.get(payment.order) ?? new Set()
      this.paid.set(payment.order, keys.add(key))
      return deed === "pays" ? Effect.succeed("paid") : deed === "pays and drops" ? Effect.fail(lost) : this.#hang
    })
  }

  readonly #hang = Effect.suspend(() => Effect.andThen(Deferred.succeed(this.hanging, undefined), Effect.never))
}

const refusal = (status: number) =>
  new SchemaMismatch({ side: "arguments", code: "rejected", detail: `Status ${status}.`, cause: { status } })
const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
const unreached = new ToolUnavailable({
  code: "connection",
  detail: "Refused.",
  transient: true,
  outcome: "not_executed"
})

const ask = ToolCall.ask("Sure?")

const sure = Tool.make("sure", { description: "", success: Schema.String, sideEffect: "none" }, () => ask)

interface Ended {
  readonly facts: CallFacts.CallFacts
}

const played = ({ deeds: planned, replies, visits }: Conversation) =>
  Effect.gen(function*() {
    const service = new Service(planned)
    const asking = visits.flat(2).filter(({ asks }) => asks).map(({ note, order }) => `${order} ${note}`)
    const pay = Tool.make("pay", {
      description: "",
      parameters: Payment,
      success: Schema.String,
      sideEffect: "idempotent_by_key",
      identity: ({ order }) => order,
      repeats: false
    }, (payment) =>
      Effect.gen(function*() {
        const { idempotencyKey } = yield* ToolCall.current
        if (asking.includes(`${payment.order} ${payment.note}`)) yield* ask
        return yield* service.post(idempotencyKey, payment)
      }))
    const agent = Agent.make({ toolkit: Toolkit.make(pay, sure) })
    const decisions = [...replies]
    let facts = CallFacts.empty
    for (const turns of visits) {
      const script = ScriptedModel.layer(({ messages }) => {
        const done = messages.slice(messages.findLastIndex(({ role }) => role === "user"))
          .filter(({ role }) => role === "assistant").length
        const calls = turns[done]
        return calls === undefined
          ? ScriptedModel.text("Done.")
          : ScriptedModel.calls(...calls.map(({ note, order, tool }): [string, object] => [
            tool,
            tool === "pay" ? { order, note } : {}
          ]))
      })
      let next: Effect.Effect<Ended, AgentFailure.AgentFailure> | undefined = agent.run("Go.", { scope: "s", facts })
        .pipe(Effect.provide(script))
      while (next !== undefined) {
        service.hanging = Deferred.makeUnsafe()
        const exit: Exit.Exit<Ended | void, AgentFailure.AgentFailure> = yield* Effect.exit(
          Effect.raceFirst(next, Deferred.await(service.hanging))
        )
        next = undefined
        if (Exit.isSuccess(exit)) {
          // A client that has left has no later facts.
          if (exit.value !== undefined) facts = stored(exit.value.facts)
          continue
        }
        const failure: AgentFailure.AgentFailure = Option.getOrThrow(Cause.findErrorOption(exit.cause))
        facts = stored(failure.facts)
        if (failure._tag === "RunSuspended" && decisions.shift() === true) {
          next = agent.resume(failure.suspension, "yes").pipe(Effect.provide(script))
        }
      }
    }
    return service.paid
  }).pipe(Effect.provide(Logger.layer([])))

describe("a conversation whose client leaves", () => {
  it("pays each order once", () =>
    fc.assert(
      fc.asyncProperty(conversation, async (conversation) => {
        for (const [order, keys] of await Effect.runPromise(played(conversation))) {
          assert.strictEqual(keys.size, 1, `order ${order}`)
        }
      }),
      { numRuns: runs(4_000) }
    ))
})
