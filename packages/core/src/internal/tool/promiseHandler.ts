/*
 * Handlers that are async functions. Interrupting a fiber does not stop a promise. So an attempt counts as running
 * until its promise settles, and the late result of the promise is still recorded.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Schema from "effect/Schema"
import { from, type FromOptions, type ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import { current as transcript, type Transcript } from "../../Transcript.ts"
import { type AskOptions, askUser } from "../call/askUser.ts"
import { attachTo, progressIn, tellIn } from "../call/handlerNotes.ts"
import { refusalBecause, type RefuseOptions } from "../call/refuse.ts"
import { current, identityOf, type Scope } from "../call/scope.ts"
import { abandonable } from "../policy/abandonOnTimeout.ts"
import type { File } from "../value/file.ts"
import { attempt, isA, isStarted } from "../value/untrusted.ts"
import { type NotedRequest, type NoteOptions, noteRequest } from "../wire/noteRequest.ts"
import { baseFetch, type CallFetch, ownFetch } from "../wire/ownFetch.ts"
import { within } from "../wire/places.ts"
import { rejectionOf } from "./argumentRules.ts"

declare global {
  // Every runtime has this property, but TypeScript's ECMAScript libraries do not declare it.
  interface AbortSignal {
    readonly aborted: boolean
  }
}

/**
 * The second argument of an async handler.
 *
 * @category models
 * @since 0.1.0
 */
export interface PromiseCall {
  /** Aborted when the time of the call is up, or when the call is interrupted. */
  readonly signal: AbortSignal
  /** The idempotency key: the same for every attempt of the call. */
  readonly idempotencyKey: string
  /** The 1-based number of this execution of the handler in the call. */
  readonly attempt: number
  /** The name of the call in logs and events. */
  readonly id: string
  /** The id of the agent's run. Absent if no agent runs the call. */
  readonly run?: string
  /** The 1-based number of the turn. Absent if no agent runs the call. */
  readonly turn?: number
  /**
   * Asks the user (`ToolCall.ask`). Without a reply, the promise never settles, and the call ends. After the reply, the
   * handler runs again from its start. So ask before you act.
   */
  readonly ask: (question: string, options?: AskOptions) => Promise<string>
  /**
   * Refuses the call: the tool has done nothing, and would refuse the same arguments again (`ToolCall.refuse`). It throws,
   * so nothing after it runs.
   */
  readonly refuse: (detail: string, options?: RefuseOptions) => never
  /**
   * The global `fetch` with the `signal` of the call. It records its requests on every runtime, over any connection pool,
   * and can be handed to a client that takes a `fetch`. `fetch.withKey` also sends the header `Idempotency-Key`.
   */
  readonly fetch: CallFetch
  /** Notes a request that the library cannot see by itself (`ToolCall.noteRequest`). */
  readonly noteRequest: (request: NoteOptions) => NotedRequest
  /** Attaches a file to the answer (`ToolCall.attach`). */
  readonly attach: (file: File) => void
  /** Gives the model something else to read in place of the result (`ToolCall.tell`). */
  readonly tell: (value: unknown) => void
  /** Shows a result before the call ends (`ToolCall.progress`). */
  readonly progress: (value: unknown) => void
  /** What the model was sent when it wrote the call (`Transcript.current`). */
  readonly transcript: () => Transcript | undefined
}

/**
 * What an async handler returns. A `PromiseLike` includes the promises; they are named as well so that the compiler compares
 * their values, and not their methods.
 */
export type PromiseOf<A> = Promise<A> | PromiseLike<A> | A

