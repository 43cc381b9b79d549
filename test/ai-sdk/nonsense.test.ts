/** Replies, streams and models that no type permits: each is one reply or one typed failure, and never a defect. */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@fallible/ai-sdk"
import { Agent, type Model, ModelFailure, Toolkit } from "@fallible/core"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import {
  finish,
  languageModel,
  once,
  onceStreamed,
  settled,
  streamOf,
  textParts,
  versions,
  whole
} from "../support/languageModels.ts"
import { nonsense, thenable, type Untyped } from "../support/nonsense.ts"
import { partsSettle } from "../support/randomParts.ts"

const generating = (result: () => unknown) => once(languageModel({ doGenerate: result }))
const streaming = (parts: ReadonlyArray<unknown>, ending?: Parameters<typeof streamOf>[1]) =>
  onceStreamed(languageModel({ doStream: async () => streamOf(parts, ending) }))

const partsIn = (reply: Model.Reply | undefined): Untyped => (reply?.native as Untyped)?.["ai-sdk/played"]

describe("a value that is no model", () => {
  it("is refused when the bridge is made", () => {
    const wrong: ReadonlyArray<readonly [model: unknown, says: RegExp]> = [
      ["anthropic/claude", /got the string "anthropic\/claude"/],
      [undefined, /got undefined/],
      [{}, /got object/],
      [languageModel({ specificationVersion: "v2" }), /version v2/],
      [languageModel({ doStream: undefined }), /without `doStream`/],
      [languageModel({ doGenerate: 7 }), /without `doGenerate`/],
      [languageModel({ provider: Symbol("x") }), /without `provider`/],
      [languageModel({ modelId: undefined }), /without `modelId`/]
    ]
    for (const [model, says] of wrong) assert.throws(() => AiSdk.make(model as Untyped), says)
  })
})

