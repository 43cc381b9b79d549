/**
 * Runs of an agent whose tool pays over real connections, by handlers in many styles, and meets any fault. A bank keeps a
 * record of what it did, and each call is compared with that record. Virtual time passes only while the network is idle.
 */
import {
  Agent,
  CallEvent,
  LateResult,
  Policy,
  RetryPolicy,
  SemanticGarbage,
  Tool,
  ToolCall,
  ToolFailure,
  Toolkit,
  type ToolOutcome,
  ToolUnavailable
} from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Option, Schedule, Schema, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import * as fc from "fast-check"
import { Account, type Asked, type BankRules, bankServer, type Fault, faults, type Kind } from "./evidenceBank.ts"
import { type Ask, type Client, fetching, forms, nodeHttp, sdk } from "./evidenceClients.ts"
import { sentences } from "./evidenceSentences.ts"
import { closedPort } from "./http.ts"
import { openAi, serving } from "./models.ts"
import { playedOver, Wire } from "./wire.ts"

// -----------------------------------------------------------------------------
// A scenario
// -----------------------------------------------------------------------------

/** How a handler is written. */
export const styles = [
  "global fetch",
  "the context's fetch",
  "node:http",
  "an SDK",
  "HttpClient",
  "tryPromise",
  "tryPromise under a timeout",
  "sentences"
] as const

type Style = typeof styles[number]

/** The requests of a handler, in order. With a `+`, they are sent at once. */
const shapes = [
  "pay",
  "pay, receipt",
  "pay, new receipt",
  "pay, mail",
  "pay, receipt, mail",
  "pay, new receipt, mail",
  "quote, pay",
  "quote, pay, mail",
  "token, pay",
  "token, pay, receipt",
  "pay + mail",
  "quote + pay"
] as const

/** What a handler throws for an answer that is no success. Not every style has the choice. */
const throwing = [
  "the response",
  "a status",
  "a message with the status",
  "a sentence",
  "a text",
  "a failure by hand"
] as const

/** How an author says what a refused payment means. */
const words = ["nothing", "refuse", "refuses"] as const

const declarations = ["nothing", "pay", "pay only"] as const

const retries = ["none", "transient", "twice"] as const

const checks = ["none", "looks", "looks first", "is final"] as const

export interface Scenario extends BankRules {
  readonly style: Style
  readonly shape: typeof shapes[number]
  readonly throws: typeof throwing[number]
  /** Whether a sentence has the original error as its cause. */
  readonly hasCause: boolean
  /** Whether the handler throws its sentence after success, too. Only in the style "sentences". */
  readonly throwsAnyway: boolean
  /** Whether a failure after the payment is ignored. */
  readonly forgives: boolean
  readonly readsJson: boolean
  readonly sentence: string
  readonly form: typeof forms[number]
  readonly passesSignal: boolean
  /** Who stops waiting for an answer that does not come. */
  readonly hangsUp: "client" | "tool"
  readonly sendsKey: boolean
  readonly sideEffect: "non_idempotent" | "idempotent_by_key"
  readonly hasIdentity: boolean
  readonly refusesFirst: boolean
  readonly acts: typeof declarations[number]
  readonly word: typeof words[number]
  readonly repeats: "by default" | "never"
  readonly hasTimeout: boolean
  readonly retry: typeof retries[number]
  readonly check: typeof checks[number]
  readonly isStandard: boolean
  readonly model: "stubborn" | "weak"
  /** How often the model asks for a payment at most. */
  readonly asks: number
  /** Whether the model pays two orders at the same time. */
  readonly isParallel: boolean
  readonly isOverWire: boolean
  /** The fault of each request for the first order, and for the second. Later requests succeed. */
  readonly faults: readonly [ReadonlyArray<Fault>, ReadonlyArray<Fault>]
}

const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 3, arbitrary: fc.constant("200") },
  { weight: 9, arbitrary: fc.constantFrom(...faults) }
)

const plan = fc.array(fault, { minLength: 1, maxLength: 8, size: "max" })

