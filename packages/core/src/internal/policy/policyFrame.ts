import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { CallEvent } from "../../CallEvent.ts"
import { isOutcomeUnknown, isToolFailure, type ToolFailure } from "../../ToolFailure.ts"
import type { Frame, Outwards } from "../call/frame.ts"
import { PolicyRunFrame, SourceFrame } from "../call/gate.ts"
import { isOfAnswer } from "../call/innerEvent.ts"
import { named, type PolicyName } from "../call/policyKind.ts"
import { defectsOf, RejectionSignal, type Signal, signalIn, StopSignal } from "../failure/signal.ts"
import { isA } from "../value/untrusted.ts"

/** One call of a custom policy. */
export class PolicyFrame extends SourceFrame {
  readonly #policy: PolicyName
  readonly #fiber: Fiber.Fiber<unknown, unknown>
  readonly #clock: Clock.Clock
  readonly #under = new Map<Fiber.Fiber<unknown, unknown>, PolicyRunFrame>()
  readonly #failures: Array<{ readonly failure: ToolFailure; readonly attempt: number }> = []
  /** A question, a stop or a rejection of a run inside. No policy has a say in it. */
  signal: Signal | undefined = undefined
  /** What runs inside died of. */
  readonly defects: Array<unknown> = []
  #prefix: string | undefined = undefined
  /** What each run came to that has an answer. */
  readonly #answers = new Map<unknown, PolicyRunFrame>()
  /** The run whose words stand. */
  #standing: PolicyRunFrame | undefined = undefined
  /** What the policy itself has said of the answer since then. */
  #words: Array<CallEvent> = []
  #busy = 0
  #idleSince = 0
  /** Counts the times in which nothing inside ran. */
  #idle = 0
  /** In which of them others had their turn: what only computes does not wait. */
  #waited = 0

  constructor(outer: Frame, policy: PolicyName, fiber: Fiber.Fiber<unknown, unknown>) {
    super(outer, false)
    this.#policy = policy
    this.#fiber = fiber
    this.#clock = fiber.getRef(Clock.Clock)
    this.#rest()
  }

  #rest(): void {
    const idle = ++this.#idle
    this.#idleSince = this.#clock.currentTimeMillisUnsafe()
    this.#fiber.currentDispatcher.scheduleTask(() => {
      this.#waited = idle
    }, 0)
  }

  override occupy(): void {
    if (this.#busy++ > 0 || this.#waited !== this.#idle) return
    const idle = this.#clock.currentTimeMillisUnsafe() - this.#idleSince
    if (idle > 0) this.note({ _tag: "WaitEnded", ...named(this.#policy), wait: Duration.millis(idle) })
  }

  override release(): void {
    if (--this.#busy === 0) this.#rest()
  }

  branch(fiber: Fiber.Fiber<unknown, unknown>): PolicyRunFrame {
    this.occupy()
    const branch = new PolicyRunFrame(this)
    this.#under.set(fiber, branch)
    return branch
  }

  override get policies(): number {
    return this.outer.policies + 1
  }

  /**
   * A tool that the policy runs itself. No tool's name has a plus in it. Inside of another policy numbers begin anew, so that a key says
   * how far inside it is, too.
   */
  override get innerPrefix(): string {
    const name = `policy+${this.policies === 1 ? "" : this.policies}`
    return this.#prefix ??= `${name}/${this.outer.live.next(name)}/`
  }

  rejoin(branch: PolicyRunFrame, fiber: Fiber.Fiber<unknown, unknown>, exit: Exit.Exit<unknown, unknown>): void {
    this.release()
    branch.isOver = true
    this.#under.delete(fiber)
    this.live.rejoin(branch.live)
    const failures = failuresOf(exit)
    this.#failures.push(...failures.map((failure) => ({ failure, attempt: branch.attempt })))
    const defects = diedOf(exit)
    const signal = signalIn(defects)
    // A rejection is over once the policy has run something else that only reads. Of the others the first counts, unless a later one is a stop.
    const before = this.isSpent && !this.acts ? undefined : this.signal
    this.signal = [before, signal].find(isA(StopSignal)) ?? before ?? signal
    this.defects.push(...defects.filter((defect) => signalIn([defect]) === undefined))
    for (const answer of answersOf(exit)) this.#answers.set(answer, branch)
    if (Exit.isSuccess(exit)) this.#stand(branch)
  }

  override note(event: CallEvent, failure?: ToolFailure, attempt?: number, outwards?: Outwards): number {
    if (event._tag === "AttemptStarted" || event._tag === "AnswerDiscarded") this.#standing = undefined
    if (event._tag === "AnswerDiscarded") this.#words = []
    else if (isOfAnswer(event)) this.#words.push(event)
    return super.note(event, failure, attempt, outwards)
  }

  #stand(branch: PolicyRunFrame): void {
    this.#words = []
    branch.leave()
    this.#standing = branch
    this.#words = []
  }

  /** The policy says itself what became of a failure. It comes to the attempt that failed with it, if one did. */
  settle(failure: ToolFailure): number | undefined {
    const index = this.#failures.findLastIndex((known) => known.failure === failure)
    return index === -1 ? undefined : this.#failures.splice(index, 1)[0]?.attempt
  }

  /** After a rejection the policy is run anew, or once more: what it does until then is not used. */
  override get isSpent(): boolean {
    return isA(RejectionSignal)(this.signal)
  }

  /** Does an answer stand? That of another run goes before a rejection, which had nothing to do with it. */
  isAnsweredBy(value: unknown): boolean {
    return this.signal === undefined || this.isSpent && this.#answers.has(value)
  }

  finish(exit: Exit.Exit<unknown, unknown>): void {
    // An answer may be that of another run than the last.
    for (const answer of answersOf(exit)) {
      const branch = this.#answers.get(answer)
      if (branch === undefined || branch === this.#standing) continue
      const words = this.#words
      this.#stand(branch)
      for (const event of words) this.note(event)
    }
    const last = failuresOf(exit)
    for (const failure of last) this.settle(failure)
    for (const { attempt, failure } of this.#failures) this.handled(failure, named(this.#policy), attempt)
    this.occupy()
    for (const [fiber, branch] of this.#under) {
      this.live.rejoin(branch.live)
      this.live.abandoned.add(fiber)
      this.note({ _tag: "AttemptAbandoned", ...named(this.#policy) })
    }
    // A policy may act by itself, and only it knows.
    if (this.acts && this.certainty === "not_executed" && last.some(isOutcomeUnknown)) {
      this.note({
        _tag: "InnerEnded",
        inside: this.#policy.name ?? this.#policy.kind,
        by: "source",
        certainty: "unknown"
      })
    }
    this.close()
  }
}

export const diedOf = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<unknown> =>
  Exit.isSuccess(exit) ? [] : defectsOf(exit.cause)

/** An answer, or a part of one. */
const answersOf = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<unknown> =>
  Exit.isSuccess(exit) ? [exit.value] : failuresOf(exit).filter(({ _tag }) => _tag === "PartialData")

const failuresOf = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<ToolFailure> =>
  Exit.isSuccess(exit)
    ? []
    : exit.cause.reasons.filter(Cause.isFailReason).map(({ error }) => error).filter(isToolFailure)
