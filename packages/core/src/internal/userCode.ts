/*
 * A user's function, called with care.
 *
 * Types are stripped at run time, and `any` is everywhere: a handler may return a promise, fail with a text, or give effect a
 * value that is not an Effect. effect ends a fiber that meets such a value, without its finalizers. So a user's function runs in a
 * fiber of its own. It ends with a value, with one of the four failures, or with a defect that says what to do.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import * as Defect from "../Defect.ts"
import * as ToolCall from "../ToolCall.ts"
import { isToolFailure, type ToolFailure } from "../ToolFailure.ts"
import { attempted, isPromise, isStarted } from "./stranger.ts"
import { kind } from "./text.ts"

/**
 * Calls a user's function that answers with an Effect of the four failures.
 *
 * @param who the function, as a log names it: "The handler of 'pay'"
 */
export const called = <A, E extends ToolFailure, R>(
  who: string,
  call: () => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => Effect.suspend(() => ended(who, call()))

/** The same of what it has answered already. */
export const ended = <A, E extends ToolFailure, R>(
  who: string,
  answer: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => contained(answered(who, answer), (exit) => judged(who, exit))

/** What a user's function has answered, if it is an Effect; else a defect. */
export const answered = <A, E, R>(who: string, answer: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  attempted(() => Effect.isEffect(answer)) === true ? answer : Effect.die(fault(who, "returned", answer))

/**
 * Runs an Effect in a fiber of its own and waits for it: an Effect that breaks its fiber breaks no other.
 *
 * @param judge what its end comes to; by default it stays as it is
 */
export const contained = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  judge: (exit: Exit.Exit<A, E>) => Effect.Effect<A, E> = (exit) => exit
): Effect.Effect<A, E, R> => {
  // What has ended already needs no fiber.
  if (isExit(self)) return judge(self)
  return Effect.uninterruptibleMask((restore) =>
    Effect.withFiber((parent) => {
      const isSync = parent.getRef(Scheduler.Scheduler).executionMode === "sync"
      const isDeep = depth >= mostDepth
      // A program that runs in one go cannot come back to a fiber later.
      if (isDeep && isSync) return Effect.flatMap(Effect.exit(restore(self)), judge)
      const begun = isDeep ? Effect.andThen(Effect.yieldNow, restore(self)) : restore(self)
      const fiber = deeper(() => started(parent, begun, isSync))
      const exit = fiber.pollUnsafe()
      if (exit !== undefined) return judge(exit)
      const end = endOf(fiber, parent)
      const interrupted = (interruptors: ReadonlySet<number>) => Effect.andThen(interruption(fiber, interruptors), end)
      // A caller that may not be interrupted passes on that it was: what it waits for may be so in parts.
      const waiting = Effect.catchCause(Effect.interruptible(end), (cause) => interrupted(Cause.interruptors(cause)))
      return Effect.flatMap(
        Effect.onInterrupt(
          restore(waiting),
          (interruptors) => Effect.flatMap(interrupted(interruptors), defectsOf)
        ),
        judge
      )
    })
  )
}

/** Fails with what a user's function has made of a failure, if that is one of the four; else with a defect. */
export const failing = <E extends ToolFailure>(who: string, failure: E): Effect.Effect<never, E> =>
  isWhole(failure)
    ? Effect.fail(failure)
    : Effect.die(fault(who, "returned", failure, "which is not one of the four failures"))

/** What a user's function has returned that answers at once, unless that is still to come: then it throws. */
export const outright = <A>(who: string, value: A): A => {
  if (isPromise(value)) throw fault(who, "returned", value, "and it must answer at once")
  return value
}

// -----------------------------------------------------------------------------
// The end of a user's Effect
// -----------------------------------------------------------------------------

const judged = <A, E extends ToolFailure>(who: string, exit: Exit.Exit<A, E>): Effect.Effect<A, E> => {
  if (Exit.isSuccess(exit)) return isPromise(exit.value) ? Effect.die(fault(who, "succeeded with", exit.value)) : exit
  const { reasons } = exit.cause
  if (reasons.every((reason) => !Cause.isFailReason(reason) || isWhole(reason.error))) return exit
  // No policy gets to see what it cannot read.
  return Effect.failCause(
    Cause.fromReasons(
      reasons.map((reason) =>
        Cause.isFailReason(reason) && !isWhole(reason.error) ? Cause.makeDieReason(reason.error) : reason
      )
    )
  )
}

/** Is it one of the four, as its class makes it? */
const isWhole = (failure: unknown): boolean =>
  attempted(() => isToolFailure(failure) && typeof failure.detail === "string" && typeof failure.code === "string") ===
    true

// -----------------------------------------------------------------------------
// What is wrong with an answer
// -----------------------------------------------------------------------------

/** A user's function or value is not of its type. The message says what is wrong, without the value. */
export class IllTyped extends TypeError {}

const fault = (who: string, did: string, value: unknown, why?: string): IllTyped => {
  heed(who, value)
  return new IllTyped(`${who} ${did} ${why === undefined ? advice(value) : `${noun(value)}, ${why}.`}`)
}

const advice = (value: unknown): string => {
  if (isPromise(value)) return "a promise: wrap it in Effect.tryPromise."
  if (isGenerator(value)) return "a generator: wrap its function in Effect.fnUntraced."
  return `${kind(value)}, which is not an Effect: wrap it in Effect.succeed.`
}

const noun = (value: unknown): string => isPromise(value) ? "a promise" : kind(value)

const isGenerator = (value: unknown): boolean =>
  typeof value === "object" && value !== null &&
  attempted(() => Symbol.iterator in value && "next" in value) === true

/**
 * Takes care of a promise that nobody awaits: its rejection is reported, and does not end the process. Until it settles, it counts as
 * an attempt that is still running.
 */
export const heed = (who: string, promise: unknown): void => {
  if (!isStarted(promise)) return
  const parent = Fiber.getCurrent()
  const fiber = Effect.runForkWith(parent === undefined ? Context.empty() : contextOf(parent))(settled(who, promise))
  const call = parent?.getRef(ToolCall.current) ?? ToolCall.detached
  if (call !== ToolCall.detached) call.stragglers.add(fiber)
}

const settled = (who: string, promise: Promise<unknown>): Effect.Effect<void> => {
  const end = Effect.callback<void, unknown>((resume) => {
    void Promise.prototype.then.call(promise, () => resume(Effect.void), (reason) => resume(Effect.fail(reason)))
  })
  return Effect.flatMap(
    Effect.exit(end),
    (exit) => Exit.isSuccess(exit) ? Effect.void : Defect.report(`${who} left a promise that was rejected`, exit.cause)
  )
}

// -----------------------------------------------------------------------------
// Fibers
// -----------------------------------------------------------------------------

// The type guard of `Exit` loses the types of the Effect.
const isExit = <A, E, R>(self: Effect.Effect<A, E, R>): self is Exit.Exit<A, E> & Effect.Effect<A, E, R> =>
  Exit.isExit(self)

// A fiber has all that its Effects need, which its own type does not say.
const contextOf = <R>(fiber: Fiber.Fiber<unknown, unknown>) => fiber.context as Context.Context<R>

const started = <A, E, R>(
  parent: Fiber.Fiber<unknown, unknown>,
  self: Effect.Effect<A, E, R>,
  isSync: boolean
): Fiber.Fiber<A, E> => {
  // What may be interrupted in it is for `self` to say, which the caller has restored.
  const fiber = Effect.runForkWith(contextOf<R>(parent))(self, { uninterruptible: true })
  // A program that runs in one go (`Effect.runSync`) does not wait for a fiber that has yielded.
  if (isSync && fiber.pollUnsafe() === undefined) fiber.currentDispatcher.flush()
  return fiber
}

/** Waits for a fiber's end. Long chains of fibers that wait for each other do not end in one go: each takes some of the stack. */
const endOf = <A, E>(
  fiber: Fiber.Fiber<A, E>,
  parent: Fiber.Fiber<unknown, unknown>
): Effect.Effect<Exit.Exit<A, E>> =>
  Effect.callback((resume) => {
    const remove = fiber.addObserver((exit) => {
      const end = () => resume(Effect.succeed(exit))
      if (depth < mostDepth) deeper(end)
      else parent.currentDispatcher.scheduleTask(end, 0)
    })
    return Effect.sync(remove)
  })

const interruption = (
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

// A fiber that begins or ends within another takes some of its stack.
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
