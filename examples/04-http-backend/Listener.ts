/** Where the backend listens: on the port that it is told to use, or else on 3000 or the next free port. */
import { NodeHttpServer } from "@effect/platform-node"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as HttpServerError from "effect/http/HttpServerError"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { createServer, type Server } from "node:http"
import * as Runs from "./Runs.ts"

export const layer = (port: Option.Option<number>) =>
  Option.match(port, { onNone: () => listening(3000, 20), onSome: (port) => listening(port, 0) })

const listening = (port: number, more: number): ReturnType<typeof at> =>
  Layer.catch(at(port), (error) =>
    more > 0 && isInUse(error)
      ? listening(port + 1, more - 1)
      : Layer.unwrap(Effect.andThen(Console.error(why(port, error)), Effect.fail(error))))

/** Listens on a port of this computer. `0` is any free port. */
export const at = (port: number) =>
  Layer.suspend(() => {
    const server = createServer()
    // Closes idle connections.
    server.timeout = Duration.toMillis(longestIdle)
    return NodeHttpServer.layer(() => server, {
      host: "127.0.0.1",
      port,
      // The runs have ended by then (see `Runs.drain`), but their readers may not have read all.
      gracefulShutdownTimeout: "2 seconds"
    }).pipe(closingAll(server))
  })

/**
 * Closes the connections that are still open when a server ends. Node closes only those that have had a request, and
 * waits for the others: a client that never sends one would keep the process from ending.
 */
export const closingAll = (server: Server) => <A, E, R>(layer: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
  Layer.provideMerge(
    Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(() => server.closeAllConnections()))),
    layer
  )

/**
 * How long a connection may be idle. It is idle while no byte moves, as when its client waits for one JSON answer. So this
 * limit is longer than the longest run. A stream of events has comments, which keep it alive, and `Reader` watches who
 * reads it.
 */
const longestIdle = Duration.sum(Runs.longest, Duration.seconds(30))

const isInUse = ({ cause }: HttpServerError.ServeError): boolean =>
  Predicate.isObject(cause) && cause["code"] === "EADDRINUSE"

const why = (port: number, error: HttpServerError.ServeError): string =>
  isInUse(error)
    ? `Port ${port} is taken. Choose another one with --port.`
    : `Cannot listen on port ${port}: ${String(error.cause)}`
