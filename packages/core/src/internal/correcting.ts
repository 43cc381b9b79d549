/*
 * The way of a call, with fixers:
 *
 *     text ─ decode ─ admit ─ run under all policies ─┬─ value, or another failure
 *       └──────┬──────────────────────────────────────┴─ rejected, or declared to be fixed
 *              └─ ask a fixer ─┬─ arguments ─ decode ─ admit ─ run …
 *                              ├─ a value, or a stop
 *                              └─ nothing better ─ the failure goes on as it was, or as the fixer puts it
 *
 * What a handler rejects leaves all policies unseen (`RejectionSignal`), so that they see what they would see if the model had sent the
 * corrected arguments at once. Where no fixer has anything better, they are gone through once more, and see the rejection (the stage's
 * verdict). The handler does not run for that, and neither a limit, a rate nor a breaker refuses it.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import * as Arguments from "../Arguments.ts"
import * as Deadline from "../Deadline.ts"
import * as Defect from "../Defect.ts"
import * as DispatchFailure from "../DispatchFailure.ts"
import type { FailedExecution, Fixable } from "../Rejection.ts"
import type { SideEffect } from "../SideEffect.ts"
import type { SchemaMismatch, ToolFailure } from "../ToolFailure.ts"
import type { Repair, Stage } from "../ToolOutcome.ts"
import { doneInAttempts, withoutNote } from "./callState.ts"
import { readable } from "./canonical.ts"
import { contained } from "./containment.ts"
import { nothing } from "./done.ts"
import { isRejection, isWhole } from "./ending.ts"
import { isForeign } from "./error/guess.ts"
import { escalated, isNothing, isPlain, isSame } from "./fixed.ts"
import { Asking, type Fixing, Given, type Read, Text } from "./fixer.ts"
import { mentionsSecret } from "./form.ts"
import { type Call, current, type Frame, type Inside, type Stage as FrameStage } from "./frame.ts"
import { schemaOf } from "./jsonSchema.ts"
import { encoderOf } from "./pages.ts"
import { defectsOf, RejectionSignal, signalIn } from "./signal.ts"
import { cut, excerpt, oneLine } from "./text.ts"
import { heed } from "./userCode.ts"

/** What is asked of a tool. */
export interface Correctable {
  readonly name: string
  readonly parameters: Schema.ConstraintDecoder<unknown>
  readonly success: Schema.ConstraintCodec<unknown, unknown>
  readonly sideEffect: SideEffect
  readonly fixers?: ReadonlyArray<Fixing>
}

/** What is around the corrections of a call. */
export interface Way<R> {
  readonly run: (params: unknown) => Effect.Effect<unknown, ToolFailure, R>
  /**
   * The parameters to run with; or why they are not.
   *
   * @param admitted told once they are
   */
  readonly admit: (
    params: unknown,
    text: string | undefined,
    admitted?: () => void
  ) => Effect.Effect<unknown, ToolFailure>
  /** Is the tool called at all now? Nobody corrects the arguments of what is not. */
  readonly isCalled: Effect.Effect<boolean>
  /** Told where the call is. */
  readonly enter: (stage: Stage) => void
}

/** Arguments that are to be corrected, or an execution that failed with them. */
interface Fault extends Read {
  readonly about: FailedExecution | "rejection"
  readonly failure: Fixable
  /** What was run with them, if anything was. */
  readonly params?: unknown
}

/** Better arguments. */
class Corrected {
  readonly params: unknown
  readonly text: string
  readonly repairs: ReadonlyArray<Repair>

  constructor(params: unknown, text: string, repairs: ReadonlyArray<Repair>) {
    this.params = params
    this.text = text
    this.repairs = repairs
  }
}

/** A value in place of the tool's. */
class Value {
  readonly value: unknown
  readonly given: Given

  constructor(value: unknown, given: Given) {
    this.value = value
    this.given = given
  }
}

/** What came of asking; a failure where nobody had anything better. */
type Next = Corrected | Value | Fixable

