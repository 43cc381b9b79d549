import type { CallEvent } from "../../CallEvent.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { asOf, step } from "./callState.ts"
import { answerDiscarded, Frame, type GateFrame, type Outwards } from "./frame.ts"
import { keyInside } from "./idempotencyKey.ts"
import { handOut, isOfAnswer } from "./innerEvent.ts"
import type { LiveState } from "./liveState.ts"

/**
 * Passes everything on until it is closed, so that what nobody waits for any more says nothing of the answer of a later attempt. From then
 * on nothing that acts begins in it, and it passes on how what acts has ended.
 */
export class Gate extends Frame {
  override readonly outer: Frame
  /** Has what it is around ended in time? */
  isOver = false
  #apart: LiveState | undefined = undefined

  constructor(outer: Frame) {
    super(outer.id, outer.tool, outer.isWatched, asOf(outer.state), outer.attempt)
    this.outer = outer
  }

  get idempotencyKey(): string {
    return this.outer.idempotencyKey
  }

  /** The next gate around this one. */
  get next(): GateFrame | undefined {
    return this.outer.gate
  }

  get live() {
    return this.#apart ?? this.outer.live
  }

  get isClosed(): boolean {
    return this.#apart !== undefined
  }

  override get whole(): Frame {
    return this.isClosed ? this : this.outer.whole
  }

  override get hasLeftSome(): boolean {
    return this.isClosed ? this.live.abandoned.isAny : this.outer.hasLeftSome
  }

  get gate(): Gate {
    return this
  }

  override get policies(): number {
    return this.outer.policies
  }

  close() {
    this.#apart ??= this.outer.live.apart()
  }

  protected pass(event: CallEvent, failure: ToolFailure | undefined, attempt: number, outwards: Outwards | undefined) {
    // What has begun comes to its end, also when nobody waits for it.
    const isHeard = !this.isClosed || event._tag === "AttemptEnded" && event.certainty !== undefined ||
      event._tag === "InnerEnded" && event.acts === true
    return isHeard ? this.outer.note(event, failure, attempt, outwards) : attempt
  }

  /** Does nothing begin in it that acts, since what comes of it is not used? */
  get isSpent(): boolean {
    return false
  }

  whyNot() {
    return this.isClosed || this.isSpent ? "abandoned" : this.outer.whyNot()
  }

  get stage() {
    return this.outer.stage
  }
}

/** One run of what is inside a custom policy. Others may run beside it, so it counts what runs inside of it by itself. */
export class PolicyRunFrame extends Gate {
  readonly #own: LiveState

  constructor(outer: Frame) {
    super(outer)
    this.state = step(this.state, answerDiscarded)
    this.#own = outer.live.beside()
  }

  override get live() {
    return this.#own
  }

  // A run that has ended in the time of its policy was not left behind by it.
  override get next() {
    return this.isOver ? super.next?.next : super.next
  }

  override leave() {
    this.outer.discard()
    handOut(this.state, this.outer)
  }

  protected override pass(
    event: CallEvent,
    failure: ToolFailure | undefined,
    attempt: number,
    outwards: Outwards | undefined
  ) {
    return isOfAnswer(event) ? attempt : super.pass(event, failure, attempt, outwards)
  }
}

/** What a fallback asks, for as long as it is asked; or a policy, for itself. */
export class SourceFrame extends Gate {
  /** Which source it is, from 1; 0 while it is none: do tools that run inside answer in place of the tool that was called? */
  #source = 0
  #key: string | undefined = undefined

  /** Has a tool begun in it? */
  hasBegun = false

  constructor(outer: Frame, asksOthers = true) {
    super(outer)
    if (asksOthers) this.askOthers()
  }

  /** From now on, what it runs answers in place of the tool. */
  askOthers(): void {
    this.#source = this.outer.live.next("source+")
  }

  protected get asksOthers(): boolean {
    return this.#source > 0
  }

  // What another service does is another effect.
  override get idempotencyKey(): string {
    if (!this.asksOthers) return super.idempotencyKey
    return this.#key ??= keyInside(super.idempotencyKey, `source+${this.#source}`)
  }

  override get role() {
    return this.asksOthers ? "source" : "policy"
  }

  protected override pass(
    event: CallEvent,
    failure: ToolFailure | undefined,
    attempt: number,
    outwards: Outwards | undefined
  ) {
    if (event._tag === "InnerStarted") this.hasBegun = true
    if (event._tag !== "InnerStarted" || !this.asksOthers) return super.pass(event, failure, attempt, outwards)
    this.attempt = super.pass({ _tag: "SourceStarted", source: event.inside }, undefined, attempt, outwards)
    return this.attempt
  }
}
