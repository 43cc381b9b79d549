/*
 * The context of one running call: its name, its key, what has happened in it, and what its handler and its policies may ask of it.
 *
 *     Call      a call that was dispatched, or a tool that runs by itself
 *     Inside    a tool that runs inside of another one's handler or fallback: a key and attempts of its own
 *     Page      a further page of a result: a key of its own, while its attempts are those of the call
 *     Asked     what a fixer is asked in: the tools that it runs are none of the handler's
 *     Gate      what a policy stops waiting for: it passes everything on until it is closed
 *     Visit     a call of a custom policy, which is a gate, too (`customPolicy`)
 *     Branch    one run of what is inside a custom policy: what it says of the answer counts once it has succeeded
 *     Sourced   what a fallback asks: attempts of a tool inside count
 *
 * Each folds the events that are noted in it, and passes them on to the frame around it, as they are or mapped.
 */
import * as Context from "effect/Context"
import type { CallEvent } from "../CallEvent.ts"
import type { Certainty } from "../Certainty.ts"
import * as FailureLog from "../FailureLog.ts"
import type { SideEffect } from "../SideEffect.ts"
import type { ToolFailure } from "../ToolFailure.ts"
import type { Reply } from "../ToolOutcome.ts"
import {
  asOf,
  type CallState,
  certaintyIn,
  doneIn,
  doneInAttempts,
  isActing,
  isStart,
  repeated,
  step,
  untouched,
  wasSent
} from "./callState.ts"
import { and, certaintyOf, type Done, nothing } from "./done.ts"
import { asKnown } from "./ending.ts"
import { heardOutside, isOfAnswer } from "./heard.ts"
import { keyInside } from "./key.ts"
import { Live, Running } from "./live.ts"
import { isBlameless } from "./refusal.ts"
import { cut, mostDetail } from "./text.ts"

/** The tool that is called. */
export interface Subject {
  readonly name: string
  readonly sideEffect: SideEffect
  /** Which handler is behind it, if it was made here: a copy by hand may have another name. */
  readonly token?: object | undefined
  /** Which effect its arguments mean; `undefined` where no key can be made of them. */
  readonly effectOf?: ((params: unknown) => string | undefined) | undefined
}

/** Why the handler of a tool that acts is not to begin: nobody waits for it any more, or it would act again. */
export type WhyNotBegin = "abandoned" | "still_running" | "may_have_acted" | "refused"

export abstract class Frame {
  /** Its name in logs, events and replies. */
  readonly id: string
  readonly tool: Subject
  /** Is anybody told of events as they happen? */
  readonly isWatched: boolean
  state: CallState
  /** The attempt under way, as a watcher is told. */
  attempt: number
  /** Does the outer call know that this one acts? */
  isKnownToAct = false
  /** The last failure of a handler. */
  last: ToolFailure | undefined = undefined

  constructor(id: string, tool: Subject, isWatched: boolean, state = untouched, attempt = 0) {
    this.id = id
    this.tool = tool
    this.isWatched = isWatched
    this.state = state
    this.attempt = attempt
  }

  /** What its service may tell a repetition by. It is worked out once somebody asks. */
  abstract get idempotencyKey(): string

  abstract get live(): Live

  /** The next gate around what happens here. */
  abstract get gate(): Gate | undefined

  /** Does anybody still wait for what happens here? However many gates there are, looking at them does not use up the stack. */
  get isOpen(): boolean {
    for (let gate = this.gate; gate !== undefined; gate = gate.next) if (gate.isClosed) return false
    return true
  }

  /** Has what began here ended already, and this goes on in the background? Then no time of a gate's is its own. */
  get isBackground(): boolean {
    for (let gate = this.gate; gate !== undefined; gate = gate.next) if (gate.isOver) return true
    return false
  }

  /** Was whoever waits for this interrupted? */
  wasLeft = false

  /** What this is inside of. */
  readonly outer: Frame | undefined = undefined

  /** Was anybody interrupted who waited for what happens here? */
  get isLeft(): boolean {
    for (const { wasLeft } of outwards(this)) if (wasLeft) return true
    return false
  }

  /** What knows of all that happens in the call: what happens beside, a gate is not told. */
  get whole(): Frame {
    return this
  }

  /** Does the tool that is called act? */
  get acts(): boolean {
    return this.tool.sideEffect !== "none"
  }

  /** Has the call taken effect, as far as anybody knows? */
  get certainty(): Certainty {
    return certaintyIn(this.whole.state, this.acts, false)
  }

