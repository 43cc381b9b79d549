/**
 * The order service: an HTTP server on the loopback interface, which misbehaves on command.
 *
 *     GET /orders?customer=c-17&page=1&limit=50    one page of a customer's orders
 *     GET /customers?name=Ada                      the customers with this name
 */
import { NodeHttpServer } from "@effect/platform-node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import { customers, orders, type OrdersPage } from "./World.ts"

export class OrderServer extends Context.Service<OrderServer, {
  readonly url: string
  /** The requests so far: paths with their query strings. */
  readonly asked: Effect.Effect<ReadonlyArray<string>>
}>()("example/OrderServer") {}

/**
 * What is wrong with the service: nothing; a gateway cuts each body at 4 KB; orders of somebody else; a total that
 * cannot be; a first page without any of the orders that are counted; a status that nobody knows; a web page in place of
 * JSON; no connection.
 */
export const states = ["up", "cut", "mixed", "nonsense", "empty", "renamed", "page", "down"] as const
export type State = (typeof states)[number]

/** A server that runs until the scope closes. */
export const layer = (state: State): Layer.Layer<OrderServer> =>
  state === "down"
    // Only privileged programs may listen on this port.
    ? Layer.succeed(OrderServer, { url: "http://127.0.0.1:2", asked: Effect.succeed([]) })
    : Layer.effect(
      OrderServer,
      Effect.gen(function*() {
        const asked: Array<string> = []
        yield* HttpServer.serveEffect(Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => {
          asked.push(url)
          return respond(state, new URL(url, "http://localhost"))
        }))
        const { address } = yield* HttpServer.HttpServer
        return { url: HttpServer.formatAddress(address), asked: Effect.sync(() => asked.slice()) }
      })
    ).pipe(
      Layer.provide(NodeHttpServer.layerServer(() => createServer(), { host: "127.0.0.1", port: 0 })),
      Layer.orDie
    )

/** The most bytes that the gateway lets through. */
const gateway = 4096

const respond = (state: Exclude<State, "down">, { pathname, searchParams }: URL) => {
  if (pathname === "/customers") {
    const name = (searchParams.get("name") ?? "").toLowerCase()
    return json(JSON.stringify(customers.filter((customer) => customer.name.toLowerCase().includes(name))))
  }
  const page = pageOf(
    searchParams.get("customer") ?? "",
    Number(searchParams.get("page") ?? 1),
    Number(searchParams.get("limit") ?? 50)
  )
  switch (state) {
    case "up":
      return json(JSON.stringify(page))
    case "cut":
      return json(JSON.stringify(page).slice(0, gateway))
    case "mixed":
      return json(JSON.stringify({ ...page, orders: orders.slice(-5) }))
    case "nonsense":
      return json(JSON.stringify({ ...page, total: -1 }))
    case "empty":
      return json(JSON.stringify({ ...page, orders: [] }))
    case "renamed":
      return json(JSON.stringify(page).replaceAll("\"sent\"", "\"DISPATCHED_V2\""))
    case "page":
      return HttpServerResponse.html("<html>We are moving. Come back soon!</html>")
  }
}

const pageOf = (customer: string, page: number, limit: number): OrdersPage => {
  const all = orders.filter((order) => order.customer === customer)
  return {
    orders: all.slice((page - 1) * limit, page * limit),
    total: all.length,
    page,
    has_more: page * limit < all.length
  }
}

const json = (body: string) => HttpServerResponse.text(body, { contentType: "application/json" })
