/** The API. A client that imports this file has typed events. */
import * as ClientEvent from "@fallible/core/ClientEvent"
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"

export class Api extends HttpApi.make("cashier").add(
  HttpApiGroup.make("conversations").add(
    HttpApiEndpoint.post("ask", "/conversations/:id", {
      params: { id: Schema.NonEmptyString },
      payload: Schema.Struct({ question: Schema.NonEmptyString }),
      success: HttpApiSchema.StreamSse({ data: ClientEvent.schema })
    })
  )
) {}
