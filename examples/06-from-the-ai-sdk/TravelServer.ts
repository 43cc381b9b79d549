/**
 * What the assistant works with: an airline, a payment service and a mail service, on one server of the loopback
 * interface. It keeps a record of what it did, and it misbehaves on command.
 *
 *     GET  /flights?from=OSL&to=FCO   the flights, cheapest first
 *     POST /bookings                  books a seat; 409 if the flight is sold out
 *     POST /v1/charges                charges a card, once for each `Idempotency-Key`
 *     POST /mails                     sends a mail
 */
import type { ServerResponse } from "node:http"
import { listen, type Loopback } from "./Loopback.ts"

export interface Flight {
  readonly flight: string
  readonly departs: string
  readonly euros: number
}

export interface Charge {
  readonly id: string
  readonly booking: string
  readonly euros: number
  readonly note: string
}

/** What goes wrong: the first requests to one address get no proper answer. */
export interface Fault {
  /** The method and the path of the requests: `POST /v1/charges`. */
  readonly at: string
  /** Whether the service has acted before its answer gets lost. */
  readonly acts: boolean
  /** A status, a connection that is reset, or no answer at all. */
  readonly answer: number | "reset" | "silence"
  readonly headers?: Readonly<Record<string, string>>
  /** How many requests it hits. Default: all. */
  readonly times?: number
}

export interface TravelServer extends Loopback {
  readonly bookings: ReadonlyArray<string>
  readonly charges: ReadonlyArray<Charge>
  readonly mails: ReadonlyArray<string>
}

/** The flights of every route. */
const flights: ReadonlyArray<Flight> = [
  { flight: "DY1872", departs: "07:05", euros: 129 },
  { flight: "SK4713", departs: "11:40", euros: 164 }
]

export const start = async (fault?: Fault): Promise<TravelServer> => {
  const services = new Services()
  let hits = 0
  const { close, url } = await listen(({ headers, method, url = "/" }, body, response) => {
    const at = `${method} ${new URL(url, "http://localhost").pathname}`
    const key = headers["idempotency-key"]
    const act = () => services.answer(at, body, typeof key === "string" ? key : undefined)
    if (fault === undefined || fault.at !== at || hits++ >= (fault.times ?? Infinity)) return send(response, act())
    if (fault.acts) act()
    if (fault.answer === "silence") return
    if (fault.answer === "reset") return void response.socket?.resetAndDestroy()
    const { answer: status, headers: more = {} } = fault
    send(response, { status, body: refusal("api_error", wordsOf(status)), headers: more })
  })
  const { bookings, charges, mails } = services
  return { url, close, bookings, charges, mails }
}

const refusal = (type: string, message: string) => ({ error: { type, message } })

const wordsOf = (status: number): string =>
  status === 409 ? "This flight is sold out." : status === 429 ? "Too many requests." : "The service is not available."

interface Answer {
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const send = (response: ServerResponse, { body, headers = {}, status }: Answer) => {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
}

class Services {
  readonly bookings: Array<string> = []
  readonly charges: Array<Charge> = []
  readonly mails: Array<string> = []
  /** The first request under each key. */
  readonly #keys = new Map<string, { readonly body: string; readonly charge: Charge }>()

  answer(at: string, body: string, key: string | undefined): Answer {
    const given: Readonly<Record<string, unknown>> = body === "" ? {} : JSON.parse(body)
    switch (at) {
      case "GET /flights":
        return { status: 200, body: flights }
      case "POST /bookings":
        return this.#book(String(given["flight"]))
      case "POST /v1/charges":
        return this.#charge(given, body, key)
      case "POST /mails":
        this.mails.push(String(given["booking"]))
        return { status: 202, body: { sent: true } }
      default:
        return { status: 404, body: refusal("not_found", `There is no ${at}.`) }
    }
  }

  #book(name: string): Answer {
    const flight = flights.find(({ flight }) => flight === name)
    if (flight === undefined) return { status: 404, body: refusal("not_found", `There is no flight ${name}.`) }
    const booking = `b-${this.bookings.push(name)}`
    return { status: 201, body: { booking, flight: name, euros: flight.euros } }
  }

  // As Stripe does: the same key gets the same answer, and must come with the same parameters.
  #charge(given: Readonly<Record<string, unknown>>, body: string, key: string | undefined): Answer {
    const known = key === undefined ? undefined : this.#keys.get(key)
    if (known !== undefined && known.body !== body) {
      const message =
        "Keys for idempotent requests can only be used with the same parameters they were first used with."
      return { status: 400, body: refusal("idempotency_error", message) }
    }
    if (known !== undefined) return { status: 200, body: known.charge }
    const charge: Charge = {
      id: `ch_${this.charges.length + 1}`,
      booking: String(given["booking"]),
      euros: Number(given["euros"]),
      note: String(given["note"])
    }
    this.charges.push(charge)
    if (key !== undefined) this.#keys.set(key, { body, charge })
    return { status: 200, body: charge }
  }
}
