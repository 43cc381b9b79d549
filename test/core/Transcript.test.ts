import { assert, describe, it } from "@effect/vitest"
import { Transcript } from "@fallible/core"
import { Effect, Exit, Schema } from "effect"
import * as fc from "fast-check"
import { AppendOnly } from "../../packages/core/src/internal/value/appendOnly.ts"

const question: Transcript.Message = { role: "user", text: "How warm is it in Paris?" }
const conversation: ReadonlyArray<Transcript.Message> = [
  { role: "system", text: "Be brief." },
  question,
  {
    role: "assistant",
    text: "",
    calls: [{ id: "1", name: "get_weather", arguments: "{\"city\": \"Paris\"}" }, { id: "2", name: "ping" }],
    native: { signature: "opaque", parts: [1, null] }
  },
  { role: "tool", callId: "1", name: "get_weather", text: "21" },
  { role: "tool", callId: "2", name: "ping", text: "\"pong\"" },
  { role: "assistant", text: "21 degrees.", calls: [] },
  {
    role: "user",
    text: "And here?",
    files: [Transcript.file(new Uint8Array([0, 255]), "image/png"), { url: "https://example.org/paris.png" }]
  }
]

const decode = Schema.decodeUnknownEffect(Transcript.schema)

describe("Transcript", () => {
  it("appends to a copy, and does not change itself", () => {
    const short = Transcript.make([question])
    const long = short.append({ role: "assistant", text: "21.", calls: [] }, { role: "user", text: "And now?" })
    assert.deepStrictEqual(Array.from(long, ({ role }) => role), ["user", "assistant", "user"])
    assert.deepStrictEqual(Transcript.toArray(short), [question])
  })

  it("returns its messages by index, and nothing out of range", () => {
    const transcript = Transcript.make(conversation)
    assert.strictEqual(transcript.length, 7)
    assert.strictEqual(transcript.at(1), question)
    assert.deepStrictEqual([transcript.at(-1), transcript.at(7)], [undefined, undefined])
  })

  it("does not change with the arrays that it was made from or converted to", () => {
    const messages = [question]
    const transcript = Transcript.make(messages)
    messages.push(question)
    Transcript.toArray(transcript).pop()
    assert.deepStrictEqual(Transcript.toArray(transcript), [question])
  })

  describe("schema", () => {
    it.effect("round-trips a conversation through JSON", () =>
      Effect.gen(function*() {
        const encoded = yield* Schema.encodeEffect(Transcript.schema)(Transcript.make(conversation))
        const decoded = yield* decode(JSON.parse(JSON.stringify(encoded)))
        assert.instanceOf(decoded, Transcript.Transcript)
        assert.deepStrictEqual(Transcript.toArray(decoded), conversation)
      }))

    it.effect("decodes a transcript written by JSON.stringify", () =>
      Effect.gen(function*() {
        const transcript = Transcript.make(conversation)
        const text = JSON.stringify(transcript)
        assert.strictEqual(text, JSON.stringify(yield* Schema.encodeEffect(Transcript.schema)(transcript)))
        assert.deepStrictEqual(Transcript.toArray(yield* decode(JSON.parse(text))), conversation)
      }))

    it.effect("refuses another version and another role", () =>
      Effect.gen(function*() {
        const exits = yield* Effect.forEach(
          [
            { version: 3, messages: [] },
            { messages: [] },
            { version: 1, messages: [{ role: "developer", text: "Be brief." }] },
            { version: 2, messages: [{ role: "developer", text: "Be brief." }] }
          ],
          (value) => Effect.exit(decode(value))
        )
        assert.isTrue(exits.every(Exit.isFailure))
      }))
  })
})

describe("AppendOnly", () => {
  // Each step appends to one of the existing views.
  const steps = fc.array(fc.record({ onto: fc.nat(), items: fc.array(fc.nat(), { maxLength: 3 }) }))

  it("never changes a view, whatever is appended to another", () => {
    fc.assert(fc.property(fc.array(fc.nat(), { maxLength: 3 }), steps, (start, steps) => {
      const views = [{ view: AppendOnly.from(start), items: start }]
      for (const { items, onto } of steps) {
        const base = views[onto % views.length]!
        views.push({ view: base.view.append(items), items: [...base.items, ...items] })
      }
      for (const { items, view } of views) {
        assert.deepStrictEqual(view.toArray(), items)
        assert.deepStrictEqual(Array.from(view), items)
        assert.deepStrictEqual([view.length, view.at(items.length - 1)], [items.length, items.at(-1)])
        assert.isUndefined(view.at(items.length))
      }
    }))
  })

  it("iterates only over the items that existed at the start", () => {
    const view = AppendOnly.from([1, 2])
    const seen: Array<number> = []
    for (const item of view) {
      view.append([3])
      seen.push(item)
    }
    assert.deepStrictEqual(seen, [1, 2])
  })
})
