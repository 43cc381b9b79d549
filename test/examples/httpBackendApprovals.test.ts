/** The approvals of the HTTP backend: replies as data, and what happens to those that are refused, late or sent twice. */
import { assert, describe, it } from "@effect/vitest"
import { Model } from "@fallible/core"
import * as Question from "@fallible/core/Question"
import * as Planner from "@fallible/examples/04-http-backend/Planner"
import * as Replies from "@fallible/examples/04-http-backend/Replies"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { events, noneUnderWay, post, serving, until } from "../support/backend.ts"

const chair = "Refund 249.00 for order o-1004 (office chair)."

/** Asks, and returns the questions that come back, and how to reply to them. */
const asking = (url: string, question = "Refund o-1004.") =>
  Effect.gen(function*() {
    const { body, headers, status } = yield* post(`${url}/ask`, { question })
    assert.strictEqual(status, 202)
    const { questions = [], token = "" } = body
    return {
      conversation: headers.get("conversation-id"),
      questions,
      question: questions[0]!,
      token,
      reply: (...replies: ReadonlyArray<unknown>) => post(`${url}/reply`, { token, replies })
    }
  })

describe("an approval", () => {
  it.live("shows what would be done, and lets it be done once", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const { question, questions, reply } = yield* asking(url)
      assert.strictEqual(questions.length, 1)
      assert.deepInclude(question, {
        kind: "approval",
        tool: "refund_order",
        preview: chair,
        arguments: "{\"order\":\"o-1004\"}"
      })
      const { body, status } = yield* reply(Question.approve(question))
      assert.deepStrictEqual([status, body.text], [200, "I refunded 249.00 for order o-1004. The receipt is r-1004."])
      const again = yield* reply(Question.approve(question))
      assert.deepStrictEqual([again.status, again.body.code], [409, "not_open"])
      assert.strictEqual(yield* shop.refundsMade, 1)
    }))

  it.live("may change the amount", () =>
    Effect.gen(function*() {
      for (const upstream of ["up", "lossy"] as const) {
        const { shop, url } = yield* serving({ upstream })
        const { conversation, question, reply } = yield* asking(url)
        const { body } = yield* reply(Question.approve(question, { arguments: { order: "o-1004", cents: 15_000 } }))
        assert.strictEqual(body.text, "I refunded 150.00 for order o-1004. The receipt is r-1004.")
        // An order is refunded once, whatever the amount.
        const rest = yield* post(`${url}/ask`, { question: "Refund 99.00 of o-1004.", conversation })
        assert.include(rest.body.text, "already refunded")
        const other = yield* post(`${url}/ask`, { question: "Refund 150.00 of o-1004." })
        assert.include(other.body.text, "already refunded")
        assert.strictEqual(yield* shop.refundsMade, 1)
      }
    }))

  it.live("may be denied with a reason, which the model is told", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const { question, reply } = yield* asking(url)
      const { body } = yield* reply(Question.deny(question, { reason: "I keep it." }))
      assert.strictEqual(
        body.text,
        "I refunded nothing for order o-1004: it was denied. The reason: I keep it."
      )
      assert.deepStrictEqual(yield* shop.refundsAsked, [])
    }))

  it.effect("counts for ten minutes", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const inTime = yield* asking(url, "Refund o-1004.")
      const late = yield* asking(url, "Refund o-1008.")
      const never = yield* asking(url, "Refund o-1012.")
      assert.deepStrictEqual([inTime, late, never].map(({ question }) => question.expires), [600_000, 600_000, 600_000])
      const early = yield* never.reply()
      assert.deepStrictEqual([early.status, early.body.pointer], [422, "#/replies"])
      yield* TestClock.adjust("10 minutes")
      assert.include((yield* inTime.reply(Question.approve(inTime.question))).body.text, "I refunded 249.00")
      yield* TestClock.adjust("1 millis")
      assert.include(
        (yield* late.reply(Question.approve(late.question))).body.text,
        "I refunded nothing for order o-1008: it was denied. The reason: The approval came too late."
      )
      assert.include((yield* never.reply()).body.text, "The reason: Nobody approved it in time.")
      // Who is late can ask again.
      const again = yield* post(`${url}/ask`, { question: "Refund o-1008 now.", conversation: late.conversation })
      assert.strictEqual(again.status, 202)
      assert.deepStrictEqual(yield* shop.refundsAsked, ["o-1004"])
    }))

  it.live("is needed for a large amount, and for one that is not known", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      const asked = (question: string) =>
        Effect.map(post(`${url}/ask`, { question }), ({ body }) => body.questions?.[0]?.preview ?? body.text)
      assert.include(yield* asked("Refund o-1003."), "I refunded 4.50")
      assert.include(yield* asked("Refund 99.99 of o-1004."), "I refunded 99.99")
      assert.strictEqual(
        yield* asked("Refund 100.00 of o-1008."),
        "Refund 100.00 of 249.00 for order o-1008 (office chair)."
      )
      assert.include(yield* asked("Refund o-9999."), "There is no such record.")
      const down = yield* serving({ upstream: "down" })
      const { question } = yield* asking(down.url, "Refund o-1003.")
      assert.strictEqual(question.preview, "Refund order o-1003. Its price is not known now.")
    }))

  it.live("does not stand in for the checks of the tool", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const { question, reply } = yield* asking(url)
      const { body } = yield* reply(Question.approve(question, { arguments: { order: "o-1004", cents: 24_901 } }))
      assert.include(body.text, "Order o-1004 cost 249.00, so 249.01 cannot be refunded.")
      assert.deepStrictEqual(yield* shop.refundsAsked, [])
    }))
})

