import { type Tool, ToolCall } from "@fallible/core"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Options } from "../../ActsOnce.ts"
import { Answered, type Answers, Dropped, type FakeService, type Fault, type Request } from "../../FakeService.ts"
import { connectionLost } from "../connectionErrors.ts"
import { effectFetch } from "../effectFetch.ts"
import { noteHere } from "../notedRequest.ts"
import type { PlayedCall, PlayedSequence } from "./playedSequence.ts"

const dropped = new Dropped({ code: "ECONNRESET" })

const words: Readonly<Record<Exclude<Fault, "refused" | "acted_and_answered_500">, string>> = {
  dropped: "the connection is lost, and nothing is done",
  acted_and_dropped: "the service acts, and the connection is lost",
  dropped_and_acted_later: "the connection is lost, and the service acts later",
  acted_and_answered_text: "the service acts, and answers with a sentence",
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
  "refused",
  "answered_503",
  "answered_429",
  "acted_and_answered_text",
  "none"
]

/** How many variants of a plan have each status once. */
export const variants = 4

// The statuses with which the service refuses a request.
const refusals = [404, 402, 409, 422] as const

// After these, it may have acted.
const failures = [500, 502, 503, 504] as const

// A read of something that exists is not answered 404.
const failuresToRead = [500, 403, 429, 503] as const

// Some come after the service has acted: a sentence proves nothing.
const sentences = [
  "The payment has failed.",
  "Zahlung fehlgeschlagen.",
  "支付失败。",
  "El pago ha fallado.",
  "Le paiement a échoué.",
  "お支払いに失敗しました。"
] as const

/** Returns the element at an index, beginning again at the end. */
const inTurn = <A>(all: readonly [A, ...ReadonlyArray<A>], index: number): A => all[index % all.length] ?? all[0]

/** The most requests that a tool may send while no time passes. */
export const maxAtOnce = 1_000

/** The state of an idempotency key. */
interface KeyState {
  readonly body: unknown
  hasActed: boolean
  /** The status with which the service has refused the first request. It repeats this answer, too. */
  readonly refusal?: number
}

/** What the service has seen of idempotency keys. */
export interface SeenKeys {
  /** Whether a request that acts had one. */
  sent: boolean
  /** Whether one call sent several. */
  differ: boolean
  /** Whether the service has acted twice for one key. */
  ignored: boolean
}

/** What the service does with the requests of one sequence. */
export interface Plan {
  /** One for each request that acts. */
  readonly faults: ReadonlyArray<Fault>
  /** Whether requests that only read are refused, over `fetch`. */
  readonly refusesToRead: boolean
  /** A number that decides which status and which language an answer has, where several do. */
  readonly variant: number
}

interface Settings extends Answers, Pick<Options<Tool.Any>, "effect" | "keyOf"> {
  readonly goesByKeys: boolean
  /** The longest delay before the service acts, in milliseconds. */
  readonly lateBy: number
}

/** A request to act, and whose it is. */
interface Acting {
  readonly request: Request
  /** The model's call whose code sent the request. */
  readonly call: PlayedCall | undefined
  readonly effect: string
}

/** The fake service, which follows a plan of faults. */
export class Service {
  /** The last answer of the service after it acted. */
  answered: unknown = undefined
  /** The first error that a function of the options threw. */
  mistake: string | undefined
  /** The first request that found nothing. */
  nothingFound: string | undefined
  readonly keys: SeenKeys = { sent: false, differ: false, ignored: false }
  /** True if the tool sent too many requests at one moment. Such a tool would never stop. */
  isFlooded = false
  readonly #moment = { at: NaN, requests: 0 }
  readonly #plan: Plan
  readonly #faults: Array<Fault>
  /** Whether the service acts only once for each key. */
  goesByKeys: boolean
  readonly #options: Settings
  readonly #sequence: PlayedSequence
  readonly #keys = new Map<string, KeyState>()
  /** The last key that each call has sent for each effect. */
  readonly #sentKeys = new Map<string, string>()
  /** How often the service has had each effect. */
  readonly #effects = new Map<string, number>()
  /** The requests on which the service has acted. */
  readonly #acted: Array<Request> = []
  #requests = 0

  /** @param sequence receives a line of text for each request */
  constructor(plan: Plan, options: Settings, sequence: PlayedSequence) {
    this.#plan = plan
    this.#faults = [...plan.faults]
    this.goesByKeys = options.goesByKeys
    this.#options = options
    this.#sequence = sequence
  }