/** Turns an async handler into a handler that returns Effects. */
export const handlerOfPromise = <Params, A>(
  label: string,
  handler: (params: Params, call: PromiseCall) => PromiseOf<A>,
  options: FromOptions,
  parameters?: Schema.Constraint
) =>
(params: Params): Effect.Effect<A, ReturnType<typeof from>> =>
  Effect.withFiber((fiber) => {
    const scope = fiber.getRef(current)
    let promise: Promise<A> | undefined
    let endWith: (defect: unknown) => void = () => {}
    const start = new Start()
    const ask = (question: string, options?: AskOptions) =>
      new Promise<string>((resolve) => {
        const reply = askUser(fiber, question, options)
        if (typeof reply === "string") resolve(reply)
        else endWith(reply)
      })
    const end = Effect.callback<A, unknown>((resume, signal) => {
      endWith = (defect) => resume(Effect.die(defect))
      // If the handler throws synchronously, the promise rejects.
      promise ??= within(scope.wire, () =>
        new Promise((resolve) => resolve(start.of(handler(params, contextOf(fiber, scope, signal, ask))))))
      void promise.then((value) =>
        resume(Effect.succeed(value)), (error) => resume(Effect.fail(error)))
    })
    // An interruption aborts the signal, and then waits until the promise settles.
    let isAborted = false
    const settled = Effect.catchCause(Effect.interruptible(end), (cause) => {
      isAborted = Cause.hasInterruptsOnly(cause) && promise !== undefined
      return isAborted ? end : Effect.failCause(cause)
    })
    const judged = Effect.matchEffect(settled, {
      onSuccess: (value) =>
        attempt(() => Effect.isEffect(value)) === true ? Effect.die(effectReturned(label)) : Effect.succeed(value),
      onFailure: (error) =>
        Effect.suspend(() => {
          const rejection = start.isOver || parameters === undefined
            ? undefined
            : attempt(() => rejectionOf(error, params, parameters, options))
          // `from` rethrows programming errors, which makes them defects.
          const failure = rejection ?? from(error, options)
          return Effect.fail(isAborted ? afterAbort(error) : failure)
        })
    })
    return Effect.uninterruptible(judged)
  })

/** The start of an async function: what it does before it waits for anything. */
class Start {
  /** False if the function has failed at its start. */
  isOver = false

  /** @param answer what the function returned */
  of<A>(answer: A): A {
    this.isOver = true
    if (isStarted(answer)) {
      let isNow = true
      // A promise that has failed already reports it before the next microtask.
      void Promise.prototype.then.call(answer, undefined, () => {
        this.isOver = !isNow
      })
      void Promise.resolve().then(() => {
        isNow = false
      })
    }
    return answer
  }
}

// A plain object: handlers may copy it.
const contextOf = (
  fiber: Fiber.Fiber<unknown, unknown>,
  scope: Scope,
  signal: AbortSignal,
  ask: PromiseCall["ask"]
): PromiseCall => {
  const { idempotencyKey, state, wire: record } = scope
  const { tool: _, ...identity } = identityOf(scope)
  return {
    ...identity,
    signal,
    idempotencyKey,
    attempt: state.executions,
    ask,
    fetch: ownFetch({ base: fiber.getRef(baseFetch), record, signal, key: idempotencyKey }),
    refuse: (detail, options) => {
      throw refusalBecause(record, detail, options)
    },
    noteRequest: (request) => noteRequest(request, record),
    attach: (file) => attachTo(scope, file),
    tell: (value) => tellIn(scope, value),
    progress: (value) => progressIn(scope, value),
    transcript: () => Effect.runSync(Effect.provideService(transcript, current, scope))
  }
}

// A function that acted before it was aborted may still report "cancelled". So only an explicit `outcome` is trusted.
const afterAbort = (error: unknown): ToolUnavailable =>
  isUnavailable(error) && error.outcome !== undefined ? error : new ToolUnavailable({
    code: "timeout",
    detail: "The call was aborted before it finished.",
    transient: true,
    outcome: "unknown",
    cause: error
  })

const isUnavailable = isA(ToolUnavailable)

const effectReturned = (label: string) => new TypeError(`${label} returned an Effect: make the tool with Tool.make.`)

/**
 * Runs a handler in its own fiber. If the caller is interrupted, the handler continues, and the caller waits
 * for it for at most 5 s.
 */
export const runOnAfterInterrupt = <Params, A, E extends ToolFailure, R>(
  run: (params: Params) => Effect.Effect<A, E, R>
) =>
(params: Params): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => abandonable(run(params), fiber.getRef(current), Infinity, { late: () => Effect.never }))
