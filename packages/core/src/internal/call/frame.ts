/*
 * The context of one running call: its id, its key, its events, and what its handler and policies may ask of it.
 *
 *     CallFrame       a dispatched call, or a tool that runs outside any call
 *     InnerFrame      a tool inside another tool's handler or fallback, with its own key and attempts
 *     PageFrame       a further page of a result, with its own key; its attempts count for the call
 *     FixerFrame      one question to a fixer; tools that it runs do not count for the handler
 *     Gate            a run that a policy may abandon; it passes every event on until it is closed
 *     SourceFrame     the source of a fallback, or a check; attempts of tools that a source runs count for the call
 *     PolicyFrame     one call of a custom policy (`customPolicy`)
 *     PolicyRunFrame  one run inside a custom policy; its caveats count once it has succeeded
 *
 * Each frame folds its events into a state. It passes them on to the frame around it, unchanged or mapped.
 */
import * as Context from "effect/Context"
import type { CallEvent } from "../../CallEvent.ts"
import type { Certainty } from "../../Certainty.ts"
import type { SideEffect } from "../../SideEffect.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { and, type Done, nothing } from "../failure/effectsDone.ts"
import { isBlameless } from "../failure/policyRefusal.ts"
import { cut, mostDetail } from "../value/text.ts"
import { AbandonedAttempts } from "./abandonedAttempts.ts"
import { type CallState, certaintyIn, doneIn, doneInAttempts, isActing, isStart, step, untouched } from "./callState.ts"
import { asKnown } from "./handlerEnding.ts"
import { keyInside } from "./idempotencyKey.ts"
import { LiveState } from "./liveState.ts"

/** The tool that is called. */
export interface Subject {
  readonly name: string
  readonly sideEffect: SideEffect
  /** Identifies the handler behind the tool. A copy made by hand may have another name, but has the same token. */
  readonly token?: object | undefined
  /** Returns a text that identifies the intent of the arguments; `undefined` if they cannot make a key. */
  readonly effectOf?: ((params: unknown) => string | undefined) | undefined
}

/** Why the handler of a tool that acts must not start: its attempt was abandoned, or it might act again. */
export type WhyNotBegin = "abandoned" | "still_running" | "may_have_acted" | "refused"

export abstract class Frame {
  /** The name of the call in logs, events and replies. */
  readonly id: string
  readonly tool: Subject
  /** True if a watcher receives events as they happen. */
  readonly isWatched: boolean
  state: CallState
  /** The number of the current attempt, as watchers see it. */
  attempt: number
  /** True once the outer call knows that this one acts. */
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

  /** The idempotency key. Computed on first use. */
  abstract get idempotencyKey(): string

  abstract get live(): LiveState

  /** The innermost gate that covers this frame, if any. */
  abstract get gate(): GateFrame | undefined

  /** True if no gate around this frame is closed. Loops, so that deeply nested gates cannot overflow the stack. */
  get isOpen(): boolean {
    for (let gate = this.gate; gate !== undefined; gate = gate.next) if (gate.isClosed) return false
    return true
  }

  /**
   * True if this frame runs in the background: the run of a gate around it has already ended. The time limit of
   * that run no longer applies.
   */
  get isBackground(): boolean {
    for (let gate = this.gate; gate !== undefined; gate = gate.next) if (gate.isOver) return true
    return false
  }

  /** True if the caller that waits for this frame was interrupted. */
  wasLeft = false

  /** The frame around this one. */
  readonly outer: Frame | undefined = undefined

  /** True if a caller that waits for this frame, or for a frame around it, was interrupted. */
  get isLeft(): boolean {
    for (const { wasLeft } of outwards(this)) if (wasLeft) return true
    return false
  }

  /** The frame that sees every event of the call. A gate does not see events of runs beside it. */
  get whole(): Frame {
    return this
  }

  /** True if the called tool acts. */
  get acts(): boolean {
    return this.tool.sideEffect !== "none"
  }

  /** Whether the call has taken effect, while it has no answer. */
  get certainty(): Certainty {
    return certaintyIn(this.whole.state, this.acts, false)
  }

  /** The effect of the call, while it has no answer. */
  get done(): Done {
    return doneIn(this.whole.state, this.acts, false)
  }

