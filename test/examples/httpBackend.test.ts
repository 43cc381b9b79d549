/** The endpoints of the HTTP backend, over real HTTP. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, Model, ModelFailure, Toolkit } from "@fallible/core"
import * as Problem from "@fallible/examples/04-http-backend/Problem"
import { ScriptedModel } from "@fallible/testing"
import { Duration, Effect, type Layer, Stream } from "effect"
import { events, fetched, post, serving } from "../support/backend.ts"

const failing = (fields: ConstructorParameters<typeof ModelFailure>[0]) =>
  Model.layer({ respond: () => Effect.fail(new ModelFailure(fields)) })

const calling = (order: (turn: number) => string) => {
  let turn = 0
  return Model.layer({
    respond: () => Effect.sync(() => ScriptedModel.call("find_order", { order: order(++turn) }))
  })
}

describe("POST /ask", () => {
  it.live("answers a question with one JSON object", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      const { body, headers, status } = yield* post(`${url}/ask`, { question: "Where is the parcel of o-1001?" })
      assert.deepStrictEqual([status, body], [200, {
        text: "Order o-1001 is a fountain pen for 39.00. It is paid. Parcel p-1001 is out for delivery. " +
          "It is due on Friday."
      }])
      assert.match(headers.get("conversation-id") ?? "", /^[\da-f-]{36}$/)
    }))

  it.live("streams the events of the run, with the retries of its tools", () =>
    Effect.gen(function*() {
      const { url } = yield* serving({ upstream: "flaky" })
      const seen = yield* Stream.runCollect(events(`${url}/ask`, { question: "Refund o-1001." }))
      assert.deepStrictEqual(
        seen.flatMap((event) => event._tag === "FailureHandled" ? [[event.code, event.by]] : []),
        [["server_error", "retry"], ["connection", "reconcile"]]
      )
      assert.deepInclude(seen.at(-1), {
        _tag: "RunEnded",
        text: "I refunded 39.00 for order o-1001. The receipt is r-1001."
      })
    }))

  it.live("refunds only the order that the question wants refunded", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const { body } = yield* post(`${url}/ask`, { question: "Where is the parcel of o-1001, and refund o-1003." })
      assert.include(body.text, "I refunded 4.50 for order o-1003.")
      assert.include(body.text, "Parcel p-1001 is")
      assert.deepStrictEqual(yield* shop.refundsAsked, ["o-1003"])
    }))

  it.live("numbers its events, and forbids caches and proxies to hold them back", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      const response = yield* Effect.promise(() =>
        fetch(`${url}/ask`, {
          method: "POST",
          headers: { "content-type": "application/json", accept: "text/event-stream" },
          body: "{\"question\":\"Hello?\"}"
        })
      )
      const ids = Array.from((yield* Effect.promise(() => response.text())).matchAll(/^id: (\d+)$/gm), ([, id]) =>
        Number(id))
      assert.isAbove(ids.length, 3)
      assert.deepStrictEqual(
        ids,
        ids.map((_, index) =>
          index + 1
        )
      )
      assert.strictEqual(response.headers.get("content-type"), "text/event-stream; charset=utf-8")
      assert.strictEqual(response.headers.get("cache-control"), "no-store")
      assert.strictEqual(response.headers.get("x-accel-buffering"), "no")
    }))

  const wrong: ReadonlyArray<readonly [what: string, status: number, code: string, says: RegExp, init: RequestInit]> = [
    ["no JSON", 400, "invalid_json", /not JSON/, { body: "Hello?" }],
    ["no question", 400, "invalid_body", /Missing key at \["question"\]/, { body: "{}" }],
    ["a blank question", 400, "invalid_body", /not blank/, { body: "{\"question\":\" \"}" }],
    ["a long question", 400, "invalid_body", /at most 2000/, { body: JSON.stringify({ question: "a".repeat(2001) }) }],
    ["a large body", 413, "body_too_large", /at most 16384 bytes/, { body: " ".repeat(16_385) }],
    ["another content type", 415, "not_json", /content-type/, {
      body: "{}",
      headers: { "content-type": "text/plain" }
    }],
    ["an unknown conversation", 404, "unknown_conversation", /Begin a new one/, {
      body: "{\"question\":\"Hello?\",\"conversation\":\"1\"}"
    }]
  ]
  for (const [what, status, code, says, init] of wrong) {
    it.live(`answers ${what} with ${status}, and says what to do`, () =>
      Effect.gen(function*() {
        const { url } = yield* serving()
        const answered = yield* fetched(`${url}/ask`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          ...init
        })
        assert.deepStrictEqual([answered.status, answered.body.code], [status, code])
        assert.match(answered.body.detail ?? "", says)
        assert.strictEqual(answered.headers.get("content-type"), "application/problem+json")
      }))
  }
})

describe("a run without an answer", () => {
  const ends: ReadonlyArray<
    readonly [status: number, code: string, model: Layer.Layer<Model.Model>, retryAfter?: string]
  > = [
    [502, "model_failed", failing({ code: "refused", detail: "sk-secret at 10.0.0.7", transient: false })],
    [504, "model_timeout", failing({ code: "timeout", detail: "Too slow.", transient: false })],
    [
      503,
      "model_busy",
      failing({
        code: "rate_limited",
        detail: "Later.",
        transient: true,
        retryAfter: Duration.hours(1)
      }),
      "3600"
    ],
    [422, "limit_reached", calling((turn) => `o-${1000 + turn}`)],
    [508, "no_progress", calling(() => "o-1001")]
  ]
  for (const [status, code, model, retryAfter = null] of ends) {
    it.live(`has a status of its own: ${status} ${code}`, () =>
      Effect.gen(function*() {
        const { url } = yield* serving({ model })
        const { body, headers, ...answered } = yield* post(`${url}/ask`, { question: "Hello?" })
        assert.deepStrictEqual([answered.status, body.code, headers.get("retry-after")], [status, code, retryAfter])
        assert.notMatch(JSON.stringify(body), /secret|10\.0/)
      }))
  }

  it.effect("has a status of its own if a tool stops it, or an input is invalid", () =>
    Effect.gen(function*() {
      const { facts, report, transcript } = yield* Agent.make({ toolkit: Toolkit.empty }).run("Hello?").pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.text("Hello.")]))
      )
      const run = { detail: "inside", facts, report, transcript }
      const problems = [
        Problem.ofFailure(new AgentFailure.RunStopped({ ...run, reason: "inside" })),
        Problem.ofFailure(new AgentFailure.RunRefused({ ...run, issues: [] }))
      ]
      assert.deepStrictEqual(problems.map(({ code, status }) => [status, code]), [[403, "stopped"], [
        400,
        "invalid_run"
      ]])
      assert.notInclude(JSON.stringify(problems), "inside")
    }))
})

describe("the log", () => {
  const refused = failing({ code: "refused", detail: "No route to 10.0.0.7", transient: false })
  const question = "Hello?"
  const ways = [
    ["one object", refused, (url: string) => Effect.asVoid(post(`${url}/ask`, { question })), "ModelFailed"],
    ["a stream", refused, (url: string) => Stream.runDrain(events(`${url}/ask`, { question })), "ModelFailed"],
    [
      "a run that reached a limit",
      calling((turn) => `o-${1000 + turn}`),
      (url: string) => Effect.asVoid(post(`${url}/ask`, { question })),
      "LimitReached"
    ]
  ] as const
  for (const [what, model, ask, tag] of ways) {
    it.live(`says why a run failed, and which one: ${what}`, () =>
      Effect.gen(function*() {
        const lines: Array<string> = []
        yield* ask((yield* serving({ model, log: (line) => lines.push(line) })).url)
        const [failed = "", ...more] = lines.filter((line) => line.includes(`The run failed (${tag}): `))
        assert.deepStrictEqual(more, [])
        assert.match(failed, /level=WARN/)
        assert.match(failed, / run=\S+/)
        if (tag === "ModelFailed") assert.include(failed, "No route to 10.0.0.7")
      }))
  }

  it.live("has each failure of a tool, and no run that asks its user", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const { url } = yield* serving({ upstream: "flaky", log: (line) => lines.push(line) })
      yield* post(`${url}/ask`, { question: "Refund o-1003." })
      yield* post(`${url}/ask`, { question: "Refund o-1004." })
      assert.match(lines.join("\n"), /level=WARN.*refund_order failed \(server_error\).*Retry 1/)
      assert.notInclude(lines.join("\n"), "The run failed")
    }))
})

describe("the endpoints for operators", () => {
  const env = { OPERATOR_TOKEN: "swordfish" }
  const operator = (token: string) => ({ method: "POST", headers: { authorization: `Bearer ${token}` } })

  it.live("report the runs and the tools, without what they were asked", () =>
    Effect.gen(function*() {
      const { url } = yield* serving({ upstream: "down", max: 7 })
      yield* post(`${url}/ask`, { question: "What is o-1001?" })
      const { body, status } = yield* fetched(`${url}/ready`)
      assert.strictEqual(status, 200)
      assert.include(JSON.stringify(body), "{\"ready\":true,\"runs\":{\"underWay\":0,\"max\":7}")
      assert.include(JSON.stringify(body), "{\"tool\":\"find_order\",\"available\":true,\"calls\":1,\"errors\":1}")
      assert.notInclude(JSON.stringify(body), "o-1001")
      assert.deepStrictEqual((yield* fetched(`${url}/health`)).status, 200)
    }))

  it.live("disable and enable a tool", () =>
    Effect.gen(function*() {
      const { url } = yield* serving({ env })
      const ask = Effect.map(post(`${url}/ask`, { question: "What is o-1001?" }), ({ body }) => body.text)
      assert.strictEqual((yield* fetched(`${url}/tools/find_order/disable`, operator("swordfish"))).status, 204)
      assert.include(yield* ask, "An operator has disabled it.")
      assert.strictEqual((yield* fetched(`${url}/tools/find_order/enable`, operator("swordfish"))).status, 204)
      assert.include(yield* ask, "fountain pen")
      assert.strictEqual((yield* fetched(`${url}/tools/fly/disable`, operator("swordfish"))).status, 404)
    }))

  for (
    const [whom, settings, token] of [
      ["a wrong token", env, "salmon"],
      ["any token if an empty one is set", { OPERATOR_TOKEN: "" }, ""],
      ["any token if none is set", {}, ""],
      ["any token if none is set", {}, "swordfish"]
    ] as const
  ) {
    it.live(`refuse ${whom}: '${token}'`, () =>
      Effect.gen(function*() {
        const { url } = yield* serving({ env: settings })
        assert.strictEqual((yield* fetched(`${url}/tools/find_order/disable`, operator(token))).status, 401)
      }))
  }

  for (const path of ["/admin", "/%zz", "/tools/%zz/disable"]) {
    it.live(`answer an unknown path with 404: ${path}`, () =>
      Effect.gen(function*() {
        const { url } = yield* serving()
        const { body, headers, status } = yield* fetched(`${url}${path}`)
        assert.deepStrictEqual([status, body.code], [404, "not_found"])
        assert.strictEqual(headers.get("content-type"), "application/problem+json")
      }))
  }

  it.live("answer HEAD like GET, without a body", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      for (const path of ["/", "/health", "/ready"]) {
        const get = yield* Effect.promise(() => fetch(`${url}${path}`))
        const head = yield* Effect.promise(() => fetch(`${url}${path}`, { method: "HEAD" }))
        assert.deepStrictEqual([head.status, head.headers.get("content-type")], [
          200,
          get.headers.get("content-type")
        ])
        yield* Effect.promise(() => get.text())
        assert.strictEqual(yield* Effect.promise(() => head.text()), "")
      }
      assert.strictEqual((yield* fetched(`${url}/admin`, { method: "HEAD" })).status, 404)
    }))
})
