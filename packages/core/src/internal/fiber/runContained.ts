/*
 * Runs a user's Effect in its own fiber, so that an Effect that breaks its fiber breaks no other.
 *
 * In all other respects, the Effect runs as if in its caller's fiber. It starts immediately, in the caller's
 * context, and is interruptible wherever the caller is. An interrupted caller waits for the Effect to end.
 * Deep nesting does not overflow the stack.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"

/**
 * Runs an Effect in its own fiber and waits for it to end.
 *
 * @param judge maps the Effect's Exit to the result; default: the Exit itself
 */
export const runContained = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  judge: (exit: Exit.Exit<A, E>) => Effect.Effect<A, E> = (exit) => exit
): Effect.Effect<A, E, R> =>
  // An Exit needs no fiber.
  isExit(self) ? judge(self) : runContainedCall(() => self, { judge })

/** Observes an Effect that runs in its own fiber. */
export interface Watcher<A, E> {
  /** Maps the Effect's Exit to the result. */
  readonly judge: (exit: Exit.Exit<A, E>) => Effect.Effect<A, E>
  /** Receives the Exit of an Effect that did not end immediately. */
  readonly end?: (exit: Exit.Exit<A, E>) => void
  /** Runs when the waiting caller is interrupted. */
  readonly leave?: () => void
  /** Calls the function that makes the Effect, and starts the fiber. */
  readonly within?: <B>(start: () => B) => B
}

/** Like {@link runContained}, for the Effect that a function returns. */
export const runContainedCall = <A, E, R>(
  call: () => Effect.Effect<A, E, R>,
  watcher: Watcher<A, E>
): Effect.Effect<A, E, R> =>
  // Each call of a model waits here, so this holds as little as possible.
  Effect.withFiber((caller) => {
    if (watcher.leave !== undefined || !isInterruptible(caller)) return runMasked(call, watcher)
    let fiber: Fiber.Fiber<A, E> | undefined = undefined
    const ended = Effect.callback<A, E, R>((resume) => {
      const begun = begin(call, watcher, (self) => startFiber(self, currentContext<R>()))
      if (!Fiber.isFiber(begun)) return resume(endedHere(begun, watcher))
      const exit = begun.pollUnsafe()
      if (exit !== undefined) return resume(watcher.judge(exit))
      fiber = begun
      if (watcher.end !== undefined) begun.addObserver((exit) => watcher.end?.(exit))
      observeEnd(begun, caller, (exit) => resume(Effect.suspend(() => watcher.judge(exit))))
    })
    return Effect.onInterrupt(ended, (interruptors) =>
      fiber === undefined ? Effect.void : Effect.flatMap(interruptedAndEnded(fiber, interruptors), defectsOf))
  })

const runMasked = <A, E, R>(
  call: () => Effect.Effect<A, E, R>,
  watcher: Watcher<A, E>
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) => {
    // The fiber starts uninterruptible. `restore` gives the Effect the interruptibility of its caller.
    const begun = begin(call, watcher, (self) => startFiber(restore(self), currentContext<R>(), uninterruptible))
    if (!Fiber.isFiber(begun)) return endedHere(isExit(begun) ? begun : restore(begun), watcher)
    const exit = begun.pollUnsafe()
    if (exit !== undefined) return watcher.judge(exit)
    if (watcher.end !== undefined) begun.addObserver((exit) => watcher.end?.(exit))
    // An uninterruptible caller forwards an interruption, too: parts of the Effect may be interruptible.
    const waiting = Effect.catchCause(
      Effect.interruptible(endOf(begun)),
      (cause) => interruptedAndEnded(begun, Cause.interruptors(cause))
    )
    return Effect.flatMap(
      Effect.onInterrupt(restore(waiting), (interruptors) => {
        watcher.leave?.()
        return Effect.flatMap(interruptedAndEnded(begun, interruptors), defectsOf)
      }),
      (exit) => watcher.judge(exit)
    )
  })

// Calls the function, and starts a fiber for its Effect, unless the Effect has ended or no fiber may be nested.
const begin = <A, E, R>(
  call: () => Effect.Effect<A, E, R>,
  watcher: Watcher<A, E>,
  start: (self: Effect.Effect<A, E, R>) => Fiber.Fiber<A, E>
): Fiber.Fiber<A, E> | Effect.Effect<A, E, R> => {
  const begun = () => {
    const self = call()
    return isExit(self) || isTooDeep() ? self : start(self)
  }
  return watcher.within === undefined ? begun() : watcher.within(begun)
}

