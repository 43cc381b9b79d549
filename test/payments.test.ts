/**
 * Payments over a real wire: a server that pays and then drops the connection, refuses, or drops it before it pays, and that knows
 * nothing of idempotency keys. What it received is what counts.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Guard, RetryPolicy, Tool, ToolCall, Toolkit } from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Option, Random, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { createServer } from "node:http"
import { listening } from "./support/http.ts"
import { atOnce } from "./support/models.ts"

const faults = ["drops before it pays", "pays, then drops", "pays, then fails", "refuses", "is busy"] as const
type Fault = typeof faults[number]

/** Pays whatever it is asked to pay, as often as it is asked; `faulty` says what goes wrong with which request. */
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
    Tool.reconcile(({ order }) =>
      Effect.map(status.run({ order }), (found) => found.receipt === null ? Option.none() : Option.some(found))
    ),
    Tool.retry(RetryPolicy.rateLimited)
  )
  return { pay, reconciled, status }
}

/** Asks for a payment, and again and again, until it is told that it went through or that it must not. */
const weak = (order: string): ScriptedModel.Script => ({ messages }, index) => {
  const heard = messages.at(-1)
  const text = heard?.role === "tool" ? heard.text : ""
  if (index > 0 && !text.includes("\"ok\":false")) return ScriptedModel.text(text)
  const check = /Call (\w+) to find out/.exec(text)?.[1]
  if (check !== undefined) return ScriptedModel.call(check, { order })
  return index > 6 ? ScriptedModel.text("I could not pay.") : ScriptedModel.call("pay", { order })
}

/** For each order up to two faults in a row, drawn from its own seed; then all goes well. */
const seeded = Effect.gen(function*() {
  const plans = new Map<string, Array<Fault>>()
  const lost = new Set<string>()
  for (let run = 0; run < 1000; run++) {
    const order = `o-${run}`
    yield* Effect.gen(function*() {
      const count = yield* Random.nextIntBetween(0, 2)
      const plan: Array<Fault> = []
      for (let n = 0; n < count; n++) plan.push(faults[yield* Random.nextIntBetween(0, faults.length - 1)]!)
      plans.set(order, plan)
      if (yield* Random.nextBoolean) lost.add(order)
    }).pipe(Random.withSeed(order))
  }
  // The look that follows may be lost, too; once.
  const faulty = (order: string, request: "pay" | "look") =>
    request === "pay" ? plans.get(order)?.shift() : lost.delete(order) ? "drops before it pays" as const : undefined
  return { orders: Array.from(plans.keys()), drawn: Array.from(plans.values()).flat().length, faulty }
})

const running = (choose: (tools_: ReturnType<typeof tools>) => ReturnType<typeof tools>["pay"]) =>
  Effect.gen(function*() {
    const { drawn, faulty, orders } = yield* seeded
    assert.isAbove(drawn, 800)
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

const tally = (counts: ReadonlyArray<number>) =>
  Object.fromEntries([0, 1, 2].map((times) => [times, counts.filter((count) => count === times).length]))

describe("payments", () => {
  it.live(
    "F4 a server that pays and then drops the connection receives exactly one payment per order, in 1,000 runs",
    () =>
      Effect.gen(function*() {
        const { answers, counts } = yield* running(({ reconciled }) => reconciled)
        assert.deepStrictEqual(tally(counts), { 0: 0, 1: 1000, 2: 0 })
        assert.deepStrictEqual(answers.filter((text) => !text.includes("\"receipt\":\"run-")), [])
      }),
    60_000
  )

  it.live(
    "F4 without a way to reconcile nothing is paid twice, and the model finds out by itself",
    () =>
      Effect.gen(function*() {
        const { answers, counts } = yield* running(({ pay }) => pay.pipe(Tool.retry(RetryPolicy.rateLimited)))
        assert.strictEqual(tally(counts)[2], 0)
        // What it says is what happened.
        answers.forEach((text, index) =>
          assert.strictEqual(text.includes("\"receipt\":\"run-"), counts[index] === 1, text)
        )
      }),
    60_000
  )

  it.live("the same runs pay twice where every failure is simply tried again", () =>
    Effect.gen(function*() {
      const { counts } = yield* running(({ pay }) =>
        Tool.make(
          "pay",
          { description: "Pays", parameters: InOrder, success: Receipt, sideEffect: "idempotent" },
          (params) => pay.run(params)
        ).pipe(Tool.retry(RetryPolicy.rateLimited))
      )
      assert.isAbove(tally(counts)[2]!, 100)
    }), 60_000)
})
