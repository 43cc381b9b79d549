/** The tools of `evidenceRuns`: a payment in each style, over real connections, and a record of what its handler sent. */
import {
  type Observer,
  RetryPolicy,
  SemanticGarbage,
  Tool,
  ToolCall,
  ToolFailure,
  ToolUnavailable
} from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Cause, Effect, Option, Schedule, Schema } from "effect"
import { FetchHttpClient, HttpClient, type HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import type { Account, Asked, Fault, Kind } from "./evidenceBank.ts"
import { type Ask, type Client, fetching, type forms, nodeHttp, overSocket, Queue, sdk } from "./evidenceClients.ts"
import { isKeyed, isReading, kindsOf, type Scenario } from "./evidenceScenario.ts"
import { closedPort } from "./http.ts"
import type { Wire } from "./wire.ts"

// -----------------------------------------------------------------------------
// A run
// -----------------------------------------------------------------------------

/** An execution of a handler. */
interface Execution {
  readonly call: string
  readonly attempt: number
}

/** What was told of a call or an attempt. */
export interface Claim extends Execution {
  readonly order: string
  readonly who: "a call" | "an attempt" | "a late result"
  readonly told: "executed" | "not_executed" | "unknown"
  /** Its place among all events of its run. */
  readonly at: number
  /** The outcome of a call. */
  readonly outcome?: ToolOutcome.ToolOutcome
}

/** The clients below Effect's `HttpClient`, by the form of the request. */
export type EffectClients = Readonly<Record<typeof forms[number], HttpClient.HttpClient>>

/** What all runs of a play share. */
export interface Shared {
  readonly wire: Wire
  /** The requests of all runs, by their id. */
  readonly book: Map<string, Asked>
  readonly clients: EffectClients
}

/** One run: its scenario, and all that happens in it. */
export class Run {
  readonly scenario: Scenario
  readonly url: string
  readonly account: Account
  readonly shared: Shared
  readonly queue = new Queue()
  readonly asked: Array<Asked> = []
  readonly claims: Array<Claim> = []
  readonly #plans: ReadonlyMap<string, Array<Fault>>
  /** The orders of the model's calls, by "turn/index". */
  readonly #orders = new Map<string, string>()
  /** What runs now for each order. */
  readonly #now = new Map<string, Execution>()
  /** Distinguishes runs with the same id. */
  part = 1

  constructor(scenario: Scenario, url: string, account: Account, shared: Shared) {
    this.scenario = scenario
    this.url = url
    this.account = account
    this.shared = shared
    this.#plans = new Map(scenario.faults.map((plan, index) => [`o-${index + 1}`, [...plan]]))
  }

  /** True if a client gives up a request that is not answered. Otherwise the tool's time limit ends it. */
  get hasImpatientClient(): boolean {
    const { hangsUp, hasTimeout, isStandard, style } = this.scenario
    const hasTimeLimit = hasTimeout || isStandard || style === "tryPromise under a timeout"
    // In a full pool, other requests would wait for one that hangs, and time would not pass.
    return hangsUp === "client" || !hasTimeLimit || hasPool(this.scenario)
  }

  noteTurn(turn: number, orders: ReadonlyArray<string>): void {
    orders.forEach((order, index) => this.#orders.set(`${turn}/${index + 1}`, order))
  }

  readonly watch: NonNullable<Observer.Observer["onEvent"]> = (event) => {
    const { attempt, id: call } = event
    if (event._tag === "AttemptStarted") this.#now.set(this.#orderOf(call), { call: this.#named(call), attempt })
    if (event._tag === "AttemptEnded" && event.effects !== undefined && event.inside === undefined) {
      const told = event.effects === "none" ? "not_executed" : event.effects === "done" ? "executed" : "unknown"
      this.claim({ call, attempt, who: "an attempt", told })
    }
  }

  claim(claim: Omit<Claim, "at" | "order">): void {
    const { call } = claim
    this.claims.push({ ...claim, call: this.#named(call), order: this.#orderOf(call), at: this.account.tick() })
  }

  #named(call: string): string {
    return `${this.part}: ${call}`
  }

  #orderOf(call: string): string {
    const [, turn = "", index = ""] = /turn\/(\d+)\/call\/(\d+)/.exec(call) ?? []
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
      answered: undefined,
      acted: false
    }
    this.asked.push(one)
    this.shared.book.set(one.id, one)
    const base = one.fault === "no server, not done" ? `http://127.0.0.1:${closedPort}/0` : this.url
    return {
      method: isReading(kind) ? "GET" : "POST",
      url: `${base}/${kind.replace(" ", "-")}/${order}`,
      headers: {
        "x-asked": one.id,
        "x-request": one.id,
        ...(isReading(kind) ? {} : { "content-type": "application/json" }),
        ...(kind === "pay" && key !== undefined ? { "idempotency-key": key } : {})
      },
      body: isReading(kind) ? undefined : JSON.stringify({ order, note }),
      signal: undefined
    }
  }

  /** Prepares a request to be sent: the wire knows it, and its client gives up if the bank lets it wait. */
  sending(ask: Ask, giveUp: () => void): () => void {
    const { book, wire } = this.shared
    const id = ask.headers["x-asked"] ?? ""
    const asked = book.get(id)
    if (asked !== undefined && this.hasImpatientClient) asked.giveUp = giveUp
    wire.sent.add(id)
    return () => wire.sent.delete(id)
  }

  /** Makes a client that sends the requests of this run. */
  over(client: Client, signal: AbortSignal | undefined): Client {
    const send: Client = async (ask) => {
      const patience = new AbortController()
      const end = this.sending(ask, () => patience.abort(new DOMException("Timed out.", "TimeoutError")))
      const both = signal === undefined ? patience.signal : AbortSignal.any([patience.signal, signal])
      return await client({ ...ask, signal: both }).finally(end)
    }
    return this.scenario.carrier === "a queue" ? (ask) => this.queue.run(() => send(ask)) : send
  }
}

// -----------------------------------------------------------------------------
// Async handlers
// -----------------------------------------------------------------------------

export const parameters = Schema.Struct({ order: Schema.String, note: Schema.String })
export type Params = typeof parameters.Type

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

// With keys, a 409 may be about an earlier request.
const isDeclined = (status: number | undefined, { honoursKeys, word }: Scenario): boolean =>
  word !== "nothing" && (status === 402 || status === 409 && !honoursKeys)

const isAfterPay = (kind: Kind): boolean => kind === "receipt" || kind === "new receipt" || kind === "mail"

/** Pays in the way of a scenario. Throws {@link Declined} if the author has a word for that. */
const performing = async (run: Run, params: Params, hands: Hands): Promise<string> => {
  const { scenario } = run
  const { sendsKey, sentence, shape, style, throwsAnyway } = scenario
  const by = run.beginning(params.order)
  const key = sendsKey ? hands.key() : undefined

  const step = async (kind: Kind): Promise<void> => {
    try {
      const again = () => run.ask(params, kind, by, style === "the context's fetch" ? undefined : key)
      const answer = await clientOf(run, kind, hands, again)(again())
      if (answer.status < 200 || answer.status > 299) throw answer.response
      if (scenario.readsJson) JSON.parse(answer.text)
    } catch (error) {
      if (scenario.forgives && isAfterPay(kind)) return
      const status = statusOf(error)
      if (kind === "pay" && isDeclined(status, scenario)) throw new Declined(sentence)
      throw style === "sentences" ? error : thrown(scenario, error, status)
    }
  }

  const follow = async (chain: ReadonlyArray<Kind>): Promise<void> => {
    for (const kind of chain) await step(kind)
  }

  try {
    for (const group of kindsOf(shape)) await Promise.all(group.map(follow))
  } catch (error) {
    const isTold = style === "sentences" && !(error instanceof Declined)
    throw isTold ? thrown({ ...scenario, throws: "a sentence" }, error, undefined) : error
  }
  if (style === "sentences" && throwsAnyway) throw new Error(sentence)
  return "paid"
}

const clientOf = (run: Run, kind: Kind, hands: Hands, again: () => Ask): Client => {
  const { scenario } = run
  const { carrier, form, passesSignal, sendsKey, style } = scenario
  const signal = passesSignal ? hands.signal : undefined
  switch (style) {
    case "the context's fetch":
      return run.over(fetching(kind === "pay" && sendsKey ? hands.fetch.withKey : hands.fetch, form), signal)
    case "node:http":
      return run.over(nodeHttp, signal)
    case "an SDK":
      return sdk(run.over(fetching(fetch, form), signal), isKeyed(scenario) && kind === "pay", again)
    case "global fetch":
    case "tryPromise":
    case "tryPromise under a timeout":
    case "sentences":
    case "HttpClient":
      return run.over(carrier === "a socket" ? overSocket : fetching(fetch, form), signal)
  }
}

const statusOf = (error: unknown): number | undefined => {
  const response: unknown = error instanceof Error ? Reflect.get(error, "response") ?? error : error
  const status: unknown = typeof response === "object" && response !== null
    ? Reflect.get(response, "status")
    : undefined
  return typeof status === "number" ? status : undefined
}

const thrown = ({ hasCause, sentence, throws }: Scenario, error: unknown, status: number | undefined): unknown => {
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

// Whatever the service answered, the author calls it a refusal.
const byHand = (detail: string): SemanticGarbage | ToolUnavailable =>
  detail.length % 2 === 0
    ? new SemanticGarbage({ code: "no_payment", detail })
    : new ToolUnavailable({ code: "no_payment", detail, transient: false })

// -----------------------------------------------------------------------------
// Handlers with Effect's client
// -----------------------------------------------------------------------------

const requesting = (run: Run, params: Params, key: string | undefined) => {
  const { scenario } = run
  const { forgives, form, readsJson, sentence, shape, throws } = scenario
  const by = run.beginning(params.order)
  const bare = run.shared.clients[form]
  // Only `fetch` follows redirects by itself.
  const client = form === "text" || readsJson ? bare : HttpClient.followRedirects(bare, 3)
  const step = (kind: Kind) =>
    Effect.suspend(() => {
      const ask = run.ask(params, kind, by, key)
      const { body, headers, url } = ask
      const request = isReading(kind)
        ? HttpClientRequest.get(url, { headers })
        : HttpClientRequest.post(url, { headers })
      const answer = client.execute(
        body === undefined ? request : HttpClientRequest.bodyText(request, body, "application/json")
      ).pipe(
        Effect.tap(({ status }) =>
          kind === "pay" && isDeclined(status, scenario) ? ToolCall.refuse(sentence) : Effect.void
        ),
        Effect.flatMap(HttpClientResponse.filterStatusOk),
        Effect.flatMap((response): Effect.Effect<unknown, HttpClientError.HttpClientError> =>
          readsJson ? response.json : response.text
        ),
        // The client tells the wire itself.
        Effect.provideService(FetchHttpClient.Fetch, fetch)
      )
      let end: () => void = () => {}
      const patience = Effect.callback<never, Cause.TimeoutError>((resume) => {
        end = run.sending(ask, () => resume(Effect.fail(new Cause.TimeoutError())))
      })
      const classified = Effect.raceFirst(answer, patience).pipe(
        Effect.ensuring(Effect.sync(() => end())),
        HttpFailure.classify
      )
      const told = throws === "a failure by hand"
        ? Effect.mapError(classified, (failure) => failure.evidence?.refused === true ? failure : byHand(sentence))
        : classified
      return forgives && isAfterPay(kind) ? Effect.ignore(told) : told
    })
  return Effect.forEach(
    kindsOf(shape),
    (group) => Effect.forEach(group, (chain) => Effect.forEach(chain, step), { concurrency: "unbounded" })
  ).pipe(Effect.as("paid"))
}

// -----------------------------------------------------------------------------
// The tool
// -----------------------------------------------------------------------------

export type Pay = Tool.Tool<string, Params, string, ToolFailure.ToolFailure<string>>

const definitionOf = ({ acts, hasIdentity, refusesFirst, repeats, sentence, sideEffect }: Scenario) => ({
  description: "Pays an order",
  parameters,
  success: Schema.String,
  sideEffect,
  refusesFirst,
  identity: hasIdentity ? ({ order }: Params) => order : "all" as const,
  ...(repeats === "never" ? { repeats: false } : {}),
  ...(acts === "nothing"
    ? {}
    : { acts: { requests: [patterns[sentence.length % patterns.length]!], only: acts === "pay only" } })
})

/** The ways to say which request pays. */
const patterns = ["POST 127.0.0.1/*/pay/*", "/*/pay/*", "POST http://127.0.0.1/*/pay/*", "* 127.0.0.1:*/*/pay/o-*"]

const bareToolOf = (run: Run): Pay => {
  const { scenario } = run
  const { isUninterruptible, sendsKey, sentence, style, word } = scenario
  const refuses = word === "refuses" ? [Declined] : []
  const definition = definitionOf(scenario)
  const ofCall = Effect.map(ToolCall.current, ({ idempotencyKey }) => idempotencyKey)
  if (style === "HttpClient") {
    return Tool.make(
      "pay",
      definition,
      (params) => Effect.flatMap(sendsKey ? ofCall : Effect.undefined, (key) => requesting(run, params, key))
    )
  }
  if (style === "tryPromise" || style === "tryPromise under a timeout") {
    // Effect's client could not give up there.
    return Tool.make("pay", { ...definition, uninterruptible: isUninterruptible }, (params) =>
      Effect.gen(function*() {
        const fetch = yield* ToolCall.fetch
        const key = sendsKey ? yield* ofCall : ""
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

const nested = (inner: Pay, { nesting, sentence, ...scenario }: Scenario): Pay =>
  nesting === "none" ? inner : Tool.make(
    "checkout",
    definitionOf({ ...scenario, nesting, sentence }),
    (params) => nesting === "passes on" ? inner.run(params) : Effect.mapError(inner.run(params), () => byHand(sentence))
  )

/** Makes the tool of a run. */
export const toolOf = (run: Run): Pay => {
  const { scenario, shared: { wire } } = run
  const { check, hasTimeout, retry, style } = scenario
  const look = (word: string) => ({ order }: Params) =>
    Effect.tryPromise({
      try: async (signal): Promise<{ readonly receipt: string | null }> =>
        JSON.parse(await (await wire.fetch(`${run.url}/${word}/${order}`, { signal })).text()),
      catch: (error) => ToolFailure.from(error)
    }).pipe(Effect.map(({ receipt }) => Option.fromNullOr(receipt)))
  let tool = bareToolOf(run)
  if (style === "tryPromise under a timeout") tool = Tool.timeout(tool, "1 second")
  tool = nested(tool, scenario)
  if (hasTimeout) tool = Tool.timeout(tool, "1500 millis")
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

const hasPool = ({ form, style }: Scenario): boolean => style === "HttpClient" && form === "Request"

/** Whether a run may make others of its process blind: it has a pool that may be full, or sends requests after its end. */
export const isNoisy = (scenario: Scenario): boolean =>
  scenario.shape.includes("+") || scenario.sequel === "again" || hasPool(scenario)
