/*
 * Runs a handler once. If the tool acts (has side effects), the frame of the call decides whether this
 * execution may start. The frame also records how the execution ended, even if a timeout has abandoned it
 * by then. No policy can bypass this, because every execution of an acting tool passes through this module.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { CallEvent } from "../../CallEvent.ts"
import type { Certainty } from "../../Certainty.ts"
import * as Deadline from "../../Deadline.ts"
import * as LateResult from "../../LateResult.ts"
import { type ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import { isForeign, isRedirected, marks } from "../anyError/provenance.ts"
import { isConflict } from "../anyError/recognize.ts"
import { and, certaintyOf, type Done, doneOf, nothing } from "../failure/effectsDone.ts"
import { contained, isExit } from "../fiber/runContained.ts"
import { isPromise } from "../value/untrusted.ts"
import { wasSent } from "./callState.ts"
import { current, type Frame, type WhyNotBegin } from "./frame.ts"
import {
  asKnown,
  doneByOthers,
  endingOf,
  isOwnWord,
  isRejection,
  isWhole,
  open as openEnding
} from "./handlerEnding.ts"
import { answered, insteadOfAsync, judged } from "./runUserCode.ts"

/** A handler and its properties. */
export interface Handler<A, E extends ToolFailure, R> {
  readonly name: string
  /** The handler's name in logs: "The handler of 'pay'". */
  readonly who: string
  readonly acts: boolean
  /** Identifies the handler in the frames of its calls. */
  readonly token: object
  readonly call: () => Effect.Effect<A, E, R>
  /**
   * Whether the tool, when it refuses a call, does so before it has done anything. If so, it may run
   * again after a refusal.
   */
  readonly refusesFirst: boolean
  /** Whether the handler runs to its end even if its caller is interrupted. */
  readonly isUninterruptible: boolean
  /** Whether the handler runs in the current fiber (which then ends with the handler) rather than in its own. */
  readonly isHere: boolean
}

/**
 * Runs a handler once. If the frame of the call does not allow this, fails with a refusal.
 *
 * @param fiber the current fiber
 */
export const executed = <A, E extends ToolFailure, R>(
  handler: Handler<A, E, R>,
  frame: Frame,
  fiber: Fiber.Fiber<unknown, unknown>
): Effect.Effect<A, E, R> => {
  const refusal = refusalOf(handler, frame, fiber)
  if (refusal !== undefined) return Effect.fail(asFailureOf<E>(noteRefusal(refusal, frame)))
  frame.begin()
  const { isHere, who } = handler
  const answer = answered(who, callHandler(handler), insteadOfAsync)
  const isOver = isExit(answer)
  // An Effect that has already ended needs no observer.
  if (isOver && isPlainSuccess(answer, frame)) {
    frame.note(plainSuccess)
    return answer
  }
  const execution = new Execution(frame, fiber, handler)
  const whole = handler.isUninterruptible && !isOver ? runToEnd(answer, execution) : answer
  if (!isHere) return contained(whole, (exit) => execution.judged(who, exit), execution)
  if (!isOver) fiber.addObserver(execution.end)
  return Effect.flatMap(Effect.exit(whole), (exit) => execution.judged(who, exit))
}

// An interruption of an uninterruptible handler takes effect when the handler ends, and discards its
// exit. So the exit is recorded first.
const runToEnd = <A, E extends ToolFailure, R>(answer: Effect.Effect<A, E, R>, execution: Execution) =>
  Effect.uninterruptible(Effect.onExit(answer, (exit) => Effect.sync(() => execution.end(exit))))

// Fast path: most handlers run no inner tools.
const isPlainSuccess = (exit: Exit.Exit<unknown, unknown>, { acts, state: { acting, inside } }: Frame): boolean =>
  acts && acting === 0 && inside === nothing && Exit.isSuccess(exit) && !isPromise(exit.value)

const plainSuccess: CallEvent = { _tag: "AttemptEnded", end: "succeeded", certainty: "executed" }

const callHandler = <A, E extends ToolFailure, R>({ call }: Handler<A, E, R>): Effect.Effect<A, E, R> => {
  try {
    return call()
  } catch (defect) {
    return Effect.die(defect)
  }
}

