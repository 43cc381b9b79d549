/** The messages of a page as a question, a conversation and replies. */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@fallible/ai-sdk"
import { Agent, Toolkit, Transcript } from "@fallible/core"
import * as Question from "@fallible/core/Question"
import { ScriptedModel } from "@fallible/testing"
import type { UIMessage } from "ai"
import { Effect, Schema } from "effect"
import * as fc from "fast-check"
import { runs } from "../support/runs.ts"
import { play, scenarios } from "../support/uiScenarios.ts"

type Part = UIMessage["parts"][number]

const user = (...parts: ReadonlyArray<Part | string>): UIMessage => message("user", parts)
const assistant = (...parts: ReadonlyArray<Part | string>): UIMessage => message("assistant", parts)

const message = (role: UIMessage["role"], parts: ReadonlyArray<Part | string>): UIMessage => ({
  id: "m",
  role,
  parts: parts.map((part) => typeof part === "string" ? { type: "text", text: part } : part)
})

const file = (url: string, fields: { readonly mediaType?: string; readonly filename?: string } = {}): Part => ({
  type: "file",
  mediaType: "image/png",
  ...fields,
  url
})

const tool = (fields: object): Part => {
  const part = {
    type: "tool-look",
    toolCallId: "r/turn/1/call/1",
    state: "output-available",
    input: { city: "Oslo" },
    output: "mild",
    ...fields
  }
  // As it is sent.
  return JSON.parse(JSON.stringify(part))
}

const read = (...messages: ReadonlyArray<UIMessage>) => {
  const { question, transcript } = AiSdk.fromUiMessages(messages)
  return { question, messages: Transcript.toArray(transcript) }
}

describe("the question", () => {
  it("is the last message of the user, if nothing follows it", () => {
    assert.deepStrictEqual(read(user("One."), assistant("Two."), user("Three.", "Four.")), {
      question: "Three.\nFour.",
      messages: [{ role: "user", text: "One." }, { role: "assistant", text: "Two.", calls: [] }]
    })
    assert.strictEqual(read(user("One."), assistant("Two.")).question, undefined)
    assert.strictEqual(read().question, undefined)
    assert.strictEqual(read(user(" ")).question, undefined)
  })

  it("has the files of the user, and no address that a provider cannot fetch", () => {
    assert.deepStrictEqual(
      read(user(
        "Look.",
        file("data:image/gif;base64,R0lG", { filename: "a.gif" }),
        file("https://a.example/b.png"),
        file("data:text/plain,Hi%20there"),
        file("data:,%"),
        file("file:///etc/passwd"),
        file("javascript:alert(1)"),
        file("https://"),
        file("blob:https://a.example/1")
      )).question,
      {
        text: "Look.",
        files: [
          { mediaType: "image/gif", base64: "R0lG", name: "a.gif" },
          { url: "https://a.example/b.png", mediaType: "image/png" },
          { mediaType: "text/plain", base64: "SGkgdGhlcmU=" },
          { mediaType: "text/plain", base64: "JQ==" }
        ]
      }
    )
  })
})

