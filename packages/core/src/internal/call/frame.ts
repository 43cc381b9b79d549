/*
 * A frame is the context of one running call: its id, its idempotency key, its events, and the state
 * that its handler and its policies read. A tool *acts* if it has side effects.
 *
 *     CallFrame       a dispatched call, or a tool that runs outside any call
 *     InnerFrame      a tool that runs inside another tool's handler or fallback; it has its own key and attempts
 *     PageFrame       a request for a further page of a result; has its own key, counts as an attempt of the call
 *     FixerFrame      one question to a fixer; the tools that the fixer runs do not count as the handler's
 *     Gate            wraps a run that a policy may abandon; passes events on until closed
 *     SourceFrame     the source of a fallback, or a check; tools that a source runs count as attempts of the call
 *     PolicyFrame     one run of a custom policy's own code (see `customPolicy`)
 *     PolicyRunFrame  one run of the tool by a custom policy; its caveats apply once the run has succeeded
 *
 * Each frame folds its events into a state, and passes them on to the frame around it, unchanged or mapped.
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
  /** Identifies the tool's handler. A copy of the tool may have a different name, but has the same token. */
  readonly token?: object | undefined
  /**
   * Returns a string that identifies the effect intended by the arguments; `undefined` if no key can be made
   * from the arguments.
   */
  readonly effectOf?: ((params: unknown) => string | undefined) | undefined
}

/**
 * The reason why a handler must not start: its attempt was abandoned, an earlier attempt acts or may
 * have acted, or the tool has refused the call.
 */
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
  /** True once this call has reported to the outer call that it acts. */
  isKnownToAct = false
  /** The most recent failure of the handler. */
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

  /** The innermost gate around this frame (the frame itself, if it is a gate); `undefined` if there is none. */
  abstract get gate(): GateFrame | undefined

  /**
   * True if no gate around this frame is closed. Uses a loop, so that deeply nested gates cannot
   * overflow the stack.
   */
  get isOpen(): boolean {
    for (let gate = this.gate; gate !== undefined; gate = gate.next) if (gate.isClosed) return false
    return true
  }

  /**
   * True if this frame runs in the background: that is, the run of some surrounding gate has already
   * ended. The time limit of that ended run no longer applies.
   */
  get isBackground(): boolean {
    for (let gate = this.gate; gate !== undefined; gate = gate.next) if (gate.isOver) return true
    return false
  }

  /** True if the caller that waited for this frame was interrupted. */
  wasLeft = false

  /** The frame around this one. */
  readonly outer: Frame | undefined = undefined

  /** True if a caller that waited for this frame, or for a frame around it, was interrupted. */
  get isLeft(): boolean {
    for (const { wasLeft } of outwards(this)) if (wasLeft) return true
    return false
  }

  /**
   * The frame that sees every event of the call. A gate sees only the events of its own run, not
   * those of parallel runs.
   */
  get whole(): Frame {
    return this
  }

  /** True if the called tool acts. */
  get acts(): boolean {
    return this.tool.sideEffect !== "none"
  }

  /** Whether the call has taken effect, for a call without an answer. */
  get certainty(): Certainty {
    return certaintyIn(this.whole.state, this.acts, false)
  }

  /** The effects of the call, for a call without an answer. */
  get done(): Done {
    return doneIn(this.whole.state, this.acts, false)
  }

  /** Whether the call has taken effect, for a call with an answer. */
  get certaintyOfAnswer(): Certainty {
    return certaintyIn(this.whole.state, this.acts, true)
  }

  /** True if anything that may act is still running in the call. */
  get isActing(): boolean {
    return this.hasLeftSome || isActing(this.whole.state, this.acts)
  }

  /** True if an abandoned attempt is still running. */
  get hasLeftSome(): boolean {
    return this.live.abandoned.isAny
  }

  /**
   * Returns the failure with its `outcome` set to the certainty of the call, even if a policy has
   * changed that outcome.
   */
  known<E extends ToolFailure>(failure: E): E {
    return asKnown(failure, {
      certainty: this.certainty,
      isRefusal: !this.acts || this.whole.state.isRefused
    })
  }

  /**
   * What the tools that start in this frame run for: the handler, a source that answers in its place, or a
   * policy's own purposes.
   */
  get role(): (CallEvent & { readonly _tag: "InnerEnded" })["by"] {
    return "handler"
  }

  /** Returns why the handler must not start now, or `undefined` if it may. Checked before each attempt. */
  abstract whyNot(): WhyNotBegin | undefined

  /** The number of custom policies that run between the tool's own frame and this frame, this frame included. */
  get policies(): number {
    return 0
  }

  /**
   * Notes an event, and returns the number of the event's attempt.
   *
   * @param failure the failure that the event reports, with its cause, for a watcher in this process
   * @param queue the events that are on their way to outer frames; absent if this event is the first of them
   */
  note(event: CallEvent, failure?: ToolFailure, attempt = this.attempt, queue?: Outwards): number {
    this.state = step(this.state, event)
    if (event._tag === "AttemptEnded" && event.inside === undefined) this.last = failure ?? this.last
    const eventAttempt = this.pass(event, failure, attempt, queue)
    if (isStart(event)) this.attempt = eventAttempt
    return eventAttempt
  }

  /** Passes an event on to the frame around this one, or to a watcher. Returns the number of the event's attempt. */
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

  /**
   * Returns a key for work in this attempt that is not a tool, such as the run of an agent. Each use
   * of the same mark returns a different key.
   */
  keyOf(mark: string): string {
    return keyInside(this.idempotencyKey, `${mark} ${this.live.next(mark)}`)
  }

  /** Returns a function that computes the key of a tool that is dispatched in this frame under a separate id. */
  keyFor(tool: Subject, params: unknown): () => string {
    const { mark } = this.placeOf(tool, params)
    return () => keyInside(this.idempotencyKey, mark)
  }

  /**
   * Returns the place of a tool that runs in this attempt. If the run's intended effect is known, the
   * key depends on that effect and not on the run's position. (The order of parallel runs is random.)
   */
  placeOf(tool: Subject, params: unknown, prefix = ""): Place {
    const { live, role } = this
    const path = `${prefix}${tool.name}/${live.next(`${prefix}${tool.name}`)}`
    const effect = tool.sideEffect === "none" ? undefined : tool.effectOf?.(params)
    if (effect === undefined) return { path, mark: path }
    const mark = JSON.stringify([role, prefix, tool.name, effect])
    return { path, mark: `${mark} ${live.next(mark)}` }
  }

  /** Passes the held-back caveats and source on to the outer frame, once there is an answer. */
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
   * @param attempt the number of the attempt that failed; default: the current attempt
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

  /**
   * The correction stage of the running tool, which asks fixers for better arguments; `undefined` if
   * the tool has no fixers.
   */
  abstract get stage(): Stage | undefined
}

