/*
 * For a call with an unknown outcome, runs the tool's check (`Tool.reconcile`) to find out whether
 * the call took effect. With `lookFirst`, the check also runs before the first attempt.
 *
 * "Not found yet" does not mean "did not happen". A check that finds nothing proves that nothing
 * happened in only two cases. Either its answer is declared final, or it still finds nothing some
 * time after the last attempt has really ended.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import * as EffectScope from "effect/Scope"
import * as Deadline from "../../Deadline.ts"
import { from, isOutcomeUnknown, type ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import { effectsOfAttempts } from "../call/done.ts"
import { isActing, whyNot } from "../call/mayBegin.ts"
import { discardAnswer, note, noteHandled } from "../call/note.ts"
import { partOf } from "../call/partScope.ts"
import { callUser } from "../call/runUserCode.ts"
import { current, type Scope } from "../call/scope.ts"
import { isInDoubt } from "../failure/effects.ts"
import { withFields } from "../failure/failureClass.ts"
import { positive } from "../value/numberOption.ts"
import { kind } from "../value/text.ts"
import { attempt, isPromise } from "../value/untrusted.ts"
import { baseFetch, type CallFetch, ownFetch } from "../wire/ownFetch.ts"
import type { Call } from "./policyCall.ts"

/**
 * Options that say when a check that finds nothing proves that the call did not take effect. Without `settle`
 * and `final`, such a check proves nothing for a tool that acts (has side effects): the outcome stays unknown.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReconcileOptions {
  /**
   * How long an effect may take to become visible to the check. It is counted from the end of the last attempt in this
   * process, or from when this process takes up a call in doubt. You promise that an effect not found by then did not happen.
   * Default: none.
   */
  readonly settle?: Duration.Input
  /** When to repeat the check during the time to settle. Default: after 100 ms, doubling each time. */
  readonly schedule?: Schedule.Schedule<unknown>
  /**
   * Whether the answer of the check is conclusive. If so, you promise that an effect that the check
   * does not find has not happened and will not happen. Default: `false`.
   */
  readonly final?: boolean
  /**
   * Whether the check also runs before the first attempt of a call, because a run that was interrupted may have
   * made the same call. If the check fails then, the tool does not run. Default: `false`.
   */
  readonly lookFirst?: boolean
}

/**
 * The second argument of a check.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReconcileCall {
  /** Why the check runs. */
  readonly failure: ToolFailure
  /** Aborted when the check is interrupted, for example by a deadline. */
  readonly signal: AbortSignal
  /** The `fetch` of the call, with this `signal`. Its requests say nothing about what the tool did. */
  readonly fetch: CallFetch
  /** The idempotency key of the call. */
  readonly idempotencyKey: string
}

/** What a check returns: an Effect of an Option, or a promise of the value, or of `undefined` if it finds nothing. */
export type CheckAnswer<R> = Effect.Effect<Option.Option<unknown>, ToolFailure, R> | PromiseLike<unknown>

type Check<R> = (params: unknown, call: ReconcileCall) => CheckAnswer<R>

/**
 * The result of a check: it found the effect, found nothing, or does not know. `problem` is the
 * failure of the check itself.
 */
type Finding =
  | { readonly _tag: "Found"; readonly value: unknown }
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "NotKnown"; readonly problem?: ToolFailure }

const nothing: Finding = { _tag: "Nothing" }
const notKnown: Finding = { _tag: "NotKnown" }

export class Reconciliation<R> {
  readonly settle: Duration.Duration | undefined
  readonly isFinal: boolean
  readonly looksFirst: boolean
  readonly #check: Check<R>
  readonly #schedule: Schedule.Schedule<unknown>

