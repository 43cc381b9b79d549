/** What a model is asked: the same whether the prompt grew or was made from scratch, and whatever it does with it. */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@fallible/ai-sdk"
import { Agent, Model, ModelFailure, Tool, type ToolCall, Toolkit, Transcript } from "@fallible/core"
import { Effect, Schedule, Schema } from "effect"
import * as fc from "fast-check"
import { languageModel, once, type Version, versions, whole } from "../support/languageModels.ts"
import type { Untyped } from "../support/nonsense.ts"

interface Options {
  readonly prompt: Array<Untyped>
  readonly tools?: Array<Untyped>
  readonly providerOptions?: Untyped
}

/** A model that keeps a copy of each prompt it is asked, and lets `tamper` at the original. */
const atOnce = { retry: Schedule.recurs(1) }

const recording = (
  version: Version = "v4",
  tamper: (options: Options) => void = () => {},
  reply: (index: number) => unknown = () => whole([{ type: "text", text: "Hello." }])
) => {
  const prompts: Array<Untyped> = []
  const kept: Array<Options> = []
  const model = languageModel({
    supportedUrls: { "image/*": [/^https:\/\/pictures\.example\//g] },
    doGenerate: async (options: Options) => {
      prompts.push(structuredClone(JSON.parse(JSON.stringify(options))))
      kept.push(options)
      tamper(options)
      return reply(prompts.length - 1)
    }
  }, version)
  return { prompts, kept, model }
}

// -----------------------------------------------------------------------------
// Random transcripts
// -----------------------------------------------------------------------------

const native = (text: string, calls: ReadonlyArray<ToolCall.ToolCall>) => ({
  "ai-sdk/played": [
    { type: "reasoning", text: "Hm.", providerOptions: { played: { signature: "s" } } },
    { type: "text", text },
    ...calls.map(({ id, name }) => ({ type: "tool-call", toolCallId: id, toolName: name }))
  ]
})

const file: fc.Arbitrary<Transcript.File> = fc.constantFrom<Transcript.File>(
  { mediaType: "image/png", base64: "AAAA" },
  { mediaType: "application/pdf", base64: "AAAA", name: "a.pdf" },
  { url: "https://pictures.example/1.png", mediaType: "image/png" },
  { url: "https://pictures.example/2.png" },
  { url: "https://elsewhere.example/1.png", mediaType: "image/png" },
  { url: "data:image/png;base64,AAAA" },
  { url: "data:image/png;charset=x;base64,AAAA" },
  { url: "data:,hello" },
  { url: "no address" }
)

const call = fc.record({
  id: fc.constantFrom("1", "2", "3"),
  name: fc.constantFrom("add", "pay it"),
  arguments: fc.constantFrom("{\"n\":1}", "{n: 1,}", "{\"n\":", "", "{\"__proto__\":{\"a\":1}}")
})

const turn: fc.Arbitrary<ReadonlyArray<Transcript.Message>> = fc.oneof(
  fc.record({ text: fc.constantFrom("Hi", "", "Go on"), files: fc.array(file, { maxLength: 3 }) }).map((
    { files, text }
  ) => [{ role: "user" as const, text, ...(files.length === 0 ? {} : { files }) }]),
  fc.tuple(
    fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id }),
    fc.constantFrom("own", "edited", "ids", "fewer", "none"),
    fc.array(file, { maxLength: 2 })
  ).map(([made, kind, files]) => {
    const calls = made.map((fields) => ({ ...fields }))
    const sent = kind === "ids"
      ? calls.map((call) => ({ ...call, id: `old_${call.id}` }))
      : kind === "fewer"
      ? [...calls, ...calls]
      : calls
    return [
      {
        role: "assistant" as const,
        text: "Let me see",
        calls,
        ...(kind === "none" ? {} : { native: native(kind === "edited" ? "Other" : "Let me see", sent) })
      },
      ...calls.map(({ id, name }) => ({
        role: "tool" as const,
        callId: id,
        name,
        text: "3",
        ...(files.length === 0 ? {} : { files })
      }))
    ]
  })
)

