/** The endpoints of the HTTP backend for its page with `useChat`, and the script of that page. */
import { assert, describe, it } from "@effect/vitest"
import { Model } from "@fallible/core"
import { maxRuns } from "@fallible/examples/04-http-backend/Conversations"
import { UI_MESSAGE_STREAM_HEADERS } from "ai"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { fetched, noneUnderWay, serving, until } from "../support/backend.ts"
import { approvalsIn, chatting, messageOf, told, userMessage, writing } from "../support/chat.ts"

type Served = Effect.Success<ReturnType<typeof serving>>

const underWay = ({ runs }: Served, count: number) =>
  until(Effect.map(runs.report, ({ underWay }) => underWay === count))

const silent = Layer.succeed(Model.Model, { respond: () => Effect.never, stream: () => Stream.never })

const lamp = "Order o-1002 is a desk lamp for 64.00. It is paid."
const isNotKnown = "It is not known whether this was refunded. Nothing is repeated until it is known."

describe("a chat", () => {
  it.live("answers with a stream of the AI SDK, and keeps the messages that a browser makes of it", () =>
    Effect.gen(function*() {
      const served = yield* serving()
      const chat = yield* chatting(served)
      const question = userMessage("What is o-1002?")
      const message = yield* messageOf(yield* chat.send({ messages: [question] }))
      assert.deepStrictEqual(told(message), [lamp])
      assert.deepStrictEqual(yield* chat.messages, [question, message])
      const other = yield* chatting(served)
      const { headers } = yield* Effect.promise(() =>
        fetch(`${served.url}/api/chat`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ id: other.id, trigger: "submit-message", messages: [userMessage("Hello?")] })
        })
      )
      assert.strictEqual(
        headers.get("x-vercel-ai-ui-message-stream"),
        UI_MESSAGE_STREAM_HEADERS["x-vercel-ai-ui-message-stream"]
      )
      assert.match(headers.get("server-time") ?? "", /^\d{13}$/)
    }))

  const recoveries = [
    [
      "lossy",
      ["Refund o-1003."],
      "The shop did not answer, so we looked the refund up instead of asking for it again. It was made once."
    ],
    [
      "busy",
      ["Refund o-1003."],
      "The shop failed before it refunded anything, so we asked it again. It was refunded once."
    ],
    ["up", ["Refund o-1003 and o-1003."], "This refund was asked for twice. It was made once."],
    [
      "up",
      ["Refund o-1003.", "Refund o-1003 again."],
      "This order was refunded before, so nothing was refunded again."
    ],
    ["blind", ["Refund o-1003."], isNotKnown],
    ["busy", ["What is o-1002?"], "The shop failed at first, so we asked it again, and it answered."],
    [
      "flaky",
      ["Where is the parcel of o-1001?", "Where is the parcel of o-1001 now?"],
      "The shop does not answer, so this is what it told us last."
    ]
  ] as const
  for (const [upstream, questions, sentence] of recoveries) {
    it.live(`tells a customer what "${questions.join(" ")}" came to if the shop is ${upstream}: "${sentence}"`, () =>
      Effect.gen(function*() {
        const { shop, url } = yield* serving({ upstream })
        const chat = yield* chatting({ url })
        for (const question of questions) yield* chat.ask(question)
        assert.include(told(yield* chat.last), sentence)
        assert.isAtMost(yield* shop.refundsMade, 1)
      }))
  }

  it.live("goes on with an approved call, also with another amount, and with a denial and its reason", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const chat = yield* chatting({ url })
      yield* chat.ask("Refund o-1004.")
      const asking = yield* chat.last
      const [approval = ""] = approvalsIn(asking)
      const chunks = yield* chat.decide({ approved: true }, {
        edits: { [approval]: { order: "o-1004", cents: 15_000 } }
      })
      // The message goes on, in the browser and on the server.
      assert.strictEqual((yield* messageOf(chunks, asking)).id, asking?.id)
      assert.deepStrictEqual(told(yield* chat.last), ["I refunded 150.00 for order o-1004. The receipt is r-1004."])
      yield* chat.ask("Refund o-1008.")
      yield* chat.decide({ approved: false, reason: "I keep it." })
      assert.include(told(yield* chat.last).join(), "it was denied. The reason: I keep it.")
      assert.deepStrictEqual(yield* shop.refundsAsked, ["o-1004"])
      assert.strictEqual((yield* chat.messages).length, 4)
    }))

  it.live("takes one of two replies to an approval, whether they come together or one after the other", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const chat = yield* chatting({ url })
      yield* chat.ask("Refund o-1004.")
      const body = yield* chat.deciding({ approved: true })
      const together = yield* Effect.all([chat.refused(body), chat.refused(body)].map(Effect.exit), {
        concurrency: "unbounded"
      }).pipe(Effect.andThen(chat.refused(body)))
      assert.deepStrictEqual([together.status, together.body.code], [409, "not_open"])
      assert.deepStrictEqual(yield* shop.refundsAsked, ["o-1004"])
    }))

  it.live("asks the last question again, and does nothing twice", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const chat = yield* chatting({ url })
      const { body } = yield* chat.refused({ trigger: "regenerate-message" })
      assert.strictEqual(body.code, "nothing_asked")
      yield* chat.ask("What is o-1002?")
      yield* chat.ask("Refund o-1004.")
      yield* chat.decide({ approved: true })
      const [, , question, answer] = yield* chat.messages
      yield* chat.again
      yield* chat.again
      const messages = yield* chat.messages
      assert.strictEqual(messages.length, 4)
      assert.deepStrictEqual(messages[2], question)
      assert.notStrictEqual(messages[3]?.id, answer?.id)
      assert.deepStrictEqual(told(messages[3]), [
        "This order was refunded before, so nothing was refunded again.",
        "Order o-1004 is already refunded. I refunded nothing again."
      ])
      assert.strictEqual(yield* shop.refundsMade, 1)
    }))

  it.live("is told as a part of the message that there is no answer, and why", () =>
    Effect.gen(function*() {
      const model = Layer.succeed(Model.Model, {
        respond: () => Effect.never,
        stream: () => Stream.die("The key is wrong.")
      })
      const chat = yield* chatting(yield* serving({ model }))
      const chunks = yield* chat.ask("What is o-1002?")
      assert.deepStrictEqual(chunks.filter(({ type }) => type === "error"), [])
      const [sentence = ""] = told(yield* chat.last)
      assert.notInclude(sentence, "key")
      assert.match(sentence, /[.]$/)
    }))
})

