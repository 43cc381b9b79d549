import { Effect } from "effect"
import * as Http from "node:http"

/** Starts a server until the scope closes, and returns its address. */
export const listening = (server: Http.Server) =>
  Effect.acquireRelease(
    Effect.callback<string>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed(`http://127.0.0.1:${port}`))
      })
    }),
    () => Effect.sync(() => server.close().closeAllConnections())
  )

export const serving = (answer: Http.RequestListener) => listening(Http.createServer(answer))

/** Starts a server that answers every request with the given response. */
export const saying = (status: number, body: string | Uint8Array = "", headers: Http.OutgoingHttpHeaders = {}) =>
  serving((_, response) => void response.writeHead(status, headers).end(body))

/**
 * A port without a listener: only privileged programs may listen on it. One that was free a moment ago will not do,
 * because the tests of another process may get it.
 */
export const closedPort = 2
