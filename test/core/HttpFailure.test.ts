/** HTTP errors as failures of a tool, with the platform's client against a real server. */
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Guard, RetryPolicy, type SchemaMismatch, type SemanticGarbage, Tool, ToolUnavailable } from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import { Cause, Data, Duration, Effect, Exit, Schema, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { saying, serving } from "../support/http.ts"
import { asking, failing, fieldsOf, outcomeOf, unavailable } from "../support/httpFailures.ts"
import { passing, passingBy } from "../support/virtualTime.ts"

// -----------------------------------------------------------------------------
// The table
// -----------------------------------------------------------------------------

/** Expected fields of a permanent failure, by its scope. */
const ofArguments = (code: string) => ({ ...unavailable(code, false), scope: "arguments" })
const ofTool = (code: string) => ({ ...unavailable(code, false), scope: "tool" })
const rejected = ofArguments("rejected")
const notFound = { _tag: "SemanticGarbage", code: "not_found", alternatives: [] }

const afterGet: ReadonlyArray<readonly [status: number, failure: object]> = [
  [300, ofArguments("unexpected_status")],
  [304, ofArguments("unexpected_status")],
  [400, rejected],
  [401, ofTool("permission_denied")],
  [402, ofTool("quota_exhausted")],
  [403, ofArguments("permission_denied")],
  [404, notFound],
  [405, rejected],
  [408, unavailable("timeout", true)],
  [409, rejected],
  [410, notFound],
  [413, rejected],
  [422, { _tag: "SchemaMismatch", side: "arguments", code: "invalid_arguments", issues: [], alternatives: [] }],
  [423, unavailable("server_error", true, "not_executed")],
  [425, unavailable("server_error", true, "not_executed")],
  [429, unavailable("rate_limited", true, "not_executed")],
  [451, rejected],
  [499, rejected],
  [500, unavailable("server_error", true)],
  [501, ofTool("server_error")],
  [502, unavailable("server_error", true)],
  [503, unavailable("server_error", true)],
  [504, unavailable("server_error", true)],
  [505, ofTool("server_error")],
  [599, unavailable("server_error", true)]
]

const withHint = /permission_denied|quota_exhausted|not_found|rejected/

describe("a status", () => {
  for (const [status, expected] of afterGet) {
    it.effect(`of ${status} is ${JSON.stringify(expected)}`, () =>
      Effect.gen(function*() {
        const { hint, ...failure } = fieldsOf(yield* failing(yield* saying(status)))
        assert.deepStrictEqual(failure, { ...expected, detail: `The service answered ${status}.` })
        if (withHint.test(String(failure["code"]))) assert.isString(hint)
        assert.deepStrictEqual(fieldsOf(HttpFailure.fromStatus(status, { method: "GET" })), {
          ...failure,
          ...(hint === undefined ? {} : { hint })
        })
      }).pipe(Effect.scoped))
  }

  it("that is not a final status is unexpected", () => {
    for (const status of [0, 101, 200, 204, 600, 999, -404, 404.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.deepInclude(fieldsOf(HttpFailure.fromStatus(status)), unavailable("unexpected_status", false, "unknown"))
    }
  })

  it.effect("5xx leaves the outcome unknown, unless the method only reads", () =>
    Effect.gen(function*() {
      const url = yield* saying(503)
      for (const method of ["GET", "HEAD", "OPTIONS"] as const) {
        assert.notProperty(fieldsOf(yield* failing(url, method)), "outcome")
      }
      for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const) {
        assert.strictEqual(outcomeOf(yield* failing(url, method)), "unknown")
      }
    }).pipe(Effect.scoped))

  it("without a method may belong to any method", () => {
    assert.strictEqual(outcomeOf(HttpFailure.fromStatus(500)), "unknown")
    assert.strictEqual(outcomeOf(HttpFailure.fromStatus(500, { method: "LOCK" })), "unknown")
    assert.isUndefined(outcomeOf(HttpFailure.fromStatus(500, { method: "get" })))
    assert.isUndefined(outcomeOf(HttpFailure.fromStatus(500, { method: "TRACE" })))
    assert.strictEqual(outcomeOf(HttpFailure.fromStatus(429)), "not_executed")
    assert.strictEqual(outcomeOf(HttpFailure.fromStatus(302, { method: "POST" })), "unknown")
  })

  it("quotes the given message", () => {
    assert.strictEqual(
      HttpFailure.fromStatus(404, { message: " No such\norder. " }).detail,
      "The service answered 404: \"No such order.\""
    )
    assert.strictEqual(HttpFailure.fromStatus(404, { message: " \n" }).detail, "The service answered 404.")
  })

  it.effect("counts even if reading its body failed", () =>
    Effect.gen(function*() {
      const url = yield* saying(503, "<h1>Down</h1>")
      const failure = yield* HttpClient.get(url).pipe(
        Effect.flatMap((response) => response.json),
        HttpFailure.classify,
        Effect.flip,
        Effect.provide(FetchHttpClient.layer)
      )
      assert.deepInclude(fieldsOf(failure), unavailable("server_error", true))
      assert.strictEqual(failure.detail, "The service answered 503.")
    }).pipe(Effect.scoped))

  it.effect("of success that a filter rejects is unexpected", () =>
    Effect.gen(function*() {
      const url = yield* saying(202, "Wait.")
      const failure = yield* HttpClient.post(url).pipe(
        Effect.flatMap(HttpClientResponse.filterStatus((status) => status === 200)),
        HttpFailure.classify,
        Effect.flip,
        Effect.provide(FetchHttpClient.layer)
      )
      assert.deepInclude(fieldsOf(failure), unavailable("unexpected_status", false, "unknown"))
      assert.strictEqual(failure.detail, "The service answered 202: \"Wait.\"")
    }).pipe(Effect.scoped))

  it.effect("after a redirect leaves the effect of the first request in doubt", () =>
    Effect.gen(function*() {
      const url = yield* serving((request, response) =>
        void (request.method === "POST"
          ? response.writeHead(303, { location: "/receipt" }).end()
          : response.writeHead(404).end())
      )
      const pay = Tool.make(
        "pay",
        { description: "Pays", success: Schema.String },
        () => HttpFailure.classify(asking(url, "POST")).pipe(Effect.provide(FetchHttpClient.layer))
      )
      assert.strictEqual((yield* Tool.outcome(pay, {})).certainty, "unknown")
    }).pipe(Effect.scoped))

  it.effect("keeps the client's error as its cause, hidden from output", () =>
    Effect.gen(function*() {
      const url = yield* saying(404)
      const error = yield* Effect.flip(asking(url)).pipe(Effect.provide(FetchHttpClient.layer))
      assert.isTrue(HttpClientError.isHttpClientError(error))
      const failure = yield* HttpFailure.fromError(error)
      assert.strictEqual(failure.cause, error)
      assert.notInclude(JSON.stringify(failure), "cause")
      assert.isUndefined((yield* HttpFailure.fromResponse(error.response!)).cause)
    }).pipe(Effect.scoped))
})

// -----------------------------------------------------------------------------
// Retry-After
// -----------------------------------------------------------------------------

describe("Retry-After", () => {
  const retryAfter = (status: number, value: string) =>
    Effect.gen(function*() {
      const failure = yield* failing(yield* saying(status, "", { "retry-after": value }), "POST")
      return failure._tag === "ToolUnavailable" && failure.retryAfter !== undefined
        ? Duration.toSeconds(failure.retryAfter)
        : undefined
    })

  it.effect("is a number of seconds", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* retryAfter(429, "30"), 30)
      assert.strictEqual(yield* retryAfter(503, "0"), 0)
      assert.strictEqual(yield* retryAfter(502, "2"), 2)
      assert.strictEqual(yield* retryAfter(408, "1"), 1)
    }).pipe(Effect.scoped))

  it.effect("is a date, relative to the clock, and never negative", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(Date.UTC(2026, 0, 1, 12, 0, 0))
      assert.strictEqual(yield* retryAfter(429, "Thu, 01 Jan 2026 12:01:30 GMT"), 90)
      assert.strictEqual(yield* retryAfter(503, "Thu, 01 Jan 2026 11:00:00 GMT"), 0)
    }).pipe(Effect.scoped))

  it.effect("that is neither is ignored, and permanent failures have none", () =>
    Effect.gen(function*() {
      for (const value of ["", "soon", "-1", "1.5", "1e9", "Infinity", "2026-01-01"]) {
        assert.isUndefined(yield* retryAfter(429, value))
      }
      for (const status of [400, 401, 501]) assert.isUndefined(yield* retryAfter(status, "30"))
    }).pipe(Effect.scoped))

  it.effect("or an exhausted request quota makes a 403 a rate limit", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* retryAfter(403, "60"), 60)
      const reading = (headers: Record<string, string>) =>
        Effect.map(Effect.flatMap(saying(403, "", headers), failing), ({ code }) => code)
      assert.strictEqual(yield* reading({ "x-ratelimit-remaining": "0" }), "rate_limited")
      assert.strictEqual(yield* reading({ "x-ratelimit-remaining": "17" }), "permission_denied")
      assert.strictEqual(HttpFailure.fromStatus(403, { retryAfter: "1 minute" }).code, "rate_limited")
      assert.strictEqual(HttpFailure.fromStatus(403).code, "permission_denied")
    }).pipe(Effect.scoped))

  it.effect("of any length survives a journal", () =>
    Effect.gen(function*() {
      const failure = yield* failing(yield* saying(429, "", { "retry-after": "9".repeat(40) }))
      assert.isTrue(failure._tag === "ToolUnavailable")
      if (failure._tag !== "ToolUnavailable") return
      const encoded = yield* Schema.encodeEffect(ToolUnavailable.schema)(failure)
      const decoded = yield* Schema.decodeEffect(ToolUnavailable.schema)(JSON.parse(JSON.stringify(encoded)))
      assert.isTrue(Duration.isGreaterThan(decoded.retryAfter!, Duration.weeks(1)))
    }).pipe(Effect.scoped))

  it("may be given with a status", () => {
    const failure = HttpFailure.fromStatus(429, { retryAfter: "3 seconds" })
    assert.deepStrictEqual(failure._tag === "ToolUnavailable" && failure.retryAfter, Duration.seconds(3))
  })
})

