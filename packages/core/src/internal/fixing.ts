import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Arguments from "../Arguments.ts"
import * as Deadline from "../Deadline.ts"
import * as Defect from "../Defect.ts"
import { Escalation, type Fixed, type Rejected, type Rejection } from "../Rejection.ts"
import type { SideEffect } from "../SideEffect.ts"
import { SchemaMismatch, type ToolFailure, ToolUnavailable } from "../ToolFailure.ts"
import type { Repair } from "../ToolOutcome.ts"
import type { CallArguments } from "./callArguments.ts"
import { doneInAttempts, withoutNote } from "./callState.ts"
import { readable } from "./canonical.ts"
import { contained } from "./containment.ts"
import { nothing } from "./done.ts"
import { copied, escalated, hasWords, isNothing, isPlain, isSame, reason, saysTheSame, written } from "./fixed.ts"
import { mentionsSecret } from "./form.ts"
import { Asked, current, type Frame } from "./frame.ts"
import { schemaOf } from "./jsonSchema.ts"
import { encoderOf } from "./pages.ts"
import { defectsOf, signalIn } from "./signal.ts"
import { isA } from "./stranger.ts"
import { excerpt, firstNotes } from "./text.ts"
import { heed, present } from "./userCode.ts"
import { withinTime } from "./withinTime.ts"

/*
 * One fixer, in two places:
 *
 *     decode:  text ─ decode ─┬─ parameters
 *                             └─ rejected ─ ask ─ decode ─┬─ parameters
 *                                                         └─ rejected ─ …
 *     run:     parameters ─ run ─┬─ value, or another failure
 *                                └─ rejected ─ ask ─ decode ─ admit ─ run ─ …
 *
 * They share what is known of the call, so that `tries` counts for the call, whichever way its arguments took. What was
 * corrected is known to the call, too (`CallArguments`), and so to every policy outside, and to whoever admits calls.
 */

/** A fixer, and what it is asked for. */
export class Fixing<R> {
  readonly fixer: (rejection: Rejection) => Fixed | Effect.Effect<Fixed, unknown, R>
  readonly tries: number
  private readonly states = new WeakMap<CallArguments, State>()

  constructor(fixer: Fixing<R>["fixer"], tries: number) {
    this.fixer = fixer
    this.tries = tries
  }

  /** A page was not rejected for what was wrong with the one before, but counts for the same call. */
  stateOf(args: CallArguments): State {
    const state = this.states.get(args) ??
      { rejected: [], asked: args === args.whole ? { tries: 0 } : this.stateOf(args.whole).asked }
    this.states.set(args, state)
    return state
  }
}

/** What a fix remembers of a call, for both places and for every attempt. */
interface State {
  readonly asked: { tries: number }
  /** Whatever was rejected so far, oldest first. */
  rejected: ReadonlyArray<Rejected>
}

interface Subject {
  readonly name: string
  readonly sideEffect: SideEffect
  readonly parameters: Schema.ConstraintDecoder<unknown>
}

// -----------------------------------------------------------------------------
// The two places
// -----------------------------------------------------------------------------

/** Decoding, with a fixer for what is rejected. */
export const fixedDecoding = <R, R0>(
  fixing: Fixing<R>,
  decode: (text: string | undefined) => Effect.Effect<Arguments.Decoded<unknown>, SchemaMismatch, R0>,
  subject: Subject
) =>
(text: string | undefined): Effect.Effect<Arguments.Decoded<unknown>, SchemaMismatch, R | R0> =>
  Effect.catchEager(decode(text), (failure) =>
    Effect.flatMap(current, (frame) =>
      // The call knows what was done to them.
      Effect.map(new Fix(fixing, subject, frame).correct({ text: text ?? "", failure }), (params) => ({
        params,
        repairs: []
      }))))

/** A run, with a fixer for arguments that the handler rejects. */
export const fixedRun = <R, R0>(
  fixing: Fixing<R>,
  run: (params: unknown) => Effect.Effect<unknown, ToolFailure, R0>,
  subject: Subject
) =>
(first: unknown): Effect.Effect<unknown, ToolFailure, R | R0> =>
  Effect.flatMap(current, (frame) => {
    const args = frame.live.arguments
    const from = (params: unknown): Effect.Effect<unknown, ToolFailure, R | R0> =>
      Effect.catch(run(params), (failure) => {
        // The handler says that it did nothing with these arguments. What came before them in this call does not say so.
        const mayRun = subject.sideEffect === "none" ||
          doneInAttempts(frame.whole.state) === nothing && frame.whyNot() === undefined
        if (!mayRun || !args.areRejectedBy(failure)) return Effect.fail(failure)
        const fix = new Fix(fixing, subject, frame)
        const rejected = args.meant(params)
        return Effect.flatMap(fix.textOf(rejected), (text) =>
          Effect.flatMap(fix.correct({ text, failure }, { params: rejected }), from))
      })
    // A retry around it begins with the same parameters once more.
    return from(args.meant(first))
  })

