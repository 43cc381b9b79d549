import * as Effect from "effect/Effect"
import * as UrlParams from "effect/http/UrlParams"
import type * as Scope from "effect/Scope"
import {
  type Answer,
  type Beginning,
  type Move,
  type Received,
  type Refused,
  type Reset,
  type Script,
  text,
  type Whole
} from "../HttpScript.ts"
import { playable } from "./scriptMove.ts"

/** What is sent of an answer. */
export interface Sent {
  readonly _tag: "Sent"
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The bytes that are sent. `undefined` if HTTP has no body here. */
  readonly body: Uint8Array | undefined
  /** How the answer ends if its body, of `length` bytes, is not sent completely. */
  readonly broken?: { readonly ending: Beginning["ending"]; readonly length: number }
}

/** What the service does with a request: an answer as it is sent, or a connection that fails. */
export type Played = Sent | Refused | Reset

/** A script of HTTP answers while it is played. */
export class Play {
  /** Plays a script. When the scope closes, dies if the script failed, or had no move for a request. */
  static make(script: Script): Effect.Effect<Play, never, Scope.Scope> {
    return Effect.acquireRelease(Effect.sync(() => new Play(script)), (play) => play.#check)
  }

  readonly #script: Script
  #requests: ReadonlyArray<Received> = []
  readonly #problems: Array<string> = []

  private constructor(script: Script) {
    this.#script = script
  }

  /** All requests, oldest first. */
  readonly requests: Effect.Effect<ReadonlyArray<Received>> = Effect.sync(() => this.#requests)

  /**
   * Records a request, and returns its answer. If the script has none, the answer is a 501.
   *
   * @param problem returns why the player cannot play an answer
   */
  next(request: Received, problem: (played: Played) => string | undefined = () => undefined): Effect.Effect<Played> {
    const { method } = request
    const play = (move: Move) =>
      Effect.map(made(move), (answer) => {
        const played = playedOf(method, answer)
        const why = problem(played)
        if (why !== undefined) throw new TypeError(why)
        return played
      })
    return Effect.suspend(() => {
      const script = this.#script
      const index = this.#requests.length
      this.#requests = [...this.#requests, request]
      if (typeof script === "function") return play(script(request, index))
      const move = script[index]
      return move === undefined ? Effect.succeed(this.#refuse(method, surplus(script.length, request))) : play(move)
    }).pipe(Effect.catchDefect((defect) => Effect.sync(() => this.failed(method, defect))))
  }

  /** Returns the answer to a request on which the script failed. */
  failed(method: string, defect: unknown): Played {
    return this.#refuse(method, `The script failed: ${String(defect)}`)
  }

  #refuse(method: string, problem: string): Played {
    this.#problems.push(problem)
    return playedOf(method, text(problem, { status: 501 }))
  }

  get #check(): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.#problems.length === 0 ? Effect.void : Effect.die(new Error(this.#problems.join("\n")))
    )
  }
}

const made = (move: Move): Effect.Effect<Answer> => {
  const next = playable(move, "an answer")
  return Effect.map(Effect.isEffect(next) ? next : Effect.succeed(next), valid)
}

const valid = (answer: Answer): Answer => {
  if (answer._tag === "Refused" || answer._tag === "Reset") return answer
  const whole = answer._tag === "Beginning" ? answer.answer : answer
  // The compiler checks this, too, but not in programs without types.
  if (whole._tag !== "Whole") {
    throw new TypeError(
      "The script returned something that is not an answer: make answers with HttpStub.json and its like."
    )
  }
  checkWhole(whole)
  return answer
}

const checkWhole = ({ body, headers, status }: Whole): void => {
  // JSON.stringify returns undefined for a value that JSON does not have.
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    throw new TypeError(`The body of an answer is ${String(body)}: it must be a text or a Uint8Array.`)
  }
  // A server framework may have replaced `Response` by one that takes any status.
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new RangeError(`The status of an answer is ${status}: it must be an integer from 200 to 599.`)
  }
  // Throws if one is not valid.
  void new Headers(headers)
}

const withoutBody: ReadonlySet<number> = new Set([204, 205, 304])

// Returns what is sent. If the whole body is sent, its reader does not see how the connection ends.
const playedOf = (method: string, answer: Answer): Played => {
  if (answer._tag === "Refused" || answer._tag === "Reset") return answer
  const { body, headers, status } = answer._tag === "Whole" ? answer : answer.answer
  const sent = { _tag: "Sent", status, headers } as const
  if (method === "HEAD" || withoutBody.has(status)) return { ...sent, body: undefined }
  const whole = typeof body === "string" ? new TextEncoder().encode(body) : body
  const beginning = answer._tag === "Whole" ? whole : whole.subarray(0, answer.bytes)
  return answer._tag === "Whole" || beginning.length === whole.length
    ? { ...sent, body: whole }
    : { ...sent, body: beginning, broken: { ending: answer.ending, length: whole.length } }
}

const surplus = (moves: number, { method, url }: Received): string =>
  `The script has ${moves} ${moves === 1 ? "answer" : "answers"}, and there was a request more: ${method} ${url}`

/** Makes a record of a request. */
export const receivedOf = (
  method: string,
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string
): Received => ({
  method,
  url: url.href,
  path: url.pathname,
  query: UrlParams.toRecord(UrlParams.fromInput(url.searchParams)),
  headers: { ...headers },
  body
})