// -----------------------------------------------------------------------------
// Requests and answers
// -----------------------------------------------------------------------------

describe("a request", () => {
  it.effect("that cannot be built is permanent, and was not executed", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(fieldsOf(yield* failing("http://[", "POST")), {
        ...unavailable("invalid_request", false, "not_executed"),
        scope: "arguments",
        detail: "The request to the service could not be made."
      })
      const reason = new HttpClientError.EncodeError({ request: HttpClientRequest.post("https://orders.example") })
      const failure = yield* HttpFailure.fromError(new HttpClientError.HttpClientError({ reason }))
      assert.deepInclude(fieldsOf(failure), unavailable("invalid_request", false, "not_executed"))
    }))
})

describe("an answer", () => {
  const invalid = { _tag: "SchemaMismatch", side: "result", code: "invalid_result" }
  const classified = (
    url: string,
    read: (response: HttpClientResponse.HttpClientResponse) => Effect.Effect<unknown, HttpClientError.HttpClientError>
  ) =>
    HttpClient.post(url).pipe(
      Effect.flatMap(read),
      HttpFailure.classify,
      Effect.flip,
      Effect.provide(FetchHttpClient.layer)
    )

  it.effect("that cannot be decoded is a mismatch of the result", () =>
    Effect.gen(function*() {
      const url = yield* saying(200, "{\"secret\":")
      const failure = yield* classified(url, (response) => response.json)
      assert.deepInclude(fieldsOf(failure), { ...invalid, detail: "The service's answer could not be decoded." })
      const zipped = yield* saying(200, "no zip", { "content-encoding": "gzip" })
      assert.deepInclude(fieldsOf(yield* classified(zipped, (response) => response.text)), invalid)
    }).pipe(Effect.scoped))

  it.effect("that must not be empty but is, is a mismatch of the result", () =>
    Effect.gen(function*() {
      const failure = yield* classified(yield* saying(204), ({ stream }) => Stream.runDrain(stream))
      assert.deepInclude(fieldsOf(failure), { ...invalid, detail: "The service sent an empty answer." })
    }).pipe(Effect.scoped))
})