describe("a run of a chat", () => {
  it.live("goes on without its reader, and is read from its beginning by who comes back", () =>
    Effect.gen(function*() {
      const mayGoOn = yield* Deferred.make<void>()
      const served = yield* serving({ model: writing(Deferred.await(mayGoOn)) })
      const chat = yield* chatting(served)
      assert.isUndefined(yield* chat.resume)
      const asking = yield* Effect.forkChild(chat.ask("What is o-1002?"))
      yield* underWay(served, 1)
      yield* Fiber.interrupt(asking)
      const readers = [yield* chat.resume, yield* chat.resume]
      // What is written so far can be read without a stream, too.
      yield* until(Effect.map(chat.last, (last) => told(last).join() === "Order"))
      yield* Deferred.succeed(mayGoOn, undefined)
      for (const reader of readers) {
        const message = yield* messageOf(yield* reader ?? assert.fail("nothing was under way"))
        assert.deepStrictEqual(told(message), [lamp])
        assert.deepStrictEqual(message, yield* chat.last)
      }
      yield* noneUnderWay(served)
      assert.isUndefined(yield* chat.resume)
      assert.deepStrictEqual(told(yield* chat.last), [lamp])
    }))

  it.live("is read with all of its message, if it goes on with one, and with what was decided", () =>
    Effect.gen(function*() {
      const mayGoOn = yield* Deferred.make<void>()
      let isApproved = false
      const served = yield* serving({
        model: writing(Effect.suspend(() => isApproved ? Deferred.await(mayGoOn) : Effect.void))
      })
      const chat = yield* chatting(served)
      yield* chat.ask("Refund o-1004.")
      isApproved = true
      const deciding = yield* Effect.forkChild(chat.decide({ approved: true }))
      yield* until(Effect.map(served.shop.refundsMade, (made) => made === 1))
      const reader = (yield* chat.resume) ?? assert.fail("nothing was under way")
      yield* Deferred.succeed(mayGoOn, undefined)
      yield* Fiber.join(deciding)
      const chunks = yield* reader
      const decision = chunks.findIndex(({ type }) => type === "tool-approval-response")
      assert.isAtLeast(decision, 0)
      assert.deepStrictEqual(approvalsIn(yield* messageOf(chunks.slice(0, decision + 1))), [])
      assert.deepStrictEqual(yield* messageOf(chunks), yield* chat.last)
    }))

  it.live("is stopped by its user, and says to all who read it what is not known", () =>
    Effect.gen(function*() {
      const served = yield* serving({ upstream: "stuck" })
      const chat = yield* chatting(served)
      assert.strictEqual(yield* chat.stop, 204)
      const asking = yield* Effect.forkChild(chat.ask("What is o-1001?"))
      yield* until(Effect.map(served.shop.open, (open) => open === 1))
      const reader = (yield* chat.resume) ?? assert.fail("nothing was under way")
      assert.strictEqual(yield* chat.stop, 204)
      yield* noneUnderWay(served)
      yield* until(Effect.map(served.shop.open, (open) => open === 0))
      const message = yield* messageOf(yield* Fiber.join(asking))
      assert.deepStrictEqual(told(message), ["This was stopped."])
      assert.deepStrictEqual(yield* chat.last, message)
      assert.deepStrictEqual(yield* messageOf(yield* reader), message)
    }))

  it.live("leaves a refund in doubt if it is stopped in the middle, and does not repeat it", () =>
    Effect.gen(function*() {
      const served = yield* serving({ upstream: "blind" })
      const chat = yield* chatting(served)
      const asking = yield* Effect.forkChild(chat.ask("Refund o-1003."))
      // The answer of the shop is lost, and it is looked up later whether it has refunded.
      yield* until(Effect.map(served.shop.refundsMade, (made) => made === 1))
      yield* chat.stop
      const message = yield* messageOf(yield* Fiber.join(asking))
      assert.deepStrictEqual(told(message), [isNotKnown, "This was stopped."])
      assert.deepStrictEqual(yield* chat.last, message)
      yield* chat.again
      assert.include(told(yield* chat.last), isNotKnown)
      assert.strictEqual((yield* served.shop.refundsAsked).length, 1)
    }))

  it.live("is told that the server stops", () =>
    Effect.gen(function*() {
      const served = yield* serving({ model: silent })
      const chat = yield* chatting(served)
      const asking = yield* Effect.forkChild(chat.ask("Hello?"))
      yield* underWay(served, 1)
      yield* served.runs.drain
      assert.deepStrictEqual(told(yield* messageOf(yield* Fiber.join(asking))), [
        "The server is about to restart. Ask again soon."
      ])
    }))

  it.effect("ends by the limits of a run, though nobody reads it", () =>
    Effect.gen(function*() {
      const served = yield* serving({ model: silent })
      const chat = yield* chatting(served)
      const asking = yield* Effect.forkChild(chat.ask("Hello?"))
      yield* underWay(served, 1)
      yield* Fiber.interrupt(asking)
      yield* TestClock.adjust("3 minutes")
      yield* noneUnderWay(served)
      assert.strictEqual((yield* chat.messages).length, 2)
    }))
})

