/*
 * What happened while a plan was played: its events as lines, and the model's calls. For each call, it knows how often the
 * service acted on its requests, and what the library told of it.
 *
 * A request belongs to the call whose code sends it, even if a later call has begun by then: an `AsyncLocalStorage` says so.
 * A request of other code belongs to the latest call. That code may be a worker that was started before, or the runtime
 * may have no such storage.
 */
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { newStorage } from "./asyncStorage.ts"
import { onClock } from "./virtualTimers.ts"

/** One of the model's calls. A call that was resumed after a question counts as another one. */
export interface PlayedCall {
  readonly name: string
  /** How often the service has acted on a request of the call. */
  acted: number
  /** How many lines there were after the last of these requests. */
  linesOfAct: number
  /** How many lines there were when the call ended; `undefined` while it runs. */
  linesOfEnd: number | undefined
  /** The outcome, if the library told that the call was not executed. */
  toldNothing: ToolOutcome.ToolOutcome | undefined
}

/** The events and the calls of one plan, while it is played. */
export class PlayedSequence {
  /** The events, one line each. */
  readonly lines: Array<string> = []
  /** Whether a check of the tool (`Tool.reconcile`) has found out what happened. */
  hasSettled = false
  /** Why the first check failed, or the failure that it was about. */
  failedLook: string | undefined
  readonly #calls = new Map<string, PlayedCall>()
  #announced: ReadonlyArray<string> = []
  #latest: PlayedCall | undefined

  readonly tell = (line: string): void => void this.lines.push(line)

  /** Announces what the model says. It is told once one of its calls begins: the library may refuse them all. */
  announce(lines: ReadonlyArray<string>): void {
    this.#announced = lines
  }

  /** Tells what was announced. */
  begin(): void {
    this.lines.push(...this.#announced)
    this.#announced = []
  }

  /** Runs the Effect of a call. The requests of its code then belong to the call. */
  within<A, E, R>(name: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const call = this.#call(name)
      this.#latest = call
      call.linesOfEnd = undefined
      const end = Effect.sync(() => void (call.linesOfEnd = this.lines.length))
      return Effect.tap(startedIn(call, effect), () => end)
    })
  }

  /** The call that the running code belongs to. */
  get here(): PlayedCall | undefined {
    const call = storage?.getStore()
    return call !== undefined && this.#calls.get(call.name) === call ? call : this.#latest
  }

  /**
   * Notes that the service has acted on a request.
   *
   * @param lines how many lines there were after the request
   */
  acted(call: PlayedCall, lines: number): void {
    call.acted++
    call.linesOfAct = Math.max(call.linesOfAct, lines)
  }

  /** Notes what the library told of a call. */
  told(name: string, outcome: ToolOutcome.ToolOutcome): void {
    if (outcome.certainty === "not_executed") this.#call(name).toldNothing ??= outcome
  }

  /** The events, together with what was told wrongly before the last of them. */
  get linesWithTold(): ReadonlyArray<string> {
    const told = this.#wronglyTold.filter(({ at }) => at < this.lines.length).toSorted((one, other) =>
      other.at - one.at
    )
    return told.reduce<ReadonlyArray<string>>((lines, { at, line }) => lines.toSpliced(at, 0, line), this.lines)
  }

  /** The first call on whose requests the service acted, although the library told that it was not executed. */
  get wronglyTold(): WronglyTold | undefined {
    const [first] = this.#wronglyTold
    if (first === undefined) return undefined
    const { acted, at, line, linesOfAct } = first
    return { times: acted, sequence: this.lines.toSpliced(at, 0, line).slice(0, Math.max(linesOfAct, at) + 1) }
  }

  get #wronglyTold() {
    return Array.from(this.#calls.values()).flatMap(({ acted, linesOfAct, linesOfEnd = linesOfAct, toldNothing }) =>
      acted === 0 || toldNothing === undefined
        ? []
        : [{ acted, linesOfAct, at: linesOfEnd, line: lineOf(toldNothing) }]
    )
  }

  #call(name: string): PlayedCall {
    const call = this.#calls.get(name) ??
      { name, acted: 0, linesOfAct: 0, linesOfEnd: undefined, toldNothing: undefined }
    this.#calls.set(name, call)
    return call
  }
}

/** A call that was told as not executed, although its service had acted. */
export interface WronglyTold {
  /** How often the service acted on a request of the call. */
  readonly times: number
  /** The events until then, together with what was told. */
  readonly sequence: ReadonlyArray<string>
}

const lineOf = (outcome: ToolOutcome.ToolOutcome): string => {
  const what = outcome._tag === "Failed"
    ? `The call fails (${outcome.failure.detail})`
    : outcome._tag === "Suspended"
    ? "The call asks the user"
    : outcome._tag === "Stopped"
    ? "The call stops the run"
    : "The call succeeds"
  return `${what}, and is told as not executed.`
}

// -----------------------------------------------------------------------------
// Whose code runs
// -----------------------------------------------------------------------------

const storage = newStorage<PlayedCall>()

// A fiber stays in the place where it was started, so the Effect needs a fiber of its own.
const startedIn = <A, E, R>(call: PlayedCall, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  storage === undefined ? effect : Effect.flatMap(Effect.context<R>(), (context) =>
    Effect.callback<A, E>((resume) => {
      const fiber = storage.run(call, () => onClock(context, () => Effect.runForkWith(context)(effect)))
      fiber.addObserver(resume)
      return Fiber.interrupt(fiber)
    }))