// -----------------------------------------------------------------------------
// Composition
// -----------------------------------------------------------------------------

class NoStock extends Data.TaggedError("NoStock") {}

describe("classify", () => {
  it.effect("removes the HTTP errors from the type, and keeps other errors", () =>
    Effect.gen(function*() {
      const asked = Effect.fail(new NoStock()) as Effect.Effect<
        string,
        NoStock | HttpClientError.HttpClientError | Cause.TimeoutError,
        HttpClient.HttpClient
      >
      const classified = HttpFailure.classify(asked)
      expectTypeOf(classified).toEqualTypeOf<
        Effect.Effect<string, NoStock | ToolUnavailable | SemanticGarbage | SchemaMismatch, HttpClient.HttpClient>
      >()
      const failure = yield* Effect.flip(classified).pipe(Effect.provide(FetchHttpClient.layer))
      assert.instanceOf(failure, NoStock)
    }))

  it.effect("does not change defects, interruption and success", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* Effect.exit(HttpFailure.classify(Effect.die("Oh."))), Exit.die("Oh."))
      assert.isTrue(Exit.hasInterrupts(yield* Effect.exit(HttpFailure.classify(Effect.interrupt))))
      assert.strictEqual(yield* HttpFailure.classify(Effect.succeed(7)), 7)
    }))

  it.effect("treats a timeout around a request as a failure with an unknown outcome", () =>
    Effect.gen(function*() {
      const url = yield* serving(() => {})
      const classified = asking(url).pipe(
        Effect.timeout("5 seconds"),
        HttpFailure.classify,
        Effect.provide(FetchHttpClient.layer)
      )
      expectTypeOf(classified).toEqualTypeOf<Effect.Effect<string, HttpFailure.HttpFailure>>()
      const failure = yield* passing(Effect.flip(classified))
      assert.deepStrictEqual(fieldsOf(failure), {
        ...unavailable("timeout", true, "unknown"),
        detail: "The service did not answer in time."
      })
      assert.isTrue(Cause.isTimeoutError(failure.cause))
    }).pipe(Effect.scoped))

  it.effect("composes with a guard outside it and retries around both: 503, 503, then success", () =>
    Effect.gen(function*() {
      const statuses = [503, 503, 200]
      const asked: Array<number> = []
      const url = yield* serving((_, response) => {
        const status = statuses[asked.length] ?? 500
        asked.push(status)
        response.writeHead(status, { "retry-after": "7" }).end("{\"total\":12}")
      })
      const Order = Schema.Struct({ total: Schema.Finite })
      const order = Tool.make(
        "order",
        { description: "An order", success: Order, sideEffect: "none" },
        () => asking(url).pipe(HttpFailure.classify, Guard.json(Order))
      ).pipe(Tool.retry(RetryPolicy.transient))
      expectTypeOf<Tool.Failure<typeof order>>().toEqualTypeOf<HttpFailure.HttpFailure>()
      const fiber = yield* Effect.forkChild(order.run({}).pipe(Effect.provide(FetchHttpClient.layer)))
      assert.deepStrictEqual(yield* passingBy("1 second", fiber), { total: 12 })
      assert.deepStrictEqual(asked, statuses)
    }).pipe(Effect.scoped))

  it.effect("repeats a write only if it was seen that it was not served, or if its tool refuses before it acts", () =>
    Effect.gen(function*() {
      for (
        const [status, refusesFirst, attempts] of [[500, false, 1], [429, false, 3], [500, true, 1], [
          429,
          true,
          3
        ]] as const
      ) {
        let asked = 0
        const url = yield* serving((_, response) => {
          asked++
          response.writeHead(status).end()
        })
        const pay = Tool.make(
          "pay",
          { description: "Pays", success: Schema.String, refusesFirst },
          () => HttpFailure.classify(asking(url, "POST"))
        ).pipe(Tool.retry(RetryPolicy.transient))
        const fiber = yield* Effect.forkChild(Effect.flip(pay.run({})).pipe(Effect.provide(FetchHttpClient.layer)))
        yield* passingBy("1 second", fiber)
        assert.strictEqual(asked, attempts)
      }
    }).pipe(Effect.scoped))
})
