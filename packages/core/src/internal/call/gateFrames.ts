import type { CallEvent } from "../../CallEvent.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { asOf, step } from "./callState.ts"
import { answerDiscarded, Frame, type GateFrame, type Outwards } from "./frame.ts"
import { keyInside } from "./idempotencyKey.ts"
import { handOut, isOfAnswer } from "./innerEvent.ts"
import type { LiveState } from "./liveState.ts"

/**
 * Passes every event on until it is closed, so that an abandoned attempt cannot affect the answer of a later one.
 * In a closed gate, no tool that acts starts. A closed gate still passes on how an execution that acts has ended.
 */
export class Gate extends Frame {
  override readonly outer: Frame
  /** True if the run inside has ended in time. */
  isOver = false
  #closedState: LiveState | undefined = undefined

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
    return this.#closedState ?? this.outer.live
  }

  get isClosed(): boolean {
    return this.#closedState !== undefined
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
    this.#closedState ??= this.outer.live.apart()
  }

  protected pass(event: CallEvent, failure: ToolFailure | undefined, attempt: number, queue: Outwards | undefined) {
    // The end of something that acts is passed on even if the gate is closed.
    const isPassedOn = !this.isClosed || event._tag === "AttemptEnded" && event.certainty !== undefined ||
      event._tag === "InnerEnded" && event.acts === true
    return isPassedOn ? this.outer.note(event, failure, attempt, queue) : attempt
  }

  /** True if no tool that acts may start in it, because its result will not be used. */
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

/** One run inside a custom policy. Other runs may be in parallel, so it has its own counts of inner tools. */
export class PolicyRunFrame extends Gate {
  readonly #ownState: LiveState

  constructor(outer: Frame) {
    super(outer)
    this.state = step(this.state, answerDiscarded)
    this.#ownState = outer.live.beside()
  }

  override get live() {
    return this.#ownState
  }

  // A run that ended before its policy was not abandoned by it, so the policy's gate does not count.
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
    queue: Outwards | undefined
  ) {
    return isOfAnswer(event) ? attempt : super.pass(event, failure, attempt, queue)
  }
}

/** The source of a fallback while it runs, or work that a policy does for itself. */
export class SourceFrame extends Gate {
  /** The number of the source, from 1. It is 0 unless tools inside answer in place of the called tool. */
  #source = 0
  #key: string | undefined = undefined

  /** True once a tool has started in it. */
  hasBegun = false

  constructor(outer: Frame, asksOthers = true) {
    super(outer)
    if (asksOthers) this.askOthers()
  }

  /** Makes it a source: from now on, the tools that it runs answer in place of the called tool. */
  askOthers(): void {
    this.#source = this.outer.live.next("source+")
  }

  protected get asksOthers(): boolean {
    return this.#source > 0
  }

  // Another service has another effect, so it gets another key.
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
    queue: Outwards | undefined
  ) {
    if (event._tag === "InnerStarted") this.hasBegun = true
    if (event._tag !== "InnerStarted" || !this.asksOthers) return super.pass(event, failure, attempt, queue)
    this.attempt = super.pass({ _tag: "SourceStarted", source: event.inside }, undefined, attempt, queue)
    return this.attempt
  }
}