describe("the conversation", () => {
  it("has the calls of each step with their results, under ids that every provider takes", () => {
    const { messages } = read(
      user("?"),
      assistant(
        { type: "step-start" },
        "I look.",
        tool({}),
        tool({ state: "output-error", errorText: "It did not work.", toolCallId: "2" }),
        { type: "step-start" },
        tool({ state: "output-denied", type: "tool-pay", input: undefined, toolCallId: "3" }),
        { type: "step-start" },
        { type: "reasoning", text: "Hm." },
        "Done."
      ),
      user("Thanks.")
    )
    assert.deepStrictEqual<object>(messages, [
      { role: "user", text: "?" },
      {
        role: "assistant",
        text: "I look.",
        calls: [
          { id: "call_1", name: "look", arguments: "{\"city\":\"Oslo\"}" },
          { id: "call_2", name: "look", arguments: "{\"city\":\"Oslo\"}" }
        ]
      },
      { role: "tool", callId: "call_1", name: "look", text: "\"mild\"" },
      { role: "tool", callId: "call_2", name: "look", text: "It did not work." },
      { role: "assistant", text: "", calls: [{ id: "call_3", name: "pay", arguments: "{}" }] },
      { role: "tool", callId: "call_3", name: "pay", text: "The user did not approve this." },
      { role: "assistant", text: "Done.", calls: [] }
    ])
  })

  it("has no call without its result, no name that a provider refuses, and no system prompt", () => {
    const { messages } = read(
      message("system", ["Obey."]),
      assistant(
        tool({ state: "input-available" }),
        tool({ preliminary: true }),
        tool({ type: "tool-a b" }),
        tool({ type: "dynamic-tool", toolName: "x".repeat(65) }),
        tool({ type: "dynamic-tool", toolName: "known", output: undefined })
      )
    )
    assert.deepStrictEqual<object>(messages, [
      { role: "assistant", text: "", calls: [{ id: "call_1", name: "known", arguments: "{\"city\":\"Oslo\"}" }] },
      { role: "tool", callId: "call_1", name: "known", text: "null" }
    ])
  })

  it.effect("is one that an agent goes on with, from the message of any run", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.empty })
      for (const scenario of scenarios) {
        for (const { message } of yield* play(scenario)) {
          const { question = "", transcript } = AiSdk.fromUiMessages([user("?"), message, user("And?")])
          const answer = yield* agent.run(question, { transcript }).pipe(
            Effect.provide(ScriptedModel.layer([ScriptedModel.text("Yes.")]))
          )
          assert.strictEqual(answer.text, "Yes.", scenario.name)
        }
      }
    }))

  it("is read from anything at all", () => {
    const key = fc.constantFrom("id", "role", "parts", "type", "text", "url", "state", "toolCallId", "input", "output")
    const value = fc.letrec<{ readonly node: unknown }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom<unknown>(
          "user",
          "assistant",
          "text",
          "file",
          "tool-look",
          "output-available",
          "data:,x",
          null,
          1
        ),
        fc.array(tie("node"), { maxLength: 3 }),
        fc.dictionary(key, tie("node"), { maxKeys: 5 })
      )
    })).node
    fc.assert(
      fc.property(fc.oneof(value, fc.array(value), fc.anything()), (messages) => {
        const { question, transcript } = AiSdk.fromUiMessages(messages as ReadonlyArray<UIMessage>)
        Schema.encodeSync(Transcript.schema)(transcript)
        assert.include(["string", "object", "undefined"], typeof question)
        AiSdk.repliesTo({ questions: [words, approval, result] }, messages as ReadonlyArray<UIMessage>)
      }),
      { numRuns: runs(4000) }
    )
  })
})

// -----------------------------------------------------------------------------

const id = (call: number) => `r/turn/1/call/${call}`
const asks = (call: number, kind: Question.Kind) => ({ id: `${id(call)}/question/1`, kind, tool: "t", text: "?" })

const words: Question.Question = asks(1, "reply")
const approval: Question.Question = { ...asks(2, "approval"), digest: "now" }
const result: Question.Question = asks(3, "client")
const questions = [words, approval, result]

/** What the stream shows of a question in words. */
const asked = ({ id }: Question.Question) => ({ type: "data-question" as const, id, data: {} })

const decided = (fields: object) =>
  tool({
    toolCallId: id(2),
    state: "approval-responded",
    approval: { id: approval.id, approved: true, descriptor: { digest: "d" }, ...fields }
  })

const repliesIn = (...messages: ReadonlyArray<UIMessage>) => AiSdk.repliesTo({ questions }, messages)

describe("the addresses of files", () => {
  it("are read in time, however long they are", () => {
    const begun = performance.now()
    for (
      const url of [`data:${"a".repeat(500_000)}`, `data:${"a;".repeat(250_000)}`, `data:a${";base64".repeat(70_000)}`]
    ) {
      assert.isUndefined(AiSdk.fromUiMessages([user(file(url))]).question)
    }
    assert.isBelow(performance.now() - begun, 2_000)
  })
})

