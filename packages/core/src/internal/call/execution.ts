/*
 * One execution of a handler. Of a tool that acts, the frame of its call admits it, and learns how it ended, also when nobody waits for
 * it any more. No policy can go around that: whoever runs what is inside, comes by here.
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
import { contained, isExit } from "../effect/contained.ts"
import { isForeign, isRedirected, marks } from "../error/guess.ts"
import { isConflict } from "../error/recognize.ts"
import { and, certaintyOf, type Done, doneOf, nothing } from "../failure/done.ts"
import { isPromise } from "../value/untrusted.ts"
import { wasSent } from "./callState.ts"
import { current, detached, type Frame, type WhyNotBegin } from "./frame.ts"
import {
  asKnown,
  doneByOthers,
  endingOf,
  isOwnWord,
  isRejection,
  isWhole,
  open as openEnding
} from "./handlerEnding.ts"
import { answered, judged } from "./userCode.ts"

/** A handler, and what is known of it. */
export interface Handler<A, E extends ToolFailure, R> {
  readonly name: string
  /** As a log names it. */
  readonly who: string
  readonly acts: boolean
  /** Stands for it in the frames of its calls. */
  readonly token: object
  readonly call: () => Effect.Effect<A, E, R>
  /** Does its service refuse before anything is done? Then what it refuses may be run again. */
  readonly refusesFirst: boolean
  /** Does it come to its end, whoever interrupts it? */
  readonly isUninterruptible: boolean
  /** Does it run in the fiber that runs now, which ends with it? */
  readonly isHere: boolean
}

/** Runs a handler once, in the fiber that runs now. */
export const executed = <A, E extends ToolFailure, R>(
  handler: Handler<A, E, R>,
  frame: Frame,
  fiber: Fiber.Fiber<unknown, unknown>
): Effect.Effect<A, E, R> => {
  const refusal = refusalOf(handler, frame, fiber)
  if (refusal !== undefined) return Effect.fail(asOneOf<E>(noted(refusal, frame)))
  frame.begin()
  const { isHere, who } = handler
  const answer = answered(who, called(handler))
  const isOver = isExit(answer)
  // What is over at once needs nobody who learns of its end.
  if (isOver && hasActed(answer, frame)) {
    frame.note(acted)
    return answer
  }
  const execution = new Execution(frame, fiber, handler)
  const whole = handler.isUninterruptible && !isOver ? uncut(answer, execution) : answer
  if (!isHere) return contained(whole, (exit) => execution.judged(who, exit), execution)
  if (!isOver) fiber.addObserver(execution.end)
  return Effect.flatMap(Effect.exit(whole), (exit) => execution.judged(who, exit))
}

// An interruption that has to wait drops what its Effect comes to: it is looked at before that.
const uncut = <A, E extends ToolFailure, R>(answer: Effect.Effect<A, E, R>, execution: Execution) =>
  Effect.uninterruptible(Effect.onExit(answer, (exit) => Effect.sync(() => execution.end(exit))))

// In most calls nothing ran inside.
const hasActed = (exit: Exit.Exit<unknown, unknown>, { acts, state: { acting, inside } }: Frame): boolean =>
  acts && acting === 0 && inside === nothing && Exit.isSuccess(exit) && !isPromise(exit.value)

const acted: CallEvent = { _tag: "AttemptEnded", end: "succeeded", certainty: "executed" }

const called = <A, E extends ToolFailure, R>({ call }: Handler<A, E, R>): Effect.Effect<A, E, R> => {
  try {
    return call()
  } catch (defect) {
    return Effect.die(defect)
  }
}

// A tool that acts may be refused to run by a policy of a user's, or after a deadline of a user's: `Tool.run` says so.
const asOneOf = <E>(refusal: ToolUnavailable) => refusal as E

// -----------------------------------------------------------------------------
// Its beginning
// -----------------------------------------------------------------------------

const refusalOf = (
  { acts, name, token }: Pick<Handler<unknown, never, unknown>, "acts" | "name" | "token">,
  frame: Frame,
  fiber: Fiber.Fiber<unknown, unknown>
): ToolUnavailable | undefined => {
  // Only a policy that has left the fibers of the call comes here without its frame, or with another tool's.
  if (acts && frame.tool.token !== token) return outside(name)
  if (!frame.acts) return undefined
  const why = frame.whyNot() ?? (isTooLate(fiber) && !frame.isBackground ? "abandoned" : undefined)
  return why === undefined ? undefined : notBegun(frame, why)
}

/**
 * What a retry of a tool that only reads begins with: what ran inside of it may have acted while it waited, in the background. A tool that
 * acts is asked where it begins.
 */
export const begun = (last: ToolFailure): Effect.Effect<void, ToolUnavailable> =>
  Effect.flatMap(current, (frame) => {
    const why = frame.acts ? undefined : frame.whyNot()
    return why === undefined ? Effect.void : Effect.fail(noted(notBegun(frame, why, last), frame))
  })

