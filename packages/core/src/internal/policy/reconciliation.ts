/*
 * Finds out whether a call in doubt took effect.
 *
 * "Not found yet" does not mean "did not happen". A check that finds nothing proves this only in two cases: its answer
 * is final, or it still finds nothing some time after the last attempt has really ended.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import * as Deadline from "../../Deadline.ts"
import { isOutcomeUnknown, type ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import { doneInAttempts } from "../call/callState.ts"
import { current, type Frame } from "../call/frame.ts"
import { SourceFrame } from "../call/gateFrames.ts"
import { callUser } from "../call/runUserCode.ts"
import { positive } from "../value/numberOption.ts"
import { kind } from "../value/text.ts"
import type { Call } from "./policyCall.ts"

/**
 * Options that say when a check that finds nothing proves that the call did not happen. Without `settle` and `final`,
 * it never does for a tool that acts: the outcome stays unknown.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReconcileOptions {
  /**
   * The longest time, from the end of the last attempt, until the check can find the effect. You promise that an
   * effect not found by then did not happen. Default: none.
   */
  readonly settle?: Duration.Input
  /** When to ask again during that time. Default: after 100 ms, doubling each time. */
  readonly schedule?: Schedule.Schedule<unknown>
  /** Whether the check is conclusive: you promise that an effect it does not find will not happen. Default: `false`. */
  readonly final?: boolean
}

type Check<R> = (params: unknown, failure: ToolFailure) => Effect.Effect<Option.Option<unknown>, ToolFailure, R>

/** The result of a check: a value, nothing, or no certainty, with the problem if there is one. */
type Finding =
  | { readonly _tag: "Found"; readonly value: unknown }
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "NotKnown"; readonly problem?: ToolFailure }

const nothing: Finding = { _tag: "Nothing" }
const notKnown: Finding = { _tag: "NotKnown" }

export class Reconciliation<R> {
  readonly settle: Duration.Duration | undefined
  readonly isFinal: boolean
  readonly #check: Check<R>
  readonly #schedule: Schedule.Schedule<unknown>

  constructor(check: Check<R>, { final = false, schedule, settle }: ReconcileOptions) {
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
  }

  /**
   * Succeeds with the value that the check finds for a failed run. Otherwise it fails with the failure of the run. If
   * the check proves that nothing in the call took effect, a `ToolUnavailable` or an unreadable result becomes a
   * transient `not_executed`.
   */
  of(name: string, call: Call, params: unknown, failure: ToolFailure): Effect.Effect<unknown, ToolFailure, R> {
    return Effect.flatMap(current, (frame) => {
      const isUnknown = frame.acts ? doneInAttempts(frame.whole.state).isInDoubt : isOutcomeUnknown(failure)
      if (!isUnknown) return Effect.fail(failure)
      frame.discard()
      const { executions } = frame.whole.state
      return Effect.flatMap(this.#find(this.#ask(name, frame, params, failure), frame, call), (finding) => {
        switch (finding._tag) {
          case "Found":
            frame.note({ _tag: "OutcomeSettled", certainty: "executed" })
            frame.handled(failure, { by: "reconcile" })
            return Effect.succeed(finding.value)
          case "Nothing":
            // Another attempt has started meanwhile. The check says nothing about it.
            if (frame.whole.state.executions !== executions) return Effect.fail(failure)
            frame.note({ _tag: "OutcomeSettled", certainty: "not_executed" })
            // Something else in the call may have taken effect.
            return Effect.fail(frame.certainty === "not_executed" ? notExecuted(failure) : failure)
          case "NotKnown":
            if (finding.problem !== undefined) frame.handled(finding.problem, { by: "reconcile" })
            return Effect.fail(failure)
        }
      })
    })
  }

  /** Runs the check once. */
  #ask(name: string, frame: Frame, params: unknown, failure: ToolFailure): Effect.Effect<Finding, never, R> {
    const label = `The check of '${name}'`
    return callUser(label, () => this.#check(params, failure)).pipe(
      // An interrupted or crashed check finds nothing. Without this, the failure would not be recorded.
      Effect.onExit((exit) =>
        Effect.sync(() => {
          if (Exit.isFailure(exit) && !Cause.hasFails(exit.cause)) frame.handled(failure, { by: "reconcile" })
        })
      ),
      Effect.provideService(current, new SourceFrame(frame, false)),
      Effect.matchEffect({
        onFailure: (problem) => Effect.succeed<Finding>({ _tag: "NotKnown", problem }),
        onSuccess: (answer): Effect.Effect<Finding> => {
          if (!Option.isOption(answer)) {
            return Effect.die(new TypeError(`${label} must find an Option; got ${kind(answer)}.`))
          }
          return Effect.succeed(Option.isSome(answer) ? { _tag: "Found", value: answer.value } : nothing)
        }
      })
    )
  }

  #find(ask: Effect.Effect<Finding, never, R>, frame: Frame, call: Call): Effect.Effect<Finding, never, R> {
    const { settle } = this
    if (settle !== undefined) return this.#findWithin(ask, frame, call, Duration.toMillis(settle))
    return Effect.suspend(() => {
      // An attempt that still runs may act after the check.
      const isRunning = frame.isActing
      const isFinal = this.isFinal || !frame.acts
      return Effect.map(ask, (finding) => finding._tag === "Nothing" && (isRunning || !isFinal) ? notKnown : finding)
    })
  }

  /** Asks until something is found or the time to settle is up. A running attempt has the same time to end. */
  #findWithin(
    ask: Effect.Effect<Finding, never, R>,
    frame: Frame,
    call: Call,
    settle: number
  ): Effect.Effect<Finding, never, R> {
    return Effect.gen({ self: this }, function*() {
      const step = yield* Schedule.toStep(this.#schedule)
      const first = yield* Clock.currentTimeMillis
      let last = first
      let didRun = frame.isActing
      for (;;) {
        const begun = yield* Clock.currentTimeMillis
        const runs = frame.isActing
        if (runs || didRun) last = begun
        didRun = runs
        const finding = yield* ask
        if (finding._tag === "Found") return finding
        if (!runs && begun - last >= settle) return finding
        if (runs && begun - first >= settle) return notKnown
        const now = yield* Clock.currentTimeMillis
        const rest = (runs ? first : last) + settle - now
        // The deadline would cut the wait short without a reason, so the check stops here.
        if (rest >= Duration.toMillis(yield* Deadline.timeLeft)) return finding._tag === "Nothing" ? notKnown : finding
        const next = yield* Pull.matchEffect(step(now, undefined), {
          onSuccess: ([, length]) => Effect.succeed(Duration.toMillis(length)),
          onFailure: Effect.failCause,
          onDone: () => Effect.succeed(Infinity)
        })
        // Rounded up: a test clock may be short by a tiny fraction of a millisecond, which no wait would make up.
        const wait = Duration.millis(Math.ceil(Math.max(0, Math.min(next, rest))))
        yield* call.waiting(Effect.sleep(wait), wait)
      }
    })
  }
}

// Other failures say something else, and stay unchanged.
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