/** The correction stage, as handlers and the policies around them see it. */
export interface Stage {
  verdict: Verdict | undefined
  /** Returns true if the stage takes this rejection, so that the policies in between do not see it. */
  readonly hears: (failure: ToolFailure, frame: Frame) => boolean
}

/**
 * A handler's rejection that no fixer could correct. The next run with equal parameters does not run
 * the handler: it fails with this rejection.
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
  /** Whether the text contains secrets, which must not be shown. */
  readonly isSecret: boolean
}

/**
 * The place of an inner run in its outer call. `path` is the last part of the run's id. The run's key
 * is made from `mark`.
 */
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

// Returns why a handler must not start; `undefined` if it may. A non-idempotent tool may run again
// only if every earlier attempt certainly did nothing and none is still running. Tools that policies
// run for their own purposes are ignored.
export const whyNotAgain = (frame: Frame): WhyNotBegin | undefined => {
  const { state, tool: { sideEffect } } = frame
  // A read-only tool may have run inner tools that act.
  if (sideEffect === "none") return state.lasting === nothing && state.acting === 0 ? undefined : "may_have_acted"
  // The tool's key does not make its inner tools safe to repeat.
  if (sideEffect === "idempotent_by_key") return state.lasting === nothing ? undefined : "may_have_acted"
  if (sideEffect === "idempotent") return undefined
  if (frame.isActing) return "still_running"
  if (state === untouched) return undefined
  if (state.isAnswered || and(doneInAttempts(state), state.sources) !== nothing) return "may_have_acted"
  return state.isRefused ? "refused" : undefined
}

/** A function that receives each event, with its failure (if any) and the number of its attempt. */
export type Hear = (event: CallEvent, failure: ToolFailure | undefined, attempt: number) => void

/** A queue of events on their way to outer frames, oldest first. */
export type Outwards = Array<
  { readonly to: Frame; readonly event: CallEvent; readonly failure: ToolFailure | undefined }
>

// Yields a frame and all frames around it, innermost first. Uses a loop, so that deeply nested frames
// cannot overflow the stack.
export function* outwards(innermost: Frame): Iterable<Frame> {
  for (let frame: Frame | undefined = innermost; frame !== undefined; frame = frame.outer) yield frame
}
