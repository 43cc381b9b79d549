import * as Effect from "effect/Effect"
import type { Current, Reply, Source } from "../ToolCall.ts"
import { isOutcomeUnknown, type ToolFailure } from "../ToolFailure.ts"
import { CallArguments, type Correction } from "./callArguments.ts"
import { isUnreadable, withOutcome } from "./outcome.ts"
import { Stragglers } from "./stragglers.ts"

/**
 * What an attempt has used up: the replies to its questions, and the numbers of the tools that ran inside of it. It
 * starts anew with every attempt, so that the same attempt run again finds the same replies and the same keys.
 */
export class Attempt {
  private used: Set<Reply> | undefined
  private counts: Map<string, number> | undefined

  restart() {
    this.used = undefined
    this.counts = undefined
  }

  replyTo({ idempotencyKey, replies }: Current, question: string): string | undefined {
    const reply = replies.find((reply) =>
      reply.key === idempotencyKey && reply.question === question && this.used?.has(reply) !== true
    )
    if (reply === undefined) return undefined
    this.used = (this.used ?? new Set()).add(reply)
    return reply.reply
  }

  keyInside({ idempotencyKey }: Current, tool: string): string {
    const count = (this.counts?.get(tool) ?? 0) + 1
    this.counts = (this.counts ?? new Map<string, number>()).set(tool, count)
    return `${idempotencyKey}/${tool}/${count}`
  }
}

/** May a failure that a policy takes care of have come after the act? */
export const mayHaveActed = (failure: ToolFailure): boolean =>
  failure._tag === "ToolUnavailable" && failure.outcome !== "not_executed" || isUnreadable(failure)

/**
 * What a handler is given that may be left behind by a timeout: it passes everything on until it is closed, so that
 * an attempt that nobody waits for any more says nothing of the answer of a later one.
 */
export class Relay implements Current {
  private isOpen = true
  private isEntered: boolean
  private readonly underway = new Attempt()
  private readonly to: Current

  /** @param isEntered is the call's own tool running already, so that whatever else is run is run inside of it? */
  constructor(to: Current, isEntered = true) {
    this.to = to
    this.isEntered = isEntered
  }

  get idempotencyKey() {
    return this.to.idempotencyKey
  }

  get attempt() {
    return this.to.attempt
  }

  get replies() {
    return this.to.replies
  }

  get arguments() {
    return this.to.arguments
  }

  // Nobody waits for what it would do.
  correct(correction: Correction) {
    return this.isOpen ? this.to.correct(correction) : Effect.interrupt
  }

  get stragglers() {
    return this.to.stragglers
  }

  get answeredBy() {
    return this.to.answeredBy
  }

  close() {
    this.isOpen = false
  }

  enter(tool: string, acts: boolean): Current {
    // Counted with what runs outside of the timeout, so that no two have the same key; apart, once nobody waits any more.
    const outer = this.isOpen ? this.to.enter(tool, acts) : undefined
    if (!this.isEntered) {
      this.isEntered = true
      return this
    }
    const own = this.underway.keyInside(this, tool)
    return new Nested(this, outer?.idempotencyKey ?? own, acts)
  }

  begin() {
    this.underway.restart()
    if (this.isOpen) this.to.begin()
  }

  get hasActedInside() {
    return this.to.hasActedInside
  }

  actedInside() {
    if (this.isOpen) this.to.actedInside()
  }

  suspected() {
    if (this.isOpen) this.to.suspected()
  }

  executed() {
    if (this.isOpen) this.to.executed()
  }

  caveat(text: string) {
    if (this.isOpen) this.to.caveat(text)
  }

  source(source: Source) {
    if (this.isOpen) this.to.source(source)
  }

  forget() {
    if (this.isOpen) this.to.forget()
  }

  handled(failure: ToolFailure, by: string) {
    if (by === "retry") this.underway.restart()
    if (this.isOpen) this.to.handled(failure, by)
  }

  heard(failure: ToolFailure, by: string) {
    if (this.isOpen) this.to.heard(failure, by)
  }

  waited(millis: number) {
    if (this.isOpen) this.to.waited(millis)
  }

  replyTo(question: string) {
    return this.isOpen ? this.underway.replyTo(this, question) : undefined
  }

  leave() {}
}

/**
 * What a tool is given that runs inside of another one's handler or fallback: a key and attempts of its own. What it
 * notes is said of the outer call's answer, once it has an answer itself.
 */
export class Nested implements Current {
  readonly idempotencyKey: string
  readonly stragglers: Stragglers
  readonly arguments: CallArguments
  attempt = 0
  hasActedInside = false
  answeredBy: Source | undefined = undefined
  protected readonly outer: Current
  private readonly acts: boolean
  private readonly underway = new Attempt()
  /** All of it: what is passed on is bounded and counted where it is told. */
  noted: Array<string> = []

  constructor(outer: Current, idempotencyKey: string, acts: boolean, args = new CallArguments()) {
    this.outer = outer
    this.arguments = args
    this.idempotencyKey = idempotencyKey
    this.acts = acts
    // What this call leaves behind, the outer one does, too.
    this.stragglers = new Stragglers(outer.stragglers)
  }

  get replies() {
    return this.outer.replies
  }

  enter(tool: string, acts: boolean): Current {
    return new Nested(this, this.underway.keyInside(this, tool), acts)
  }

  begin() {
    this.attempt++
    if (this.hasActedInside) this.stragglers.suspect()
    this.hasActedInside = false
    this.underway.restart()
    this.forget()
  }

  actedInside() {
    this.hasActedInside = true
    this.outer.actedInside()
  }

  // What only reads is never suspected.
  suspected() {
    if (!this.acts) return
    this.stragglers.suspect()
    this.outer.suspected()
  }

  executed() {
    this.attempt++
  }

  caveat(text: string) {
    this.noted.push(text)
  }

  source(source: Source) {
    this.answeredBy = source
  }

  handled(failure: ToolFailure, by: string) {
    this.forget()
    if (mayHaveActed(failure)) this.stragglers.suspect()
    if (isUnreadable(failure)) this.suspected()
    if (by === "retry") this.underway.restart()
    this.heard(failure, by)
  }

  // The model need not hear of it: the arguments were the outer handler's.
  correct(correction: Correction) {
    this.arguments.correct(correction)
    return Effect.void
  }

  heard(failure: ToolFailure, by: string) {
    this.outer.heard(this.acts || !isOutcomeUnknown(failure) ? failure : withOutcome(failure, "not_executed"), by)
  }

  waited(millis: number) {
    this.outer.waited(millis)
  }

  replyTo(question: string) {
    return this.underway.replyTo(this, question)
  }

  leave() {
    for (const text of this.noted) this.outer.caveat(text)
    if (this.answeredBy !== undefined) this.outer.source(this.answeredBy)
  }

  forget() {
    this.noted = []
    this.answeredBy = undefined
  }
}

/** What a further page of a result is given: a key of its own, while its attempts are those of the call. */
export class Page extends Nested {
  constructor(outer: Current, number: number) {
    // No tool's name has a plus in it.
    super(outer, `${outer.idempotencyKey}/page+${number}`, true, new CallArguments(undefined, outer.arguments.whole))
  }

  override begin() {
    super.begin()
    this.outer.executed()
  }
}