const tampering = ({ prompt, providerOptions, tools }: Options): void => {
  for (const message of prompt) {
    if (Array.isArray(message.content)) {
      for (const part of message.content) {
        part.text = "tampered"
        if (part.input) part.input.tampered = true
        if (part.output) part.output.value = "tampered"
        if (part.providerOptions?.played) part.providerOptions.played.signature = "tampered"
      }
      message.content.push({ type: "text", text: "tampered" })
    } else message.content = "tampered"
    message.role = "tampered"
  }
  prompt.length = 0
  for (const tool of tools ?? []) if (tool.inputSchema) tool.inputSchema.properties = { tampered: {} }
  if (providerOptions) providerOptions.played.tampered = true
}

describe("a prompt", () => {
  for (const version of versions) {
    it(`that grew is the one that is made from scratch (${version})`, () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(turn, { minLength: 1, maxLength: 6 }),
          fc.array(fc.nat(20), { minLength: 1, maxLength: 6 }),
          fc.boolean(),
          async (turns, lengths, stored) => {
            const messages = turns.flat()
            const grown = recording(version, tampering)
            const asked = AiSdk.make(grown.model, atOnce)
            const options = { provider: { played: { a: 1 } } }
            const views: Array<Transcript.Transcript> = []
            let transcript = Transcript.make([{ role: "system", text: "Be brief." }])
            views.push(transcript)
            for (const message of messages) views.push(transcript = transcript.append(message))
            const order = [...views, ...lengths.map((at) => views[at % views.length]!)]
            // A branch: an older transcript that goes on otherwise.
            order.push(views[0]!.append({ role: "user", text: "Otherwise" }), transcript)
            for (const view of order) {
              const given = stored
                ? Schema.decodeSync(Transcript.schema)(
                  JSON.parse(JSON.stringify(Schema.encodeSync(Transcript.schema)(view)))
                )
                : view
              const fresh = recording(version)
              await Effect.runPromise(asked.respond({ transcript: given, tools: [], options }))
              await Effect.runPromise(
                AiSdk.make(fresh.model).respond({ transcript: Transcript.make(view), tools: [], options })
              )
              assert.deepStrictEqual(grown.prompts.at(-1), fresh.prompts[0])
            }
            assert.deepStrictEqual(options, { provider: { played: { a: 1 } } })
          }
        ),
        { numRuns: 60 }
      ))
  }

  it.effect("that a model keeps does not grow, and concurrent requests over one lineage do not mix", () =>
    Effect.gen(function*() {
      const { kept, model, prompts } = recording()
      const asked = AiSdk.make(model)
      let transcript = Transcript.make([{ role: "user", text: "0" }])
      const views = [transcript]
      for (let index = 1; index < 30; index++) {
        views.push(transcript = transcript.append({ role: "user", text: String(index) }))
      }
      yield* Effect.forEach(views, (view) => asked.respond({ transcript: view, tools: [] }), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        prompts.map(({ prompt }) => prompt.length).toSorted((a, b) => a - b),
        views.map(({ length }) => length)
      )
      assert.deepStrictEqual(kept.map(({ prompt }) => prompt.length), prompts.map(({ prompt }) => prompt.length))
    }))

  it.effect("is right in a run whose middleware changes what it is given, and so are the tools", () =>
    Effect.gen(function*() {
      const add = Tool.make("add", {
        description: "Adds",
        parameters: Schema.Struct({ n: Schema.Number }),
        success: Schema.Number,
        sideEffect: "none"
      }, ({ n }) => Effect.succeed(n + 1))
      const reply = (index: number) =>
        whole(
          index < 3
            ? [{ type: "tool-call", toolCallId: `c${index}`, toolName: "add", input: `{"n":${index}}` }]
            : [{ type: "text", text: "Done." }]
        )
      const run = (tamper?: (options: Options) => void) =>
        Effect.gen(function*() {
          // The first request of a model that changes it counts for nothing.
          const { model, prompts } = recording("v4", tamper, (index) => reply(tamper === undefined ? index : index - 1))
          yield* Agent.make({ toolkit: Toolkit.make(add) }).run("Go.").pipe(Effect.provide(AiSdk.layer(model, atOnce)))
          return prompts
        })
      const [expected, [refused, ...actual]] = [yield* run(), yield* run(tampering)]
      assert.strictEqual(expected.length, 4)
      // The first request was read-only. It was made again as a copy, as the report says.
      assert.deepStrictEqual(refused, expected[0])
      assert.deepStrictEqual(actual, expected)
    }))
})

