/*
 * One fixer: how it is declared, and how it is asked.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import * as Arguments from "../Arguments.ts"
import type { Source } from "../CallEvent.ts"
import * as Deadline from "../Deadline.ts"
import * as Defect from "../Defect.ts"
import {
  Answered,
  Escalation,
  type FailedExecution,
  type Fixable,
  type Fixed,
  type Rejected,
  type Rejection
} from "../Rejection.ts"
import { ToolUnavailable } from "../ToolFailure.ts"
import { contained } from "./containment.ts"
import { copied, hasWords, reason, remade, written } from "./fixed.ts"
import { mentionsSecret } from "./form.ts"
import { Asked, current, type Frame } from "./frame.ts"
import { schemaOf } from "./jsonSchema.ts"
import { positive, whole } from "./limits.ts"
import { defectsOf, signalIn } from "./signal.ts"
import { isA } from "./stranger.ts"
import { excerpt, firstNotes, kind, list } from "./text.ts"
import { heed, present } from "./userCode.ts"
import { withinTime } from "./withinTime.ts"

/**
 * From rejected arguments to better ones. What it needs is needed by the tool; what it fails with stays below the model.
 *
 * @category models
 * @since 0.1.0
 */
export type Fixer<R = never> = (rejection: Rejection) => Fixed | Effect.Effect<Fixed, unknown, R>

/**
 * What can be said of a fixer.
 *
 * @category models
 * @since 0.1.0
 */
export interface FixerOptions<out On extends FailedExecution = FailedExecution> {
  /** What escalations and answers name as their source. Default: `the fixer of <tool>`. */
  readonly name?: string
  /** How often it is asked in one call, at most: a whole number from 1. Default: 1. */
  readonly tries?: number
  /** How long it may take in one call, all tries together. The `Deadline` counts, too. Default: 30 seconds. */
  readonly time?: Duration.Input
  /**
   * Which failed executions it is asked about, beside rejected arguments. It is asked only after an execution that certainly did nothing, or
   * of a tool that only reads; and after retries and fallbacks. Default: none.
   */
  readonly on?: ReadonlyArray<On>
}

/**
 * A fixer, or a fixer with its options.
 *
 * @category models
 * @since 0.1.0
 */
export type FixerChoice<R = never> = Fixer<R> | (FixerOptions & { readonly fix: Fixer<R> })

/**
 * Fixers by the names of tools, and `"*"` for all other tools.
 *
 * @category models
 * @since 0.1.0
 */
export type Fixers<Name extends string = string> = { readonly [N in Name | "*"]?: FixerChoice<unknown> }

/**
 * What an answer needs that may be an Effect.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Needed<Answer> = Answer extends Effect.Effect<unknown, unknown, infer R> ? R : never

/**
 * What fixers need; `never` where there are none, of which the compiler knows as little as of any.
 *
 * @category utility types
 * @since 0.1.0
 */
export type NeededBy<F> = {
  [Name in keyof F]-?: F[Name] extends
    ((...args: never) => infer Answer) | { readonly fix: (...args: never) => infer Answer } ? Known<Needed<Answer>>
    : never
}[keyof F]

type Known<R> = unknown extends R ? never : R

/** A fixer, and what it is asked about. */
export interface Fixing {
  readonly fixer: Fixer<unknown>
  readonly name: string | undefined
  readonly tries: number
  readonly time: Duration.Duration
  readonly on: ReadonlyArray<FailedExecution>
}

const executions: ReadonlyArray<FailedExecution> = ["SemanticGarbage", "ToolUnavailable", "defect"]

/** A fixer that was declared. What is not of its type throws. */
export const fixing = (choice: FixerChoice<unknown>, options?: FixerOptions): Fixing => {
  const given = typeof choice === "function" ? { ...options, fix: choice } : choice
  if (typeof given?.fix !== "function") throw new TypeError(`A fixer is a function; got ${kind(given?.fix ?? given)}.`)
  const { fix, name, on = [], time = "30 seconds", tries = 1 } = given
  if (name !== undefined && typeof name !== "string") {
    throw new TypeError(`A fixer's name is a text; got ${kind(name)}.`)
  }
  const stranger = Array.isArray(on) ? on.find((one) => !executions.includes(one)) : on
  if (stranger !== undefined) {
    throw new TypeError(`A fixer's 'on' is a list of ${list(executions)}; got ${excerpt(stranger)}.`)
  }
  return { fixer: fix, name, on, tries: whole("A fixer's limit of tries", tries), time: positive("fixer's time", time) }
}

