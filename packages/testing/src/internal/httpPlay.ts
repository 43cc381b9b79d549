import * as Effect from "effect/Effect"
import * as UrlParams from "effect/http/UrlParams"
import type * as Scope from "effect/Scope"
import type { Answer, Move, Received, Script, Whole } from "../HttpStub.ts"
import { playable } from "./scriptMove.ts"

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

  /** Records a request, and returns its answer. If the script has none, the answer is a 501. */
  next(request: Received): Effect.Effect<Answer> {
    return Effect.suspend(() => {
      const script = this.#script
      const index = this.#requests.length
      this.#requests = [...this.#requests, request]
      if (typeof script === "function") return made(script(request, index))
      const move = script[index]
      return move === undefined ? Effect.succeed(this.#refuse(surplus(script.length, request))) : made(move)
    }).pipe(Effect.catchDefect((defect) => Effect.sync(() => this.failed(defect))))
  }

  /** Returns the answer to a request on which the script failed. */
  failed(defect: unknown): Whole {
    return this.#refuse(`The script failed: ${String(defect)}`)
  }

  #refuse(problem: string): Whole {
    this.#problems.push(problem)
    return { _tag: "Whole", status: 501, headers: { "content-type": "text/plain;charset=UTF-8" }, body: problem }
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

const tags: ReadonlySet<unknown> = new Set<Answer["_tag"]>(["Whole", "Beginning", "Refused", "Reset"])

// The compiler checks this, too, but not in programs without types.
const valid = (answer: Answer): Answer => {
  if (tags.has(answer._tag)) return answer
  throw new TypeError(
    "The script returned something that is not an answer: make answers with HttpStub.json and its like."
  )
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
