import type { Current, Reply, Source } from "../ToolCall.ts"
import type { ToolFailure } from "../ToolFailure.ts"

/**
 * What an attempt has used up: the replies to its questions, and the numbers of the tools that ran inside of it. It
 * starts anew with every attempt, so that the same attempt run again finds the same replies and the same keys.
 */
export class Attempt {
  private readonly used = new Set<Reply>()
  private readonly counts = new Map<string, number>()

  restart() {
    this.used.clear()
    this.counts.clear()
  }

  replyTo({ idempotencyKey, replies }: Current, question: string): string | undefined {
    const reply = replies.find((reply) =>
      reply.key === idempotencyKey && reply.question === question && !this.used.has(reply)
    )
    if (reply === undefined) return undefined
    this.used.add(reply)
    return reply.reply
  }

  keyInside({ idempotencyKey }: Current, tool: string): string {
    const count = (this.counts.get(tool) ?? 0) + 1
    this.counts.set(tool, count)
    return `${idempotencyKey}/${tool}/${count}`
  }
}

/**
 * What a handler is given that may be left behind by a timeout: it passes everything on until it is closed, so that
 * an attempt that nobody waits for any more says nothing of the answer of a later one.
 */
export class Relay implements Current {
  private isOpen = true
  private readonly underway = new Attempt()
  private readonly to: Current

  constructor(to: Current) {
    this.to = to
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

  close() {
    this.isOpen = false
  }

  enter(tool: string): Current {
    return new Nested(this, this.underway.keyInside(this, tool))
  }

  begin() {
    this.underway.restart()
    if (this.isOpen) this.to.begin()
  }

  caveat(text: string) {
    if (this.isOpen) this.to.caveat(text)
  }

  source(source: Source) {
    if (this.isOpen) this.to.source(source)
  }

  handled(failure: ToolFailure, by: string) {
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
  attempt = 0
  private readonly underway = new Attempt()
  private readonly outer: Current
  private noted: Array<string> = []
  private answeredBy: Source | undefined = undefined

  constructor(outer: Current, idempotencyKey: string) {
    this.outer = outer
    this.idempotencyKey = idempotencyKey
  }

  get replies() {
    return this.outer.replies
  }

  enter(tool: string): Current {
    return new Nested(this, this.underway.keyInside(this, tool))
  }

  begin() {
    this.attempt++
    this.underway.restart()
    this.forget()
  }

  caveat(text: string) {
    this.noted.push(text)
  }

  source(source: Source) {
    this.answeredBy = source
  }

  handled(failure: ToolFailure, by: string) {
    this.forget()
    this.outer.heard(failure, by)
  }

  heard(failure: ToolFailure, by: string) {
    this.outer.heard(failure, by)
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

  private forget() {
    this.noted = []
    this.answeredBy = undefined
  }
}