  /** Whether the call has taken effect, once it has its answer. */
  get certaintyOfAnswer(): Certainty {
    return certaintyIn(this.whole.state, this.acts, true)
  }

  /** True if something in the call may still act. */
  get isActing(): boolean {
    return this.hasLeftSome || isActing(this.whole.state, this.acts)
  }

  /** True if an abandoned attempt still runs. */
  get hasLeftSome(): boolean {
    return this.live.abandoned.isAny
  }

  /** Returns a failure whose outcome is the certainty of the call, whatever a policy made of it. */
  known<E extends ToolFailure>(failure: E): E {
    return asKnown(failure, {
      certainty: this.certainty,
      isRefusal: !this.acts || this.whole.state.isRefused
    })
  }

  /** The role of tools that start in this frame: for the handler, as a source, or for a policy. */
  get role(): (CallEvent & { readonly _tag: "InnerEnded" })["by"] {
    return "handler"
  }

  /** Returns why the handler must not start now, or `undefined` if it may. Checked before each attempt. */
  abstract whyNot(): WhyNotBegin | undefined

  /** The number of running custom policies from here to the tool's own frame. */
  get policies(): number {
    return 0
  }

  /**
   * Notes an event, and returns the number of the attempt that it belongs to.
   *
   * @param failure the failure that the event reports, with its cause, for a watcher in this process
   * @param queue the events on their way out, delivered after this one
   */
  note(event: CallEvent, failure?: ToolFailure, attempt = this.attempt, queue?: Outwards): number {
    this.state = step(this.state, event)
    if (event._tag === "AttemptEnded" && event.inside === undefined) this.last = failure ?? this.last
    const eventAttempt = this.pass(event, failure, attempt, queue)
    if (isStart(event)) this.attempt = eventAttempt
    return eventAttempt
  }

  /** Passes an event on to the frame around this one, or to a watcher. Returns the number of its attempt. */
  protected abstract pass(
    event: CallEvent,
    failure: ToolFailure | undefined,
    attempt: number,
    queue: Outwards | undefined
  ): number

  /** The prefix of the ids and keys of tools that run directly in this frame. */
  get innerPrefix(): string {
    return ""
  }

  /** Returns a key for something else that starts in this attempt. Each use of the same mark returns another key. */
  keyOf(mark: string): string {
    return keyInside(this.idempotencyKey, `${mark} ${this.live.next(mark)}`)
  }

  /** Returns a function that computes the key of a tool that is dispatched here under an id of its own. */
  keyFor(tool: Subject, params: unknown): () => string {
    const { mark } = this.placeOf(tool, params)
    return () => keyInside(this.idempotencyKey, mark)
  }

  /**
   * Returns the place of a tool run in this attempt. The key depends on the intent of the run, because the order
   * of parallel runs is random.
   */
  placeOf(tool: Subject, params: unknown, prefix = ""): Place {
    const { live, role } = this
    const path = `${prefix}${tool.name}/${live.next(`${prefix}${tool.name}`)}`
    const effect = tool.sideEffect === "none" ? undefined : tool.effectOf?.(params)
    if (effect === undefined) return { path, mark: path }
    const mark = JSON.stringify([role, prefix, tool.name, effect])
    return { path, mark: `${mark} ${live.next(mark)}` }
  }

  /** Passes held-back caveats and the source on to the outer frame, once the answer is there. */
  leave(): void {}

  /** Marks the frame as busy until {@link release}: a tool runs in it, or a policy reports a wait. */
  occupy(): void {}

  release(): void {}

  /** Notes that the handler starts, for the first time or again. */
  begin(): void {
    this.live.restart()
    this.note(attemptStarted)
  }

  /**
   * Notes that a failure was handled.
   *
   * @param attempt the number of the attempt that failed; default: the current one
   */
  handled(failure: ToolFailure, fields: HandledBy, attempt?: number): void {
    this.note({ ...summary(failure), ...fields, _tag: "FailureHandled" }, failure, attempt)
  }

  /** Notes that a failure was handled and that another answer will follow. */
  replaced(failure: ToolFailure, fields: HandledBy, attempt?: number): void {
    this.handled(failure, fields, attempt)
    this.discard()
  }

