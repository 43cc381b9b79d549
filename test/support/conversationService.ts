/**
 * The service of the conversations: it pays and transfers over real HTTP, and knows what it has done. It may act and drop
 * the connection, act later, act when its client has hung up, fail after it has acted, refuse, be busy, or work.
 */
import { Effect } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { sentences } from "./evidenceSentences.ts"
import { answer, type Wire } from "./wire.ts"

export const faults = [
  "drops before it acts",
  "acts, then drops",
  "drops, and acts later",
  "acts when nobody listens any more",
  "acts, then fails",
  "acts, then cuts its answer short",
  "refuses",
  "is full",
  "is busy"
] as const

export type Fault = typeof faults[number]

/** An effect's name, such as `pay o-7`. Each conversation intends some effects, each a number of times. */
export type Intent = string

export const intentOf = (tool: string, order: string): Intent => `${tool} ${/o-\d/.exec(order)?.[0] ?? "nothing"}`

/** A request that acts. */
interface Request {
  readonly intent: Intent
  readonly key: string | undefined
  state: "pending" | "acted" | "did nothing"
}

/** What an operator has said about an effect. */
interface Verdict {
  readonly certainty: "executed" | "not_executed"
  /** How many requests there were by then. */
  readonly requests: number
  /** How often the operator has said that the effect has happened. */
  readonly executed: number
}

/** What a service does in one conversation. */
export interface Plan {
  /** The fault of each request that acts, in order. */
  readonly faults: ReadonlyArray<Fault | undefined>
  /** Whether each look at the service, in order, is lost. */
  readonly lostLooks: ReadonlyArray<boolean>
  readonly honoursKeys: boolean
}

/** The account of one conversation. */
export class Account {
  readonly requests: Array<Request> = []
  /** What has happened, for a reader. */
  readonly log: Array<string> = []
  readonly #faults: Array<Fault | undefined>
  readonly #lostLooks: Array<boolean>
  /** The requests by which each key acted. */
  readonly #byKey = new Map<string, Request>()
  readonly #verdicts = new Map<Intent, Verdict>()
  /** The keys under which the service has refused. It gives the same answer again. */
  readonly #refused = new Set<string>()
  readonly #honoursKeys: boolean

  constructor({ faults, honoursKeys, lostLooks }: Plan) {
    this.#faults = [...faults]
    this.#lostLooks = [...lostLooks]
    this.#honoursKeys = honoursKeys
  }

  /** How often an effect has happened. */
  countOf(intent: Intent): number {
    return this.requests.filter((request) => request.intent === intent && request.state === "acted").length
  }

