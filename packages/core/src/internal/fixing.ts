import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Arguments from "../Arguments.ts"
import * as Deadline from "../Deadline.ts"
import * as Defect from "../Defect.ts"
import { Escalation, type Fixed, type Rejected, type Rejection } from "../Rejection.ts"
import type { SideEffect } from "../SideEffect.ts"
import * as ToolCall from "../ToolCall.ts"
import { SchemaMismatch, type ToolFailure, ToolUnavailable } from "../ToolFailure.ts"
import type { Repair } from "../ToolOutcome.ts"
import { canonical } from "./canonical.ts"
import { encoderOf } from "./pages.ts"
import { Nested } from "./relay.ts"
import { StopSignal, SuspendSignal } from "./signal.ts"
import { cut, excerpt, oneLine } from "./text.ts"
import { withinTime } from "./withinTime.ts"

/*
 * One fixer, in two places:
 *
 *     decode:  text ─ decode ─┬─ parameters
 *                             └─ rejected ─ ask ─ decode ─┬─ parameters
 *                                                         └─ rejected ─ …
 *     run:     parameters ─ run ─┬─ value, or another failure
 *                                └─ rejected ─ ask ─ decode ─ run ─ …
 *
 * They share what the call remembers (`State`), so that `tries` counts for the call, whichever way its arguments took.
 */

/** A fixer, and what it is asked for. */
export interface Fixing<R> {
  readonly fixer: (rejection: Rejection) => Fixed | Effect.Effect<Fixed, unknown, R>
  readonly tries: number
}

interface Subject {
  readonly name: string
  readonly sideEffect: SideEffect
  readonly parameters: Schema.ConstraintDecoder<unknown>
}

/** What a fix remembers of a call, for both places and for every attempt. */
class State {
  tries = 0
  /** Whatever was rejected so far, oldest first. */
  rejected: ReadonlyArray<Rejected> = []
  /** Parameters that the handler rejected, and the last ones that came for them. */
  corrected: { readonly from: unknown; readonly to: unknown } | undefined = undefined
}

const newState = () => new State()

// -----------------------------------------------------------------------------
// The two places
// -----------------------------------------------------------------------------

/** Decoding, with a fixer for what is rejected. */
export const fixedDecoding = <R, R0>(
  fixing: Fixing<R>,
  decode: (text: string | undefined) => Effect.Effect<Decoded, SchemaMismatch, R0>,
  subject: Subject
) =>
(text: string | undefined): Effect.Effect<Decoded, SchemaMismatch, R | R0> =>
  Effect.catchEager(decode(text), (failure) =>
    Effect.flatMap(ToolCall.current, (call) => {
      const fix = new Fix(fixing, subject, call)
      return Effect.map(fix.correct({ text: text ?? "", failure }), (params) => ({ params, repairs: [] }))
    }))

interface Decoded {
  readonly params: unknown
  readonly repairs: ReadonlyArray<Repair>
}

/** A run, with a fixer for arguments that the handler rejects. */
export const fixedRun = <R, R0>(
  fixing: Fixing<R>,
  run: (params: unknown) => Effect.Effect<unknown, ToolFailure, R0>,
  subject: Subject
) =>
(first: unknown): Effect.Effect<unknown, ToolFailure, R | R0> =>
  Effect.flatMap(ToolCall.current, (call) => {
    const fix = new Fix(fixing, subject, call)
    const from = (params: unknown): Effect.Effect<unknown, ToolFailure, R | R0> =>
      Effect.catch(run(params), (failure) => {
        // The handler says that it did nothing with these arguments. What came before them in this call does not say so.
        if (!isRejection(failure) || fix.mayHaveActed) return Effect.fail(failure)
        return Effect.flatMap(fix.textOf(params), (text) =>
          Effect.flatMap(fix.correct({ text, failure }, params), (to) => {
            fix.state.corrected = { from: first, to }
            return from(to)
          }))
      })
    // A retry around it begins with the same parameters once more: what they were corrected to is known.
    const known = fix.state.corrected
    return from(known !== undefined && known.from === first ? known.to : first)
  })