// Nobody admits a run by hand.
const byHand = {
  admit: (params: unknown, _: unknown, admitted?: () => void) => {
    admitted?.()
    return Effect.succeed(params)
  },
  isCalled: Effect.succeed(true),
  enter: () => {}
}

const none: ReadonlyArray<never> = []

/** `decode → admit → run`, and again with what fixers make of it. One for each call. */
export class Correcting<R> implements FrameStage {
  readonly #tool: Correctable
  readonly #frame: Call | Inside
  readonly #way: Way<R>
  readonly #fixers: ReadonlyArray<Asking>
  readonly #clock: Clock.Clock
  /** That of the call: what is inside of a timeout has less time. */
  readonly #deadline: number
  #asked = 0
  #verdict: ToolFailure | undefined = undefined
  #isKept = false
  /** Has nobody anything better than the arguments that are used now? */
  #isSettled = false

  constructor(tool: Correctable, frame: Call | Inside, fiber: Fiber.Fiber<unknown, unknown>, way: Way<R>) {
    const { fixers = none } = tool
    this.#tool = tool
    this.#frame = frame
    this.#clock = fiber.getRef(Clock.Clock)
    this.#deadline = fiber.getRef(Deadline.current)
    this.#way = way
    this.#fixers = fixers.length === 0 ? none : fixers.map((fixing) => new Asking(fixing, tool, frame))
    if (fixers.length > 0) frame.stage = this
  }

