/** Servers that send a text or a call twice: nothing is doubled, and nothing is lost. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Tool, Toolkit } from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Schema, Stream } from "effect"
import { chat, line, own } from "../support/bodies.ts"
import { ollama, openAi, players, serving } from "../support/models.ts"
import { parts } from "../support/question.ts"

const events = (...chunks: ReadonlyArray<object | string>) =>
  chunks.map((chunk) => `data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}\n\n`).join("")

const choice = (fields: object) => ({ choices: [{ index: 0, ...fields }] })
const delta = (delta: object) => choice({ delta })
const final = (message: object) => choice({ finish_reason: "stop", message: { role: "assistant", ...message } })
const called = (id: string, text: string, fields: object = {}) => ({
  id,
  ...fields,
  function: { name: "pay", arguments: text }
})
const calls = (...texts: ReadonlyArray<readonly [id: string, text: string]>) =>
  texts.map(([id, text]) => ({ id, name: "pay", arguments: text }))
const [seven, eight] = ["{\"order\":\"7\"}", "{\"order\":\"8\"}"]

/** A chunk of Ollama's that is not the last. */
const piece = (message: object) => line(message, { done: false })

const shown = (provider: typeof openAi, body: string) =>
  parts.pipe(
    Effect.map((all) =>
      all.flatMap((part): ReadonlyArray<string | ReadonlyArray<string>> =>
        part._tag === "TextDelta" ? [part.text] : part._tag === "Replied" ? [[part.reply.text]] : []
      )
    ),
    Effect.provide(serving(provider)([FakeModelServer.raw(body)]))
  )

describe("a final chunk with the whole message", () => {
  const said = (...chunks: ReadonlyArray<object>) => chat.streamed(events(...chunks, "[DONE]"))
  const begun = delta({ tool_calls: [called("a", seven, { index: 0, type: "function" })] })

  it.effect("says nothing twice", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* said(
          delta({ content: "Hel" }),
          delta({ content: "lo.", tool_calls: [called("a", "{\"order\"", { index: 0 })] }),
          delta({ tool_calls: [{ index: 0, function: { arguments: ":\"7\"}" } }] }),
          final({ content: "Hello.", tool_calls: [called("a", seven)] })
        ),
        { text: "Hello.", calls: calls(["a", seven]) }
      )
      assert.deepStrictEqual(
        yield* shown(openAi, events(delta({ content: "Hello." }), final({ content: "Hello." }), "[DONE]")),
        ["Hello.", ["Hello."]]
      )
    }))

  it.effect("adds what the deltas left out", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* shown(openAi, events(delta({ content: "Hel" }), final({ content: "Hello." }), "[DONE]")),
        ["Hel", "lo.", ["Hello."]]
      )
      assert.deepStrictEqual(
        (yield* said(begun, final({ tool_calls: [called("a", seven), called("b", eight)] }))).calls,
        calls(["a", seven], ["b", eight])
      )
      assert.deepStrictEqual(
        (yield* said(
          delta({ tool_calls: [called("a", "{\"order\"", { index: 0 })] }),
          final({ tool_calls: [called("a", seven)] })
        )).calls,
        calls(["a", seven])
      )
      const both = choice({
        finish_reason: "stop",
        delta: { content: "" },
        message: { tool_calls: [called("a", seven)] }
      })
      assert.deepStrictEqual(yield* said(delta({ content: "Hi." }), both), { text: "Hi.", calls: calls(["a", seven]) })
    }))

  it.effect("takes nothing away", () =>
    Effect.gen(function*() {
      const two = delta({ tool_calls: [called("b", eight, { index: 1 })] })
      for (const message of [{}, { content: "", tool_calls: [] }, { content: "He", tool_calls: [called("a", "")] }]) {
        assert.deepStrictEqual(yield* said(delta({ content: "Hello." }), begun, two, final(message)), {
          text: "Hello.",
          calls: calls(["a", seven], ["b", eight])
        })
      }
      assert.deepStrictEqual(
        (yield* said(begun, two, final({ tool_calls: [called("", eight)] }))).calls,
        calls(["a", seven], ["b", eight])
      )
    }))

  it.effect("is believed about a call, which has not run yet", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        (yield* said(begun, final({ tool_calls: [called("a", eight)] }))).calls,
        calls(["a", eight])
      )
      assert.deepStrictEqual(
        (yield* said(begun, final({ tool_calls: [called("", eight)] }))).calls,
        calls(["a", eight])
      )
      // Some servers make new ids for the whole message.
      assert.deepStrictEqual(
        (yield* said(begun, final({ tool_calls: [called("x", eight)] }))).calls,
        calls(["a", eight])
      )
    }))

  it.effect("is no whole message if it has the same piece as the delta beside it", () =>
    Effect.gen(function*() {
      const both = (piece: object) => choice({ delta: piece, message: piece })
      const args = (text: string) => ({ tool_calls: [{ index: 1, function: { arguments: text } }] })
      assert.deepStrictEqual(
        yield* said(
          both({ content: "ha" }),
          both({ content: "ha", tool_calls: [called("a", seven, { index: 0 })] }),
          both({ tool_calls: [called("b", "", { index: 1 })] }),
          both(args("{\"order\"")),
          both(args(":\"8\"}"))
        ),
        { text: "haha", calls: calls(["a", seven], ["b", eight]) }
      )
    }))

  it.effect("is not believed about a text, which has been shown", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* shown(openAi, events(delta({ content: "\nHello." }), final({ content: "Hello." }), "[DONE]")),
        ["\nHello.", ["\nHello."]]
      )
    }))

  it.effect("may also follow other messages", () =>
    Effect.gen(function*() {
      const message = { content: "Hello.", tool_calls: [called("", seven)] }
      assert.deepStrictEqual(yield* said(choice({ message }), final(message)), {
        text: "Hello.",
        calls: calls(["", seven])
      })
      // Some servers send pieces under that name.
      assert.strictEqual(
        (yield* said(choice({ message: { content: "Hel" } }), final({ content: "lo." }))).text,
        "Hello."
      )
    }))

  it.effect("of Ollama says nothing twice either", () =>
    Effect.gen(function*() {
      const message = { content: "Hello.", tool_calls: [called("", seven)] }
      const begun = piece({ content: "Hel" }) + piece({ content: "lo." })
      const all = { text: "Hello.", calls: calls(["", seven]) }
      assert.deepStrictEqual(yield* own.streamed(begun + line(message)), all)
      assert.deepStrictEqual(yield* own.streamed(piece(message) + line(message)), all)
      assert.deepStrictEqual(yield* own.streamed(piece(message) + line({ ...message, content: "" })), all)
      assert.deepStrictEqual(yield* own.streamed(piece(message) + line({ content: "Hello." })), all)
      assert.deepStrictEqual(yield* shown(ollama, piece({ content: "Hel" }) + line({ content: "Hello." })), [
        "Hel",
        "lo.",
        ["Hello."]
      ])
    }))

  it.effect("of Ollama may be the last piece of a text, or one more call", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* own.streamed(piece({ content: "Hello" }) + line({ content: "." }))).text, "Hello.")
      assert.strictEqual(
        (yield* own.streamed(piece({ content: "1" }) + piece({ content: "1" }) + line({ content: "" }))).text,
        "11"
      )
      assert.deepStrictEqual(
        (yield* own.streamed(
          piece({ tool_calls: [called("", seven)] }) + line({ tool_calls: [called("", eight)] })
        )).calls,
        calls(["", seven], ["", eight])
      )
    }))
})

