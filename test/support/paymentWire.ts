/**
 * Payments over real connections, under random policies, with a model that repeats its call. The service
 * may commit and drop the connection, commit after its client has hung up, fail after it has committed,
 * refuse, or work. Virtual time passes only while the network is idle, so the speed of the machine decides
 * nothing.
 */
import { Agent, Guard, Tool, Toolkit } from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { ScriptedModel } from "@fallible/testing"
import { Context, Effect, Layer, Option, References, Schema, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import * as Breaker from "effect/persistence/CircuitBreaker"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as fc from "fast-check"
import { createServer, type ServerResponse } from "node:http"
import { openAi, serving } from "./models.ts"
import { parameters, type Pay, stack, type Written } from "./paymentPolicies.ts"
import { answer, playedOver, Wire } from "./wire.ts"

// -----------------------------------------------------------------------------
// The service
// -----------------------------------------------------------------------------

const faults = [
  "drops before it pays",
  "pays, then drops",
  "pays when nobody listens any more",
  "pays, then fails",
  "pays, then cuts its answer short",
  "refuses",
  "is full",
  "is busy",
  "drops the connection of who looks"
] as const

type Fault = typeof faults[number]

/** A payment that took effect, and the call that made it. */
interface Payment {
  readonly call: string
}

class Service {
  readonly payments: Array<Payment> = []
  readonly #wire: Wire
  readonly #faultOf: (run: string) => Fault | undefined
  /** Payments that the service holds until their client hangs up. */
  readonly #held = new Map<string, Payment>()

  /** @param faultOf returns the fault of the next request of a run */
  constructor(wire: Wire, faultOf: (run: string) => Fault | undefined) {
    this.#wire = wire
    this.#faultOf = faultOf
  }

  /** Returns the number of payments of a call, including the calls inside it. */
  paidIn(call: string): number {
    return this.payments.filter((payment) => payment.call === call).length
  }

  readonly server = createServer((request, response) => {
    const [, run = "", word] = request.url!.split("/")
    const id = String(request.headers["x-request"])
    const call = String(request.headers["x-call"])
    this.#wire.open.add(id)
    response.on("close", () => this.#wire.open.delete(id))
    const fault = this.#faultOf(run)
    if (request.method === "GET") {
      if (fault === "drops the connection of who looks") return void response.destroy()
      // Rules out payments that it has not made yet.
      if (word === "final") {
        for (const [id, payment] of this.#held) if (payment.call === call) this.#held.delete(id)
      }
      return answer(response, 200, { receipt: this.paidIn(call) > 0 ? call : null })
    }
    request.resume()
    request.on("end", () => this.#pay({ call }, fault, id, response))
  })

  #pay(payment: Payment, fault: Fault | undefined, id: string, response: ServerResponse) {
    const pay = () => this.payments.push(payment)
    switch (fault) {
      case "drops before it pays":
      case "drops the connection of who looks":
        return response.destroy()
      case "pays, then drops":
        pay()
        return response.destroy()
      case "pays when nobody listens any more":
        this.#held.set(id, payment)
        this.#wire.held.add(id)
        return response.on("close", () => {
          this.#wire.held.delete(id)
          if (this.#held.delete(id)) pay()
        })
      case "pays, then fails":
        pay()
        return answer(response, 500, { message: "The ledger is locked." })
      case "pays, then cuts its answer short":
        pay()
        response.writeHead(200, { "content-type": "application/json" })
        return response.end("{\"receipt\": \"r")
      case "refuses":
        return answer(response, 409, { message: "Room A1 is booked." })
      case "is full":
        return answer(response, 503, { message: "Try again." })
      case "is busy":
        return answer(response, 429, { message: "Too many requests." }, { "retry-after": "1" })
      case undefined:
        pay()
        return answer(response, 200, { receipt: payment.call })
    }
  }
}

// -----------------------------------------------------------------------------
// A scenario
// -----------------------------------------------------------------------------

export interface Scenario {
  readonly faults: ReadonlyArray<Fault | undefined>
  readonly policies: ReadonlyArray<Written>
  /** Policies around an outer tool that pays in its handler. Absent without an outer tool. */
  readonly outer: ReadonlyArray<Written> | undefined
  readonly sideEffect: "idempotent" | "non_idempotent"
  /** How often the model calls for the same payment, whatever the results. */
  readonly asks: number
}

const Receipt = Schema.Struct({ receipt: Schema.NullOr(Schema.String) })

/** The id of the current call, from the log annotations. A key would not do: several calls may share one. */
const callUnderWay = Effect.withFiber((fiber) =>
  Effect.succeed(String(fiber.getRef(References.CurrentLogAnnotations)["call"]))
)

const receiptOf = (request: HttpClientRequest.HttpClientRequest) =>
  Effect.flatMap(
    callUnderWay,
    (call) =>
      HttpClient.execute(HttpClientRequest.setHeader(request, "x-call", call)).pipe(
        Effect.flatMap(HttpClientResponse.filterStatusOk),
        Effect.flatMap(({ text }) => text),
        HttpFailure.classify,
        Guard.json(Receipt),
        Effect.map(({ receipt }) => receipt)
      )
  )

/** Pays directly, as a second service with a side effect. */
export const paying = (word: string) =>
  Effect.flatMap(place, (url) => receiptOf(HttpClientRequest.post(`${url}/${word}`))).pipe(
    Effect.map(String),
    Effect.provide(FetchHttpClient.layer)
  )

/** The service's address and the run's name. Checks read it here: their policies are made before the server starts. */
const place: Context.Reference<string> = Context.Reference("test/paymentWire", { defaultValue: () => "" })

const lookUp = (word: string) =>
  Effect.flatMap(place, (url) => receiptOf(HttpClientRequest.get(`${url}${word}`))).pipe(
    Effect.map(Option.fromNullOr),
    Effect.provide(FetchHttpClient.layer)
  )

const look = lookUp("")
const final = lookUp("/final")

const policies = stack({ look: () => look, final: () => final, settling: () => look, settle: 3_000 })

export const scenario: fc.Arbitrary<Scenario> = fc.record({
  faults: fc.array(
    fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...faults) }, { weight: 1, arbitrary: fc.constant(undefined) }),
    { minLength: 1, maxLength: 5 }
  ),
  policies,
  outer: fc.option(policies, { nil: undefined, freq: 3 }),
  sideEffect: fc.constantFrom("non_idempotent", "non_idempotent", "non_idempotent", "idempotent"),
  asks: fc.integer({ min: 1, max: 4 })
})

export const described = ({ asks, faults, outer, policies, sideEffect }: Scenario) =>
  JSON.stringify({
    asks,
    faults: faults.map((fault) => fault ?? "is fine"),
    policies: policies.map(([text]) => text),
    outer: outer?.map(([text]) => text),
    sideEffect
  })

const toolOf = ({ outer, policies, sideEffect }: Scenario, url: string): Pay => {
  const wrapped = (tool: Pay, policies: ReadonlyArray<Written>) =>
    policies.reduce((tool, [, change]) => change(tool), tool)
  const definition = { description: "Pays an order", parameters, success: Schema.String } as const
  const pay = wrapped(
    Tool.make(
      "pay",
      { ...definition, sideEffect },
      () => Effect.map(receiptOf(HttpClientRequest.post(url)), String).pipe(Effect.provide(FetchHttpClient.layer))
    ),
    policies
  )
  return outer === undefined ? pay : wrapped(
    Tool.make("checkout", { ...definition, sideEffect }, (params) => pay.run(params)),
    outer
  )
}

/** Calls for the same payment `asks` times, whatever the results. */
const stubborn = ({ asks }: Scenario, tool: string): ScriptedModel.Script => (_, index) =>
  index < asks ? ScriptedModel.call(tool, { order: "o-1" }) : ScriptedModel.text("Done.")

// -----------------------------------------------------------------------------
// A play
// -----------------------------------------------------------------------------

/** A finished call: its outcome, and the number of payments in it. */
export interface Call {
  readonly outcome: ToolOutcome.ToolOutcome
  readonly paid: number
}

const services = () =>
  Layer.mergeAll(
    RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory)),
    Breaker.layer({ tripPolicy: Breaker.consecutive(3), openDuration: "30 seconds" }).pipe(
      Layer.provide(Breaker.layerStoreMemory())
    )
  )

