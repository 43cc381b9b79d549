/** Files of questions and of tools' results, over the protocol of each provider. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Tool, ToolCall, Toolkit, Transcript } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Schema, Stream } from "effect"
import { ollama, openAi, providers, serving } from "../support/models.ts"

const gif = Transcript.file(new Uint8Array([71, 73, 70, 56]), "image/gif")
const png = Transcript.file(new Uint8Array([137, 80, 78, 71, 13]), "image/png", "chart.png")
const pdf = Transcript.file(new Uint8Array([37, 80, 68, 70]), "application/pdf", "bill\n7.pdf")
const zip = Transcript.file(new Uint8Array([80, 75]), "application/zip")
const away: Transcript.File = { url: "https://shop.example/7.png" }

const note = (what: string) => `[A file is attached here that you cannot read: ${what}.]`

const Body = Schema.Struct({ messages: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)) })

/** The messages of the last request, as the server got them. */
const sent = Effect.gen(function*() {
  const { requests } = yield* Effect.flatMap(FakeModelServer.FakeModelServer, ({ state }) => state)
  const last = requests.at(-1)
  assert.isUndefined(last?.problem)
  return Schema.decodeUnknownSync(Body)(JSON.parse(last?.body ?? "null")).messages
})

const asking = (files: ReadonlyArray<Transcript.File>) =>
  Effect.andThen(Agent.make({ toolkit: Toolkit.empty }).run({ text: "What is it?", files, cache: true }), sent)

const done = serving(openAi)([ScriptedModel.text("Done.")])
const doneByOllama = serving(ollama)([ScriptedModel.text("Done.")])

describe("a question's files", () => {
  it.effect("over Chat Completions are parts: pictures and PDFs; of others, the model reads a note", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* asking([png, pdf, zip, away]), [{
        role: "user",
        content: [
          { type: "text", text: `What is it?\n${note("application/zip, 2 bytes")}` },
          { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0=" } },
          { type: "file", file: { filename: "bill\n7.pdf", file_data: "data:application/pdf;base64,JVBERg==" } },
          { type: "image_url", image_url: { url: "https://shop.example/7.png" } }
        ]
      }])
    }).pipe(Effect.provide(done)))

  it.effect("over Chat Completions are what their address says, if nothing else does", () =>
    Effect.gen(function*() {
      const [question] = yield* asking([
        { url: "data:image/gif;base64,R0lGOA==" },
        { url: "data:application/pdf;base64,JVBERg==" },
        { url: "data:text/plain;base64,SGk=" },
        { url: "https://shop.example/7.pdf", mediaType: "application/pdf" }
      ])
      assert.deepStrictEqual(question?.["content"], [
        {
          type: "text",
          text: ["What is it?", note("text/plain, 2 bytes"), note("application/pdf, https://shop.example/7.pdf")].join(
            "\n"
          )
        },
        { type: "image_url", image_url: { url: "data:image/gif;base64,R0lGOA==" } },
        { type: "file", file: { filename: "file.pdf", file_data: "data:application/pdf;base64,JVBERg==" } }
      ])
    }).pipe(Effect.provide(done)))

  it.effect("over Chat Completions leave a text a text, if the model can read none of them", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* asking([zip]), [
        { role: "user", content: `What is it?\n${note("application/zip, 2 bytes")}` }
      ])
    }).pipe(Effect.provide(done)))

  it.effect("over Ollama are pictures; of others, and of addresses, the model reads a note", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* asking([gif, png, pdf, away, { url: "data:image/png;base64,iVBORw0=" }]), [{
        role: "user",
        content: `What is it?\n${note("bill 7.pdf, application/pdf, 4 bytes")}\n${note("https://shop.example/7.png")}`,
        images: ["R0lGOA==", "iVBORw0=", "iVBORw0="]
      }])
    }).pipe(Effect.provide(doneByOllama)))
})

const attaching = (name: string, ...files: ReadonlyArray<Transcript.File>) =>
  Tool.make(
    name,
    { description: "", success: Schema.String, sideEffect: "none" },
    () => Effect.as(Effect.forEach(files, ToolCall.attach, { discard: true }), "drawn")
  )

const drawing = Agent.make({
  toolkit: Toolkit.make(attaching("draw", png, zip), attaching("ping"), attaching("print", pdf), attaching("pack", zip))
})
const script = [
  ScriptedModel.calls(["draw"], ["ping"], ["print"]),
  ScriptedModel.calls(["pack"]),
  ScriptedModel.text("Done.")
]

describe("a tool's files", () => {
  it.effect("over Chat Completions follow all results of the turn, in a message of the user's", () =>
    Effect.gen(function*() {
      yield* drawing.run("Draw.")
      const messages = yield* sent
      assert.deepStrictEqual(messages.map(({ role }) => role), [
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
        "user",
        "assistant",
        "tool"
      ])
      const [, , first, second, third, files] = messages
      assert.deepStrictEqual([first, second, third].map((message) => message?.["content"]), [
        `"drawn"\n${note("application/zip, 2 bytes")}`,
        "\"drawn\"",
        "\"drawn\""
      ])
      assert.deepStrictEqual(files?.["content"], [
        { type: "text", text: "Files of the result of call_1:" },
        { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0=" } },
        { type: "text", text: "Files of the result of call_3:" },
        { type: "file", file: { filename: "bill\n7.pdf", file_data: "data:application/pdf;base64,JVBERg==" } }
      ])
      assert.strictEqual(messages.at(-1)?.["content"], `"drawn"\n${note("application/zip, 2 bytes")}`)
    }).pipe(Effect.provide(serving(openAi)(script))))

  it.effect("over Ollama are part of the result", () =>
    Effect.gen(function*() {
      yield* drawing.run("Draw.")
      const results = (yield* sent).filter(({ role }) => role === "tool")
      assert.deepStrictEqual(results.map(({ content, images }) => [content, images]), [
        [`"drawn"\n${note("application/zip, 2 bytes")}`, ["iVBORw0="]],
        ["\"drawn\"", undefined],
        [`"drawn"\n${note("bill 7.pdf, application/pdf, 4 bytes")}`, undefined],
        [`"drawn"\n${note("application/zip, 2 bytes")}`, undefined]
      ])
    }).pipe(Effect.provide(serving(ollama)(script))))

  for (const [name, provider] of providers) {
    it.effect(`reach the model in a stream, too, over ${name}`, () =>
      Effect.gen(function*() {
        yield* Stream.runDrain(drawing.stream("Draw."))
        assert.include(JSON.stringify(yield* sent), "iVBORw0=")
      }).pipe(Effect.provide(serving(provider)(script))))
  }
})
