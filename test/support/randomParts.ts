/** Random parts of replies, of known and unknown types, with fields of any value. */
import { assert } from "@effect/vitest"
import { AiSdk } from "@fallible/ai-sdk"
import { Agent, type Model, Toolkit } from "@fallible/core"
import { Effect, type Layer, Schedule, Stream } from "effect"
import * as fc from "fast-check"
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
} from "./languageModels.ts"

const anything = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom("0", "1", "add", "text", "{\"n\":1}", "image/png", "data:,x", "https://x.example/a")
  },
  { weight: 1, arbitrary: fc.anything() }
)
const types = [
  "text",
  "text-start",
  "text-delta",
  "text-end",
  "reasoning",
  "reasoning-start",
  "reasoning-delta",
  "reasoning-end",
  "tool-input-start",
  "tool-input-delta",
  "tool-input-end",
  "tool-call",
  "tool-result",
  "tool-approval-request",
  "file",
  "reasoning-file",
  "source",
  "custom",
  "ping",
  "raw",
  "response-metadata",
  "stream-start",
  "finish",
  "error",
  "new"
]
const fields = [
  "id",
  "delta",
  "text",
  "toolCallId",
  "toolName",
  "input",
  "result",
  "data",
  "mediaType",
  "url",
  "title",
  "kind",
  "usage",
  "finishReason",
  "providerExecuted",
  "preliminary",
  "isError",
  "providerMetadata",
  "warnings",
  "error"
]
const part = fc.tuple(fc.constantFrom(...types), fc.dictionary(fc.constantFrom(...fields), anything)).map(
  ([type, fields]) => ({ ...fields, type })
)

/** Each reply of random parts, whole or streamed, and the turn after it, is one reply or one failure. */
export const partsSettle = (runs: number): Promise<void> =>
  fc.assert(
    fc.asyncProperty(
      fc.array(part, { maxLength: 8 }),
      fc.boolean(),
      fc.constantFrom(...versions),
      (parts, ends, version) =>
        Effect.runPromise(Effect.gen(function*() {
          let asked = 0
          const first = () => asked++ === 0
          const model = languageModel({
            doGenerate: async () => first() ? whole(parts) : whole([{ type: "text", text: "Enough." }]),
            doStream: async () =>
              streamOf(first() ? [...parts, ...(ends ? [finish] : [])] : [...textParts("Enough."), finish])
          }, version)
          const asReply = yield* settled(once(model))
          if ("value" in asReply) assert.isString(JSON.stringify(asReply.value))
          asked = 0
          const asStream = yield* settled(onceStreamed(model))
          assert.isTrue("failure" in asStream || asStream.value.length === 1)
          asked = 0
          const layer: Layer.Layer<Model.Model> = AiSdk.layer(model, { retry: Schedule.recurs(0) })
          const agent = Agent.make({ toolkit: Toolkit.empty, modelRetry: Schedule.recurs(0) })
          yield* settled(agent.run("Go.").pipe(Effect.provide(layer)))
          asked = 0
          yield* settled(Stream.runDrain(agent.stream("Go.")).pipe(Effect.provide(layer)))
        }))
    ),
    { numRuns: runs }
  )
