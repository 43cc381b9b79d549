/*
 * Asking one fixer, in one call, until its answer can be used.
 */
import { hasSecrets } from "@fallible/arguments"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import * as Arguments from "../../Arguments.ts"
import type { Source } from "../../CallEvent.ts"
import * as Deadline from "../../Deadline.ts"
import * as Defect from "../../Defect.ts"
import { type Answered, Escalation, type FailedExecution, type Fixable, type Rejected } from "../../Rejection.ts"
import { ToolUnavailable } from "../../ToolFailure.ts"
import type { Repair } from "../../ToolOutcome.ts"
import type { Undecoded } from "../arguments/decoding.ts"
import { attempt } from "../arguments/decoding.ts"
import { schemaOf } from "../arguments/jsonSchema.ts"
import { withoutNote } from "../call/callState.ts"
import { current, type Frame } from "../call/frame.ts"
import { digestOf } from "../call/idempotencyKey.ts"
import { FixerFrame } from "../call/innerFrame.ts"
import { heed, present } from "../call/userCode.ts"
import { contained } from "../effect/contained.ts"
import { withinTime } from "../effect/withinTime.ts"
import { defectsOf, signalIn } from "../failure/signal.ts"
import { cut, excerpt, firstNotes, oneLine } from "../value/text.ts"
import { isA } from "../value/untrusted.ts"
import { copied, hasWords, isNothing, isPlain, isSame, reason, remade, written } from "./fixerAnswer.ts"
import type { Fixing } from "./fixerOption.ts"

/** What failed, and with what arguments. */
export interface Fault extends Rejected {
  readonly about: FailedExecution | "rejection"
  /** The object that the text says. */
  readonly value: Schema.JsonObject | undefined
  /** Is that all that it says? */
  readonly isWhole: boolean
}

/** A text that cannot be decoded. */
export const undecoded = (text: string, { failure, text: read }: Undecoded): Fault => ({
  about: "rejection",
  text,
  failure,
  value: read?.value,
  isWhole: read?.isExact === true && read.repairs.length === 0
})

/** What a fixer has better, or says itself of the failure. */
export type Better =
  | {
    readonly _tag: "Arguments"
    readonly params: unknown
    readonly text: string
    readonly repairs: ReadonlyArray<Repair>
    /** They themselves as the model may read them, where it may. */
    readonly shown: string | undefined
    readonly caveats: ReadonlyArray<string>
  }
  | {
    readonly _tag: "Value"
    readonly value: unknown
    readonly source: Source
    readonly caveats: ReadonlyArray<string>
  }
  | Escalation

interface Subject {
  readonly name: string
  readonly parameters: Schema.ConstraintDecoder<unknown>
  readonly success: Schema.ConstraintCodec<unknown, unknown>
}

/** What all fixers of a call share: how much time it has, in milliseconds, what it was run with, and how often any of them was asked. */
export interface Sharing {
  readonly left: number
  readonly ran: ReadonlyArray<unknown>
  asked: number
}

/** A fixer in one call. */
export class FixerRounds {
  readonly name: string
  readonly #fixing: Fixing
  readonly #tool: Subject
  readonly #frame: Frame
  readonly #call: Sharing
  readonly #index: number
  /** Whatever it was told so far, oldest first. */
  readonly #told: Array<Fault> = []
  #used = 0

  /** @param index its place among those of the tool */
  constructor(fixing: Fixing, tool: Subject, frame: Frame, call: Sharing, index: number) {
    this.name = fixing.name ?? `the fixer of ${tool.name}`
    this.#fixing = fixing
    this.#tool = tool
    this.#frame = frame
    this.#call = call
    this.#index = index
  }

