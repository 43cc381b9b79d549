/** The backend, which still needs an HTTP server: `main.ts` has one. All else it reads from its configuration. */
import { Ollama } from "@fallible/providers"
import { Config, Effect, Layer } from "effect"
import { FetchHttpClient, HttpRouter } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "./Api.ts"
import { Cashier } from "./Cashier.ts"
import { Conversations } from "./Conversations.ts"
import { Payments } from "./Payments.ts"
import * as Sqlite from "./Sqlite.ts"

const handlers = HttpApiBuilder.group(
  Api,
  "conversations",
  Effect.fn(function*(handlers) {
    const cashier = yield* Cashier
    return handlers.handle("ask", ({ params, payload }) => cashier.ask(params.id, payload.question))
  })
)

const database = Layer.unwrap(Effect.map(
  Config.String("DATABASE").pipe(Config.withDefault("cashier.db")),
  Sqlite.layer
))

// Or OpenAi.layerConfig(), for a server that speaks OpenAI's Chat Completions.
const model = Ollama.layerConfig()

export const layer = HttpRouter.serve(Layer.provide(HttpApiBuilder.layer(Api), handlers)).pipe(
  Layer.provide(Cashier.layer),
  Layer.provide(Layer.provide(Conversations.layer, database)),
  Layer.provide(Layer.mergeAll(Payments.layer, model)),
  Layer.provide(FetchHttpClient.layer)
)
