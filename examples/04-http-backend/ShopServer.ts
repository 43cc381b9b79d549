/**
 * The shop's own service: an HTTP server on the loopback interface, which misbehaves on command.
 *
 *     GET  /orders/o-1001                 an order, or 404
 *     GET  /parcels/p-1001                where a parcel is, or 404
 *     GET  /quotes/o-1001                 what the refund of an order would pay, or 404
 *     POST /refunds {order, cents, key}   refunds an order, or a part of its price: 201; 409 if there is a refund under this
 *                                         key already; 422 if the order cost less
 *     GET  /refunds/<key>                 the refund that was made under this key, or 404
 */
import { NodeHttpServer, NodeHttpServerRequest } from "@effect/platform-node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { createServer } from "node:http"
import * as Listener from "./Listener.ts"
import { type Order, orders, parcels, price, type Quote, type Refund } from "./World.ts"

export class ShopServer extends Context.Service<ShopServer, {
  readonly url: string
  /** The orders for which a refund was asked so far, with repetitions. */
  readonly refundsAsked: Effect.Effect<ReadonlyArray<string>>
  /** The number of refunds that were made so far. */
  readonly refundsMade: Effect.Effect<number>
  /** The number of requests that wait for their answer. */
  readonly open: Effect.Effect<number>
}>()("example/ShopServer") {}

/**
 * What is wrong with the service:
 *
 * - `"up"`: nothing.
 * - `"lossy"`: the answer to each refund is lost.
 * - `"busy"`: the first request for each order and parcel gets a 503. So does each one for a parcel after the second: it
 *   can be tracked once.
 * - `"flaky"`: both of these.
 * - `"blind"`: the answer to each refund is lost, and a refund cannot be looked up.
 * - `"stuck"`: no request is answered.
 * - `"down"`: there is no connection.
 */
export const states = ["up", "lossy", "busy", "flaky", "blind", "stuck", "down"] as const
export type State = (typeof states)[number]

const losesAnswers: ReadonlyArray<State> = ["lossy", "flaky", "blind"]

/** A server that runs until the scope closes. */
export const layer = (state: State): Layer.Layer<ShopServer> =>
  state === "down"
    ? Layer.succeed(ShopServer, {
      // Only privileged programs may listen on this port.
      url: "http://127.0.0.1:2",
      refundsAsked: Effect.succeed([]),
      refundsMade: Effect.succeed(0),
      open: Effect.succeed(0)
    })
    : Layer.effect(
      ShopServer,
      Effect.gen(function*() {
        const shop = makeShop(state)
        let open = 0
        yield* HttpServer.serveEffect(Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
          Effect.acquireUseRelease(
            Effect.sync(() => open++),
            () => shop.respond(request),
            () => Effect.sync(() => open--)
          ).pipe(Effect.interruptible, Effect.orDie)))
        const { address } = yield* HttpServer.HttpServer
        return {
          url: HttpServer.formatAddress(address),
          refundsAsked: Effect.sync(() =>
            shop.refundsAsked.slice()
          ),
          refundsMade: Effect.sync(() => shop.refundsMade()),
          open: Effect.sync(() => open)
        }
      })
    ).pipe(
      Layer.provide(listening),
      Layer.orDie
    )

const listening = Layer.suspend(() => {
  const server = createServer()
  return NodeHttpServer.layerServer(() => server, { host: "127.0.0.1", port: 0, gracefulShutdownTimeout: 0 }).pipe(
    Listener.closingAll(server)
  )
})

const makeShop = (state: State) => {
  const refunds: Array<Refund & { readonly key: string }> = []
  const refundsAsked: Array<string> = []
  const asked = new Map<string, number>()

  const isBusy = (path: string) => {
    if (path.startsWith("/refunds")) return state === "blind"
    if (path.startsWith("/quotes")) return false
    const times = (asked.get(path) ?? 0) + 1
    asked.set(path, times)
    return (state === "busy" || state === "flaky") && (times === 1 || times > 2 && path.startsWith("/parcels"))
  }

  const refund = (request: HttpServerRequest.HttpServerRequest) =>
    Effect.gen(function*() {
      const { cents, key, order } = yield* HttpServerRequest.schemaBodyJson(RefundRequest)
      const known = orders.get(order)
      refundsAsked.push(order)
      if (known === undefined) return problem(404, `There is no order '${order}'.`)
      if (refundOf(key) !== undefined) return problem(409, `Order ${order} is already refunded.`)
      if (cents > known.cents) return problem(422, `Order ${order} cost ${price(known.cents)}.`)
      const made = { order, cents, receipt: `r-${order.slice(2)}` }
      refunds.push({ key, ...made })
      if (losesAnswers.includes(state)) return yield* hangUp(request)
      return json(made, 201)
    })

  const refundOf = (key: string) => refunds.find((made) => made.key === key)

  const quoteOf = ({ cents, id, item }: Order): Quote => ({ order: id, item, cents: isRefunded(id) ? 0 : cents })

  const isRefunded = (order: string) => refunds.some((made) => made.order === order)

  const record = (path: string) => {
    const [, kind, id = ""] = path.split("/")
    if (kind === "refunds") return refundOf(id)
    if (kind === "parcels") return parcels.get(id)
    const order = orders.get(id)
    if (kind === "quotes") return order === undefined ? undefined : quoteOf(order)
    return order === undefined || !isRefunded(id) ? order : { ...order, status: "refunded" as const }
  }

  const respond = (request: HttpServerRequest.HttpServerRequest) => {
    if (state === "stuck") return Effect.never
    if (request.method === "POST") return refund(request)
    if (isBusy(request.url)) return Effect.succeed(problem(503, "Back in a moment."))
    const found = record(request.url)
    return Effect.succeed(found === undefined ? problem(404, "There is no such record.") : json(found))
  }

  return { respond, refundsAsked, refundsMade: () => refunds.length }
}

const RefundRequest = Schema.Struct({
  order: Schema.String,
  cents: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
  key: Schema.String
})

const json = (body: object, status = 200) => HttpServerResponse.jsonUnsafe(body, { status })

const problem = (status: number, detail: string) => json({ detail }, status)

const hangUp = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.suspend(() => {
    NodeHttpServerRequest.toServerResponse(request).destroy()
    return Effect.never
  })
