/** Clients in the styles that people use. Each throws what its model in the wild throws. */
import type { ToolCall } from "@fallible/core"
import { Agent, request } from "node:http"
import { connect } from "node:net"
import { text } from "node:stream/consumers"

/** A request to send. */
export interface Ask {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly signal: AbortSignal | undefined
}

/** An answer, of any status. */
export interface Answer {
  readonly status: number
  readonly text: string
  /** What the client gives its user: a `Response`, or an object of its own. */
  readonly response: unknown
}

/** Sends a request, and resolves with the answer, unless the client throws for its status. */
export type Client = (ask: Ask) => Promise<Answer>

const initOf = ({ body, headers, method, signal }: Ask): RequestInit => ({
  method,
  headers,
  ...(body === undefined ? {} : { body }),
  ...(signal === undefined ? {} : { signal })
})

const read = async (response: Response): Promise<Answer> => ({
  status: response.status,
  text: response.ok ? await response.text() : "",
  response
})

/** The ways to name a request to `fetch`. */
export const forms = ["text", "URL", "Request"] as const

/** A client over a function like `fetch`. */
export const fetching = (fetch: ToolCall.Fetch, form: typeof forms[number]): Client => async (ask) => {
  switch (form) {
    case "text":
      return read(await fetch(ask.url, initOf(ask)))
    case "URL":
      return read(await fetch(new URL(ask.url), initOf(ask)))
    case "Request":
      return read(await fetch(new Request(ask.url, initOf(ask))))
  }
}

// -----------------------------------------------------------------------------
// In the style of axios
// -----------------------------------------------------------------------------

const agent = new Agent({ keepAlive: true })

/** An error in the style of axios. */
class RequestError extends Error {
  override readonly name = "AxiosError"
  readonly isAxiosError = true
  readonly code: string
  readonly config: object
  readonly response?: { readonly status: number; readonly data: string }

  constructor(message: string, code: string, { method, url }: Ask, response?: { status: number; data: string }) {
    super(message)
    this.code = code
    this.config = { method, url }
    if (response !== undefined) this.response = response
  }
}

const maxRedirects = 5

/** A client over `node:http` that keeps its connections, follows redirects, and throws for a status that is no success. */
export const nodeHttp: Client = (ask) => following(ask, maxRedirects)

const following = (ask: Ask, redirects: number): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { body, headers, method, signal, url } = ask
    const fail = (error: Error & { readonly code?: string }) => {
      const isAborted = error.code === "ABORT_ERR"
      const isLate = isAborted && signal?.reason instanceof DOMException && signal.reason.name === "TimeoutError"
      reject(
        new RequestError(
          isLate ? "timeout of 1000ms exceeded" : isAborted ? "canceled" : error.message,
          isLate ? "ECONNABORTED" : isAborted ? "ERR_CANCELED" : error.code ?? "ERR_NETWORK",
          ask
        )
      )
    }
    const options = { method, headers, agent, ...(signal === undefined ? {} : { signal }) }
    const sent = request(url, options, (response) => {
      const { headers: { location }, statusCode: status = 0 } = response
      text(response).then((data) => {
        if (location !== undefined && status >= 300 && status < 400 && redirects > 0) {
          const next = status === 303 ? { ...ask, method: "GET", body: undefined } : ask
          return resolve(following({ ...next, url: new URL(location, url).href }, redirects - 1))
        }
        if (status >= 200 && status < 300) return resolve({ status, text: data, response: { status, data } })
        const code = status >= 500 ? "ERR_BAD_RESPONSE" : "ERR_BAD_REQUEST"
        reject(new RequestError(`Request failed with status code ${status}`, code, ask, { status, data }))
      }, fail)
    })
    sent.on("error", fail)
    sent.end(body)
  })

// -----------------------------------------------------------------------------
// In the style of a vendor's SDK
// -----------------------------------------------------------------------------

/** An error of the bank's SDK. */
export class BankError extends Error {
  override readonly name: string = "BankError"
  readonly status: number | undefined
  readonly type: string

  constructor(message: string, type: string, status?: number, cause?: unknown) {
    super(message, { cause })
    this.type = type
    this.status = status
  }
}

const typeOf = (status: number): string =>
  status === 402 ? "card_error" : status === 409 || status === 422 ? "idempotency_error" : "api_error"

/** Errors after which a request has certainly not been served. */
const isUnserved = (end: Answer | Error): boolean =>
  end instanceof Error
    ? end.cause instanceof Error && Reflect.get(end.cause, "code") === "ECONNREFUSED"
    : [423, 425, 429].includes(end.status)

/**
 * A client that wraps `fetch`, throws its own errors, and tries again: after any failure if the key makes that safe,
 * otherwise only if the request was not served.
 *
 * @param again makes the same request once more
 */
export const sdk = (client: Client, isKeyed: boolean, again: (ask: Ask) => Ask): Client => async (first) => {
  let ask = first
  for (let retries = 2;; retries--) {
    const end = await client(ask).catch((error: unknown) => error instanceof Error ? error : new Error(String(error)))
    if (!(end instanceof Error) && end.status < 400) return end
    const mayHelp = end instanceof Error ? ask.signal?.aborted !== true : end.status >= 500 || end.status === 429
    if (retries > 0 && (isUnserved(end) || isKeyed && mayHelp)) {
      ask = again(ask)
      continue
    }
    if (end instanceof Error) {
      throw new BankError("An error occurred with our connection.", "api_connection_error", undefined, end)
    }
    throw new BankError(`The bank answered ${end.status}.`, typeOf(end.status), end.status)
  }
}

// -----------------------------------------------------------------------------
// Out of sight
// -----------------------------------------------------------------------------

/** A worker that was there before any handler, and runs the tasks that handlers leave for it. */
export class Queue {
  readonly #tasks: Array<() => void> = []
  #wake: () => void = () => {}

  constructor() {
    void this.#work()
  }

  run<A>(task: () => Promise<A>): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#tasks.push(() => void task().then(resolve, reject))
      this.#wake()
    })
  }

  async #work(): Promise<never> {
    for (;;) {
      for (const task of this.#tasks.splice(0)) task()
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

/** A client that writes HTTP to a socket itself. It follows no redirects. */
export const overSocket: Client = ({ body = "", headers, method, signal, url }) =>
  new Promise((resolve, reject) => {
    const { host, hostname, pathname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port), ...(signal === undefined ? {} : { signal }) })
    let received = ""
    const lines = Object.entries({
      host,
      connection: "close",
      "content-length": `${Buffer.byteLength(body)}`,
      ...headers
    })
      .map(([name, value]) => `${name}: ${value}\r\n`)
    socket.on("connect", () => socket.write(`${method} ${pathname} HTTP/1.1\r\n${lines.join("")}\r\n${body}`))
    socket.on("data", (bytes) => {
      received += bytes.toString()
    })
    socket.on("error", reject)
    socket.on("close", () => {
      const status = Number(/^HTTP\/1.1 (\d+)/.exec(received)?.[1])
      const [, text = ""] = received.split("\r\n\r\n")
      if (Number.isInteger(status)) resolve({ status, text, response: { status, ok: status < 300 } })
      else reject(Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }))
    })
  })
