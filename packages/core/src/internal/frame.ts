/*
 * The context of one running call: its key, what has happened in it, and what its handler and its policies may ask of it.
 *
 *     Call      a call that was dispatched, or a tool that runs by itself
 *     Inside    a tool that runs inside of another one's handler or fallback: a key and attempts of its own
 *     Page      a further page of a result: a key of its own, while its attempts are those of the call
 *     Gate      what a policy stops waiting for: it passes everything on until it is closed
 *     Visit     a call of a custom policy, which is a gate, too (`customPolicy`)
 *     Branch    one run of what is inside a custom policy: what it says of the answer counts once it has succeeded
 *     Sourced   what a fallback asks: attempts of a tool inside count
 *
 * Each folds the events that are noted in it, and passes them on to the frame around it, as they are or mapped.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { CallEvent } from "../CallEvent.ts"
import * as FailureLog from "../FailureLog.ts"
import type { ToolFailure } from "../ToolFailure.ts"
import type { Repair, Reply } from "../ToolOutcome.ts"
import { CallArguments, type Correction } from "./callArguments.ts"
import { asOf, type CallState, isStart, step, untouched } from "./callState.ts"
import { Live, Running } from "./live.ts"
import { isUnreadable } from "./outcome.ts"
import { RefusalSignal } from "./signal.ts"
import { cut, mostDetail } from "./text.ts"

/** The tool that is called. */
export interface Subject {
  readonly name: string
  /** May a run of it change anything? */
  readonly acts: boolean
}

export abstract class Frame {
  readonly idempotencyKey: string
  readonly tool: Subject
  /** Is anybody told of events as they happen? */
  readonly isWatched: boolean
  state: CallState
  /** The attempt under way, as a watcher is told. */
  attempt: number

  constructor(idempotencyKey: string, tool: Subject, isWatched: boolean, state = untouched, attempt = 0) {
    this.idempotencyKey = idempotencyKey
    this.tool = tool
    this.isWatched = isWatched
    this.state = state
    this.attempt = attempt
  }

  abstract get live(): Live

  /** Does anybody still wait for what happens here? */
  get isOpen(): boolean {
    return true
  }

  /** May the call have changed something so far? It says nothing of a tool that only reads. */
  get mayHaveActed(): boolean {
    const { hasActedInside, mayHaveActed } = this.state
    return hasActedInside || mayHaveActed || this.live.running.isAny
  }

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

  /** Is the tool that runs now the one that was called, and not one inside of it? */
  abstract claim(): boolean