describe("what doGenerate returns", () => {
  for (const [name, make] of Object.entries(nonsense)) {
    it.effect(`may be ${name}`, () =>
      Effect.map(settled(generating(make)), (result) => {
        assert.isTrue("failure" in result && result.failure instanceof ModelFailure)
      }))
    // Nobody handles the rejection of a promise that is a field.
    if (name.includes("reject")) continue
    it.effect(`may have ${name} in each place`, () =>
      Effect.gen(function*() {
        const places: ReadonlyArray<() => unknown> = [
          async () => ({ content: make() }),
          async () => whole([make()]),
          async () => whole([], { finishReason: make() }),
          async () => whole([], { finishReason: { unified: make() } }),
          async () => whole([], { usage: make() }),
          async () => whole([], { usage: { inputTokens: make(), outputTokens: { total: make() } } }),
          async () => whole([], { warnings: make() }),
          async () => whole([], { warnings: [make()] }),
          ...["text", "reasoning", "custom", "file", "reasoning-file", "source", "tool-call", "tool-result"].flatMap((
            type
          ) =>
            [
              "text",
              "kind",
              "data",
              "mediaType",
              "url",
              "toolCallId",
              "toolName",
              "input",
              "result",
              "providerMetadata"
            ].map(
              (field) => async () => whole([{ type, toolCallId: "1", toolName: "t", [field]: make() }])
            )
          ),
          async () => whole([{ type: make() }])
        ]
        for (const place of places) {
          const result = yield* settled(generating(place))
          if ("failure" in result) {
            assert.isTrue(result.failure instanceof ModelFailure)
            assert.notStrictEqual(result.failure.code, "defect", String(place))
          } else assert.isString(JSON.stringify(result.value))
        }
      }))
  }

  it.effect("may have getters that throw: it is malformed", () =>
    Effect.gen(function*() {
      const throwing = {
        get type(): string {
          throw new Error("read")
        }
      }
      for (
        const result of [
          whole([throwing]),
          Object.defineProperty({}, "content", { get: () => assert.fail("read") })
        ]
      ) {
        const failure = yield* Effect.flip(generating(async () => result))
        assert.strictEqual(failure.code, "malformed_reply")
      }
      const streamed = yield* Effect.flip(streaming([throwing]))
      assert.strictEqual(streamed.code, "malformed_reply")
    }))

  it.effect("need not be a promise", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* generating(() => whole([{ type: "text", text: "Hi." }]))).text, "Hi.")
    }))

  it.effect("may never settle: it times out at its time, and not before", () =>
    Effect.gen(function*() {
      for (
        const model of [
          languageModel({ doGenerate: () => thenable(() => {}) }),
          languageModel({ supportedUrls: thenable(() => {}) })
        ]
      ) {
        const fiber = yield* Effect.forkChild(Effect.flip(once(model, undefined, { timeout: "10 seconds" })))
        yield* TestClock.adjust("9999 millis")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        const failure = yield* Fiber.join(fiber)
        assert.deepStrictEqual([failure.code, failure.transient], ["timeout", false])
      }
    }))

  it.effect("may have supported addresses that throw or reject: files with addresses are then notes", () =>
    Effect.gen(function*() {
      const failing = languageModel({})
      Object.defineProperty(failing, "supportedUrls", { get: () => assert.fail("none") })
      assert.strictEqual((yield* once(failing)).text, "Hello.")
      const rejecting = languageModel({ supportedUrls: Promise.reject(new Error("none")) })
      assert.strictEqual((yield* once(rejecting)).text, "Hello.")
    }))

  it.effect("has the usage that can be counted", () =>
    Effect.gen(function*() {
      for (const total of [Number.NaN, -1, 1.5, "7", null, Infinity, 2 ** 60]) {
        const reply = yield* generating(async () =>
          whole([], { usage: { inputTokens: { total, cacheRead: 2 }, outputTokens: { total, reasoning: total } } })
        )
        assert.deepStrictEqual(reply.usage, { cachedTokens: 2 } as Untyped)
      }
    }))

  it.effect("is a reply for any reason to finish that is no failure, and of no text if it says nothing", () =>
    Effect.gen(function*() {
      for (const unified of ["stop", "tool-calls", "other", "unknown", "a new one", undefined]) {
        const reply = yield* generating(async () =>
          whole([{ type: "text", text: "Hi." }], { finishReason: { unified } })
        )
        assert.strictEqual(reply.text, "Hi.")
        assert.notProperty(reply, "truncated")
      }
      const asked: ReadonlyArray<readonly [reason: string, content: ReadonlyArray<object>, code: string]> = [
        ["content-filter", [{ type: "text", text: "Hi." }], "refused"],
        ["error", [{ type: "text", text: "Hi." }], "cut_off"],
        ["length", [{ type: "reasoning", text: "Hm." }], "max_tokens"]
      ]
      for (const [unified, content, code] of asked) {
        const failure = yield* Effect.flip(generating(async () => whole(content, { finishReason: { unified } })))
        assert.deepStrictEqual([failure.code, failure.usage?.inputTokens], [code, 3])
      }
    }))
})

