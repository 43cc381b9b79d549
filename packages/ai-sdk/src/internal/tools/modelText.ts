/*
 * What the AI SDK's model reads of a result of ours, and for how long it is known.
 */
import type { ToolCall } from "@fallible/core"
import type { Outcome } from "@fallible/core/CallSession"
import * as Rendering from "@fallible/core/Rendering"
import type { Completed } from "@fallible/core/ToolOutcome"
import type { Tool } from "ai"
import * as Effect from "effect/Effect"
import { jsonOf, silence, written } from "../untyped.ts"

/** What `toModelOutput` returns. */
export type ModelOutput = Awaited<ReturnType<NonNullable<Tool["toModelOutput"]>>>

type Content = Extract<ModelOutput, { readonly type: "content" }>["value"]

/** Writes an outcome. The call has ended by then, so a rendering that fails must not make another end of it. */
export const textBy = (
  rendering: Rendering.Rendering,
  outcome: Outcome,
  call: ToolCall.ToolCall
): Effect.Effect<string> =>
  Effect.catchCause(
    Effect.suspend(() => {
      const text: unknown = rendering(outcome, call)
      silence(text)
      return typeof text === "string"
        ? Effect.succeed(text)
        : Effect.die(new TypeError("A rendering returns a string."))
    }),
    (cause) => Effect.as(Effect.logError("The rendering of a call failed", cause), Rendering.json(outcome, call))
  )

/**
 * Returns what the model reads of a result, and the files beside it.
 *
 * @param isOwn whether the application itself has written the text. Otherwise a result without notes is as the AI SDK has it
 */
export const modelOutputOf = (outcome: Completed, text: string, isOwn: boolean): ModelOutput => {
  const { caveats, files = [], told, value } = outcome
  const alone = isOwn || caveats.length > 0 ? undefined : outputAlone(told === undefined ? value : told)
  if (files.length === 0) return alone ?? { type: "text", value: text }
  const words = alone?.type === "text" ? alone.value : text
  return { type: "content", value: [{ type: "text", text: words }, ...files.map(partOf)] }
}

/** Returns what the model reads of a result, if nothing else is known of it. */
export const outputAlone = (output: unknown): ModelOutput => {
  const json = output === undefined ? null : jsonOf(output)
  if (typeof json === "string") return { type: "text", value: json }
  return json === undefined ? { type: "text", value: written(output) } : { type: "json", value: asJson(json) }
}

// Theirs can be changed.
const asJson = (value: unknown) => value as Extract<ModelOutput, { readonly type: "json" }>["value"]

const partOf = (file: NonNullable<Completed["files"]>[number]): Content[number] => {
  // A tool may name a place that only its own program knows.
  if ("url" in file && !URL.canParse(file.url)) {
    return { type: "text", text: `A file that cannot be shown: ${file.url}` }
  }
  const { mediaType = "application/octet-stream", name } = file
  return {
    type: "file",
    mediaType,
    data: "url" in file ? { type: "url", url: new URL(file.url) } : { type: "data", data: file.base64 },
    ...(name === undefined ? {} : { filename: name })
  }
}

/** What the model reads of the most recent results, for the AI SDK asks for it later. Providers repeat the ids of calls. */
export class Recent {
  readonly #kept = new Map<string, ReadonlyArray<Said>>()

  /** @param output the result that the words must be about */
  get(id: string, output: unknown): ModelOutput | undefined {
    return this.#kept.get(id)?.findLast((said) => isSame(said.output, output))?.words
  }

  add(id: string, said: Said): void {
    this.#kept.set(id, [...(this.#kept.get(id) ?? []).slice(1 - mostOfOneId), said])
    if (this.#kept.size > most) this.#kept.delete(this.#kept.keys().next().value ?? "")
  }
}

interface Said {
  readonly output: unknown
  readonly words: ModelOutput
}

const most = 1_000
const mostOfOneId = 20

// A message that was stored has a copy.
const isSame = (one: unknown, other: unknown): boolean => Object.is(one, other) || written(one) === written(other)
