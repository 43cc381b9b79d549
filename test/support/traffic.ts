/**
 * The requests of `fetch` to servers of this process, as Node reports them on its diagnostics channels. `untilIdle`
 * reads from here whether one is on its way.
 */
import * as diagnostics from "node:diagnostics_channel"
import type * as Http from "node:http"
import type { Socket } from "node:net"

/** A request whose client has not seen the head of an answer yet. */
interface Asked {
  /** The answer, from when the server has the request. */
  answer?: Http.ServerResponse
  /** How much the server had sent on the connection before this answer. */
  before?: number
}

const asked = new Map<unknown, Asked>()
/** The latest request of each connection, by the port of its client. */
const sent = new Map<number | undefined, Asked>()
let steps = 0

/** The number of steps of all requests so far. */
export const stepsSoFar = (): number => steps

/**
 * Whether a request has not reached its server, or its client does not know yet that an answer has begun or that the
 * server has ended the connection.
 */
export const isOnItsWay = (): boolean =>
  Array.from(asked.values()).some(({ answer, before = 0 }) =>
    // Node keeps the head of an answer back until the server sends something of its body.
    answer?.socket?.writable !== true || answer.headersSent && answer.socket.bytesWritten > before
  )

/** The fields of the messages that are read here. No message has all of them. */
interface Message {
  readonly request: object & Pick<Http.IncomingMessage, "socket">
  readonly response: Http.ServerResponse
  readonly socket: Socket
}

/** The messages of these channels of Node have no type. */
const asMessage = (message: unknown) => message as Message

const onStep = (channel: string, change: (message: Message) => void): void =>
  diagnostics.subscribe(channel, (message) => {
    steps++
    change(asMessage(message))
  })

onStep("undici:request:create", ({ request }) => void asked.set(request, {}))
onStep("undici:client:sendHeaders", ({ request, socket }) => {
  const one = asked.get(request)
  if (one !== undefined) sent.set(socket.localPort, one)
})
onStep("http.server.request.start", ({ request, response }) => {
  const port = request.socket.remotePort
  const one = sent.get(port)
  if (one !== undefined) {
    one.answer = response
    one.before = request.socket.bytesWritten
  }
  sent.delete(port)
})
onStep("undici:request:headers", ({ request }) => void asked.delete(request))
onStep("undici:request:error", ({ request }) => void asked.delete(request))
