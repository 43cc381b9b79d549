/** A connection to a server that can be cut, as a network is. */
import { Effect } from "effect"
import { connect, createServer, type Socket } from "node:net"

export interface Cuttable {
  readonly url: string
  /** Breaks all connections, and takes no new ones. */
  readonly cut: () => void
  /** Lets all connections hang that there are. New ones work. */
  readonly hang: () => void
  readonly restore: () => void
}

/** Opens a way to a server until the scope closes. */
export const cuttable = (url: string) =>
  Effect.acquireRelease(
    Effect.callback<Cuttable & { readonly close: () => void }>((resume) => {
      const { hostname, port } = new URL(url)
      const sockets = new Set<Socket>()
      let isCut = false
      const keep = (socket: Socket) => {
        sockets.add(socket)
        return socket.on("error", () => {}).on("close", () => sockets.delete(socket))
      }
      const cut = () => {
        for (const socket of sockets) socket.resetAndDestroy()
      }
      const server = createServer((client) => {
        if (isCut) return client.resetAndDestroy()
        const there = keep(connect(Number(port), hostname))
        keep(client).pipe(there).pipe(client)
        return undefined
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed({
          url: `http://127.0.0.1:${typeof address === "object" && address?.port}`,
          cut: () => {
            isCut = true
            cut()
          },
          hang: () => {
            for (const socket of sockets) socket.unpipe().pause()
          },
          restore: () => {
            isCut = false
          },
          close: () => {
            cut()
            server.close()
          }
        }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )
