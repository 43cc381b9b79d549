/** Random failures that quote a random key. The key must be nowhere in what the bridge tells. */
import { APICallError, LoadAPIKeyError, TypeValidationError } from "@ai-sdk/provider"
import { assert } from "@effect/vitest"
import { ModelFailure } from "@fallible/core"
import { Effect, Logger, Schema } from "effect"
import * as fc from "fast-check"
import { inspect } from "node:util"
import { languageModel, once, onceStreamed, settled, streamOf, whole } from "./languageModels.ts"
import { keys, quotes } from "./providerKeys.ts"

const places: ReadonlyArray<(quote: string) => unknown> = [
  (quote) => new Error(quote),
  (quote) => quote,
  (quote) => new Error("Oh", { cause: new Error(quote) }),
  (quote) =>
    new TypeError("fetch failed", { cause: Object.assign(new Error(quote), { code: "ECONNREFUSED", url: quote }) }),
  (quote) => new DOMException(quote, "AbortError"),
  (quote) => new Error("Oh", { cause: new DOMException(quote, "NetworkError") }),
  (quote) => Object.assign(new Error("Oh"), { headers: new Headers({ "x-api-key": encodeURIComponent(quote) }) }),
  (quote) => Object.assign(new Error("Oh"), { config: { headers: { a: [quote] } }, list: new Map([[1, quote]]) }),
  (quote) => Object.assign(new Error("Oh"), { [Symbol("request")]: { quote } }),
  (quote) => new AggregateError([new Error(quote)], quote),
  (quote) => new LoadAPIKeyError({ message: quote }),
  (quote) => new TypeValidationError({ value: { quote }, cause: new Error(quote) }),
  ...[undefined, 200, 400, 401, 403, 404, 429, 500, 529].map((statusCode) => (quote: string) =>
    new APICallError({
      message: quote,
      url: `https://api.example/${quote}`,
      requestBodyValues: { messages: [{ content: quote }] },
      ...(statusCode === undefined ? {} : { statusCode }),
      responseHeaders: { "x-request": quote },
      responseBody: quote,
      cause: new Error(quote),
      data: { error: { message: quote } }
    })
  ),
  (quote) => ({ error: { message: quote, type: "api_error" } }),
  (quote) => ({ statusCode: 500, responseBody: quote }),
  (quote) => ({ message: quote })
]

const encode = Schema.encodeSync(ModelFailure.schema)

const toldBy = (error: unknown, warning: string) =>
  Effect.gen(function*() {
    const logged: Array<string> = []
    const logger = Logger.make(({ cause, message }) => void logged.push(inspect([message, cause], { depth: Infinity })))
    const asked = [
      once(languageModel({ doGenerate: () => Promise.reject(error) })),
      onceStreamed(languageModel({ doStream: async () => streamOf([{ type: "error", error }]) })),
      onceStreamed(languageModel({ doStream: async () => streamOf([], { error }) })),
      onceStreamed(languageModel({ doStream: async () => streamOf([warning]) })),
      once(languageModel({ doGenerate: async () => ({ content: warning }) })),
      once(languageModel({
        doGenerate: async () =>
          whole([], {
            warnings: [{ type: "other", message: warning }],
            finishReason: { unified: "error", raw: warning }
          })
      }))
    ]
    const told: Array<string> = []
    for (const asking of asked) {
      const result = yield* settled(Effect.asVoid<unknown, ModelFailure, never>(asking)).pipe(
        Effect.provide(Logger.layer([logger]))
      )
      assert.isTrue("failure" in result)
      if (!("failure" in result)) continue
      const { failure } = result
      yield* Effect.logError(failure).pipe(Effect.provide(Logger.layer([logger])))
      const { cause, detail, hint } = failure
      told.push(
        detail,
        hint ?? "",
        String(failure),
        failure.stack ?? "",
        JSON.stringify(encode(failure)),
        inspect(failure, { depth: Infinity, showHidden: true }),
        inspect(cause, { depth: Infinity, showHidden: true, getters: true })
      )
    }
    return [...told, ...logged]
  })

export const keysHidden = (runs: number): Promise<void> =>
  fc.assert(
    fc.asyncProperty(keys, quotes, fc.constantFrom(...places), async ({ secret, text }, quote, place) => {
      const told = await Effect.runPromise(toldBy(place(quote(text)), quote(text)))
      // A piece of a key is too much, too.
      for (const at of [0, Math.floor(secret.length / 2) - 6, secret.length - 12]) {
        const piece = secret.slice(at, at + 12)
        const leak = told.find((line) => line.includes(piece))
        assert.isUndefined(leak, `${piece} in ${leak}`)
      }
    }),
    { numRuns: runs }
  )
