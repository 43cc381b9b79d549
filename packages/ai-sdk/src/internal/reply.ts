/*
 * Makes a reply, or the failure that it is, from a provider's whole content.
 */
import type { Model, ModelFailure } from "@fallible/core"
import * as ModelProblem from "@fallible/core/ModelProblem"
import * as Effect from "effect/Effect"
import { nothingSeen, see, type Seen } from "./content.ts"
import { objectAt, textAt } from "./untyped.ts"

/** Who replies: how its failures tell of it, its name, and the key of what goes back to it. */
export interface Replier {
  readonly server: ModelProblem.Server
  readonly model: string
  readonly key: string
}

/** How a reply ended, and what it used. */
export interface Ending {
  readonly finishReason: unknown
  readonly usage: unknown
}

/** Makes a reply from the elements of its content. */
export const replyOf = (
  replier: Replier,
  content: Iterable<unknown>,
  { finishReason, usage: counts }: Ending
): Effect.Effect<Model.Reply, ModelFailure> => {
  const usage = usageOf(counts)
  const reason = reasonOf(finishReason)
  if (reason === "content-filter") return Effect.fail(ModelProblem.filtered(usage))
  if (reason === "error" || reason === "interrupted") {
    return Effect.fail(ModelProblem.cutOff(replier.server, finishReason, usage))
  }
  const seen = nothingSeen()
  for (const element of content) see(seen, element)
  const isEmpty = seen.text === "" && seen.calls.length === 0
  return reason === "length" && isEmpty
    ? Effect.fail(ModelProblem.usedUp(usage))
    : Effect.succeed(asReply(replier, seen, usage, { truncated: reason === "length", paused: isPause(finishReason) }))
}

const asReply = (
  { key, model }: Replier,
  { calls, files, native, providerCalls, reasoning, sources, text }: Seen,
  usage: Model.Usage | undefined,
  { paused, truncated }: { readonly truncated: boolean; readonly paused: boolean }
): Model.Reply => ({
  text,
  calls,
  model,
  ...(usage === undefined ? {} : { usage }),
  ...(truncated ? { truncated } : {}),
  ...(paused ? { paused } : {}),
  ...(reasoning === "" ? {} : { reasoning }),
  ...(providerCalls.length === 0 ? {} : { providerCalls }),
  ...(sources.length === 0 ? {} : { sources }),
  ...(files.length === 0 ? {} : { files }),
  native: { [key]: native }
})

// Providers of version 2 sent the reason itself. An unknown reason is one to stop: what the reply says decides.
const reasonOf = (reason: unknown): string | undefined =>
  typeof reason === "string" ? reason : textAt(reason, "unified")

// Anthropic pauses in the middle of long work with tools of its own.
const isPause = (reason: unknown): boolean => textAt(reason, "raw") === "pause_turn"

export const usageOf = (counts: unknown): Model.Usage | undefined => {
  const [input, output] = [objectAt(counts, "inputTokens"), objectAt(counts, "outputTokens")]
  const usage: Counts = {}
  count(usage, "inputTokens", input?.["total"])
  count(usage, "outputTokens", output?.["total"])
  count(usage, "cachedTokens", input?.["cacheRead"])
  count(usage, "cacheWrittenTokens", input?.["cacheWrite"])
  count(usage, "reasoningTokens", output?.["reasoning"])
  return Object.keys(usage).length === 0 ? undefined : usage
}

type Counts = { -readonly [Key in keyof Model.Usage]: Model.Usage[Key] }

const count = (usage: Counts, name: keyof Counts, value: unknown): void => {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) usage[name] = value
}
