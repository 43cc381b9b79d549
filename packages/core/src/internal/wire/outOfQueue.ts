/*
 * Whether a pool of undici's takes a request out of its queue. Then the request begins in the context of the code that
 * opened a connection, and not in that of the code that sends it.
 *
 * The stack tells. Reading it takes 35 microseconds, so that is done only if nothing cheaper shows that code sends the
 * request itself.
 */
import { attempt } from "../value/untrusted.ts"
import type { Place } from "./places.ts"
import { afterThisStep } from "./runtime.ts"

// -----------------------------------------------------------------------------
// Requests that cannot be out of a queue
// -----------------------------------------------------------------------------

/** The part of `node:async_hooks` that tells which kind of code runs. */
export interface Execution {
  readonly executionAsyncId: () => number
  readonly executionAsyncResource: () => object
}

let execution: Execution | undefined = undefined

/** Sets what tells which kind of code runs. */
export const toldBy = (teller: Execution): void => {
  execution = teller
}

/** True in the step in which undici is done with a part of its work, and then goes on with its queue. */
let isGoingOn = false

export const noteGoingOn = (): void => {
  if (isGoingOn) return
  isGoingOn = true
  afterThisStep(() => void (isGoingOn = false))
}

/**
 * Returns how to find out whether the request that is created here was in a queue. A pool takes one out of its queue while
 * it handles an event of a socket or a timer, or in the step in which it ends a part of its work. So a request was in no
 * queue if the job of a promise begins it outside such a step.
 */
export const queueCheck = (place: Place | undefined): () => boolean =>
  place !== undefined && !isGoingOn && isPromiseJob() ? no : isOutOfQueue

export const no = (): boolean => false

// Events of sockets, timers and other callbacks have a resource of their own. A promise has none, or is the resource.
const isPromiseJob = (): boolean =>
  execution?.executionAsyncId() === 0 || execution?.executionAsyncResource() instanceof Promise

// -----------------------------------------------------------------------------
// The stack
// -----------------------------------------------------------------------------

interface CallSite {
  readonly getFunctionName: () => string | null
}

interface StackTraces {
  prepareStackTrace?: ((error: unknown, sites: ReadonlyArray<CallSite>) => unknown) | undefined
  stackTraceLimit?: number
  readonly captureStackTrace?: (target: object) => void
}

// V8's functions are not part of ECMAScript.
const asStackTraces = (error: unknown): StackTraces => error as StackTraces

// A pool's listener, whose name a bundler may have dropped, dispatches the next request.
const isHeardEvent = (names: ReadonlyArray<string>, index: number): boolean =>
  names[index] === "dispatch" && names[index + 2] === "emit"

/**
 * True if the running code was called by a pool that takes a request out of its queue. From version 8, undici does that in
 * the context of the code that made the request.
 */
const isOutOfQueue = (): boolean => {
  const names = callers() ??
    Array.from(String(new Error().stack).matchAll(/ at (?:\S+\.)?(\S+)/g), ([, name]) => name ?? "")
  const drain = names.findIndex((name, index) => /^\[?onDrain\]?$/.test(name) || isHeardEvent(names, index))
  // Below it, that is how a microtask runs.
  return drain >= 0 && !names.slice(0, drain).includes("runInAsyncScope")
}

// The names of the functions on the stack, which are cheaper to read than its text. A program may have frozen `Error`.
const callers = (): ReadonlyArray<string> | undefined => {
  const traces = asStackTraces(Error)
  const { prepareStackTrace, stackTraceLimit } = traces
  const target: { readonly stack?: unknown } = {}
  let names: ReadonlyArray<string> | undefined
  try {
    traces.prepareStackTrace = (_, sites) => {
      names = sites.map((site) => site.getFunctionName() ?? "")
    }
    traces.stackTraceLimit = 20
    traces.captureStackTrace?.(target)
    void target.stack
  } catch {
    names = undefined
  }
  attempt(() => {
    traces.prepareStackTrace = prepareStackTrace
    traces.stackTraceLimit = stackTraceLimit ?? 10
  })
  return names
}
