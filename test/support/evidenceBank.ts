/**
 * A bank over HTTP that may fail in any way, and that keeps a record of what it really did. It can honour idempotency
 * keys: it then acts once for each key, and refuses a key that comes with another body.
 */
import { createServer, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { answer, type Wire } from "./wire.ts"

/** The statuses with which a request can be refused. The bank has not acted then. */
export const refusals = [400, 401, 402, 403, 404, 408, 409, 410, 422, 423, 425, 429] as const

/** What can happen to a request. The bank acts unless the text says otherwise. */
export const faults = [
  "200",
  "200, and the answer is cut off",
  "201",
  "204",
  "303 to a page that is missing",
  "307 to a refusal, not done",
  "307 to the place that acts",
  ...refusals.map((status) => `${status}, not done` as const),
  "408",
  "500",
  "502",
  "503",
  "500, not done",
  "503, not done",
  "reset, not done",
  "reset",
  "hangs",
  "reset, done later",
  "no server, not done"
] as const

export type Fault = typeof faults[number]

/** The requests of a handler. Only a payment and a mail have an effect; receipts have one if they are made by POST. */
export type Kind = "quote" | "token" | "pay" | "receipt" | "new receipt" | "mail"

/** When the bank does what it did not do at once: in a moment, after its next request for the same order, or at the end. */
export type Lateness = "soon" | "next" | "end"

/** How the bank of a run treats keys, and what it does late. */
export interface BankRules {
  readonly honoursKeys: boolean
  /** Whether it also stores a refusal under its key, and repeats it. */
  readonly storesRefusals: boolean
  readonly lateness: Lateness
  /** Whether a late request is still on its way, so that the bank does not know its key. */
  readonly isStuck: boolean
}

/** A request that a handler has sent. */
export interface Asked {
  readonly id: string
  readonly order: string
  readonly kind: Kind
  readonly fault: Fault
  /** The call and the attempt that have sent it. */
  readonly call: string
  readonly attempt: number
  /** Its place among all events of its run. */
  readonly begun: number
  readonly account: Account
  /** Gives the request up, as a client does whose time is up. */
  giveUp: (() => void) | undefined
  key: string | undefined
  /** The status of its last answer. */
  answered: number | undefined
  /** True once it has had its effect, or was answered with the effect of an earlier request with its key. */
  acted: boolean
}

/** A payment that took effect. */
export interface Payment {
  readonly order: string
  readonly call: string
  readonly key: string | undefined
}

interface Known {
  readonly body: string
  state: "running" | "done" | "refused"
}

/** What the bank knows of one run. */
export class Account {
  readonly rules: BankRules
  readonly payments: Array<Payment> = []
  readonly known = new Map<string, Known>()
  late: Array<{ readonly asked: Asked; readonly body: string }> = []
  /** Called when a payment has been asked for, and answered or left. */
  onArrival: () => void = () => {}
  /** The number of events in the run so far. */
  #events = 0
  /** Requests for an order that had begun by this event are ruled out, if they have not been served. */
  readonly #rescinded = new Map<string, number>()

  constructor(rules: BankRules) {
    this.rules = rules
  }

  /** Numbers an event. */
  tick(): number {
    return ++this.#events
  }

  paidFor(order: string): number {
    return this.payments.filter((payment) => payment.order === order).length
  }

  /** Does what was left, and does it now. */
  doLate(order?: string): void {
    const due = this.late.filter(({ asked }) => order === undefined || asked.order === order)
    this.late = this.late.filter((one) => !due.includes(one))
    for (const { asked, body } of due) {
      const known = this.knownTo(asked)
      // The key of a stuck request may have come with another request before.
      if (known === undefined || known.state === "running") this.act(asked, body)
    }
  }

  isRuledOut({ begun, kind, order }: Asked): boolean {
    return kind === "pay" && begun <= (this.#rescinded.get(order) ?? 0)
  }

  /** Rules out all requests for an order that have begun, but have not been served. */
  rescind(order: string): void {
    this.#rescinded.set(order, this.#events)
    for (const { asked } of this.late) {
      if (asked.order === order && this.knownTo(asked)?.state === "running") this.known.delete(asked.key ?? "")
    }
    this.late = this.late.filter(({ asked }) => asked.order !== order)
  }

  knownTo({ key, kind }: Asked): Known | undefined {
    return this.rules.honoursKeys && kind === "pay" && key !== undefined ? this.known.get(key) : undefined
  }

  learn({ key, kind }: Asked, body: string, state: Known["state"]): void {
    if (this.rules.honoursKeys && kind === "pay" && key !== undefined) this.known.set(key, { body, state })
  }

  act(asked: Asked, body: string): void {
    const isDone = this.knownTo(asked)?.state === "done"
    asked.acted = true
    if (isDone) return
    this.learn(asked, body, "done")
    if (asked.kind === "pay") this.payments.push({ order: asked.order, call: asked.call, key: asked.key })
  }
}

const declined = { code: "declined", message: "The card was declined." }

/** Statuses that a gateway gives before the bank has seen the request and its key. */
const ofGateway: ReadonlySet<number> = new Set([401, 403, 404, 408, 423, 425, 429])

/** Makes a server for the accounts of many runs. */
export const bankServer = (wire: Wire, asked: ReadonlyMap<string, Asked>, accounts: ReadonlyArray<Account>) => {
  const server = createServer((request, response) => {
    const id = String(request.headers["x-request"])
    wire.open.add(id)
    response.on("close", () => wire.open.delete(id))
    const [, run = "", word = "", order = "", end] = request.url!.split("/")
    text(request).then((body) => {
      const one = asked.get(String(request.headers["x-asked"]))
      if (one === undefined) return answer(response, 200, looked(accounts[Number(run)], order, word))
      const key = request.headers["idempotency-key"]
      one.key = typeof key === "string" ? key : undefined
      response.on("finish", () => {
        one.answered = response.statusCode
      })
      serve(one, body, end, id, response)
      if (one.kind === "pay") one.account.onArrival()
      if (one.account.rules.lateness === "next" && !one.fault.endsWith("later")) one.account.doLate(order)
    }, () => response.destroy())
  })
  // A connection that the server closes between two requests would be one more fault.
  server.keepAliveTimeout = 0

  const serve = (one: Asked, body: string, end: string | undefined, id: string, response: ServerResponse): void => {
    const { account, fault } = one
    const act = () => account.act(one, body)
    const storeRefusal = () => {
      if (account.rules.storesRefusals && account.knownTo(one) === undefined) account.learn(one, body, "refused")
    }
    if (end === "declined") {
      storeRefusal()
      return answer(response, 402, declined)
    }
    if (account.isRuledOut(one)) return answer(response, 410, { code: "cancelled", message: "Ruled out." })
    if (end === "missing") return answer(response, 404, { message: "No such page." })
    if (end === "again") {
      act()
      return answer(response, 200, receiptOf(one))
    }
    const status = Number.parseInt(fault, 10)
    if (fault === "reset, not done") return reset(response)
    if (fault.endsWith("not done") && (status >= 500 || ofGateway.has(status))) return refuse(status, response)
    const isLate = fault === "reset, done later"
    if (isLate && account.rules.isStuck) return later(one, body, response)
    const known = account.knownTo(one)
    if (known !== undefined && known.body !== body) {
      return answer(response, 422, { code: "key_reused", message: "This key came with another body." })
    }
    if (known?.state === "running") return answer(response, 409, { code: "in_progress", message: "Still running." })
    if (known?.state === "refused") return answer(response, 402, declined)
    if (known?.state === "done" && fault.endsWith("not done")) {
      act()
      return answer(response, 200, receiptOf(one))
    }
    if (isLate) {
      if (known === undefined) account.learn(one, body, "running")
      return later(one, body, response)
    }
    const path = `/${accounts.indexOf(account)}/${one.kind.replace(" ", "-")}/${one.order}`
    if (fault === "307 to a refusal, not done") return redirect(response, 307, `${path}/declined`)
    if (fault === "307 to the place that acts") return redirect(response, 307, `${path}/again`)
    if (fault.endsWith("not done")) {
      storeRefusal()
      return refuse(status, response)
    }
    act()
    if (fault === "reset") return reset(response)
    if (fault === "303 to a page that is missing") return redirect(response, 303, `${path}/missing`)
    if (fault === "hangs") {
      wire.held.add(id)
      response.on("close", () => wire.held.delete(id))
      return one.giveUp?.()
    }
    if (fault === "200, and the answer is cut off") {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" })
      response.write("{\"receipt\": \"r")
      return void setImmediate(() => response.destroy())
    }
    if (status === 204) return void response.writeHead(204).end()
    return status < 300 ? answer(response, status, receiptOf(one)) : refuse(status, response)
  }
  return server
}

const receiptOf = ({ id }: Asked) => ({ receipt: id })

const refuse = (status: number, response: ServerResponse): void => {
  const headers = status === 429 ? { "retry-after": "1" } : {}
  const body = status === 402 || status === 409 ? declined : { message: `Status ${status}.` }
  answer(response, status, body, headers)
}

const redirect = (response: ServerResponse, status: number, location: string): void =>
  void response.writeHead(status, { location }).end()

const reset = (response: ServerResponse): void => void response.socket?.resetAndDestroy()

const later = (asked: Asked, body: string, response: ServerResponse): void => {
  const { account } = asked
  account.late.push({ asked, body })
  reset(response)
  if (account.rules.lateness === "soon") setImmediate(() => setImmediate(() => account.doLate(asked.order)))
}

/** Answers a check: whether an order is paid. A final check rules out what is not done yet. */
const looked = (account: Account | undefined, order: string, word: string) => {
  if (word === "final") account?.rescind(order)
  return { receipt: account !== undefined && account.paidFor(order) > 0 ? order : null }
}
