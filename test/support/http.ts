import { Effect } from "effect"
import type * as Http from "node:http"

/** The address of a server, for as long as the scope. */
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
