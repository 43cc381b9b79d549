import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Answered, type Answers, Dropped, type FakeService, type Fault, type Request } from "../FakeService.ts"
import { connectionLost } from "./connectionErrors.ts"
import { effectFetch } from "./effectFetch.ts"

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

/** All faults, from the most likely to the least likely. */
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

/** The most requests that a tool may send while no time passes. */
export const mostAtOnce = 1_000

/** The state of an idempotency key. */
interface KeyState {
  readonly body: unknown
  hasActed: boolean
}

interface Settings extends Answers {
  readonly goesByKeys: boolean
  /** The longest delay before the service acts, in milliseconds. */
  readonly lateBy: number
}

/** The fake service, which follows a plan of faults. */
export class Service {
  /** How often the service has acted. */
  acted = 0
  /** The last answer of the service after it acted. */
  answered: unknown = undefined
  /** The first error that a function of the options threw. */
  mistake: string | undefined
  /** True if the tool sent too many requests at one moment. Such a tool would never stop. */
  isFlooded = false
  readonly #moment = { at: NaN, requests: 0 }
  readonly #plan: Array<Fault>
  /** Whether the service acts only once for each key. */
  goesByKeys: boolean
  readonly #answers: Answers
  readonly #lateBy: number
  readonly #tell: (line: string) => void
  readonly #keys = new Map<string, KeyState>()
  #requests = 0

  /** @param tell receives a line of text for each request */
  constructor(plan: ReadonlyArray<Fault>, options: Settings, tell: (line: string) => void) {
    this.#plan = [...plan]
    this.goesByKeys = options.goesByKeys
    this.#lateBy = options.lateBy
    this.#answers = options
    this.#tell = tell
  }

  /** The service as a handler sees it. It uses the clock of the check, whatever runtime a handler runs it in. */
  readonly made: Effect.Effect<FakeService> = Effect.map(Effect.context(), (context): FakeService => {
    const clock = Context.get(context, Clock.Clock)
    const { answer = { done: true }, found = (_, done) => ({ done }) } = this.#answers
    const answerTo = (request: Request) => {
      this.answered = typeof answer === "function" ? this.asked("answer", () => answer(request)) : answer
      return this.answered
    }
    const counted = <A, E>(request: Effect.Effect<A, E>) =>
      Effect.provideService(this.#counted(request), Clock.Clock, clock)
    const act = (request: Request = {}) =>
      counted(Effect.suspend(() => this.#act(request)).pipe(Effect.map(() => answerTo(request))))
    const look = (request: Request = {}) =>
      counted(Effect.sync(() => this.asked("found", () => found(request, this.#hasActedFor(request)))))
    const fetch = effectFetch(context, ({ headers, method }, body) => {
      const request = { key: headers.get("idempotency-key") ?? undefined, body }
      return Effect.matchEffect(/^(GET|HEAD)$/.test(method) ? look(request) : act(request), {
        onSuccess: (value) => Effect.succeed(Response.json(value)),
        onFailure: (failure) =>
          failure._tag === "Answered" ? Effect.succeed(responseOf(failure)) : Effect.fail(connectionLost())
      })
    })
    return { act, look, fetch }
  })

  // Runs a function of the options. If it throws, a handler may catch that like a failure of the service, so the
  // error is kept.
  asked<A>(option: string, make: () => A): A {
    try {
      return make()
    } catch (error) {
      this.mistake ??= `The option '${option}' threw: ${String(error)}`
      throw error
    }
  }

  // Does not answer a tool that repeats requests while no time passes. Such a tool may never let anything else
  // run, so only the service itself can stop it.
  #counted<A, E>(request: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (now !== this.#moment.at) Object.assign(this.#moment, { at: now, requests: 0 })
      this.isFlooded ||= ++this.#moment.requests > mostAtOnce
      return this.isFlooded ? Effect.never : request
    })
  }

  #hasActedFor({ key }: Request): boolean {
    return key === undefined ? this.acted > 0 : this.#keys.get(key)?.hasActed === true
  }

  #act(request: Request): Effect.Effect<void, Dropped | Answered> {
    const { body, key } = request
    const state = this.goesByKeys && key !== undefined ? this.#keys.get(key) : undefined
    const fault = this.#plan.shift() ?? "none"
    const log = (what: string) => this.#tell(`Request ${++this.#requests}${this.#letterOf(key)}: ${what}.`)
    if (state !== undefined && JSON.stringify(state.body) !== JSON.stringify(body)) {
      log("the service answers 422, because the key came with another body")
      return Effect.fail(status(422))
    }
    if (state?.hasActed === false) {
      log("the service answers 409, because it is still processing the key")
      return Effect.fail(status(409))
    }
    log(state === undefined ? words[fault] : words[fault].replace("the service acts", "the service knows the key"))
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

  // Acts, but only once for each key if the service honours keys. A delayed act happens even if the caller has gone.
  #commit({ body, key }: Request, after = 0): Effect.Effect<void> {
    if (this.goesByKeys && key !== undefined && this.#keys.has(key)) return Effect.void
    const state: KeyState = { body, hasActed: false }
    if (key !== undefined) this.#keys.set(key, state)
    const commit = Effect.sync(() => {
      state.hasActed = true
      this.acted++
    })
    return after === 0
      ? commit
      : Effect.asVoid(Effect.forkDetach(Effect.delay(commit, after), { startImmediately: true }))
  }

  readonly #letters = new Map<string, string>()

  // Names a key by a letter. Keys are long, and it only matters whether they are equal.
  #letterOf(key: string | undefined): string {
    if (key === undefined) return ""
    const letter = this.#letters.get(key) ?? String.fromCharCode("a".charCodeAt(0) + this.#letters.size)
    this.#letters.set(key, letter)
    return `, key ${letter}`
  }
}

const status = (status: number, headers: Readonly<Record<string, string>> = {}) => new Answered({ status, headers })

const responseOf = ({ headers, status }: Answered) =>
  Response.json({ message: `Status ${status}.` }, { status, headers })
