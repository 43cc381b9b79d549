/** What a reply has beside its text and its calls: files, sources, the provider's own calls, and what the model thought. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, type Model, ModelFailure, Toolkit, Transcript } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as Answer from "@fallible/core/Answer"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Exit, Schedule, Schema, Stream } from "effect"
import { FileJournal } from "../support/fileJournal.ts"
import type { Untyped } from "../support/nonsense.ts"
import { ping } from "../support/pinging.ts"

const picture = Transcript.file(new Uint8Array([137, 80, 78, 71]), "image/png", "cat.png")
const source: Model.Source = { url: "https://news.example/1", title: "News" }

const besides = { sources: [source, { title: "A book", mediaType: "application/pdf" }], files: [picture] }

const first: Model.Reply = {
  ...ScriptedModel.call("ping"),
  reasoning: "Ping first.",
  files: [{ url: "https://x.example/draft.png" }],
  sources: [{ url: "https://old.example" }]
}
const last: Model.Reply = {
  text: "{\"animal\":\"cat\"}",
  calls: [],
  model: "painter-1",
  reasoning: "Now paint.",
  providerCalls: [
    { id: "1", name: "web_search", arguments: "{\"q\":\"cat\"}", result: { hits: 3 } },
    { id: "2", name: "code", failed: true }
  ],
  ...besides
}

const plain = Agent.make({ toolkit: Toolkit.make(ping) })
const typed = Agent.make({ toolkit: Toolkit.make(ping), output: Schema.Struct({ animal: Schema.String }) })
const model = ScriptedModel.layer([first, last])

describe("the last reply's files and sources", () => {
  it.effect("are in the answer, and are stored with it; those of earlier replies are not", () =>
    Effect.gen(function*() {
      const answer = yield* plain.run("?")
      assert.deepInclude({ ...answer }, besides)
      const stored = JSON.stringify(Schema.encodeSync(Answer.schema)(answer))
      assert.deepInclude({ ...Schema.decodeUnknownSync(Answer.schema)(JSON.parse(stored)) }, besides)
      // What the provider made is not sent back as a message.
      assert.notInclude(JSON.stringify(Array.from(answer.transcript)), "base64")
    }).pipe(Effect.provide(model)))

  it.effect("are in a typed answer, too", () =>
    Effect.gen(function*() {
      const answer = yield* typed.run("?")
      assert.deepInclude({ ...answer }, { value: { animal: "cat" }, ...besides })
    }).pipe(Effect.provide(model)))

  it.effect("are absent if there are none", () =>
    Effect.gen(function*() {
      assert.doesNotHaveAnyKeys(yield* plain.run("?"), ["files", "sources"])
    }).pipe(Effect.provide(ScriptedModel.layer([first, ScriptedModel.text("Done.")]))))
})

describe("all that a reply has", () => {
  it.effect("is in its event, and is replayed from a journal", () =>
    Effect.gen(function*() {
      const journal = new FileJournal()
      const events: Array<AgentEvent.AgentEvent> = []
      const run = (current: Journal.Journal) =>
        Stream.runForEach(plain.stream("?", { id: "run-1" }), (event) => Effect.sync(() => events.push(event))).pipe(
          Effect.provideService(Journal.current, current)
        )
      yield* journal.process(run)
      const replies = () =>
        events.splice(0).flatMap((event) => event._tag === "ModelReplied" ? [{ ...event.reply }] : [])
      assert.deepStrictEqual(replies(), [first, last])
      yield* journal.process(run)
      assert.deepStrictEqual(replies(), [first, last])
    }).pipe(Effect.provide(model)))

  it.effect("may be `undefined`, as in programs whose compiler does not tell that from absent", () =>
    Effect.gen(function*() {
      const nothing: Untyped = undefined
      const journal = new FileJournal()
      const fields = {
        usage: { inputTokens: 1, money: nothing },
        model: nothing,
        reasoning: nothing,
        providerCalls: nothing,
        sources: nothing,
        files: nothing,
        native: nothing,
        truncated: nothing
      }
      const failure = new ModelFailure({ code: "x", detail: "x", transient: true, model: nothing, usage: fields.usage })
      const script = [failure, { ...ScriptedModel.text("Done."), ...fields }]
      const exit = yield* journal.process((current) =>
        Stream.runForEach(
          Agent.make({ toolkit: Toolkit.make(ping), modelRetry: Schedule.recurs(1) }).stream("?"),
          (event) => Effect.sync(() => Schema.encodeSync(AgentEvent.schema)(event))
        ).pipe(Effect.provideService(Journal.current, current), Effect.provide(ScriptedModel.layer(script)))
      )
      assert.deepStrictEqual(exit, Exit.void)
    }))
})
