/**
 * The client of the external drug service: two queries over HTTP. Each returns a value that its schema has
 * checked, or fails with a typed failure.
 */
import { Guard, type SchemaMismatch } from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import { DrugServer } from "./DrugServer.ts"
import { DrugFacts, Interactions } from "./World.ts"

type Query<A> = Effect.Effect<A, HttpFailure.HttpFailure | SchemaMismatch>

export class DrugApi extends Context.Service<DrugApi, {
  readonly facts: (name: string) => Query<DrugFacts>
  readonly interactions: (names: ReadonlyArray<string>) => Query<Interactions>
}>()("example/DrugApi") {}

export const layer = Layer.effect(
  DrugApi,
  Effect.gen(function*() {
    const { url } = yield* DrugServer
    const client = HttpClient.filterStatusOk(yield* HttpClient.HttpClient).pipe(
      HttpClient.mapRequest(HttpClientRequest.prependUrl(url))
    )
    const get = <T>(schema: Schema.ConstraintDecoder<T>, path: string, urlParams = {}) =>
      client.get(path, { urlParams, acceptJson: true }).pipe(
        Effect.flatMap((response) => response.text),
        HttpFailure.classify,
        Guard.json(schema)
      )
    return DrugApi.of({
      facts: (name) => get(DrugFacts, `/drugs/${encodeURIComponent(name)}`),
      interactions: (names) => get(Interactions, "/interactions", { drugs: names.join() })
    })
  })
)
