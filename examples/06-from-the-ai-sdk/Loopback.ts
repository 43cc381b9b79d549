/** A server on the loopback interface. */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface Loopback {
  readonly url: string
  readonly close: () => Promise<void>
}

export type Respond = (request: IncomingMessage, body: string, response: ServerResponse) => void

export const listen = async (respond: Respond): Promise<Loopback> => {
  const server = createServer((request, response) =>
    void request.toArray().then((chunks) => respond(request, Buffer.concat(chunks).toString(), response))
  )
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    // A server that listens on a port has an address of this type.
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
  }
}