// -----------------------------------------------------------------------------
// Asking for better arguments
// -----------------------------------------------------------------------------

interface Answer {
  readonly text: string
  /** What the fixer says of it, for the model. */
  readonly caveats: ReadonlyArray<string>
}

/** The fix of one call. */
class Fix<R> {
  readonly #fixing: Fixing<R>
  readonly #subject: Subject
  readonly #frame: Frame
  readonly #state: State
  readonly #isSecret: boolean

  constructor(fixing: Fixing<R>, subject: Subject, frame: Frame) {
    this.#fixing = fixing
    this.#subject = subject
    this.#frame = frame
    this.#state = fixing.stateOf(frame.live.arguments)
    this.#isSecret = mentionsSecret(schemaOf(subject.parameters))
  }

  /** What the model wrote, or a fixer; else what the parameters come to. */
  textOf(params: unknown): Effect.Effect<string> {
    const { text } = this.#frame.live.arguments
    if (text !== undefined || this.#isSecret) return Effect.succeed(text ?? "")
    return Effect.suspend(() => encoderOf(this.#subject.parameters)(params)).pipe(
      Effect.map((json) => JSON.stringify(json)),
      Effect.catchCause(() => Effect.succeed(readable(params) ?? ""))
    )
  }

  /**
   * Asks until the answer can be decoded. When there is none, the failure goes on that was there, or what the fixer says of it.
   *
   * @param from what the handler rejected, if it did
   */
  correct(rejected: Rejected, from?: { readonly params: unknown }): Effect.Effect<unknown, SchemaMismatch, R> {
    const { failure } = rejected
    const next = (last: Rejected): Effect.Effect<unknown, SchemaMismatch, R> =>
      Effect.flatMap(this.#ask(last, failure), (answer) => {
        if (answer === undefined) return Effect.fail(failure)
        const { text } = answer
        return Effect.matchEffect(Arguments.decode(text, this.#subject), {
          onFailure: (again) => {
            const why = this.#isSecret ? "." : `: ${again.detail}`
            this.#ignored(`The answer of the fixer of ${this.#subject.name} was rejected${why}`, again)
            return next({ text, failure: again })
          },
          onSuccess: (decoded) =>
            // Written in another way, they are still the same, and would be rejected again.
            from !== undefined && isSame(decoded.params, from.params)
              ? Effect.fail(failure)
              : Effect.as(this.#use(failure, answer, decoded, from), decoded.params)
        })
      })
    return next(rejected)
  }

  #use(
    failure: SchemaMismatch,
    { caveats, text }: Answer,
    { params, repairs }: Arguments.Decoded<unknown>,
    from: { readonly params: unknown } | undefined
  ): Effect.Effect<void> {
    const used = isPlain(params) ? params : Result.getOrUndefined(Arguments.parse(text))?.value
    const told = `The arguments were corrected${this.#isSecret ? "" : `; used were ${excerpt(used, 400)}`}`
    const fixed: Repair = { kind: "fixed", path: [], note: [told, ...caveats].join(". ") }
    const corrected = this.#frame.correct({
      ...(from === undefined ? {} : { from }),
      to: params,
      text,
      repairs: [fixed, ...repairs.map(withoutNote)],
      isSecret: this.#isSecret
    })
    // They may be refused like a call's first ones; then nothing was run with them.
    return Effect.onExit(
      corrected,
      (exit) =>
        Effect.sync(() =>
          Exit.isSuccess(exit)
            ? this.#frame.replaced(failure, { by: "fix" })
            : this.#frame.handled(failure, { by: "ignored" })
        )
    )
  }

  /** New arguments, if there are any; or the failure that there was, as the fixer puts it. */
  #ask(rejected: Rejected, failure: SchemaMismatch): Effect.Effect<Answer | undefined, SchemaMismatch, R> {
    return Effect.withFiber((fiber) => {
      const left = Deadline.millisToAnswer(fiber)
      const state = this.#state
      if (state.asked.tries === this.#fixing.tries || left === 0) return Effect.undefined
      const before = state.rejected
      state.asked.tries++
      state.rejected = [...before, rejected]
      return Effect.matchCauseEffect(this.#answer(rejected, before, left), {
        onFailure: (cause) => this.#unanswered(cause, failure),
        onSuccess: (answer) => {
          if (Option.isNone(answer)) return this.#gaveUp("It did not answer before the time was up.")
          const { text } = answer.value
          if (text.length > Arguments.maxBytes) return this.#gaveUp("Its answer is too long.")
          const isKnown = state.rejected.some((known) => saysTheSame(known.text, text))
          return Effect.succeed(isKnown || isNothing(text) ? undefined : answer.value)
        }
      })
    })
  }

  #answer(rejected: Rejected, before: ReadonlyArray<Rejected>, left: number) {
    const { name, parameters } = this.#subject
    // A tool that it runs is not the one that was called: it has a key and attempts of its own.
    const context = new Asked(this.#frame, ++this.#frame.live.arguments.asked)
    const who = `The fixer of '${name}'`
    const answer = Effect.suspend(() => {
      const told = this.#told(rejected)
      const fixed = this.#fixing.fixer({
        ...told,
        tool: name,
        arguments: this.#isSecret || told.failure.code === "invalid_json"
          ? undefined
          : Result.getOrUndefined(Arguments.parse(told.text))?.value,
        schema: copied(schemaOf(parameters)),
        tries: this.#state.asked.tries,
        before: before.map((rejected) => this.#told(rejected))
      })
      return Effect.isEffect(fixed)
        ? Effect.map(contained(fixed), (fixed) => present(who, "succeeded with", fixed))
        : Effect.succeed(present(who, "returned", fixed))
    }).pipe(
      Effect.map((fixed) =>
        Option.some<Answer>({ text: written(fixed), caveats: firstNotes(context.state.caveats.toArray()) })
      ),
      Effect.provideService(current, context)
    )
    return left === Infinity ? answer : withinTime(answer, left, {
      late: () => Effect.succeedNone,
      onLeft: (fiber) => this.#frame.live.running.add(fiber),
      who: `The fixer of ${name}`
    })
  }

  // A copy: whatever a fixer does to it, the failure stays what it was.
  #told({ failure, text }: Rejected): Rejected {
    const { cause } = failure
    return { text: this.#isSecret ? "" : text, failure: new SchemaMismatch({ ...copied({ ...failure }), cause }) }
  }

  #unanswered(cause: Cause.Cause<unknown>, failure: SchemaMismatch): Effect.Effect<undefined, SchemaMismatch> {
    heed(`The fixer of '${this.#subject.name}'`, Cause.squash(cause))
    const signal = signalIn(defectsOf(cause))
    // What led to a stop would be lost with it; a question is asked again.
    if (signal?._tag === "StopSignal") this.#frame.handled(failure, { by: "stopped" })
    if (signal !== undefined) return Effect.die(signal)
    const errors = cause.reasons.filter(Cause.isFailReason).map(({ error }) => error)
    const escalation = errors.find(isA(Escalation))
    if (escalation !== undefined) {
      if (!hasWords(escalation)) return this.#gaveUp("Its escalation is none.", cause)
      this.#frame.handled(failure, { by: "escalated" })
      return Effect.fail(escalated(failure, escalation))
    }
    const gaveUp = this.#gaveUp(errors.length === 0 ? "It has a fault of its own." : reason(errors[0]), cause)
    // Thrown, died, or interrupted itself.
    return errors.length === cause.reasons.length
      ? gaveUp
      : Effect.andThen(
        Defect.report(`The fixer of ${this.#subject.name} failed because of a fault of its own`, cause),
        gaveUp
      )
  }

  /** The call goes on as if there were no fixer. */
  #gaveUp(why: string, cause?: unknown): Effect.Effect<undefined> {
    return Effect.sync(() => this.#ignored(`The fixer of ${this.#subject.name} failed. ${why}`, cause))
  }

  /** What was wrong with the fixer is not lost. */
  #ignored(detail: string, cause: unknown): undefined {
    const fields = { code: "fixer_failed", transient: false, outcome: "not_executed" } as const
    this.#frame.handled(new ToolUnavailable({ ...fields, detail, cause }), { by: "ignored" })
  }
}