  constructor(check: Check<R>, { final = false, lookFirst = false, schedule, settle }: ReconcileOptions) {
    if (settle !== undefined && final) {
      throw new TypeError("A check whose answer is final needs no time to settle: give either 'final' or 'settle'.")
    }
    if (schedule !== undefined && settle === undefined) {
      throw new TypeError("A 'schedule' repeats the check while the outcome settles: give a 'settle' with it.")
    }
    if (schedule !== undefined && !Schedule.isSchedule(schedule)) {
      throw new TypeError(`A reconcile's schedule must be a Schedule; got ${kind(schedule)}.`)
    }
    this.#check = check
    this.#schedule = schedule ?? Schedule.exponential("100 millis")
    this.settle = settle === undefined ? undefined : positive("time to settle", settle)
    this.isFinal = final
    this.looksFirst = lookFirst
  }

  /**
   * Runs the check before the first attempt of a call, and before the first attempt with corrected arguments. Succeeds
   * with the value that the check finds, and otherwise with the result of the run.
   */
  before<A, R2>(
    name: string,
    params: unknown,
    run: Effect.Effect<A, ToolFailure, R2>
  ): Effect.Effect<unknown, ToolFailure, R | R2> {
    if (!this.looksFirst) return run
    return Effect.flatMap(current, (scope): Effect.Effect<unknown, ToolFailure, R | R2> => {
      const { corrected, executions } = scope.record.state
      if (!scope.acts || executions > corrected) return run
      // A call in doubt that may not run again is checked afterwards. To check it now, too, could ask the user twice.
      if (scope.certainty === "unknown" && whyNot(scope) !== undefined) return run
      return Effect.matchEffect(this.#answer(name, scope, params, madeBefore), {
        onFailure: (problem) => Effect.fail(notLooked(name, problem)),
        onSuccess: Option.match({
          onNone: () => run,
          onSome: (value) =>
            Effect.sync(() => {
              noteFound(scope, true)
              return value
            })
        })
      })
    })
  }

  /**
   * Succeeds with the value that the check finds for a failed run. If the check finds none, fails with
   * the failure of the run. If it proves that nothing in the call took effect, a `ToolUnavailable` or an
   * unreadable result is replaced. The replacement is a transient failure with the code `not_executed`.
   */
  of(name: string, call: Call, params: unknown, failure: ToolFailure): Effect.Effect<unknown, ToolFailure, R> {
    return Effect.flatMap(current, (scope) => {
      const isUnknown = scope.acts ? isInDoubt(effectsOfAttempts(scope.record.state.done)) : isOutcomeUnknown(failure)
      if (!isUnknown) return Effect.fail(failure)
      const isRefusal = scope.acts && scope.doubt(scope.effects(false)) === "soft"
      discardAnswer(scope)
      const { record } = scope
      const { corrected, executions } = record.state
      const isEarlier = record.repeatsDoubt && executions === corrected
      const asked = isEarlier && record.doubted !== undefined ? record.doubted.params : params
      return Effect.flatMap(this.#find(this.#ask(name, scope, asked, failure), scope, call), (finding) => {
        switch (finding._tag) {
          case "Found":
            noteFound(scope, isEarlier)
            noteHandled(scope, failure, { by: "reconcile" })
            return Effect.succeed(finding.value)
          case "Nothing":
            // Another attempt has started in the meantime, and the check says nothing about that attempt.
            if (scope.record.state.executions !== executions) return Effect.fail(failure)
            note(scope, { _tag: "OutcomeSettled", effects: "none" })
            // Even then, something else in the call may have taken effect.
            if (scope.certainty !== "not_executed") return Effect.fail(failure)
            // A queue may still send what the attempt has left in it.
            scope.record.live.lost?.remember()
            return Effect.fail(isRefusal ? provedRefusal(failure) : notExecuted(failure))
          case "NotKnown":
            if (finding.problem !== undefined) noteHandled(scope, finding.problem, { by: "reconcile" })
            return Effect.fail(failure)
        }
      })
    })
  }

  /** Runs the check once, after an attempt. */
  #ask(name: string, scope: Scope, params: unknown, failure: ToolFailure): Effect.Effect<Finding, never, R> {
    return this.#answer(name, scope, params, failure).pipe(
      // If the check is interrupted or dies, it finds nothing. Without this step, the failure of the
      // run would not be recorded.
      Effect.onExit((exit) =>
        Effect.sync(() => {
          if (Exit.isFailure(exit) && !Cause.hasFails(exit.cause)) noteHandled(scope, failure, { by: "reconcile" })
        })
      ),
      Effect.match({
        onFailure: (problem): Finding => ({ _tag: "NotKnown", problem }),
        onSuccess: Option.match({ onNone: () => nothing, onSome: (value): Finding => ({ _tag: "Found", value }) })
      })
    )
  }

  #answer(
    name: string,
    scope: Scope,
    params: unknown,
    failure: ToolFailure
  ): Effect.Effect<Option.Option<unknown>, ToolFailure, R> {
    const label = `The check of '${name}'`
    return this.#called(label, params, failure).pipe(
      Effect.flatMap((answer) =>
        Option.isOption(answer)
          ? Effect.succeed(answer)
          : Effect.die(new TypeError(`${label} must find an Option; got ${kind(answer)}.`))
      ),
      // What a check says that has found nothing belongs to no answer.
      Effect.tap((answer) => Effect.sync(() => Option.isNone(answer) && discardAnswer(scope))),
      Effect.provideService(current, partOf(scope, "check"))
    )
  }

  // The signal is aborted if the check is interrupted.
  #called(label: string, params: unknown, failure: ToolFailure): Effect.Effect<Option.Option<unknown>, ToolFailure, R> {
    return Effect.flatMap(EffectScope.make(), (life) =>
      contextFor(failure).pipe(
        Effect.provideService(EffectScope.Scope, life),
        Effect.flatMap((call) =>
          callUser(label, () => {
            const answer = this.#check(params, call)
            return isThenable(answer) ? awaited(label, answer) : answer
          })
        ),
        Effect.onInterrupt(() => EffectScope.close(life, Exit.void))
      ))
  }

  #find(ask: Effect.Effect<Finding, never, R>, scope: Scope, call: Call): Effect.Effect<Finding, never, R> {
    const { settle } = this
    if (settle !== undefined) return this.#findWithin(ask, scope, call, Duration.toMillis(settle))
    return Effect.suspend(() => {
      // An attempt that is still running may act after the check.
      const isRunning = isActing(scope)
      const isFinal = this.isFinal || !scope.acts
      return Effect.map(ask, (finding) => finding._tag === "Nothing" && (isRunning || !isFinal) ? notKnown : finding)
    })
  }

  /**
   * Repeats the check until it finds the effect, or the time to settle is up. An attempt that is
   * still running gets the same length of time to finish. That time proves something, so it is not read from a clock that
   * can be set.
   */
  #findWithin(
    ask: Effect.Effect<Finding, never, R>,
    scope: Scope,
    call: Call,
    settle: number
  ): Effect.Effect<Finding, never, R> {
    return Effect.gen({ self: this }, function*() {
      const step = yield* Schedule.toStep(this.#schedule)
      const start = yield* Clock.monotonicTimeNanos
      const elapsed = Effect.map(Clock.monotonicTimeNanos, (now) => Number(now - start) / 1e6)
      let last = 0
      let didRun = isActing(scope)
      for (;;) {
        const begun = yield* elapsed
        const runs = isActing(scope)
        if (runs || didRun) last = begun
        didRun = runs
        // The end and the wait until the end must come from one computation. Otherwise, rounding could leave
        // no time to wait before an end that has not come, and the check would be repeated for ever.
        const restAt = (time: number) => (runs ? 0 : last) + settle - time
        const finding = yield* ask
        if (finding._tag === "Found") return finding
        if (restAt(begun) <= 0) return runs ? notKnown : finding
        const rest = restAt(yield* elapsed)
        // If the deadline comes before the time to settle is up, the check stops now. Otherwise the
        // deadline would cut the wait short, and the reason would be lost.
        if (rest >= Duration.toMillis(yield* Deadline.timeLeft)) return finding._tag === "Nothing" ? notKnown : finding
        const next = yield* Pull.matchEffect(step(yield* Clock.currentTimeMillis, undefined), {
          onSuccess: ([, length]) => Effect.succeed(Duration.toMillis(length)),
          onFailure: Effect.failCause,
          onDone: () => Effect.succeed(Infinity)
        })
        // A wait lasts at least a millisecond, and is rounded up. Otherwise, the check could be repeated without
        // any time passing: a schedule may not wait, and a shorter wait may not advance a test clock.
        const wait = Duration.millis(Math.ceil(Math.min(Math.max(1, next), Math.max(0, rest))))
        yield* call.waiting(Effect.sleep(wait), wait)
      }
    })
  }
}