// If the tool acts, a user's policy or deadline may refuse it with a failure outside `E`. `Tool.run`
// documents this.
const asFailureOf = <E>(refusal: ToolUnavailable) => refusal as E

// -----------------------------------------------------------------------------
// Start of an execution
// -----------------------------------------------------------------------------

const refusalOf = (
  { acts, name, token }: Pick<Handler<unknown, never, unknown>, "acts" | "name" | "token">,
  frame: Frame,
  fiber: Fiber.Fiber<unknown, unknown>
): ToolUnavailable | undefined => {
  // The frame is missing, or belongs to a different tool, only if a policy ran the tool outside the
  // fibers of the call.
  if (acts && frame.tool.token !== token) return refusalOutsideCall(name)
  if (!frame.acts) return undefined
  const why = frame.whyNot() ?? (isTooLate(fiber) && !frame.isBackground ? "abandoned" : undefined)
  return why === undefined ? undefined : makeRefusal(frame, why)
}

/**
 * Fails if a read-only tool must not be retried, because an inner tool may have acted in the background during
 * the wait before the retry. An acting tool needs no check here: it is checked when its handler starts.
 */
export const begun = (last: ToolFailure): Effect.Effect<void, ToolUnavailable> =>
  Effect.flatMap(current, (frame) => {
    const why = frame.acts ? undefined : frame.whyNot()
    return why === undefined ? Effect.void : Effect.fail(noteRefusal(makeRefusal(frame, why, last), frame))
  })

const noteRefusal = (refusal: ToolUnavailable, frame: Frame): ToolUnavailable => {
  frame.note({ _tag: "CallRefused", code: refusal.code })
  return refusal
}

const refusalOutsideCall = (name: string): ToolUnavailable =>
  new ToolUnavailable({
    code: "outside_call",
    detail: `${name} was not run: a policy ran it outside its call, where repeated runs cannot be detected.`,
    hint: "In the policy, run it in the fiber of the call, not through Effect.runPromise.",
    transient: false,
    outcome: "not_executed"
  })

const isTooLate = (fiber: Fiber.Fiber<unknown, unknown>): boolean => {
  const deadline = fiber.getRef(Deadline.current)
  return deadline !== Infinity && fiber.getRef(Clock.Clock).currentTimeMillisUnsafe() >= deadline
}

const makeRefusal = (
  { certainty, tool: { name }, whole }: Frame,
  why: WhyNotBegin,
  last: ToolFailure | undefined = whole.last
): ToolUnavailable => {
  if (why === "abandoned") {
    return new ToolUnavailable({
      code: "timeout",
      detail: `${name} was not run: its deadline had passed.`,
      transient: true,
      outcome: certainty
    })
  }
  const before = last === undefined ? "" : ` Before: ${last.detail}`
  return new ToolUnavailable({
    code: "not_repeated",
    detail: `${name} was not run again: ${reasons[why](certainty)}.${before}`,
    transient: false,
    // The tool works: it has refused only these arguments.
    ...(why === "refused" ? { scope: "arguments" } : {}),
    outcome: certainty,
    cause: last
  })
}

const reasons: Readonly<Record<Exclude<WhyNotBegin, "abandoned">, (certainty: Certainty) => string>> = {
  still_running: () => "an earlier attempt of this call may still be running",
  may_have_acted: (certainty) =>
    `an earlier attempt of this call ${certainty === "executed" ? "has already" : "may have"} taken effect`,
  refused: () => "it has already refused this call"
}

// -----------------------------------------------------------------------------
// End of an execution
// -----------------------------------------------------------------------------

class Execution {
  readonly #frame: Frame
  /** Captured at the start, because at the end the fiber may no longer have these services. */
  readonly #context: Context.Context<never>
  readonly #attempt: number
  /** How many failures had been marked as coming from inner tools when the execution started. */
  readonly #since = marks()
  readonly #refusesFirst: boolean
  readonly #isUninterruptible: boolean
  #hasEnded = false
  /** The effects of the execution. Set only for an acting tool, at the end. */
  #done: Done | undefined = undefined
  /** Whether the tool refused the request. Set only for an acting tool, at the end. */
  #isRefusal = false

