/**
 * The chunks of one message, for all who read it. They are kept, so that a reader may come late, or come back.
 *
 *     run ─ push ─┬─ the chunks so far ─ who comes late
 *                 └─ the readers who are there
 */
import type { UIMessageChunk } from "ai"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Reader } from "./Reader.ts"

export interface Broadcast {
  /** The chunks so far. Texts are in one piece. */
  readonly chunks: ReadonlyArray<UIMessageChunk>
  readonly isOver: boolean
  /** Sends a chunk to all readers, and keeps it. */
  readonly push: (chunk: UIMessageChunk) => Effect.Effect<void>
  /** There is nothing more to send. */
  readonly end: Effect.Effect<void>
  /** Sends the chunks to a reader from a position on, until the scope closes. */
  readonly follow: (reader: Follower, from: number) => Effect.Effect<void, never, Scope.Scope>
}

type Follower = Pick<Reader, "send" | "end">

/**
 * @param history the chunks of the message before this run, which goes on with it
 * @param isOver whether nothing more will be sent; default: no
 */
export const make = (history: ReadonlyArray<UIMessageChunk>, isOver = false): Broadcast => {
  const chunks = history.slice()
  const followers = new Set<Follower>()

  const toAll = (send: (follower: Follower) => Effect.Effect<void>) =>
    Effect.forEach(Array.from(followers), send, { discard: true })

  const finish = ({ end, send }: Follower) => Effect.andThen(send(encode("data: [DONE]\n\n")), end)

  return {
    chunks,
    get isOver() {
      return isOver
    },
    push: (chunk) =>
      Effect.suspend(() => {
        keep(chunks, chunk)
        const bytes = encode(eventOf(chunk))
        return toAll(({ send }) => send(bytes))
      }),
    end: Effect.suspend(() => {
      isOver = true
      return toAll(finish)
    }),
    follow: (follower, from) =>
      Effect.acquireRelease(
        Effect.suspend(() => {
          followers.add(follower)
          const missed = follower.send(encode(chunks.slice(from).map(eventOf).join("")))
          return isOver ? Effect.andThen(missed, finish(follower)) : missed
        }),
        () => Effect.sync(() => followers.delete(follower))
      )
  }
}

/** Many small pieces of a text take much more space than the text, so they are joined. */
const keep = (chunks: Array<UIMessageChunk>, chunk: UIMessageChunk) => {
  const last = chunks.at(-1)
  if (last?.type === "text-delta" && chunk.type === "text-delta" && last.id === chunk.id) {
    chunks[chunks.length - 1] = { ...last, delta: last.delta + chunk.delta }
  } else chunks.push(chunk)
}

const eventOf = (chunk: UIMessageChunk): string => `data: ${JSON.stringify(chunk)}\n\n`

const encoder = new TextEncoder()
const encode = (text: string): Uint8Array => encoder.encode(text)
