/** What the page of the HTTP backend says of a refund: its own function, without a browser. */
import { assert, describe, it } from "@effect/vitest"
import type { AiSdk } from "@fallible/ai-sdk"
import * as Sentences from "@fallible/examples/04-http-backend/Sentences"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { runInNewContext } from "node:vm"
import { root } from "../support/program.ts"

const page = readFileSync(join(root, "examples/04-http-backend/page.html"), "utf8")
const between = (start: string, end: string) => page.slice(page.indexOf(start), page.indexOf(end))

// They need the events of a call alone, and nothing of the page.
const said: string = JSON.stringify([
  { outcome: "completed", certainty: "executed", attempts: 1 },
  { outcome: "completed", certainty: "executed", attempts: 2 },
  { outcome: "completed", certainty: "executed", attempts: 1, joined: true },
  { outcome: "completed", certainty: "not_executed", attempts: 4 },
  { outcome: "completed", certainty: "unknown", attempts: 2 },
  { outcome: "completed", certainty: "unknown", attempts: 2, joined: true },
  { outcome: "failed", certainty: "unknown", attempts: 1 },
  { outcome: "failed", certainty: "executed", attempts: 0, code: "already_done" },
  { outcome: "failed", certainty: "not_executed", attempts: 1, code: "too_much" },
  { outcome: "suspended", certainty: "unknown", attempts: 1 }
])
const script = `
  ${between("const amountOf", "const handledBy")}
  ${said}.map((event) => {
    const [state] = endOf(event)
    const meaning = meaningOf({ ...event, tool: "refund_order", value: { cents: 450 } })
    return state + ": " + meaning
  }).join("\\n")
`

describe("the page of the HTTP backend", () => {
  it("says that a refund was paid only if that is certain", () => {
    assert.deepStrictEqual(String(runInNewContext(script)).split("\n"), [
      "completed: ",
      "completed: The shop failed before it paid anything, so we asked it again. You were paid 4.50 once.",
      "completed: This refund was asked for twice. You were paid 4.50 once.",
      "completed: Nothing was paid.",
      "unknown: We do not know yet whether you were paid. Ask again later: we look it up first, so it is not paid twice.",
      "unknown: We do not know yet whether you were paid. Ask again later: we look it up first, so it is not paid twice.",
      "unknown: We do not know yet whether you were paid. Ask again later: we look it up first, so it is not paid twice.",
      "settled: This order was refunded before, so nothing was paid again.",
      "settled: Nothing was paid.",
      "suspended: "
    ])
  })

  it("with useChat, too", () => {
    const refund: AiSdk.Recovery = {
      toolCallId: "1",
      tool: "refund_order",
      status: "completed",
      by: "fallback",
      attempts: 2,
      text: ""
    }
    assert.deepStrictEqual(
      (["executed", "not_executed", "unknown"] as const).map((certainty) =>
        Sentences.recovery({ ...refund, certainty })
      ),
      [
        "The shop failed before it refunded anything, so we asked it again. It was refunded once.",
        "Nothing was refunded.",
        "It is not known whether this was refunded. Nothing is repeated until it is known."
      ]
    )
  })
})