  /** How long it may take now, in milliseconds; 0 where it is not to be asked. */
  timeLeft(about: Fault["about"]): number {
    const { on, time, tries } = this.#fixing
    if (this.#told.length >= tries || about !== "rejection" && !on.includes(about)) return 0
    return Math.max(0, Math.min(Duration.toMillis(time) - this.#used, this.#call.left))
  }

  /**
   * What it has better, if anything.
   *
   * @param last what was rejected last: an answer of its own, where it has tries left
   */
  better(fault: Fault, last = fault): Effect.Effect<Better | undefined, never, unknown> {
    return Effect.suspend(() => {
      const millis = this.timeLeft(fault.about)
      if (millis === 0) return Effect.undefined
      return Effect.flatMap(
        this.#ask(last, millis),
        (said) => said !== undefined && "about" in said ? this.better(fault, said) : Effect.succeed(said)
      )
    })
  }

  #ask(last: Fault, millis: number): Effect.Effect<Fault | Better | undefined, never, unknown> {
    const before = this.#told.map((one) => this.#shown(one))
    this.#told.push(last)
    return Effect.clockWith((clock) => {
      const start = clock.currentTimeMillisUnsafe()
      this.#frame.note({ _tag: "FixerAsked", fixer: this.name, code: last.failure.code, tries: this.#told.length })
      const said = Effect.provideService(this.#said(last, before), Deadline.current, start + millis)
      return withinTime(said, millis, {
        late: () => Effect.succeed(this.#gaveUp("It did not answer before the time was up.")),
        who: `The fixer of ${this.#tool.name}`
      }).pipe(
        Effect.catchCause((cause) => this.#unanswered(cause, last.failure)),
        Effect.onExit(() =>
          Effect.sync(() => {
            this.#used += clock.currentTimeMillisUnsafe() - start
          })
        )
      )
    })
  }

  #said(last: Fault, before: ReadonlyArray<Rejected>) {
    // A tool that it runs is not the one that was called: it has a key and attempts of its own.
    const about = digestOf("fix", this.name, String(this.#index), last.text, last.failure.code)
    const context = new FixerFrame(this.#frame, ++this.#call.asked, about)
    const { name: tool, parameters } = this.#tool
    const who = `The fixer of '${tool}'`
    const answer = Effect.suspend(() => {
      const fixed = this.#fixing.fixer({
        ...this.#shown(last),
        tool,
        arguments: last.value === undefined || !this.#isShown(last) ? undefined : copied(last.value),
        schema: copied(schemaOf(parameters)),
        tries: this.#told.length,
        before
      })
      return Effect.isEffect(fixed)
        ? Effect.map(contained(fixed), (fixed) => present(who, "succeeded with", fixed))
        : Effect.succeed(present(who, "returned", fixed))
    })
    return Effect.flatMap(Effect.provideService(answer, current, context), (answer) => {
      const { caveats, source = { name: this.name } } = context.state
      const notes = firstNotes(caveats.toArray())
      const fixed = written(answer)
      return typeof fixed === "string" ? this.#decoded(fixed, notes) : this.#given(fixed, notes, source)
    })
  }

  #decoded(text: string, caveats: ReadonlyArray<string>): Effect.Effect<Fault | Better | undefined> {
    const isSaid = (known: Fault) => known.text.trim() === text.trim()
    if (text.length > Arguments.maxBytes) return Effect.succeed(this.#gaveUp("Its answer is too long."))
    if (isNothing(text) || this.#told.some(isSaid)) return Effect.undefined
    return Effect.match(attempt(text, this.#tool), {
      onFailure: (error) => {
        const last = undecoded(text, error)
        if (this.#told.some(({ isWhole, value }) => isWhole && isSame(value, last.value))) return undefined
        const why = this.#isSecret ? "." : `: ${error.failure.detail}`
        this.#ignored(`The answer of the fixer of ${this.#tool.name} was rejected${why}`, error.failure)
        return last
      },
      onSuccess: ({ params, repairs }) => {
        // Written in another way, they are still the same, and would fail again.
        if (this.#call.ran.some((known) => isSame(params, known))) return undefined
        const shown = isPlain(params) ? excerpt(params, 400) : cut(oneLine(text), 400)
        return {
          _tag: "Arguments",
          params,
          text,
          repairs: repairs.map(withoutNote),
          shown: this.#isSecret ? undefined : shown,
          caveats
        } as const
      }
    })
  }

  #given({ value }: Answered, caveats: ReadonlyArray<string>, source: Source): Effect.Effect<Better | undefined> {
    const decode = SchemaParser.decodeUnknownEffect(Schema.toCodecJson(this.#tool.success))
    return Effect.matchCause(contained(decode(value)), {
      onFailure: (cause) =>
        this.#ignored(`The answer of the fixer of ${this.#tool.name} does not fit the result of the tool.`, cause),
      onSuccess: (value) => ({ _tag: "Value", value, source, caveats }) as const
    })
  }

  // A copy: whatever a fixer does to it, the failure stays what it was.
  #shown({ failure, text }: Rejected): Rejected {
    const { retryAfter: _, ...json } = { retryAfter: undefined, ...failure }
    return { text: this.#isShown({ text }) ? text : "", failure: remade(failure, copied(json)) }
  }

  #isShown({ text }: Pick<Rejected, "text">): boolean {
    return !this.#isSecret && text.length <= Arguments.maxBytes
  }

  get #isSecret(): boolean {
    return hasSecrets(schemaOf(this.#tool.parameters))
  }

  #unanswered(cause: Cause.Cause<unknown>, failure: Fixable): Effect.Effect<Escalation | undefined> {
    const { name } = this.#tool
    heed(`The fixer of '${name}'`, Cause.squash(cause))
    const signal = signalIn(defectsOf(cause))
    // What led to a stop would be lost with it; a question is asked again.
    if (signal?._tag === "StopSignal") this.#frame.handled(failure, { by: "stopped" })
    if (signal !== undefined) return Effect.die(signal)
    const errors = cause.reasons.filter(Cause.isFailReason).map(({ error }) => error)
    const escalation = errors.find(isA(Escalation))
    if (escalation !== undefined) {
      return Effect.succeed(
        hasWords(escalation) ? escalation : this.#gaveUp("Its escalation is not of its type.", cause)
      )
    }
    const gaveUp = this.#gaveUp(errors.length === 0 ? "It has a fault of its own." : reason(errors[0]), cause)
    // Thrown, died, or interrupted itself.
    return errors.length === cause.reasons.length
      ? Effect.succeed(gaveUp)
      : Effect.as(Defect.report(`The fixer of ${name} failed because of a fault of its own`, cause), gaveUp)
  }

  /** The call goes on as if there were no fixer. What was wrong with it is not lost. */
  #gaveUp(why: string, cause?: unknown): undefined {
    return this.#ignored(`The fixer of ${this.#tool.name} failed. ${why}`, cause)
  }

  #ignored(detail: string, cause?: unknown): undefined {
    const fields = { code: "fixer_failed", transient: false, outcome: "not_executed" } as const
    this.#frame.handled(new ToolUnavailable({ ...fields, detail, cause }), { by: "ignored" })
  }
}