  /** Discards the caveats and the source of the current answer, because another answer will follow. */
  discard(): void {
    const { caveats, source } = this.state
    if (caveats.length > 0 || source !== undefined) this.note(answerDiscarded)
  }

  /** The stage that corrects the arguments of the running tool; `undefined` if none does. */
  abstract get stage(): Stage | undefined
}

/** The correction stage, as handlers and the policies around them see it. */
export interface Stage {
  verdict: Verdict | undefined
  /** True if this rejection goes to the stage, unseen by the policies on the way. */
  readonly hears: (failure: ToolFailure, frame: Frame) => boolean
}

/**
 * A handler's rejection that no fixer could correct. The next run with equal parameters fails with it instead of
 * running the handler.
 */
export interface Verdict {
  readonly failure: ToolFailure
  readonly params: unknown
}

/** A `Gate`, as the frames inside it see it. */
export interface GateFrame extends Frame {
  readonly isClosed: boolean
  readonly isOver: boolean
  readonly isSpent: boolean
  /** The next gate around this one. */
  readonly next: GateFrame | undefined
}

/** The corrected arguments of a call. */
export interface Correction {
  readonly text: string
  /** Whether the text has values that must not be shown. */
  readonly isSecret: boolean
}

/** The place of a run inside a call: the part that its id ends with, and the part that its key is made from. */
export interface Place {
  readonly path: string
  readonly mark: string
}

/** The frame of the current call. */
export const current: Context.Reference<Frame> = Context.Reference("@fallible/core/frame", {
  defaultValue: () => detached
})

type FailureHandled = CallEvent & { readonly _tag: "FailureHandled" }

type HandledBy = Pick<FailureHandled, "by" | "policy" | "retry">

export const attemptStarted: CallEvent = { _tag: "AttemptStarted" }
export const answerDiscarded: CallEvent = { _tag: "AnswerDiscarded" }

type Summary = Pick<FailureHandled, "tag" | "code" | "detail" | "outcome" | "scope">

const summary = (failure: ToolFailure): Summary => {
  const { _tag: tag, code, detail } = failure
  const common: Summary = { tag, code, detail: cut(detail, mostDetail) }
  if (failure._tag !== "ToolUnavailable") return common
  const { outcome } = failure
  return {
    ...common,
    ...(isBlameless(failure) ? { scope: "arguments" } : {}),
    ...(outcome === undefined ? {} : { outcome })
  }
}

// -----------------------------------------------------------------------------
// Frames
// -----------------------------------------------------------------------------

/** The frame outside any call. It notes nothing. */
class Detached extends Frame {
  get idempotencyKey() {
    return this.id
  }

  get live() {
    return new LiveState(new AbandonedAttempts(), [])
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

// A non-idempotent tool may run again only if every earlier attempt certainly did nothing and none still runs.
// Work that policies do for themselves does not count.
export const whyNotAgain = (frame: Frame): WhyNotBegin | undefined => {
  const { state, tool: { sideEffect } } = frame
  // A tool that only reads may have run tools inside that act.
  if (sideEffect === "none") return state.lasting === nothing && state.acting === 0 ? undefined : "may_have_acted"
  // The tool's key does not make tools inside it safe to repeat.
  if (sideEffect === "idempotent_by_key") return state.lasting === nothing ? undefined : "may_have_acted"
  if (sideEffect === "idempotent") return undefined
  if (frame.isActing) return "still_running"
  if (state === untouched) return undefined
  if (state.isAnswered || and(doneInAttempts(state), state.sources) !== nothing) return "may_have_acted"
  return state.isRefused ? "refused" : undefined
}

/** Receives each event, its failure and the number of its attempt. */
export type Hear = (event: CallEvent, failure: ToolFailure | undefined, attempt: number) => void

/** A queue of events on their way out, oldest first. */
export type Outwards = Array<
  { readonly to: Frame; readonly event: CallEvent; readonly failure: ToolFailure | undefined }
>

// Yields a frame and all frames around it. Loops, so that deeply nested frames cannot overflow the stack.
export function* outwards(innermost: Frame): Iterable<Frame> {
  for (let frame: Frame | undefined = innermost; frame !== undefined; frame = frame.outer) yield frame
}
