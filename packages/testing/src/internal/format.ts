import type { Model, ModelFailure } from "@fallible/core"
import type { IncomingHttpHeaders } from "node:http"
import type { Recorded } from "../ScriptedModel.ts"

/** The protocol of a model server, from the server's side. */
export interface Format {
  readonly name: "gemini" | "messages" | "ollama" | "openai" | "responses"
  /** The paths of requests. */
  readonly path: RegExp
  /** The header of the API key. */
  readonly keyHeader: "authorization" | "x-api-key" | "x-goog-api-key"
  /** Returns the content of a request, or a description of what is wrong with the request. */
  readonly decode: (body: unknown, head: Head) => Asked | string
  /** Writes a whole reply. */
  readonly whole: (reply: Model.Reply, wishes: Wishes) => string
  /** Writes a streamed reply, in the pieces that a real server would send. */
  readonly streamed: (reply: Model.Reply, wishes: Wishes) => ReadonlyArray<string>
  /** Writes one piece of a streamed body. */
  readonly frame: (text: string) => string
  readonly streamType: string
  /** Makes a reply that refuses; absent if the format has no such reply. */
  readonly refusal?: (text: string) => Model.Reply
  /** The statuses of failures that differ from those of other servers, by code. */
  readonly statuses?: ReadonlyMap<string, number>
  /** Writes what the server reports about a failure. */
  readonly problem: (failure: Problem, status: number) => string
}

/** A failure as a server reports it. */
export type Problem = Pick<ModelFailure, "code" | "detail" | "retryAfter">

/** What comes before the body of a request. */
export interface Head {
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

/** How a request wants its reply. */
export interface Wishes {
  readonly stream: boolean
  /** Whether a stream must report its usage. */
  readonly usage: boolean
  /** Whether the reply must begin with reasoning. Absent means no. */
  readonly reasoning?: boolean
  /** Whether reasoning must come in encrypted form, too. Absent means no. */
  readonly encrypted?: boolean
  /** Whether later requests may refer to the reply. Absent means no. */
  readonly stored?: boolean
}

/** A valid request. */
export interface Asked extends Recorded {
  readonly wishes: Wishes
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

/** Takes the first item of each list, then the second of each. Real servers may mix the pieces of several calls. */
export const interleave = <A>(lists: ReadonlyArray<ReadonlyArray<A>>): ReadonlyArray<A> =>
  Array.from(
    { length: Math.max(0, ...lists.map(({ length }) => length)) },
    (_, at) => lists.flatMap((list) => list.slice(at, at + 1))
  ).flat()