  /** From a model's text. */
  from(
    text: string | undefined,
    decoded: Effect.Effect<Arguments.Decoded<unknown>, Arguments.Undecoded | ToolFailure>
  ): Effect.Effect<unknown, ToolFailure, R> {
    // Eager, as decoding is.
    return Effect.flatMapEager(
      Effect.catchEager(
        Effect.mapEager(decoded, (decoded) => () => this.#admit(decoded, text)),
        (error) =>
          Effect.succeed(() => error instanceof Arguments.Undecoded ? this.#undecoded(error, text) : Effect.fail(error))
      ),
      (next) => next()
    )
  }

  #admit({ params, repairs }: Arguments.Decoded<unknown>, text: string | undefined) {
    this.#repaired(repairs)
    this.#way.enter("admit")
    return Effect.flatMapEager(this.#way.admit(params, text), (params) => this.run(params))
  }

  /** From parameters. */
  run(params: unknown): Effect.Effect<unknown, ToolFailure, R> {
    this.#way.enter("run")
    const run = this.#way.run(params)
    return this.#fixers.length === 0 ? run : Effect.catchCause(run, (cause) => this.#failed(cause, params))
  }

  /** Is a handler's rejection held back from the policies around it? */
  hears(failure: ToolFailure, frame: Frame): boolean {
    // The arguments of a tool inside were the handler's own.
    return !this.#isSettled && isRejection(failure) && !isForeign(failure) && !frame.live.hasRejected && frame.isOpen &&
      this.#mayRunAgain("rejection") && this.#fixers.some((fixer) => fixer.timeLeft("rejection", this.#left) > 0)
  }

  get hasVerdict(): boolean {
    return this.#verdict !== undefined
  }

  takeVerdict(): ToolFailure | undefined {
    const verdict = this.#verdict
    if (!this.#isKept) this.#verdict = undefined
    return verdict
  }

  keepVerdict(): void {
    this.#isKept = true
  }

  get #left(): number {
    return this.#deadline - this.#clock.currentTimeMillisUnsafe() - Deadline.momentToAnswer
  }

  /** Nothing may have been done, and nothing that acts may still run. */
  #mayRunAgain(about: Fault["about"]): boolean {
    const { certainty, whole: { state } } = this.#frame
    const why = this.#frame.whyNot()
    if (about === "rejection") return why === undefined && (!this.#frame.acts || doneInAttempts(state) === nothing)
    // What was refused may be done with other arguments.
    return (why === undefined || why === "refused") && certainty === "not_executed" && state.executions > 0
  }

  // -----------------------------------------------------------------------------
  // What is to be corrected
  // -----------------------------------------------------------------------------

  #undecoded({ failure, parsed }: Arguments.Undecoded, text = ""): Effect.Effect<unknown, ToolFailure, R> {
    const isWhole = parsed?.isExact === true && parsed.repairs.length === 0
    return this.#fix({ about: "rejection", text, failure, value: parsed?.value, isWhole }, (failure) => {
      // What had to be repaired before anybody could see that it does not fit.
      this.#repaired(parsed?.repairs ?? none)
      return Effect.fail(failure)
    })
  }

  #failed(cause: Cause.Cause<ToolFailure>, params: unknown): Effect.Effect<unknown, ToolFailure, R> {
    const signal = signalIn(defectsOf(cause))
    if (signal?._tag === "RejectionSignal") {
      return this.#ran("rejection", signal.failure, params, (failure) => this.#goOn(failure, params))
    }
    const about = signal === undefined ? executionIn(cause) : undefined
    if (about === undefined) return Effect.failCause(cause)
    const failed = fixableIn(cause) ?? DispatchFailure.defect({ tool: this.#tool.name, outcome: undefined, cause })
    return this.#ran(
      about,
      failed,
      params,
      (failure) => failure === failed ? Effect.failCause(cause) : Effect.fail(failure)
    )
  }

  /** The policies see a rejection that nobody could mend. */
  #goOn(failure: ToolFailure, params: unknown): Effect.Effect<unknown, ToolFailure, R> {
    this.#verdict = failure
    this.#isSettled = true
    return Effect.onExit(this.run(params), () =>
      Effect.sync(() => {
        this.#verdict = undefined
        this.#isKept = false
      }))
  }

  #ran(
    about: Fault["about"],
    failure: Fixable,
    params: unknown,
    otherwise: (failure: Fixable) => Effect.Effect<unknown, ToolFailure, R>
  ): Effect.Effect<unknown, ToolFailure, R> {
    const written = this.#frame.text
    return Effect.flatMap(jsonOf(this.#tool.parameters, params), (json) => {
      const value = isObject(json) ? json : undefined
      const text = written ?? (json === undefined ? "" : JSON.stringify(json))
      return this.#fix({ about, text, failure, value, isWhole: false, params }, otherwise)
    })
  }

  // -----------------------------------------------------------------------------
  // Correcting it
  // -----------------------------------------------------------------------------

  #fix(
    fault: Fault,
    otherwise: (failure: Fixable) => Effect.Effect<unknown, ToolFailure, R>
  ): Effect.Effect<unknown, ToolFailure, R> {
    const { about, failure } = fault
    if (this.#fixers.length === 0 || !this.#mayRunAgain(about)) return otherwise(failure)
    return Effect.flatMap(
      this.#way.isCalled,
      (isCalled) =>
        !isCalled ? otherwise(failure) : Effect.flatMap(asNeeded<Next, R>(this.#ask(fault, 0)), (next) => {
          if (!this.#frame.isOpen) return Effect.interrupt
          if (next === failure) return otherwise(failure)
          const ended = next instanceof Corrected
            ? this.#again(next, failure)
            : next instanceof Value
            ? this.#valued(next, failure)
            : otherwise(next)
          // Whoever wrote the tool is to know of its fault, whatever was made of it.
          return about === "defect" ? Effect.andThen(this.#reported(failure), ended) : ended
        })
    )
  }

  // From one fixer to the next, until one has something better.
  #ask(fault: Fault, index: number): Effect.Effect<Next, never, unknown> {
    const fixer = this.#fixers[index]
    return fixer === undefined ? Effect.succeed(fault.failure) : this.#askOne(fixer, index, fault, fault)
  }

  /** @param last what was rejected last: an answer of the fixer's own, where it has tries left */
  #askOne(fixer: Asking, index: number, fault: Fault, last: Read): Effect.Effect<Next, never, unknown> {
    const next = (failure = fault.failure) => this.#ask({ ...fault, failure }, index + 1)
    return Effect.suspend(() => {
      const millis = fixer.timeLeft(fault.about, this.#left)
      if (millis === 0) return next()
      return Effect.flatMap(fixer.ask(last, millis, ++this.#asked), (said) => {
        if (said === undefined) return next()
        if (said instanceof Given) return this.#value(fixer, said, next)
        if (said instanceof Text) {
          return this.#text(fixer, said, fault, next, (read) => this.#askOne(fixer, index, fault, read))
        }
        this.#frame.handled(fault.failure, { by: "escalated" })
        return next(escalated(fault.failure, said, fixer.name))
      })
    })
  }

  #text(
    fixer: Asking,
    { caveats, text }: Text,
    { params: failed }: Fault,
    next: () => Effect.Effect<Next, never, unknown>,
    again: (read: Read) => Effect.Effect<Next, never, unknown>
  ): Effect.Effect<Next, never, unknown> {
    if (isNothing(text) || fixer.told.some((known) => known.text.trim() === text.trim())) return next()
    return Effect.matchEffect(Arguments.attempt(text, this.#tool), {
      onFailure: ({ failure, parsed }) => {
        const value = parsed?.value
        const isWhole = parsed?.isExact === true && parsed.repairs.length === 0
        if (fixer.told.some((known) => known.isWhole && isSame(known.value, value))) return next()
        fixer.rejects(failure.detail, failure)
        return again({ text, failure, value, isWhole })
      },
      onSuccess: ({ params, repairs }) => {
        // Written in another way, they are still the same, and would fail again.
        if (isSame(params, failed)) return next()
        const used = isPlain(params) ? excerpt(params, 400) : cut(oneLine(text), 400)
        const told = `The arguments were corrected${this.#isSecret ? "" : `; used were ${used}`}`
        const fixed: Repair = { kind: "fixed", path: [], note: [told, ...caveats].join(". ") }
        return Effect.succeed(new Corrected(params, text, [fixed, ...repairs.map(withoutNote)]))
      }
    })
  }

  #value(fixer: Asking, given: Given, next: () => Effect.Effect<Next, never, unknown>) {
    return Effect.matchCauseEffect(decoderOf(this.#tool.success)(given.value), {
      onFailure: (cause) => {
        fixer.ignored(`The answer of the fixer of ${this.#tool.name} is no result of the tool.`, cause)
        return next()
      },
      onSuccess: (value) => Effect.succeed(new Value(value, given))
    })
  }

  // They may be refused like a call's first ones; then nothing was run with them.
  #again({ params, repairs, text }: Corrected, failure: Fixable): Effect.Effect<unknown, ToolFailure, R> {
    let isAdmitted = false
    this.#way.enter("admit")
    const admitted = this.#way.admit(params, text, () => {
      isAdmitted = true
      this.#isSettled = false
      this.#frame.adopt({ text, isSecret: this.#isSecret }, params)
      this.#frame.note({ _tag: "ArgumentsCorrected", repairs })
      this.#frame.replaced(failure, { by: "fix" })
    })
    return Effect.flatMap(
      Effect.tapError(admitted, () => Effect.sync(() => isAdmitted || this.#frame.handled(failure, { by: "ignored" }))),
      (params) => this.run(params)
    )
  }

  #valued({ given: { caveats, source }, value }: Value, failure: Fixable): Effect.Effect<unknown> {
    this.#frame.replaced(failure, { by: "answered" })
    this.#frame.note({ _tag: "SourceNamed", ...source })
    for (const text of caveats) this.#frame.note({ _tag: "CaveatAdded", text })
    return Effect.succeed(value)
  }

  #reported({ cause }: Fixable): Effect.Effect<void> {
    const defects = Cause.isCause(cause) ? cause : Cause.die(cause)
    for (const defect of defectsOf(defects)) heed(`The tool '${this.#tool.name}'`, defect)
    return Defect.report(`The tool ${this.#tool.name} failed because of a fault of its own`, defects)
  }

  get #isSecret(): boolean {
    return mentionsSecret(schemaOf(this.#tool.parameters))
  }

  #repaired(repairs: ReadonlyArray<Repair>): void {
    if (repairs.length > 0) this.#frame.note({ _tag: "ArgumentsRepaired", repairs })
  }
}

