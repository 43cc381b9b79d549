/** The world of the cases: a server that misbehaves, a port that refuses, an unknown host, and secrets. */
import { mkdtempSync, rmSync } from "node:fs"
import * as Http from "node:http"
import * as Net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** One library, and a function that provokes each of its errors by throwing or rejecting. */
export interface Cases {
  readonly library: string
  readonly cases: Readonly<Record<string, () => unknown>>
}

export interface World {
  /** The misbehaving server: `http://127.0.0.1:…`. */
  readonly origin: string
  /** A URL without a listener. */
  readonly refused: string
  readonly refusedPort: number
  /** A URL whose host has no address. */
  readonly unknownHost: string
  /** A folder that is deleted at the end. */
  readonly directory: string
  readonly atEnd: (close: () => unknown) => void
}

/** Secrets. They occur in URLs, headers, bodies and statements on purpose, and must never reach a model. */
export const key = "sk-live-SECRET123456"
export const password = "hunter2-secret"
export const query = `?api_key=${key}`
export const authorization = `Bearer ${key}`

interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

const html = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"

/** The server's answers with an error status. The dates suit a test clock, which starts at 1970. */
const failures: Readonly<Record<string, Answer>> = {
  "400": { status: 400, body: { error: "bad_request", message: "Parameter 'date' has to be a day." } },
  "401": { status: 401, body: { error: { message: `Incorrect API key provided: ${key}`, code: "invalid_api_key" } } },
  "403": { status: 403, body: { message: "You may not read this record." } },
  "403 of a limit": {
    status: 403,
    headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1000000000" },
    body: { message: "API rate limit exceeded for user 17." }
  },
  "404": { status: 404, body: { message: "No such room: 17" } },
  "408": { status: 408, body: { message: "The request took too long." } },
  "409": { status: 409, body: { message: "Room 17 is already booked." } },
  "410": { status: 410, body: { message: "This version is gone." } },
  "413": { status: 413, body: { message: "Too large." } },
  "422": {
    status: 422,
    body: { message: "Validation failed", errors: [{ field: "guests", message: "has to be at least 1" }], password }
  },
  "429 in seconds": { status: 429, headers: { "retry-after": "7" }, body: { message: "Slow down." } },
  "429 at a date": {
    status: 429,
    headers: { "retry-after": "Thu, 01 Jan 1970 00:00:30 GMT" },
    body: { message: "Slow down." }
  },
  "429 in milliseconds": { status: 429, headers: { "retry-after-ms": "1500" }, body: { message: "Slow down." } },
  "429 without a time": { status: 429, body: { message: "Slow down." } },
  "500": { status: 500, body: { message: `INSERT INTO users VALUES ('ada', '${password}') failed` } },
  "501": { status: 501, body: { message: "Not implemented." } },
  "502 html": { status: 502, headers: { "content-type": "text/html" }, body: html },
  "503": { status: 503, headers: { "retry-after": "20" }, body: { message: "Down for maintenance." } },
  "504": { status: 504, body: { message: "Gateway timeout." } }
}

/** Statuses that have an answer with Stripe's body. */
export const ofStripe = [400, 401, 403, 404, 409, 429, 500, 503]

/** Answers of particular services. */
const own: Readonly<Record<string, Answer>> = {
  ...Object.fromEntries(ofStripe.map((status) => [`stripe-${status}`, {
    status,
    body: { error: { type: status < 500 ? "invalid_request_error" : "api_error", message: `No: ${key}` } }
  }])),
  "529": { status: 529, body: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } } },
  "card-declined": {
    status: 402,
    body: { error: { type: "card_error", code: "card_declined", message: "Your card was declined." } }
  },
  "key-used-twice": {
    status: 400,
    body: { error: { type: "idempotency_error", message: `Keys can only be used with the same parameters: ${key}` } }
  },
  "no-such-channel": { status: 200, body: { ok: false, error: "channel_not_found" } },
  "wrong-token": { status: 200, body: { ok: false, error: "invalid_auth" } },
  "not-unique": {
    status: 409,
    body: {
      code: "23505",
      message: `duplicate key value violates unique constraint "rooms_pkey"`,
      details: `Key (secret)=(${password}) already exists.`,
      hint: null
    }
  },
  "no-rows": {
    status: 406,
    body: {
      code: "PGRST116",
      message: "Cannot coerce the result to a single JSON object",
      details: "The result contains 0 rows",
      hint: null
    }
  },
  "row-level-security": {
    status: 403,
    body: {
      code: "42501",
      message: `new row violates row-level security policy for table "rooms"`,
      details: null,
      hint: null
    }
  }
}

