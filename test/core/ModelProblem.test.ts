/** Failures between a program and a model's server, made by hand. Over real connections, `test/providers/failures` has them. */
import { assert, describe, it } from "@effect/vitest"
import type { ModelFailure } from "@fallible/core"
import * as ModelProblem from "@fallible/core/ModelProblem"
import { Duration } from "effect"
import { inspect } from "node:util"

const server: ModelProblem.Server = {
  name: "Echo",
  address: "https://echo.example/chat",
  ifUnreachable: "Start it.",
  ifUnknownModel: "Get it.",
  ifDenied: "Check the key."
}
const bare: ModelProblem.Server = { name: "Echo" }

const of = ({ code, hint, transient }: ModelFailure) => [code, transient, hint]

const error = (message: string, fields: object = {}) => ({ error: { message, ...fields } })

describe("an answer that is no success", () => {
  const cases: ReadonlyArray<
    readonly [status: number, body: unknown, code: string, transient: boolean, hint?: string]
  > = [
    [400, error("Unknown field."), "bad_request", false],
    [
      400,
      error("Your credit balance is too low."),
      "quota_exhausted",
      false,
      "Check the account's plan and its billing."
    ],
    [401, "no", "permission_denied", false, "Check the key."],
    [403, error("no"), "permission_denied", false, "Check the key."],
    [404, error("x", { code: "model_not_found" }), "unknown_model", false, "Get it."],
    [404, "<html>", "bad_address", false, "Is the address right? Requests went to https://echo.example/chat."],
    [408, "", "timeout", true],
    [
      413,
      "",
      "context_overflow",
      false,
      "Shorten the conversation or the tools' results, or use a model with a larger context."
    ],
    [429, error("Slowly."), "rate_limited", true],
    [500, null, "server_error", true],
    [501, null, "server_error", false],
    [529, error("Overloaded"), "server_error", true]
  ]
  for (const [status, body, code, transient, hint] of cases) {
    it(`of status ${status} is ${code}, whether its body is text or parsed: ${JSON.stringify(body)}`, () => {
      for (const form of [body, typeof body === "string" ? body : JSON.stringify(body)]) {
        const failure = ModelProblem.refused(server, { status, body: form })
        assert.deepStrictEqual(of(failure), [code, transient, hint])
        assert.strictEqual(failure.status, status)
        assert.match(failure.detail, new RegExp(`^Echo answered ${status}[:.]`))
      }
    })
  }

  it("is known by the words of each provider", () => {
    const words: ReadonlyArray<readonly [status: number, message: string, code: string]> = [
      [404, "model: claude-none", "unknown_model"],
      [404, "models/none is not found for API version v1beta, or is not supported.", "unknown_model"],
      [404, "The model grok-none does not exist or your team has no access to it.", "unknown_model"],
      [400, "The provided model identifier is invalid.", "unknown_model"],
      [400, "The tool of this model was not found.", "bad_request"],
      [400, "Input is too long for requested model.", "context_overflow"],
      [400, "This model's maximum prompt length is 131072 but the request contains 145000 tokens.", "context_overflow"],
      [400, "Output blocked by content filtering policy", "refused"]
    ]
    for (const [status, message, code] of words) {
      assert.strictEqual(ModelProblem.refused(bare, { status, body: error(message) }).code, code, message)
    }
  })

  it("may say inside when to come back", () => {
    const wait = (retryDelay: unknown) =>
      ModelProblem.refused(bare, { status: 429, body: error("Slowly.", { details: [{}, { retryDelay }] }) }).retryAfter
    assert.deepStrictEqual(wait("34.5s"), Duration.seconds(34.5))
    for (const nonsense of ["soon", "-1s", "9999999s", 7, null]) assert.isUndefined(wait(nonsense))
  })

  it("says when to come back", () => {
    const failure = ModelProblem.refused(bare, { status: 429, body: "", retryAfter: Duration.seconds(90) })
    assert.deepStrictEqual(of(failure), ["rate_limited", true, "Ask again in 1m 30s."])
    assert.deepStrictEqual(failure.retryAfter, Duration.seconds(90))
    const at = Date.UTC(2026, 0, 1, 12)
    assert.deepStrictEqual(ModelProblem.retryAfter({ "retry-after": "7" }, at), Duration.seconds(7))
    assert.deepStrictEqual(
      ModelProblem.retryAfter({ "retry-after": "Thu, 01 Jan 2026 12:00:30 GMT" }, at),
      Duration.seconds(30)
    )
    for (const headers of [{}, { "retry-after": "soon" }, { "retry-after": undefined }]) {
      assert.isUndefined(ModelProblem.retryAfter(headers, at))
    }
  })

  it("names no address that is not known", () => {
    assert.isUndefined(ModelProblem.refused(bare, { status: 404, body: "" }).hint)
    const failures = [
      ModelProblem.unreachable(bare, new Error("x")),
      ModelProblem.timedOut(bare, Duration.seconds(5)),
      ModelProblem.unfinishedReply(bare, Duration.seconds(5)),
      ModelProblem.unsendable(bare, new Error("x"))
    ]
    assert.deepStrictEqual(failures.map(({ detail }) => detail), [
      "Echo could not be reached: the connection failed (x).",
      "Echo did not answer within 5s.",
      "Echo did not finish its reply within 5s.",
      "The request to Echo could not be sent."
    ])
  })

  it("is quoted in part, on one line", () => {
    const { detail } = ModelProblem.refused(bare, { status: 400, body: `a\u0000\n${"b".repeat(600)}` })
    assert.isBelow(detail.length, 600)
    assert.match(detail, /^Echo answered 400: "a b+… \(\d+ more characters\)"$/)
  })
})

