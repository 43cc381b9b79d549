import type { Model, ModelFailure } from "@fallible/core"
import type { Recorded } from "../ScriptedModel.ts"

/** The protocol of a model server, from the server's side. */
export interface Format {
  readonly name: "ollama" | "openai"
  /** The path of requests. */
  readonly path: string
  /** Returns the content of a request, or a description of what is wrong with the request. */
  readonly decode: (body: unknown) => Asked | string
  /** Writes a whole reply. */
  readonly whole: (reply: Model.Reply) => string
  /** Writes a streamed reply, in the pieces that a real server would send. */
  readonly streamed: (reply: Model.Reply, asked: Pick<Asked, "usage">) => ReadonlyArray<string>
  /** Writes one piece of a streamed body. */
  readonly frame: (text: string) => string
  readonly streamType: string
  /** Makes a reply that refuses; absent if the format has no such reply. */
  readonly refusal?: (text: string) => Model.Reply
  /** Writes what the server reports about a failure. */
  readonly problem: (failure: Pick<ModelFailure, "code" | "detail">) => string
}

/** A valid request. */
export interface Asked extends Recorded {
  readonly stream: boolean
  /** Whether a stream must report its usage. */
  readonly usage: boolean
}

/** Splits a string into pieces, never inside a character. */
export const pieces = (text: string): ReadonlyArray<string> => {
  const characters = Array.from(text)
  const length = 3
  return Array.from(
    { length: Math.ceil(characters.length / length) },
    (_, index) => characters.slice(index * length, (index + 1) * length).join("")
  )
}