describe("replies", () => {
  const wrong: ReadonlyArray<
    readonly [what: string, reply: (question: Question.Question) => object, pointer: string]
  > = [
    [
      "arguments that do not fit",
      (question) => Question.approve(question, { arguments: { order: "o-1004", cents: -5 } }),
      "#/replies/0/arguments/cents"
    ],
    ["a stale digest", (question) => ({ ...Question.approve(question), digest: "other" }), "#/replies/0/digest"],
    ["another question", (question) => ({ ...Question.approve(question), id: "other" }), "#/replies/0/id"],
    ["words where a decision is needed", (question) => Question.reply(question, "yes"), "#/replies/0/approved"]
  ]
  for (const [what, replyTo, pointer] of wrong) {
    it.live(`with ${what} are refused, and leave the question open`, () =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const { shop, url } = yield* serving({ log: (line) => log.push(line) })
        const { question, reply, token } = yield* asking(url)
        const { body, headers, status } = yield* reply(replyTo(question))
        assert.deepStrictEqual([status, body.code, body.pointer], [422, "invalid_reply", pointer])
        assert.match(body.detail ?? "", /^The reply was refused: [a-z.]+: expected .+\. The question is still open\.$/)
        assert.strictEqual(headers.get("content-type"), "application/problem+json")
        // A client that wants a stream gets the same problem.
        const streamed = yield* Effect.promise(() =>
          fetch(`${url}/reply`, {
            method: "POST",
            headers: { "content-type": "application/json", accept: "text/event-stream" },
            body: JSON.stringify({ token, replies: [replyTo(question)] })
          })
        )
        assert.deepStrictEqual([streamed.status, yield* Effect.promise(() => streamed.json())], [422, body])
        assert.deepStrictEqual(yield* shop.refundsAsked, [])
        assert.notMatch(log.join("\n"), /level=(WARN|ERROR)/)
        assert.include((yield* reply(Question.approve(question))).body.text, "I refunded 249.00")
      }))
  }

  const misshapen: ReadonlyArray<readonly [what: string, body: object, says: RegExp]> = [
    ["none", {}, /either a 'reply' in words, or 'replies'/],
    ["both kinds", { reply: "yes", replies: [] }, /either a 'reply' in words, or 'replies'/],
    ["a blank one", { reply: " " }, /not blank/],
    ["too many", { replies: Array.from({ length: 21 }, () => ({ id: "1", reply: "yes" })) }, /replies/],
    ["a long one", { replies: [{ id: "1", reply: "a".repeat(2001) }] }, /at most 2000/],
    [
      "a long reason",
      { replies: [{ id: "1", digest: "1", approved: false, reason: "a".repeat(2001) }] },
      /at most 2000/
    ],
    ["no decision", { replies: [{ id: "1", digest: "1", approved: "yes" }] }, /replies/]
  ]
  for (const [what, body, says] of misshapen) {
    it.live(`are answered with 400 if there are misshapen ones: ${what}`, () =>
      Effect.gen(function*() {
        const { url } = yield* serving()
        const { token } = yield* asking(url)
        const answered = yield* post(`${url}/reply`, { token, ...body })
        assert.deepStrictEqual([answered.status, answered.body.code], [400, "invalid_body"])
        assert.match(answered.body.detail ?? "", says)
      }))
  }

  it("have the name that the server gives them, and not one that a client claims", () => {
    const replies = [{ id: "1", digest: "2", approved: true, by: "the owner" } as const]
    assert.deepStrictEqual(Replies.given({ token: "", replies }), [{ ...replies[0]!, by: "the customer" }])
  })

  it.live("at once are taken once", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const { question, reply } = yield* asking(url)
      const both = yield* Effect.all([reply(Question.approve(question)), reply(Question.deny(question))], {
        concurrency: 2
      })
      assert.deepStrictEqual(both.map(({ status }) => status).toSorted((one, other) => one - other), [200, 409])
      assert.isAtMost(yield* shop.refundsMade, 1)
    }))

  it.live("are taken once, also if the client leaves while the run goes on", () =>
    Effect.gen(function*() {
      // Once the refund is made, the model is silent.
      const isMade = ({ messages }: Parameters<typeof Planner.reply>[0]) => messages.some(({ role }) => role === "tool")
      const model = Layer.succeed(Model.Model, {
        respond: ({ transcript }) => Effect.sync(() => Planner.reply({ messages: Array.from(transcript) })),
        stream: ({ transcript }) => {
          const messages = Array.from(transcript)
          return isMade({ messages })
            ? Stream.never
            : Stream.make({ _tag: "Replied", reply: Planner.reply({ messages }) })
        }
      })
      const served = yield* serving({ model })
      const { question, reply, token } = yield* asking(served.url)
      yield* events(`${served.url}/reply`, { token, replies: [Question.approve(question)] }).pipe(
        Stream.takeUntil(({ _tag }) => _tag === "TurnStarted"),
        Stream.runDrain
      )
      yield* noneUnderWay(served)
      const { body, status } = yield* reply(Question.approve(question))
      assert.deepStrictEqual([status, body.code], [409, "not_open"])
      assert.strictEqual(yield* served.shop.refundsMade, 1)
    }))

  it.live("to some questions of a turn leave the others open, under a new token", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const { questions: [first, second], reply, token } = yield* asking(url, "Refund o-1004 and o-1008.")
      const { body, status } = yield* reply(Question.approve(second!))
      assert.deepStrictEqual([status, body.questions], [202, [first!]])
      assert.notStrictEqual(body.token, token)
      assert.strictEqual((yield* reply(Question.approve(first!))).body.code, "not_open")
      const rest = yield* post(`${url}/reply`, { token: body.token, replies: [Question.deny(first!)] })
      assert.include(rest.body.text, "I refunded nothing for order o-1004")
      assert.include(rest.body.text, "I refunded 249.00 for order o-1008.")
      yield* until(Effect.map(shop.open, (open) => open === 0))
      assert.deepStrictEqual(yield* shop.refundsAsked, ["o-1008"])
    }))
})
