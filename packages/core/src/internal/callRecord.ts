import * as Duration from "effect/Duration"
import type * as Schema from "effect/Schema"
import type { Current, Reply, Source } from "../ToolCall.ts"
import { isOutcomeUnknown, type ToolFailure } from "../ToolFailure.ts"
import type { Completed, Failed, Handled, Repair, Stage, Stopped, Suspended } from "../ToolOutcome.ts"
import { Attempt, Nested, Past } from "./relay.ts"
import { Stragglers } from "./stragglers.ts"
import { cut, mostDetail } from "./text.ts"

/** Told at once when a policy handles a failure, for who watches the run as it happens. */
export type OnHandled = (failure: ToolFailure, by: string, attempt: number) => void

const none: ReadonlyArray<never> = []

/**
 * What a dispatched call notes about itself: the other side of `ToolCall.current`. One is made for every
 * call, and most calls note nothing, so nothing is allocated before it is needed.
 */
export class CallRecord implements Current {
  readonly idempotencyKey: string
  readonly replies: ReadonlyArray<Reply>
  readonly onHandled: OnHandled | undefined
  written: string | undefined
  attempt = 0
  hasActedInside = false
  /** Was the tool itself unavailable, and something else had to answer? */
  fellBack = false
  /** Was there a failure after which the call may have acted, whatever became of that? */
  sawUnknown = false
  answeredBy: Source | undefined = undefined
  /** What was changed about the arguments before the handler saw them. */
  private repairs: ReadonlyArray<Repair> = none
  private isEntered = false
  private underway: Attempt | undefined = undefined
  private before: Past | undefined = undefined
  private leftBehind: Stragglers | undefined = undefined
  private waitedMillis = 0
  private noted: ReadonlyArray<string> = none
  private handledSoFar: ReadonlyArray<Handled> = none

  constructor(
    idempotencyKey: string,
    replies: ReadonlyArray<Reply> = none,
    onHandled?: OnHandled,
    written?: string
  ) {
    this.idempotencyKey = idempotencyKey
    this.replies = replies
    this.onHandled = onHandled
    this.written = written
  }

  get stragglers(): Stragglers {
    return this.leftBehind ??= new Stragglers()
  }

  enter(tool: string, acts: boolean): Current {
    if (this.isEntered) return new Nested(this, this.attemptUnderway().keyInside(this, tool), acts)
    this.isEntered = true
    return this
  }

  /** The arguments were changed before the handler saw them. */
  repaired(repairs: ReadonlyArray<Repair>) {
    this.repairs = this.repairs.length === 0 ? repairs : [...this.repairs, ...repairs]
  }

  corrected(text: string, note: string) {
    this.written = text
    // The model is told what was used in the end.
    this.repairs = this.repairs.map((repair) => repair.kind === "fixed" ? { kind: "fixed", path: [] } : repair)
    this.repaired([{ kind: "fixed", path: [], note }])
  }

  begin() {
    this.attempt++
    if (this.hasActedInside) this.past.mayHaveActed = true
    this.hasActedInside = false
    this.underway?.restart()
    this.forget()
  }

  actedInside() {
    this.hasActedInside = true
  }

  suspected() {
    this.sawUnknown = true
  }

  get mayHaveActed(): boolean {
    return this.sawUnknown || this.hasActedInside || this.before?.mayHaveActed === true ||
      this.leftBehind !== undefined && this.leftBehind.running.size > 0
  }

  remembered<A>(policy: object, initial: () => A): A {
    return this.past.remembered(policy, initial)
  }

  executed() {
    this.attempt++
  }

  caveat(text: string) {
    this.noted = [...this.noted, text]
  }

  source(source: Source) {
    this.answeredBy = source
  }

  handled(failure: ToolFailure, by: string) {
    this.forget()
    // Another attempt counts what runs inside of it from the start, also when its handler never begins.
    if (by === "retry") this.underway?.restart()
    if (by === "fallback" && failure._tag === "ToolUnavailable") this.fellBack = true
    this.past.failed(failure)
    this.heard(failure, by)
  }

  heard(failure: ToolFailure, by: string) {
    if (isOutcomeUnknown(failure)) this.suspected()
    this.handledSoFar = [
      ...this.handledSoFar,
      { tag: failure._tag, code: failure.code, detail: cut(failure.detail, mostDetail), by }
    ]
    this.onHandled?.(failure, by, this.attempt)
  }

  waited(millis: number) {
    this.waitedMillis += millis
  }

  replyTo(question: string) {
    return this.replies.length === 0 ? undefined : this.attemptUnderway().replyTo(this, question)
  }

  leave() {}

  completed(value: Schema.Json): Completed {
    const { answeredBy } = this
    const outcome = { _tag: "Completed", value, caveats: this.caveats(), ...this.effort() } as const
    return answeredBy === undefined ? outcome : { ...outcome, source: answeredBy }
  }

  failed(failure: Failed["failure"], stage: Stage): Failed {
    return { _tag: "Failed", failure, stage, ...this.effort() }
  }

  suspended({ key, question }: { readonly key: string; readonly question: string }): Suspended {
    return { _tag: "Suspended", question, key, replies: this.replies, ...this.effort() }
  }

  stopped(reason: string): Stopped {
    return { _tag: "Stopped", reason, ...this.effort() }
  }

  private get past(): Past {
    return this.before ??= new Past()
  }

  private attemptUnderway(): Attempt {
    return this.underway ??= new Attempt()
  }

  private effort() {
    const { attempt, handledSoFar, repairs } = this
    const effort = { attempts: attempt, waited: this.waitedSoFar(), handled: handledSoFar }
    return repairs.length === 0 ? effort : { ...effort, repairs }
  }

  private waitedSoFar() {
    return this.waitedMillis === 0 ? Duration.zero : Duration.millis(this.waitedMillis)
  }

  /** What is said of the answer: first what was changed about the question, then its source, when it has an age. */
  private caveats(): ReadonlyArray<string> {
    const noted = this.notes()
    return this.repairs.length === 0 ? noted : [...this.repairs.flatMap(({ note }) => note ?? []), ...noted]
  }

  private notes(): ReadonlyArray<string> {
    const source = this.answeredBy
    if (source?.age === undefined) return this.noted
    const isDown = this.handledSoFar.some(({ by, tag }) => tag === "ToolUnavailable" && by !== "retry" && by !== "fix")
    const reason = isDown ? "; the live service is unavailable" : ""
    return [`from ${source.name}, ${age(source.age)} old${reason}`, ...this.noted]
  }

  forget() {
    this.noted = none
    this.answeredBy = undefined
  }
}

// The largest unit says enough: "3h", not "3h 12m 4s".
const age = (duration: Duration.Duration): string =>
  Duration.isLessThan(duration, Duration.seconds(1)) ? "less than 1s" : Duration.format(duration).split(" ")[0]!
