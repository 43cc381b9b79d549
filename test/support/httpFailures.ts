/** HTTP requests, and the fields of their failures. */
import { assert } from "@effect/vitest"
import * as HttpFailure from "@fallible/core/HttpFailure"
import { Effect } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse, type HttpMethod } from "effect/http"
import { withoutEvidence } from "./withoutEvidence.ts"

/** Sends a request as a handler does. */
export const asking = (url: string, method: HttpMethod.HttpMethod = "GET") =>
  Effect.flatMap(HttpClient.HttpClient, (client) => client.execute(HttpClientRequest.make(method)(url))).pipe(
    Effect.flatMap(HttpClientResponse.filterStatusOk),
    Effect.flatMap((response) => response.text)
  )

export const failing = (url: string, method?: HttpMethod.HttpMethod) =>
  Effect.flip(HttpFailure.classify(asking(url, method))).pipe(Effect.provide(FetchHttpClient.layer))

export const fieldsOf = (failure: HttpFailure.HttpFailure): Record<string, unknown> => ({ ...withoutEvidence(failure) })

export const outcomeOf = (failure: HttpFailure.HttpFailure) =>
  failure._tag === "ToolUnavailable" ? failure.outcome : assert.fail(failure._tag)

export const unavailable = (code: string, transient: boolean, outcome?: "not_executed" | "unknown") => ({
  _tag: "ToolUnavailable",
  code,
  transient,
  ...(outcome === undefined ? {} : { outcome })
})
