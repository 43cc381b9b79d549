import { HttpStub, ScriptedModel } from "@fallible/testing"
import { Effect } from "effect"
import assert from "node:assert/strict"
import { test } from "node:test"
import { agent } from "./agent.js"

test("charges once, although the bank's first answer is lost, and the model calls three times", async () => {
  const charges = new Map<string, string>()
  const bank = HttpStub.layer(({ headers, body }) => {
    const key = headers["idempotency-key"] ?? "none"
    if (charges.has(key)) return HttpStub.json({ receipt: "r-1" })
    charges.set(key, body)
    return HttpStub.reset // the connection breaks after the charge
  })
  const model = ScriptedModel.layer([
    ScriptedModel.calls(
      ["charge", { order: "7", euros: 249, note: "Two chairs" }],
      ["charge", { order: "7", euros: 249, note: "2 chairs for Ada" }] // in other words
    ),
    ScriptedModel.call("charge", { order: "7", euros: 249, note: "Order 7" }), // and again
    ScriptedModel.text("Order 7 is charged.")
  ])

  const answer = await Effect.runPromise(agent.run("Charge order 7.").pipe(Effect.provide([bank, model])))

  assert.equal(charges.size, 1)
  assert.equal(answer.text, "Order 7 is charged.")
  assert.deepEqual(answer.report.failures.map(({ code, handling }) => [code, handling]), [
    ["connection", "retry"], // the agent asked the bank again
    ["already_done", "told"] // the model's third call
  ])
})