  constructor(
    frame: Frame,
    fiber: Fiber.Fiber<unknown, unknown>,
    { isUninterruptible, refusesFirst }: Pick<Handler<unknown, never, unknown>, "isUninterruptible" | "refusesFirst">
  ) {
    this.#frame = frame
    this.#context = fiber.context
    this.#refusesFirst = refusesFirst
    this.#isUninterruptible = isUninterruptible
    this.#attempt = frame.attempt
  }

  /** Records how the handler ended, and returns that result in the form the caller sees. */
  judged<A, E extends ToolFailure>(who: string, exit: Exit.Exit<A, E>): Effect.Effect<A, E> {
    this.end(exit)
    const end = judged(who, exit)
    const done = this.#done
    if (done === undefined || Exit.isSuccess(exit)) return end
    const ending = { certainty: certaintyOf(done), isRefusal: this.#isRefusal }
    return Effect.mapErrorEager(end, (failure) => asKnown(failure, ending))
  }

  /**
   * Records how the handler ended. Both the waiting caller and the handler's fiber may report this;
   * only the first report counts.
   */
  readonly end = (exit: Exit.Exit<unknown, unknown>): void => {
    if (this.#hasEnded) return
    this.#hasEnded = true
    const failure = failureOf(exit)
    const event: Ended = { _tag: "AttemptEnded", ...endOf(exit, failure) }
    const frame = this.#frame
    if (!frame.acts) {
      frame.note(event, failure, this.#attempt)
      return
    }
    const { hasRejected, mayQuote } = frame.live
    const isBelieved = (failure: ToolFailure) => this.#refusesFirst || !mayQuote && isOwnWord(failure)
    // The service refused the reused key. This refusal says nothing about the first request under that key.
    const isKeyRefused = failure !== undefined && frame.tool.sideEffect === "idempotent_by_key" &&
      wasSent(frame.whole.state) && isConflict(failure)
    const ending = isKeyRefused ? openEnding : endingOf(exit, {
      isBelieved,
      // Only a rejection that comes from the handler itself allows a further run with other arguments.
      isRejection: (failure) =>
        isRejection(failure) && isBelieved(failure) && !isForeign(failure) && !isRedirected(failure) && !hasRejected
    })
    const done = this.#done = and(and(doneOf(ending.certainty), doneByOthers(exit, this.#since)), frame.state.inside)
    this.#isRefusal = ending.isRefusal && !this.#refusesFirst
    const certainty = certaintyOf(done)
    const isLate = !frame.isOpen || this.#isUninterruptible && frame.isLeft
    const endedEvent: Ended = {
      ...event,
      certainty,
      ...(done.hasActed && done.isInDoubt ? { acted: true } : {}),
      ...(this.#isRefusal ? { refused: true } : {}),
      ...(isLate ? { late: true } : {})
    }
    frame.note(endedEvent, failure, this.#attempt)
    if (isLate) this.#report(certainty, failure)
  }

  /** Notes that the waiting caller was interrupted. The handler may keep running. */
  readonly leave = (): void => {
    this.#frame.wasLeft = true
  }

  #report(certainty: Certainty, failure: ToolFailure | undefined) {
    const { id, idempotencyKey: key, tool: { name: tool } } = this.#frame
    const result: LateResult.LateResult = {
      tool,
      id,
      key,
      attempt: this.#attempt,
      certainty,
      at: Context.get(this.#context, Clock.Clock).currentTimeMillisUnsafe(),
      ...(failure === undefined ? {} : { code: failure.code })
    }
    Effect.runForkWith(this.#context)(LateResult.report(result))
  }
}

type Ended = CallEvent & { readonly _tag: "AttemptEnded" }

const failureOf = (exit: Exit.Exit<unknown, unknown>): ToolFailure | undefined => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  return isWhole(error) ? error : undefined
}

const endOf = (exit: Exit.Exit<unknown, unknown>, failure: ToolFailure | undefined) => {
  if (Exit.isSuccess(exit)) return { end: "succeeded" } as const
  if (failure !== undefined) return { end: "failed", code: failure.code } as const
  return { end: Cause.hasInterruptsOnly(exit.cause) ? "interrupted" : "died" } as const
}