// -----------------------------------------------------------------------------
// Asking it
// -----------------------------------------------------------------------------

/** What was rejected, and the object that its text was read as. */
export interface Read extends Rejected {
  readonly value: Schema.JsonObject | undefined
  /** Is that all that the text says? */
  readonly isWhole: boolean
}

/** Arguments that a fixer has answered with. */
export class Text {
  readonly text: string
  /** What it says of them, for the model. */
  readonly caveats: ReadonlyArray<string>

  constructor(text: string, caveats: ReadonlyArray<string>) {
    this.text = text
    this.caveats = caveats
  }
}

/** A value that a fixer has answered with. */
export class Given {
  readonly value: Schema.Json
  readonly source: Source
  readonly caveats: ReadonlyArray<string>

  constructor(value: Schema.Json, source: Source, caveats: ReadonlyArray<string>) {
    this.value = value
    this.source = source
    this.caveats = caveats
  }
}

/** What a fixer has said; `undefined` where it has nothing better. */
export type Said = Text | Given | Escalation | undefined

interface Subject {
  readonly name: string
  readonly parameters: Schema.ConstraintDecoder<unknown>
}

/** A fixer in one call. */
export class Asking {
  readonly #fixing: Fixing
  readonly #tool: Subject
  readonly #frame: Frame
  readonly #isSecret: boolean
  /** Whatever it was told so far, oldest first. */
  readonly told: Array<Read> = []
  #used = 0

  constructor(fixing: Fixing, tool: Subject, frame: Frame) {
    this.#fixing = fixing
    this.#tool = tool
    this.#frame = frame
    this.#isSecret = mentionsSecret(schemaOf(tool.parameters))
  }

  get name(): string {
    return this.#fixing.name ?? `the fixer of ${this.#tool.name}`
  }

