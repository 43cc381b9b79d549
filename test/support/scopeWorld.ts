/**
 * The calls of one scope, over several runs: their facts are stored and read between the runs. A service stores what it
 * receives under each key, and a record tells what it truly did.
 */
import {
  Dispatch,
  Observer,
  SchemaMismatch,
  Tool,
  ToolCall,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import type * as SideEffect from "@fallible/core/SideEffect"
import * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Effect, Logger, Schema } from "effect"
import * as fc from "fast-check"
import {
  beginFacts,
  pauseFacts,
  recordCall,
  resumeFacts
} from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import { stored as storedFacts } from "./storedFacts.ts"

// -----------------------------------------------------------------------------
// The service
// -----------------------------------------------------------------------------

/** What the service does with a request whose key it does not know. */
const deeds = ["pays", "pays and drops", "drops", "refuses", "rejects", "is busy"] as const
type Deed = typeof deeds[number]

interface Request {
  readonly order: string
  readonly note: string
}

/** A payment, and the call that caused it. */
export interface Payment {
  readonly order: string
  readonly call: number
  readonly run: number
  /** Whether the model was told that its order is paid. */
  isTold: boolean
}

const refusal = (status: number): ToolFailure.ToolFailure<string> =>
  new ToolUnavailable({ code: "rejected", detail: `Status ${status}.`, transient: false, cause: { status } })
const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: false, outcome: "unknown" })
const busy = new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" })

/** Whether an order may be paid again in the scope. By default, a later run may not. */
type Repeats = boolean | undefined

/** The ground truth of a scope. */
class Shop {
  readonly payments: Array<Payment> = []
  readonly faults: Array<string> = []
  /** The orders of which a call is in doubt: a later run may make that call again. */
  readonly doubted = new Set<string>()
  run = 0
  call = 0
  readonly #deeds: Array<Deed>
  readonly #repeats: Repeats
  readonly #known = new Map<string, { readonly body: string; readonly isPaid: boolean }>()
  /** The request of each order that was last refused in this run, since the order was last paid. */
  readonly #refused = new Map<string, string>()

  /** Whether a refused request may be sent again: under a key, and to a fixer, which corrects it. */
  readonly #mayAskAgain: boolean
  readonly #storesRefusals: boolean

  constructor({ deeds, isFixed, repeats, sideEffect, storesRefusals }: Scenario) {
    this.#deeds = [...deeds]
    this.#repeats = repeats
    this.#storesRefusals = storesRefusals
    this.#mayAskAgain = isFixed || sideEffect === "idempotent_by_key"
  }

  beginRun(): void {
    this.run++
    this.#refused.clear()
  }

