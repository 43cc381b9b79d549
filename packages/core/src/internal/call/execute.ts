import type { LateResult } from "../../Observer.ts"
/*
 * Runs a handler once: may it begin? run, note the end. No policy can bypass this, because every execution of an acting
 * tool (one with side effects) passes through this module.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { CallEvent } from "../../CallEvent.ts"
import type { Certainty } from "../../Certainty.ts"
import type { ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import * as WireRequest from "../../WireRequest.ts"
import { both, certaintyOf, type Effects, isInDoubt } from "../failure/effects.ts"
import { evidenceOf } from "../failure/evidence.ts"
import { isExit, runContainedCall } from "../fiber/runContained.ts"
import { isPromise } from "../value/untrusted.ts"
import type { ActingRequests } from "../wire/actingRequests.ts"
import { recordAround, type Slot, within } from "../wire/places.ts"
import { type Attempt, open, type SeenRequest, WireRecord } from "../wire/wireRecord.ts"
import { hearsSilence, watch } from "../wire/witness.ts"
import { wasSent } from "./callState.ts"
import { type Ending, endingOf, isWhole } from "./ending.ts"
import { asKnown } from "./known.ts"
import { isLeft, isOpen } from "./mayBegin.ts"
import { note, noteStart } from "./note.ts"
import { refusalOf } from "./refusal.ts"
import { hasRefused } from "./refuse.ts"
import { reportLateResult } from "./reportLateResult.ts"
import { insteadOfAsync, judgeExit, requireEffect } from "./runUserCode.ts"
import { isInsideCall, type Scope } from "./scope.ts"
import { noteDoubted, noteUnkeyed } from "./seenMistakes.ts"
import { endsSoFar } from "./toolEnds.ts"

/** A handler and its properties. */
export interface Handler<A, E extends ToolFailure, R> {
  readonly name: string
  /** The handler's name in logs: "The handler of 'pay'". */
  readonly who: string
  readonly acts: boolean
  /** Identifies the handler in the scopes of its calls. */
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
  /** Which requests act. */
  readonly acting: ActingRequests
  /** Whether nothing but those requests acts. Then silence proves that nothing was done. */
  readonly actsOnlyByRequests: boolean
}

/**
 * Runs a handler once. If the scope of the call does not allow this, fails with a refusal.
 *
 * @param fiber the current fiber
 */
export const execute = <A, E extends ToolFailure, R>(
  handler: Handler<A, E, R>,
  scope: Scope,
  fiber: Fiber.Fiber<unknown, unknown>
): Effect.Effect<A, E, R> => {
  const refusal = refusalOf(handler, scope, fiber)
  if (refusal !== undefined) return Effect.fail(asFailureOf<E>(refusal))
  noteStart(scope)
  const begun = scope.acts ? undefined : answerOf(handler)
  // Fast path: most answers of tools that only read are plain.
  if (begun !== undefined && isExit(begun) && Exit.isSuccess(begun) && !isPromise(begun.value)) {
    note(scope, succeeded)
    return begun
  }
  const execution = new Execution(scope, fiber, handler)
  const call = (): Effect.Effect<A, E, R> => {
    const answer = begun ?? answerOf(handler)
    return handler.isUninterruptible && !isExit(answer) ? runToEnd(answer, execution) : answer
  }
  // The requests of an acting handler are those of its own fiber.
  if (!handler.isHere && scope.acts) return runContainedCall<A, E, R>(call, execution)
  execution.watch()
  const answer = call()
  if (isExit(answer)) return execution.judge(answer)
  if (!handler.isHere) return runContainedCall<A, E, R>(() => answer, execution)
  fiber.addObserver((exit) => execution.end(exit))
  return Effect.flatMap(Effect.exit(answer), (exit) => execution.judge(exit))
}

// An interruption of an uninterruptible handler takes effect when the handler ends, and discards its
// exit. So the exit is recorded first.
const runToEnd = <A, E extends ToolFailure, R>(answer: Effect.Effect<A, E, R>, execution: Execution) =>
  Effect.uninterruptible(Effect.onExit(answer, (exit) => Effect.sync(() => execution.end(exit))))

// True if no call is around this one. Then only the async context tells whose handler runs it.
const isAlone = (innermost: Scope): boolean => {
  let scope = innermost
  while (scope.parent !== undefined && !scope.ownsRecord) scope = scope.parent
  return scope.around === undefined
}

const slotOf = ({ ownsRecord, parent, slot }: Scope): Slot | undefined =>
  slot ?? (ownsRecord || parent === undefined ? undefined : slotOf(parent))

const succeeded: CallEvent = { _tag: "AttemptEnded", end: "succeeded" }
const succeededActing: CallEvent = { ...succeeded, effects: "done" }

const answerOf = <A, E extends ToolFailure, R>({ call, who }: Handler<A, E, R>): Effect.Effect<A, E, R> => {
  try {
    return requireEffect(who, call(), insteadOfAsync)
  } catch (defect) {
    return Effect.die(defect)
  }
}