describe("a prompt in a run", () => {
  it.effect("is the one that is made from scratch, also where results are shortened and ids replaced", () =>
    Effect.gen(function*() {
      const read = Tool.make("read", {
        description: "Reads",
        parameters: Schema.Struct({ n: Schema.Number }),
        success: Schema.String,
        sideEffect: "none"
      }, ({ n }) => Effect.succeed(`${n} ${"long ".repeat(2000)}`))
      const call = (n: number) => ({ type: "tool-call", toolCallId: "same", toolName: "read", input: `{"n":${n}}` })
      const { model, prompts } = recording(
        "v4",
        tampering,
        (index) => whole(index < 8 ? [call(index), call(index), call(-index)] : [{ type: "text", text: "Done." }])
      )
      const asked = AiSdk.make(model, { contextWindow: 4000, ...atOnce })
      const expected: Array<Untyped> = []
      const watched = Model.make({
        ...asked,
        respond: (request) =>
          Effect.gen(function*() {
            const fresh = recording()
            yield* AiSdk.make(fresh.model).respond({ ...request, transcript: Transcript.make(request.transcript) })
            expected.push(fresh.prompts[0])
            return yield* asked.respond(request)
          })
      })
      const agent = Agent.make({ toolkit: Toolkit.make(read) })
      const first = yield* Effect.provideService(agent.run("Go."), Model.Model, watched)
      yield* Effect.provideService(agent.run("Again.", { transcript: first.transcript }), Model.Model, watched)
      assert.isAbove(prompts.length, 9)
      assert.deepStrictEqual(prompts.slice(1), expected)
    }))
})

// -----------------------------------------------------------------------------
// Files
// -----------------------------------------------------------------------------

