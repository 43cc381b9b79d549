/**
 * The tools of the support desk: they find an order, track its parcel, and refund it.
 *
 * A refund moves money, so it is guarded in four ways:
 *
 * - A large refund asks the user first.
 * - All requests to refund an order have the same key, and the service must refuse a second refund under a key. Two
 *   conversations can both read that an order is paid, and then both ask for its refund. Only the service sees both.
 * - The tool never runs again while it is unknown whether it took effect. Only one request acts (`acts`): a call that did
 *   not send it may be retried.
 * - After a lost answer, `reconcile` looks the refund up by its key.
 */
import { Guard, Policy, Tool, ToolCall, Toolkit } from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import * as LastKnown from "@fallible/core/LastKnown"
import * as RateLimit from "@fallible/core/RateLimit"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Schema from "effect/Schema"
import { ShopServer } from "./ShopServer.ts"
import { Order, Parcel, price, Refund } from "./World.ts"

/** Sends a request to the shop's service, and reads the answer by a schema. */
const send = <A>(request: HttpClientRequest.HttpClientRequest, schema: Schema.Codec<A, unknown>) =>
  Effect.gen(function*() {
    const { url } = yield* ShopServer
    const client = HttpClient.filterStatusOk(yield* HttpClient.HttpClient)
    const response = yield* client.execute(HttpClientRequest.prependUrl(request, url))
    return yield* response.text
  }).pipe(Effect.timeout("5 seconds"), HttpFailure.classify, Guard.json(schema))

const get = <A>(kind: string, id: string, schema: Schema.Codec<A, unknown>) =>
  send(HttpClientRequest.get(`/${kind}/${encodeURIComponent(id)}`), schema)

const order = Schema.String.check(Schema.isPattern(/^o-\d+$/)).annotate({ description: "An order id, such as o-1001" })

const findOrder = Tool.make("find_order", {
  description: "Finds an order: what was bought, its price, whether it is refunded, and the id of its parcel",
  parameters: Schema.Struct({ order }),
  success: Order,
  sideEffect: "none"
}, ({ order }) => get("orders", order, Order)).pipe(
  // The service answers no more than 20 requests at once; the others wait here.
  Tool.concurrency(20)
)

const trackParcel = Tool.make("track_parcel", {
  description: "Says where a parcel is, and when it is due",
  parameters: Schema.Struct({ parcel: Schema.String }),
  success: Parcel,
  sideEffect: "none"
}, ({ parcel }) => get("parcels", parcel, Parcel)).pipe(
  RateLimit.limit({ limit: 50, window: "1 second" }),
  // Where the parcel was yesterday is better than no answer. It is the same for all users.
  LastKnown.fallback({ maxAge: "1 day" })
)

/** An order is refunded once, so its refund has the same key in every conversation. */
const keyOf = (order: string): string => `refund-${order}`

/** Only a plain yes is consent: "Y not? No!" and "Yes, but not this one" are not. */
const isConsent = (reply: string): boolean => /^["'\s]*(?:y|yes)["'\s.!]*$/i.test(reply)

/** From this price on, a refund needs the user's consent. */
const consentFrom = 10_000

const refundOrder = Tool.make("refund_order", {
  description: "Refunds an order. A large refund asks the user first",
  parameters: Schema.Struct({ order }),
  success: Refund,
  sideEffect: "non_idempotent",
  identity: ({ order }) => order,
  acts: { requests: ["POST /refunds"], only: true }
}, ({ order: id }) =>
  Effect.gen(function*() {
    const order = yield* get("orders", id, Order)
    if (order.status === "refunded") {
      return yield* ToolCall.refuse(`Order ${id} is already refunded.`, { code: "already_refunded" })
    }
    if (order.cents >= consentFrom) {
      const reply = yield* ToolCall.ask(
        `Refund ${price(order.cents)} for order ${id}, an ${order.item}? Reply "yes". Any other reply refunds nothing.`
      )
      if (!isConsent(reply)) {
        return yield* ToolCall.refuse(`The user did not reply "yes" to the refund of order ${id}.`, {
          code: "declined"
        })
      }
    }
    return yield* send(
      HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post("/refunds"), { order: id, key: keyOf(id) }),
      Refund
    )
  })).pipe(
    Tool.reconcile(
      ({ order }) =>
        get("refunds", keyOf(order), Refund).pipe(
          Effect.asSome,
          Effect.catchTag("SemanticGarbage", () => Effect.succeedNone)
        ),
      {
        // A refund can be found two seconds after its request at the latest. If there is none then, none was made.
        settle: "2 seconds"
      }
    )
  )

export const toolkit = Toolkit.make(findOrder, trackParcel, refundOrder).pipe(Toolkit.withDefaults(Policy.standard()))
