import * as Effect from "effect/Effect"
import { Answered, type Answers, Dropped, type FakeService, type Fault, type Request } from "../FakeService.ts"

const dropped = new Dropped({ code: "ECONNRESET" })

const words: Readonly<Record<Fault, string>> = {
  dropped: "the connection is lost, and nothing is done",
  acted_and_dropped: "the service acts, and the connection is lost",
  dropped_and_acted_later: "the connection is lost, and the service acts later",
  acted_and_answered_500: "the service acts, and answers 500",
  slow: "the service acts, and answers, after a long time",
  answered_503: "the service answers 503, and does nothing",
  answered_429: "the service answers 429, and does nothing",
  none: "the service acts, and answers"
}

/** What may go wrong, the likely first. */
export const faults: ReadonlyArray<Fault> = [
  "acted_and_dropped",
  "dropped",
  "dropped_and_acted_later",
  "acted_and_answered_500",
  "slow",
  "answered_503",
  "answered_429",
  "none"
]

/** What the service knows of a key. */
interface Known {
  readonly body: unknown
  hasActed: boolean
}

interface Settings extends Answers {
  readonly goesByKeys: boolean
  /** How late it may act, in milliseconds. */
  readonly lateBy: number
}

/** A service under a plan. */
export class Service {
  /** How often it has acted. */
  acted = 0
  readonly #plan: Array<Fault>
  /** Does it act once for each key? */
  goesByKeys: boolean
  readonly #answers: Answers
  readonly #lateBy: number
  readonly #tell: (line: string) => void
  readonly #known = new Map<string, Known>()
  #requests = 0

  /** @param tell is told of each request, for people */
  constructor(plan: ReadonlyArray<Fault>, options: Settings, tell: (line: string) => void) {
    this.#plan = [...plan]
    this.goesByKeys = options.goesByKeys
    this.#lateBy = options.lateBy
    this.#answers = options
    this.#tell = tell
  }

  /** As a handler sees it: what it runs by itself, runs on the clock of the check. */
  readonly made: Effect.Effect<FakeService> = Effect.map(Effect.context(), (context): FakeService => {
    const { answer = () => ({ done: true }), found = (_, done) => ({ done }) } = this.#answers
    const act = (request: Request = {}) =>
      Effect.suspend(() => this.#act(request)).pipe(Effect.map(() => answer(request)))
    const look = (request: Request = {}) => Effect.sync(() => found(request, this.#hasActedFor(request)))
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const request = new globalThis.Request(input, init)
      const asked = { key: request.headers.get("idempotency-key") ?? undefined, body: await request.text() }
      const response = Effect.match(/^(GET|HEAD)$/.test(request.method) ? look(asked) : act(asked), {
        onSuccess: (value) => Response.json(value),
        onFailure: (failure) => failure._tag === "Answered" ? responseOf(failure) : lost()
      })
      const { signal } = request
      const answered = await Effect.runPromiseWith(context)(response, { signal }).catch((error) => {
        signal.throwIfAborted()
        throw error
      })
      if (answered instanceof Response) return answered
      throw answered
    }
    return { act, look, fetch }
  })

  #hasActedFor({ key }: Request): boolean {
    return key === undefined ? this.acted > 0 : this.#known.get(key)?.hasActed === true
  }

  #act(request: Request): Effect.Effect<void, Dropped | Answered> {
    const { body, key } = request
    const known = this.goesByKeys && key !== undefined ? this.#known.get(key) : undefined
    const fault = this.#plan.shift() ?? "none"
    const say = (what: string) => this.#tell(`Request ${++this.#requests}${this.#named(key)}: ${what}.`)
    if (known !== undefined && JSON.stringify(known.body) !== JSON.stringify(body)) {
      say("the service answers 422, since the key came with another body")
      return Effect.fail(status(422))
    }
    if (known?.hasActed === false) {
      say("the service answers 409, since it is still at work on the key")
      return Effect.fail(status(409))
    }
    say(known === undefined ? words[fault] : words[fault].replace("the service acts", "the service knows the key"))
    switch (fault) {
      case "none":
        return this.#commit(request)
      case "dropped":
        return Effect.fail(dropped)
      case "acted_and_dropped":
        return Effect.andThen(this.#commit(request), Effect.fail(dropped))
      case "dropped_and_acted_later":
        return Effect.andThen(
          this.#commit(request, this.#lateBy * (1 + this.#requests * 13 % 60) / 60),
          Effect.fail(dropped)
        )
      case "acted_and_answered_500":
        return Effect.andThen(this.#commit(request), Effect.fail(status(500)))
      case "slow":
        return Effect.andThen(this.#commit(request, this.#lateBy * 0.75), Effect.sleep(this.#lateBy * 0.75))
      case "answered_503":
        return Effect.fail(status(503))
      case "answered_429":
        return Effect.fail(status(429, { "retry-after": "1" }))
    }
  }

  // Once for each key, if it goes by keys; also when whoever asked has gone.
  #commit({ body, key }: Request, after = 0): Effect.Effect<void> {
    if (this.goesByKeys && key !== undefined && this.#known.has(key)) return Effect.void
    const known: Known = { body, hasActed: false }
    if (key !== undefined) this.#known.set(key, known)
    const commit = Effect.sync(() => {
      known.hasActed = true
      this.acted++
    })
    return after === 0
      ? commit
      : Effect.asVoid(Effect.forkDetach(Effect.delay(commit, after), { startImmediately: true }))
  }

  readonly #letters = new Map<string, string>()

  // Keys are long, and only which are the same counts.
  #named(key: string | undefined): string {
    if (key === undefined) return ""
    const letter = this.#letters.get(key) ?? String.fromCharCode("a".charCodeAt(0) + this.#letters.size)
    this.#letters.set(key, letter)
    return `, key ${letter}`
  }
}

const status = (status: number, headers: Readonly<Record<string, string>> = {}) => new Answered({ status, headers })

const responseOf = ({ headers, status }: Answered) =>
  Response.json({ message: `Status ${status}.` }, { status, headers })

// As Node's own.
const lost = () =>
  new TypeError("fetch failed", { cause: Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }) })