const drawn: fc.Arbitrary<Scenario> = fc.record({
  style: fc.constantFrom(...styles),
  shape: fc.constantFrom(...shapes),
  throws: fc.constantFrom("the response", "the response", "the response", ...throwing),
  hasCause: fc.boolean(),
  throwsAnyway: fc.boolean(),
  forgives: fc.constantFrom(false, false, false, true),
  readsJson: fc.boolean(),
  sentence: fc.constantFrom(...sentences),
  form: fc.constantFrom(...forms),
  passesSignal: fc.boolean(),
  hangsUp: fc.constantFrom("client", "tool"),
  sendsKey: fc.boolean(),
  sideEffect: fc.constantFrom("non_idempotent", "idempotent_by_key"),
  hasIdentity: fc.constantFrom(false, true, true),
  refusesFirst: fc.constantFrom(false, false, true),
  acts: fc.constantFrom("nothing", ...declarations),
  word: fc.constantFrom("nothing", ...words),
  repeats: fc.constantFrom("by default", "by default", "never"),
  hasTimeout: fc.constantFrom(false, false, true),
  retry: fc.constantFrom("none", ...retries),
  check: fc.constantFrom("none", "none", "none", ...checks),
  isStandard: fc.constantFrom(false, false, true),
  model: fc.constantFrom("stubborn", "stubborn", "weak"),
  asks: fc.integer({ min: 1, max: 4 }),
  isParallel: fc.constantFrom(false, false, true),
  isOverWire: fc.constantFrom(false, false, false, false, false, false, false, true),
  faults: fc.tuple(plan, plan),
  honoursKeys: fc.boolean(),
  storesRefusals: fc.boolean(),
  lateness: fc.constantFrom("soon", "next", "end"),
  isStuck: fc.boolean()
})

/**
 * Leaves out what nobody may promise: keys that nobody sends or honours, a refusal that comes first in a handler that acts
 * twice, and a final check or a word that nothing was done where a mail is sent at the same time, or where an SDK has tried
 * twice.
 */
const isHonest = (scenario: Scenario): boolean =>
  (scenario.sideEffect === "non_idempotent" || isKeyed(scenario)) &&
  (!scenario.refusesFirst || isSingle(scenario)) &&
  (scenario.shape !== "pay + mail" || scenario.word === "nothing" && scenario.check !== "is final") &&
  (scenario.word === "nothing" || scenario.style !== "an SDK" || !scenario.isStuck || scenario.storesRefusals)

const isKeyed = ({ hasIdentity, honoursKeys, sendsKey }: Scenario): boolean => sendsKey && honoursKeys && hasIdentity

const isSingle = ({ acts, shape, style }: Scenario): boolean =>
  style !== "an SDK" && (acts !== "nothing" || kindsOf(shape).flat().filter((kind) => !isReading(kind)).length === 1)

const isReading = (kind: Kind): boolean => kind === "quote" || kind === "receipt"

/** The requests of a shape: those of a group are sent at once. */
const kindsOf = (shape: Scenario["shape"]): ReadonlyArray<ReadonlyArray<Kind>> =>
  shape.split(", ").map((group) => group.split(" + ") as Array<Kind>)

export const scenario: fc.Arbitrary<Scenario> = drawn.filter(isHonest)

export const described = (scenario: Scenario): string => JSON.stringify(scenario)

// -----------------------------------------------------------------------------
// A run
// -----------------------------------------------------------------------------

/** An execution of a handler. */
interface Execution {
  readonly call: string
  readonly attempt: number
}

/** A claim about what a call or an attempt did, as it was told. */
interface Claim extends Execution {
  readonly order: string
  readonly who: "a call" | "an attempt" | "a late result"
  readonly told: "executed" | "not_executed" | "unknown"
  /** Its place among all events of its run. */
  readonly at: number
  /** The outcome of a call. */
  readonly outcome?: ToolOutcome.ToolOutcome
}

/** One run: its scenario, and all that happens in it. */
class Run {
  readonly scenario: Scenario
  readonly url: string
  readonly wire: Wire
  readonly account: Account
  readonly asked: Array<Asked> = []
  readonly claims: Array<Claim> = []
  readonly #book: Map<string, Asked>
  readonly #plans: ReadonlyMap<string, Array<Fault>>
  /** The orders of the model's calls, by "turn/index". */
  readonly #orders = new Map<string, string>()
  /** What runs now for each order. */
  readonly #now = new Map<string, Execution>()

