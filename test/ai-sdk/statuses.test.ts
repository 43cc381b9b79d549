/** What the servers of three providers answer when they do not reply, over real connections. */
import { assert, describe, it } from "@effect/vitest"
import { ModelFailure } from "@fallible/core"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Duration, Effect, Schedule } from "effect"
import { bridges, gemini, messages, responses, serving } from "../support/models.ts"
import { parts, respond } from "../support/question.ts"

type Bridge = typeof gemini

const asking = (provider: Bridge, move: FakeModelServer.Move) =>
  Effect.forEach([Effect.asVoid(respond), Effect.asVoid(parts)], (ask) =>
    Effect.map(
      Effect.flip(ask).pipe(Effect.provide(serving(provider)(() => move, { settings: { retry: Schedule.recurs(0) } }))),
      (failure) => {
        assert.isTrue(failure instanceof ModelFailure)
        return failure
      }
    ))

// `fetch` reads 407 itself, as a proxy that refuses the connection.
const statuses = Array.from({ length: 130 }, (_, index) => 400 + index).filter((status) => status !== 407)

const byStatus = (status: number): readonly [code: string, transient: boolean] => {
  switch (status) {
    case 401:
    case 403:
      return ["permission_denied", false]
    case 402:
      return ["quota_exhausted", false]
    case 404:
    case 405:
      return ["bad_address", false]
    case 408:
      return ["timeout", true]
    case 413:
      return ["context_overflow", false]
    case 429:
      return ["rate_limited", true]
  }
  return status < 500 ? ["bad_request", false] : ["server_error", status !== 501 && status !== 505]
}

describe("a status", () => {
  for (const [name, provider] of bridges) {
    it.effect(
      `from 400 to 529 is one failure, with the time to wait (${name})`,
      () =>
        Effect.forEach(statuses, (status) =>
          Effect.gen(function*() {
            for (const body of ["{\"error\":{\"message\":\"No.\"}}", "<html>No.</html>"]) {
              const move = FakeModelServer.raw(body, { status, headers: { "retry-after": "7" } })
              for (const failure of yield* asking(provider, move)) {
                const told = [failure.code, failure.transient, failure.status]
                assert.deepStrictEqual(told, [...byStatus(status), status])
                assert.deepStrictEqual(failure.retryAfter, Duration.seconds(7))
                assert.include(failure.detail, "No.")
              }
            }
          })),
      { tags: "slow" }
    )
  }
})

const openAi = (status: number, error: object) => ["Responses", status, { error }] as const
const anthropic = (status: number, type: string, message: string) =>
  ["Messages", status, { type: "error", error: { type, message }, request_id: "req_1" }] as const
const google = (code: number, status: string, message: string, details: ReadonlyArray<object> = []) =>
  ["Gemini", code, { error: { code, message, status, details } }] as const

describe("a provider's own report", () => {
  const reports: ReadonlyArray<
    readonly [report: readonly [name: string, status: number, body: object], code: string, transient: boolean]
  > = [
    [
      openAi(429, {
        message: "You exceeded your current quota, please check your plan and billing details.",
        type: "insufficient_quota",
        param: null,
        code: "insufficient_quota"
      }),
      "quota_exhausted",
      false
    ],
    [
      openAi(429, {
        message: "Rate limit reached for gpt.",
        type: "requests",
        param: null,
        code: "rate_limit_exceeded"
      }),
      "rate_limited",
      true
    ],
    [
      openAi(401, {
        message: "Incorrect API key provided.",
        type: "invalid_request_error",
        param: null,
        code: "invalid_api_key"
      }),
      "permission_denied",
      false
    ],
    [
      openAi(400, {
        message: "The requested model 'x' does not exist.",
        type: "invalid_request_error",
        param: "model",
        code: "model_not_found"
      }),
      "unknown_model",
      false
    ],
    [
      openAi(400, {
        message: "Your input exceeds the context window of this model.",
        type: "invalid_request_error",
        param: "input",
        code: "context_length_exceeded"
      }),
      "context_overflow",
      false
    ],
    [
      openAi(400, {
        message: "Your request was rejected as a result of our safety system.",
        type: "invalid_request_error",
        param: null,
        code: "content_policy_violation"
      }),
      "refused",
      false
    ],
    [
      openAi(400, { message: "Filtered.", type: null, param: "prompt", code: "content_filter", status: 400 }),
      "refused",
      false
    ],
    [anthropic(529, "overloaded_error", "Overloaded"), "server_error", true],
    [anthropic(401, "authentication_error", "invalid x-api-key"), "permission_denied", false],
    [anthropic(404, "not_found_error", "model: claude-none"), "unknown_model", false],
    [
      anthropic(400, "invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum"),
      "context_overflow",
      false
    ],
    [
      anthropic(
        400,
        "invalid_request_error",
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"
      ),
      "context_overflow",
      false
    ],
    [anthropic(413, "request_too_large", "Request exceeds the maximum size"), "context_overflow", false],
    [
      anthropic(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
      "quota_exhausted",
      false
    ],
    [anthropic(400, "invalid_request_error", "Output blocked by content filtering policy"), "refused", false],
    [anthropic(429, "rate_limit_error", "This request would exceed your rate limit."), "rate_limited", true],
    [
      google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", [
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" }
      ]),
      "rate_limited",
      true
    ],
    [
      google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
        { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }
      ]),
      "permission_denied",
      false
    ],
    [
      google(404, "NOT_FOUND", "models/none is not found for API version v1beta, or is not supported."),
      "unknown_model",
      false
    ],
    [
      google(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed."),
      "context_overflow",
      false
    ],
    [google(503, "UNAVAILABLE", "The model is overloaded."), "server_error", true]
  ]
  for (const [[name, status, body], code, transient] of reports) {
    it.effect(`of ${name}, ${status}, is ${code}: ${JSON.stringify(body).slice(0, 110)}`, () =>
      Effect.gen(function*() {
        const [, provider] = bridges.find(([bridge]) => bridge === name)!
        for (const failure of yield* asking(provider, FakeModelServer.raw(JSON.stringify(body), { status }))) {
          assert.deepStrictEqual([failure.code, failure.transient, failure.status], [code, transient, status])
          const isTold = JSON.stringify(body).includes("retryDelay")
          assert.deepStrictEqual(failure.retryAfter, isTold ? Duration.seconds(34.5) : undefined)
        }
      }))
  }
})

