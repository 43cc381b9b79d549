/**
 * The reader of a run, who may be slow. The run goes at its own pace, and what it sends waits for the reader.
 *
 *     run ─ send ─ what waits ─ bytes ─ reader
 *
 * | the reader                                | the run                     | the connection           |
 * | ----------------------------------------- | --------------------------- | ------------------------ |
 * | takes what waits                          | goes on                     | ends after the last byte |
 * | takes nothing for too long, or too little | goes on, without the reader | is cut off               |
 * | leaves                                    | is interrupted              | is closed already        |
 *
 * Who leaves says so: the page closes the connection if its user presses "Stop". Who is slow has said nothing. If a run
 * were interrupted in the middle of a refund, nobody would know what became of it. So the run finishes, and its conversation
 * keeps what was done. The run ends within its own limits, and its place is free then, whatever the reader does.
 */
import { NodeHttpServerRequest } from "@effect/platform-node"
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** How slow a reader may be. */
export interface Limits {
  /** How long it may take nothing, although something waits. Default: 30 seconds. */
  readonly patience: Duration.Input
  /** How many bytes may wait for it. Default: 1 MB. */
  readonly unread: number
}

const Limits = Context.Reference<Limits>("example/Reader/Limits", {
  defaultValue: () => ({ patience: "30 seconds", unread: 1_000_000 })
})

export const layer = (limits: Partial<Limits>) =>
  Layer.effect(Limits, Effect.map(Limits, (own) => ({ ...own, ...limits })))

export interface Reader {
  /** Adds something to what waits. Never waits itself. */
  readonly send: (bytes: Uint8Array) => Effect.Effect<void>
  /** There is nothing more to send. */
  readonly end: Effect.Effect<void>
  readonly bytes: Stream.Stream<Uint8Array>
  /** Tells whether the reader was cut off. It has not left by itself in that case. */
  readonly isCutOff: Effect.Effect<boolean>
}

/** The reader of the answer to this request, until the scope closes. */
export const make: Effect.Effect<Reader, never, HttpServerRequest.HttpServerRequest | Scope.Scope> = Effect.gen(
  function*() {
    const { patience, unread } = yield* Limits
    const request = yield* HttpServerRequest.HttpServerRequest
    const waiting = yield* Queue.unbounded<Uint8Array, Cause.Done>()
    const timer = yield* FiberHandle.make()
    let length = 0
    let isCutOff = false

    const cutOff = (why: string) =>
      Effect.suspend(() => {
        isCutOff = true
        NodeHttpServerRequest.toServerResponse(request).destroy()
        return Effect.andThen(Queue.shutdown(waiting), Effect.logInfo(`A reader was cut off: ${why}`))
      })

    const tooLong = Effect.delay(
      cutOff(`it has read nothing for ${Duration.format(Duration.fromInputUnsafe(patience))}.`),
      patience
    )

    // The server asks for the next bytes when the connection has taken the last ones. So the timer runs while it has not.
    const next = FiberHandle.clear(timer).pipe(
      Effect.andThen(Queue.take(waiting)),
      Effect.tap((bytes) => {
        length -= bytes.length
        return FiberHandle.run(timer, tooLong)
      }),
      Effect.map((bytes): [Uint8Array] => [bytes])
    )

    return {
      send: (bytes) =>
        Effect.suspend(() => {
          if (isCutOff) return Effect.void
          // What waits already is counted, so that one event may be larger than the limit.
          if (length > unread) return cutOff(`more than ${unread} bytes wait for it.`)
          length += bytes.length
          return Queue.offer(waiting, bytes)
        }),
      end: Queue.end(waiting),
      bytes: Stream.fromPull(Effect.succeed(next)),
      isCutOff: Effect.sync(() => isCutOff)
    }
  }
)