describe("a stream", () => {
  it.effect("that is none is malformed", () =>
    Effect.gen(function*() {
      for (const result of [undefined, 7, {}, { stream: [] }, { stream: null }]) {
        const failure = yield* Effect.flip(onceStreamed(languageModel({ doStream: async () => result })))
        assert.strictEqual(failure.code, "malformed_reply")
      }
    }))

  it.effect("that cannot be read, because someone else reads it, is a typed failure", () =>
    Effect.gen(function*() {
      const result = streamOf([finish])
      result.stream.getReader()
      const asked = yield* settled(onceStreamed(languageModel({ doStream: async () => result })))
      assert.isTrue("failure" in asked)
    }))

  it.effect("without `finish` was cut off, and a text before it is no reply", () =>
    Effect.gen(function*() {
      for (const parts of [[], textParts("Hello."), [{ type: "text-end", id: "0" }]]) {
        const failure = yield* Effect.flip(streaming(parts))
        assert.deepStrictEqual([failure.code, failure.transient], ["cut_off", true])
      }
    }))

  it.effect("that stalls times out at its time, and is cancelled", () =>
    Effect.gen(function*() {
      for (const parts of [[], textParts("Hel")]) {
        let cancelled = 0
        let signal: AbortSignal | undefined
        const model = languageModel({
          doStream: async (options: { readonly abortSignal: AbortSignal }) => {
            signal = options.abortSignal
            return streamOf(parts, "stall", () => void cancelled++)
          }
        })
        const fiber = yield* Effect.forkChild(Effect.flip(onceStreamed(model, undefined, { timeout: "10 seconds" })))
        // The parts are read first.
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        yield* TestClock.adjust("9999 millis")
        assert.isUndefined(fiber.pollUnsafe())
        assert.isFalse(signal?.aborted)
        yield* TestClock.adjust("1 millis")
        assert.strictEqual((yield* Fiber.join(fiber)).code, "timeout")
        assert.deepStrictEqual([cancelled, signal?.aborted], [1, true])
      }
    }))

  it.effect("has one reply, whatever follows its `finish`", () =>
    Effect.gen(function*() {
      const after: ReadonlyArray<ReadonlyArray<unknown>> = [
        [finish],
        [...textParts("More."), finish],
        [{ type: "error", error: new Error("late") }],
        [7]
      ]
      for (const more of after) {
        const replies = yield* streaming([...textParts("Hello."), finish, ...more])
        assert.deepStrictEqual(replies.map(({ text }) => text), ["Hello."])
      }
      const [reply] = yield* streaming([...textParts("Hello."), finish], { error: new Error("late") })
      assert.strictEqual(reply?.text, "Hello.")
    }))

  it.effect("may have deltas without a start, ends without a start, and blocks of one id that take turns", () =>
    Effect.gen(function*() {
      const [reply] = yield* streaming([
        { type: "text-end", id: "9" },
        { type: "text-delta", id: "0", delta: "Hel" },
        { type: "reasoning-start", id: "0" },
        { type: "reasoning-delta", id: "0", delta: "Hm." },
        { type: "text-delta", id: "0", delta: "lo" },
        { type: "reasoning-end", id: "0" },
        { type: "text-end", id: "0" },
        ...textParts(" again", "0"),
        { type: "tool-input-end", id: "c" },
        finish
      ])
      assert.deepInclude(reply, { text: "Hello again", reasoning: "Hm." })
    }))

  it.effect("has the calls that came in pieces, whole, or as pieces alone", () =>
    Effect.gen(function*() {
      const call = { type: "tool-call", toolCallId: "b", toolName: "add", input: "{\"n\":2}" }
      const pieces = (id: string) => [
        { type: "tool-input-start", id, toolName: "add" },
        { type: "tool-input-delta", id, delta: "{\"n\":" }
      ]
      const [reply] = yield* streaming([...pieces("a"), ...pieces("b"), call, { ...call, toolCallId: "c" }, finish])
      assert.deepStrictEqual(reply?.calls, [
        { id: "a", name: "add", arguments: "{\"n\":" },
        { id: "b", name: "add", arguments: "{\"n\":2}" },
        { id: "c", name: "add", arguments: "{\"n\":2}" }
      ] as Untyped)
    }))

  it.effect("passes over parts of unknown types, raw ones and pings, and keeps metadata of any part", () =>
    Effect.gen(function*() {
      const providerMetadata = { played: { signature: "s" } }
      const [reply] = yield* streaming([
        { type: "stream-start", warnings: [] },
        { type: "ping" },
        { type: "raw", rawValue: { isOfProvider: true } },
        { type: "response-metadata", id: "1", modelId: "other" },
        { type: "from-the-future", providerMetadata },
        { type: "tool-result", toolCallId: "1", toolName: "search", result: 1, isOfProvider: true },
        { type: "reasoning-start", id: "0", providerMetadata },
        { type: "reasoning-end", id: "0" },
        { type: "text-start", id: "0" },
        { type: "text-delta", id: "0", delta: "Hi.", providerMetadata: 7 },
        { type: "text-end", id: "0", providerMetadata },
        finish
      ])
      assert.deepStrictEqual(partsIn(reply).slice(1), [
        { type: "reasoning", text: "", providerOptions: providerMetadata },
        { type: "text", text: "Hi.", providerOptions: providerMetadata }
      ])
      assert.deepStrictEqual(reply?.providerCalls?.map(({ id, result }) => [id, result]), [["1", 1]])
    }))

  it.effect("has no empty text in what goes back, except a signed one", () =>
    Effect.gen(function*() {
      const signed = { type: "text-start", id: "1", providerMetadata: { played: { signature: "s" } } }
      const [reply] = yield* streaming([...textParts("").slice(0, 1), signed, ...textParts("Hi.", "2"), finish])
      assert.deepStrictEqual(partsIn(reply).map(({ text }: Untyped) => text), ["", "Hi."])
    }))
})