  /** What was done in the call, as far as anybody knows. */
  get done(): Done {
    return doneIn(this.whole.state, this.acts, false)
  }

  /** The same of a call that has its answer. */
  get certaintyOfAnswer(): Certainty {
    return certaintyIn(this.whole.state, this.acts, true)
  }

  /** Does anything go on in it that may still act? */
  get isActing(): boolean {
    return this.hasLeftSome || isActing(this.whole.state, this.acts)
  }

  /** Is there anything that nobody waits for any more, and that still runs? */
  get hasLeftSome(): boolean {
    return this.live.running.isAny
  }

  /** A failure says of its outcome what the call knows, whatever a policy made of it. */
  known<E extends ToolFailure>(failure: E): E {
    return asKnown(failure, {
      certainty: this.certainty,
      isRefusal: !this.acts || this.whole.state.isRefused
    })
  }

  /** What a tool that begins here runs for. */
  get role(): (CallEvent & { readonly _tag: "InnerEnded" })["by"] {
    return "handler"
  }

  /** Why the handler of a tool that acts is not to begin now, if so: asked before each attempt. */
  abstract whyNot(): WhyNotBegin | undefined

  /** How many custom policies are under way, from here to the tool's own frame. */
  get policies(): number {
    return 0
  }

  /**
   * Notes an event. It comes to the attempt that it is of.
   *
   * @param failure the failure that it tells of, with its cause, for a watcher in this process
   * @param outwards what is on its way out already, and is heard after this
   */
  note(event: CallEvent, failure?: ToolFailure, attempt = this.attempt, outwards?: Outwards): number {
    this.state = step(this.state, event)
    if (event._tag === "AttemptEnded" && event.inside === undefined) this.last = failure ?? this.last
    const of = this.pass(event, failure, attempt, outwards)
    if (isStart(event)) this.attempt = of
    return of
  }

  /** What is heard of it outside. */
  protected abstract pass(
    event: CallEvent,
    failure: ToolFailure | undefined,
    attempt: number,
    outwards: Outwards | undefined
  ): number

  /** The frame of a tool that is run inside. */
  enter(tool: Subject, params: unknown): Inside {
    return new Inside(this, this.placeOf(tool, params), tool)
  }

  /** A key for something else that begins in this attempt: for the same, the next one of it has another. */
  keyOf(mark: string): string {
    return keyInside(this.idempotencyKey, `${mark} ${this.live.next(mark)}`)
  }

  /** The key of a tool that is dispatched here, and has a name of its own. */
  keyFor(tool: Subject, params: unknown): () => string {
    const { mark } = this.placeOf(tool, params)
    return () => keyInside(this.idempotencyKey, mark)
  }

  /** Where in this attempt a tool runs. Its key goes by what it is to do: beside others, its place among them is chance. */
  protected placeOf(tool: Subject, params: unknown, prefix = ""): Place {
    const { live, role } = this
    const path = `${prefix}${tool.name}/${live.next(`${prefix}${tool.name}`)}`
    const effect = tool.sideEffect === "none" ? undefined : tool.effectOf?.(params)
    if (effect === undefined) return { path, mark: path }
    const mark = JSON.stringify([role, prefix, tool.name, effect])
    return { path, mark: `${mark} ${live.next(mark)}` }
  }

  /** The tool has its answer: what was held back until then is said of the outer one. */
  leave(): void {}

  /** A tool begins that a policy runs by itself, or a wait of which it tells: it is busy until {@link release}. */
  occupy(): void {}

  release(): void {}

  /** The handler begins (again). */
  begin(): void {
    this.live.restart()
    this.note(attemptStarted)
  }

  /**
   * A failure was handled.
   *
   * @param attempt what failed with it; by default the attempt under way
   */
  handled(failure: ToolFailure, fields: HandledBy, attempt?: number): void {
    this.note({ ...summary(failure), ...fields, _tag: "FailureHandled" }, failure, attempt)
  }

  /** The same where the answer is yet to come. */
  replaced(failure: ToolFailure, fields: HandledBy, attempt?: number): void {
    this.handled(failure, fields, attempt)
    this.discard()
  }

  /** There will be another answer: what was said of this one is void. */
  discard(): void {
    const { caveats, source } = this.state
    if (caveats.length > 0 || source !== undefined) this.note(answerDiscarded)
  }

  /** What corrects the arguments of the tool that runs here; `undefined` where nobody does. */
  abstract get stage(): Stage | undefined
}