  constructor(scenario: Scenario, url: string, wire: Wire, book: Map<string, Asked>, account: Account) {
    this.scenario = scenario
    this.url = url
    this.wire = wire
    this.account = account
    this.#book = book
    this.#plans = new Map(scenario.faults.map((plan, index) => [`o-${index + 1}`, [...plan]]))
  }

  /** True if a client gives up a request that is not answered. Otherwise the tool's time limit ends it. */
  get hasImpatientClient(): boolean {
    const { hangsUp, hasTimeout, isStandard, style } = this.scenario
    return hangsUp === "client" || !hasTimeout && !isStandard && style !== "tryPromise under a timeout"
  }

  noteTurn(turn: number, orders: ReadonlyArray<string>): void {
    orders.forEach((order, index) => this.#orders.set(`${turn}/${index + 1}`, order))
  }

  readonly watch: CallEvent.Watcher = (event) => {
    const { attempt, id: call } = event
    if (event._tag === "AttemptStarted") this.#now.set(this.#orderOf(call), { call, attempt })
    if (event._tag === "AttemptEnded" && event.effects !== undefined) {
      const told = event.effects === "none" ? "not_executed" : event.effects === "done" ? "executed" : "unknown"
      this.claim({ call, attempt, who: "an attempt", told })
    }
  }

  claim(claim: Omit<Claim, "at" | "order">): void {
    this.claims.push({ ...claim, order: this.#orderOf(claim.call), at: this.account.tick() })
  }

  #orderOf(call: string): string {
    const [, turn = "", index = ""] = /turn\/(\d+)\/call\/(\d+)$/.exec(call) ?? []
    return this.#orders.get(`${turn}/${index}`) ?? "none"
  }

  /** The execution that has just begun for an order. */
  beginning(order: string): Execution {
    return this.#now.get(order) ?? { call: "none", attempt: 0 }
  }

  /** Notes a request that is about to be sent, and draws what happens to it. */
  ask({ order, note }: Params, kind: Kind, by: Execution, key: string | undefined): Ask {
    const one: Asked = {
      ...by,
      id: `${this.url.slice(this.url.lastIndexOf("/") + 1)}-${this.asked.length}`,
      order,
      kind,
      fault: this.#plans.get(order)?.shift() ?? "200",
      begun: this.account.tick(),
      account: this.account,
      giveUp: undefined,
      key: undefined,
      acted: false
    }
    this.asked.push(one)
    this.#book.set(one.id, one)
    const base = one.fault === "no server, not done" ? `http://127.0.0.1:${closedPort}/0` : this.url
    return {
      method: isReading(kind) ? "GET" : "POST",
      url: `${base}/${kind.replace(" ", "-")}/${order}`,
      headers: {
        "x-asked": one.id,
        ...(isReading(kind) ? {} : { "content-type": "application/json" }),
        ...(kind === "pay" && key !== undefined ? { "idempotency-key": key } : {})
      },
      body: isReading(kind) ? undefined : JSON.stringify({ order, note }),
      signal: undefined
    }
  }

  /** Makes a client whose requests the wire knows, and that gives up if the bank asks it to. */
  over(client: Client, signal: AbortSignal | undefined): Client {
    return async (ask) => {
      const id = ask.headers["x-asked"] ?? ""
      const patience = new AbortController()
      const asked = this.#book.get(id)
      if (asked !== undefined && this.hasImpatientClient) {
        asked.giveUp = () => patience.abort(new DOMException("The operation timed out.", "TimeoutError"))
      }
      this.wire.sent.add(id)
      try {
        return await client({
          ...ask,
          headers: { ...ask.headers, "x-request": id },
          signal: signal === undefined ? patience.signal : AbortSignal.any([patience.signal, signal])
        })
      } finally {
        this.wire.sent.delete(id)
      }
    }
  }
}

// -----------------------------------------------------------------------------
// Handlers
// -----------------------------------------------------------------------------

const parameters = Schema.Struct({ order: Schema.String, note: Schema.String })
type Params = typeof parameters.Type

/** What a handler has of its call. */
interface Hands {
  readonly fetch: ToolCall.CallFetch
  readonly signal: AbortSignal
  readonly key: () => string
}

/** What an SDK's user throws for a card that was declined. */
class Declined extends Error {
  override readonly name = "Declined"
}

// Without keys, a 409 is about the order. With them, it may be about an earlier request.
const isDeclined = (status: number | undefined, { honoursKeys }: Scenario): boolean =>
  status === 402 || status === 409 && !honoursKeys

const isAfterPay = (kind: Kind): boolean => kind === "receipt" || kind === "new receipt" || kind === "mail"

/** Pays in the way of a scenario. Throws {@link Declined} if the author has a word for that. */
const performing = async (run: Run, params: Params, hands: Hands): Promise<string> => {
  const { scenario } = run
  const { form, hasCause, passesSignal, readsJson, sendsKey, sentence, shape, style, throwsAnyway } = scenario
  const by = run.beginning(params.order)
  const key = sendsKey ? hands.key() : undefined
  const signal = passesSignal ? hands.signal : undefined
  const ownFetch = key === undefined ? hands.fetch : hands.fetch.withKey

  const clientOf = (kind: Kind): Client => {
    switch (style) {
      case "the context's fetch":
        return run.over(fetching(kind === "pay" ? ownFetch : hands.fetch, form), signal)
      case "node:http":
        return run.over(nodeHttp, signal)
      case "an SDK":
        return sdk(
          run.over(fetching(fetch, form), signal),
          isKeyed(scenario) && kind === "pay",
          () => run.ask(params, kind, by, key)
        )
      default:
        return run.over(fetching(fetch, form), signal)
    }
  }

  const step = async (kind: Kind): Promise<void> => {
    try {
      const ask = run.ask(params, kind, by, style === "the context's fetch" ? undefined : key)
      const answer = await clientOf(kind)(ask)
      if (answer.status < 200 || answer.status > 299) throw answer.response
      if (readsJson) JSON.parse(answer.text)
    } catch (error) {
      if (scenario.forgives && isAfterPay(kind)) return
      const status = statusOf(error)
      if (kind === "pay" && scenario.word !== "nothing" && isDeclined(status, scenario)) throw new Declined(sentence)
      throw style === "sentences" ? error : thrown(scenario, error, status)
    }
  }

  try {
    for (const group of kindsOf(shape)) await Promise.all(group.map(step))
  } catch (error) {
    if (style !== "sentences" || error instanceof Declined) throw error
    throw new Error(sentence, hasCause ? { cause: error } : {})
  }
  if (style === "sentences" && throwsAnyway) throw new Error(sentence)
  return "paid"
}

const statusOf = (error: unknown): number | undefined => {
  const response: unknown = error instanceof Error ? Reflect.get(error, "response") ?? error : error
  const status: unknown = typeof response === "object" && response !== null ? Reflect.get(response, "status") : undefined
  return typeof status === "number" ? status : undefined
}

const thrown = (
  { hasCause, sentence, throws }: Scenario,
  error: unknown,
  status: number | undefined
): unknown => {
  const options = hasCause ? { cause: error } : {}
  switch (throws) {
    case "the response":
      return error
    case "a status":
      return status === undefined ? error : Object.assign(new Error(sentence), { status })
    case "a message with the status":
      return new Error(status === undefined ? String(error) : `HTTP ${status}`, options)
    case "a sentence":
      return new Error(sentence, options)
    case "a text":
      return sentence
    case "a failure by hand":
      return byHand(sentence)
  }
}

// A status or a sentence decides nothing here: the author calls each failure a refusal.
const byHand = (detail: string): SemanticGarbage | ToolUnavailable =>
  detail.length % 2 === 0
    ? new SemanticGarbage({ code: "no_payment", detail })
    : new ToolUnavailable({ code: "no_payment", detail, transient: false })

/** Pays with Effect's client. */
const requesting = (run: Run, params: Params, key: string | undefined) => {
  const { scenario } = run
  const by = run.beginning(params.order)
  const step = (kind: Kind) =>
    Effect.suspend(() => {
      const { body, headers, method, url } = run.ask(params, kind, by, key)
      const request = HttpClientRequest.make(method === "GET" ? "GET" : "POST")(url, { headers }).pipe(
        body === undefined ? (same) => same : HttpClientRequest.bodyText(body, "application/json")
      )
      const answer = HttpClient.execute(request).pipe(
        Effect.tap(({ status }) =>
          kind === "pay" && scenario.word !== "nothing" && isDeclined(status, scenario)
            ? ToolCall.refuse(scenario.sentence)
            : Effect.void
        ),
        Effect.flatMap(HttpClientResponse.filterStatusOk),
        Effect.flatMap((response) => scenario.readsJson ? response.json : response.text),
        Effect.asVoid
      )
      const patient = run.hasImpatientClient ? Effect.timeout(answer, "2 seconds") : answer
      const classified = HttpFailure.classify(patient)
      const told = scenario.throws === "a failure by hand"
        ? Effect.mapError(
          classified,
          (failure) => failure.evidence?.refused === true ? failure : byHand(scenario.sentence)
        )
        : classified
      return scenario.forgives && isAfterPay(kind) ? Effect.ignore(told) : told
    })
  return Effect.forEach(kindsOf(scenario.shape), (group) => Effect.forEach(group, step, { concurrency: "unbounded" }))
    .pipe(Effect.as("paid"), Effect.provide(FetchHttpClient.layer))
}

// -----------------------------------------------------------------------------
// The tool
// -----------------------------------------------------------------------------

type Pay = Tool.Tool<"pay", Params, string, ToolFailure.ToolFailure<string>>

const definitionOf = ({ acts, hasIdentity, refusesFirst, repeats, sideEffect }: Scenario) => ({
  description: "Pays an order",
  parameters,
  success: Schema.String,
  sideEffect,
  refusesFirst,
  ...(hasIdentity ? { identity: ({ order }: Params) => order } : {}),
  ...(repeats === "never" ? { repeats: false } : {}),
  ...(acts === "nothing" ? {} : { acts: { requests: ["POST 127.0.0.1/*/pay/*"], only: acts === "pay only" } })
})

const bareToolOf = (run: Run): Pay => {
  const { scenario } = run
  const { sendsKey, sentence, style, word } = scenario
  const refuses = word === "refuses" ? [Declined] : []
  if (style === "HttpClient") {
    return Tool.make("pay", definitionOf(scenario), (params) =>
      Effect.flatMap(
        sendsKey ? Effect.map(ToolCall.current, ({ idempotencyKey }) => idempotencyKey) : Effect.undefined,
        (key) => requesting(run, params, key)
      ))
  }
  if (style === "tryPromise" || style === "tryPromise under a timeout") {
    return Tool.make("pay", definitionOf(scenario), (params) =>
      Effect.gen(function*() {
        const fetch = yield* ToolCall.fetch
        const key = sendsKey ? (yield* ToolCall.current).idempotencyKey : ""
        return yield* Effect.tryPromise({
          try: (signal) => performing(run, params, { fetch, signal, key: () => key }),
          catch: (error) => error
        }).pipe(
          Effect.catch((error) =>
            word === "refuse" && error instanceof Declined
              ? ToolCall.refuse(sentence)
              : Effect.fail(ToolFailure.from(error, { refuses }))
          )
        )
      }))
  }
  return Tool.promise("pay", { ...definitionOf(scenario), refuses }, async (params, call) => {
    try {
      return await performing(run, params, { fetch: call.fetch, signal: call.signal, key: () => call.idempotencyKey })
    } catch (error) {
      if (word === "refuse" && error instanceof Declined) call.refuse(sentence)
      throw error
    }
  })
}

const toolOf = (run: Run): Pay => {
  const { check, hasTimeout, retry, style } = run.scenario
  const look = (word: string) => ({ order }: Params) =>
    Effect.tryPromise({
      try: async (signal): Promise<{ readonly receipt: string | null }> =>
        JSON.parse(await (await run.wire.fetch(`${run.url}/${word}/${order}`, { signal })).text()),
      catch: (error) => ToolFailure.from(error)
    }).pipe(Effect.map(({ receipt }) => Option.fromNullOr(receipt)))
  let tool = bareToolOf(run)
  if (hasTimeout || style === "tryPromise under a timeout") tool = Tool.timeout(tool, "1 second")
  switch (check) {
    case "none":
      break
    case "looks":
      tool = Tool.reconcile(tool, look("look"))
      break
    case "looks first":
      tool = Tool.reconcile(tool, look("look"), { lookFirst: true })
      break
    case "is final":
      tool = Tool.reconcile(tool, look("final"), { final: true })
      break
  }
  switch (retry) {
    case "none":
      return tool
    case "transient":
      return Tool.retry(tool, RetryPolicy.transient)
    case "twice":
      return Tool.retry(tool, Schedule.recurs(2))
  }
}

// -----------------------------------------------------------------------------
// The model
// -----------------------------------------------------------------------------

const isPaid = (text: string): boolean => !text.includes("\"ok\":false") || text.includes("already_done")

/** Pays one order or two, and words its note anew each time. A stubborn model repeats whatever has not succeeded. */
const playing = (run: Run): ScriptedModel.Script => ({ messages }, index) => {
  const { asks, isParallel, model, repeats } = run.scenario
  const orders = new Map<string, string>()
  const told = new Map((isParallel ? ["o-1", "o-2"] : ["o-1"]).map((order): [string, Array<string>] => [order, []]))
  for (const message of messages) {
    if (message.role === "assistant") {
      for (const call of message.calls) orders.set(call.id, JSON.parse(call.arguments ?? "{}").order)
    }
    if (message.role === "tool") told.get(orders.get(message.callId) ?? "")?.push(message.text)
  }
  const due = Array.from(told).filter(([, texts]) => {
    const last = texts.at(-1)
    if (last === undefined || texts.length >= asks) return last === undefined
    if (isPaid(last)) return repeats === "never"
    return model === "stubborn" || !/taken effect|Do not call this tool again/.test(last)
  })
  run.noteTurn(index + 1, due.map(([order]) => order))
  return due.length === 0 ? ScriptedModel.text("Done.") : ScriptedModel.calls(
    due.map(([order, texts]) => ["pay", { order, note: `for Ada, take ${texts.length + 1}` }])
  )
}

// -----------------------------------------------------------------------------
// A play
// -----------------------------------------------------------------------------

/** What was seen of one run. */
export interface Played {
  readonly asked: ReadonlyArray<Asked>
  readonly claims: ReadonlyArray<Claim>
  readonly account: Account
}

const running = (run: Run) => {
  const { isOverWire, isStandard } = run.scenario
  const standard = Policy.standard({ attemptTimeout: "1 second", totalTimeout: "20 seconds" })
  const agent = Agent.make({
    toolkit: Toolkit.make(toolOf(run)),
    policies: isStandard ? standard : [],
    limits: { elapsed: "10 minutes" },
    // The model repeats itself on purpose.
    loopGuard: "off"
  })
  return agent.stream("Pay.").pipe(
    Stream.runForEach((event) =>
      Effect.sync(() => {
        if (event._tag !== "CallEnded") return
        const { index, outcome, turn } = event
        const call = `${event.run}/turn/${turn}/call/${index}`
        run.claim({ call, attempt: 0, who: "a call", told: outcome.certainty, outcome })
        const isFailure = outcome._tag === "Failed" && outcome.failure.outcome !== undefined
        if (isFailure && outcome.failure.outcome !== outcome.certainty) {
          run.claim({ call, attempt: 0, who: "a call", told: outcome.failure.outcome })
        }
      })
    ),
    // The result of the run does not matter here.
    Effect.exit,
    Effect.provide((isOverWire ? serving(openAi) : ScriptedModel.layer)(playing(run))),
    Effect.provideService(CallEvent.watcher, run.watch),
    Effect.provideService(LateResult.reporter, ({ attempt, certainty: told, id: call }) =>
      Effect.sync(() => run.claim({ call, attempt, who: "a late result", told })))
  )
}

/** Plays all scenarios at once, each with its own agent, model and orders. */
export const play = (scenarios: ReadonlyArray<Scenario>): Effect.Effect<ReadonlyArray<Played>> =>
  Effect.gen(function*() {
    const wire = new Wire()
    const book = new Map<string, Asked>()
    const accounts = scenarios.map((scenario) => new Account(scenario))
    const server = bankServer(wire, book, accounts)
    const runs = new Map<Scenario, Run>()
    yield* playedOver(wire, server, scenarios, (scenario, url) => {
      const run = new Run(scenario, url, wire, book, accounts[scenarios.indexOf(scenario)]!)
      runs.set(scenario, run)
      return running(run)
    })
    for (const account of accounts) account.doLate()
    return scenarios.map((scenario) => runs.get(scenario)!)
  })

// -----------------------------------------------------------------------------
// The laws
// -----------------------------------------------------------------------------

/** True if a request has had an effect that its tool is made for. What the definition does not name has none. */
export const hasActed = ({ acts }: Scenario, { acted, kind }: Asked): boolean =>
  acted && (kind === "pay" || acts === "nothing" && (kind === "mail" || kind === "new receipt"))

/** Returns what is wrong with a run. */
export const faultsOf = (scenario: Scenario, { account, asked, claims }: Played): ReadonlyArray<string> => {
  const { hasIdentity, honoursKeys, sendsKey } = scenario
  const lies = claims.flatMap(({ at, attempt, call, order, outcome, told, who }) => {
    const own = asked.filter((one) => one.call === call && (who === "a call" || one.attempt === attempt))
    const acted = own.find((one) => one.begun < at && hasActed(scenario, one))
    if (told === "not_executed" && acted !== undefined) {
      return [`lie: ${who} is told as not executed, but its request (${acted.kind}: ${acted.fault}) acted`]
    }
    return told === "executed" && outcome?._tag === "Completed" && account.paidFor(order) === 0
      ? ["lie: told as executed, but nothing was paid"]
      : []
  })
  if (!hasIdentity) return lies
  const law = honoursKeys && sendsKey ? "under keys" : scenario.sideEffect === "non_idempotent" ? "without keys" : undefined
  const twice = ["o-1", "o-2"].filter((order) => law !== undefined && account.paidFor(order) > 1)
  return [...lies, ...twice.map((order) => `double payment ${law}: ${order} was paid ${account.paidFor(order)} times`)]
}

/** A call that certainly did nothing, as its only requests show. */
export interface Refused {
  readonly style: Style
  readonly fault: Fault
  readonly isDoubted: boolean
}

/** Faults after which every client knows that nothing was done. */
const isKnown = (fault: Fault): boolean => fault.endsWith("not done") && !/^(?:408|500|503|reset)/.test(fault)

/** The calls of a plain handler whose requests were all refused or not served. None of them deserves a doubt. */
export const refusedIn = (scenario: Scenario, { asked, claims }: Played): ReadonlyArray<Refused> => {
  const { acts, shape, sideEffect, style, throws } = scenario
  // Of requests that are sent at once, one may be on its way when another one fails.
  if (throws !== "the response" && style !== "sentences" || shape.includes("+")) return []
  const doubted = new Set<string>()
  return claims.flatMap(({ call, order, outcome, who }) => {
    if (who !== "a call" || outcome === undefined) return []
    const isRepeated = doubted.has(order)
    if (outcome.certainty !== "not_executed") doubted.add(order)
    const own = asked.filter((one) => one.call === call)
    const acting = own.filter(({ kind }) => acts === "nothing" ? !isReading(kind) : kind === "pay")
    const last = acting.at(-1)
    // Silence proves nothing.
    const isSilent = own.some(({ attempt }) => !acting.some((one) => one.attempt === attempt))
    if (last === undefined || isSilent || isRepeated || outcome._tag !== "Failed" || !acting.every(({ fault }) => isKnown(fault))) {
      return []
    }
    // A conflict may be about an earlier request with the same key.
    const isConflict = acting.some(({ fault }) => fault.startsWith("409") || fault.startsWith("422"))
    if (isConflict && sideEffect === "idempotent_by_key" && (own.length > 1 || asked.indexOf(own[0]!) > 0)) return []
    return [{ style, fault: last.fault, isDoubted: outcome.certainty !== "not_executed" }]
  })
}

/** Returns the smallest scenario found that still has a fault when it is played alone; `undefined` if it has none. */
export const shrunk = async (scenario_: Scenario): Promise<Scenario | undefined> => {
  const isFine = async (one: Scenario) => {
    const [played] = await Effect.runPromise(play([one]))
    return played === undefined || faultsOf(one, played).length === 0
  }
  const { counterexample } = await fc.check(fc.asyncProperty(scenario, isFine), {
    examples: [[scenario_]],
    numRuns: 1,
    interruptAfterTimeLimit: 60_000
  })
  return counterexample?.[0]
}
