/*
 * A user's function, called with care.
 *
 * Types are stripped at run time, and `any` is everywhere: a handler may return a promise, fail with a text, or give effect a
 * value that is not an Effect. effect ends a fiber that meets such a value, without its finalizers. So a user's function runs in a
 * fiber of its own. It ends with a value, with one of the four failures, or with a defect that says what to do.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Defect from "../../Defect.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { contained, currentContext } from "../effect/contained.ts"
import { kind } from "../value/text.ts"
import { attempted, isPromise, isStarted } from "../value/untrusted.ts"
import { current, detached } from "./frame.ts"
import { isWhole } from "./handlerEnding.ts"

/**
 * Calls a user's function that answers with an Effect of the four failures.
 *
 * @param who the function, as a log names it: "The handler of 'pay'"
 */
export const callUser = <A, E extends ToolFailure, R>(
  who: string,
  call: () => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => Effect.suspend(() => ended(who, call()))

/** The same of what it has answered already. */
export const ended = <A, E extends ToolFailure, R>(
  who: string,
  answer: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => contained(answered(who, answer), (exit) => judged(who, exit))

/** The same in the fiber that runs, where nothing else runs in that one. */
export const endedHere = <A, E extends ToolFailure, R>(
  who: string,
  answer: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => Effect.flatMap(Effect.exit(answered(who, answer)), (exit) => judged(who, exit))

/** What a user's function has answered, if it is an Effect; else a defect. */
export const answered = <A, E, R>(who: string, answer: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  attempted(() => Effect.isEffect(answer)) === true ? answer : Effect.die(fault(who, "returned", answer))

/** Fails with what a user's function has made of a failure, if that is one of the four; else with a defect. */
export const failing = <E extends ToolFailure>(who: string, failure: E): Effect.Effect<never, E> =>
  isWhole(failure)
    ? Effect.fail(failure)
    : Effect.die(fault(who, "returned", failure, "which is not one of the four failures"))

/** What a user's function has returned that answers at once; throws where that is still to come. */
export const outright = <A>(who: string, value: A): A => {
  if (isPromise(value)) throw fault(who, "returned", value, "and it must answer at once")
  return value
}

/** What a user's function has come to, by itself or by its Effect; throws where that is still to come. */
export const present = <A>(who: string, did: "returned" | "succeeded with", value: A): A => {
  if (isPromise(value)) throw fault(who, did, value)
  return value
}

// -----------------------------------------------------------------------------
// The end of a user's Effect
// -----------------------------------------------------------------------------

/** What the end of a user's Effect comes to: its value, a failure, or a defect. */
export const judged = <A, E extends ToolFailure>(who: string, exit: Exit.Exit<A, E>): Effect.Effect<A, E> => {
  if (Exit.isSuccess(exit)) {
    present(who, "succeeded with", exit.value)
    return exit
  }
  const { reasons } = exit.cause
  if (reasons.every((reason) => !Cause.isFailReason(reason) || isWhole(reason.error))) {
    // A race that all have lost ends with the failures of all. What catches a failure sees the first.
    const [first] = reasons
    return first !== undefined && reasons.length > 1 && reasons.every(Cause.isFailReason)
      ? Effect.failCause(Cause.fromReasons([first]))
      : exit
  }
  // No policy gets to see what it cannot read.
  return Effect.failCause(
    Cause.fromReasons(
      reasons.map((reason) =>
        Cause.isFailReason(reason) && !isWhole(reason.error) ? Cause.makeDieReason(reason.error) : reason
      )
    )
  )
}

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
  if (value === undefined) return "nothing, and not an Effect: is a `return` missing?"
  return `${kind(value)}, which is not an Effect: wrap it in Effect.succeed.`
}

/** What sort of value it is: {@link kind}, and a promise by its name. */
export const noun = (value: unknown): string => isPromise(value) ? "a promise" : kind(value)

const isGenerator = (value: unknown): boolean =>
  typeof value === "object" && value !== null &&
  attempted(() => Symbol.iterator in value && "next" in value) === true

/**
 * Takes care of a promise that nobody awaits: its rejection is reported, and does not end the process. Until it settles, it counts as
 * an attempt that is still running.
 */
export const heed = (who: string, promise: unknown): void => {
  if (!isStarted(promise)) return
  const fiber = Effect.runForkWith(currentContext<never>())(settled(who, promise))
  const call = Fiber.getCurrent()?.getRef(current) ?? detached
  if (call !== detached) call.live.abandoned.add(fiber)
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