const isRejection = (failure: ToolFailure): failure is SchemaMismatch =>
  failure._tag === "SchemaMismatch" && failure.side === "arguments"

// -----------------------------------------------------------------------------
// Asking for better arguments
// -----------------------------------------------------------------------------

/** The fix of one call. */
class Fix<R> {
  readonly state: State
  readonly #fixing: Fixing<R>
  readonly #subject: Subject
  readonly #call: ToolCall.Current

  constructor(fixing: Fixing<R>, subject: Subject, call: ToolCall.Current) {
    this.#fixing = fixing
    this.#subject = subject
    this.#call = call
    this.state = call.remembered(fixing, newState)
  }

  get mayHaveActed(): boolean {
    return this.#subject.sideEffect !== "none" && this.#call.mayHaveActed
  }

  /** What the model wrote, or a fixer; else what the parameters come to. */
  textOf(params: unknown): Effect.Effect<string> {
    const { written } = this.#call
    if (written !== undefined) return Effect.succeed(written)
    if (holdsSecret(params)) return Effect.succeed("")
    return Effect.suspend(() => encoderOf(this.#subject.parameters)(params)).pipe(
      Effect.map((json) => JSON.stringify(json)),
      Effect.catchCause(() => Effect.succeed(canonical(params) ?? ""))
    )
  }

  /**
   * Asks until the answer can be decoded. When there is none, the failure goes on that was there, or what the fixer says of it.
   *
   * @param params what the handler rejected, if it did
   */
  correct(rejected: Rejected, params?: unknown): Effect.Effect<unknown, SchemaMismatch, R> {
    const call = this.#call
    const { failure } = rejected
    const from = (last: Rejected): Effect.Effect<unknown, SchemaMismatch, R> =>
      Effect.flatMap(this.#ask(last, failure), (text) => {
        if (text === undefined) return Effect.fail(failure)
        return Effect.matchEffect(Arguments.decode(text, this.#subject), {
          onFailure: (again) => {
            call.heard(again, "fix")
            return from({ text, failure: again })
          },
          onSuccess: (decoded) => {
            // Written in another way, they are still the same, and would be rejected again.
            if (params !== undefined && isSame(decoded.params, params)) return Effect.fail(failure)
            call.handled(failure, "fix")
            call.corrected(text, told(text, decoded.params))
            return Effect.succeed(decoded.params)
          }
        })
      })
    return from(rejected)
  }

  /** The text of new arguments, if there are any; or the failure that there was, as the fixer puts it. */
  #ask(rejected: Rejected, failure: SchemaMismatch): Effect.Effect<string | undefined, SchemaMismatch, R> {
    return Effect.flatMap(Deadline.timeToAnswer, (left) => {
      const { state } = this
      if (state.tries === this.#fixing.tries || Duration.isZero(left)) return Effect.succeed(undefined)
      const before = state.rejected
      state.tries++
      state.rejected = [...before, rejected]
      return Effect.matchCauseEffect(this.#answer(rejected, before, left), {
        onFailure: (cause) => this.#unanswered(cause, failure),
        onSuccess: (answer) => {
          if (Option.isNone(answer)) return this.#gaveUp("It did not answer before the time was up.")
          const text = answer.value
          const isKnown = state.rejected.some((known) => meaning(known.text) === meaning(text))
          return Effect.succeed(isKnown || isNothing.test(text) ? undefined : text)
        }
      })
    })
  }

  #answer(rejected: Rejected, before: ReadonlyArray<Rejected>, left: Duration.Duration) {
    const { name, parameters } = this.#subject
    const answer = Effect.suspend(() => {
      const fixed = this.#fixing.fixer({
        ...rejected,
        tool: name,
        arguments: Result.getOrUndefined(Arguments.parse(rejected.text))?.value,
        schema: Arguments.jsonSchema(parameters),
        tries: this.state.tries,
        before
      })
      return Effect.isEffect(fixed) ? fixed : Effect.succeed(fixed)
    })
    // A tool that it runs is not the one that was called: it has a key and attempts of its own. No tool's name has a plus in it.
    const key = `${this.#call.idempotencyKey}/fix+${this.state.tries}`
    const apart = Effect.provideService(
      Effect.map(answer, written),
      ToolCall.current,
      new Nested(this.#call, key, true)
    )
    return Duration.isFinite(left)
      ? withinTime(apart, left, (fiber) => this.#call.stragglers.add(fiber))
      : Effect.map(apart, Option.some)
  }

  #unanswered(cause: Cause.Cause<unknown>, failure: SchemaMismatch): Effect.Effect<undefined, SchemaMismatch> {
    const defects = cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect)
    const signal = defects.find((defect) => defect instanceof StopSignal) ??
      defects.find((defect) => defect instanceof SuspendSignal)
    if (signal !== undefined) {
      // What led to a stop would be lost with it; a question is asked again.
      if (signal instanceof StopSignal) this.#call.heard(failure, "fix")
      return Effect.die(signal)
    }
    const errors = cause.reasons.filter(Cause.isFailReason).map(({ error }) => error)
    const escalation = errors.find((error) => error instanceof Escalation)
    if (escalation !== undefined) {
      this.#call.heard(failure, "fix")
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

  /** The call goes on as if there were no fixer; but that it failed is not lost. */
  #gaveUp(why: string, cause?: unknown): Effect.Effect<undefined> {
    return Effect.sync(() => {
      this.#call.heard(
        new ToolUnavailable({
          code: "fixer_failed",
          detail: `The fixer of ${this.#subject.name} failed. ${why}`,
          transient: false,
          outcome: "not_executed",
          cause
        }),
        "fix"
      )
      return undefined
    })
  }
}

