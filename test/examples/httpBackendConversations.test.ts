/** The conversations of the HTTP backend: its questions to users, their replies, and refunds by several at once. */
import { assert, describe, it } from "@effect/vitest"
import { Model } from "@fallible/core"
import { maxRuns } from "@fallible/examples/04-http-backend/Conversations"
import { Effect, Fiber, Layer, Stream } from "effect"
import { events, noneUnderWay, post, serving, until } from "../support/backend.ts"

const silent = Layer.succeed(Model.Model, { respond: () => Effect.never, stream: () => Stream.never })

describe("a conversation", () => {
  it.live("asks its user, and goes on with the reply, once", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const asked = yield* post(`${url}/ask`, { question: "Refund o-1004, please." })
      assert.deepStrictEqual([asked.status, asked.body.question], [
        202,
        "Approve refund_order with {\"order\":\"o-1004\"}? Refund 249.00 for order o-1004 (office chair)."
      ])
      const reply = { token: asked.body.token, reply: "yes" }
      const replied = yield* post(`${url}/reply`, reply)
      assert.deepStrictEqual([replied.status, replied.body], [200, {
        text: "I refunded 249.00 for order o-1004. The receipt is r-1004."
      }])
      const again = yield* post(`${url}/reply`, reply)
      assert.deepStrictEqual([again.status, again.body.code], [409, "not_open"])
      assert.deepStrictEqual(yield* shop.refundsAsked, ["o-1004"])
    }))

  const replying = (reply: string) =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const { body: { token } } = yield* post(`${url}/ask`, { question: "Refund o-1004, please." })
      const { body } = yield* post(`${url}/reply`, { token, reply })
      return { text: body.text, refunded: yield* shop.refundsAsked }
    })

  for (const reply of ["No!", "Y not? No, never!", "Yes, but not this one", "yes?", "yesterday", "да"]) {
    it.live(`does nothing if its user replies '${reply}'`, () =>
      Effect.gen(function*() {
        const { refunded, text } = yield* replying(reply)
        assert.include(text, "I refunded nothing for order o-1004: it was denied.")
        if (reply !== "No!") assert.include(text, `The reason: ${reply}`)
        assert.deepStrictEqual(refunded, [])
      }))
  }

  for (const reply of ["yes", " Yes! ", "YES."]) {
    it.live(`does what it asked about if its user replies '${reply}'`, () =>
      Effect.gen(function*() {
        const { refunded, text } = yield* replying(reply)
        assert.strictEqual(text, "I refunded 249.00 for order o-1004. The receipt is r-1004.")
        assert.deepStrictEqual(refunded, ["o-1004"])
      }))
  }

  it.live("accepts no reply to a question after it has gone on", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const { body: { token }, headers } = yield* post(`${url}/ask`, { question: "Refund o-1004, please." })
      yield* post(`${url}/ask`, { question: "What is o-1001?", conversation: headers.get("conversation-id") })
      const { body, status } = yield* post(`${url}/reply`, { token, reply: "yes" })
      assert.deepStrictEqual([status, body.code, body.detail], [
        409,
        "not_open",
        "This question is no longer open. Ask again."
      ])
      assert.deepStrictEqual(yield* shop.refundsAsked, [])
    }))

  it.live("ends when it is too long", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      const first = yield* post(`${url}/ask`, { question: "Hello?" })
      const conversation = first.headers.get("conversation-id")
      const ask = post(`${url}/ask`, { question: "Hello?", conversation })
      const statuses = yield* Effect.forEach(Array.from({ length: maxRuns - 1 }), () =>
        Effect.map(ask, ({ status }) => status))
      assert.deepStrictEqual(new Set(statuses), new Set([200]))
      const { body, status } = yield* ask
      assert.deepStrictEqual([status, body.code], [409, "conversation_full"])
      assert.include(body.detail, "Begin a new conversation.")
    }))

  it.live("refunds an order once, though others ask for the same refund at once", () =>
    Effect.gen(function*() {
      for (const upstream of ["up", "lossy"] as const) {
        const { shop, url } = yield* serving({ upstream })
        const answers = yield* Effect.forEach(
          Array.from({ length: 8 }),
          () => Effect.map(post(`${url}/ask`, { question: "Refund o-1003." }), ({ body }) => body.text),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(yield* shop.refundsMade, 1)
        for (const answer of answers) {
          assert.match(answer ?? "", /^I refunded 4\.50 .* The receipt is r-1003\.$|Order o-1003 is already refunded\./)
        }
      }
    }))

  it.live("asks its user in a stream of events, too", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      const asked = yield* Stream.runCollect(events(`${url}/ask`, { question: "Refund o-1004, please." }))
      const [waiting, wanted] = asked.slice(-2)
      assert.strictEqual(waiting?._tag, "RunSuspended")
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
      assert.deepStrictEqual(yield* shop.refundsAsked, ["o-1001"])
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
