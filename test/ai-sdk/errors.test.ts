/** Whatever a provider's package throws, rejects with or sends as an error is one typed failure. */
import * as provider from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { ModelFailure } from "@fallible/core"
import { Effect } from "effect"
import { languageModel, once, onceStreamed, settled, streamOf, textParts } from "../support/languageModels.ts"
import { nonsense } from "../support/nonsense.ts"

/** Each way in which an error arrives. */
const ways: Readonly<Record<string, (error: () => unknown) => Effect.Effect<unknown, ModelFailure>>> = {
  thrown: (error) =>
    once(languageModel({
      doGenerate: () => {
        throw error()
      }
    })),
  rejected: (error) => once(languageModel({ doGenerate: () => Promise.reject(error()) })),
  "thrown by doStream": (error) =>
    onceStreamed(languageModel({
      doStream: () => {
        throw error()
      }
    })),
  "rejected by doStream": (error) => onceStreamed(languageModel({ doStream: () => Promise.reject(error()) })),
  "sent as a part": (error) =>
    onceStreamed(languageModel({ doStream: async () => streamOf([{ type: "error", error: error() }]) })),
  "sent after text": (error) =>
    onceStreamed(languageModel({
      doStream: async () => streamOf([...textParts("Hel"), { type: "error", error: error() }])
    })),
  "an error of the stream": (error) =>
    onceStreamed(languageModel({ doStream: async () => streamOf(textParts("Hel"), { error: error() }) }))
}

const failureOf = (asked: Effect.Effect<unknown, ModelFailure>) =>
  Effect.map(settled(asked), (result) => {
    assert.isTrue("failure" in result && result.failure instanceof ModelFailure, "no typed failure")
    return (result as { readonly failure: ModelFailure }).failure
  })

const apiCall = (fields: object) =>
  new provider.APICallError({
    message: "Failed",
    url: "https://api.example/v1",
    requestBodyValues: {},
    ...fields
  })

describe("an error of @ai-sdk/provider", () => {
  const samples: Readonly<Record<string, readonly [make: () => unknown, code: string, transient: boolean]>> = {
    AISDKError: [() => new provider.AISDKError({ name: "AI_OtherError", message: "Other" }), "defect", false],
    APICallError: [() => apiCall({ statusCode: 429 }), "rate_limited", true],
    EmptyResponseBodyError: [() => new provider.EmptyResponseBodyError(), "malformed_reply", true],
    Experimental_DecisionRefusalError: [
      () => new provider.Experimental_DecisionRefusalError({ message: "No" } as never),
      "refused",
      false
    ],
    Experimental_DecisionUnsupportedQuestionTypeError: [
      () => new provider.Experimental_DecisionUnsupportedQuestionTypeError({ message: "No" } as never),
      "unsupported",
      false
    ],
    Experimental_EvaluationUnsupportedQuestionTypeError: [
      () => new provider.Experimental_EvaluationUnsupportedQuestionTypeError({ message: "No" } as never),
      "unsupported",
      false
    ],
    Experimental_ExtractionRefusalError: [
      () => new provider.Experimental_ExtractionRefusalError({ message: "No" } as never),
      "refused",
      false
    ],
    Experimental_ExtractionUnsupportedFieldTypeError: [
      () => new provider.Experimental_ExtractionUnsupportedFieldTypeError({ message: "No" } as never),
      "unsupported",
      false
    ],
    InvalidArgumentError: [
      () => new provider.InvalidArgumentError({ argument: "a", message: "No" }),
      "bad_request",
      false
    ],
    InvalidPromptError: [() => new provider.InvalidPromptError({ prompt: [], message: "No" }), "bad_request", false],
    InvalidResponseDataError: [() => new provider.InvalidResponseDataError({ data: {} }), "malformed_reply", true],
    JSONParseError: [() => new provider.JSONParseError({ text: "{", cause: new Error("x") }), "malformed_reply", true],
    LoadAPIKeyError: [() => new provider.LoadAPIKeyError({ message: "No key" }), "permission_denied", false],
    LoadSettingError: [() => new provider.LoadSettingError({ message: "No region" }), "permission_denied", false],
    NoContentGeneratedError: [() => new provider.NoContentGeneratedError(), "malformed_reply", true],
    NoSuchModelError: [
      () => new provider.NoSuchModelError({ modelId: "m", modelType: "languageModel" }),
      "unknown_model",
      false
    ],
    NoSuchProviderReferenceError: [
      () => new provider.NoSuchProviderReferenceError({ reference: {}, provider: "p" }),
      "unsupported",
      false
    ],
    TooManyEmbeddingValuesForCallError: [
      () =>
        new provider.TooManyEmbeddingValuesForCallError({
          provider: "p",
          modelId: "m",
          maxEmbeddingsPerCall: 1,
          values: []
        }),
      "bad_request",
      false
    ],
    TypeValidationError: [
      () => new provider.TypeValidationError({ value: {}, cause: new Error("x") }),
      "malformed_reply",
      true
    ],
    UnsupportedFunctionalityError: [
      () => new provider.UnsupportedFunctionalityError({ functionality: "audio" }),
      "unsupported",
      false
    ]
  }

  it("is known, whichever it is", () => {
    const classes = Object.entries(provider).filter(([, value]) =>
      typeof value === "function" && value.prototype instanceof Error
    )
    assert.deepStrictEqual(classes.map(([name]) => name).toSorted(), Object.keys(samples).toSorted())
  })

  for (const [name, [make, code, transient]] of Object.entries(samples)) {
    it.effect(`${name} is ${code}, in each way`, () =>
      Effect.forEach(Object.entries(ways), ([way, play]) =>
        Effect.map(failureOf(play(make)), (failure) => {
          // By the time of a part, the request has been sent: an unknown error is about what the server sent.
          const isSent = /sent|stream/.test(way) && code === "defect"
          const expected = isSent ? ["malformed_reply", true] : [code, transient]
          assert.deepStrictEqual([failure.code, failure.transient], expected, way)
          assert.isBelow(failure.detail.length, 700)
        })))
  }
})

