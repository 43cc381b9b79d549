import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { CallEvent } from "../../CallEvent.ts"
import { isToolFailure, type ToolFailure } from "../../ToolFailure.ts"
import { step } from "../call/callState.ts"
import { effectsIn } from "../call/done.ts"
import { isOfAnswer } from "../call/forward.ts"
import { handOut } from "../call/innerScope.ts"
import { discardAnswer, note, noteDiscardedAnswer, noteHandled } from "../call/note.ts"
import { partOf } from "../call/partScope.ts"
import { policyFields, type PolicyName } from "../call/policyKind.ts"
import { type PolicyRecord, type Scope } from "../call/scope.ts"
import { defectsOf, type Signal, signalIn, StopSignal } from "../failure/controlSignal.ts"
import { both, type Effects, effectsOf, isInDoubt } from "../failure/effects.ts"
import { isRepeat } from "../failure/policyRefusal.ts"
import { isA } from "../value/untrusted.ts"

/** One run of a custom policy's own code. */
export class PolicyRun implements PolicyRecord {
  readonly scope: Scope
  readonly #policy: PolicyName
  readonly #fiber: Fiber.Fiber<unknown, unknown>
  readonly #clock: Clock.Clock
  readonly #activeRuns = new Map<Fiber.Fiber<unknown, unknown>, Scope>()
  readonly #failures: Array<{ readonly failure: ToolFailure; readonly attempt: number }> = []
  /** The signal that ended an inner run: a question or a stop. The policy cannot override it. */
  signal: Signal | undefined = undefined
  /** The defects of inner runs. */
  readonly defects: Array<unknown> = []
  #prefix: string | undefined = undefined
  /** The inner runs that gave an answer, keyed by their answers. */
  readonly #answers = new Map<unknown, Scope>()
  /** The inner run whose caveats and source apply to the answer. */
  #currentRun: Scope | undefined = undefined
  /** Caveats and sources that the policy itself has reported since `#currentRun` was last set. */
  #ownReports: Array<CallEvent> = []
  /** True if the policy itself has run a tool that acted, or may have acted. */
  #ranActing = false
  #busy = 0
  #idleSince = 0
  /** The number of the last idle period. In an idle period, no inner run is in progress. */
  #idlePeriod = 0
  /**
   * The number of the last idle period in which other fibers had a turn. Only such a period counts as
   * a wait, since pure computation gives other fibers no turn.
   */
  #waitedPeriod = 0

  constructor(outer: Scope, policy: PolicyName, fiber: Fiber.Fiber<unknown, unknown>) {
    this.scope = partOf(outer, "policy")
    this.scope.policy = this
    this.#policy = policy
    this.#fiber = fiber
    this.#clock = fiber.getRef(Clock.Clock)
    this.#startIdle()
  }