  /** Serves a request. Without a key, each request is a new one. */
  post(request: Request, key: string | undefined): Effect.Effect<string, ToolFailure.ToolFailure<string>> {
    return Effect.suspend((): Effect.Effect<string, ToolFailure.ToolFailure<string>> => {
      const deed = this.#deeds.shift() ?? "pays"
      const body = JSON.stringify(request)
      const known = key === undefined ? undefined : this.#known.get(key)
      if (!this.#mayAskAgain && this.#refused.get(request.order) === body) {
        this.faults.push("a refused request is sent again")
      }
      if (known !== undefined && known.body !== body) {
        this.faults.push("one key with two bodies")
        return Effect.fail(refusal(422))
      }
      if (deed === "is busy") return Effect.fail(busy)
      if (known !== undefined) {
        if (!known.isPaid) return Effect.fail(refusal(400))
        return deed === "pays and drops" || deed === "drops" ? Effect.fail(lost) : Effect.succeed("paid")
      }
      const pays = deed === "pays" || deed === "pays and drops"
      // A request that was dropped before it was served is not stored.
      if (key !== undefined && (pays || deed !== "drops" && this.#storesRefusals)) {
        this.#known.set(key, { body, isPaid: pays })
      }
      if (pays) this.#pay(request)
      if (deed === "pays") return Effect.succeed("paid")
      if (deed === "pays and drops" || deed === "drops") return Effect.fail(lost)
      this.#refused.set(request.order, body)
      return Effect.fail(deed === "refuses" ? refusal(400) : rejection)
    })
  }

  #pay({ order }: Request): void {
    for (const before of this.payments.filter((payment) => payment.order === order)) {
      if (!before.isTold) this.faults.push("an order is paid again whose payment was not told")
      else if (this.#repeats === false) this.faults.push("an order is paid again that must not be")
      else if (this.#repeats === undefined && before.run < this.run && !this.doubted.has(order)) {
        this.faults.push("an order of an earlier run is paid again")
      }
    }
    this.#refused.delete(order)
    this.payments.push({ order, call: this.call, run: this.run, isTold: false })
  }
}

const rejection = new SchemaMismatch({ side: "arguments", code: "invalid_arguments", detail: "Wrong note." })

// -----------------------------------------------------------------------------
// A scenario
// -----------------------------------------------------------------------------

const request = fc.record({ order: fc.constantFrom("7", "7", "7", "8"), note: fc.constantFrom("a", "b", "c") })

export const scenario = fc.record({
  sideEffect: fc.constantFrom<SideEffect.SideEffect>("idempotent_by_key", "idempotent_by_key", "non_idempotent"),
  repeats: fc.constantFrom<Repeats>(undefined, true, false),
  /** Whether a fixer corrects the note of a rejected request. */
  isFixed: fc.boolean(),
  /** Whether the handler pays through an inner tool, which has no key. */
  isNested: fc.constantFrom(false, false, true),
  /** Runs, and the calls of each. A note that is asked about is asked before the request. */
  runs: fc.array(fc.array(request, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }),
  asked: fc.constantFrom("", "", "a", "b"),
  /** Whether the service keeps a refusal under its key, and repeats it. */
  storesRefusals: fc.boolean(),
  deeds: fc.array(fc.constantFrom(...deeds), { maxLength: 8 })
})

export type Scenario = typeof scenario extends fc.Arbitrary<infer A> ? A : never

/** A call, and the payments that it caused. */
export interface Made {
  readonly outcome: ToolOutcome.ToolOutcome
  readonly order: string
  readonly payments: number
  /** Whether no earlier call of the order was in doubt. */
  readonly isFresh: boolean
}

const parameters = Schema.Struct({ order: Schema.String, note: Schema.String })

const toolOf = ({ asked, isFixed, isNested, repeats, sideEffect }: Scenario, shop: Shop) => {
  const without = Tool.make(
    "transfer",
    { description: "", parameters, success: Schema.String },
    (request) => shop.post(request, undefined)
  )
  const pay = Tool.make("pay", {
    description: "",
    parameters,
    success: Schema.String,
    sideEffect,
    identity: ({ order }) => order,
    ...(repeats === undefined ? {} : { repeats })
  }, (request) =>
    Effect.gen(function*() {
      if (request.note === asked) yield* ToolCall.ask("Sure?")
      if (isNested) return yield* without.run(request)
      const { idempotencyKey } = yield* ToolCall.current
      return yield* shop.post(request, sideEffect === "idempotent_by_key" ? idempotencyKey : undefined)
    }))
  return isFixed
    ? Tool.fix(pay, ({ before, text }) => text.replace(/"note":"[^"]*"/, `"note":"better ${before.length}"`))
    : pay
}

const outcomes = Schema.toCodecJson(ToolOutcome.Suspended)

/** Encodes an outcome, and decodes it again, as a program that waits for the user does. */
const stored = (outcome: ToolOutcome.Suspended): ToolOutcome.Suspended =>
  Schema.decodeUnknownSync(outcomes)(JSON.parse(JSON.stringify(Schema.encodeSync(outcomes)(outcome))))

export const play = (scenario: Scenario) =>
  Effect.gen(function*() {
    const shop = new Shop(scenario)
    const tool = toolOf(scenario, shop)
    const toolkit = Toolkit.make(tool)
    const made: Array<Made> = []
    let facts = CallFacts.empty
    for (const calls of scenario.runs) {
      shop.beginRun()
      facts = beginFacts(storedFacts(facts), "scope")
      for (const request of calls) {
        shop.call++
        const id = `call ${shop.call}`
        const call = { id, name: "pay", arguments: JSON.stringify(request) }
        const isFresh = !shop.doubted.has(request.order)
        let outcome: ToolOutcome.ToolOutcome = yield* Dispatch.call(toolkit, call, { id, facts })
        while (outcome._tag === "Suspended") {
          const { id: asker, question, replies } = outcome
          facts = storedFacts(resumeFacts(pauseFacts(facts)))
          outcome = yield* Dispatch.call(toolkit, call, {
            id,
            facts,
            before: stored(outcome),
            replies: [...replies, { id: asker, question, reply: "yes" }]
          })
        }
        facts = recordCall(facts, outcome, tool)
        if (outcome.certainty === "unknown") shop.doubted.add(request.order)
        else if (outcome._tag === "Completed") shop.doubted.delete(request.order)
        const payments = shop.payments.filter(({ call }) => call === shop.call)
        if (outcome._tag === "Completed") {
          for (const payment of shop.payments) if (payment.order === request.order) payment.isTold = true
        }
        made.push({ outcome, order: request.order, payments: payments.length, isFresh })
      }
    }
    return { made, shop }
  }).pipe(
    Observer.observe({ onDefect: () => Effect.void }),
    Effect.provide(Logger.layer([]))
  )