describe("an error of the network", () => {
  const errno = (code: string) => Object.assign(new Error(`connect ${code} 127.0.0.1:80`), { code })
  const codes = ["ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "EPIPE", "UND_ERR_SOCKET"]
  for (const code of codes) {
    for (
      const [form, make] of [
        ["fetch's", () => new TypeError("fetch failed", { cause: errno(code) })],
        ["its own", () => errno(code)],
        ["the AI SDK's", () => apiCall({ message: "Cannot connect to API", cause: errno(code) })]
      ] as const
    ) {
      it.effect(`of ${code} in ${form} form is transient: no connection, or a reply that broke off`, () =>
        Effect.forEach(Object.entries(ways), ([way, play]) =>
          Effect.map(failureOf(play(make)), (failure) => {
            const isInStream = /^(sent|an error)/.test(way)
            assert.deepStrictEqual(
              [failure.code, failure.transient],
              [isInStream ? "cut_off" : "connection", true],
              way
            )
            if (!isInStream) assert.include(failure.detail, code)
          })))
    }
  }

  it.effect("in the body of a whole reply is a reply that broke off", () =>
    Effect.gen(function*() {
      const make = () =>
        apiCall({ statusCode: 200, cause: new TypeError("terminated", { cause: errno("ECONNRESET") }) })
      assert.strictEqual((yield* failureOf(ways["rejected"]!(make))).code, "cut_off")
      assert.strictEqual(
        (yield* failureOf(ways["rejected"]!(() => apiCall({ statusCode: 200 })))).code,
        "malformed_reply"
      )
    }))

  it.effect("is none if a file is missing", () =>
    Effect.gen(function*() {
      const failure = yield* failureOf(ways["rejected"]!(() => errno("ENOENT")))
      assert.deepStrictEqual([failure.code, failure.transient], ["defect", false])
    }))

  it.effect("is a time-out if the client gave up", () =>
    Effect.forEach(Object.values(ways), (play) =>
      Effect.gen(function*() {
        for (const name of ["AbortError", "TimeoutError"]) {
          const failure = yield* failureOf(play(() => new DOMException("gone", name)))
          assert.deepStrictEqual([failure.code, failure.transient], ["timeout", false])
        }
      })))
})

describe("an error that is none", () => {
  // Nobody but the one who made it can handle the rejection of a promise that is thrown.
  const { "a promise rejected later": _later, "a rejected promise": _rejected, ...values } = nonsense
  const hostile: Readonly<Record<string, () => unknown>> = {
    ...values,
    "getters that throw": () =>
      Object.defineProperties({}, {
        statusCode: { get: () => assert.fail("read"), enumerable: true },
        message: { get: () => assert.fail("read"), enumerable: true },
        name: { get: () => assert.fail("read") }
      }),
    "an error with a cause that cannot be read": () =>
      new Error("Oh", { cause: nonsense["a proxy that cannot be looked at"]!() }),
    "an error that is its own cause": () => {
      const error = new Error("round")
      return Object.assign(error, { cause: error, list: [error] })
    },
    "a status that is none": () => Object.assign(new Error("x"), { statusCode: Number.NaN }),
    "a status of a half": () => Object.assign(new Error("x"), { statusCode: 429.5 }),
    "a status of 7": () => Object.assign(new Error("x"), { statusCode: 7 }),
    "headers of nonsense": () =>
      Object.assign(new Error("x"), { statusCode: 429, responseHeaders: { "Retry-After": {} } }),
    "a deep body": () => Object.assign(new Error("x"), { statusCode: 400, data: nonsense["something deep"]!() })
  }
  for (const [name, make] of Object.entries(hostile)) {
    it.effect(`but ${name} is a typed failure, which can be written`, () =>
      Effect.forEach(Object.entries(ways), ([way, play]) =>
        Effect.map(failureOf(play(make)), (failure) => {
          assert.isNotEmpty(failure.detail, way)
          assert.isString(JSON.stringify(failure))
          assert.isTrue(failure.status === undefined || Number.isInteger(failure.status))
        })))
  }

  it.effect("quotes a text that was thrown", () =>
    Effect.gen(function*() {
      const failure = yield* failureOf(ways["thrown"]!(() => "The model is asleep"))
      assert.strictEqual(failure.detail, "played failed with an error in the program: The model is asleep.")
    }))
})
