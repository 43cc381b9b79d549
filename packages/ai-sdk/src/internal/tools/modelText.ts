/*
 * What the AI SDK's model reads of a result of ours, and for how long it is known.
 */
import type { Rendering } from "@fallible/core/Rendering"
import type { Completed } from "@fallible/core/ToolOutcome"
import type { Tool } from "ai"

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

/** The results of the most recent calls, for the AI SDK asks for its model's words later. */
export class Recent<A> {
  readonly #kept = new Map<string, A>()

  get(id: string): A | undefined {
    return this.#kept.get(id)
  }

  set(id: string, value: A): void {
    this.#kept.set(id, value)
    if (this.#kept.size > most) this.#kept.delete(this.#kept.keys().next().value ?? "")
  }
}

const most = 1_000
