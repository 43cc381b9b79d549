/** The two ways to listen that `pnpm honest` compares. */
import { assert, describe, it } from "@effect/vitest"
import type { Transcript } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { dataOf, deaf, heeding } from "./support/heeding.ts"

/** A conversation in which `look` was called, and returned a text. */
const after = (text: string): ScriptedModel.Recorded => {
  const messages: ReadonlyArray<Transcript.Message> = [
    { role: "user", text: "Look." },
    { role: "assistant", text: "", calls: [{ id: "call_1", name: "look", arguments: "{\"at\": 1}" }] },
    { role: "tool", callId: "call_1", name: "look", text }
  ]
  const tools = ["look", "ask"].map((name) => ({ name, description: "", parameters: {} }))
  return { messages, tools, options: {} }
}

const again = () => ScriptedModel.call("look", { at: 1 })
const other = () => ScriptedModel.call("look", { at: 2 })

/** The move of a listening script after a text. */
const move = (listen: typeof heeding, script: () => ReturnType<typeof again>, text: string) => {
  const listening = listen(script)
  return typeof listening === "function" ? listening(after(text), 1) : undefined
}

describe("a model that heeds advice", () => {
  it("does not repeat a call that it must not repeat, but makes another one", () => {
    const text = "{\"value\":1,\"notes\":[\"Do not repeat the call. Use the result\"]}"
    assert.deepStrictEqual(move(heeding, again, text), ScriptedModel.text(`What I know so far: ${text}`))
    assert.deepStrictEqual(move(heeding, other, text), other())
  })

  it("does not call a tool again that it must not call, whatever the arguments", () => {
    const text = "{\"ok\":false,\"retry\":\"Do not call this tool again.\"}"
    assert.deepStrictEqual(move(heeding, other, text), ScriptedModel.text(`What I know so far: ${text}`))
  })

  it("makes the call that it is told to make, and the call that it may make instead", () => {
    const ask = ScriptedModel.call("ask", { who: "Ada" })
    assert.deepStrictEqual(
      move(heeding, () => ScriptedModel.text("Done."), JSON.stringify("Empty. Call ask with {\"who\":\"Ada\"}.")),
      ask
    )
    assert.deepStrictEqual(
      move(heeding, again, JSON.stringify("Do not repeat this call, or call ask again with who=\"Ada\".")),
      ask
    )
    assert.deepStrictEqual(
      move(heeding, again, "Do not repeat this call. Use ask instead."),
      ScriptedModel.call("ask", { at: 1 })
    )
  })

  it("needs no advice", () => {
    assert.deepStrictEqual(move(heeding, again, "{\"value\":1}"), again())
  })
})

describe("a model that is deaf to advice", () => {
  it("sees the data without the notes, and a failure without what to do next", () => {
    assert.strictEqual(dataOf("{\"value\":{\"a\":1},\"notes\":[\"It is old\"]}"), "{\"a\":1}")
    assert.strictEqual(
      dataOf("{\"ok\":false,\"error\":\"E\",\"detail\":\"Down.\",\"hint\":\"Wait.\",\"retry\":\"Not now.\"}"),
      "{\"ok\":false,\"error\":\"E\",\"detail\":\"Down.\"}"
    )
    assert.strictEqual(dataOf("Sunny.\nNote: it is old."), "Sunny.")
  })

  it("sees data as it is, even if its fields have the names of advice", () => {
    for (
      const data of [
        "{\"notes\":[\"Call Ada\"],\"value\":1,\"id\":2}",
        "{\"ok\":false,\"hint\":\"x\"}",
        "[1,2]",
        "Sunny."
      ]
    ) {
      assert.strictEqual(dataOf(data), data)
    }
  })

  it("goes on as its script says", () => {
    assert.deepStrictEqual(move(deaf, again, "Do not repeat this call."), again())
  })
})
