/** A service of quotes, and two ways to ask it. */
import { Guard, ToolFailure } from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import { HttpStub } from "@fallible/testing"
import { Effect, Schema } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"

export const Quote = Schema.Struct({ price: Schema.Finite })
export const quote = HttpStub.json({ price: 42 })

/** Asks for a quote with Effect's client. */
export const ask = (baseUrl: string) =>
  HttpClient.get(`${baseUrl}/quotes?symbol=ACME`).pipe(
    Effect.flatMap(HttpClientResponse.filterStatusOk),
    Effect.flatMap((response) => response.text),
    HttpFailure.classify,
    Guard.json(Quote)
  )

/** Asks for a quote with a `fetch`. */
export const askBy = (fetch: typeof globalThis.fetch, baseUrl: string) =>
  Effect.flatMap(
    Effect.tryPromise({
      try: async (signal) => {
        const response = await fetch(`${baseUrl}/quotes?symbol=ACME`, { signal })
        if (!response.ok) throw response
        return await response.text()
      },
      catch: ToolFailure.from
    }),
    (text) => Guard.json(Quote)(Effect.succeed(text))
  )

/** The address of a service that only a stub plays. */
export const address = "https://quotes.example"
