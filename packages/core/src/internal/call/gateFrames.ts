import type { CallEvent } from "../../CallEvent.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { asOf, step } from "./callState.ts"
import { answerDiscarded, Frame, type GateFrame, type Outwards } from "./frame.ts"
import { keyInside } from "./idempotencyKey.ts"
import { handOut, isOfAnswer } from "./innerEvent.ts"
import type { LiveState } from "./liveState.ts"

/**
 * The frame of a run that a policy may abandon. It passes every event on to the outer frame until it is
 * closed, so that an abandoned attempt cannot affect a later answer. Inside a closed gate, no tool that acts
 * (has side effects) starts. Even a closed gate still reports how an execution of an acting tool has ended.
 */
export class Gate extends Frame {
  override readonly outer: Frame
  /** True if the run inside this gate has ended before its time was up. */
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
    // The end of anything that acts is passed on even if the gate is closed.
    const isPassedOn = !this.isClosed || event._tag === "AttemptEnded" && event.certainty !== undefined ||
      event._tag === "InnerEnded" && event.acts === true
    return isPassedOn ? this.outer.note(event, failure, attempt, queue) : attempt
  }

  /** True if no acting tool may start inside this gate, because the result of the run will not be used. */
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

/**
 * The frame of one run of the tool by a custom policy. The policy may start several runs in parallel,
 * so each run has its own counts of inner tools.
 */
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

  // If the run ended before its policy did, the policy has not abandoned it. The policy's own gate is then skipped.
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

/**
 * The frame of a running source, which answers in place of the handler, or of work that a policy does
 * for its own purposes.
 */
export class SourceFrame extends Gate {
  /** The 1-based number of the source; 0 if this frame does not belong to a source. */
  #source = 0
  #key: string | undefined = undefined

  /** True once a tool has started in this frame. */
  hasBegun = false

  constructor(outer: Frame, asksOthers = true) {
    super(outer)
    if (asksOthers) this.askOthers()
  }

  /** Makes this the frame of a source: from now on, tools that run in it answer in place of the called tool. */
  askOthers(): void {
    this.#source = this.outer.live.next("source+")
  }

  protected get asksOthers(): boolean {
    return this.#source > 0
  }

  // A source uses a different service and has a different effect, so it gets a different key.
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
