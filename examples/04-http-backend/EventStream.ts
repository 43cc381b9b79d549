/**
 * A run as server-sent events. Each event has an id, and its data is one JSON object.
 *
 *     id: 1
 *     data: {"_tag":"TurnStarted","run":"…","at":1767225600000,"turn":1}
 *
 * A comment is sent every 15 seconds, so that no proxy closes a connection on which nothing happens.
 */
import * as ClientEvent from "@fallible/core/ClientEvent"
import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

/** The run waits for its user. Send the reply with this token to `POST /reply`. */
const ReplyWanted = Schema.Struct({ _tag: Schema.tag("ReplyWanted"), token: Schema.String })

/** The server stops before the run has ended. Ask again later. */
const ServerStopping = Schema.Struct({ _tag: Schema.tag("ServerStopping"), message: Schema.String })

/** The schema of the events that a client of this server gets. */
export const schema = Schema.Union([ClientEvent.schema, ReplyWanted, ServerStopping])
export type Event = typeof schema.Type

const encode = Schema.encodeSync(Schema.fromJsonString(schema))

/** The comments. */
export const heartbeat: Stream.Stream<Uint8Array> = Stream.tick("15 seconds").pipe(
  Stream.drop(1),
  Stream.map(() => ": still here\n\n"),
  Stream.encodeText
)

/** Writes events as bytes. */
export const encoded = <R>(events: Stream.Stream<Event, never, R>): Stream.Stream<Uint8Array, never, R> =>
  events.pipe(
    Stream.zipWithIndex,
    Stream.map(([event, index]) =>
      Sse.encoder.write({ _tag: "Event", event: "message", id: `${index + 1}`, data: encode(event) })
    ),
    Stream.encodeText,
    Stream.merge(heartbeat, { haltStrategy: "left" })
  )

export const response = (bytes: Stream.Stream<Uint8Array>): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(bytes, {
    contentType: "text/event-stream; charset=utf-8",
    // The last header keeps nginx from collecting the events before it passes them on.
    headers: { "cache-control": "no-store", "x-accel-buffering": "no" }
  })

interface Ending<E> {
  /** Ends when the run has to stop. */
  readonly stopping: Effect.Effect<void>
  readonly stopped: E
  /** The event after the run's last event, if there is one. */
  readonly after: Effect.Effect<E | undefined>
}

/** Adds the server's own last event to the events of a run. */
export const ending = (
  { after, stopped, stopping }: Ending<Event>
) =>
<R>(run: Stream.Stream<ClientEvent.ClientEvent, never, R>): Stream.Stream<Event, never, R> =>
  Stream.suspend(() => {
    let isOver = false
    const last = Effect.suspend(() => isOver ? after : Effect.succeed(stopped))
    return run.pipe(
      Stream.tap(({ _tag }) =>
        Effect.sync(() => {
          isOver = ["RunEnded", "RunFailed", "RunPostponed", "RunSuspended"].includes(_tag)
        })
      ),
      Stream.interruptWhen(stopping),
      Stream.concat(
        Stream.unwrap(Effect.map(last, (event) => event === undefined ? Stream.empty : Stream.succeed(event)))
      )
    )
  })
