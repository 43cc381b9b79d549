/*
 * Handlers that are async functions. Interrupting a fiber does not stop a promise. So an attempt counts as running until its promise
 * settles, and its late result is still recorded.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { from, type FromOptions, type ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import { current } from "../call/frame.ts"
import { attempted, isA } from "../value/untrusted.ts"
import { abandonable } from "./abandonable.ts"

declare global {
  // Every runtime has it, and no library of ECMAScript declares it.
  interface AbortSignal {
    readonly aborted: boolean
  }
}

/**
 * What an async handler is given beside its parameters.
 *
 * @category models
 * @since 0.1.0
 */
export interface PromiseCall {
  /** Aborted when the call's time is up, or its run is interrupted. */
  readonly signal: AbortSignal
  /** The same for every attempt of the call. */
  readonly idempotencyKey: string
  /** From 1. */
  readonly attempt: number
}

/** A handler of Effects, from one of promises. */
export const promised = <Params, A>(
  who: string,
  handler: (params: Params, call: PromiseCall) => PromiseLike<A> | A,
  options: FromOptions
) =>
(params: Params): Effect.Effect<A, ReturnType<typeof from>> =>
  Effect.withFiber((fiber) => {
    const { idempotencyKey, state: { executions: attempt } } = fiber.getRef(current)
    let promise: Promise<A> | undefined
    const end = Effect.callback<A, unknown>((resume, signal) => {
      // What it throws at once it rejects with.
      promise ??= new Promise((resolve) => resolve(handler(params, { signal, idempotencyKey, attempt })))
      void promise.then((value) => resume(Effect.succeed(value)), (error) => resume(Effect.fail(error)))
    })
    // An interruption aborts the signal, and then waits for what the promise comes to.
    let isAborted = false
    const settled = Effect.catchCause(Effect.interruptible(end), (cause) => {
      isAborted = Cause.hasInterruptsOnly(cause) && promise !== undefined
      return isAborted ? end : Effect.failCause(cause)
    })
    const judged = Effect.matchEffect(settled, {
      onSuccess: (value) =>
        attempted(() => Effect.isEffect(value)) === true ? Effect.die(effectOf(who)) : Effect.succeed(value),
      onFailure: (error) =>
        Effect.suspend(() => {
          // A mistake of the program is thrown again.
          const failure = from(error, options)
          return Effect.fail(isAborted ? afterAbort(error) : failure)
        })
    })
    return Effect.uninterruptible(judged)
  })

// "Cancelled" is what a function may say that was aborted after it had acted. Only what it says of its outcome is believed.
const afterAbort = (error: unknown): ToolUnavailable =>
  isUnavailable(error) && error.outcome !== undefined ? error : new ToolUnavailable({
    code: "timeout",
    detail: "The call was aborted before it finished.",
    transient: true,
    outcome: "unknown",
    cause: error
  })

const isUnavailable = isA(ToolUnavailable)

const effectOf = (who: string) => new TypeError(`${who} returned an Effect: make the tool with Tool.make.`)

/** Runs a handler in its own fiber, which keeps running when its caller is interrupted. An interrupted caller waits 5 s at most. */
export const continuing = <Params, A, E extends ToolFailure, R>(
  run: (params: Params) => Effect.Effect<A, E, R>
) =>
(params: Params): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => abandonable(run(params), fiber.getRef(current), Infinity, { late: () => Effect.never }))