// Makes the second argument of a check. No attempt has a record of its requests.
const contextFor = (failure: ToolFailure) =>
  Effect.withFiber((fiber) =>
    Effect.map(Effect.abortSignal, (signal): ReconcileCall => {
      const { idempotencyKey } = fiber.getRef(current)
      const of = { base: fiber.getRef(baseFetch), record: undefined, signal, key: idempotencyKey }
      return { failure, signal, fetch: ownFetch(of), idempotencyKey }
    })
  )

const isThenable = (answer: unknown): answer is PromiseLike<unknown> =>
  isPromise(answer) && attempt(() => Effect.isEffect(answer)) !== true

// A check only reads. So what it throws may be transient because of its words, and nobody waits for it once it is
// interrupted.
const awaited = (label: string, answer: PromiseLike<unknown>): Effect.Effect<Option.Option<unknown>, ToolFailure> =>
  Effect.callback((resume) => {
    void Promise.resolve(answer).then(
      (value) =>
        resume(
          Option.isOption(value) ? Effect.die(optionPromised(label)) : Effect.succeed(Option.fromUndefinedOr(value))
        ),
      (error) => resume(Effect.suspend(() => Effect.fail(from(error, { reads: true }))))
    )
  })

const optionPromised = (label: string): TypeError =>
  new TypeError(`${label} is async, so it returns the result itself, or undefined; got an Option.`)