describe("a chat refuses", () => {
  const question = userMessage("What is o-1002?")
  const bodies: ReadonlyArray<readonly [what: string, fields: object, status: number, code: string]> = [
    ["no messages", { messages: [] }, 400, "invalid_body"],
    ["messages that are none", { messages: [{ role: "user" }] }, 400, "invalid_body"],
    ["a message of the system", { messages: [{ ...question, role: "system" }] }, 400, "invalid_body"],
    ["a blank question", { messages: [userMessage(" ")] }, 400, "invalid_body"],
    ["a question that is too long", { messages: [userMessage("o".repeat(2001))] }, 400, "invalid_body"],
    [
      "a file",
      { messages: [{ ...question, parts: [{ type: "file", mediaType: "text/plain", url: "data:,x" }] }] },
      400,
      "invalid_body"
    ],
    ["an unknown trigger", { trigger: "resume-stream", messages: [question] }, 400, "invalid_body"],
    ["edits that are no arguments", { messages: [question], edits: { a: 1 } }, 400, "invalid_body"],
    ["another conversation's id", { id: "unknown", messages: [question] }, 404, "unknown_conversation"],
    [
      "a reply to nothing",
      { messages: [{ id: "a", role: "assistant", parts: [{ type: "text", text: "Hi" }] }] },
      409,
      "not_open"
    ],
    ["a body that is too large", { messages: [userMessage("o".repeat(100_000))] }, 413, "body_too_large"]
  ]
  for (const [what, fields, status, code] of bodies) {
    it.live(`${what}: ${status}`, () =>
      Effect.gen(function*() {
        const served = yield* serving()
        const chat = yield* chatting(served)
        const refused = yield* chat.refused(fields)
        assert.deepStrictEqual([refused.status, refused.body.code], [status, code])
        assert.match(refused.headers.get("content-type") ?? "", /^application\/problem\+json/)
        assert.deepStrictEqual(yield* chat.messages, [])
        yield* noneUnderWay(served)
      }))
  }

  it.live("what is no JSON (400), what does not say that it is (415), and another site's page (403)", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      const sent = (headers: Record<string, string>, body: string) =>
        Effect.map(
          fetched(`${url}/api/chat`, { method: "POST", headers, body }),
          ({ body: { code }, status }) => [status, code]
        )
      assert.deepStrictEqual(yield* sent({ "content-type": "application/json" }, "{"), [400, "invalid_json"])
      assert.deepStrictEqual(yield* sent({ "content-type": "text/plain" }, "{}"), [415, "not_json"])
      const foreign = { "content-type": "application/json", origin: "https://other.example" }
      assert.deepStrictEqual(yield* sent(foreign, "{}"), [403, "wrong_origin"])
    }))

  it.live("the id of a conversation that there is not, in a path: 404", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      for (const [path, method] of [["messages", "GET"], ["stream", "GET"], ["stop", "POST"]] as const) {
        const { body, status } = yield* fetched(`${url}/api/chat/unknown/${path}`, { method })
        assert.deepStrictEqual([status, body.code], [404, "unknown_conversation"])
      }
    }))

  it.live("a second question while one is answered (409), a question that was sent twice (409), and too many (409, 503)", () =>
    Effect.gen(function*() {
      const mayGoOn = yield* Deferred.make<void>()
      const served = yield* serving({ model: writing(Deferred.await(mayGoOn)), max: 1 })
      const chat = yield* chatting(served)
      const question = { messages: [userMessage("Hello?")] }
      const asking = yield* Effect.forkChild(chat.send(question))
      yield* underWay(served, 1)
      const other = yield* chatting(served)
      const busy = yield* other.refused({ messages: [userMessage("Hello?")] })
      assert.deepStrictEqual([busy.status, busy.body.code], [503, "busy"])
      yield* Deferred.succeed(mayGoOn, undefined)
      yield* Fiber.join(asking)
      const twice = yield* chat.refused(question)
      assert.deepStrictEqual([twice.status, twice.body.code], [409, "already_asked"])
      yield* Effect.forEach(Array.from({ length: maxRuns - 1 }), () => chat.ask("Hello?"))
      const full = yield* chat.refused({ trigger: "regenerate-message" })
      assert.deepStrictEqual([full.status, full.body.code], [409, "conversation_full"])
    }))

  it.live("a second question in the same conversation meanwhile: 409", () =>
    Effect.gen(function*() {
      const served = yield* serving({ model: silent })
      const chat = yield* chatting(served)
      yield* Effect.forkChild(chat.ask("Hello?"))
      yield* underWay(served, 1)
      for (const fields of [{ messages: [userMessage("And?")] }, { trigger: "regenerate-message" }]) {
        const { body, status } = yield* chat.refused(fields)
        assert.deepStrictEqual([status, body.code, body.detail], [
          409,
          "conversation_busy",
          "Wait for the answer to your last question."
        ])
      }
      assert.strictEqual((yield* chat.messages)[0]?.role, "user")
      yield* chat.stop
    }))

  it.live("a message with an id that is too long (400), and keeps of others what their user wrote alone", () =>
    Effect.gen(function*() {
      const served = yield* serving()
      const chat = yield* chatting(served)
      const question = userMessage("What is o-1002?")
      const long = yield* chat.refused({ messages: [{ ...question, id: "i".repeat(50_000) }] })
      assert.deepStrictEqual([long.status, long.body.code], [400, "invalid_body"])
      // No JSON of ours is that deep.
      const sent = JSON.stringify({
        id: chat.id,
        trigger: "submit-message",
        messages: [{ ...question, metadata: "deep" }]
      })
      const body = sent.replace("\"deep\"", "[".repeat(20_000) + "]".repeat(20_000))
      const headers = { "content-type": "application/json" }
      yield* Effect.promise(async () =>
        (await fetch(`${served.url}/api/chat`, { method: "POST", headers, body })).text()
      )
      assert.deepStrictEqual((yield* chat.messages)[0], question)
    }))

  it.live("arguments that the tool does not take (422) and a long reason (400), and keeps the approval open", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const chat = yield* chatting({ url })
      yield* chat.ask("Refund o-1004.")
      const before = yield* chat.messages
      const [approval = ""] = approvalsIn(before.at(-1))
      const { body, status } = yield* chat.refused(
        yield* chat.deciding({ approved: true }, { edits: { [approval]: { order: "o-1004", cents: -1 } } })
      )
      assert.deepStrictEqual([status, body.code], [422, "invalid_reply"])
      assert.strictEqual(body.pointer, `#/edits/${approval.replaceAll("/", "~1")}/cents`)
      const wordy = yield* chat.refused(yield* chat.deciding({ approved: false, reason: "o".repeat(2001) }))
      assert.deepStrictEqual([wordy.status, wordy.body.code], [400, "invalid_body"])
      assert.deepStrictEqual(yield* chat.messages, before)
      yield* chat.decide({ approved: true })
      assert.strictEqual(yield* shop.refundsMade, 1)
    }))
})

describe("the page with useChat", () => {
  it.live("is one file and its script, which is bundled with React as it is in production", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      const get = (path: string) =>
        Effect.promise(async () => {
          const response = await fetch(`${url}${path}`)
          return { status: response.status, headers: response.headers, text: await response.text() }
        })
      const page = yield* get("/chat")
      assert.strictEqual(page.status, 200)
      const policy = page.headers.get("content-security-policy") ?? ""
      assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'sha256-[^']+';/)
      assert.include(page.text, "<script type=\"module\" src=\"/chat.js\">")
      const script = yield* get("/chat.js")
      assert.deepStrictEqual([script.status, script.headers.get("content-type")], [
        200,
        "text/javascript; charset=utf-8"
      ])
      assert.notInclude(script.text, "process.env.NODE_ENV")
      // React's development build names its warnings.
      assert.notInclude(script.text, "Each child in a list")
      assert.isBelow(script.text.length, 600_000)
    }))
})