  /**
   * What an operator finds out about the latest call: whether the effect has happened more often than anybody knows.
   * Returns `undefined` while a request is pending.
   *
   * @param known how often the conversation knows that the effect has happened
   */
  found(intent: Intent, known: number): Verdict["certainty"] | undefined {
    const requests = this.requests.filter((request) => request.intent === intent)
    if (requests.some(({ state }) => state === "pending")) return undefined
    const before = this.#verdicts.get(intent)
    // Who is asked again about the same call says the same again.
    if (before?.requests === requests.length) return before.certainty
    const said = before?.executed ?? 0
    const certainty = this.countOf(intent) > known + said ? "executed" : "not_executed"
    this.#verdicts.set(intent, {
      certainty,
      requests: requests.length,
      executed: certainty === "executed" ? said + 1 : said
    })
    return certainty
  }

  /** Rules out what has not happened yet. */
  ruleOut(intent: Intent): void {
    for (const request of this.requests) {
      if (request.intent === intent && request.state === "pending") request.state = "did nothing"
    }
  }

  takeFault(request: Request): Fault | undefined {
    const { key } = request
    if (key !== undefined && this.#refused.has(key)) return "refuses"
    // In JSON, no fault is null.
    const fault = this.#faults.shift() ?? undefined
    if (fault !== "refuses" || key === undefined || !this.#honoursKeys) return fault
    // It does not refuse a key under which it has acted, or will.
    if (this.requests.some((one) => one !== request && one.key === key && one.state !== "did nothing")) return undefined
    this.#refused.add(key)
    return fault
  }

  isLookLost(): boolean {
    return this.#lostLooks.shift() === true
  }

  receive(intent: Intent, key: string | undefined): Request {
    const request: Request = { intent, key, state: "pending" }
    this.requests.push(request)
    return request
  }

  /** Acts, unless the key has acted already, or the request was ruled out. */
  act(request: Request): void {
    if (request.state !== "pending") return
    const { intent, key } = request
    if (this.#honoursKeys && key !== undefined) {
      if (this.#byKey.has(key)) {
        request.state = "did nothing"
        return
      }
      this.#byKey.set(key, request)
    }
    request.state = "acted"
    this.log.push(`    service: ${intent} has happened`)
  }

  refuse(request: Request): void {
    if (request.state === "pending") request.state = "did nothing"
  }
}

/** When a service acts that has dropped the connection, and one whose client does not hang up, in milliseconds. */
const late = 5_000
const latest = 8_000

/** The longest time from the end of a call to its effect. */
export const settle = "10 seconds"

export class Service {
  readonly accounts: ReadonlyArray<Account>
  /** Runs a function after some virtual time. */
  after: (millis: number, run: () => void) => void = () => {}
  readonly #wire: Wire

  constructor(wire: Wire, plans: ReadonlyArray<Plan>) {
    this.#wire = wire
    this.accounts = plans.map((plan) => new Account(plan))
  }

  accountAt(url: string): Account {
    return this.accounts[Number(url.split("/").at(-1))]!
  }

  // The address: /<conversation>/<tool>, and for a look: /<conversation>/<tool>/<final|look>/<order>
  readonly server = createServer((request, response) => {
    const id = String(request.headers["x-request"])
    this.#wire.open.add(id)
    response.on("close", () => this.#wire.open.delete(id))
    const [, index = "", tool = "", look, order = ""] = request.url!.split("/")
    const account = this.accounts[Number(index)]!
    if (look !== undefined) return this.#look(account, intentOf(tool, order), look === "final", response)
    void textOf(request).then((body) => {
      const key = request.headers["idempotency-key"]
      this.#act(
        account,
        account.receive(intentOf(tool, body), key === undefined ? undefined : String(key)),
        id,
        response
      )
    })
  })

  #look(account: Account, intent: Intent, isFinal: boolean, response: ServerResponse) {
    if (account.isLookLost()) return void response.destroy()
    if (isFinal) account.ruleOut(intent)
    const state = account.countOf(intent) > 0 ? "paid" : "open"
    account.log.push(`    service: ${intent} is ${state}`)
    answer(response, 200, { state })
  }

  #act(account: Account, request: Request, id: string, response: ServerResponse) {
    const fault = account.takeFault(request)
    account.log.push(`    service: ${request.intent}, ${fault ?? "works"}, key ${request.key?.slice(0, 6) ?? "none"}`)
    const act = () => account.act(request)
    const fail = (status: number, headers = {}) =>
      answer(response, status, { message: sentences[account.requests.length % sentences.length] }, headers)
    switch (fault) {
      case "drops before it acts":
        account.refuse(request)
        return response.destroy()
      case "acts, then drops":
        act()
        return response.destroy()
      case "drops, and acts later":
        this.after(late, act)
        return response.destroy()
      case "acts when nobody listens any more": {
        this.#wire.held.add(id)
        const end = () => {
          this.#wire.held.delete(id)
          act()
        }
        response.on("close", end)
        return this.after(latest, () => {
          if (!this.#wire.held.has(id)) return
          end()
          if (request.state === "acted") return this.#receipt(account, request, response)
          fail(410)
        })
      }
      case "acts, then fails":
        act()
        return fail(500)
      case "acts, then cuts its answer short":
        act()
        response.writeHead(200, { "content-type": "application/json" })
        return response.end("{\"receipt\": \"r")
      case "refuses":
        account.refuse(request)
        return fail(402)
      case "is full":
        account.refuse(request)
        return fail(503)
      case "is busy":
        account.refuse(request)
        return fail(429, { "retry-after": "1" })
      case undefined:
        act()
        return this.#receipt(account, request, response)
    }
  }

  #receipt(account: Account, request: Request, response: ServerResponse) {
    answer(response, 200, { receipt: `receipt ${account.countOf(request.intent)}` })
  }
}

const textOf = async (request: IncomingMessage) => {
  let text = ""
  for await (const piece of request) text += String(piece)
  return text
}

/** Runs functions after some time of the current clock. */
export const afterwards = Effect.map(
  Effect.context(),
  (context) => (millis: number, run: () => void) => {
    Effect.runForkWith(context)(Effect.delay(Effect.sync(run), millis))
  }
)
