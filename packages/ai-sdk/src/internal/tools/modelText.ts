/*
 * What the AI SDK's model reads of a result of ours, and for how long it is known.
 */
import type { Rendering } from "@fallible/core/Rendering"
import type { Completed } from "@fallible/core/ToolOutcome"
import type { Tool } from "ai"
import { written } from "../untyped.ts"

/** What `toModelOutput` returns. */
export type ModelOutput = Awaited<ReturnType<NonNullable<Tool["toModelOutput"]>>>

type Content = Extract<ModelOutput, { readonly type: "content" }>["value"]

/** Returns what the model reads of a result: the result itself, or with the notes on it, and the files beside it. */
export const modelOutputOf = (outcome: Completed, rendering: Rendering, name: string): ModelOutput => {
  const text = rendering(outcome, { id: "", name })
  const { files = [] } = outcome
  if (files.length === 0) return { type: "text", value: text }
  return { type: "content", value: [{ type: "text", text }, ...files.map(partOf)] }
}

const partOf = (file: NonNullable<Completed["files"]>[number]): Content[number] => {
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
