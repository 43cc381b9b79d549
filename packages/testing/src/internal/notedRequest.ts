/**
 * The requests that a stub notes, so that a handler has the same certainty over a stub as over real HTTP
 * (`ToolCall.noteRequest`).
 */
import { ToolCall } from "@fallible/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Played } from "./httpPlay.ts"

/**
 * Notes a request in the record of the handler whose code runs now: the handler of the current fiber, or of the async
 * function. Call it before any Effect runs in another context, such as that of a layer.
 */
export const noteHere = (request: ToolCall.NoteOptions): ToolCall.NotedRequest =>
  Effect.runSyncWith(Fiber.getCurrent()?.context ?? Context.empty())(ToolCall.noteRequest(request))

/** Tells how a request to a stub ended. */
export const tellEnd = ({ answered, failed }: ToolCall.NotedRequest, played: Played): void => {
  switch (played._tag) {
    case "Sent":
      return answered(played.status)
    case "Refused":
      return failed({ sent: false })
    case "Reset":
      return failed()
  }
}
