/*
 * Asks one fixer, in one call, until its answer can be used or one of its limits is reached.
 */
import { hasSecrets } from "@fallible/arguments/internal"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import * as Arguments from "../../Arguments.ts"
import type { Source } from "../../CallEvent.ts"
import * as Deadline from "../../Deadline.ts"
import { type ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import type { Repair } from "../../ToolOutcome.ts"
import { decodeText, type Undecoded } from "../arguments/decoding.ts"
import { schemaOf } from "../arguments/jsonSchema.ts"
import { withoutNote } from "../call/callState.ts"
import { digestOf } from "../call/idempotencyKey.ts"
import { fixerScope } from "../call/innerScope.ts"
import { note, noteHandled } from "../call/note.ts"
import { heedPromise, requireNoPromise } from "../call/runUserCode.ts"
import { current, type Scope } from "../call/scope.ts"
import { defectsOf, signalIn } from "../failure/controlSignal.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { runContained } from "../fiber/runContained.ts"
import { withinTime } from "../fiber/withinTime.ts"
import { cut, excerpt, firstNotes, oneLine } from "../value/text.ts"
import { isA } from "../value/untrusted.ts"
import { copyOfAnswer, hasWords, isNothing, isPlain, isSame, reason, remade, written } from "./fixerAnswer.ts"
import type { Fixing } from "./fixerOption.ts"
import { type Answered, Escalation, type FailedExecution, type Fixable, type Rejected } from "./rejection.ts"

/** A failure, and the arguments that led to it. */
export interface Fault extends Rejected {
  readonly about: FailedExecution | "rejection"
  /** The failure that a correction replaces. A policy may have made it of the failure that the fixer sees. */
  readonly left: ToolFailure
  /** The object that was read from the text; `undefined` if there is none. */
  readonly value: Schema.JsonObject | undefined
  /** True if the text was read exactly and without repairs. */
  readonly isWhole: boolean
}

/** Returns the fault of arguments that cannot be decoded. */
export const faultOfUndecoded = (text: string, { failure, text: read }: Undecoded): Fault => ({
  about: "rejection",
  text,
  failure,
  left: failure,
  value: read?.value,
  isWhole: read?.isExact === true && read.repairs.length === 0
})

/** The answer of a fixer: better arguments, a value, or an escalation. */
export type Better =
  | {
    readonly _tag: "Arguments"
    readonly params: unknown
    readonly text: string
    readonly repairs: ReadonlyArray<Repair>
    /** The arguments in the form that the model may see; `undefined` if they contain a secret. */
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

/** The state that all fixers of a call share. */
export interface Sharing {
  /** The time left for fixers, in milliseconds. */
  readonly left: number
  /** The parameters that the call has run with. */
  readonly ran: ReadonlyArray<unknown>
  /** How many questions the call has put to its fixers so far. */
  asked: number
}

/** One fixer in one call, with its history and the time that it has used. */
export class FixerRounds {
  readonly name: string
  readonly #fixing: Fixing
  readonly #tool: Subject
  readonly #scope: Scope
  readonly #call: Sharing
  readonly #index: number
  /** The failures about which this fixer has been asked so far, oldest first. */
  readonly #history: Array<Fault> = []
  /** The time that this fixer has used so far, in milliseconds. */
  #used = 0

  /** @param index the position of the fixer among the tool's fixers */
  constructor(fixing: Fixing, tool: Subject, scope: Scope, call: Sharing, index: number) {
    this.name = fixing.name ?? `the fixer of ${tool.name}`
    this.#fixing = fixing
    this.#tool = tool
    this.#scope = scope
    this.#call = call
    this.#index = index
  }

  /** Returns how long the fixer may take now, in milliseconds; 0 if it must not be asked. */
  timeLeft(about: Fault["about"]): number {
    const { on, time, tries } = this.#fixing
    if (this.#history.length >= tries || about !== "rejection" && !on.includes(about)) return 0
    return Math.max(0, Math.min(Duration.toMillis(time) - this.#used, this.#call.left))
  }

  /**
   * Asks the fixer until its answer can be used, or until its tries or its time are used up.
   *
   * @param last what the fixer is asked about next: at first the call's own failure, later the
   * rejection of the fixer's last answer
   */
  better(fault: Fault, last = fault): Effect.Effect<Better | undefined, never, unknown> {
    return Effect.suspend(() => {
      const millis = this.timeLeft(fault.about)
      if (millis === 0) return Effect.undefined
      return Effect.flatMap(
        this.#ask(last, millis),
        (answer) => answer !== undefined && "about" in answer ? this.better(fault, answer) : Effect.succeed(answer)
      )
    })
  }

  #ask(last: Fault, millis: number): Effect.Effect<Fault | Better | undefined, never, unknown> {
    const before = this.#history.map((earlier) => this.#shown(earlier))
    this.#history.push(last)
    return Effect.clockWith((clock) => {
      const start = clock.currentTimeMillisUnsafe()
      note(this.#scope, { _tag: "FixerAsked", fixer: this.name, code: last.failure.code, tries: this.#history.length })
      const answer = Effect.provideService(this.#answer(last, before), Deadline.current, start + millis)
      return withinTime(answer, millis, {
        late: () => Effect.succeed(this.#giveUp("It did not answer in time.")),
        who: `The fixer of ${this.#tool.name}`
      }).pipe(
        Effect.catchCause((cause) => this.#recover(cause, last.failure)),
        Effect.onExit(() =>
          Effect.sync(() => {
            this.#used += clock.currentTimeMillisUnsafe() - start
          })
        )
      )
    })
  }

  #answer(last: Fault, before: ReadonlyArray<Rejected>) {
    // Tools that the fixer runs are not part of the called tool, so they have their own keys and attempts.
    const about = digestOf("fix", this.name, String(this.#index), last.text, last.failure.code)
    const context = fixerScope(this.#scope, ++this.#call.asked, about)
    const { name: tool, parameters } = this.#tool
    const who = `The fixer of '${tool}'`
    const answer = Effect.suspend(() => {
      const fixed = this.#fixing.fixer({
        ...this.#shown(last),
        tool,
        arguments: last.value === undefined || !this.#isShown(last) ? undefined : copyOfAnswer(last.value),
        schema: copyOfAnswer(schemaOf(parameters)),
        tries: this.#history.length,
        before
      })
      return Effect.isEffect(fixed)
        ? Effect.map(runContained(fixed), (fixed) => requireNoPromise(who, "succeeded with", fixed))
        : Effect.succeed(requireNoPromise(who, "returned", fixed))
    })
    return Effect.flatMap(Effect.provideService(answer, current, context), (answer) => {
      const { caveats, source = { name: this.name } } = context.state
      const notes = firstNotes(caveats.toArray())
      const fixed = written(answer)
      return typeof fixed === "string" ? this.#decodedArguments(fixed, notes) : this.#decodedValue(fixed, notes, source)
    })
  }

  #decodedArguments(text: string, caveats: ReadonlyArray<string>): Effect.Effect<Fault | Better | undefined> {
    const isSameText = (earlier: Fault) => earlier.text.trim() === text.trim()
    if (text.length > Arguments.maxBytes) return Effect.succeed(this.#giveUp("Its answer is too long."))
    if (isNothing(text) || this.#history.some(isSameText)) return Effect.undefined
    return Effect.match(decodeText(text, this.#tool), {
      onFailure: (error) => {
        const last = faultOfUndecoded(text, error)
        if (this.#history.some(({ isWhole, value }) => isWhole && isSame(value, last.value))) return undefined
        const why = this.#isSecret ? "." : `: ${error.failure.detail}`
        this.#noteIgnored(`The answer of the fixer of ${this.#tool.name} was rejected${why}`, error.failure)
        return last
      },
      onSuccess: ({ params, repairs }) => {
        // Parameters that are equal, but written in a different way, would fail again.
        if (this.#call.ran.some((earlier) => isSame(params, earlier))) return undefined
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

  #decodedValue(
    { value }: Answered,
    caveats: ReadonlyArray<string>,
    source: Source
  ): Effect.Effect<Better | undefined> {
    const decode = SchemaParser.decodeUnknownEffect(Schema.toCodecJson(this.#tool.success))
    return Effect.matchCause(runContained(decode(value)), {
      onFailure: (cause) =>
        this.#noteIgnored(
          `The answer of the fixer of ${this.#tool.name} does not match the tool's success schema.`,
          cause
        ),
      onSuccess: (value) => ({ _tag: "Value", value, source, caveats }) as const
    })
  }

  // A fixer gets a copy, so that it cannot change the original failure.
  #shown({ failure, text }: Rejected): Rejected {
    const { retryAfter: _, ...json } = { retryAfter: undefined, ...failure }
    return { text: this.#isShown({ text }) ? text : "", failure: remade(failure, copyOfAnswer(json)) }
  }

  #isShown({ text }: Pick<Rejected, "text">): boolean {
    return !this.#isSecret && text.length <= Arguments.maxBytes
  }

  get #isSecret(): boolean {
    return hasSecrets(schemaOf(this.#tool.parameters))
  }

  #recover(cause: Cause.Cause<unknown>, failure: Fixable): Effect.Effect<Escalation | undefined> {
    const { name } = this.#tool
    heedPromise(`The fixer of '${name}'`, Cause.squash(cause))
    const signal = signalIn(defectsOf(cause))
    // If the fixer stops the run, the failure is noted here, or it would be lost. If the fixer asks
    // the user, this is not necessary: the resumed call runs again and fails again.
    if (signal?._tag === "StopSignal") noteHandled(this.#scope, failure, { by: "stopped" })
    if (signal !== undefined) return Effect.die(signal)
    const errors = cause.reasons.filter(Cause.isFailReason).map(({ error }) => error)
    const escalation = errors.find(isA(Escalation))
    if (escalation !== undefined) {
      return Effect.succeed(
        hasWords(escalation) ? escalation : this.#giveUp("Its escalation has the wrong type.", cause)
      )
    }
    const gaveUp = this.#giveUp(errors.length === 0 ? "It had an internal error." : reason(errors[0]), cause)
    // If the cause contains anything but failures, the fixer threw, died or interrupted itself.
    return errors.length === cause.reasons.length
      ? Effect.succeed(gaveUp)
      : Effect.as(reportDefect(`The fixer of ${name} failed with an internal error`, cause), gaveUp)
  }

  /** Continues as if there were no fixer, and notes why the fixer failed. */
  #giveUp(why: string, cause?: unknown): undefined {
    return this.#noteIgnored(`The fixer of ${this.#tool.name} failed. ${why}`, cause)
  }

  #noteIgnored(detail: string, cause?: unknown): undefined {
    const fields = { code: "fixer_failed", transient: false, outcome: "not_executed" } as const
    noteHandled(this.#scope, new ToolUnavailable({ ...fields, detail, cause }), { by: "ignored" })
  }
}