const noted = (refusal: ToolUnavailable, frame: Frame): ToolUnavailable => {
  frame.note({ _tag: "CallRefused", code: refusal.code })
  return refusal
}

const outside = (name: string): ToolUnavailable =>
  new ToolUnavailable({
    code: "outside_call",
    detail: `${name} was not run: a policy ran it outside of its call, where nobody could tell whether it runs twice.`,
    hint: "In the policy, run it in the fiber of the call: without Effect.runPromise and the like.",
    transient: false,
    outcome: "not_executed"
  })

const isTooLate = (fiber: Fiber.Fiber<unknown, unknown>): boolean => {
  const deadline = fiber.getRef(Deadline.current)
  return deadline !== Infinity && fiber.getRef(Clock.Clock).currentTimeMillisUnsafe() >= deadline
}

const notBegun = (
  { certainty, tool: { name }, whole }: Frame,
  why: WhyNotBegin,
  last: ToolFailure | undefined = whole.last
): ToolUnavailable => {
  if (why === "abandoned") {
    return new ToolUnavailable({
      code: "timeout",
      detail: `${name} was not run: its time was up.`,
      transient: true,
      outcome: certainty
    })
  }
  const before = last === undefined ? "" : ` Before: ${last.detail}`
  return new ToolUnavailable({
    code: "not_repeated",
    detail: `${name} was not run again: ${reasons[why](certainty)}.${before}`,
    transient: false,
    // It has refused these, and works.
    ...(why === "refused" ? { scope: "arguments" } : {}),
    outcome: certainty,
    cause: last
  })
}

const reasons: Readonly<Record<Exclude<WhyNotBegin, "abandoned">, (certainty: Certainty) => string>> = {
  still_running: () => "an earlier attempt of this call may still be running",
  may_have_acted: (certainty) =>
    `an earlier attempt of this call ${certainty === "executed" ? "has already" : "may have"} taken effect`,
  refused: () => "it has refused this call already"
}

// -----------------------------------------------------------------------------
// Its end
// -----------------------------------------------------------------------------

class Execution {
  readonly #frame: Frame
  /** Its end may come when the fiber has left what provided this. */
  readonly #context: Context.Context<never>
  readonly #attempt: number
  /** How many failures of tools there were when it began. */
  readonly #since = marks()
  readonly #refusesFirst: boolean
  readonly #isUninterruptible: boolean
  #hasEnded = false
  /** Of a tool that acts: what it did, and whether it refused. */
  #done: Done | undefined = undefined
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

  /** What a handler's end comes to, for what is around it. */
  judged<A, E extends ToolFailure>(who: string, exit: Exit.Exit<A, E>): Effect.Effect<A, E> {
    this.end(exit)
    const end = judged(who, exit)
    const done = this.#done
    if (done === undefined || Exit.isSuccess(exit)) return end
    const ending = { certainty: certaintyOf(done), isRefusal: this.#isRefusal }
    return Effect.mapErrorEager(end, (failure) => asKnown(failure, ending))
  }

  /** The handler has ended. Whoever waited for it may tell, and its fiber: the first counts. */
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
    // It refuses the key, and not what was asked under it first.
    const isKeyRefused = failure !== undefined && frame.tool.sideEffect === "idempotent_by_key" &&
      wasSent(frame.whole.state) && isConflict(failure)
    const ending = isKeyRefused ? openEnding : endingOf(exit, {
      isBelieved,
      // Who may have acted does not run again with other arguments.
      isRejection: (failure) =>
        isRejection(failure) && isBelieved(failure) && !isForeign(failure) && !isRedirected(failure) && !hasRejected
    })
    const done = this.#done = and(and(doneOf(ending.certainty), doneByOthers(exit, this.#since)), frame.state.inside)
    this.#isRefusal = ending.isRefusal && !this.#refusesFirst
    const certainty = certaintyOf(done)
    const isLate = !frame.isOpen || this.#isUninterruptible && frame.isLeft
    const told: Ended = {
      ...event,
      certainty,
      ...(done.hasActed && done.isInDoubt ? { acted: true } : {}),
      ...(this.#isRefusal ? { refused: true } : {}),
      ...(isLate ? { late: true } : {})
    }
    frame.note(told, failure, this.#attempt)
    if (isLate) this.#report(certainty, failure)
  }

  /** Whoever waited for its end was interrupted. It may go on. */
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
    // Whoever puts it right may run tools, and has time for it: it is not a part of the call.
    const report = LateResult.report(result).pipe(
      Effect.provideService(current, detached),
      Effect.provideService(Deadline.current, Infinity)
    )
    Effect.runForkWith(this.#context)(report)
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
