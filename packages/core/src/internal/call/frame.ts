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
import type { CallEvent } from "../../CallEvent.ts"
import type { Certainty } from "../../Certainty.ts"
import type { SideEffect } from "../../SideEffect.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { and, type Done, nothing } from "../failure/done.ts"
import { isBlameless } from "../failure/refusalCode.ts"
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

  abstract get live(): LiveState

  /** The next gate around what happens here. */
  abstract get gate(): GateFrame | undefined

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
    return this.live.abandoned.isAny
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

  /** What the keys of tools that run directly in here begin with. */
  get innerPrefix(): string {
    return ""
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
  placeOf(tool: Subject, params: unknown, prefix = ""): Place {
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

/** A gate (`gate`), as what runs inside it sees it. */
export interface GateFrame extends Frame {
  readonly isClosed: boolean
  readonly isOver: boolean
  readonly isSpent: boolean
  /** The next gate around this one. */
  readonly next: GateFrame | undefined
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

export const attemptStarted: CallEvent = { _tag: "AttemptStarted" }
export const answerDiscarded: CallEvent = { _tag: "AnswerDiscarded" }

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

// Of what acts without being idempotent, each attempt before must certainly have done nothing, and none may still run.
// What policies do for themselves is another matter.
export const whyNotAgain = (frame: Frame): WhyNotBegin | undefined => {
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

/** What is on its way out, oldest first. */
export type Outwards = Array<
  { readonly to: Frame; readonly event: CallEvent; readonly failure: ToolFailure | undefined }
>

// However many frames there are, looking at them does not use up the stack.
export function* outwards(innermost: Frame): Iterable<Frame> {
  for (let frame: Frame | undefined = innermost; frame !== undefined; frame = frame.outer) yield frame
}
