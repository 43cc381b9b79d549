/*
 * Calls users' functions, and guards against results of the wrong type.
 *
 * Types are erased at run time, and `any` is common. A handler may return a promise, fail with a string,
 * or yield a value that is not an Effect. When a fiber meets such a value, the `effect` runtime ends that
 * fiber without running its finalizers. Therefore a user's function runs in its own fiber. It ends with a
 * value, with one of the four failures, or with a defect whose message says how to correct the function.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Predicate from "effect/Predicate"
import type { ToolFailure } from "../../ToolFailure.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { currentContext, runContained } from "../fiber/runContained.ts"
import { kind } from "../value/text.ts"
import { attempt, isPromise, isStarted } from "../value/untrusted.ts"
import { isWhole } from "./ending.ts"
import { current, detached } from "./scope.ts"

/**
 * Calls a user's function, and runs the Effect that it returns in a separate fiber. Fails only with
 * one of the four failures.
 *
 * @param label the name of the function in logs: "The handler of 'pay'"
 */
export const callUser = <A, E extends ToolFailure, R>(
  label: string,
  call: () => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => Effect.suspend(() => runAnswer(label, call()))

/** Runs the Effect that a user's function has returned, in a separate fiber. */
export const runAnswer = <A, E extends ToolFailure, R>(
  label: string,
  answer: Effect.Effect<A, E, R>,
  instead?: string
): Effect.Effect<A, E, R> => runContained(requireEffect(label, answer, instead), (exit) => judgeExit(label, exit))

/** Runs the Effect that a user's function has returned, in the current fiber. Nothing else may run in that fiber. */
export const runAnswerHere = <A, E extends ToolFailure, R>(
  label: string,
  answer: Effect.Effect<A, E, R>,
  instead?: string
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Effect.exit(requireEffect(label, answer, instead)), (exit) => judgeExit(label, exit))

/** What to do in place of an async function as the handler of a tool. */
export const insteadOfAsync = "use Tool.promise, or wrap it in Effect.tryPromise"

/**
 * Returns the result of a user's function if that result is an Effect. If not, dies with a defect.
 *
 * @param instead what to do in place of returning a promise
 */
export const requireEffect = <A, E, R>(
  label: string,
  answer: Effect.Effect<A, E, R>,
  instead?: string
): Effect.Effect<A, E, R> =>
  attempt(() => Effect.isEffect(answer)) === true
    ? answer
    : Effect.die(fault(label, "returned", answer, undefined, instead))

/**
 * Fails with the failure that a user's function returned. If this is not one of the four failures,
 * dies with a defect.
 */
export const failWith = <E extends ToolFailure>(label: string, failure: E): Effect.Effect<never, E> =>
  isWhole(failure)
    ? Effect.fail(failure)
    : Effect.die(fault(label, "returned", failure, "which is not one of the four failures"))

/** Returns the value of a user's function that must be synchronous. Throws if the value is a promise. */
export const requireSync = <A>(label: string, value: A): A => {
  if (isPromise(value)) throw fault(label, "returned", value, "and it must answer at once")
  return value
}

/** Returns the value of a user's function, or of the Effect that it returned. Throws if the value is a promise. */
export const requireNoPromise = <A>(label: string, verb: "returned" | "succeeded with", value: A): A => {
  if (isPromise(value)) throw fault(label, verb, value)
  return value
}

// -----------------------------------------------------------------------------
// The end of a user's Effect
// -----------------------------------------------------------------------------

/** Converts the exit of a user's Effect: the result is a value, one of the four failures, or a defect. */
export const judgeExit = <A, E extends ToolFailure>(label: string, exit: Exit.Exit<A, E>): Effect.Effect<A, E> => {
  if (Exit.isSuccess(exit)) {
    requireNoPromise(label, "succeeded with", exit.value)
    return exit
  }
  const { reasons } = exit.cause
  if (reasons.every((reason) => !Cause.isFailReason(reason) || isWhole(reason.error))) {
    // A race without a winner ends with the failures of all its Effects. Code that catches failures
    // sees only the first, so only that one is kept.
    const [first] = reasons
    return first !== undefined && reasons.length > 1 && reasons.every(Cause.isFailReason)
      ? Effect.failCause(Cause.fromReasons([first]))
      : exit
  }
  // Policies understand only the four failures, so any other error becomes a defect.
  return Effect.failCause(
    Cause.fromReasons(
      reasons.map((reason) =>
        Cause.isFailReason(reason) && !isWhole(reason.error)
          ? Cause.makeDieReason(foreign(label, reason.error))
          : reason
      )
    )
  )
}

// -----------------------------------------------------------------------------
// Results of the wrong type
// -----------------------------------------------------------------------------

/**
 * The error for a user's function or value of the wrong type. The message says what is wrong, without
 * quoting the value.
 */
export class IllTyped extends TypeError {}

const fault = (label: string, verb: string, value: unknown, why?: string, instead?: string): IllTyped => {
  heedPromise(label, value)
  return new IllTyped(`${label} ${verb} ${why === undefined ? advice(value, instead) : `${noun(value)}, ${why}.`}`)
}

// The original error is the `cause`, so its message and its stack are still in the log.
const foreign = (label: string, error: unknown): IllTyped => {
  heedPromise(label, error)
  return new IllTyped(
    `${label} failed with ${errorName(error)}, which is not a ToolFailure. Add: Effect.mapError(${mapping(error)}).`,
    { cause: error }
  )
}

const mapping = (error: unknown): string => {
  const tag = attempt(() => Predicate.hasProperty(error, "_tag") ? error._tag : undefined)
  return typeof tag === "string" && /^\w{1,60}$/.test(tag) ? `ToolFailure.fromTags({ ${tag}: … })` : "ToolFailure.from"
}

const errorName = (error: unknown): string => {
  const name = attempt(() => error instanceof Error ? error.name : undefined)
  if (typeof name !== "string" || !/^\w{1,60}$/.test(name)) return noun(error)
  return `${/^[aeiou]/i.test(name) ? "an" : "a"} ${name}`
}

const advice = (value: unknown, instead = "wrap it in Effect.tryPromise"): string => {
  if (isPromise(value)) return `a promise: ${instead}.`
  if (isGenerator(value)) return "a generator: wrap its function in Effect.fnUntraced."
  if (value === undefined) return "nothing, and not an Effect: is a `return` missing?"
  return `${kind(value)}, which is not an Effect: wrap it in Effect.succeed.`
}

/** Returns the kind of a value as a noun: "a promise", or the result of {@link kind}. */
export const noun = (value: unknown): string => isPromise(value) ? "a promise" : kind(value)

const isGenerator = (value: unknown): boolean =>
  typeof value === "object" && value !== null &&
  attempt(() => Symbol.iterator in value && "next" in value) === true

/**
 * Handles a promise that nothing awaits. If the promise is rejected, the rejection is reported as a defect and
 * does not end the process. Until the promise settles, it counts as an abandoned attempt of the current call.
 */
export const heedPromise = (label: string, promise: unknown): void => {
  if (!isStarted(promise)) return
  const fiber = Effect.runForkWith(currentContext<never>())(reportRejection(label, promise))
  const call = Fiber.getCurrent()?.getRef(current) ?? detached
  if (call !== detached) call.live.abandoned.add(fiber)
}

const reportRejection = (label: string, promise: Promise<unknown>): Effect.Effect<void> => {
  const end = Effect.callback<void, unknown>((resume) => {
    void Promise.prototype.then.call(promise, () => resume(Effect.void), (reason) => resume(Effect.fail(reason)))
  })
  return Effect.flatMap(
    Effect.exit(end),
    (exit) =>
      Exit.isSuccess(exit)
        ? Effect.void
        : reportDefect(`${label} left a promise unhandled, and it was rejected`, exit.cause)
  )
}