/** What a handler's end, and what is around it, asks of the stage that corrects arguments. */
export interface Stage {
  verdict: Verdict | undefined
  /** Is this rejection for the stage, and not for the policies on the way to it? */
  readonly hears: (failure: ToolFailure, frame: Frame) => boolean
}

/** What the handler has rejected, and nobody could correct: the first who would run it with the same gets that in its place. */
export interface Verdict {
  readonly failure: ToolFailure
  readonly params: unknown
}

/** What the arguments of a call were corrected to. */
export interface Correction {
  readonly text: string
  /** Does it hold what must not be shown? */
  readonly isSecret: boolean
}

/** Where something runs inside of a call: what its name, and what its key is made of. */
export interface Place {
  readonly path: string
  readonly mark: string
}

/** The frame of the call under way. */
export const current: Context.Reference<Frame> = Context.Reference("@fallible/core/frame", {
  defaultValue: () => detached
})

type FailureHandled = CallEvent & { readonly _tag: "FailureHandled" }

type HandledBy = Pick<FailureHandled, "by" | "policy" | "retry">

const attemptStarted: CallEvent = { _tag: "AttemptStarted" }
const pageStarted: CallEvent = { _tag: "PageStarted" }
const answerDiscarded: CallEvent = { _tag: "AnswerDiscarded" }

type Summary = Pick<FailureHandled, "tag" | "code" | "detail" | "outcome" | "scope">

const summary = (failure: ToolFailure): Summary => {
  const { _tag: tag, code, detail } = failure
  const told: Summary = { tag, code, detail: cut(detail, mostDetail) }
  if (failure._tag !== "ToolUnavailable") return told
  const { outcome } = failure
  return {
    ...told,
    ...(isBlameless(failure) ? { scope: "arguments" } : {}),
    ...(outcome === undefined ? {} : { outcome })
  }
}

// -----------------------------------------------------------------------------
// Frames
// -----------------------------------------------------------------------------

/** Outside of any tool: nothing is noted, and there is nobody to ask. */
class Detached extends Frame {
  get idempotencyKey() {
    return this.id
  }

  get live() {
    return new Live(new Running(), [])
  }

  override note() {
    return 0
  }

  protected pass() {
    return 0
  }

  get gate() {
    return undefined
  }

  whyNot() {
    return undefined
  }

  get stage() {
    return undefined
  }
}

export const detached: Frame = new Detached("detached", { name: "", sideEffect: "none" }, false)

// Of what acts without being idempotent, each attempt before must certainly have done nothing, and none may still run.
// What policies do for themselves is another matter.
const whyNotAgain = (frame: Frame): WhyNotBegin | undefined => {
  const { state, tool: { sideEffect } } = frame
  // What only reads, and has run a tool that acts, is known better than that.
  if (sideEffect === "none") return state.lasting === nothing && state.acting === 0 ? undefined : "may_have_acted"
  // A key says nothing of what runs inside.
  if (sideEffect === "idempotent_by_key") return state.lasting === nothing ? undefined : "may_have_acted"
  if (sideEffect === "idempotent") return undefined
  if (frame.isActing) return "still_running"
  if (state === untouched) return undefined
  if (state.isAnswered || and(doneInAttempts(state), state.sources) !== nothing) return "may_have_acted"
  return state.isRefused ? "refused" : undefined
}

/** Told of each event, its failure and its attempt. */
export type Hear = (event: CallEvent, failure: ToolFailure | undefined, attempt: number) => void

/** A call of its own. Most note nothing but their one attempt, so nothing is allocated before it is needed. */
export class Call extends Frame {
  readonly replies: ReadonlyArray<Reply>
  stage: Stage | undefined = undefined
  /** What the arguments were corrected to, if they were. */
  correction: Correction | undefined = undefined
  /** The text of the arguments, as the model wrote it. */
  readonly #written: string | undefined
  readonly #hear: Hear | undefined
  #keyed: (() => string) | undefined = undefined
  /** Its key, once somebody has asked for it. */
  askedKey: string | undefined = undefined
  #live: Live | undefined = undefined

  constructor(
    id: string,
    tool: Subject,
    written?: string,
    replies: ReadonlyArray<Reply> = none,
    hear?: Hear
  ) {
    super(id, tool, hear !== undefined)
    this.#written = written
    this.replies = replies
    this.#hear = hear
  }

  /** What its key is; by default its name. */
  set keyed(key: () => string) {
    this.#keyed = key
    this.askedKey = undefined
  }

