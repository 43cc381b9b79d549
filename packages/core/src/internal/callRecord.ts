import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Current, Reply, Source } from "../ToolCall.ts"
import { isOutcomeUnknown, type ToolFailure } from "../ToolFailure.ts"
import type { Completed, Failed, Handled, Repair, Stage, Stopped, Suspended } from "../ToolOutcome.ts"
import { CallArguments, type Correction } from "./callArguments.ts"
import type { HandledBy } from "./handledBy.ts"
import { isUnreadable } from "./outcome.ts"
import { Attempt, mayHaveActed, Nested } from "./relay.ts"
import { RefusalSignal } from "./signal.ts"
import { Stragglers } from "./stragglers.ts"
import { cut, firstNotes, mostDetail, mostNotes } from "./text.ts"

/** Told at once when a policy handles a failure, for who watches the run as it happens. */
export type OnHandled = (failure: ToolFailure, by: HandledBy, attempt: number, policy?: string) => void

const none: ReadonlyArray<never> = []

/**
 * What a dispatched call notes about itself: the other side of `ToolCall.current`. One is made for every
 * call, and most calls note nothing, so nothing is allocated before it is needed.
 */
export class CallRecord implements Current {
  readonly idempotencyKey: string
  readonly replies: ReadonlyArray<Reply>
  readonly onHandled: OnHandled | undefined
  /** Why the call is not to be run with other arguments than those that it was admitted with, if so. */
  refuse: ((params: unknown, text: string) => ToolFailure | undefined) | undefined = undefined
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
  private readonly written: string | undefined
  private args: CallArguments | undefined = undefined
  private leftBehind: Stragglers | undefined = undefined
  private waitedMillis = 0
  private noted: Array<string> | undefined = undefined
  private notedCount = 0
  private handledSoFar: Array<Handled> | undefined = undefined

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

  get arguments(): CallArguments {
    return this.args ??= new CallArguments(this.written)
  }

  /** The text of the arguments that are used now. */
  get text(): string | undefined {
    return this.args === undefined ? this.written : this.args.text
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

  /** The call goes on with what its arguments were corrected to before it was suspended. */
  resumed({ arguments: text, repairs = none }: Pick<Suspended, "arguments" | "repairs">, isSecret: boolean) {
    if (text === undefined) return
    this.arguments.correct({ to: undefined, text, repairs, isSecret })
    this.repairs = repairs
  }

  correct(correction: Correction) {
    const { from, repairs, text, to } = correction
    // Without any before them they are yet to be admitted.
    const refusal = from === undefined ? undefined : this.refuse?.(to, text)
    if (refusal !== undefined) return Effect.die(new RefusalSignal(refusal))
    this.arguments.correct(correction)
    // The model is told what was used in the end.
    this.repairs = [...this.repairs.map(withoutNote), ...asRepairs(repairs)]
    return Effect.void
  }

  begin() {
    this.attempt++
    if (this.hasActedInside) this.stragglers.suspect()
    this.hasActedInside = false
    this.underway?.restart()
    this.forget()
  }

  actedInside() {
    this.hasActedInside = true
  }

  suspected() {
    this.sawUnknown = true
    this.stragglers.suspect()
  }

  executed() {
    this.attempt++
  }

  caveat(text: string) {
    this.noted ??= []
    if (this.notedCount++ < mostNotes) this.noted.push(text)
  }

  source(source: Source) {
    this.answeredBy = source
  }

  handled(failure: ToolFailure, by: HandledBy, policy?: string) {
    this.forget()
    // Another attempt counts what runs inside of it from the start, also when its handler never begins.
    if (by === "retry") this.underway?.restart()
    if (by === "fallback" && failure._tag === "ToolUnavailable") this.fellBack = true
    if (mayHaveActed(failure)) this.stragglers.suspect()
    if (isUnreadable(failure)) this.suspected()
    this.heard(failure, by, policy)
  }

  heard(failure: ToolFailure, by: HandledBy, policy?: string) {
    if (isOutcomeUnknown(failure)) this.suspected()
    const { _tag: tag, code, detail } = failure
    const handled: Handled = { tag, code, detail: cut(detail, mostDetail), by }
    ;(this.handledSoFar ??= []).push(policy === undefined ? handled : { ...handled, policy })
    this.onHandled?.(failure, by, this.attempt, policy)
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
    const outcome = { _tag: "Suspended", question, key, replies: this.replies, ...this.effort() } as const
    // What goes on, goes on with these: also with what must not be shown.
    const used = this.corrected
    return used === undefined ? outcome : { ...outcome, arguments: used.text }
  }

  stopped(reason: string): Stopped {
    return { _tag: "Stopped", reason, ...this.effort() }
  }

  private get corrected(): Correction | undefined {
    return this.args?.correction
  }

  private attemptUnderway(): Attempt {
    return this.underway ??= new Attempt()
  }

  private effort() {
    const { attempt, handledSoFar, repairs } = this
    const effort = { attempts: attempt, waited: this.waitedSoFar(), handled: handledSoFar?.slice() ?? none }
    const used = this.corrected
    if (used !== undefined && !used.isSecret) return { ...effort, repairs, arguments: used.text }
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
    const noted = this.noted === undefined ? none : firstNotes(this.noted, this.notedCount)
    if (source?.age === undefined) return noted
    const isDown =
      this.handledSoFar?.some(({ by, tag }) => tag === "ToolUnavailable" && by !== "retry" && by !== "ignored") === true
    const reason = isDown ? "; the live service is unavailable" : ""
    return [`from ${source.name}, ${age(source.age)} old${reason}`, ...noted]
  }

  forget() {
    this.noted = undefined
    this.notedCount = 0
    this.answeredBy = undefined
  }
}

/** The same, of which the model is not told. */
export const withoutNote = (repair: Repair): Repair => {
  const { note: _, ...rest } = repair
  return rest
}

// They are, and only their type stands above what a call is told of itself.
const asRepairs = (repairs: Correction["repairs"]) => repairs as ReadonlyArray<Repair>

// The largest unit says enough: "3h", not "3h 12m 4s".
const age = (duration: Duration.Duration): string =>
  Duration.isLessThan(duration, Duration.seconds(1)) ? "less than 1s" : Duration.format(duration).split(" ")[0]!
