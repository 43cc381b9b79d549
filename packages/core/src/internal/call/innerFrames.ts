import type { CallEvent } from "../../CallEvent.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { certaintyOf, nothing } from "../failure/effectsDone.ts"
import { AbandonedAttempts } from "./abandonedAttempts.ts"
import { doneIn, isStart, repeated, untouched, wasSent } from "./callState.ts"
import {
  type Correction,
  Frame,
  type GateFrame,
  type Outwards,
  outwards,
  type Place,
  type Stage,
  type Subject,
  whyNotAgain,
  type WhyNotBegin
} from "./frame.ts"
import { keyInside } from "./idempotencyKey.ts"
import { handOut, heardOutside, passOut } from "./innerEvent.ts"
import { LiveState } from "./liveState.ts"

/** Returns the frame of a tool that runs inside another frame. */
export const entered = (outer: Frame, tool: Subject, params: unknown): InnerFrame =>
  new InnerFrame(outer, outer.placeOf(tool, params, outer.innerPrefix), tool)

/**
 * The frame of an inner tool: a tool that runs inside another tool's handler or fallback. It has its own key and
 * attempts. Once the inner tool has an answer, the caveats and the source of that answer go to the outer frame.
 */
export class InnerFrame extends Frame {
  override readonly outer: Frame
  readonly gate: GateFrame | undefined
  stage: Stage | undefined = undefined
  correction: Correction | undefined = undefined
  #hasEnded = false
  #mark: string
  #key: string | undefined = undefined
  #live: LiveState | undefined = undefined

  constructor(outer: Frame, { mark, path }: Place, tool: Subject) {
    // An earlier attempt of the outer call may already have sent this key.
    const isRepeated = tool.sideEffect === "idempotent_by_key" && wasSent(outer.whole.state)
    super(`${outer.id}/${path}`, tool, outer.isWatched, isRepeated ? repeated : untouched)
    this.outer = outer
    this.gate = outer.gate
    this.#mark = mark
  }

  get idempotencyKey(): string {
    return this.#key ??= keyInside(this.outer.idempotencyKey, this.#mark)
  }

  get live() {
    return this.#live ??= this.#makeLive()
  }

  override get hasLeftSome() {
    return this.#live !== undefined && this.#live.abandoned.isAny
  }

  #makeLive() {
    const { abandoned, replies } = this.outer.live
    // An attempt that is abandoned here counts as an abandoned attempt of the outer call, too.
    return new LiveState(new AbandonedAttempts(abandoned), replies)
  }

  override leave() {
    handOut(this.state, this.outer)
  }

  whyNot(): WhyNotBegin | undefined {
    for (let { gate } = this as Frame; gate !== undefined; gate = gate.next) {
      if (gate.isClosed || gate.isSpent) return "abandoned"
    }
    return whyNotAgain(this)
  }

  protected pass(event: CallEvent, failure: ToolFailure | undefined, attempt: number, queue: Outwards | undefined) {
    const outerEvent = heardOutside(event, this.tool.name, this.acts)
    if (outerEvent !== undefined) passOut({ to: this.outer, event: outerEvent, failure }, queue)
    this.reportActing(event, queue)
    return isStart(event) ? this.state.attempts : attempt
  }

  // Reports to the outer call, only once, that this tool acts (has side effects). `ended` reports its end.
  protected reportActing({ _tag }: CallEvent, queue: Outwards | undefined) {
    const acts = _tag === "InnerActs" || _tag === "AttemptStarted" && this.acts
    // Work that starts after this tool has ended no longer belongs to this tool.
    if (!acts || this.isKnownToAct || this.#hasEnded) return
    this.isKnownToAct = true
    const event: CallEvent = { _tag: "InnerActs", inside: this.tool.name, by: this.outer.role }
    passOut({ to: this.outer, event, failure: undefined }, queue)
  }

  /**
   * Reports the inner tool's effects to the outer call. Called when the tool has ended, including its policies.
   *
   * @param hasAnswer whether the tool has ended with an answer
   */
  ended(hasAnswer: boolean): void {
    const done = doneIn(this.state, this.acts, hasAnswer)
    const certainty = certaintyOf(done)
    const isLasting = this.tool.sideEffect === "non_idempotent"
    this.#hasEnded = true
    if (!this.isKnownToAct && certainty === "not_executed") return
    this.outer.note({
      _tag: "InnerEnded",
      inside: this.tool.name,
      by: this.outer.role,
      certainty,
      ...(done.hasActed && certainty === "unknown" ? { acted: true } : {}),
      ...(isLasting || this.state.lasting !== nothing ? { lasting: true } : {}),
      ...(this.isKnownToAct ? { acts: true } : {})
    })
  }

  /** The text of a fixer's correction, if any. No model wrote the original arguments, so they have no text. */
  get text(): string | undefined {
    return this.correction?.text
  }

  /**
   * Continues with corrected arguments and a different key, since these arguments may intend a different effect.
   * The correction is not reported to the model, because the original arguments came from the outer handler.
   */
  adopt(correction: Correction, params: unknown): void {
    this.correction = correction
    this.#mark = JSON.stringify([this.#mark, this.tool.effectOf?.(params) ?? "corrected"])
    this.#key = undefined
  }
}

/** The frame of a request for a further page of a result. */
export class PageFrame extends InnerFrame {
  constructor(outer: Frame, number: number) {
    super(outer, asPlace(`page+${number}`), outer.tool)
  }

  // A caveat that several pages share is passed on only once.
  override leave() {
    const outerCaveats = new Set(this.outer.state.caveats)
    handOut(
      { ...this.state, caveats: Array.from(this.state.caveats).filter((text) => !outerCaveats.has(text)) },
      this.outer
    )
  }

  override whyNot() {
    return this.outer.whyNot()
  }

  protected override pass(
    event: CallEvent,
    failure: ToolFailure | undefined,
    attempt: number,
    queue: Outwards | undefined
  ) {
    if (event._tag === "AttemptStarted" || event._tag === "PageStarted") {
      this.reportActing(event, queue)
      return this.outer.note(pageStarted, undefined, undefined, queue)
    }
    return event._tag === "SourceStarted"
      ? this.outer.note(event, undefined, undefined, queue)
      : super.pass(event, failure, attempt, queue)
  }
}

/** The frame of one question to a fixer. */
export class FixerFrame extends InnerFrame {
  /**
   * @param number how many times the call has asked any fixer, this time included
   * @param about a digest of the question to the fixer. It becomes part of the id of any question that
   * the fixer asks the user. So the user's reply still matches when the call resumes in another process
   */
  constructor(outer: Frame, number: number, about: string) {
    super(outer, { path: `fix+${about}`, mark: `fix+${number}` }, {
      name: outer.tool.name,
      sideEffect: "non_idempotent"
    })
  }

  override get role() {
    return "policy" as const
  }

  protected override pass(
    event: CallEvent,
    failure: ToolFailure | undefined,
    attempt: number,
    queue: Outwards | undefined
  ) {
    return event._tag === "InnerActs" || event._tag === "InnerEnded"
      ? this.outer.note(event, failure, undefined, queue)
      : super.pass(event, failure, attempt, queue)
  }
}

/** Returns the innermost fixer frame around a frame, if any. */
export const fixerAround = (innermost: Frame): FixerFrame | undefined => {
  for (const frame of outwards(innermost)) if (frame instanceof FixerFrame) return frame
  return undefined
}

// Tool names contain no plus sign, so this path never equals the path of a tool.
const asPlace = (path: string): Place => ({ path, mark: path })

const pageStarted: CallEvent = { _tag: "PageStarted" }