  #startIdle(): void {
    const period = ++this.#idlePeriod
    this.#idleSince = this.#clock.currentTimeMillisUnsafe()
    this.#fiber.currentDispatcher.scheduleTask(() => {
      this.#waitedPeriod = period
    }, 0)
  }

  occupy(): void {
    if (this.#busy++ > 0 || this.#waitedPeriod !== this.#idlePeriod) return
    const idle = this.#clock.currentTimeMillisUnsafe() - this.#idleSince
    if (idle > 0) note(this.scope, { _tag: "WaitEnded", ...policyFields(this.#policy), wait: Duration.millis(idle) })
  }

  release(): void {
    if (--this.#busy === 0) this.#startIdle()
  }

  /** True if the policy has ended: a run that begins now belongs to no call. */
  get hasEnded(): boolean {
    return this.scope.phase !== "open"
  }

  /** Makes the scope of an inner run that is about to start. */
  begin(fiber: Fiber.Fiber<unknown, unknown>): Scope {
    this.occupy()
    const run = partOf(this.scope, "run")
    run.state = step(run.state, noteDiscardedAnswer)
    this.#activeRuns.set(fiber, run)
    return run
  }

  /**
   * The prefix of the ids and keys of tools that the policy itself runs. Tool names contain no plus
   * sign, so the prefix never equals the name of a tool. Inside another policy, numbering starts
   * again, so the prefix also contains the nesting depth.
   */
  get prefix(): string {
    if (this.#prefix !== undefined || this.scope.parent === undefined) return this.#prefix ?? ""
    let depth = 0
    for (let scope = this.scope; !scope.ownsRecord && scope.parent !== undefined; scope = scope.parent) {
      if (scope.policy !== undefined) depth++
    }
    const name = `policy+${depth === 1 ? "" : depth}`
    return this.#prefix = `${name}/${this.scope.parent.live.next(name)}/`
  }

  /** Records the end of an inner run. */
  end(run: Scope, fiber: Fiber.Fiber<unknown, unknown>, exit: Exit.Exit<unknown, unknown>): void {
    this.release()
    run.end()
    this.#activeRuns.delete(fiber)
    this.scope.live.rejoin(run.live)
    if (run.rejection !== undefined) this.scope.live.rejection = run.rejection
    const failures = failuresOf(exit)
    this.#failures.push(...failures.map((failure) => ({ failure, attempt: run.attempt })))
    const defects = diedOf(exit)
    const signal = signalIn(defects)
    // The first signal is kept, unless a later signal is a stop.
    this.signal = [this.signal, signal].find(isA(StopSignal)) ?? this.signal ?? signal
    this.defects.push(...defects.filter((defect) => signalIn([defect]) === undefined))
    for (const answer of answersOf(exit)) this.#answers.set(answer, run)
    if (Exit.isSuccess(exit)) this.#setCurrentRun(run)
  }

  hear(event: CallEvent): void {
    if (event._tag === "InnerEnded" && event.by === "policy" && event.effects !== "none") this.#ranActing = true
    if (event._tag === "AttemptStarted" || event._tag === "AnswerDiscarded") this.#currentRun = undefined
    if (event._tag === "AnswerDiscarded") this.#ownReports = []
    else if (isOfAnswer(event)) this.#ownReports.push(event)
  }

  #setCurrentRun(run: Scope): void {
    this.#ownReports = []
    discardAnswer(this.scope)
    handOut(run)
    this.#currentRun = run
    this.#ownReports = []
  }

  /**
   * Removes a failure from the list of failures that {@link finish} reports as handled. Returns the
   * number of the attempt that failed with it; `undefined` if the list does not contain it.
   */
  settle(failure: ToolFailure): number | undefined {
    const index = this.#failures.findLastIndex((entry) => entry.failure === failure)
    return index === -1 ? undefined : this.#failures.splice(index, 1)[0]?.attempt
  }

  /** Records the end of the policy, and closes its scope. */
  finish(exit: Exit.Exit<unknown, unknown>): void {
    const { scope } = this
    // The answer may come from an inner run other than the last one.
    for (const answer of answersOf(exit)) {
      const run = this.#answers.get(answer)
      if (run === undefined || run === this.#currentRun) continue
      const ownReports = this.#ownReports
      this.#setCurrentRun(run)
      for (const event of ownReports) note(scope, event)
    }
    if (Exit.isSuccess(exit) && !this.#answers.has(exit.value)) scope.live.isOwnAnswer = true
    const finalFailures = failuresOf(exit)
    for (const failure of finalFailures) this.settle(failure)
    for (const { attempt, failure } of this.#failures) noteHandled(scope, failure, policyFields(this.#policy), attempt)
    this.occupy()
    for (const [fiber, run] of this.#activeRuns) {
      scope.live.rejoin(run.live)
      scope.live.abandoned.add(fiber)
      note(scope, { _tag: "AttemptAbandoned", ...policyFields(this.#policy) })
    }
    // The policy's own code may act. Only the outcome in its failure shows this.
    const { done } = scope.record.state
    const said = finalFailures.map(effectsSaid).reduce(both, "none")
    // Each failure of a resumed call says what had been done before.
    const effects = done.earlier === "none" ? said : isInDoubt(said) ? "maybe" : "none"
    if (scope.acts && effects !== "none" && effectsIn({ ...done, earlier: "none" }, scope.acts, false) === "none") {
      note(scope, { _tag: "PolicyActed", ...policyFields(this.#policy), effects })
    }
    // The arguments must not be corrected any more, whatever a policy outside makes of this failure.
    if ((this.#ranActing || said !== "none") && scope.rejection !== undefined) scope.live.rejection = undefined
    scope.close()
  }
}

// The outcome of a repeated call is that of the earlier call.
const effectsSaid = (failure: ToolFailure): Effects =>
  failure.outcome === undefined || isRepeat(failure) ? "none" : effectsOf(failure.outcome)

export const diedOf = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<unknown> =>
  Exit.isSuccess(exit) ? [] : defectsOf(exit.cause)

/** Returns the answers in an exit. A partial answer counts as an answer, too. */
const answersOf = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<unknown> =>
  Exit.isSuccess(exit) ? [exit.value] : failuresOf(exit).filter(({ _tag }) => _tag === "PartialData")

const failuresOf = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<ToolFailure> =>
  Exit.isSuccess(exit)
    ? []
    : exit.cause.reasons.filter(Cause.isFailReason).map(({ error }) => error).filter(isToolFailure)
