import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** Starts a bank on this machine. It charges once for each key. After its first charge, the connection breaks. */
export const startBank = async () => {
  const charges = new Map<string, { euros: number }>()
  const requests: Array<string> = []

  const server = createServer(async (request, response) => {
    const key = String(request.headers["idempotency-key"])
    let body = ""
    for await (const chunk of request) body += chunk
    if (charges.has(key)) {
      requests.push("knows the key, and sends the receipt again")
    } else {
      charges.set(key, JSON.parse(body))
      requests.push(`charges ${JSON.parse(body).euros} euros, and the connection breaks`)
      return void request.socket.destroy()
    }
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify({ receipt: `r-${key.slice(0, 8)}` }))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    charges,
    requests,
    stop: () => server.close()
  }
}