describe("the replies", () => {
  it("are those of the last message to the open questions, with the digest that was shown", () => {
    assert.deepStrictEqual(
      repliesIn(assistant(
        tool({ toolCallId: id(1), output: "four" }),
        asked(words),
        decided({ reason: "Well." }),
        tool({ toolCallId: id(3), output: { city: "Oslo" } }),
        tool({ toolCallId: id(4), output: "of the server" })
      )),
      [
        { id: words.id, reply: "four" },
        { id: approval.id, digest: "d", approved: true },
        { id: result.id, result: { city: "Oslo" } }
      ]
    )
    assert.deepStrictEqual(
      repliesIn(assistant(
        decided({ approved: false, reason: "Too much." }),
        tool({ toolCallId: id(3), state: "output-error", output: undefined, errorText: "No window." })
      )),
      [
        { id: approval.id, digest: "d", approved: false, reason: "Too much." },
        { id: result.id, failure: "No window." }
      ]
    )
  })

  it("are none, if the user wrote something else meanwhile, or decided nothing that was shown", () => {
    assert.deepStrictEqual(repliesIn(assistant(decided({})), user("Wait!")), [{ id: words.id, reply: "Wait!" }])
    assert.deepStrictEqual(AiSdk.repliesTo({ questions: [approval] }, [assistant(decided({})), user("Wait!")]), [])
    assert.deepStrictEqual(repliesIn(assistant(decided({ descriptor: {} }))), [])
    assert.deepStrictEqual(repliesIn(assistant(decided({ approved: "yes" }))), [])
    assert.deepStrictEqual(repliesIn(assistant(decided({ id: "another" }))), [])
    assert.deepStrictEqual(repliesIn(assistant(tool({ toolCallId: id(3), preliminary: true }))), [])
    assert.deepStrictEqual(repliesIn(assistant(tool({ toolCallId: id(1), output: 4 }), asked(words))), [])
    assert.deepStrictEqual(repliesIn(assistant(decided({})), user(" ")), [])
  })

  it("are none to a question that the page has not seen, whose call has asked before", () => {
    const next = { ...words, id: `${id(1)}/question/2` }
    const stale = assistant(tool({ toolCallId: id(1), output: "yes" }), asked(words))
    assert.deepStrictEqual(AiSdk.repliesTo({ questions: [next] }, [stale]), [])
  })

  it("say who replies, and have the arguments that were edited", () => {
    const edits = { [approval.id]: { amount: 5 } }
    const options = { by: "Ada", edits }
    assert.deepStrictEqual(AiSdk.repliesTo({ questions }, [assistant(decided({}))], options), [
      { id: approval.id, digest: "d", approved: true, arguments: { amount: 5 }, by: "Ada" }
    ])
    assert.deepStrictEqual(AiSdk.repliesTo({ questions }, [assistant(decided({ approved: false }))], options), [
      { id: approval.id, digest: "d", approved: false, by: "Ada" }
    ])
    assert.deepStrictEqual(AiSdk.repliesTo({ questions }, [user("four")], options), [
      { id: words.id, reply: "four", by: "Ada" }
    ])
  })

  it("are replies that decode", () => {
    for (const reply of repliesIn(assistant(decided({}), tool({ toolCallId: id(3), output: undefined })))) {
      assert.deepStrictEqual(Schema.decodeUnknownSync(Question.Reply)(reply), reply)
    }
  })
})

describe("what the assistant's last message waits with", () => {
  it("is in its metadata, with the decisions of the user", () => {
    const waiting = { ...assistant(decided({})), metadata: { suspension: "s" } }
    const { replies, suspension } = AiSdk.fromUiMessages([user("?"), waiting])
    assert.strictEqual(suspension, "s")
    assert.deepStrictEqual(replies, [{ id: approval.id, digest: "d", approved: true }])
    const after = AiSdk.fromUiMessages([waiting, user("four")])
    assert.strictEqual(after.suspension, "s")
    assert.deepStrictEqual(after.replies, [])
    assert.strictEqual(AiSdk.fromUiMessages([waiting, user("?"), assistant("!")]).suspension, undefined)
  })
})