/** @param earlier whether the effect is that of an earlier call */
const noteFound = (scope: Scope, earlier: boolean): void => {
  note(scope, { _tag: "OutcomeSettled", effects: "done", ...(earlier ? { earlier } : {}) })
  const text = earlier
    ? "It had been done before, so it was not done again."
    : "Its answer was lost or unclear, but a check found that it took effect."
  note(scope, { _tag: "CaveatAdded", text })
}

// The failure that a check receives before the first attempt.
const madeBefore = new ToolUnavailable({
  code: "outcome_unknown",
  detail: "A run that was interrupted may have made this call.",
  transient: false,
  outcome: "unknown"
})

const notLooked = (name: string, problem: ToolFailure): ToolUnavailable => {
  const isUnavailable = problem._tag === "ToolUnavailable"
  return new ToolUnavailable({
    code: "check_failed",
    detail: `${name} was not run, because the check for an earlier effect failed: ${problem.detail}`,
    transient: isUnavailable && problem.transient,
    outcome: "not_executed",
    cause: problem.cause,
    ...(problem.hint === undefined ? {} : { hint: problem.hint }),
    ...(isUnavailable && problem.retryAfter !== undefined ? { retryAfter: problem.retryAfter } : {})
  })
}

// A refusal keeps its words: the tool would refuse the same call again.
const provedRefusal = (failure: ToolFailure): ToolFailure =>
  withFields<ToolFailure>(failure, { outcome: "not_executed" })

// Only these two kinds of failure are replaced. Other failures say something else, and stay unchanged.
const notExecuted = (failure: ToolFailure): ToolFailure => {
  const { cause, detail } = failure
  if (failure._tag !== "ToolUnavailable" && !(failure._tag === "SchemaMismatch" && failure.side === "result")) {
    return failure
  }
  const retryAfter = failure._tag === "ToolUnavailable" ? failure.retryAfter : undefined
  return new ToolUnavailable({
    ...(retryAfter === undefined ? {} : { retryAfter }),
    code: "not_executed",
    detail: `${detail} A check confirmed that it did not take effect.`,
    transient: true,
    outcome: "not_executed",
    cause
  })
}