  /** The frame of a tool that runs now: this one for the tool that was called, one of its own for a tool that it runs. */
  enter(tool: Subject): Frame {
    return this.claim() ? this : new Inside(this, this.live.keyInside(this.idempotencyKey, tool.name), tool)
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

  /** The same of one that something else took the place of. If it was an answer that nobody could read, the call may have acted. */
  passedOver(failure: ToolFailure, fields: HandledBy, attempt?: number): void {
    this.handled(failure, fields, attempt)
    if (isUnreadable(failure)) this.doubt()
  }

  /** The same where the answer is yet to come. */
  replaced(failure: ToolFailure, fields: HandledBy, attempt?: number): void {
    this.passedOver(failure, fields, attempt)
    this.discard()
  }

  /** There will be another answer: what was said of this one is void. */
  discard(): void {
    const { caveats, source } = this.state
    if (caveats.length > 0 || source !== undefined) this.note(answerDiscarded)
  }

  /** Nobody knows whether the call has acted. */
  doubt(): void {
    this.note(doubtRaised)
  }

  /**
   * A policy has better arguments, and runs what is inside with them. It does not come back where the call would not have been admitted
   * with these, or nobody waits for it any more.
   */
  abstract correct(correction: Correction): Effect.Effect<void>
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
const doubtRaised: CallEvent = { _tag: "DoubtRaised" }

type Summary = Pick<FailureHandled, "tag" | "code" | "detail" | "outcome">

const summary = (failure: ToolFailure): Summary => {
  const { _tag: tag, code, detail } = failure
  const told: Summary = { tag, code, detail: cut(detail, mostDetail) }
  return failure._tag === "ToolUnavailable" && failure.outcome !== undefined
    ? { ...told, outcome: failure.outcome }
    : told
}

// -----------------------------------------------------------------------------
// Frames
// -----------------------------------------------------------------------------

/** Outside of any tool: nothing is noted, and there is nobody to ask. */
class Detached extends Frame {
  get live() {
    return new Live(new Running(), new CallArguments(), [])
  }

  override note() {
    return 0
  }

  protected pass() {
    return 0
  }

  claim() {
    return true
  }

  correct() {
    return Effect.void
  }
}

export const detached: Frame = new Detached("detached", { name: "", acts: false }, false)

/** Told of each event, its failure and its attempt. */
export type Hear = (event: CallEvent, failure: ToolFailure | undefined, attempt: number) => void

/** A call of its own. Most note nothing but their one attempt, so nothing is allocated before it is needed. */
export class Call extends Frame {
  readonly replies: ReadonlyArray<Reply>
  /** The text of the arguments, as the model wrote it. */
  readonly #written: string | undefined
  readonly #hear: Hear | undefined
  /** Why the call is not to be run with other arguments than those that it was admitted with, if so. */
  refuse: ((params: unknown, text: string) => ToolFailure | undefined) | undefined = undefined
  #live: Live | undefined = undefined
  #isEntered = false

  constructor(
    idempotencyKey: string,
    tool: Subject,
    written?: string,
    replies: ReadonlyArray<Reply> = none,
    hear?: Hear
  ) {
    super(idempotencyKey, tool, hear !== undefined)
    this.#written = written
    this.replies = replies
    this.#hear = hear
  }

  get live() {
    return this.#live ??= new Live(new Running(), new CallArguments(this.#written), this.replies)
  }

  /** The text of the arguments that are used now. */
  get text(): string | undefined {
    return this.#live === undefined ? this.#written : this.#live.arguments.text
  }

  /** What the arguments were corrected to, if they were. */
  get correction() {
    return this.#live?.arguments.correction
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

  claim() {
    const isFirst = !this.#isEntered
    this.#isEntered = true
    return isFirst
  }

  correct(correction: Correction) {
    const { from, repairs, text, to } = correction
    // Without any before them they are yet to be admitted.
    const refusal = from === undefined ? undefined : this.refuse?.(to, text)
    if (refusal !== undefined) return Effect.die(new RefusalSignal(refusal))
    this.live.arguments.correct(correction)
    this.note({ _tag: "ArgumentsCorrected", repairs: asRepairs(repairs) })
    return Effect.void
  }
}

const none: ReadonlyArray<never> = []

// They are, and only their type stands above what a call is told of its arguments.
const asRepairs = (repairs: Correction["repairs"]) => repairs as ReadonlyArray<Repair>

/** Passes everything on until it is closed, so that what nobody waits for any more says nothing of the answer of a later attempt. */
export class Gate extends Frame {
  protected readonly outer: Frame
  #apart: Live | undefined = undefined

  constructor(outer: Frame) {
    super(outer.idempotencyKey, outer.tool, outer.isWatched, asOf(outer.state), outer.attempt)
    this.outer = outer
  }

  get live() {
    return this.#apart ?? this.outer.live
  }

  override get isOpen(): boolean {
    return this.#apart === undefined && this.outer.isOpen
  }

  override get policies(): number {
    return this.outer.policies
  }

  close() {
    this.#apart ??= this.outer.live.apart()
  }

  protected pass(event: CallEvent, failure: ToolFailure | undefined, attempt: number, outwards: Outwards | undefined) {
    return this.#apart === undefined ? this.outer.note(event, failure, attempt, outwards) : attempt
  }

  claim() {
    return this.outer.claim()
  }

  // Nobody waits for what it would do.
  correct(correction: Correction) {
    return this.isOpen ? this.outer.correct(correction) : Effect.interrupt
  }
}

/** One run of what is inside a custom policy. Others may run beside it, so it counts what runs inside of it by itself. */
export class Branch extends Gate {
  readonly #own: Live
  readonly #before: number

  constructor(outer: Frame) {
    super(outer)
    this.state = step(this.state, answerDiscarded)
    this.#own = outer.live.beside()
    this.#before = this.state.executions
  }

  override get live() {
    return this.#own
  }

  /** Has the handler begun in it? */
  get hasBegun(): boolean {
    return this.state.executions > this.#before
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

/** What a fallback asks, for as long as it is asked. */
export class Sourced extends Gate {
  /** Do tools that run inside answer in place of the tool that was called? */
  protected asksOthers = true

  protected override pass(
    event: CallEvent,
    failure: ToolFailure | undefined,
    attempt: number,
    outwards: Outwards | undefined
  ) {
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
  protected readonly outer: Frame
  readonly #args: CallArguments | undefined
  #live: Live | undefined = undefined

  constructor(outer: Frame, idempotencyKey: string, tool: Subject, args?: CallArguments) {
    super(idempotencyKey, tool, outer.isWatched)
    this.outer = outer
    this.#args = args
  }

  get live() {
    return this.#live ??= this.#begun()
  }

  #begun() {
    const { replies, running } = this.outer.live
    // What this call leaves behind, the outer one does, too.
    return new Live(new Running(running), this.#args ?? new CallArguments(), replies)
  }

  override get isOpen() {
    return this.outer.isOpen
  }

  override leave() {
    handOut(this.state, this.outer)
  }

  protected pass(event: CallEvent, failure: ToolFailure | undefined, attempt: number, outwards: Outwards | undefined) {
    const heard = heardOutside(event, this.tool)
    if (heard !== undefined) passOut({ to: this.outer, event: heard, failure }, outwards)
    return isStart(event) ? this.state.attempts : attempt
  }

  claim() {
    return false
  }

  // The model need not hear of it: the arguments were the outer handler's.
  correct(correction: Correction) {
    if (!this.isOpen) return Effect.interrupt
    this.live.arguments.correct(correction)
    return Effect.void
  }
}

/** What a further page of a result is given. */
export class Page extends Inside {
  constructor(outer: Frame, number: number) {
    // No tool's name has a plus in it.
    const key = `${outer.idempotencyKey}/page+${number}`
    super(outer, key, { ...outer.tool, acts: true }, new CallArguments(undefined, outer.live.arguments.whole))
  }

  protected override pass(
    event: CallEvent,
    failure: ToolFailure | undefined,
    attempt: number,
    outwards: Outwards | undefined
  ) {
    if (event._tag === "AttemptStarted" || event._tag === "PageStarted") {
      return this.outer.note(pageStarted, undefined, undefined, outwards)
    }
    return event._tag === "SourceStarted"
      ? this.outer.note(event, undefined, undefined, outwards)
      : super.pass(event, failure, attempt, outwards)
  }
}

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

/** Is it said of the answer, which may not come? */
export const isOfAnswer = ({ _tag }: CallEvent): boolean =>
  _tag === "CaveatAdded" || _tag === "SourceNamed" || _tag === "AnswerDiscarded"

const handOut = ({ caveats, source }: CallState, outer: Frame): void => {
  for (const text of caveats) outer.note({ _tag: "CaveatAdded", text })
  if (source !== undefined) outer.note({ _tag: "SourceNamed", ...source })
}

/** What the outer call hears of an event of a tool inside: an attempt there is no attempt here. */
const heardOutside = (event: CallEvent, { acts, name }: Subject): CallEvent | undefined => {
  switch (event._tag) {
    case "AttemptStarted":
    case "SourceStarted":
      return { _tag: "InnerStarted", inside: name }
    case "InnerActed":
      return event
    case "DoubtRaised":
      // What only reads is never in doubt.
      return acts ? event : undefined
    case "FailureHandled":
      return {
        ...event,
        ...(!acts && event.outcome === "unknown" ? { outcome: "not_executed" } : {}),
        inside: event.inside ?? name
      }
    case "RetryRefused":
    case "CallRefused":
    case "WaitStarted":
    case "WaitEnded":
      return { ...event, inside: event.inside ?? name }
    case "CircuitChanged":
      return event
    case "AttemptEnded":
    case "AttemptAbandoned":
    case "PageStarted":
    case "InnerStarted":
    case "CaveatAdded":
    case "SourceNamed":
    case "AnswerDiscarded":
    case "ArgumentsRepaired":
    case "ArgumentsCorrected":
      return undefined
  }
}