  get idempotencyKey() {
    return this.askedKey ??= this.#keyed?.() ?? this.id
  }

  get live() {
    return this.#live ??= new Live(new Running(), this.replies)
  }

  override get hasLeftSome() {
    return this.#live !== undefined && this.#live.running.isAny
  }

  /** The text of the arguments that are used now. */
  get text(): string | undefined {
    return this.correction === undefined ? this.#written : this.correction.text
  }

  /** The call goes on with better arguments. Once it has run with others, a key of its own making is another one, since its body is. */
  adopt(correction: Correction, params?: unknown): void {
    this.correction = correction
    if (params === undefined || this.#keyed !== undefined || this.state.executions === 0) return
    const mark = JSON.stringify([this.state.executions, this.tool.effectOf?.(params) ?? "corrected"])
    this.keyed = () => keyInside(this.id, mark)
  }

  get gate() {
    return undefined
  }

  override begin() {
    this.#live?.restart()
    this.note(attemptStarted)
  }

  protected pass(event: CallEvent, failure: ToolFailure | undefined, attempt: number) {
    const of = isStart(event) ? this.state.attempts : attempt
    if (event._tag === "FailureHandled") FailureLog.handled(this.tool.name, event)
    this.#hear?.(event, failure, of)
    return of
  }

  whyNot() {
    return whyNotAgain(this)
  }
}

const none: ReadonlyArray<never> = []

/**
 * Passes everything on until it is closed, so that what nobody waits for any more says nothing of the answer of a later attempt. From then
 * on nothing that acts begins in it, and it passes on how what acts has ended.
 */
export class Gate extends Frame {
  override readonly outer: Frame
  /** Has what it is around ended in time? */
  isOver = false
  #apart: Live | undefined = undefined

  constructor(outer: Frame) {
    super(outer.id, outer.tool, outer.isWatched, asOf(outer.state), outer.attempt)
    this.outer = outer
  }

  get idempotencyKey(): string {
    return this.outer.idempotencyKey
  }

  /** The next gate around this one. */
  get next(): Gate | undefined {
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
    return this.isClosed ? this.live.running.isAny : this.outer.hasLeftSome
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
export class Branch extends Gate {
  readonly #own: Live

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
export class Sourced extends Gate {
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

/**
 * A tool that runs inside of another one's handler or fallback: a key and attempts of its own. What it says of its answer is said of the
 * outer one, once it has an answer.
 */
export class Inside extends Frame {
  override readonly outer: Frame
  readonly gate: Gate | undefined
  stage: Stage | undefined = undefined
  correction: Correction | undefined = undefined
  #hasEnded = false
  #mark: string
  #key: string | undefined = undefined
  #live: Live | undefined = undefined

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
    return this.#live !== undefined && this.#live.running.isAny
  }

  #begun() {
    const { replies, running } = this.outer.live
    // What this call leaves behind, the outer one does, too.
    return new Live(new Running(running), replies)
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
export class Page extends Inside {
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
export class Asked extends Inside {
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
export const fixerAround = (innermost: Frame): Asked | undefined => {
  for (const frame of outwards(innermost)) if (frame instanceof Asked) return frame
  return undefined
}

// However many frames there are, looking at them does not use up the stack.
function* outwards(innermost: Frame): Iterable<Frame> {
  for (let frame: Frame | undefined = innermost; frame !== undefined; frame = frame.outer) yield frame
}

// No tool's name has a plus in it.
const asPlace = (path: string): Place => ({ path, mark: path })

// -----------------------------------------------------------------------------
// What is heard of a frame inside
// -----------------------------------------------------------------------------

/** What is on its way out, oldest first. */
export type Outwards = Array<
  { readonly to: Frame; readonly event: CallEvent; readonly failure: ToolFailure | undefined }
>

// However many tools run inside of each other, what passes through them does not use up the stack. Each event has a list of its own: a
// watcher may run another call at once, and what is heard there is heard before that one goes on.
const passOut = (first: Outwards[number], outwards: Outwards | undefined): void => {
  if (outwards !== undefined) {
    outwards.push(first)
    return
  }
  const all = [first]
  for (const { event, failure, to } of all) to.note(event, failure, undefined, all)
}

const handOut = (
  { caveats, source }: Pick<CallState, "source"> & { readonly caveats: Iterable<string> },
  outer: Frame
): void => {
  for (const text of caveats) outer.note({ _tag: "CaveatAdded", text })
  if (source !== undefined) outer.note({ _tag: "SourceNamed", ...source })
}
