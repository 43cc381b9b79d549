import type { Model, ModelFailure } from "@fallible/core"
import type { Recorded } from "../ScriptedModel.ts"

/** How a model server is spoken to, seen from the server. */
export interface Format {
  readonly name: "ollama" | "openai"
  /** Where requests go. */
  readonly path: string
  /** What a request asks for, or what is wrong with it. */
  readonly decode: (body: unknown) => Asked | string
  /** A whole reply. */
  readonly whole: (reply: Model.Reply) => string
  /** A streamed reply, in the pieces in which a model makes it. */
  readonly streamed: (reply: Model.Reply, asked: Pick<Asked, "usage">) => ReadonlyArray<string>
  /** One piece of a streamed body. */
  readonly frame: (text: string) => string
  readonly streamType: string
  /** A reply that says no, where the format has that. */
  readonly refusal?: (text: string) => Model.Reply
  /** What the server says of a failure. */
  readonly problem: (failure: Pick<ModelFailure, "code" | "detail">) => string
}

/** A request that is right. */
export interface Asked extends Recorded {
  readonly stream: boolean
  /** Is a stream to say what it took? */
  readonly usage: boolean
}

/** A text in pieces, none of which ends inside a character. */
export const pieces = (text: string): ReadonlyArray<string> => {
  const characters = Array.from(text)
  const length = 3
  return Array.from(
    { length: Math.ceil(characters.length / length) },
    (_, index) => characters.slice(index * length, (index + 1) * length).join("")
  )
}
