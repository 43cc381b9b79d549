/*
 * Finding out what became of a call of which nobody knows whether it took effect.
 *
 * Not there yet is not the same as not there. So what a check does not find did not happen only if its answer is final, or if it still is
 * not there some time after the last attempt has really ended.
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
import { SourceFrame } from "../call/gate.ts"
import { callUser } from "../call/userCode.ts"
import { positive } from "../value/numberOption.ts"
import { kind } from "../value/text.ts"
import type { Call } from "./policyCall.ts"

/**
 * What makes it final that a check finds nothing. Without either, the outcome stays unknown then.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReconcileOptions {
  /**
   * How long the service takes at most until what it was asked for can be found, from the end of the last attempt. What the check has not
   * found by then did not happen: that is your promise.
   */
  readonly settle?: Duration.Input
  /** When to ask again while it settles. Default: after 100 ms, and each time after twice as long. */
  readonly schedule?: Schedule.Schedule<unknown>
  /** The check closes the matter: what it does not find will not happen any more. That is your promise. */
  readonly final?: boolean
}

type Check<R> = (params: unknown, failure: ToolFailure) => Effect.Effect<Option.Option<unknown>, ToolFailure, R>

/** What came of asking: what was found, that nothing was, or why nobody can tell. */
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
      throw new TypeError("A check whose answer is final needs no time to settle: give one of 'final' and 'settle'.")
    }
    if (schedule !== undefined && settle === undefined) {
      throw new TypeError("A check is asked again while it settles: give a 'settle' with the 'schedule'.")
    }
    if (schedule !== undefined && !Schedule.isSchedule(schedule)) {
      throw new TypeError(`A check is asked again on a Schedule; got ${kind(schedule)}.`)
    }
    this.#check = check
    this.#schedule = schedule ?? Schedule.exponential("100 millis")
    this.settle = settle === undefined ? undefined : positive("time to settle", settle)
    this.isFinal = final
  }

  /** What a failed run comes to. */
  of(name: string, call: Call, params: unknown, failure: ToolFailure): Effect.Effect<unknown, ToolFailure, R> {
    return Effect.flatMap(current, (frame) => {
      const isUnknown = frame.acts ? doneInAttempts(frame.whole.state).isInDoubt : isOutcomeUnknown(failure)
      if (!isUnknown) return Effect.fail(failure)
      frame.discard()
      const { executions } = frame.whole.state
      return Effect.flatMap(this.#found(this.#ask(name, frame, params, failure), frame, call), (finding) => {
        switch (finding._tag) {
          case "Found":
            frame.note({ _tag: "OutcomeSettled", certainty: "executed" })
            frame.handled(failure, { by: "reconcile" })
            return Effect.succeed(finding.value)
          case "Nothing":
            // Meanwhile another attempt has begun, of which it says nothing.
            if (frame.whole.state.executions !== executions) return Effect.fail(failure)
            frame.note({ _tag: "OutcomeSettled", certainty: "not_executed" })
            // Something else in the call may have taken effect, or has.
            return Effect.fail(frame.certainty === "not_executed" ? notExecuted(failure) : failure)
          case "NotKnown":
            if (finding.problem !== undefined) frame.handled(finding.problem, { by: "reconcile" })
            return Effect.fail(failure)
        }
      })
    })
  }

  /** Asks once. */
  #ask(name: string, frame: Frame, params: unknown, failure: ToolFailure): Effect.Effect<Finding, never, R> {
    const who = `The check of '${name}'`
    return callUser(who, () => this.#check(params, failure)).pipe(
      // Cut short, it found out nothing, and nobody else hears of the failure.
      Effect.onExit((exit) =>
        Effect.sync(() => {
          if (Exit.isFailure(exit) && !Cause.hasFails(exit.cause)) frame.handled(failure, { by: "reconcile" })
        })
      ),
      Effect.provideService(current, new SourceFrame(frame, false)),
      Effect.matchEffect({
        onFailure: (problem) => Effect.succeed<Finding>({ _tag: "NotKnown", problem }),
        onSuccess: (found): Effect.Effect<Finding> => {
          if (!Option.isOption(found)) {
            return Effect.die(new TypeError(`${who} found ${kind(found)}, which is not an Option.`))
          }
          return Effect.succeed(Option.isSome(found) ? { _tag: "Found", value: found.value } : nothing)
        }
      })
    )
  }

  #found(ask: Effect.Effect<Finding, never, R>, frame: Frame, call: Call): Effect.Effect<Finding, never, R> {
    const { settle } = this
    if (settle !== undefined) return this.#settled(ask, frame, call, Duration.toMillis(settle))
    return Effect.suspend(() => {
      // What still runs may act after the check has looked.
      const isRunning = frame.isActing
      const isFinal = this.isFinal || !frame.acts
      return Effect.map(ask, (finding) => finding._tag === "Nothing" && (isRunning || !isFinal) ? notKnown : finding)
    })
  }

  /** Asks until something is found, or has had its time. An attempt that still runs has as long to end. */
  #settled(
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
        // It would be cut short, and nobody would be told why.
        if (rest >= Duration.toMillis(yield* Deadline.timeLeft)) return finding._tag === "Nothing" ? notKnown : finding
        const next = yield* Pull.matchEffect(step(now, undefined), {
          onSuccess: ([, length]) => Effect.succeed(Duration.toMillis(length)),
          onFailure: Effect.failCause,
          onDone: () => Effect.succeed(Infinity)
        })
        // A clock that a test moves may lack a billionth of a millisecond, which no wait would bring.
        const wait = Duration.millis(Math.ceil(Math.max(0, Math.min(next, rest))))
        yield* call.waiting(Effect.sleep(wait), wait)
      }
    })
  }
}

// Another failure of the same call says something else, and stays.
const notExecuted = (failure: ToolFailure): ToolFailure => {
  const { cause, detail } = failure
  if (failure._tag !== "ToolUnavailable" && !(failure._tag === "SchemaMismatch" && failure.side === "result")) {
    return failure
  }
  const retryAfter = failure._tag === "ToolUnavailable" ? failure.retryAfter : undefined
  return new ToolUnavailable({
    ...(retryAfter === undefined ? {} : { retryAfter }),
    code: "not_executed",
    detail: `${detail} A check found that it did not take effect.`,
    transient: true,
    outcome: "not_executed",
    cause
  })
}