const endedHere = <A, E, R>(self: Effect.Effect<A, E, R>, watcher: Watcher<A, E>): Effect.Effect<A, E, R> =>
  isExit(self) ? watcher.judge(self) : Effect.flatMap(Effect.exit(self), (exit) => watcher.judge(exit))

// The type of a fiber lacks this property. Where it is missing, the fiber counts as uninterruptible, which is always safe.
const isInterruptible = (fiber: Fiber.Fiber<unknown, unknown>): boolean =>
  "interruptible" in fiber && fiber.interruptible === true

const uninterruptible = { uninterruptible: true }

/**
 * Returns the context of the current fiber. The context has all services that the fiber needs, although its
 * type does not say so.
 */
export const currentContext = <R>() => (Fiber.getCurrent()?.context ?? Context.empty()) as Context.Context<R>

/** True if an Effect has already ended. `Exit.isExit` would lose the types of the Effect. */
export const isExit = <A, E, R>(self: Effect.Effect<A, E, R>): self is Exit.Exit<A, E> & Effect.Effect<A, E, R> =>
  Exit.isExit(self)

// -----------------------------------------------------------------------------
// The life of a fiber
// -----------------------------------------------------------------------------

/** Starts an Effect in a new fiber, and returns the fiber. */
export const startFiber = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  context: Context.Context<R>,
  options?: Effect.RunOptions
): Fiber.Fiber<A, E> => {
  const body = depth < maxDepth ? self : Effect.andThen(Effect.yieldNow, self)
  depth++
  try {
    const fiber = Effect.runForkWith(context)(body, options)
    if (fiber.pollUnsafe() === undefined && isSynchronous()) fiber.currentDispatcher.flush()
    return fiber
  } finally {
    depth--
  }
}

/** True if no further fiber may be nested: the stack is deep, and a synchronous program cannot yield. */
export const isTooDeep = (): boolean => depth >= maxDepth && isSynchronous()

/** True if the program runs without ever waiting (`Effect.runSync`). */
const isSynchronous = (): boolean => Fiber.getCurrent()?.getRef(Scheduler.Scheduler).executionMode === "sync"

const endOf = <A, E>(fiber: Fiber.Fiber<A, E>): Effect.Effect<Exit.Exit<A, E>> =>
  Effect.withFiber((waiting) =>
    Effect.callback((resume) => {
      const remove = observeEnd(fiber, waiting, (exit) => resume(Effect.succeed(exit)))
      return Effect.sync(remove)
    })
  )

/**
 * Calls `tell` with a fiber's Exit once the fiber ends.
 *
 * @param waiting the fiber that waits for the Exit
 * @returns a function that removes the observer
 */
export const observeEnd = <A, E>(
  fiber: Fiber.Fiber<A, E>,
  waiting: Fiber.Fiber<unknown, unknown>,
  tell: (exit: Exit.Exit<A, E>) => void
): () => void =>
  fiber.addObserver((exit) => {
    // In a long chain of fibers that wait for each other, every fiber that ends would otherwise deepen the stack.
    if (depth < maxDepth) runNested(() => tell(exit))
    else waiting.currentDispatcher.scheduleTask(() => tell(exit), 0)
  })

const interruptedAndEnded = <A, E>(
  fiber: Fiber.Fiber<A, E>,
  interruptors: ReadonlySet<number>
): Effect.Effect<Exit.Exit<A, E>> => Effect.andThen(interruptFiber(fiber, interruptors), endOf(fiber))

/** Interrupts a fiber without waiting for it to end. */
export const interruptFiber = (
  fiber: Fiber.Fiber<unknown, unknown>,
  interruptors: ReadonlySet<number>
): Effect.Effect<void> => {
  const [interruptor] = interruptors
  const interrupting = Effect.sync(() => runNested(() => fiber.interruptUnsafe(interruptor)))
  return depth < maxDepth ? interrupting : Effect.andThen(Effect.yieldNow, interrupting)
}

// Keeps the defects of a fiber that dies while it is interrupted.
const defectsOf = (exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> => {
  const defects = Exit.isFailure(exit) ? exit.cause.reasons.filter(Cause.isDieReason) : []
  return defects.length === 0 ? Effect.void : Effect.failCause(Cause.fromReasons<never>(defects))
}

// -----------------------------------------------------------------------------
// The stack
// -----------------------------------------------------------------------------

// How many starts, ends and interruptions of fibers are nested on the current stack.
let depth = 0
const maxDepth = 64

const runNested = <A>(run: () => A): A => {
  depth++
  try {
    return run()
  } finally {
    depth--
  }
}
