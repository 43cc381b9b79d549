/**
 * Payments over real connections, requested by a stubborn model, in processes that stop. One kind of
 * service honours idempotency keys, the other ignores them. A service may commit and drop the connection,
 * commit after its client has hung up, fail after it has committed, refuse, be busy, or work.
 *
 * Each intended payment must take effect at most once.
 */
import { Agent, type AgentFailure, Fixer, Guard, Policy, Tool, ToolCall, Toolkit } from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as CallFacts from "@fallible/core/CallFacts"
import * as HttpFailure from "@fallible/core/HttpFailure"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Exit, Schedule, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import * as fc from "fast-check"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { FileJournal, type Stop } from "./fileJournal.ts"
import { openAi, serving } from "./models.ts"
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
  "is full"
] as const

type Fault = typeof faults[number]

interface Request {
  readonly run: string
  readonly key: string
  readonly body: string
}

class Service {
  readonly requests: Array<Request> = []
  /** The payments that took effect. */
  readonly payments: Array<Request> = []
  /** The body of each key. */
  readonly #known = new Map<string, string>()
  readonly #wire: Wire
  readonly #scenarios: ReadonlyArray<Scenario>
  readonly #plans: ReadonlyArray<Array<Fault | undefined>>

  constructor(wire: Wire, scenarios: ReadonlyArray<Scenario>) {
    this.#wire = wire
    this.#scenarios = scenarios
    this.#plans = scenarios.map(({ faults }) => [...faults])
  }

  readonly server = createServer((request, response) => {
    const id = String(request.headers["x-request"])
    this.#wire.open.add(id)
    response.on("close", () => this.#wire.open.delete(id))
    void textOf(request).then((body) => {
      const [, run = ""] = request.url!.split("/")
      this.#answer({ run, key: String(request.headers["idempotency-key"]), body }, id, response)
    })
  })

  #answer(request: Request, id: string, response: ServerResponse) {
    this.requests.push(request)
    const knowsKeys = this.#scenarios[Number(request.run)]?.kind === "by key"
    const storedBody = knowsKeys ? this.#known.get(request.key) : undefined
    const fault = this.#plans[Number(request.run)]?.shift()
    const pay = () => {
      // A service that honours keys pays once per key.
      if (knowsKeys && this.#known.has(request.key)) return
      this.#known.set(request.key, request.body)
      this.payments.push(request)
    }
    if (storedBody !== undefined && storedBody !== request.body) {
      return answer(response, 422, { message: "This key came with another body." })
    }
    switch (fault) {
      case "drops before it pays":
        return response.destroy()
      case "pays, then drops":
        pay()
        return response.destroy()
      case "pays when nobody listens any more":
        this.#wire.held.add(id)
        return response.on("close", () => {
          this.#wire.held.delete(id)
          pay()
        })
      case "pays, then fails":
        pay()
        return answer(response, 500, { message: "The ledger is locked." })
      case "pays, then cuts its answer short":
        pay()
        response.writeHead(200, { "content-type": "application/json" })
        return response.end("{\"receipt\": \"r")
      case "refuses":
        // It does not refuse a key that it has already paid.
        if (storedBody === undefined) return answer(response, 402, { message: "The card was declined." })
        break
      case "is full":
        return answer(response, 503, { message: "Try again." })
      case undefined:
        break
    }
    pay()
    return answer(response, 200, { receipt: request.key })
  }
}

const textOf = async (request: IncomingMessage) => {
  let text = ""
  for await (const piece of request) text += String(piece)
  return text
}

// -----------------------------------------------------------------------------
// A scenario
// -----------------------------------------------------------------------------

/** Ways in which a model writes the same payment: 5 euros for order o-1. */
const spellings = [
  { order: "o-1", amount: 5 },
  { order: "o-1", amount: "5" },
  { Order: "o-1", amount: 5 },
  { amount: 5.0, order: "o-1", note: null },
  { order: "o-1" },
  { order: " o-1 ", amount: 5 },
  "{\"amount\":5,\"order\":\"o-1\"}",
  "{order: 'o-1', amount: 5,}",
  // Only a fixer can read the next two.
  "pay o-1, five",
  { what: "o-1" }
] as const

/** Notes, which are not part of the payment's identity. */
const notes = [undefined, "for Ada", "for Ada, again"] as const

const policies = {
  none: [],
  timeout: [Policy.timeout("1 second")],
  retry: [Policy.timeout("1 second"), Policy.retry(Schedule.recurs(2))],
  standard: Policy.standard({ attemptTimeout: "1 second", totalTimeout: "5 seconds" })
}

const corrected = { order: "o-1", amount: 5 }

/**
 * Returns fixers. They correct arguments that cannot be decoded, and in some scenarios failed executions
 * too. If the identity includes all arguments, a correction adds no note.
 */
const fixersFor = (identity: Scenario["identity"]): Readonly<Record<string, Fixer.Fixer>> => ({
  "corrects": () => corrected,
  "corrects, and adds a note": ({ tries }) =>
    identity === "all arguments" ? corrected : { ...corrected, note: `fixed ${tries}` },
  "corrects in time": () => Effect.delay(Effect.succeed(corrected), 800),
  "corrects too late": () => Effect.delay(Effect.succeed(corrected), 40_000),
  "says the same": ({ text }) => text,
  "hangs": () => Effect.never,
  "fails": () => Effect.fail("no idea"),
  "says nonsense": () => "five euros",
  "escalates": () => Fixer.escalate({ detail: "Ask the user." })
})

export interface Scenario {
  /** Where the fixer is declared, what it does, and whether it also corrects failed executions. */
  readonly fixer: readonly [of: "nobody" | "tool" | "agent" | "toolkit", does: string, isForAll: boolean]
  readonly kind: "by key" | "without"
  readonly identity: "order and amount" | "all arguments"
  readonly policies: keyof typeof policies
  /** The fault of each request, in order. */
  readonly faults: ReadonlyArray<Fault | undefined>
  /** How the model writes each call: indexes of a spelling and a note. */
  readonly written: ReadonlyArray<readonly [spelling: number, note: number]>
  /** The number of calls in each turn. The model continues until it gets enough successes, or has no more turns. */
  readonly turns: ReadonlyArray<1 | 2>
  /** The number of payments that the model intends. */
  readonly means: 1 | 2
  /** Whether equal calls of one turn run once. */
  readonly joins: boolean
  /** The points where processes stop, in order. */
  readonly stops: ReadonlyArray<Stop>
  /** Whether a second run of the conversation asks for the same payment again. */
  readonly asksLater: boolean
}

export const scenario: fc.Arbitrary<Scenario> = fc.record({
  fixer: fc.tuple(
    fc.constantFrom("nobody", "tool", "agent", "toolkit"),
    fc.constantFrom(...Object.keys(fixersFor("all arguments"))),
    fc.boolean()
  ),
  kind: fc.constantFrom("by key", "without"),
  identity: fc.constantFrom("order and amount", "all arguments"),
  policies: fc.constantFrom("none", "timeout", "retry", "standard"),
  faults: fc.array(
    fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...faults) }, { weight: 1, arbitrary: fc.constant(undefined) }),
    { maxLength: 5 }
  ),
  written: fc.array(fc.tuple(fc.nat(spellings.length - 1), fc.nat(notes.length - 1)), { minLength: 4, maxLength: 8 }),
  turns: fc.array(fc.constantFrom(1, 1, 2), { minLength: 1, maxLength: 4 }),
  means: fc.constantFrom(1, 1, 2),
  joins: fc.boolean(),
  stops: fc.array(fc.record({ step: fc.integer({ min: 1, max: 6 }), hasRun: fc.boolean() }), { maxLength: 3 }),
  asksLater: fc.boolean()
})

