/*
 * Whether a pool of undici's takes a request out of its queue. Then the request begins in the context of the code that
 * freed a connection, and not in that of the code that sends it.
 */
import { attempted } from "../value/untrusted.ts"

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
export const isOutOfQueue = (): boolean => {
  const names = callers() ??
    Array.from(String(new Error().stack).matchAll(/ at (?:\S+\.)?(\S+)/g), ([, name]) => name ?? "")
  return names.some((name, index) => /^\[?onDrain\]?$/.test(name) || isHeardEvent(names, index)) &&
    !names.includes("runInAsyncScope")
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
  attempted(() => {
    traces.prepareStackTrace = prepareStackTrace
    traces.stackTraceLimit = stackTraceLimit ?? 10
  })
  return names
}
