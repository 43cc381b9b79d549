/**
 * Payments over real connections. The server pays and drops the connection, refuses, or drops the connection before it
 * pays. It ignores idempotency keys. The tests count the payments that it received.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Dispatch, Guard, RetryPolicy, Tool, ToolCall, Toolkit } from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import * as Rendering from "@fallible/core/Rendering"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Option, Random, Schedule, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import * as fc from "fast-check"
import { createServer } from "node:http"
import { listening } from "./support/http.ts"
import { atOnce } from "./support/models.ts"
import type { Pay, Written } from "./support/paymentPolicies.ts"
import * as PaymentWire from "./support/paymentWire.ts"
import { runs } from "./support/runs.ts"

const faults = ["drops before it pays", "pays, then drops", "pays, then fails", "refuses", "is busy"] as const
type Fault = typeof faults[number]

/** Makes a server that pays on every request. `faulty` selects the fault of each request. */
const paymentServer = (faulty: (order: string, request: "pay" | "look") => Fault | undefined) =>
  Effect.map(Effect.sync(() => new Map<string, Array<string>>()), (payments) => ({
    payments,
    server: createServer((request, response) => {
      const [, order = ""] = request.url!.split("/").slice(1)
      const drop = () => request.socket.destroy()
      const answer = (status: number, body: object, headers = {}) => {
        response.writeHead(status, { "content-type": "application/json", ...headers })
        response.end(JSON.stringify(body))
      }
      const pay = () => {
        const receipts = payments.get(order) ?? []
        payments.set(order, [...receipts, String(request.headers["idempotency-key"])])
      }
      const fault = faulty(order, request.method === "POST" ? "pay" : "look")
      if (request.method === "GET") {
        if (fault !== undefined) return drop()
        return answer(200, { receipt: payments.get(order)?.[0] ?? null })
      }
      switch (fault) {
        case "drops before it pays":
          return drop()
        case "pays, then drops":
          pay()
          return drop()
        case "pays, then fails":
          pay()
          return answer(500, { message: "The ledger is locked." })
        case "refuses":
          return answer(503, { message: "Try again." })
        case "is busy":
          return answer(429, { message: "Too many requests." }, { "retry-after": "0" })
        case undefined:
          pay()
          return answer(200, { receipt: request.headers["idempotency-key"] })
      }
    })
  }))

const Receipt = Schema.Struct({ receipt: Schema.NullOr(Schema.String) })
const InOrder = Schema.Struct({ order: Schema.String })

const tools = (url: string) => {
  const ask = (request: HttpClientRequest.HttpClientRequest) =>
    HttpClient.execute(request).pipe(
      Effect.flatMap(HttpClientResponse.filterStatusOk),
      Effect.flatMap(({ text }) => text),
      HttpFailure.classify,
      Guard.json(Receipt)
    )
  const status = Tool.make("payment_status", {
    description: "Is an order paid?",
    parameters: InOrder,
    success: Receipt,
    sideEffect: "none"
  }, ({ order }) => ask(HttpClientRequest.get(`${url}/payments/${order}`))).pipe(Tool.retry(RetryPolicy.transient))
  const pay = Tool.make(
    "pay",
    {
      description: "Pays an order",
      parameters: InOrder,
      success: Receipt,
      check: "payment_status"
    },
    ({ order }) =>
      Effect.flatMap(
        ToolCall.current,
        ({ idempotencyKey }) =>
          ask(HttpClientRequest.post(`${url}/payments/${order}`, { headers: { "idempotency-key": idempotencyKey } }))
      )
  )
  const reconciled = pay.pipe(
    Tool.reconcile(
      ({ order }) =>
        Effect.map(status.run({ order }), (found) => found.receipt === null ? Option.none() : Option.some(found)),
      {
        // After this server drops a connection, it never pays later.
        final: true
      }
    ),
    Tool.retry(RetryPolicy.rateLimited)
  )
  return { pay, reconciled, status }
}