export const described = (scenario: Scenario) => JSON.stringify(scenario)

const Payment = Schema.Struct({
  order: Schema.Trim,
  amount: Schema.Finite.pipe(Schema.withDecodingDefaultKey(Effect.succeed(5))),
  note: Schema.optionalKey(Schema.String)
})

const Receipt = Schema.Struct({ receipt: Schema.String })

const toolOf = ({ identity, joins, kind }: Scenario, url: string) =>
  Tool.make(
    "pay",
    {
      description: "Pays an order",
      parameters: Payment,
      success: Receipt,
      sideEffect: kind === "by key" ? "idempotent_by_key" : "non_idempotent",
      joins,
      identity: identity === "all arguments" ? "all" : ({ amount, order }) => ({ order, amount })
    },
    (params) =>
      Effect.flatMap(ToolCall.current, ({ idempotencyKey }) =>
        HttpClient.execute(
          HttpClientRequest.post(url, { headers: { "idempotency-key": idempotencyKey } }).pipe(
            HttpClientRequest.bodyJsonUnsafe(params)
          )
        ).pipe(
          Effect.flatMap(HttpClientResponse.filterStatusOk),
          Effect.flatMap(({ text }) => text),
          HttpFailure.classify,
          Guard.json(Receipt),
          Effect.provide(FetchHttpClient.layer)
        ))
  )

// Notes are added only if they are not part of the identity.
const callOf = ({ identity, written }: Scenario, number: number) => {
  const [spelling, note] = written[number % written.length]!
  const args = spellings[spelling]!
  const words = identity === "all arguments" ? undefined : notes[note]
  return typeof args === "string" || words === undefined ? args : { ...args, note: words }
}

