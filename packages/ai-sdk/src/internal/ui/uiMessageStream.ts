/*
 * A run as the stream of a message, whatever becomes of it.
 */
import { demandKnown, type Names } from "@fallible/arguments/internal"
import * as AgentEvent from "@fallible/core/AgentEvent"
import type { Failed } from "@fallible/core/AgentFailure"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type CutOff, MessageWriter } from "./messageWriter.ts"
import type { UiChunk, UiOptions } from "./types.ts"

export const uiMessageStream = <R>(
  run: Stream.Stream<AgentEvent.AgentEvent, Failed, R>,
  options: UiOptions = {}
): Stream.Stream<UiChunk, never, R> => {
  demandKnown("A stream for a page", options, names)
  return Stream.suspend(() => {
    const message = new MessageWriter(options)
    return AgentEvent.forClients(Stream.tapError(run, logRefusal), options).pipe(
      Stream.catchCause((cause) => Stream.fromEffect(cutOff(cause))),
      // A server may end the stream of a run, with `Stream.interruptWhen` or `Stream.take`.
      Stream.concat(Stream.suspend(() => message.isOver ? Stream.empty : Stream.succeed(interrupted))),
      Stream.map((event) => message.write(event)),
      Stream.flattenIterable
    )
  })
}

const names: Names<UiOptions> = {
  arguments: true,
  results: true,
  reasoning: true,
  originalMessages: true,
  messageId: true,
  replies: true,
  recoveries: true,
  failures: true
}

const interrupted: CutOff = { _tag: "Interrupted" }

// A page reads no more than that its request is not valid.
const logRefusal = (failure: Failed): Effect.Effect<void> =>
  failure._tag === "RunRefused" ? Effect.logWarning(failure.detail) : Effect.void

const cutOff = (cause: Cause.Cause<never>): Effect.Effect<CutOff> =>
  Cause.hasInterruptsOnly(cause)
    ? Effect.succeed(interrupted)
    : Effect.as(Effect.logError("The stream of a run broke", cause), { _tag: "Broken" })