/** Repeats a payment until a message says that it succeeded, or forbids the repetition. */
const weak = (order: string): ScriptedModel.Script => ({ messages }, index) => {
  const lastMessage = messages.at(-1)
  const text = lastMessage?.role === "tool" ? lastMessage.text : ""
  if (index > 0 && !text.includes("\"ok\":false")) return ScriptedModel.text(text)
  const check = /Call (\w+) to find out/.exec(text)?.[1]
  if (check !== undefined) return ScriptedModel.call(check, { order })
  return index > 6 ? ScriptedModel.text("I could not pay.") : ScriptedModel.call("pay", { order })
}

/** How many orders are paid. */
const orderCount = runs(1000)

/** Gives each order up to two consecutive faults, drawn from its own seed. Later requests succeed. */
const seeded = Effect.gen(function*() {
  const plans = new Map<string, Array<Fault>>()
  const lost = new Set<string>()
  for (let run = 0; run < orderCount; run++) {
    const order = `o-${run}`
    yield* Effect.gen(function*() {
      const count = yield* Random.nextIntBetween(0, 2)
      const plan: Array<Fault> = []
      for (let n = 0; n < count; n++) plan.push(faults[yield* Random.nextIntBetween(0, faults.length - 1)]!)
      plans.set(order, plan)
      if (yield* Random.nextBoolean) lost.add(order)
    }).pipe(Random.withSeed(order))
  }
  // The check that follows may be lost too, but only once.
  const faulty = (order: string, request: "pay" | "look") =>
    request === "pay" ? plans.get(order)?.shift() : lost.delete(order) ? "drops before it pays" as const : undefined
  return { orders: Array.from(plans.keys()), drawn: Array.from(plans.values()).flat().length, faulty }
})

const running = (choose: (tools_: ReturnType<typeof tools>) => ReturnType<typeof tools>["pay"]) =>
  Effect.gen(function*() {
    const { drawn, faulty, orders } = yield* seeded
    assert.isAbove(drawn, 0.8 * orderCount)
    const { payments, server } = yield* paymentServer(faulty)
    const made = tools(yield* listening(server))
    const agent = Agent.make({ toolkit: Toolkit.make(choose(made), made.status) })
    const answers = yield* Effect.forEach(
      orders,
      (order) =>
        Effect.map(
          agent.run(`Pay ${order}.`).pipe(Effect.provide(ScriptedModel.layer(weak(order)))),
          ({ text }) => text
        ),
      { concurrency: 8 }
    )
    return { answers, counts: orders.map((order) => payments.get(order)?.length ?? 0) }
  }).pipe(Effect.scoped, atOnce, Effect.provide(FetchHttpClient.layer))

/** Matches a receipt, which contains the key. */
const receipt = /"receipt":"[0-9a-f]{32}"/

const tally = (counts: ReadonlyArray<number>) =>
  Object.fromEntries([0, 1, 2].map((times) => [times, counts.filter((count) => count === times).length]))

describe("payments", () => {
  it.live(
    `F4 a server that pays and then drops the connection receives exactly one payment per order, in ${orderCount} runs`,
    () =>
      Effect.gen(function*() {
        const { answers, counts } = yield* running(({ reconciled }) => reconciled)
        assert.deepStrictEqual(tally(counts), { 0: 0, 1: orderCount, 2: 0 })
        assert.deepStrictEqual(answers.filter((text) => !receipt.test(text)), [])
      })
  )

  it.live(
    "F4 nothing is paid twice without reconciliation either, and the model checks for itself",
    () =>
      Effect.gen(function*() {
        const { answers, counts } = yield* running(({ pay }) => pay.pipe(Tool.retry(RetryPolicy.rateLimited)))
        assert.strictEqual(tally(counts)[2], 0)
        // The answer must state what really happened.
        answers.forEach((text, index) => assert.strictEqual(receipt.test(text), counts[index] === 1, text))
      })
  )

  it.live("the same runs pay twice if every failure is simply retried", () =>
    Effect.gen(function*() {
      const { counts } = yield* running(({ pay }) =>
        // A false declaration.
        Tool.retry({ ...pay, sideEffect: "idempotent" }, RetryPolicy.rateLimited)
      )
      assert.isAbove(tally(counts)[2]!, orderCount / 10)
    }))
})