describe("a report in the middle of a stream", () => {
  const sse = (frames: ReadonlyArray<{ readonly type?: string }>) =>
    FakeModelServer.raw(
      frames.map((frame) => `event: ${frame.type ?? "message"}\r\ndata: ${JSON.stringify(frame)}\r\n\r\n`).join(""),
      { headers: { "content-type": "text/event-stream" } }
    )
  const begun = {
    Messages: [
      {
        type: "message_start",
        message: {
          id: "1",
          type: "message",
          role: "assistant",
          model: "any",
          content: [],
          stop_reason: null,
          usage: { input_tokens: 3, output_tokens: 1 }
        }
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } }
    ],
    Responses: [
      { type: "response.created", response: { id: "1", created_at: 1, model: "any" } },
      { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "m" } },
      { type: "response.output_text.delta", item_id: "m", delta: "Hel" }
    ],
    Gemini: [{ candidates: [{ content: { role: "model", parts: [{ text: "Hel" }] } }] }]
  }
  const failed = (code: string, message: string) => ({
    type: "response.failed",
    sequence_number: 3,
    response: { id: "1", status: "failed", error: { code, message }, incomplete_details: null, usage: null }
  })
  const reports: ReadonlyArray<readonly [name: keyof typeof begun, frame: object, code: string, transient: boolean]> = [
    ["Messages", { type: "error", error: { type: "overloaded_error", message: "Oh" } }, "server_error", true],
    ["Messages", { type: "error", error: { type: "rate_limit_error", message: "Oh" } }, "rate_limited", true],
    ["Messages", { type: "error", error: { type: "api_error", message: "Oh" } }, "server_error", true],
    ["Messages", { type: "error", error: { type: "invalid_request_error", message: "Oh" } }, "bad_request", false],
    ["Messages", { type: "error", error: { type: "authentication_error", message: "Oh" } }, "permission_denied", false],
    [
      "Responses",
      { type: "error", sequence_number: 3, code: "rate_limit_exceeded", message: "Oh", param: null },
      "rate_limited",
      true
    ],
    ["Responses", failed("rate_limit_exceeded", "Oh"), "rate_limited", true],
    ["Responses", failed("insufficient_quota", "Oh"), "quota_exhausted", false],
    ["Responses", failed("server_error", "Oh"), "server_error", true],
    ["Gemini", { error: { code: 503, message: "Oh", status: "UNAVAILABLE" } }, "server_error", true],
    ["Gemini", { error: { code: 429, message: "Oh", status: "RESOURCE_EXHAUSTED" } }, "rate_limited", true]
  ]
  for (const [name, frame, code, transient] of reports) {
    for (const beginning of [begun[name], begun[name].slice(0, 1)]) {
      it.effect(`of ${name} after ${beginning.length} frames is ${code}: ${JSON.stringify(frame).slice(0, 90)}`, () =>
        Effect.gen(function*() {
          const [, provider] = bridges.find(([bridge]) => bridge === name)!
          const once = serving(provider)([sse([...beginning, frame])], { settings: { retry: Schedule.recurs(0) } })
          const failure = yield* Effect.flip(parts).pipe(Effect.provide(once))
          assert.deepStrictEqual([failure.code, failure.transient], [code, transient])
          assert.match(failure.detail, /: "Oh"$/)
        }))
    }
  }
})

describe("a report with a status of success", () => {
  it.effect("is read", () =>
    Effect.gen(function*() {
      const error = { code: "rate_limit_exceeded", message: "Slowly." }
      const failedWhole = { id: "1", created_at: 1, model: "any", status: "failed", error, output: [], usage: null }
      const once = { settings: { retry: Schedule.recurs(0) } }
      const play = (provider: Bridge, body: object) =>
        Effect.flip(respond).pipe(Effect.provide(serving(provider)([FakeModelServer.raw(JSON.stringify(body))], once)))
      const failure = yield* play(responses, failedWhole)
      assert.deepStrictEqual([failure.code, failure.transient], ["rate_limited", true])
      const blocked = yield* play(gemini, {
        promptFeedback: { blockReason: "SAFETY" },
        usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 }
      })
      assert.deepStrictEqual([blocked.code, blocked.usage?.inputTokens], ["refused", 4])
      const overloaded = yield* play(messages, { type: "error", error: { type: "overloaded_error", message: "Oh" } })
      assert.deepStrictEqual([overloaded.code, overloaded.transient], ["server_error", true])
    }))
})
