import type { Current, Source } from "../ToolCall.ts"
import type { ToolFailure } from "../ToolFailure.ts"

/**
 * What a handler is given that may be left behind by a timeout: it passes everything on until it is closed, so that
 * an attempt that nobody waits for any more says nothing of the answer of a later one.
 */
export class Relay implements Current {
  private isOpen = true
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

  close() {
    this.isOpen = false
  }

  enter(tool: string): Current {
    return new Nested(this, this.to.enter(tool).idempotencyKey)
  }

  begin() {
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

  waited(millis: number) {
    if (this.isOpen) this.to.waited(millis)
  }

  replyTo(question: string) {
    return this.isOpen ? this.to.replyTo(question) : undefined
  }
}

/**
 * What a tool is given that runs inside of another one's handler or fallback: a key and attempts of its own, while
 * what it notes is said of the outer call's answer.
 */
export class Nested implements Current {
  readonly idempotencyKey: string
  attempt = 0
  private nested = 0
  private readonly outer: Current

  constructor(outer: Current, idempotencyKey: string) {
    this.outer = outer
    this.idempotencyKey = idempotencyKey
  }

  enter(tool: string): Current {
    return new Nested(this.outer, `${this.idempotencyKey}/${tool}/${++this.nested}`)
  }

  begin() {
    this.attempt++
    this.nested = 0
  }

  caveat(text: string) {
    this.outer.caveat(text)
  }

  source(source: Source) {
    this.outer.source(source)
  }

  handled(failure: ToolFailure, by: string) {
    this.outer.handled(failure, by)
  }

  waited(millis: number) {
    this.outer.waited(millis)
  }

  replyTo(question: string) {
    return this.outer.replyTo(question)
  }
}