describe("no answer", () => {
  const failed = (code: string, depth = 0): unknown =>
    depth === 0
      ? Object.assign(new Error("x"), { code })
      : new Error("fetch failed", { cause: failed(code, depth - 1) })

  it("is a connection that could not be made: the code may be nested", () => {
    for (const depth of [0, 1, 3]) {
      const failure = ModelProblem.unreachable(server, failed("ECONNREFUSED", depth))
      assert.deepStrictEqual(of(failure), ["connection", true, "Start it."])
      assert.include(
        failure.detail,
        "Echo could not be reached at https://echo.example/chat: it refused the connection"
      )
    }
    const several = new AggregateError([failed("ECONNREFUSED")], "all failed")
    assert.include(ModelProblem.unreachable(server, several).detail, "ECONNREFUSED")
  })

  it("has no advice to start a server that could be reached, and none to repeat what no certificate permits", () => {
    assert.deepStrictEqual(of(ModelProblem.unreachable(server, failed("ECONNRESET"))), ["connection", true, undefined])
    const untrusted = ModelProblem.unreachable(server, failed("CERT_HAS_EXPIRED"))
    assert.isFalse(untrusted.transient)
    assert.include(untrusted.hint, "certificate")
    assert.strictEqual(ModelProblem.unreachable(server, failed("UND_ERR_HEADERS_TIMEOUT")).code, "timeout")
    assert.strictEqual(ModelProblem.brokenOff(server, failed("UND_ERR_BODY_TIMEOUT")).code, "timeout")
    assert.strictEqual(ModelProblem.brokenOff(server, failed("ECONNRESET")).code, "cut_off")
  })

  it("can be anything", () => {
    for (const cause of [undefined, null, 7, "gone", {}, [], Object.create(null)]) {
      assert.strictEqual(ModelProblem.unreachable(server, cause).code, "connection")
    }
  })
})

describe("a problem in a reply", () => {
  const usage = { inputTokens: 3, outputTokens: 1 }

  it("has what the request used", () => {
    const failures = [
      ModelProblem.declined(server, "No.", usage),
      ModelProblem.filtered(usage),
      ModelProblem.usedUp(usage),
      ModelProblem.cutOff(server, undefined, usage)
    ]
    assert.deepStrictEqual(failures.map(({ code, transient, usage }) => [code, transient, usage]), [
      ["refused", false, usage],
      ["refused", false, usage],
      ["max_tokens", false, usage],
      ["cut_off", true, usage]
    ])
    for (const failure of [ModelProblem.declined(server, "No."), ModelProblem.filtered(), ModelProblem.usedUp()]) {
      assert.notProperty(failure, "usage")
    }
  })

  it("is read in the middle of a stream, too", () => {
    const reported = (error: unknown) => ModelProblem.reported(server, error)
    assert.deepStrictEqual(of(reported({ message: "Slowly.", code: 429 })), ["rate_limited", true, undefined])
    assert.strictEqual(reported({ message: "Bad.", type: "invalid_request_error" }).code, "bad_request")
    assert.deepStrictEqual(of(reported("Oh.")), ["server_error", true, undefined])
    assert.strictEqual(reported("Oh.").detail, "Echo failed: \"Oh.\"")
    assert.strictEqual(reported(undefined).detail, "Echo failed.")
    const types: ReadonlyArray<readonly [type: string, code: string]> = [
      ["authentication_error", "permission_denied"],
      ["billing_error", "quota_exhausted"],
      ["permission_error", "permission_denied"],
      ["request_too_large", "context_overflow"],
      ["rate_limit_error", "rate_limited"],
      ["rate_limit_exceeded", "rate_limited"],
      ["overloaded_error", "server_error"]
    ]
    for (const [type, code] of types) assert.strictEqual(reported({ message: "Oh.", type }).code, code, type)
  })

  it("may be that it is none", () => {
    assert.strictEqual(ModelProblem.malformed(server, " \n").detail, "Echo sent an empty reply.")
    assert.isUndefined(ModelProblem.malformed(server, "{").hint)
    assert.strictEqual(
      ModelProblem.malformed(server, "<html>", true).hint,
      "Check the base URL: requests went to https://echo.example/chat."
    )
    assert.deepStrictEqual(of(ModelProblem.oversized(server, 64 * 1024 * 1024)), ["malformed_reply", false, undefined])
    assert.deepStrictEqual(of(ModelProblem.unsupported("No.", "Leave it out.")), [
      "unsupported",
      false,
      "Leave it out."
    ])
  })
})

