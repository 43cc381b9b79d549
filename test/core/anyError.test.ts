/** `ToolFailure.from` converts any error to one of the four classes. Tested with the errors of real libraries. */
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { PartialData, type SchemaMismatch, type SemanticGarbage, ToolFailure, ToolUnavailable } from "@fallible/core"
import { Cause, Duration, Effect, Exit, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as FastCheck from "fast-check"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { runInNewContext } from "node:vm"
import { caught } from "../support/caught.ts"
import { shapeOf, shapes } from "../support/errorShapes.ts"
import { root } from "../support/program.ts"

/** Summarizes the failure of an error in one line. */
const toldOf = (error: unknown): string => {
  const failure = caught(error)
  if (failure === undefined) return "a defect"
  const { _tag, code, detail, hint } = failure
  const more = failure._tag === "ToolUnavailable"
    ? [
      failure.transient ? "transient" : `permanent, ${failure.scope ?? "tool"}`,
      failure.outcome,
      failure.retryAfter === undefined ? undefined : `after ${Duration.format(failure.retryAfter)}`
    ].filter((word) => word !== undefined)
    : []
  return [`${_tag} ${code}`, ...more].join(", ") + `: ${detail}${hint === undefined ? "" : ` (${hint})`}`
}

// What a program without types may pass.
const untyped = (value: unknown) => value as never

const golden = join(root, "test/support/errorKinds.txt")

describe("the errors of real libraries", () => {
  it("become the recorded failures (FALLIBLE_UPDATE=1 records them)", () => {
    const lines = shapes.map(({ error, name }) => `${name}\n    ${toldOf(error())}\n`).join("")
    if (process.env["FALLIBLE_UPDATE"] === "1") writeFileSync(golden, lines)
    assert.strictEqual(lines, readFileSync(golden, "utf8"))
  })

  it("reveal no secret, path, address, class or stack", () => {
    for (const { error, name } of shapes) {
      const failure = caught(error())
      if (failure === undefined) continue
      const { detail, hint } = failure
      assert.notMatch(
        `${detail} ${hint ?? ""}`,
        /SECRET|hunter2|\/app|\/etc|127\.0\.0\.1|https?:|\.ts\b| {4}at |BookingError|AxiosError|DatabaseError/,
        name
      )
      assert.isAtMost(detail.length, 600, name)
      assert.notInclude(detail, "\n", name)
    }
  })

  it("become the failures in docs/any-error.md", () => {
    const rows = readFileSync(join(root, "docs/any-error.md"), "utf8")
      .matchAll(/^\| `([^`]+)` *\| ([^|]*?) *\| ([^|]*?) *\|$/gm)
    const shown = Array.from(rows, ([, name = "", kind, words]) => {
      const actual = toldOf(shapeOf(name))
      assert.strictEqual(
        `${kind}${words === "" ? "" : `: ${words}`}`,
        actual.replace(/ \((?!\d+ more)[^()]*\)$/, ""),
        name
      )
      return name
    })
    assert.isAbove(shown.length, 10)
  })

  it("keep the error as the cause, which no encoding contains", () => {
    for (const { error, name } of shapes) {
      const thrown = error()
      const failure = caught(thrown)
      if (failure === undefined) continue
      assert.strictEqual(failure.cause, thrown, name)
      assert.notInclude(Object.keys(failure), "cause", name)
    }
  })

  it("claim that nothing was done only if nothing was sent", () => {
    const claims = shapes.filter(({ error }) => {
      const failure = caught(error())
      return failure?._tag === "ToolUnavailable" && failure.outcome === "not_executed"
    }).map(({ name }) => name)
    const unsent =
      /refused|unknown host|429|Response thrown 429|URL|scheme|retryAfter|throttl|throughput|too many|too many requests|cannot open|missing file|connect timeout|shutting down|aggregate Promise.any of fetches|ECONNREFUSED|retryable by its model|Promise.any of mixed|forbidden port|InvalidUrl|EncodeError|UnknownError|of a limit|mailbox full|greylisted|try later|no recipient/i
    assert.deepStrictEqual(claims.filter((name) => !unsent.test(name)), [])
  })
})

describe("ToolFailure.from", () => {
  it("has a type without partial data, which could not be checked", () => {
    expectTypeOf(ToolFailure.from).returns.toEqualTypeOf<SchemaMismatch | SemanticGarbage | ToolUnavailable>()
  })

  it.effect("serves as the catch of Effect.tryPromise, where a programming error is a defect", () =>
    Effect.gen(function*() {
      const failing = (error: unknown) =>
        Effect.tryPromise({ try: () => Promise.reject(error), catch: ToolFailure.from })
      assert.strictEqual((yield* Effect.flip(failing(shapeOf("axios 404")))).code, "not_found")
      const exit = yield* Effect.exit(failing(new TypeError("rows is undefined")))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    }))

  it("returns a failure unchanged, and rethrows partial data", () => {
    const failure = caught(shapeOf("axios 404"))
    assert.strictEqual(caught(failure), failure)
    assert.isUndefined(caught(new PartialData({ code: "more_pages", detail: "Page 1 of 2.", data: [] })))
  })

  it("names the wrong fields of a result, without their values", () => {
    const order = Schema.Struct({ orders: Schema.Array(Schema.Struct({ total: Schema.Finite })) })
    const exit = Effect.runSyncExit(Schema.decodeUnknownEffect(order)({ orders: [{ total: "hunter2" }] }))
    const failure = caught(Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined)
    assert.deepInclude({ ...failure }, {
      _tag: "SchemaMismatch",
      side: "result",
      code: "invalid_result",
      detail: "The result does not match its schema at 'orders.0.total'.",
      issues: [{
        path: ["orders", 0, "total"],
        expected: "a value that matches the schema",
        actual: "one that does not"
      }]
    })
  })

  it("follows errors that contain each other only while it learns something", () => {
    const all = new AggregateError([])
    all.errors.push(...Array.from({ length: 20 }, () => all))
    all.cause = all
    const decoding = { _tag: "HttpClientError", reason: { _tag: "DecodeError", cause: all } }
    // A search of all paths between them would not end.
    assert.strictEqual(caught({ errors: Array.from({ length: 20 }, () => decoding) })?.code, "invalid_result")
  })

  it("recognizes fetch's messages in an error of another realm", () => {
    const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })
    const error: unknown = runInNewContext("new TypeError('fetch failed', { cause })", { cause })
    assert.notInstanceOf(error, TypeError)
    assert.deepInclude({ ...caught(error) }, { code: "connection" })
  })

  it("names no key of a result that may be secret", () => {
    const issues = [{ message: "No.", path: ["sessions", "sk_live_4242424242424242424242", "user"] }]
    assert.include(caught({ issues })?.detail, "'sessions.….user'")
  })

  it("reports invalid options", () => {
    const tell = untyped(Error)
    assert.throws(() => ToolFailure.from(new Error("No."), { tell }), /^'tell' must be a list of classes; got /)
  })

  describe("waits as long as a service asks", () => {
    const after = (headers: object) => {
      const failure = caught({ status: 429, headers })
      return failure?._tag === "ToolUnavailable" && failure.retryAfter !== undefined
        ? Duration.toMillis(failure.retryAfter)
        : undefined
    }

    it.effect("in seconds, in milliseconds, and until a date", () =>
      Effect.sync(() => {
        assert.strictEqual(after({ "retry-after": "7" }), 7_000)
        assert.strictEqual(after({ "Retry-After": 7 }), 7_000)
        assert.strictEqual(after(new Headers({ "retry-after": "7" })), 7_000)
        assert.strictEqual(after({ "retry-after-ms": "1500", "retry-after": "2" }), 1_500)
        assert.strictEqual(after({ "retry-after": "Thu, 01 Jan 1970 00:00:30 GMT" }), 30_000)
        assert.strictEqual(after({ "retry-after": "Wed, 31 Dec 1969 00:00:00 GMT" }), 0)
        assert.strictEqual(after({ "retry-after": "9".repeat(500) }), 1e12)
      }))

    it.effect("and until its request quota is reset, if it is used up", () =>
      Effect.gen(function*() {
        yield* TestClock.setTime(1_700_000_000_000)
        const limit = (remaining: string, reset: string) => ({
          "x-ratelimit-remaining": remaining,
          "x-ratelimit-reset": reset
        })
        assert.strictEqual(after(limit("0", "1700000090")), 90_000)
        assert.strictEqual(after({ ...limit("0", "1700000090"), "retry-after": "5" }), 5_000)
        assert.isUndefined(after(limit("1", "1700000090")))
        assert.isUndefined(after(limit("0", "soon")))
        const below = new Error("Too many.", {
          cause: new Response("", { status: 429, headers: { "retry-after": "7" } })
        })
        assert.deepInclude({ ...caught(below) }, { code: "rate_limited", retryAfter: Duration.seconds(7) })
        const forbidden = caught({ status: 403, response: { headers: limit("0", "1700000090") } })
        assert.deepInclude({ ...forbidden }, { code: "rate_limited", retryAfter: Duration.seconds(90) })
      }))

    it("and not at all if that is unreadable", () => {
      for (const value of ["", "soon", "-5", "1.5.5", "1.5", "1e9", "2026-01-01", "Infinity"]) {
        assert.isUndefined(after({ "retry-after": value }), value)
      }
    })
  })

  describe("keeps a programming error a defect, whatever is around it:", () => {
    const timedOut = Object.assign(new Error("x"), { code: "ETIMEDOUT" })
    for (
      const [what, error] of [
        ["a word of connections", new TypeError("Cannot read properties of undefined (reading 'timeout')")],
        ["a cause", new TypeError("rows is undefined", { cause: timedOut })],
        ["a status", Object.assign(new TypeError("x"), { status: 503 })]
      ] as const
    ) {
      it(what, () => {
        assert.isUndefined(caught(error, { tell: [Error] }))
      })
    }

    it("except a class of programming errors that 'tell' lists", () => {
      class OutOfRange extends RangeError {}
      assert.strictEqual(caught(new OutOfRange("1 to 8 guests."), { tell: [OutOfRange] })?.detail, "1 to 8 guests.")
      assert.isUndefined(caught(new OutOfRange("1 to 8 guests."), { tell: [RangeError] }))
    })
  })

  describe("claims not_executed only if it is certain", () => {
    const outcomeOf = (error: unknown) => {
      const failure = caught(error)
      return failure?._tag === "ToolUnavailable" ? failure.outcome : failure?._tag
    }
    const coded = (code: string, fields: object = {}) => Object.assign(new Error("x"), { code, ...fields })
    const cut = new SyntaxError("Unexpected end of JSON input")

    for (
      const [what, error, outcome] of [
        ["a refused connection", coded("ECONNREFUSED"), "not_executed"],
        ["a reset one beside it", new AggregateError([coded("ECONNREFUSED"), coded("ECONNRESET")]), undefined],
        ["an answer that was cut", new AggregateError([{ status: 429 }, cut]), "SchemaMismatch"],
        ["a file beside a reset one", new AggregateError([coded("ENOENT"), coded("ECONNRESET")]), undefined],
        ["an unknown error beside it", new AggregateError([coded("ECONNREFUSED"), new Error("x")]), "unknown"],
        ["a code with CERT in it", coded("OUTCOME_UNCERTAIN"), "unknown"],
        ["a certificate", coded("CERT_HAS_EXPIRED"), "not_executed"],
        [
          "one of several things that were done",
          new AggregateError([coded("ECONNREFUSED")], "1 of 3 failed"),
          undefined
        ],
        [
          "several attempts to connect",
          Object.assign(new AggregateError([coded("ECONNREFUSED")]), { code: "ECONNREFUSED" }),
          "not_executed"
        ],
        ["the last of several attempts of a client", coded("ECONNREFUSED", { attemptNumber: 3 }), undefined],
        ["the last of several attempts", { $metadata: { httpStatusCode: 429, attempts: 3 } }, undefined],
        [
          "a request that axios-retry has repeated",
          { status: 429, config: { "axios-retry": { retryCount: 1 } } },
          undefined
        ],
        ["one that octokit has", { status: 429, request: { request: { retryCount: 1 } } }, undefined],
        ["a status in a text", new Error("HTTP 429"), undefined],
        ["a status in a sentence", new Error("Got 429 from the bank"), undefined],
        ["five digits of somebody", coded("40001"), "unknown"],
        ["those of a database", coded("53300", { severity: "FATAL" }), "not_executed"],
        [
          "what a tool inside says",
          new Error("Not booked.", {
            cause: new ToolUnavailable({
              code: "outcome_unknown",
              detail: "Lost.",
              transient: false,
              outcome: "unknown",
              cause: coded("ECONNREFUSED")
            })
          }),
          "unknown"
        ]
      ] as const
    ) {
      it(what, () => {
        assert.strictEqual(outcomeOf(error), outcome)
      })
    }
  })

  describe("uses an error's own statements", () => {
    const state = (error: object) => {
      const failure = caught(error)
      return failure?._tag === "ToolUnavailable" ? [failure.code, failure.transient, failure.outcome] : failure?._tag
    }

    it("for failures that would otherwise not be retried", () => {
      assert.deepStrictEqual(state({ status: 409, retryable: true }), ["rejected", true, undefined])
      assert.deepStrictEqual(state({ isRetryable: true }), ["failed", true, undefined])
      assert.deepStrictEqual(state(Object.assign(new Error("Busy."), { $retryable: {} })), ["failed", true, undefined])
    })

    it("and for those that would: they stay in doubt, because they are not refusals", () => {
      assert.deepStrictEqual(state({ status: 500, retryable: false }), ["server_error", false, "unknown"])
      assert.deepStrictEqual(state({ status: 400, retryable: false }), ["rejected", false, undefined])
    })
  })

  describe("survives hostile errors:", () => {
    const hostile: ReadonlyArray<readonly [what: string, error: () => unknown]> = [
      ["a getter that throws", () => Object.defineProperty(new Error("x"), "cause", { get: () => assert.fail("!") })],
      [
        "a proxy that throws",
        () =>
          new Proxy({}, {
            get: () => assert.fail("!"),
            has: () => assert.fail("!"),
            getPrototypeOf: () => assert.fail("!")
          })
      ],
      ["causes in a circle", () => {
        const error: Error = new Error("")
        error.cause = new Error("", { cause: error })
        return error
      }],
      ["aggregates in a circle", () => {
        const errors: Array<unknown> = []
        errors.push(...Array.from({ length: 30 }, () => new AggregateError(errors)))
        return new AggregateError(errors)
      }],
      ["a message of 10 MB", () => new Error("a/b ".repeat(2_500_000))],
      ["a message that is not a text", () => Object.assign(new Error(), { message: { secret: 1 } })],
      ["a status that is not a number", () => ({ status: "503", statusCode: Number.NaN, code: Symbol() })],
      ["headers that are not", () => ({ status: 429, headers: { get: () => assert.fail("!") } })]
    ]
    for (const [what, error] of hostile) {
      it(what, () => {
        assert.isString(caught(error())?.detail)
      })
    }

    it("any value", () => {
      FastCheck.assert(FastCheck.property(FastCheck.anything({ withNullPrototype: true, maxDepth: 4 }), (value) => {
        assert.isString(caught(value)?.detail)
      }))
    })
  })
})