/** Repeats the call until it gets as many successes as it intends. A call that was joined is not one. */
const stubborn = (scenario: Scenario): ScriptedModel.Script => ({ messages }) => {
  const since = messages.slice(messages.findLastIndex(({ role }) => role === "user"))
  const results = since.flatMap((message) => message.role === "tool" ? [message.text] : [])
  const paid = results.filter((text) =>
    (!text.includes("\"ok\":false") || text.includes("already_done")) &&
    !text.includes("This turn has the same call twice")
  ).length
  const turn = since.filter(({ role }) => role === "assistant").length
  const calls = scenario.turns[turn]
  if (paid >= scenario.means || calls === undefined) return ScriptedModel.text("Done.")
  const callsSoFar = messages.filter(({ role }) => role === "tool").length
  // Calls twice in one turn if two payments are intended, or if the model stutters.
  return ScriptedModel.calls(
    ...Array.from({ length: Math.min(calls, scenario.means - paid) }, (_, index): [string, object | string] => [
      "pay",
      callOf(scenario, callsSoFar + index)
    ])
  )
}

// -----------------------------------------------------------------------------
// A play
// -----------------------------------------------------------------------------

export interface Played {
  readonly requests: ReadonlyArray<Request>
  readonly payments: ReadonlyArray<Request>
  /** The results of the runs. */
  readonly answers: ReadonlyArray<Answer.Answer | AgentFailure.LimitReached | AgentFailure.LoopDetected>
}

const conversation = (scenario: Scenario, url: string) =>
  Effect.gen(function*() {
    const [of, behaviour, isForAll] = scenario.fixer
    const on = isForAll ? ["SemanticGarbage", "ToolUnavailable", "defect"] as const : []
    const fix = fixersFor(scenario.identity)[behaviour]!
    const choice = { "*": { fix, tries: 2, on } }
    const pay = toolOf(scenario, url)
    const toolkit = Toolkit.make(of === "tool" ? Tool.fix(pay, fix, { tries: 2, on }) : pay)
    const agent = Agent.make({
      toolkit: of === "toolkit" ? Toolkit.withFixers(toolkit, choice) : toolkit,
      fixers: of === "agent" ? choice : {},
      policies: policies[scenario.policies],
      limits: { elapsed: "10 minutes" }
    })
    const stops = [...scenario.stops]
    /** Runs the agent in as many processes as necessary. */
    const run = Effect.fnUntraced(function*(options: Agent.RunOptions) {
      const file = new FileJournal()
      for (;;) {
        const exit = yield* file.process(
          (journal) => agent.run("Pay order o-1.", options).pipe(Effect.provideService(Journal.current, journal)),
          stops.shift()
        )
        // A hanging run ends at its time limit. The conversation continues with the facts of that run.
        if (exit !== undefined) {
          return yield* Effect.catchTag(exit, ["LimitReached", "LoopDetected"], (failure) => Effect.succeed(failure))
        }
      }
    })
    const first = yield* run({ scope: url, facts: CallFacts.empty })
    if (!scenario.asksLater) return [first]
    const { facts, transcript } = first
    return [first, yield* run({ facts, transcript })]
  }).pipe(Effect.provide(serving(openAi)(stubborn(scenario))))

/** Plays all scenarios at once. */
export const play = (scenarios: ReadonlyArray<Scenario>): Effect.Effect<ReadonlyArray<Played>> =>
  Effect.gen(function*() {
    const wire = new Wire()
    const service = new Service(wire, scenarios)
    const exits = yield* playedOver(wire, service.server, scenarios, conversation)
    return exits.map((exit, index): Played => {
      const ofRun = ({ run }: Request) => run === `${index}`
      return {
        requests: service.requests.filter(ofRun),
        payments: service.payments.filter(ofRun),
        answers: Exit.isSuccess(exit) ? exit.value : []
      }
    })
  })

/** Returns what is wrong with a play, or `undefined`. */
export const faultOf = ({ means }: Scenario, { answers, payments, requests }: Played): string | undefined => {
  if (answers.length === 0) return "the run has no answer"
  if (payments.length > means) return `paid ${payments.length} times, and meant ${means}`
  if (requests.some(({ key }) => !/^[0-9a-f]{32}$/.test(key))) return "a key that is none"
  const bodies = new Map<string, string>()
  for (const { body, key } of requests) {
    if (body !== (bodies.get(key) ?? body)) return "a key with two bodies"
    bodies.set(key, body)
  }
  const paidCalls = answers.flatMap(({ transcript }) =>
    Array.from(transcript).flatMap((message) =>
      message.role === "tool" && !message.text.includes("\"ok\":false") ? [message.callId] : []
    )
  )
  return new Set(paidCalls).size > 0 && payments.length === 0 ? "told of a payment that was not made" : undefined
}