describe("the reported certainty of a payment", () => {
  const seed = 20_261_122

  it.live(
    "matches the payments of the service, under 200 random stacks of policies, ours and users'",
    () =>
      Effect.gen(function*() {
        const scenarios = fc.sample(PaymentWire.scenario, { numRuns: 200, seed })
        const played = yield* PaymentWire.play(scenarios)
        const seen = new Map<string, number>()
        played.forEach((calls, index) => {
          for (const call of calls) {
            const fault = PaymentWire.faultOf(scenarios[index]!, call)
            assert.isUndefined(fault, PaymentWire.described(scenarios[index]!))
            const what = `${call.outcome.certainty}, ${call.paid > 0 ? "paid" : "not paid"}`
            seen.set(what, (seen.get(what) ?? 0) + 1)
          }
        })
        // The sample covers many calls of each kind.
        for (const what of ["executed, paid", "not_executed, not paid", "unknown, paid", "unknown, not paid"]) {
          assert.isAbove(seen.get(what) ?? 0, 20, what)
        }
      }),
    120_000
  )

  const scenarioOf = (...policies: ReadonlyArray<Written>): PaymentWire.Scenario => ({
    faults: ["pays when nobody listens any more", undefined],
    policies,
    outer: undefined,
    sideEffect: "non_idempotent",
    asks: 1
  })
  const timeout: Written = ["timeout", Tool.timeout("1 second")]
  const again: Written = ["retry", Tool.retry(Schedule.recurs(1))]
  const none = () => Effect.succeedNone
  const paid = (...policies: ReadonlyArray<Written>) =>
    Effect.map(PaymentWire.play([scenarioOf(...policies)]), ([calls = []]) => calls.map(({ paid }) => paid))

  // Users can still pay twice if they break a promise to the library in one of these ways.
  const broken: Readonly<Record<string, Written>> = {
    "a check that calls final what is not": ["false", (tool) => Tool.reconcile(tool, none, { final: true })],
    "a time to settle that is shorter than the service takes": [
      "short",
      (tool) => Tool.reconcile(tool, none, { settle: "1 second" })
    ],
    "a second service that pays as a fallback": [
      "second",
      (tool: Pay) => Tool.fallback(tool, () => PaymentWire.paying("elsewhere"))
    ]
  }
  for (const [name, policy] of Object.entries(broken)) {
    it.live(`is wrong with ${name}`, () =>
      Effect.map(paid(timeout, policy, again), (paid) => {
        assert.deepStrictEqual(paid, [2])
      }))
  }

  it.live("is right for the same service without them", () =>
    Effect.map(paid(timeout, ["unsure", (tool) => Tool.reconcile(tool, none)], again), (paid) => {
      assert.deepStrictEqual(paid, [1])
    }))

  it.live("is reported in full and without doubt if the payment was refused", () =>
    Effect.gen(function*() {
      const answers: ReadonlyArray<readonly [status: number, tag: string]> = [
        [409, "ToolUnavailable"],
        [404, "SemanticGarbage"],
        [422, "SchemaMismatch"]
      ]
      for (const [status, tag] of answers) {
        const url = yield* listening(createServer((request, response) => {
          request.resume()
          response.writeHead(status, { "content-type": "application/json" })
          response.end("{\"message\":\"Room A1 is booked\"}")
        }))
        const { pay } = tools(url)
        const call = { id: "1", name: "pay", arguments: "{\"order\":\"7\"}" }
        const outcome = yield* Dispatch.call(Toolkit.make(pay.pipe(Tool.retry(RetryPolicy.rateLimited))), call)
        const text = Rendering.json(outcome, call)
        assert.strictEqual(outcome.certainty, "not_executed")
        assert.include(text, `"error":"${tag}"`)
        assert.include(text, "Room A1 is booked")
        assert.notMatch(text, /taken effect|outcome_unknown|find out/)
      }
    }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)))
})
