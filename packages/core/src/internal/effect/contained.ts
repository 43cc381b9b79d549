/*
 * A fiber of its own for what users write: an Effect that breaks its fiber breaks no other.
 *
 * Otherwise nothing is different. It begins at once, in the context of its caller, and may be interrupted where its caller may. A
 * caller that is interrupted waits for its end. However many are inside of each other, they do not use up the stack.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"

/**
 * Runs an Effect in a fiber of its own and waits for it.
 *
 * @param judge what its end comes to; by default it stays as it is
 * @param watching told of its end, where it does not end at once, and of an interruption of whoever waits for that
 */
export const contained = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  judge: (exit: Exit.Exit<A, E>) => Effect.Effect<A, E> = (exit) => exit,
  watching?: { readonly end: (exit: Exit.Exit<A, E>) => void; readonly leave: () => void }
): Effect.Effect<A, E, R> => {
  // What has ended already needs no fiber.
  if (isExit(self)) return judge(self)
  return Effect.uninterruptibleMask((restore) => {
    if (isTooDeep()) return Effect.flatMap(Effect.exit(restore(self)), judge)
    // What may be interrupted in it is for the Effect to say, which its caller has restored.
    const fiber = started(restore(self), currentContext<R>(), { uninterruptible: true })
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return judge(exit)
    if (watching !== undefined) fiber.addObserver(watching.end)
    const end = endOf(fiber)
    const interrupted = (interruptors: ReadonlySet<number>) => Effect.andThen(interruption(fiber, interruptors), end)
    // A caller that may not be interrupted passes on that it was: what it waits for may be so in parts.
    const waiting = Effect.catchCause(Effect.interruptible(end), (cause) => interrupted(Cause.interruptors(cause)))
    return Effect.flatMap(
      Effect.onInterrupt(restore(waiting), (interruptors) => {
        watching?.leave()
        return Effect.flatMap(interrupted(interruptors), defectsOf)
      }),
      judge
    )
  })
}

/** The context of the fiber that runs now: it has all that its Effects need, which its own type does not say. */
export const currentContext = <R>() => (Fiber.getCurrent()?.context ?? Context.empty()) as Context.Context<R>

/** Has an Effect ended already? The type guard of `Exit` loses the types of the Effect. */
export const isExit = <A, E, R>(self: Effect.Effect<A, E, R>): self is Exit.Exit<A, E> & Effect.Effect<A, E, R> =>
  Exit.isExit(self)

// -----------------------------------------------------------------------------
// From its beginning to its end
// -----------------------------------------------------------------------------

/** A fiber of its own, in which an Effect has begun. */
export const started = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  context: Context.Context<R>,
  options?: Effect.RunOptions
): Fiber.Fiber<A, E> => {
  const begun = depth < mostDepth ? self : Effect.andThen(Effect.yieldNow, self)
  depth++
  try {
    const fiber = Effect.runForkWith(context)(begun, options)
    if (fiber.pollUnsafe() === undefined && runsInOneGo()) fiber.currentDispatcher.flush()
    return fiber
  } finally {
    depth--
  }
}

/** Is there no room for one more fiber? A program that runs in one go cannot come back to it later. */
export const isTooDeep = (): boolean => depth >= mostDepth && runsInOneGo()

/** Does the program end without ever waiting (`Effect.runSync`)? */
const runsInOneGo = (): boolean => Fiber.getCurrent()?.getRef(Scheduler.Scheduler).executionMode === "sync"

const endOf = <A, E>(fiber: Fiber.Fiber<A, E>): Effect.Effect<Exit.Exit<A, E>> =>
  Effect.withFiber((waiting) =>
    Effect.callback((resume) => {
      const remove = observed(fiber, waiting, (exit) => resume(Effect.succeed(exit)))
      return Effect.sync(remove)
    })
  )

/**
 * Tells whoever waits for a fiber of its end.
 *
 * @returns how not to tell
 */
export const observed = <A, E>(
  fiber: Fiber.Fiber<A, E>,
  waiting: Fiber.Fiber<unknown, unknown>,
  tell: (exit: Exit.Exit<A, E>) => void
): () => void =>
  fiber.addObserver((exit) => {
    // Of a long chain of fibers that wait for each other, each end would take some of the stack.
    if (depth < mostDepth) deeper(() => tell(exit))
    else waiting.currentDispatcher.scheduleTask(() => tell(exit), 0)
  })

/** Interrupts a fiber, without waiting for its end. */
export const interruption = (
  fiber: Fiber.Fiber<unknown, unknown>,
  interruptors: ReadonlySet<number>
): Effect.Effect<void> => {
  const [interruptor] = interruptors
  const interrupting = Effect.sync(() => deeper(() => fiber.interruptUnsafe(interruptor)))
  return depth < mostDepth ? interrupting : Effect.andThen(Effect.yieldNow, interrupting)
}

// What it dies of while it is interrupted is not lost.
const defectsOf = (exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> => {
  const defects = Exit.isFailure(exit) ? exit.cause.reasons.filter(Cause.isDieReason) : []
  return defects.length === 0 ? Effect.void : Effect.failCause(Cause.fromReasons<never>(defects))
}

// -----------------------------------------------------------------------------
// The stack
// -----------------------------------------------------------------------------

// How many fibers have begun or ended within each other, in one go.
let depth = 0
const mostDepth = 64

const deeper = <A>(run: () => A): A => {
  depth++
  try {
    return run()
  } finally {
    depth--
  }
}
