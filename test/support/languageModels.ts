/** Language models of the AI SDK, made by hand: with any behaviour, also one that no type permits. */
import type { LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider"
import { AiSdk } from "@fallible/ai-sdk"
import type { Model } from "@fallible/core"
import { Effect, Exit, Schedule, Stream } from "effect"
import type { Untyped } from "./nonsense.ts"
import { request } from "./question.ts"

export const versions = ["v3", "v4"] as const
export type Version = typeof versions[number]

/** Makes a model. What `fields` does not have is as simple as it can be. */
export const languageModel = (fields: object, version: Version = "v4"): LanguageModelV3 | LanguageModelV4 => {
  const model: Untyped = {
    specificationVersion: version,
    provider: "played",
    modelId: "any",
    supportedUrls: {},
    doGenerate: async () => whole([{ type: "text", text: "Hello." }]),
    doStream: async () => streamOf([...textParts("Hello."), finish]),
    ...fields
  }
  return model
}

export const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 }
}

export const whole = (content: unknown, fields: object = {}) => ({
  content,
  finishReason: { unified: "stop", raw: "stop" },
  usage,
  warnings: [],
  ...fields
})

export const finish = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage }

export const textParts = (text: string, id = "0"): ReadonlyArray<object> => [
  { type: "text-start", id },
  { type: "text-delta", id, delta: text },
  { type: "text-end", id }
]

/** A stream of parts, which then ends, fails or goes on for ever. */
export const streamOf = (
  parts: ReadonlyArray<unknown>,
  ending: { readonly error: unknown } | "end" | "stall" = "end",
  cancel: () => void = () => {}
) => {
  let index = 0
  return {
    stream: new ReadableStream<unknown>({
      pull: (controller) => {
        if (index < parts.length) return controller.enqueue(parts[index++])
        if (ending === "stall") return new Promise(() => {})
        if (ending === "end") return controller.close()
        return controller.error(ending.error)
      },
      cancel
    }, { highWaterMark: 0 })
  }
}

/** Asks once, without retries. */
export const once = (
  model: LanguageModelV3 | LanguageModelV4,
  asked: Model.Request = request,
  settings: AiSdk.Settings = {}
) => AiSdk.make(model, { retry: Schedule.recurs(0), ...settings }).respond(asked)

/** Asks once for a stream, and returns its reply. */
export const onceStreamed = (
  model: LanguageModelV3 | LanguageModelV4,
  asked: Model.Request = request,
  settings: AiSdk.Settings = {}
) =>
  Effect.map(
    Stream.runCollect(AiSdk.make(model, { retry: Schedule.recurs(0), ...settings }).stream(asked)),
    (parts) => parts.flatMap((part) => part._tag === "Replied" ? [part.reply] : [])
  )

/** One reply or one typed failure; throws for a defect. */
export const settled = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<{ value: A } | { failure: E }> =>
  Effect.map(Effect.exit(effect), (exit): { value: A } | { failure: E } => {
    if (Exit.isSuccess(exit)) return { value: exit.value }
    const [reason] = exit.cause.reasons
    if (exit.cause.reasons.length === 1 && reason?._tag === "Fail") return { failure: reason.error }
    throw new Error(`a defect: ${String(exit.cause)}`)
  })
