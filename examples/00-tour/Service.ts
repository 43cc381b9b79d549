/**
 * A service on the loopback interface that misbehaves. It records its requests and its payments.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"

export interface Service {
  readonly url: string
  /** The requests so far: methods and paths. */
  readonly requests: ReadonlyArray<string>
  /** The amounts that were paid so far. */
  readonly payments: ReadonlyArray<number>
}

export interface Request {
  readonly url: URL
  /** The number of the request, from 1. */
  readonly number: number
  /** The amounts that were paid so far. To pay is to add one. */
  readonly payments: Array<number>
}

export type Respond = (request: Request) => Reply
export type Reply = (response: Http.ServerResponse) => void

export const answer = (body: unknown): Reply => (response) => void response.end(JSON.stringify(body))
export const status = (code: number): Reply => (response) => void response.writeHead(code).end()
export const reset: Reply = (response) => void response.socket?.resetAndDestroy()
export const silence: Reply = () => {}

/** Starts a service. It runs until the scope closes. */
export const start = (respond: Respond): Effect.Effect<Service, never, Scope.Scope> =>
  Effect.gen(function*() {
    const requests: Array<string> = []
    const payments: Array<number> = []
    const server = Http.createServer(({ method, url = "/" }, response) => {
      const number = requests.push(`${method} ${url}`)
      respond({ url: new URL(url, "http://localhost"), number, payments })(response)
    })
    yield* Effect.acquireRelease(listening(server), () => Effect.sync(() => closed(server)))
    return { url: `http://127.0.0.1:${portOf(server)}`, requests, payments }
  })

const listening = (server: Http.Server) =>
  Effect.callback<void>((resume) => {
    server.once("error", (error) => resume(Effect.die(error)))
    server.listen(0, "127.0.0.1", () => resume(Effect.void))
  })

const closed = (server: Http.Server) => {
  server.close()
  server.closeAllConnections()
}

// A server that listens on a port has an address of this type.
const portOf = (server: Http.Server) => (server.address() as AddressInfo).port

// -----------------------------------------------------------------------------
// Its clients
// -----------------------------------------------------------------------------

/** What a function of a tool gets besides its arguments. */
export interface Call {
  readonly signal: AbortSignal
}

/** Sends a request in the usual way: any status but a 2xx is an error. */
export const ask = async <A>(url: string, { signal }: Call, method = "GET"): Promise<A> => {
  const response = await fetch(url, { method, signal })
  if (!response.ok) throw new Error(`The service answered ${response.status}.`, { cause: response })
  return asTrusted<A>(await response.json())
}

// Most clients trust their service. In Fallible, the schema of the tool then checks the result.
const asTrusted = <A>(body: unknown) => body as A
