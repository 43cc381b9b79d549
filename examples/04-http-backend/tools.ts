/**
 * The tools of the support desk: they find an order, track its parcel, and refund it.
 *
 * A refund moves money, so it is guarded in four ways:
 *
 * - A large refund needs the customer's approval, who sees what would be refunded, and may change the amount.
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
import { Order, Parcel, price, Quote, Refund } from "./World.ts"

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

/** An order is refunded once, so its refund has the same key in every conversation, whatever its amount. */
const keyOf = (order: string): string => `refund-${order}`

/** From this amount on, a refund needs the customer's approval. */
const approvalFrom = 10_000

const RefundOf = Schema.Struct({
  order,
  cents: Schema.optionalKey(
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)).annotate({
      description: "The amount to refund, in cents. Leave it out to refund the whole price"
    })
  )
})

const quote = (order: string) => get("quotes", order, Quote)

/**
 * If the amount cannot be looked up, this fails, and the refund needs an approval. An order that does not exist or is refunded
 * already needs none: the handler refunds nothing.
 */
const isLarge = ({ cents, order }: typeof RefundOf.Type) =>
  quote(order).pipe(
    Effect.map((most) => most.cents > 0 && (cents ?? most.cents) >= approvalFrom),
    Effect.catchIf(({ code }) => code === "not_found", () => Effect.succeed(false))
  )

const preview = ({ cents, order }: typeof RefundOf.Type) =>
  Effect.match(quote(order), {
    onSuccess: (most) => {
      const part = cents === undefined || cents === most.cents ? "" : ` of ${price(most.cents)}`
      return `Refund ${price(cents ?? most.cents)}${part} for order ${order} (${most.item}).`
    },
    onFailure: () =>
      `Refund ${cents === undefined ? "" : `${price(cents)} for `}order ${order}. Its price is not known now.`
  })

const refundOrder = Tool.make("refund_order", {
  description:
    "Refunds an order, once: its whole price, or a part of it. A large refund needs the customer's approval, who is asked",
  parameters: RefundOf,
  success: Refund,
  sideEffect: "non_idempotent",
  identity: ({ order }) => order,
  acts: { requests: ["POST /refunds"], only: true }
}, ({ cents, order: id }) =>
  Effect.gen(function*() {
    const order = yield* get("orders", id, Order)
    if (order.status === "refunded") {
      return yield* ToolCall.refuse(`Order ${id} is already refunded.`, { code: "already_refunded" })
    }
    const amount = cents ?? order.cents
    // Whoever changed the amount, a model or a person: the handler checks it.
    if (amount > order.cents) {
      return yield* ToolCall.refuse(
        `Order ${id} cost ${price(order.cents)}, so ${price(amount)} cannot be refunded.`,
        { code: "too_much" }
      )
    }
    return yield* send(
      HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post("/refunds"), {
        order: id,
        cents: amount,
        key: keyOf(id)
      }),
      Refund
    )
  })).pipe(
    Tool.reconcile(
      // The refund that is found says its own amount. There is only one for an order.
      ({ order }) =>
        get("refunds", keyOf(order), Refund).pipe(
          Effect.asSome,
          Effect.catchTag("SemanticGarbage", () => Effect.succeedNone)
        ),
      {
        // A refund can be found two seconds after its request at the latest. If there is none then, none was made.
        settle: "2 seconds"
      }
    ),
    Tool.approve(isLarge, { preview, within: "10 minutes" })
  )

export const toolkit = Toolkit.make(findOrder, trackParcel, refundOrder).pipe(Toolkit.withDefaults(Policy.standard()))
