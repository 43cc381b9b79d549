import type { CallEvent } from "../../CallEvent.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { certaintyOf, nothing } from "../failure/done.ts"
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

/** The frame of a tool that another frame runs inside. */
export const entered = (outer: Frame, tool: Subject, params: unknown): InnerFrame =>
  new InnerFrame(outer, outer.placeOf(tool, params, outer.innerPrefix), tool)

/**
 * A tool that runs inside of another one's handler or fallback: a key and attempts of its own. What it says of its answer is said of the
 * outer one, once it has an answer.
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
    // Its key is that of an earlier attempt of the outer call.
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
    return this.#live ??= this.#begun()
  }

  override get hasLeftSome() {
    return this.#live !== undefined && this.#live.abandoned.isAny
  }

  #begun() {
    const { abandoned, replies } = this.outer.live
    // What this call leaves behind, the outer one does, too.
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

  protected pass(event: CallEvent, failure: ToolFailure | undefined, attempt: number, outwards: Outwards | undefined) {
    const heard = heardOutside(event, this.tool.name, this.acts)
    if (heard !== undefined) passOut({ to: this.outer, event: heard, failure }, outwards)
    this.tellThatItActs(event, outwards)
    return isStart(event) ? this.state.attempts : attempt
  }

  // The outer call hears it once, and once of its end.
  protected tellThatItActs({ _tag }: CallEvent, outwards: Outwards | undefined) {
    const acts = _tag === "InnerActs" || _tag === "AttemptStarted" && this.acts
    // What begins once it has ended, goes on by itself.
    if (!acts || this.isKnownToAct || this.#hasEnded) return
    this.isKnownToAct = true
    const event: CallEvent = { _tag: "InnerActs", inside: this.tool.name, by: this.outer.role }
    passOut({ to: this.outer, event, failure: undefined }, outwards)
  }

  /**
   * The tool has ended as a whole: the outer call hears what it did.
   *
   * @param hasAnswer with an answer?
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

  /** The text of what a fixer has made of its arguments, which nobody wrote. */
  get text(): string | undefined {
    return this.correction?.text
  }

  /** It goes on with better arguments, which may be for another effect. The model need not hear of it: they were the outer handler's. */
  adopt(correction: Correction, params: unknown): void {
    this.correction = correction
    this.#mark = JSON.stringify([this.#mark, this.tool.effectOf?.(params) ?? "corrected"])
    this.#key = undefined
  }
}

/** What a further page of a result is given. */
export class PageFrame extends InnerFrame {
  constructor(outer: Frame, number: number) {
    super(outer, asPlace(`page+${number}`), outer.tool)
  }

  // What all pages say is said of the whole once.
  override leave() {
    const said = new Set(this.outer.state.caveats)
    handOut({ ...this.state, caveats: Array.from(this.state.caveats).filter((text) => !said.has(text)) }, this.outer)
  }

  override whyNot() {
    return this.outer.whyNot()
  }

  protected override pass(
    event: CallEvent,
    failure: ToolFailure | undefined,
    attempt: number,
    outwards: Outwards | undefined
  ) {
    if (event._tag === "AttemptStarted" || event._tag === "PageStarted") {
      this.tellThatItActs(event, outwards)
      return this.outer.note(pageStarted, undefined, undefined, outwards)
    }
    return event._tag === "SourceStarted"
      ? this.outer.note(event, undefined, undefined, outwards)
      : super.pass(event, failure, attempt, outwards)
  }
}

/** What a fixer is asked in. */
export class FixerFrame extends InnerFrame {
  /**
   * @param number how often any fixer was asked in the call, this time included
   * @param about what it is asked about: a question of its own is for that alone, also when the call goes on in another process
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
    outwards: Outwards | undefined
  ) {
    return event._tag === "InnerActs" || event._tag === "InnerEnded"
      ? this.outer.note(event, failure, undefined, outwards)
      : super.pass(event, failure, attempt, outwards)
  }
}

/** What a fixer is asked in, if one is around here. */
export const fixerAround = (innermost: Frame): FixerFrame | undefined => {
  for (const frame of outwards(innermost)) if (frame instanceof FixerFrame) return frame
  return undefined
}

// No tool's name has a plus in it.
const asPlace = (path: string): Place => ({ path, mark: path })

const pageStarted: CallEvent = { _tag: "PageStarted" }
