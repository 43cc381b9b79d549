/*
 * Timers on the clock of a check. Its time is virtual, so real timers of a handler would not elapse: a handler that waits
 * before it tries again would never try again.
 *
 * The timers are replaced while a check runs. Only code of a call gets those of its check; all other code has its own.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { builtin, newStorage } from "./asyncStorage.ts"

// The context of the code that runs, with its clock.
const clocks = newStorage<Context.Context<never>>()

/** Runs code whose timers are those of the clock of the context. */
export const onClock = <A>(context: Context.Context<never>, run: () => A): A =>
  clocks === undefined ? run() : clocks.run(context, run)

/** Replaces the timers while the Effect runs. */
export const withVirtualTimers = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(Effect.sync(begin), () => effect, () => Effect.sync(end))

let checks = 0
let putBack: ReadonlyArray<() => void> = []

const begin = () => {
  if (checks++ === 0) putBack = replaceAll()
}

const end = () => {
  if (--checks === 0) putBack.forEach((back) => back())
}

class VirtualTimer {
  #fiber: Fiber.Fiber<void> | undefined
  readonly #fire: Effect.Effect<void>
  readonly #context: Context.Context<never>

  constructor(context: Context.Context<never>, wait: number, callback: () => void) {
    this.#context = context
    // A real timer waits for 1 ms at least.
    this.#fire = Effect.delay(Effect.sync(callback), wait > 1 ? wait : 1)
    this.refresh()
  }

  refresh(): this {
    this.close()
    this.#fiber = Effect.runForkWith(this.#context)(this.#fire)
    return this
  }

  close(): void {
    this.#fiber?.interruptUnsafe()
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }
}

const replaceAll = (): ReadonlyArray<() => void> => {
  const { clearTimeout: clear, setTimeout: set } = globalThis
  const timeoutOf = AbortSignal.timeout.bind(AbortSignal)
  const promises = builtin("node:timers/promises")
  const elapse = promises?.setTimeout
  const setTimeout = (
    callback: (...args: ReadonlyArray<unknown>) => void,
    wait = 0,
    ...args: ReadonlyArray<unknown>
  ) => {
    const context = clocks?.getStore()
    return context === undefined
      ? set(callback, wait, ...args)
      : new VirtualTimer(context, wait, () => callback(...args))
  }
  const clearTimeout = (timer: Parameters<typeof clear>[0] | VirtualTimer) =>
    timer instanceof VirtualTimer ? timer.close() : clear(timer)
  const timeout = (wait: number) => {
    if (clocks?.getStore() === undefined) return timeoutOf(wait)
    const controller = new AbortController()
    setTimeout(
      () => controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")),
      wait
    )
    return controller.signal
  }
  const elapsed = <A>(wait?: number, value?: A, options: { readonly signal?: AbortSignal } = {}) =>
    clocks?.getStore() === undefined && elapse !== undefined
      ? elapse(wait, value, options)
      : new Promise<A | undefined>((resolve, reject) => {
        const { signal } = options
        const abort = () => {
          clearTimeout(timer)
          reject(new DOMException("The operation was aborted", "AbortError"))
        }
        const timer = setTimeout(() => resolve(value), wait)
        if (signal?.aborted === true) abort()
        else signal?.addEventListener("abort", abort, { once: true })
      })
  // `util.promisify(setTimeout)` finds its promise by this name.
  Object.assign(setTimeout, { [Symbol.for("nodejs.util.promisify.custom")]: elapsed })
  return [
    replace(globalThis, { setTimeout, clearTimeout }),
    replace(AbortSignal, { timeout }),
    ...(promises === undefined ? [] : [replace(promises, { setTimeout: elapsed })])
  ]
}

/** Replaces members of an object, and returns what puts the earlier ones back. */
const replace = (target: object, members: object): () => void => {
  const before = Object.fromEntries(Object.keys(members).map((name) => [name, Reflect.get(target, name)]))
  const set = (all: object) => {
    Object.assign(target, all)
    // What has been imported by its name follows.
    builtin("node:module")?.syncBuiltinESMExports()
  }
  set(members)
  return () => set(before)
}
