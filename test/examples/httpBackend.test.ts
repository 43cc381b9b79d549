/** The endpoints of the HTTP backend, over real HTTP. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, Model, ModelFailure, Toolkit } from "@fallible/core"
import * as Problem from "@fallible/examples/04-http-backend/Problem"
import { ScriptedModel } from "@fallible/testing"
import { Duration, Effect, Fiber, Layer, Logger, References, Stream } from "effect"
import { events, fetched, noneUnderWay, post, serving, until } from "../support/backend.ts"

const failing = (fields: ConstructorParameters<typeof ModelFailure>[0]) =>
  Model.layer({ respond: () => Effect.fail(new ModelFailure(fields)) })

const calling = (order: (turn: number) => string) => {
  let turn = 0
  return Model.layer({
    respond: () => Effect.sync(() => ScriptedModel.call("find_order", { order: order(++turn) }))
  })
}

const silent = Layer.succeed(Model.Model, { respond: () => Effect.never, stream: () => Stream.never })

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
      assert.deepStrictEqual(yield* shop.refunded, ["o-1003"])
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
      const { facts, ledger, transcript } = yield* Agent.make({ toolkit: Toolkit.empty }).run("Hello?").pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.text("Hello.")]))
      )
      const run = { detail: "inside", facts, ledger, transcript }
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

describe("a run that fails", () => {
  const ways = [
    ["one JSON object", (url: string) => Effect.asVoid(post(`${url}/ask`, { question: "Hello?" }))],
    ["a stream", (url: string) => Stream.runDrain(events(`${url}/ask`, { question: "Hello?" }))]
  ] as const

  for (const [what, ask] of ways) {
    it.live(`is logged in full, with its id: ${what}`, () =>
      Effect.gen(function*() {
        const lines: Array<string> = []
        const logger = Logger.make(({ fiber, logLevel, message }) => {
          lines.push([logLevel, fiber.getRef(References.CurrentLogAnnotations)["run"], message].join(" "))
        })
        const down = { code: "connection", detail: "connect ECONNREFUSED 10.9.8.7:80", transient: false }
        const { url } = yield* serving({ logger, model: failing(down) })
        yield* ask(url)
        const logged = lines.filter((line) => line.includes("ModelFailed"))
        assert.strictEqual(logged.length, 1)
        assert.match(logged[0]!, /^Warn run-\w+ ModelFailed\n {2}connect ECONNREFUSED 10\.9\.8\.7:80/)
      }))
  }
})

describe("a conversation", () => {
  it.live("asks its user, and goes on with the reply, once", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const asked = yield* post(`${url}/ask`, { question: "Refund o-1004, please." })
      assert.deepStrictEqual([asked.status, asked.body.question], [
        202,
        "Refund 249.00 for order o-1004, an office chair? (yes or no)"
      ])
      const reply = { token: asked.body.token, reply: "yes" }
      const replied = yield* post(`${url}/reply`, reply)
      assert.deepStrictEqual([replied.status, replied.body], [200, {
        text: "I refunded 249.00 for order o-1004. The receipt is r-1004."
      }])
      const again = yield* post(`${url}/reply`, reply)
      assert.deepStrictEqual([again.status, again.body.code], [409, "question_closed"])
      assert.deepStrictEqual(yield* shop.refunded, ["o-1004"])
    }))

  for (const reply of ["No!", "Y not? No, never!", "Yes, but not this one."]) {
    it.live(`does nothing if its user does not say yes: ${reply}`, () =>
      Effect.gen(function*() {
        const { shop, url } = yield* serving()
        const { body: { token } } = yield* post(`${url}/ask`, { question: "Refund o-1004, please." })
        const { body } = yield* post(`${url}/reply`, { token, reply })
        assert.include(body.text, "The user declined the refund of order o-1004.")
        assert.deepStrictEqual(yield* shop.refunded, [])
      }))
  }

  it.live("closes its question to the user when another question is asked", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const asked = yield* post(`${url}/ask`, { question: "Refund o-1004, please." })
      const conversation = asked.headers.get("conversation-id")
      yield* post(`${url}/ask`, { question: "Where is the parcel of o-1001?", conversation })
      const { body, status } = yield* post(`${url}/reply`, { token: asked.body.token, reply: "yes" })
      assert.deepStrictEqual([status, body.code], [409, "question_closed"])
      assert.deepStrictEqual(yield* shop.refunded, [])
    }))

  it.live("refunds an order once, although several conversations ask for it at once", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving({ upstream: "lossy" })
      const asking = post(`${url}/ask`, { question: "Refund o-1003." })
      const answers = yield* Effect.all([asking, asking, asking, asking], { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* shop.refunded, ["o-1003"])
      for (const { body } of answers) assert.match(body.text ?? "", /The receipt is r-1003\.|is already refunded\./)
    }))

  it.live("has at most 50 questions", () =>
    Effect.gen(function*() {
      const model = Model.layer({ respond: () => Effect.succeed({ text: "Hi.", calls: [] }) })
      const { url } = yield* serving({ model })
      const first = yield* post(`${url}/ask`, { question: "Hello?" })
      const asking = post(`${url}/ask`, { question: "Hello?", conversation: first.headers.get("conversation-id") })
      const rest = yield* Effect.all(Array.from({ length: 50 }, () => asking))
      assert.deepStrictEqual(rest.slice(0, 49).filter(({ status }) => status !== 200), [])
      assert.deepStrictEqual([rest[49]?.status, rest[49]?.body.code], [409, "conversation_full"])
    }))

  it.live("asks its user in a stream of events, too", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      const asked = yield* Stream.runCollect(events(`${url}/ask`, { question: "Refund o-1004, please." }))
      const [failed, wanted] = asked.slice(-2)
      assert.deepInclude(failed, { _tag: "RunFailed", failure: "RunSuspended" })
      if (wanted?._tag !== "ReplyWanted") assert.fail("no token")
      const replied = yield* Stream.runCollect(events(`${url}/reply`, { token: wanted.token, reply: "yes" }))
      assert.deepInclude(replied.at(-1), { text: "I refunded 249.00 for order o-1004. The receipt is r-1004." })
    }))

  it.live("refuses a token that nobody was given", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      const { body, status } = yield* post(`${url}/reply`, { token: "1.1", reply: "yes" })
      assert.deepStrictEqual([status, body.code], [404, "unknown_conversation"])
    }))

  it.live("remembers what was said, and does not repeat what was done", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const first = yield* post(`${url}/ask`, { question: "Refund o-1001." })
      const conversation = first.headers.get("conversation-id")
      const again = yield* post(`${url}/ask`, { question: "Now refund it again.", conversation })
      assert.strictEqual(again.headers.get("conversation-id"), conversation)
      assert.include(again.body.text, "o-1001")
      assert.deepStrictEqual(yield* shop.refunded, ["o-1001"])
    }))

  it.live("has one run at a time, and goes on after its client has left", () =>
    Effect.gen(function*() {
      const served = yield* serving({ model: silent })
      const conversation = yield* Effect.promise(async () => {
        const leaving = new AbortController()
        const { headers } = await fetch(`${served.url}/ask`, {
          method: "POST",
          headers: { "content-type": "application/json", accept: "text/event-stream" },
          body: "{\"question\":\"Hello?\"}",
          signal: leaving.signal
        })
        const conversation = headers.get("conversation-id")
        const { status } = await fetch(`${served.url}/ask`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ question: "And?", conversation })
        })
        assert.strictEqual(status, 409)
        leaving.abort()
        return conversation
      })
      yield* noneUnderWay(served)
      const again = yield* Effect.forkChild(post(`${served.url}/ask`, { question: "And?", conversation }))
      yield* until(Effect.map(served.runs.report, ({ underWay }) => underWay === 1))
      yield* Fiber.interrupt(again)
      yield* noneUnderWay(served)
    }))
})

describe("the endpoints for operators", () => {
  const env = { OPERATOR_TOKEN: "swordfish" }
  const operator = (token: string) => ({ method: "POST", headers: { authorization: `Bearer ${token}` } })

  it.live("report the runs and the tools, without what they were asked", () =>
    Effect.gen(function*() {
      const { url } = yield* serving({ upstream: "down", most: 7 })
      yield* post(`${url}/ask`, { question: "What is o-1001?" })
      const { body, status } = yield* fetched(`${url}/ready`)
      assert.strictEqual(status, 200)
      assert.include(JSON.stringify(body), "{\"ready\":true,\"runs\":{\"underWay\":0,\"most\":7}")
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

  it.live("answer an unknown path with 404", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      assert.strictEqual((yield* fetched(`${url}/admin`)).body.code, "not_found")
    }))
})
