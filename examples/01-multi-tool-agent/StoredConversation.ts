/**
 * A conversation in a file: what was said, and what the calls did. A later process continues it.
 *
 * The file is replaced as a whole once a run has ended. A process that dies while it writes leaves the old file. A file that
 * cannot be read is left as it is. For many users, or several processes at once, use a database: see docs/conversations.md.
 */
import { type Agent, type AgentFailure, Transcript } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import type * as Answer from "@fallible/core/Answer"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type * as PlatformError from "effect/PlatformError"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as Conversation from "../shared/Conversation.ts"

interface Continued<R> extends Pick<Conversation.Agent<R>, "resumeStream"> {
  readonly stream: (
    question: string,
    options?: Agent.RunOptions
  ) => Stream.Stream<AgentEvent.AgentEvent, AgentFailure.Failed, R>
}

const Stored = Schema.fromJsonString(Schema.Struct({ transcript: Transcript.schema, facts: CallFacts.schema }))
type Stored = typeof Stored.Type

/** Runs a program with an agent that continues the conversation in a file, and stores the conversation after it. */
export const keep = <R, A, E, R2>(
  file: string,
  agent: Continued<R>,
  program: (agent: Conversation.Agent<R>) => Effect.Effect<A, E, R2>
) =>
  Effect.gen(function*() {
    const earlier = yield* read(file)
    let last: Answer.Answer | AgentFailure.AgentFailure | undefined
    const noting = <R>(events: ReturnType<Continued<R>["stream"]>) =>
      events.pipe(
        Stream.tap((event) =>
          Effect.sync(() => {
            if (AgentEvent.isLast(event)) last = event._tag === "RunEnded" ? event.answer : event.waiting
          })
        ),
        Stream.tapError((failure) => Effect.sync(() => last = failure))
      )
    const kept: Conversation.Agent<R> = {
      stream: (question) => noting(agent.stream(question, earlier)),
      resumeStream: (suspension, reply) => noting(agent.resumeStream(suspension, reply))
    }
    // A failed run is stored, too, and so is one that still waits for its user when the program is stopped.
    return yield* Effect.onExit(program(kept), () => last === undefined ? Effect.void : write(file, last))
  })

const read = (file: string) =>
  Effect.gen(function*() {
    const { access, readFileString } = yield* FileSystem.FileSystem
    const { dirname } = yield* Path.Path
    const text = yield* Effect.catch(
      readFileString(file),
      (error) => isMissing(error) ? Effect.succeed(undefined) : refuse(`${file} cannot be read: ${error.message}`)
    )
    if (text !== undefined) {
      return yield* Effect.catch(Schema.decodeEffect(Stored)(text), () =>
        refuse(
          `${file} holds no conversation: it was cut off, or is of another program or version. It is left as it is. Name another file.`
        ))
    }
    // Otherwise a whole run would be lost.
    yield* Effect.catch(access(dirname(file), { writable: true }), () =>
      refuse(`${file} cannot be written: its folder does not exist, or is closed to you.`))
    return { facts: CallFacts.empty }
  })

const isMissing = ({ reason }: PlatformError.PlatformError): boolean => reason._tag === "NotFound"

const write = (file: string, { facts, transcript }: Stored) =>
  Effect.gen(function*() {
    const { rename, writeFileString } = yield* FileSystem.FileSystem
    const text = yield* Effect.orDie(Schema.encodeEffect(Stored)({ facts, transcript }))
    // In the same folder, because a file can be renamed only within its disk.
    yield* writeFileString(`${file}.new`, `${text}\n`)
    yield* rename(`${file}.new`, file)
  }).pipe(
    Effect.catchTag("PlatformError", ({ message }) => refuse(`The conversation could not be stored: ${message}`))
  )

const refuse = (sentence: string) => Effect.andThen(Console.error(sentence), Effect.fail("usage" as const))