// If the tool acts, a user's policy or deadline may refuse it with a failure outside `E`. `Tool.run`
// documents this.
const asFailureOf = <E>(refusal: ToolUnavailable) => refusal as E

// -----------------------------------------------------------------------------
// The end
// -----------------------------------------------------------------------------

class Execution implements Attempt {
  readonly #scope: Scope
  readonly #handler: Omit<Handler<unknown, never, unknown>, "call">
  /** Captured at the start, because at the end the fiber may no longer have these services. */
  readonly #context: Context.Context<never>
  readonly #attempt: number
  readonly #since = endsSoFar()
  /** The requests of the handler, if the tool acts. */
  readonly #record: WireRecord | undefined
  /** The requests of the attempt that runs this one in a program of its own. */
  readonly #around: WireRecord | undefined
  #hasEnded = false
  /** What the execution did. Set only for an acting tool, at the end. */
  #ending: Ending | undefined = undefined
  /** The failure of the execution, if it ended with nothing else. */
  #sole: ToolFailure | undefined = undefined

  constructor(
    scope: Scope,
    { context }: Fiber.Fiber<unknown, unknown>,
    handler: Omit<Handler<unknown, never, unknown>, "call">
  ) {
    this.#scope = scope
    this.#context = context
    this.#handler = handler
    this.#attempt = scope.attempt
    this.#record = scope.acts ? new WireRecord(handler.acting, this) : undefined
    scope.wire = this.#record
    if (this.#record === undefined) return
    this.#around = isAlone(scope) ? recordAround(slotOf(scope)) : undefined
    this.#around?.addInner(this)
    if (handler.actsOnlyByRequests) {
      this.#record.isOvershadowed = Array.from(open).some((record) => record.isWaitingFor(handler.acting))
    }
    if (handler.isHere && scope.slot !== undefined) scope.slot.record = this.#record
  }

  isInside(call: string): boolean {
    return isInsideCall(this.#scope, call) || this.#around?.attempt.isInside(call) === true
  }

  /** Begins to watch, and runs code whose requests belong to this execution. */
  within<A>(run: () => A): A {
    this.watch()
    return within(this.#record, run)
  }

  watch(): void {
    if (this.#record !== undefined) watch(this.#record)
  }

  /** Records how the handler ended, and returns that result in the form the caller sees. */
  judge<A, E extends ToolFailure>(exit: Exit.Exit<A, E>): Effect.Effect<A, E> {
    if (Exit.isSuccess(exit) && !this.#hasEnded && this.#isPlain(exit)) return this.#endPlainly(exit)
    this.end(exit)
    const ending = this.#ending
    if (ending === undefined || Exit.isSuccess(exit)) return judgeExit(this.#handler.who, exit)
    const certainty = certaintyOf(ending.effects)
    const { reasons: [first, second] } = exit.cause
    if (this.#sole !== undefined && second === undefined && first?._tag === "Fail" && first.error === this.#sole) {
      return Effect.fail(asKnown(first.error, certainty, ending.isRefusal))
    }
    const end = judgeExit(this.#handler.who, exit)
    return Effect.mapErrorEager(end, (failure) => asKnown(failure, certainty, ending.isRefusal))
  }

  /**
   * Records how the handler ended. Both the waiting caller and the handler's fiber may report this;
   * only the first report counts.
   */
  end(exit: Exit.Exit<unknown, unknown>): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    const scope = this.#scope
    const failure = failureIn(exit)
    const evidence = evidenceOf(failure)
    if (failure !== undefined && Exit.isFailure(exit) && exit.cause.reasons.length === 1) this.#sole = failure
    const event: Ended = {
      _tag: "AttemptEnded",
      end: Exit.isSuccess(exit)
        ? "succeeded"
        : failure !== undefined
        ? "failed"
        : Cause.hasInterruptsOnly(exit.cause)
        ? "interrupted"
        : "died",
      ...(failure === undefined ? {} : { code: failure.code }),
      ...(evidence === undefined ? {} : { evidence })
    }
    const record = this.#record
    if (record === undefined) return note(scope, event, failure, this.#attempt)
    const { actsOnlyByRequests, isUninterruptible, refusesFirst } = this.#handler
    const { quoted, record: { state: ofCall }, state, tool } = scope
    const isSentAgain = tool.sideEffect === "idempotent_by_key" && wasSent(ofCall)
    const wire = Exit.isSuccess(exit) ? "silent" : record.verdict(isSentAgain, actsOnlyByRequests)
    record.end()
    const own = endingOf(exit, {
      believes: quoted === undefined || hasRefused(record, this.#sole) ? "author" : "none",
      refusesFirst,
      wire,
      isSilenceProof: wire === "silent" && actsOnlyByRequests && !record.isOvershadowed && hearsSilence(),
      hasRejected: quoted === "rejection",
      isSentAgain,
      since: this.#since
    }, this.#sole)
    // Of this run: an attempt beside it begins the call's own count anew.
    const inside = both(state.done.inside, record.innerEffects)
    const effects = both(own.effects, inside)
    const isRefusal = own.isRefusal && !refusesFirst
    const isLate = !isOpen(scope) || isUninterruptible && isLeft(scope)
    const isSoft = own.isSoft && own.effects === "maybe" && inside === "none"
    this.#ending = { effects, isRefusal, isSoft }
    note(
      scope,
      {
        ...event,
        effects,
        ...(isRefusal ? { refused: true } : {}),
        ...(isInDoubt(effects) ? { doubt: isSoft ? "soft" : "hard" } : {}),
        ...(Exit.isFailure(exit) && record.hasData ? { wire: record.data } : {}),
        ...(isLate ? { late: true } : {})
      },
      failure,
      this.#attempt
    )
    if (isInDoubt(effects) && tool.token !== undefined) noteDoubted(tool.token)
    if (wire === "acted" && own.effects === "none") this.#warnOfContradiction(record)
    if (effects === "none") record.remember()
    else if (effects === "done") record.forget()
    else scope.record.live.lost = record
    if (isLate) this.#report(certaintyOf(effects), failure)
  }

  // Fast path: most handlers succeed in time, and run no inner tools.
  #isPlain({ value }: Exit.Success<unknown, unknown>): boolean {
    const scope = this.#scope
    const { acts, state: { done } } = scope
    if (isPromise(value)) return false
    if (!acts) return true
    const isLate = !isOpen(scope) || this.#handler.isUninterruptible && isLeft(scope)
    const ranNothing = done.acting === 0 && done.inside === "none" && this.#record?.innerEffects === "none"
    return ranNothing && !isLate
  }

  #endPlainly<A, E>(exit: Exit.Exit<A, E>): Exit.Exit<A, E> {
    this.#hasEnded = true
    this.#record?.end()
    this.#record?.forget()
    note(this.#scope, this.#scope.acts ? succeededActing : succeeded)
    return exit
  }

  /** Notes that the waiting caller was interrupted. The handler may keep running. */
  leave(): void {
    this.#scope.wasLeft = true
  }

  // ---------------------------------------------------------------------------
  // Requests
  // ---------------------------------------------------------------------------

  get effects(): Effects {
    return this.#hasEnded ? this.#scope.effects(false) : "maybe"
  }

  get sentKey(): string | undefined {
    return this.#scope.keyIfAsked
  }

  get now(): number {
    return Context.get(this.#context, Clock.Clock).currentTimeMillisUnsafe()
  }

  hearUnkeyed(request: SeenRequest): void {
    const { token, sideEffect } = this.#scope.tool
    if (sideEffect === "idempotent_by_key" && token !== undefined) noteUnkeyed(token, request.data)
  }

  /** Hears of a request that began after the handler had ended: what was known of the call is no longer true. */
  hearLate(request: WireRequest.WireRequest): void {
    // A success is certain, whatever follows it.
    if (this.#ending === undefined || this.#ending.effects === "done") return
    note(this.#scope, { _tag: "LateRequest", request }, undefined, this.#attempt)
    for (let scope: Scope | undefined = this.#scope; scope !== undefined; scope = scope.around) {
      scope.onLateRequest?.()
      // A call that was dispatched in a scope has events of its own.
      if (scope.parent === undefined && scope.around !== undefined) {
        note(scope.around, { _tag: "LateRequest", request, inside: scope.tool.name })
      }
    }
    this.#report("unknown", undefined, request)
  }

  // The author's word holds, but somebody should know.
  #warnOfContradiction({ data }: WireRecord) {
    const { id, tool: { name } } = this.#scope
    const line = `${name} says that it did nothing, but its requests say otherwise: ${
      data.map(WireRequest.describe).join(", ")
    }.`
    Effect.runForkWith(this.#context)(Effect.annotateLogs(Effect.logWarning(line), { tool: name, call: id }))
  }

  #report(certainty: Certainty, failure: ToolFailure | undefined, request?: WireRequest.WireRequest) {
    const { id, idempotencyKey: key, tool: { name: tool } } = this.#scope
    const result: LateResult = {
      tool,
      id,
      key,
      attempt: this.#attempt,
      certainty,
      at: this.now,
      ...(failure === undefined ? {} : { code: failure.code }),
      ...(request === undefined ? {} : { request })
    }
    Effect.runForkWith(this.#context)(reportLateResult(result))
  }
}

type Ended = CallEvent & { readonly _tag: "AttemptEnded" }

// The first failure, even if a finalizer has died, too.
const failureIn = (exit: Exit.Exit<unknown, unknown>): ToolFailure | undefined => {
  const reason = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason) : undefined
  return isWhole(reason?.error) ? reason.error : undefined
}