  /**
   * How long it may take now, in milliseconds; 0 where it is not to be asked.
   *
   * @param left how much time the call has
   */
  timeLeft(about: FailedExecution | "rejection", left: number): number {
    const { on, time, tries } = this.#fixing
    if (this.told.length >= tries || about !== "rejection" && !on.includes(about)) return 0
    return Math.max(0, Math.min(Duration.toMillis(time) - this.#used, left))
  }

  /** @param number how often any fixer was asked in the call, this time included */
  ask(rejected: Read, millis: number, number: number): Effect.Effect<Said, never, unknown> {
    const before = this.told.map((one) => this.#shown(one))
    this.told.push(rejected)
    const { failure } = rejected
    return Effect.clockWith((clock) => {
      const start = clock.currentTimeMillisUnsafe()
      this.#frame.note({ _tag: "FixerAsked", fixer: this.name, code: failure.code, tries: this.told.length })
      return withinTime(this.#answer(rejected, before, number, start + millis), millis, {
        late: () => Effect.succeed(this.#gaveUp("It did not answer before the time was up.")),
        onLeft: (fiber) => this.#frame.live.running.add(fiber),
        who: `The fixer of ${this.#tool.name}`
      }).pipe(
        Effect.catchCause((cause) => this.#unanswered(cause, failure)),
        Effect.onExit(() =>
          Effect.sync(() => {
            this.#used += clock.currentTimeMillisUnsafe() - start
          })
        )
      )
    })
  }

  #answer(rejected: Read, before: ReadonlyArray<Rejected>, number: number, deadline: number) {
    // A tool that it runs is not the one that was called: it has a key and attempts of its own.
    const context = new Asked(this.#frame, number)
    const who = `The fixer of '${this.#tool.name}'`
    const asked = Effect.suspend(() => {
      const fixed = this.#fixing.fixer({
        ...this.#shown(rejected),
        tool: this.#tool.name,
        arguments: rejected.value === undefined || !this.#isShown(rejected) ? undefined : copied(rejected.value),
        schema: copied(schemaOf(this.#tool.parameters)),
        tries: this.told.length,
        before
      })
      return Effect.isEffect(fixed)
        ? Effect.map(contained(fixed), (fixed) => present(who, "succeeded with", fixed))
        : Effect.succeed(present(who, "returned", fixed))
    }).pipe(
      Effect.map((fixed): Said => {
        const { caveats, source = { name: this.name } } = context.state
        const notes = firstNotes(caveats.toArray())
        const answer = written(fixed)
        if (answer instanceof Answered) return new Given(answer.value, source, notes)
        return answer.length > Arguments.maxBytes
          ? this.#gaveUp("Its answer is too long.")
          : new Text(answer, notes)
      }),
      Effect.provideService(current, context)
    )
    return Effect.provideService(asked, Deadline.current, deadline)
  }

  // A copy: whatever a fixer does to it, the failure stays what it was.
  #shown({ failure, text }: Rejected): Rejected {
    const { retryAfter: _, ...json } = { retryAfter: undefined, ...failure }
    return { text: this.#isShown({ text }) ? text : "", failure: remade(failure, copied(json)) }
  }

  #isShown({ text }: Pick<Rejected, "text">): boolean {
    return !this.#isSecret && text.length <= Arguments.maxBytes
  }

  #unanswered(cause: Cause.Cause<unknown>, failure: Fixable): Effect.Effect<Said> {
    const { name } = this.#tool
    heed(`The fixer of '${name}'`, Cause.squash(cause))
    const signal = signalIn(defectsOf(cause))
    // What led to a stop would be lost with it; a question is asked again.
    if (signal?._tag === "StopSignal") this.#frame.handled(failure, { by: "stopped" })
    if (signal !== undefined) return Effect.die(signal)
    const errors = cause.reasons.filter(Cause.isFailReason).map(({ error }) => error)
    const escalation = errors.find(isA(Escalation))
    if (escalation !== undefined) {
      return Effect.succeed(hasWords(escalation) ? escalation : this.#gaveUp("Its escalation is none.", cause))
    }
    const gaveUp = this.#gaveUp(errors.length === 0 ? "It has a fault of its own." : reason(errors[0]), cause)
    // Thrown, died, or interrupted itself.
    return errors.length === cause.reasons.length
      ? Effect.succeed(gaveUp)
      : Effect.as(Defect.report(`The fixer of ${name} failed because of a fault of its own`, cause), gaveUp)
  }

  /** The call goes on as if there were no fixer. What was wrong with it is not lost. */
  #gaveUp(why: string, cause?: unknown): undefined {
    this.ignored(`The fixer of ${this.#tool.name} failed. ${why}`, cause)
  }

  ignored(detail: string, cause?: unknown): undefined {
    const fields = { code: "fixer_failed", transient: false, outcome: "not_executed" } as const
    this.#frame.handled(new ToolUnavailable({ ...fields, detail, cause }), { by: "ignored" })
  }

  /** Its answer is rejected, too. */
  rejects(why: string, failure: unknown): undefined {
    const { name } = this.#tool
    return this.ignored(`The answer of the fixer of ${name} was rejected${this.#isSecret ? "." : `: ${why}`}`, failure)
  }
}

/** The fixer of a tool among those of several, if there is one. A name that no tool has throws. */
export const fixingFor = (
  fixers: Fixers,
  names: ReadonlyArray<string>
): (name: string) => Fixing | undefined => {
  const given: unknown = fixers
  if (!Predicate.isObject(given)) throw new TypeError(`Fixers are an object of fixers by tool; got ${kind(given)}.`)
  const stranger = Object.keys(fixers).find((name) => name !== "*" && !names.includes(name))
  if (stranger !== undefined) {
    throw new TypeError(`There is no tool named '${stranger}' for its fixer; the tools are ${list(names)}.`)
  }
  const made = new Map(
    Object.entries(fixers).flatMap(([name, choice]) => choice === undefined ? [] : [[name, fixing(choice)] as const])
  )
  return (name) => made.get(name) ?? made.get("*")
}