/** A path for each error status. */
export const failing: ReadonlyArray<readonly [name: string, path: string]> = Object.keys(failures).map((name) =>
  [name, `/${name.replaceAll(" ", "-")}`] as const
)

/** Statuses that add nothing for a client that only looks at the status. */
const rare = ["403 of a limit", "408", "410", "413", "501", "504", "429 without a time"]
export const failingOften = failing.filter(([name]) => !rare.includes(name))

const answers = new Map(
  [...Object.entries(failures), ...Object.entries(own)].map((
    [name, answer]
  ) => [`/${name.replaceAll(" ", "-")}`, answer])
)

const oddities: Readonly<Record<string, (response: Http.ServerResponse) => void>> = {
  "/cut-body": (response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": 1000 })
    response.write(`{"rooms":[`, () => response.socket?.destroy())
  },
  "/cut-chunks": (response) => {
    response.writeHead(200, { "content-type": "application/json" })
    response.write(`{"rooms":[`, () => response.socket?.destroy())
  },
  "/cut-json": (response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(`{"rooms":[{"id":17,"name":"Bl`),
  "/html": (response) => response.writeHead(200, { "content-type": "text/html" }).end(html),
  "/empty": (response) => response.writeHead(200, { "content-type": "application/json" }).end(),
  "/reset": (response) => response.socket?.resetAndDestroy(),
  "/close": (response) => response.socket?.end(),
  "/hang": () => {},
  "/hang-body": (response) => {
    response.writeHead(200, { "content-type": "application/json" })
    response.write(`{"rooms":[`)
  },
  "/loop": (response) => response.writeHead(302, { location: "/loop" }).end(),
  "/garbage": (response) => response.socket?.end("not HTTP at all\r\n\r\n")
}

export const makeWorld = async (): Promise<World & { readonly close: () => Promise<void> }> => {
  const finalizers: Array<() => unknown> = []
  const server = Http.createServer((request, response) => {
    response.sendDate = false
    // Reads the whole body first: a reset during the body would be an error of sending, not of the response.
    request.resume().on("end", () => {
      const { pathname } = new URL(request.url ?? "/", "http://x")
      // Keeps the first segment, because clients append their own paths to a base URL.
      const path = `/${pathname.split("/")[1]}`
      const answer = answers.get(path)
      const odd = oddities[path]
      if (odd !== undefined) return odd(response)
      const { status, headers, body } = answer ?? { status: 200, headers: {}, body: {} }
      response.writeHead(status, { "content-type": "application/json", ...headers })
      response.end(typeof body === "string" ? body : JSON.stringify(body))
    })
  })
  const port = await listen(server)
  const refusedPort = await freePort(20_000)
  const directory = mkdtempSync(join(tmpdir(), "errors-"))
  return {
    origin: `http://127.0.0.1:${port}`,
    refused: `http://127.0.0.1:${refusedPort}`,
    refusedPort,
    unknownHost: "http://nowhere.invalid",
    directory,
    atEnd: (close) => finalizers.push(close),
    close: async () => {
      for (const close of finalizers.reverse()) await close()
      server.close()
      server.closeAllConnections()
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

export const listen = (server: Net.Server): Promise<number> =>
  new Promise((done) =>
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      done(typeof address === "object" && address !== null ? address.port : 0)
    })
  )

/**
 * Finds a free port below the range that systems assign. Unlike a port that was just freed, it is not
 * assigned to another program while the cases run.
 */
export const freePort = async (from: number): Promise<number> => {
  const server = Net.createServer()
  const free = await new Promise<boolean>((done) =>
    server.on("error", () => done(false)).listen(from, "127.0.0.1", () => done(true))
  )
  if (!free) return freePort(from + 1)
  await new Promise((done) => server.close(done))
  return from
}

/** A lookup that returns an IPv6 and an IPv4 address, as for `localhost`. */
export const twoAddresses: Net.LookupFunction = (_hostname, _options, found) =>
  found(null, [{ address: "::1", family: 6 }, { address: "127.0.0.1", family: 4 }])

export const entries = <A>(list: ReadonlyArray<readonly [string, A]>): Record<string, A> => Object.fromEntries(list)
