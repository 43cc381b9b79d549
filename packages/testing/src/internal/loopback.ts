import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Http from "node:http"

/** The traffic of a server so far. */
export interface Traffic {
  /** The number of requests whose answer has not ended. */
  readonly open: number
  /** The number of answers whose client hung up before the end. */
  readonly abandoned: number
  /** The number of open connections. */
  readonly connections: number
  /** The number of connections so far. */
  readonly connected: number
}

export const noTraffic: Traffic = { open: 0, abandoned: 0, connections: 0, connected: 0 }

/** A running server. */
export interface Running<State> {
  readonly url: string
  readonly state: Effect.Effect<State>
  readonly until: (predicate: (state: State) => boolean) => Effect.Effect<State>
  readonly whileDown: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/**
 * Starts a server on loopback, which runs until its scope closes.
 *
 * @param answer sends the answer to a request; interrupted when the client hangs up
 * @param fail sends an answer for a defect of `answer`, so that the client does not wait in vain
 */
export const serve = <State extends Traffic>(
  stage: Stage<State>,
  answer: (wire: Wire) => Effect.Effect<void>,
  fail: (wire: Wire, defect: unknown) => void
): Effect.Effect<Running<State>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const fork = Effect.runForkWith(yield* Effect.context())
    const server = Http.createServer((request, response) => {
      const wire = new Wire(request, response)
      stage.traffic(({ open }) => ({ open: open + 1 }))
      const fiber = fork(answer(wire))
      // The fiber is observed from outside: if an Effect breaks its fiber, nothing inside that fiber can
      // catch the error.
      fiber.addObserver((exit) => {
        if (Exit.isFailure(exit) && !response.destroyed) {
          if (response.headersSent) wire.hangUp()
          else fail(wire, Cause.squash(exit.cause))
        }
      })
      response.once("close", () => {
        const abandoned = response.writableFinished || wire.isDropped ? 0 : 1
        stage.traffic((state) => ({ open: state.open - 1, abandoned: state.abandoned + abandoned }))
        // Stop working for a client that has hung up.
        fork(Fiber.interrupt(fiber))
      })
    })
    server.on("connection", (socket) => {
      stage.traffic(({ connected, connections }) => ({ connections: connections + 1, connected: connected + 1 }))
      socket.once("close", () => stage.traffic(({ connections }) => ({ connections: connections - 1 })))
    })
    const port = yield* Effect.acquireRelease(listen(server, 0), () => close(server))
    return {
      url: `http://127.0.0.1:${port}`,
      state: Effect.sync(() => stage.state),
      until: (predicate) => stage.until(predicate),
      whileDown: (self) => Effect.acquireUseRelease(close(server), () => self, () => listen(server, port))
    }
  })

// -----------------------------------------------------------------------------
// Answering
// -----------------------------------------------------------------------------

type Headers = Readonly<Record<string, string | number>>

/** How an answer ends before its body is complete. */
export type Ending = "close" | "drop" | "stall"

/** A request, and the connection for its answer. */
export class Wire {
  readonly request: Http.IncomingMessage
  readonly #response: Http.ServerResponse
  #isDropped = false

  constructor(request: Http.IncomingMessage, response: Http.ServerResponse) {
    this.request = request
    this.#response = response
  }

  /** Whether the server itself ended the connection. */
  get isDropped(): boolean {
    return this.#isDropped
  }

  /** The body of the request, as text. */
  get body(): Effect.Effect<string> {
    return Effect.callback<string>((resume) => {
      const chunks: Array<Buffer> = []
      this.request.on("data", (chunk: Buffer) => chunks.push(chunk))
      this.request.on("end", () => resume(Effect.succeed(Buffer.concat(chunks).toString("utf8"))))
    })
  }

  send(status: number, body: string | Uint8Array, headers: Headers): void {
    this.#response.writeHead(status, headers).end(body)
  }

  /** Sends a body piece by piece, each in one write. */
  sendPieces(status: number, pieces: ReadonlyArray<Uint8Array>, headers: Headers): void {
    this.#response.writeHead(status, headers)
    for (const piece of pieces) this.#response.write(piece)
    this.#response.end()
  }

  /** Sends the beginning of a body, and then ends the connection or hangs. */
  sendBeginning(status: number, beginning: string | Uint8Array, ending: Ending, headers: Headers): void {
    this.#response.writeHead(status, headers).flushHeaders()
    this.#response.write(beginning, () => {
      if (ending === "drop") this.hangUp()
      if (ending === "close") this.close()
    })
  }

  /** Resets the connection. */
  hangUp(): void {
    this.#isDropped = true
    this.request.socket.resetAndDestroy()
  }

  /** Closes the connection in good order, even in the middle of a body. */
  close(): void {
    this.#isDropped = true
    this.request.socket.end()
  }
}

// -----------------------------------------------------------------------------
// State
// -----------------------------------------------------------------------------

/** The state of a server, which can be waited for. */
export class Stage<State extends Traffic> {
  state: State
  readonly #waiting = new Set<() => void>()

  constructor(state: State) {
    this.state = state
  }

  change(f: (state: State) => State): void {
    this.state = f(this.state)
    for (const check of this.#waiting) check()
  }

  traffic(f: (state: Traffic) => Partial<Traffic>): void {
    this.change((state) => ({ ...state, ...f(state) }))
  }

  until(predicate: (state: State) => boolean): Effect.Effect<State> {
    return Effect.callback<State>((resume) => {
      const check = () => {
        if (predicate(this.state)) {
          this.#waiting.delete(check)
          resume(Effect.succeed(this.state))
        }
      }
      this.#waiting.add(check)
      check()
      return Effect.sync(() => this.#waiting.delete(check))
    })
  }
}

// -----------------------------------------------------------------------------
// Listening
// -----------------------------------------------------------------------------

const listen = (server: Http.Server, port: number): Effect.Effect<number> =>
  Effect.callback<number>((resume) => {
    const onError = (fault: Error) => resume(Effect.die(fault))
    server.once("error", onError)
    server.listen(port, "127.0.0.1", () => {
      server.off("error", onError)
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const close = (server: Http.Server): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })
