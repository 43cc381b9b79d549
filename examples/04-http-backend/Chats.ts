/**
 * The chats: what the page with `useChat` shows of each conversation, and the runs that write the answers.
 *
 * A run belongs to the server here, and not to a connection: it goes on if its reader is gone, and ends by itself, by its
 * limits, or if its user stops it. Who comes back reads its chunks from the beginning.
 *
 *     messages ─ the messages so far, of users and of the assistant
 *     answer   ─ the chunks of the last message of the assistant (`Broadcast`), from which it is read
 */
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberMap from "effect/FiberMap"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Broadcast from "./Broadcast.ts"
import * as Conversations from "./Conversations.ts"
import * as Problem from "./Problem.ts"
import { Runs } from "./Runs.ts"
import * as Sentences from "./Sentences.ts"

/** What is shown of a conversation. */
export interface Chat {
  /** All messages but the one that the last run writes. */
  readonly past: ReadonlyArray<UIMessage>
  /** The chunks of the message that the last run writes or has written. */
  readonly answer: Broadcast.Broadcast
}

/** What a run adds to a conversation. */
export interface Playing {
  readonly past: ReadonlyArray<UIMessage>
  /** The chunks of the last message before this run, if the run goes on with it. */
  readonly history: ReadonlyArray<UIMessageChunk>
  readonly chunks: Stream.Stream<UIMessageChunk>
  /** The scope of the run. */
  readonly scope: Scope.Closeable
}

export class Chats extends Context.Service<Chats, {
  readonly get: (id: string) => Effect.Effect<Chat>
  /** Begins to write an answer. */
  readonly play: (id: string, playing: Playing) => Effect.Effect<Broadcast.Broadcast>
  /** Interrupts the run that is under way, if there is one, and waits for its end. */
  readonly stop: (id: string) => Effect.Effect<void>
}>()("example/Chats") {}

/** Reads the message that some chunks make up, as a browser does. */
export const messageOf = (chunks: ReadonlyArray<UIMessageChunk>): Effect.Effect<UIMessage | undefined> =>
  Effect.promise(async () => {
    // The reader changes the data of the chunks.
    const stream = ReadableStream.from(structuredClone(chunks))
    let last: UIMessage | undefined
    for await (const message of readUIMessageStream({ stream })) last = message
    return last
  })

/** All messages of a chat, also one that is being written. */
export const messagesOf = ({ answer, past }: Chat): Effect.Effect<ReadonlyArray<UIMessage>> =>
  Effect.map(messageOf(answer.chunks), (last) => last === undefined ? past : [...past, last])

/** A chat in which nobody has asked anything. */
const empty: Chat = { past: [], answer: Broadcast.make([], true) }

/** Says what is not known of the calls that had no end, and why there is no answer. */
const breakOff = (broadcast: Broadcast.Broadcast, why: string) =>
  Effect.flatMap(
    messageOf(broadcast.chunks),
    (message) => Effect.forEach(Sentences.brokenOff(message, why), broadcast.push, { discard: true })
  )

/** Why a run ended without its own last chunk, if it did. */
const whyOf = (exit: Exit.Exit<string | undefined>): string | undefined =>
  Exit.isSuccess(exit) ? exit.value : Cause.hasInterruptsOnly(exit.cause) ? Sentences.stopped : Sentences.died

export const layer: Layer.Layer<Chats, never, Runs> = Layer.effect(
  Chats,
  Effect.gen(function*() {
    const { stopping } = yield* Runs
    const fibers = yield* FiberMap.make<string>()
    // In the order of their last use. Those of forgotten conversations are forgotten, too.
    const chats = new Map<string, Chat>()

    const put = (id: string, chat: Chat) => {
      chats.delete(id)
      chats.set(id, chat)
      if (chats.size > Conversations.max) chats.delete(chats.keys().next().value ?? "")
    }

    return {
      get: (id) => Effect.sync(() => chats.get(id) ?? empty),
      play: (id, { chunks, history, past, scope }) =>
        Effect.suspend(() => {
          const answer = Broadcast.make(history)
          put(id, { past, answer })
          const run = Stream.runForEach(chunks, answer.push).pipe(
            Effect.as(undefined),
            Effect.raceFirst(Effect.as(stopping, Problem.draining.detail)),
            Effect.tapDefect((defect) => Effect.logError("The run died.", defect)),
            Effect.onExit((exit) => {
              const why = whyOf(exit)
              return (why === undefined ? Effect.void : breakOff(answer, why)).pipe(
                // Who has read all can ask on at once.
                Effect.ensuring(Scope.close(scope, Exit.void)),
                Effect.ensuring(answer.end)
              )
            })
          )
          return Effect.as(FiberMap.run(fibers, id, run), answer)
        }),
      stop: (id) =>
        Effect.flatMap(
          FiberMap.get(fibers, id),
          Option.match({ onNone: () => Effect.void, onSome: Fiber.interrupt })
        )
    }
  })
)