describe("a secret", () => {
  const secret = "sk/hunter2 \"käy\"!"
  const hide = ModelProblem.hide([secret, "short"])

  it("is removed in each form in which it is quoted, and a short one is not", () => {
    const forms = [
      secret,
      encodeURIComponent(secret),
      new URLSearchParams({ key: secret }).toString().slice(4),
      JSON.stringify(secret),
      JSON.stringify(secret).replaceAll("/", "\\/"),
      secret.toUpperCase()
    ]
    for (const form of forms) {
      assert.notMatch(hide(`Wrong key: ${form}.`), /hunter2/i, form)
      assert.include(hide(`Wrong key: ${form}.`), "<redacted>")
    }
    assert.strictEqual(hide("in short"), "in short")
    assert.strictEqual(ModelProblem.hide([])("hunter2"), "hunter2")
  })

  it("of which another is a part is removed as a whole", () => {
    assert.strictEqual(ModelProblem.hide(["hunter2x", "hunter2xy-long"])("hunter2xy-long"), "<redacted>")
  })

  it("is in no failure, nor in its cause", () => {
    const inner = Object.assign(new Error(`Wrong: ${secret}`), { address: `https://x.example/?key=${secret}` })
    const cause = new Error("fetch failed", { cause: inner })
    for (
      const failure of [
        ModelProblem.unreachable({ ...server, hide }, cause),
        ModelProblem.unsendable({ ...server, hide }, cause),
        ModelProblem.cutOff({ ...server, hide }, cause),
        ModelProblem.refused({ ...server, hide }, { status: 401, body: { error: { message: secret } } }),
        ModelProblem.reported({ ...server, hide }, secret),
        ModelProblem.declined({ ...server, hide }, secret),
        ModelProblem.malformed({ ...server, hide }, secret)
      ]
    ) {
      assert.notInclude(inspect(failure, { depth: 10, showHidden: true }), "hunter2")
    }
    // The program's own error is left as it is.
    assert.include(inner.message, "hunter2")
  })

  it("is nowhere in a cause, and what cannot be copied is left out if the secret is not known", () => {
    const key = "sk-proj-abcdefghijklmnopqrstuvwxyz123456"
    const cause = Object.assign(new Error("Oh"), {
      data: { list: [{ key }] },
      headers: new Headers({ authorization: key }),
      reason: new DOMException(key, "AbortError"),
      [Symbol("request")]: key
    })
    Object.assign(cause, { cause })
    const shown = inspect(ModelProblem.withoutSecrets(bare, cause), { depth: Infinity, showHidden: true })
    assert.notInclude(shown, "abcdefghijkl")
    assert.include(shown, "<Headers>")
    assert.include(shown, "AbortError")
    const same = Object.assign(new Error("Oh"), { headers: new Headers({ a: "b" }) })
    assert.strictEqual(ModelProblem.withoutSecrets({ ...server, hide }, same), same)
    const hostile = new Proxy({}, { ownKeys: () => assert.fail("read") })
    assert.strictEqual(ModelProblem.withoutSecrets(bare, hostile), "an error that cannot be read")
    const wide = Object.assign(new Error("Oh"), { list: Array.from({ length: 5000 }, (_, id) => ({ id })) })
    assert.isBelow(inspect(ModelProblem.withoutSecrets(bare, wide), { maxArrayLength: null }).length, 200_000)
  })

  it("is removed by its looks where it is not known", () => {
    const { detail } = ModelProblem.refused(bare, {
      status: 401,
      body: error("Incorrect API key provided: sk-proj-abcdefghijklmnopqrstuvwxyz123456.")
    })
    assert.notInclude(detail, "abcdefghijkl")
  })
})