describe("a part of a stream", () => {
  for (const [name, make] of Object.entries(nonsense)) {
    // Nobody handles the rejection of a promise that is a part.
    if (name.includes("reject")) continue
    it.effect(`may be ${name}, and so may each of its fields`, () =>
      Effect.gen(function*() {
        const fields = [
          "id",
          "delta",
          "providerMetadata",
          "toolName",
          "toolCallId",
          "input",
          "warnings",
          "finishReason",
          "usage"
        ]
        const streams: ReadonlyArray<ReadonlyArray<unknown>> = [
          [make(), finish],
          ...["text-delta", "reasoning-delta", "tool-input-delta", "tool-call", "stream-start", "finish"].flatMap((
            type
          ) => fields.map((field) => [{ type, [field]: make() }, finish]))
        ]
        for (const parts of streams) {
          const result = yield* settled(streaming(parts))
          assert.isTrue("value" in result ? result.value.length === 1 : result.failure.code === "malformed_reply")
        }
      }))
  }
})

describe("an agent", () => {
  it.effect("goes on after calls without an id, a name or arguments, with objects as arguments, and of one id", () =>
    Effect.gen(function*() {
      for (const version of versions) {
        const prompts: Array<Untyped> = []
        const calls = [
          { type: "tool-call" },
          { type: "tool-call", toolCallId: "1", toolName: "none", input: { a: 1 } },
          { type: "tool-call", toolCallId: "1", toolName: "none", input: 7 },
          { type: "tool-call", toolCallId: "1", toolName: "other", input: "{\"a\":" },
          { type: "tool-result", toolCallId: "9", toolName: "never", result: {} }
        ]
        const model = languageModel({
          doGenerate: async ({ prompt }: Untyped) => {
            prompts.push(prompt)
            return whole(prompts.length === 1 ? calls : [{ type: "text", text: "Enough." }])
          }
        }, version)
        const answer = yield* Agent.make({ toolkit: Toolkit.empty }).run("Go.").pipe(Effect.provide(AiSdk.layer(model)))
        assert.strictEqual(answer.text, "Enough.")
        const [assistant, results] = prompts[1].slice(-2)
        const sent = assistant.content.filter(({ type }: Untyped) => type === "tool-call")
        const ids = sent.map(({ toolCallId }: Untyped) => toolCallId)
        assert.strictEqual(new Set(ids).size, ids.length)
        assert.deepStrictEqual(results.content.map(({ toolCallId }: Untyped) => toolCallId).toSorted(), ids.toSorted())
        for (const { input, toolName } of sent) {
          assert.match(toolName, /^[\w-]+$/)
          assert.isObject(input)
        }
      }
    }))
})

describe("random parts", () => {
  it("whole or streamed, and on the turn after, are one reply or one failure", () => partsSettle(300))
})