  /** How often the service has acted: the most often of all effects. */
  get acted(): number {
    return Math.max(0, ...this.#effects.values())
  }

  /** The service as a handler sees it. It uses the clock of the check, whatever runtime a handler runs it in. */
  readonly made: Effect.Effect<FakeService> = Effect.map(Effect.context(), (context): FakeService => {
    const clock = Context.get(context, Clock.Clock)
    const { answer = { done: true }, found = (_, done) => done ? { done } : undefined } = this.#options
    const answerTo = (request: Request) => {
      this.answered = typeof answer === "function" ? this.asked("answer", () => answer(request)) : answer
      return this.answered
    }
    const counted = <A, E>(request: Effect.Effect<A, E>) =>
      Effect.provideService(this.#counted(request), Clock.Clock, clock)
    const look = (request: Request = {}) =>
      counted(Effect.sync(() => {
        const acted = this.#actedFor(request)
        return this.asked("found", () => found(request, acted.length > 0, acted))
      }))
    const read = (request: Request) =>
      Effect.flatMap(this.#plan.refusesToRead ? counted(this.#refuseToRead()) : look(request), (found) => {
        if (found !== undefined) return Effect.succeed(found)
        this.nothingFound ??= `${request.method} ${request.url}`
        return Effect.fail(new Answered({ status: 404, headers: {}, message: "Not found." }))
      })
    const acting = (given: Request, call = this.#sequence.here) =>
      Effect.suspend(() => {
        const request = this.#keyed(given)
        const effect = this.#effectOf(request)
        return effect === null
          ? read(request)
          : counted(Effect.map(this.#act({ request, call, effect }), (said) => said ?? answerTo(request)))
      })
    const act = (given: Request = {}) => {
      const { method = "POST", url = "http://service.test/" } = given
      const request = { ...given, method, url }
      return Effect.flatMap(
        ToolCall.noteRequest({
          method,
          url,
          headers: request.key === undefined ? {} : { "idempotency-key": request.key }
        }),
        (noted) => ended(noted, Effect.suspend(() => acting(request)))
      )
    }
    const fetch = effectFetch(context, ({ headers: given, method, url }) => {
      const headers = Object.fromEntries(given)
      const noted = noteHere({ method, url, headers })
      const { here } = this.#sequence
      return (body) => {
        const request = { key: headers["idempotency-key"], body, headers, method, url }
        const answer = /^(GET|HEAD)$/.test(method) ? read(request) : acting(request, here)
        return Effect.matchEffect(ended(noted, answer), {
          onSuccess: (value) => Effect.succeed(Response.json(value)),
          onFailure: (failure) =>
            failure._tag === "Answered" ? Effect.succeed(responseOf(failure)) : Effect.fail(connectionLost())
        })
      }
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
      this.isFlooded ||= ++this.#moment.requests > maxAtOnce
      return this.isFlooded ? Effect.never : request
    })
  }

  #effectOf(request: Request): string | null {
    const { effect = () => "" } = this.#options
    const name = this.asked("effect", () => effect(request))
    return name === undefined ? "" : name
  }

  #keyed(request: Request): Request {
    const { keyOf } = this.#options
    return keyOf === undefined ? request : { ...request, key: this.asked("keyOf", () => keyOf(request)) }
  }

  #actedFor({ key }: Request): ReadonlyArray<Request> {
    return this.#acted.filter((request) => key === undefined || request.key === key)
  }

  #refuseToRead(): Effect.Effect<never, Answered> {
    return Effect.suspend(() => {
      const { faults, variant } = this.#plan
      const status = inTurn(faults.length === 0 ? refusals : failuresToRead, variant)
      const line = `A request that only reads: the service answers ${status}.`
      if (this.#sequence.lines.at(-1) !== line) this.#sequence.tell(line)
      return Effect.fail(this.#answerOf(status))
    })
  }

  // Succeeds with what the service says in place of its usual answer, if it does.
  #act(acting: Acting): Effect.Effect<{ readonly message: string } | undefined, Dropped | Answered> {
    const { call, effect, request: { body, key } } = acting
    const { lateBy } = this.#options
    const known = this.goesByKeys && key !== undefined ? this.#keys.get(nameOf(effect, key)) : undefined
    const planned = this.#faults.shift() ?? "none"
    if (key !== undefined) {
      this.keys.sent = true
      const sender = nameOf(effect, call?.name)
      this.keys.differ ||= (this.#sentKeys.get(sender) ?? key) !== key
      this.#sentKeys.set(sender, key)
    }
    // A service that honours keys repeats its answer.
    const fault = planned === "refused" && known !== undefined ? "none" : planned
    const place = effect === "" ? "" : ` to ${effect}`
    const late = call?.linesOfEnd === undefined ? "" : ", after its call has ended"
    const log = (what: string) =>
      this.#sequence.tell(`Request ${++this.#requests}${place}${this.#letterOf(key)}${late}: ${what}.`)
    const refuse = (status: number, what: string) => {
      log(`the service answers ${status}, ${what}`)
      return Effect.fail(this.#answerOf(status))
    }
    if (known !== undefined && JSON.stringify(known.body) !== JSON.stringify(body)) {
      return refuse(422, "because the key came with another body")
    }
    if (known?.refusal !== undefined) return refuse(known.refusal, "because it has refused the key before")
    if (known?.hasActed === false) return refuse(409, "because it is still processing the key")
    if (fault === "refused") {
      const refusal = inTurn(refusals, this.#plan.variant + this.#requests)
      if (key !== undefined) this.#keys.set(nameOf(effect, key), { body, hasActed: false, refusal })
      return refuse(refusal, "and does nothing")
    }
    const turn = this.#plan.variant + this.#requests
    const failure = inTurn(failures, turn)
    const told = fault === "acted_and_answered_500" ? `the service acts, and answers ${failure}` : words[fault]
    log(known === undefined ? told : told.replace("the service acts", "the service knows the key"))
    switch (fault) {
      case "none":
        return this.#commit(acting)
      case "dropped":
        return Effect.fail(dropped)
      case "acted_and_dropped":
        return Effect.andThen(this.#commit(acting), Effect.fail(dropped))
      case "dropped_and_acted_later":
        // As late as can be at first, which a `settle` that is too short does not outlast. Then at any time before.
        return Effect.andThen(this.#commit(acting, lateBy * (1 - turn * 19 % 60 / 60)), Effect.fail(dropped))
      case "acted_and_answered_500":
        return Effect.andThen(this.#commit(acting), Effect.fail(this.#answerOf(failure)))
      case "acted_and_answered_text":
        return Effect.as(this.#commit(acting), { message: this.#sentence })
      case "slow":
        return Effect.as(Effect.andThen(this.#commit(acting, lateBy * 0.75), Effect.sleep(lateBy * 0.75)), undefined)
      case "answered_503":
        return Effect.fail(this.#answerOf(503))
      case "answered_429":
        return Effect.fail(this.#answerOf(429, { "retry-after": "1" }))
    }
  }

  // Acts, but only once for each key if the service honours keys. A delayed act happens even if the caller has gone.
  #commit({ call, effect, request }: Acting, after = 0): Effect.Effect<undefined> {
    const { body, key } = request
    const name = nameOf(effect, key)
    if (this.goesByKeys && key !== undefined && this.#keys.has(name)) return Effect.undefined
    this.keys.ignored ||= this.#keys.has(name)
    const state: KeyState = { body, hasActed: false }
    const lines = this.#sequence.lines.length
    if (key !== undefined) this.#keys.set(name, state)
    const commit = Effect.sync(() => {
      state.hasActed = true
      this.#acted.push(request)
      this.#effects.set(effect, (this.#effects.get(effect) ?? 0) + 1)
      if (call !== undefined) this.#sequence.acted(call, lines)
    })
    return Effect.as(
      after === 0 ? commit : Effect.forkDetach(Effect.delay(commit, after), { startImmediately: true }),
      undefined
    )
  }

  #answerOf(status: number, headers: Readonly<Record<string, string>> = {}): Answered {
    return new Answered({ status, headers, message: this.#sentence })
  }

  get #sentence(): string {
    return inTurn(sentences, this.#plan.variant + this.#requests)
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

/** Tells the handler's record how a request ended. One that is interrupted may have acted. */
const ended = <A>(
  { answered, failed }: ToolCall.NotedRequest,
  request: Effect.Effect<A, Dropped | Answered>
): Effect.Effect<A, Dropped | Answered> =>
  request.pipe(
    Effect.tap(() => Effect.sync(() => answered(200))),
    Effect.tapError((failure) => Effect.sync(() => failure._tag === "Answered" ? answered(failure.status) : failed()))
  )

// Each effect is had by a service of its own, which knows only its own keys and calls.
const nameOf = (effect: string, key: string | undefined): string => JSON.stringify([effect, key])

const responseOf = ({ headers, message, status }: Answered) => Response.json({ message }, { status, headers })
