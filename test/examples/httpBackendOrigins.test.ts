/** Who may send requests to the HTTP backend: the names of its host, and the pages. */
import { assert, describe, it } from "@effect/vitest"
import { program } from "@fallible/examples/04-http-backend/program"
import { Effect } from "effect"
import { request } from "node:http"
import { serving } from "../support/backend.ts"
import * as InProcess from "../support/inProcess.ts"

interface Sent {
  readonly host?: string
  readonly origin?: string
  readonly path?: string
  readonly method?: "GET" | "POST"
  readonly type?: string
}

/** Sends a request with these headers, which `fetch` would not let a program choose. */
const sent = (
  url: string,
  { host, method = "POST", origin, path = "/ask", type = "application/json" }: Sent
) =>
  Effect.callback<{ readonly status: number | undefined; readonly code?: string }>(
    (resume) => {
      const headers = {
        "content-type": type,
        ...(host === undefined ? {} : { host }),
        ...(origin === undefined ? {} : { origin })
      }
      const { hostname, port } = new URL(url)
      request({ hostname, port, method, path, headers, agent: false }, (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk
        })
        response.on("end", () => {
          const isProblem = response.headers["content-type"] === "application/problem+json"
          const { code } = isProblem ? JSON.parse(text) : {}
          resume(Effect.succeed({ status: response.statusCode, code }))
        })
      }).end(method === "POST" ? JSON.stringify({ question: "Refund o-1003." }) : undefined)
    }
  )

const proxied = { origins: ["https://desk.example.com"] }

describe("a request", () => {
  const refused: ReadonlyArray<readonly [what: string, code: string, sent: (own: string) => Sent]> = [
    ["under a name that another site has given this computer", "wrong_host", () => ({ host: "evil.example" })],
    ["under that name, from that site's page", "wrong_host", () => ({
      host: "evil.example:3000",
      origin: "http://evil.example:3000"
    })],
    ["under a name that begins like the server's", "wrong_host", () => ({ host: "localhost.evil.example" })],
    ["under a name in the place of a user", "wrong_host", () => ({ host: "localhost:80@evil.example" })],
    ["for the address of another site", "wrong_host", () => ({ path: "http://evil.example/ask" })],
    ["for the page, under another site's name", "wrong_host", () => ({
      host: "evil.example",
      method: "GET",
      path: "/"
    })],
    ["for nothing, under another site's name", "wrong_host", () => ({ host: "evil.example", path: "/admin" })],
    ["from another site's page", "wrong_origin", () => ({ origin: "https://evil.example" })],
    ["from a page without a site", "wrong_origin", () => ({ origin: "null" })],
    ["from another page of this computer", "wrong_origin", () => ({ origin: "http://localhost:1" })],
    ["from a page under another name of this computer", "wrong_origin", (own) => ({
      host: own,
      origin: `http://${own.replace("127.0.0.1", "localhost")}`
    })],
    ["from a form of another site's page", "wrong_origin", () => ({
      origin: "https://evil.example",
      type: "text/plain"
    })],
    ["from a form of no site's page", "not_json", () => ({ type: "application/x-www-form-urlencoded" })]
  ]
  const statuses: Readonly<Record<string, number>> = { wrong_host: 421, wrong_origin: 403, not_json: 415 }
  for (const [what, code, of] of refused) {
    it.live(`is refused before anything runs: ${what}`, () =>
      Effect.gen(function*() {
        const { shop, url } = yield* serving()
        const answered = yield* sent(url, of(new URL(url).host))
        assert.deepStrictEqual(answered, { status: statuses[code], code })
        assert.deepStrictEqual(yield* shop.refundsAsked, [])
      }))
  }

  const accepted: ReadonlyArray<readonly [what: string, sent: (own: string) => Sent]> = [
    ["from a program", () => ({})],
    ["from the page", (own) => ({ host: own, origin: `http://${own}` })],
    ["from the page, under another name of this computer", (own) => {
      const host = own.replace("127.0.0.1", "LOCALHOST")
      return { host, origin: `http://${host.toLowerCase()}` }
    }],
    ["from the page, through a tunnel from another port", () => ({
      host: "[::1]:8080",
      origin: "http://[::1]:8080"
    })]
  ]
  for (const [what, of] of accepted) {
    it.live(`is answered: ${what}`, () =>
      Effect.gen(function*() {
        const { shop, url } = yield* serving()
        assert.strictEqual((yield* sent(url, of(new URL(url).host))).status, 200)
        assert.deepStrictEqual(yield* shop.refundsAsked, ["o-1003"])
      }))
  }
})

describe("a backend behind a proxy", () => {
  const requests: ReadonlyArray<readonly [what: string, status: number, sent: Sent]> = [
    ["the proxy's name, from its page", 200, { host: "desk.example.com", origin: "https://desk.example.com" }],
    ["the proxy's name, from a program", 200, { host: "desk.example.com" }],
    ["the server's own name, from the proxy's page", 200, { origin: "https://desk.example.com" }],
    ["the proxy's name, from a page that was not encrypted", 403, {
      host: "desk.example.com",
      origin: "http://desk.example.com"
    }],
    ["the proxy's name, from another site's page", 403, { host: "desk.example.com", origin: "https://evil.example" }],
    ["another name", 421, { host: "example.com" }]
  ]
  for (const [what, status, request] of requests) {
    it.live(`answers a request with ${status}: ${what}`, () =>
      Effect.gen(function*() {
        const { url } = yield* serving(proxied)
        assert.strictEqual((yield* sent(url, request)).status, status)
      }))
  }

  it.live("is told its origin in full", () =>
    Effect.gen(function*() {
      const { code, stderr } = yield* InProcess.run(program, "--origin", "desk.example.com")
      assert.strictEqual(code, 1)
      assert.include(stderr, "an origin, such as https://desk.example.com")
    }))
})