const running = (scenario: Scenario, url: string) =>
  Effect.suspend(() => {
    const ended: Array<readonly [call: string, outcome: ToolOutcome.ToolOutcome]> = []
    const tool = toolOf(scenario, url)
    const events = Agent.make({ toolkit: Toolkit.make(tool), limits: { elapsed: "5 minutes" } }).stream("Pay o-1.")
    return events.pipe(
      Stream.runForEach((event) =>
        Effect.sync(() => {
          if (event._tag !== "CallEnded") return
          ended.push([`${event.run}/turn/${event.turn}/call/${event.index}`, event.outcome])
        })
      ),
      // The result of the run does not matter here.
      Effect.exit,
      Effect.as(ended),
      Effect.provide(serving(openAi)(stubborn(scenario, tool.name))),
      Effect.provide(services()),
      Effect.provideService(place, url)
    )
  })

/** Plays all scenarios at once, each with its own agent, model and orders. */
export const play = (scenarios: ReadonlyArray<Scenario>): Effect.Effect<ReadonlyArray<ReadonlyArray<Call>>> =>
  Effect.gen(function*() {
    const wire = new Wire()
    const plans = scenarios.map(({ faults }) => [...faults])
    const service = new Service(wire, (run) => plans[Number(run)]?.shift())
    const exits = yield* playedOver(wire, service.server, scenarios, running)
    const runs = yield* Effect.forEach(exits, (exit) => exit)
    // The service has closed, so it has paid all that it held and that no check ruled out.
    return runs.map((ended) => ended.map(([call, outcome]) => ({ outcome, paid: service.paidIn(call) })))
  })

/** Returns what is wrong with a call, or `undefined`. */
export const faultOf = (
  { outer, sideEffect }: Scenario,
  { outcome: { certainty }, paid }: Call
): string | undefined => {
  // An idempotent tool may be repeated, and this service does not deduplicate its payments.
  if (sideEffect === "non_idempotent" && paid > 1) return `paid ${paid} times`
  if (certainty === "not_executed" && paid > 0) return "paid, and said not to be executed"
  // A successful checkout counts as executed, whatever its inner payment did.
  return certainty === "executed" && paid === 0 && outer === undefined ? "said to be executed, and not paid" : undefined
}
