/**
 * The external drug service: an HTTP server on the loopback interface, which misbehaves on command.
 *
 *     GET /drugs/ibuprofen                          facts of a drug, or 404
 *     GET /interactions?drugs=ibuprofen,warfarin    known interactions among some drugs
 */
import { NodeHttpServer, NodeHttpServerRequest } from "@effect/platform-node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import { createServer } from "node:http"
import { findDrug, interactionsAmong } from "./World.ts"

export class DrugServer extends Context.Service<DrugServer, {
  readonly url: string
  /** The requests so far: paths with their query strings. */
  readonly asked: Effect.Effect<ReadonlyArray<string>>
}>()("example/DrugServer") {}

export const states = [
  "up",
  "down",
  "slow",
  "flaky",
  "limited",
  "quota",
  "forbidden",
  "garbage",
  "truncated"
] as const
export type State = (typeof states)[number]

/** A server that runs until the scope closes. With the same seed, a `flaky` server fails the same requests. */
export const layer = (state: State, seed: string): Layer.Layer<DrugServer> =>
  state === "down"
    ? Layer.succeed(DrugServer, { url: unusedAddress, asked: Effect.succeed([]) })
    : Layer.effect(
      DrugServer,
      Effect.gen(function*() {
        const asked: Array<string> = []
        yield* HttpServer.serveEffect(Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
          asked.push(request.url)
          const time = asked.filter((url) => url === request.url).length
          // Stops work when the client hangs up: a handler is uninterruptible by default.
          return Effect.interruptible(behaviours[state](request, { time, draw: `${seed}${request.url}${time}` }))
        }))
        const { address } = yield* HttpServer.HttpServer
        return { url: HttpServer.formatAddress(address), asked: Effect.sync(() => asked.slice()) }
      })
    ).pipe(
      Layer.provide(NodeHttpServer.layerServer(() => createServer(), { host: "127.0.0.1", port: 0 })),
      Layer.orDie
    )

// An address without a listener: only privileged programs may listen on this port.
const unusedAddress = "http://127.0.0.1:2"

// -----------------------------------------------------------------------------
// Behaviours
// -----------------------------------------------------------------------------

type Behaviour = (
  request: HttpServerRequest.HttpServerRequest,
  turn: {
    /** The number of requests for this URL so far, including this one. */
    readonly time: number
    /** The seed of this request's random draw: the server's seed, the URL and `time`. */
    readonly draw: string
  }
) => Effect.Effect<HttpServerResponse.HttpServerResponse>

const behaviours: Record<Exclude<State, "down">, Behaviour> = {
  up: ({ url }) => Effect.succeed(reply(...answerTo(url))),
  slow: () => Effect.never,
  flaky: (request, { draw }) =>
    Effect.flatMap(Random.withSeed(Random.next, draw), (chance) =>
      chance < 0.3
        ? problem(503, "Back in a moment.")
        : chance < 0.6
        ? hangUp(request)
        : Effect.succeed(reply(...answerTo(request.url)))),
  limited: ({ url }, { time }) =>
    time === 1
      ? problem(429, "One request in three seconds, please.", { "retry-after": "3" })
      : Effect.succeed(reply(...answerTo(url))),
  quota: () => problem(402, "The requests of this month are used up."),
  forbidden: () => problem(403, "Your key is not for this."),
  garbage: () => Effect.succeed(HttpServerResponse.html("<html>We are moving. Come back soon!</html>")),
  truncated: ({ url }) => {
    const [status, body] = answerTo(url)
    return Effect.succeed(reply(status, body.slice(0, body.length / 2)))
  }
}

const answerTo = (url: string): readonly [status: number, body: string] => {
  const { pathname, searchParams } = new URL(url, "http://localhost")
  if (pathname === "/interactions") {
    return [200, JSON.stringify(interactionsAmong((searchParams.get("drugs") ?? "").split(",")))]
  }
  const name = decodeURIComponent(pathname.replace("/drugs/", ""))
  const drug = findDrug(name)
  return drug === undefined
    ? [404, JSON.stringify({ detail: `There is no drug '${name}'.` })]
    : [200, JSON.stringify(drug)]
}

const reply = (status: number, body: string, headers: Readonly<Record<string, string>> = {}) =>
  HttpServerResponse.text(body, { status, headers, contentType: "application/json" })

const problem = (status: number, detail: string, headers?: Readonly<Record<string, string>>) =>
  Effect.succeed(reply(status, JSON.stringify({ detail }), headers))

const hangUp = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.suspend(() => {
    NodeHttpServerRequest.toIncomingMessage(request).destroy()
    return Effect.never
  })