// -----------------------------------------------------------------------------
// What was answered
// -----------------------------------------------------------------------------

// `{}` says that a call has no arguments. Nothing at all says nothing, though of a model it is taken for the same.
const isNothing = /^\s*(?:null|\[\s*\])?\s*$/

// The compiler keeps an answer to what it may be; a program without types does not.
const written = (fixed: unknown): string => {
  if (typeof fixed === "string") return fixed
  if (!Predicate.isObject(fixed) || Predicate.isPromiseLike(fixed)) {
    throw new TypeError("A fixer answers with the arguments as a text or an object, or with an Effect of them.")
  }
  return JSON.stringify(fixed)
}

/** The same for texts that say the same. */
const meaning = (text: string): string =>
  Result.match(Arguments.parse(text), {
    onSuccess: ({ value }) => canonical(value) ?? text,
    onFailure: () => text.trim()
  })

const isSame = (a: unknown, b: unknown): boolean => {
  const known = canonical(a)
  return known !== undefined && known === canonical(b)
}

const told = (text: string, params: unknown): string => {
  const used = Result.getOrUndefined(Arguments.parse(text))?.value
  return used === undefined || holdsSecret(params)
    ? "The arguments were corrected."
    : `The arguments were corrected; used were ${excerpt(used, 400)}`
}

// What is wrong stays what it was, for a program; what is said of it, and what to do, is the fixer's to say.
const escalated = (failure: SchemaMismatch, { detail, hint, severity }: Escalation): SchemaMismatch => {
  const { hint: _, severity: __, ...rest } = failure
  return new SchemaMismatch({
    ...rest,
    detail,
    ...(hint === undefined ? {} : { hint }),
    ...(severity === undefined ? {} : { severity }),
    cause: failure.cause
  })
}

const reason = (error: unknown): string => {
  const text = Predicate.hasProperty(error, "detail") && typeof error.detail === "string"
    ? error.detail
    : error instanceof Error
    ? error.message
    : excerpt(error)
  return cut(oneLine(text), 300)
}

/** Is there anything in it that must not be shown? */
const holdsSecret = (value: unknown, seen = new Set<unknown>()): boolean => {
  if (Redacted.isRedacted(value)) return true
  if (!Predicate.isObjectOrArray(value) || seen.has(value)) return false
  seen.add(value)
  const inner: Iterable<unknown> = value instanceof Map || value instanceof Set ? value : Object.values(value)
  for (const item of inner) if (holdsSecret(item, seen)) return true
  return false
}
