/** The payment service, as your backend has it already: a service over `HttpClient`. It knows nothing of agents. */
import { Config, Context, Effect, Layer, Schema } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import type { HttpClientError } from "effect/http/HttpClientError"

export const Receipt = Schema.Struct({ receipt: Schema.String, cents: Schema.Int })

export class CardDeclined extends Schema.TaggedError<CardDeclined>()("CardDeclined", { order: Schema.String }) {}

export class Payments extends Context.Service<Payments, {
  /** Charges the card for an order, once for each key. */
  readonly charge: (
    order: string,
    key: string
  ) => Effect.Effect<typeof Receipt.Type, CardDeclined | HttpClientError | Schema.SchemaError>
}>()("cashier/Payments") {
  static readonly layer = Layer.effect(
    Payments,
    Effect.gen(function*() {
      const url = yield* Config.String("PAYMENTS_URL")
      const client = HttpClient.mapRequest(yield* HttpClient.HttpClient, HttpClientRequest.prependUrl(url))

      const charge = Effect.fn("Payments.charge")(function*(order: string, key: string) {
        const request = HttpClientRequest.post("/charges", { headers: { "idempotency-key": key } })
        const response = yield* client.execute(HttpClientRequest.bodyJsonUnsafe(request, { order }))
        if (response.status === 402) return yield* new CardDeclined({ order })
        return yield* HttpClientResponse.schemaBodyJson(Receipt)(yield* HttpClientResponse.filterStatusOk(response))
      })

      return Payments.of({ charge })
    })
  )
}
