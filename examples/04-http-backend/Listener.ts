/** Where the backend listens: on the port that it is told to use, or else on 3000 or the next free port. */
import { NodeHttpServer } from "@effect/platform-node"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as HttpServerError from "effect/http/HttpServerError"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { createServer } from "node:http"
import * as Runs from "./Runs.ts"

export const layer = (port: Option.Option<number>) =>
  Option.match(port, { onNone: () => listening(3000, 20), onSome: (port) => listening(port, 0) })

const listening = (port: number, more: number): ReturnType<typeof at> =>
  Layer.catch(at(port), (error) =>
    more > 0 && isInUse(error)
      ? listening(port + 1, more - 1)
      : Layer.unwrap(Effect.andThen(Console.error(why(port, error)), Effect.fail(error))))

/** Listens on a port of this computer. `0` is any free port. */
export const at = (port: number, idle?: Duration.Input) =>
  NodeHttpServer.layer(() => server(idle), {
    host: "127.0.0.1",
    port,
    // The runs have ended by then: see `Runs.drain`.
    gracefulShutdownTimeout: "1 second"
  })

/**
 * How long nothing may be sent over a connection. A client that waits for one JSON answer is sent nothing while its run
 * lasts, so this is longer than a run may take.
 */
export const idleTime = Duration.sum(Runs.longest, Duration.seconds(30))

/**
 * A server that closes idle connections: those of clients that read nothing of what the server wants to write. An open
 * stream of events is not idle, because of its comments.
 */
const server = (idle: Duration.Input = idleTime) => {
  const server = createServer()
  server.timeout = Duration.toMillis(idle)
  return server
}

const isInUse = ({ cause }: HttpServerError.ServeError): boolean =>
  Predicate.isObject(cause) && cause["code"] === "EADDRINUSE"

const why = (port: number, error: HttpServerError.ServeError): string =>
  isInUse(error)
    ? `Port ${port} is taken. Choose another one with --port.`
    : `Cannot listen on port ${port}: ${String(error.cause)}`