describe("a file", () => {
  const picture: Transcript.File = { mediaType: "image/png", base64: "AAAA" }
  const pdf: Transcript.File = { mediaType: "application/pdf", base64: "AAAA", name: "a.pdf" }
  const known: Transcript.File = { url: "https://pictures.example/1.png", mediaType: "image/png" }
  const unknown: Transcript.File = { url: "https://elsewhere.example/1.png", mediaType: "image/png" }
  const inUrl: Transcript.File = { url: "data:application/pdf;name=a;base64,AAAA" }

  const expected: Readonly<Record<Version, ReadonlyArray<unknown>>> = {
    v3: [
      { type: "file", mediaType: "image/png", data: "AAAA" },
      { type: "file", mediaType: "application/pdf", filename: "a.pdf", data: "AAAA" },
      { type: "file", mediaType: "image/png", data: "https://pictures.example/1.png" },
      {
        type: "text",
        text: "[A file is attached here that you cannot read: image/png, https://elsewhere.example/1.png.]"
      },
      { type: "file", mediaType: "application/pdf", data: "AAAA" }
    ],
    v4: [
      { type: "file", mediaType: "image/png", data: { type: "data", data: "AAAA" } },
      { type: "file", mediaType: "application/pdf", filename: "a.pdf", data: { type: "data", data: "AAAA" } },
      { type: "file", mediaType: "image/png", data: { type: "url", url: "https://pictures.example/1.png" } },
      {
        type: "text",
        text: "[A file is attached here that you cannot read: image/png, https://elsewhere.example/1.png.]"
      },
      { type: "file", mediaType: "application/pdf", data: { type: "data", data: "AAAA" } }
    ]
  }

  for (const version of versions) {
    it.effect(`of a user is sent in each form, also on later turns (${version})`, () =>
      Effect.gen(function*() {
        const { model, prompts } = recording(version)
        const asked = AiSdk.make(model)
        let transcript = Transcript.make([{ role: "user", text: "", files: [picture, pdf, known, unknown, inUrl] }])
        for (let index = 0; index < 3; index++) {
          yield* asked.respond({ transcript, tools: [] })
          assert.deepStrictEqual(prompts[index].prompt[0].content, expected[version] as Untyped)
          // The same address again is supported again.
          transcript = transcript.append({ role: "user", text: "", files: [known] })
        }
        assert.strictEqual(prompts[2].prompt[2].content[0].type, "file")
      }))

    it.effect(`of a tool is sent beside its text (${version})`, () =>
      Effect.gen(function*() {
        const { model, prompts } = recording(version)
        const transcript = Transcript.make([
          { role: "user", text: "Go" },
          { role: "assistant", text: "", calls: [{ id: "1", name: "draw", arguments: "{}" }] },
          { role: "tool", callId: "1", name: "draw", text: "Done", files: [picture, pdf, known] }
        ])
        yield* once(model, { transcript, tools: [] })
        const { output } = prompts[0].prompt[2].content[0]
        assert.strictEqual(output.type, "content")
        assert.deepStrictEqual(
          output.value.map(({ type }: Untyped) => type),
          version === "v3" ? ["text", "image-data", "file-data", "image-url"] : ["text", "file", "file", "file"]
        )
      }))

    it.effect(`that the model made is shown, kept as JSON, and goes back as it came (${version})`, () =>
      Effect.gen(function*() {
        const forms = version === "v3"
          ? [new Uint8Array([0, 0, 0]), "AAAA"]
          : [{ type: "data", data: new Uint8Array([0, 0, 0]) }, { type: "data", data: "AAAA" }, {
            type: "url",
            url: new URL("https://pictures.example/9.png")
          }]
        const { model, prompts } = recording(
          version,
          undefined,
          (index) =>
            whole(
              index === 0
                ? forms.map((data) => ({ type: "file", mediaType: "image/png", data }))
                : [{ type: "text", text: "Hi" }]
            )
        )
        const asked = AiSdk.make(model)
        const transcript = Transcript.make([{ role: "user", text: "Draw" }])
        const reply = yield* asked.respond({ transcript, tools: [] })
        assert.strictEqual(reply.files?.length, forms.length)
        const next = transcript.append({
          role: "assistant",
          ...JSON.parse(JSON.stringify({ text: "", calls: [], native: reply.native }))
        })
        yield* asked.respond({ transcript: next.append({ role: "user", text: "Again" }), tools: [] })
        const sent = prompts[1].prompt[1].content.map(({ data }: Untyped) => data)
        assert.deepStrictEqual(
          sent,
          version === "v3"
            ? ["AAAA", "AAAA"]
            : [{ type: "data", data: "AAAA" }, { type: "data", data: "AAAA" }, {
              type: "url",
              url: "https://pictures.example/9.png"
            }]
        )
      }))

    it.effect(`that the model cannot read is a note when it is asked again, once: of users, tools, itself (${version})`, () =>
      Effect.gen(function*() {
        const refusing = (options: Options) => {
          if (JSON.stringify(options.prompt).includes("AAAA")) {
            throw Object.assign(new Error("'file' functionality not supported."), {
              name: "AI_UnsupportedFunctionalityError"
            })
          }
        }
        const places: ReadonlyArray<ReadonlyArray<Transcript.Message>> = [
          [{ role: "user", text: "Look", files: [pdf] }],
          [
            { role: "assistant", text: "", calls: [{ id: "1", name: "draw", arguments: "{}" }] },
            { role: "tool", callId: "1", name: "draw", text: "Done", files: [pdf] }
          ],
          [{
            role: "assistant",
            text: "",
            calls: [],
            native: { "ai-sdk/played": [{ type: "file", mediaType: "application/pdf", file: { ...pdf } }] }
          }]
        ]
        for (const messages of places) {
          const { model, prompts } = recording(version, refusing)
          const transcript = Transcript.make([{ role: "user", text: "Hi" }, ...messages])
          assert.strictEqual((yield* once(model, { transcript, tools: [] })).text, "Hello.")
          assert.strictEqual(prompts.length, 2)
          assert.include(JSON.stringify(prompts[1]), "cannot read: a.pdf")
        }
        const always = recording(version, () => {
          throw Object.assign(new Error("No."), { name: "AI_UnsupportedFunctionalityError" })
        })
        for (const [files, requests] of [[[pdf], 2], [[], 3]] as const) {
          const transcript = Transcript.make([{ role: "user", text: "Hi", files }])
          const failure = yield* Effect.flip(once(always.model, { transcript, tools: [] }))
          assert.isTrue(failure instanceof ModelFailure)
          assert.deepStrictEqual([failure.code, always.prompts.length], ["unsupported", requests])
        }
      }))
  }
})
