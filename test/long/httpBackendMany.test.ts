/** Many runs of the HTTP backend at once. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { request } from "node:http"
import { noneUnderWay, serving, until } from "../support/backend.ts"
import { passingBy } from "../support/virtualTime.ts"

describe("500 requests at once", () => {
  /** Asks as a plain client of Node, which costs a fraction of a `fetch`. Hangs up when the answer contains a text. */
  const asking = (url: string, order: string, accept: string, upTo?: string) =>
    Effect.callback<string>((resume) => {
      const headers = { "content-type": "application/json", accept }
      const sent = request(`${url}/ask`, { method: "POST", headers, agent: false }, (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk
          if (upTo === undefined || !text.includes(upTo)) return
          resume(Effect.succeed(text))
          sent.destroy()
        })
        response.on("end", () => resume(Effect.succeed(text)))
        response.on("error", (error) => resume(Effect.die(error)))
      })
      sent.on("error", (error) => resume(Effect.die(error)))
      sent.end(JSON.stringify({ question: `Refund ${order}, please.` }))
    })

  const json = "application/json"
  const stream = "text/event-stream"

  it.effect(
    "each get their own whole answer; those that are killed ask again, and nothing is refunded twice",
    () =>
      Effect.gen(function*() {
        // The answer to each refund is lost.
        const served = yield* serving({ max: 500, upstream: "lossy" })
        const cheap = Array.from({ length: 667 }, (_, index) => 1000 + index).filter((number) => number % 4 !== 0)
        const orders = cheap.slice(0, 500).map((number) => `o-${number}`)
        const killed = orders.filter((_, index) => index % 5 === 0)
        // The last line is the JSON object, or the last event.
        const isWhole = (order: string, answer: string) => {
          const last = answer.trimEnd().split("\n").at(-1) ?? ""
          return /^\{|"RunEnded"/.test(last) && last.includes(` The receipt is r-${order.slice(2)}."`)
        }
        const answers = yield* Effect.forEach(orders, (order, index) =>
          index % 5 === 0
            // Leaves after the first events of a call, while its refund is under way.
            ? Effect.as(asking(served.url, order, stream, "CallStarted"), true)
            : Effect.map(asking(served.url, order, index % 5 < 3 ? stream : json), (text) => isWhole(order, text)), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual([answers.length, answers.filter((isWhole) => !isWhole)], [500, []])
        yield* noneUnderWay(served)
        yield* until(Effect.map(served.shop.open, (open) => open === 0))
        const again = yield* Effect.forEach(killed, (order) =>
          Effect.map(
            asking(served.url, order, json),
            (text) => isWhole(order, text) || text.includes(`Order ${order} is already refunded.`)
          ), { concurrency: "unbounded" })
        assert.deepStrictEqual([again.length, again.filter((isTrue) => !isTrue)], [100, []])
        yield* noneUnderWay(served)
        assert.deepStrictEqual((yield* served.shop.refundsAsked).toSorted(), orders)
        assert.strictEqual(yield* served.shop.refundsMade, 500)
      }).pipe(
        Effect.forkChild,
        // Only the requests that are settled need time: no other one is given up because 500 of them are slow.
        Effect.flatMap((fiber) => passingBy("500 millis", fiber))
      ),
    { timeout: 180_000 }
  )
})