// What a fixer needs, the tool needs, too.
const asNeeded = <A, R>(self: Effect.Effect<A, never, unknown>) => self as Effect.Effect<A, never, R>

const isObject = Schema.is(Schema.JsonObject)

/** The parameters as JSON, as far as that can be had. */
const jsonOf = (parameters: Schema.ConstraintDecoder<unknown>, params: unknown): Effect.Effect<unknown> =>
  mentionsSecret(schemaOf(parameters))
    ? Effect.undefined
    : Effect.catchCause(
      Effect.suspend(() => encoderOf(parameters)(params)),
      () => Effect.sync(() => JSON.parse(readable(params) ?? "null"))
    )

/** The failure that a run has ended with, if a fixer may be asked about such a one. */
const fixableIn = ({ reasons }: Cause.Cause<ToolFailure>): Exclude<Fixable, SchemaMismatch> | undefined => {
  const [first] = reasons
  if (reasons.length !== 1 || first === undefined || !Cause.isFailReason(first) || !isWhole(first.error)) {
    return undefined
  }
  const { error } = first
  return error._tag === "SemanticGarbage" || error._tag === "ToolUnavailable" ? error : undefined
}

const executionIn = (cause: Cause.Cause<ToolFailure>): FailedExecution | undefined =>
  fixableIn(cause)?._tag ?? (cause.reasons.length > 0 && cause.reasons.every(Cause.isDieReason) ? "defect" : undefined)