describe("a call that comes twice in one reply", () => {
  const paying = () => {
    const paid: Array<string> = []
    const pay = Tool.make("pay", {
      description: "Pays an order",
      parameters: Schema.Struct({ order: Schema.String }),
      success: Schema.String,
      // Core would join them.
      joins: false
    }, ({ order }) => Effect.sync(() => `receipt ${paid.push(order)}`))
    return { agent: Agent.make({ toolkit: Toolkit.make(pay) }), paid }
  }
  const repeated: ReadonlyArray<readonly [what: string, second: string, paid: ReadonlyArray<string>]> = [
    ["is one call if its arguments are the same, too", ` ${seven}\n`, ["7"]],
    ["stays two calls if its arguments differ", eight, ["7", "8"]],
    ["stays two calls if its arguments are written otherwise", "{ \"order\": \"7\" }", ["7", "7"]]
  ]
  for (const { layer, name, sendsObjects } of players) {
    for (const [what, second, expected] of repeated) {
      if (sendsObjects && what.endsWith("otherwise")) continue
      it.effect(`${what}: ${name}`, () => {
        const { agent, paid } = paying()
        const reply = { text: "", calls: calls(["c", seven], ["c", second]) }
        return Effect.gen(function*() {
          const answer = yield* agent.run("Pay.")
          assert.deepStrictEqual(paid, expected)
          const told = Array.from(answer.transcript).flatMap((message) =>
            message.role === "tool" ? [message.callId] : []
          )
          assert.deepStrictEqual(told, ["c", "c_1"].slice(0, expected.length))
        }).pipe(Effect.provide(layer([reply, { text: "Paid.", calls: [] }])))
      })
    }
  }

  const chunk = { role: "assistant", tool_calls: [called("c1", seven)] }
  const bodies = [
    ["a final message", openAi, events(delta(chunk), final(chunk), "[DONE]")],
    ["a repeated delta", openAi, events(delta(chunk), delta(chunk), choice({ finish_reason: "stop" }), "[DONE]")],
    ["a repeated chunk of Ollama's", ollama, piece(chunk) + piece(chunk) + line({ content: "" })],
    ["a final message of Ollama's", ollama, piece(chunk) + line(chunk)]
  ] as const
  for (const [what, provider, body] of bodies) {
    it.effect(`is paid once, sent as ${what}`, () => {
      const { agent, paid } = paying()
      return Effect.gen(function*() {
        const seen = yield* Stream.runCollect(agent.stream("Pay."))
        assert.deepStrictEqual(paid, ["7"])
        assert.deepStrictEqual(
          seen.flatMap((event: AgentEvent.AgentEvent) =>
            event._tag === "ModelReplied" ? [event.reply.calls.length] : []
          ),
          [1, 0]
        )
      }).pipe(Effect.provide(serving(provider)([FakeModelServer.raw(body), { text: "Paid.", calls: [] }])))
    })
  }
})