const decoderOf = (success: Schema.ConstraintCodec<unknown, unknown>) => {
  const decode = SchemaParser.decodeUnknownEffect(Schema.toCodecJson(success))
  return (value: Schema.Json) => contained(decode(value))
}

/** What its arguments were corrected from leaves a handler so, where a fixer may be asked. See the head of this file. */
export const heldBack =
  <R>(handler: (params: unknown) => Effect.Effect<unknown, ToolFailure, R>) =>
  (params: unknown): Effect.Effect<unknown, ToolFailure, R> =>
    Effect.withFiber((fiber) => {
      const frame = fiber.getRef(current)
      const { stage } = frame
      if (stage === undefined) return handler(params)
      const verdict = stage.takeVerdict()
      return verdict !== undefined ? Effect.fail(verdict) : Effect.catch(
        handler(params),
        (failure) =>
          isRejection(failure) && stage.hears(failure, frame)
            ? Effect.die(new RejectionSignal(failure))
            : Effect.fail(failure)
      )
    })

/**
 * What only lets a call through does not keep a rejection from what is around it. Who passes it by does not run the handler.
 *
 * @param learns does it learn from how a call ends? Then it is passed by only where it refuses the call
 */
export const lettingThrough = <R>(
  around: (params: unknown) => Effect.Effect<unknown, ToolFailure, R>,
  run: (params: unknown) => Effect.Effect<unknown, ToolFailure, R>,
  learns: boolean
) =>
(params: unknown): Effect.Effect<unknown, ToolFailure, R> =>
  Effect.withFiber((fiber) => {
    const { stage } = fiber.getRef(current)
    if (stage === undefined || !stage.hasVerdict) return around(params)
    const passed = Effect.suspend(() => {
      stage.keepVerdict()
      return run(params)
    })
    return learns
      ? Effect.catch(around(params), (failure) => stage.hasVerdict ? passed : Effect.fail(failure))
      : passed
  })

/** A tool's run by hand, with its fixers. It runs in a frame of its own. */
export const corrected = (tool: Correctable, run: Way<unknown>["run"]): Way<unknown>["run"] =>
  tool.fixers === undefined || tool.fixers.length === 0 ? run : (params) =>
    Effect.withFiber((fiber) => {
      const frame = asOwner(fiber.getRef(current))
      return new Correcting(tool, frame, fiber, { ...byHand, run }).run(params)
    })

// Whoever runs a tool has given it one of these.
const asOwner = (frame: Frame) => frame as Call | Inside
