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
import { hasSecrets } from "@fallible/arguments"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type * as Arguments from "../../Arguments.ts"
import * as Deadline from "../../Deadline.ts"
import * as Defect from "../../Defect.ts"
import * as DispatchFailure from "../../DispatchFailure.ts"
import type { Escalation, Fixable } from "../../Rejection.ts"
import type { SideEffect } from "../../SideEffect.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import type { Repair } from "../../ToolOutcome.ts"
import { Undecoded } from "../arguments/decoding.ts"
import { encoderOf } from "../arguments/encoder.ts"
import { schemaOf } from "../arguments/jsonSchema.ts"
import type { CallFrame } from "../call/callFrame.ts"
import { current, type Frame, type Stage, type Verdict } from "../call/frame.ts"
import { isRejection, isWhole } from "../call/handlerEnding.ts"
import type { InnerFrame } from "../call/innerFrame.ts"
import { momentToAnswer } from "../call/timeLeft.ts"
import { heed } from "../call/userCode.ts"
import { isForeign } from "../error/guess.ts"
import { defectsOf, RejectionSignal, signalIn } from "../failure/signal.ts"
import { readable } from "../value/canonical.ts"
import { escalated } from "./fixerAnswer.ts"
import type { Fixing } from "./fixerOption.ts"
import { type Better, type Fault, FixerRounds, undecoded } from "./fixerRounds.ts"

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
}

// Nobody admits a run by hand.
const byHand = {
  admit: (params: unknown, _: unknown, admitted?: () => void) => {
    admitted?.()
    return Effect.succeed(params)
  },
  isCalled: Effect.succeed(true)
}

const none: ReadonlyArray<never> = []

/** What a fixer has better. */
type Found = Exclude<Better, Escalation>

/** `decode → admit → run`, and again with what fixers make of it. One for each call. */
export class CorrectionStage<R> implements Stage {
  readonly #tool: Correctable
  readonly #frame: CallFrame | InnerFrame
  readonly #way: Way<R>
  readonly #fixers: ReadonlyArray<FixerRounds>
  /** What has been run: nobody corrects anything to that. */
  readonly #ran: Array<unknown> = []
  verdict: Verdict | undefined = undefined
  /** Has nobody anything better than the arguments that are used now? */
  #isSettled = false

  constructor(tool: Correctable, frame: CallFrame | InnerFrame, fiber: Fiber.Fiber<unknown, unknown>, way: Way<R>) {
    const { fixers = none } = tool
    this.#tool = tool
    this.#frame = frame
    this.#way = way
    this.#fixers = fixers.length === 0 ? none : asking(fixers, tool, frame, fiber, this.#ran)
    if (fixers.length > 0) frame.stage = this
  }

  /** From a model's text. */
  from(
    text: string | undefined,
    decoded: Effect.Effect<Arguments.Decoded<unknown>, Undecoded | ToolFailure>
  ): Effect.Effect<unknown, ToolFailure, R> {
    // Eager, as decoding is.
    return Effect.flatMapEager(
      Effect.catchEager(
        Effect.mapEager(decoded, (decoded) => () => this.#admit(decoded, text)),
        (error) => Effect.succeed(() => error instanceof Undecoded ? this.#undecoded(error, text) : Effect.fail(error))
      ),
      (next) => next()
    )
  }

  #admit({ params, repairs }: Arguments.Decoded<unknown>, text: string | undefined) {
    this.#repaired(repairs)
    return Effect.flatMapEager(this.#way.admit(params, text), (params) => this.run(params))
  }

  /** From parameters. */
  run(params: unknown): Effect.Effect<unknown, ToolFailure, R> {
    const run = this.#way.run(params)
    return this.#fixers.length === 0 ? run : Effect.catchCause(run, (cause) => this.#failed(cause, params))
  }

  /** Is a handler's rejection held back from the policies around it? */
  hears(failure: ToolFailure, frame: Frame): boolean {
    // The arguments of a tool inside were the handler's own.
    return !this.#isSettled && isRejection(failure) && !isForeign(failure) && !frame.live.hasRejected && frame.isOpen &&
      this.#mayRunAgain("rejection") && this.#fixers.some((fixer) => fixer.timeLeft("rejection") > 0)
  }

  /** Nothing was done, for certain. What was refused may be done with other arguments, if a fixer is asked about that. */
  #mayRunAgain(about: Fault["about"]): boolean {
    const { certainty, whole: { state } } = this.#frame
    if (certainty !== "not_executed") return false
    return about === "rejection" ? this.#frame.whyNot() === undefined : state.executions > 0
  }

  // -----------------------------------------------------------------------------
  // What is to be corrected
  // -----------------------------------------------------------------------------

  #undecoded(error: Undecoded, text = ""): Effect.Effect<unknown, ToolFailure, R> {
    return this.#fix(undecoded(text, error), (failure) => {
      // What had to be repaired before anybody could see that it does not fit.
      this.#repaired(error.text?.repairs ?? none)
      return Effect.fail(failure)
    })
  }

  #failed(cause: Cause.Cause<ToolFailure>, params: unknown): Effect.Effect<unknown, ToolFailure, R> {
    const { about, failed, rejected } = faultIn(cause, this.#tool.name)
    if (failed === undefined) return Effect.failCause(cause)
    const otherwise = (failure: Fixable) => {
      if (rejected !== undefined) return this.#goOn(failure, rejected.params, params)
      return failure === failed ? Effect.failCause(cause) : Effect.fail(failure)
    }
    if (!this.#fixers.some((fixer) => fixer.timeLeft(about) > 0)) return otherwise(failed)
    this.#ran.push(params)
    const written = this.#frame.text
    return Effect.flatMap(jsonOf(this.#tool.parameters, params), (json) => {
      const value = isObject(json) ? json : undefined
      const text = written ?? (json === undefined ? "" : JSON.stringify(json))
      return this.#fix({ about, text, failure: failed, value, isWhole: false }, otherwise)
    })
  }

  /** The policies see a rejection that nobody could mend. */
  #goOn(failure: ToolFailure, rejected: unknown, params: unknown): Effect.Effect<unknown, ToolFailure, R> {
    this.verdict = { failure, params: rejected }
    this.#isSettled = true
    return Effect.onExit(this.run(params), () =>
      Effect.sync(() => {
        this.verdict = undefined
      }))
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
    return Effect.flatMap(this.#way.isCalled, (isCalled) => {
      if (!isCalled) return otherwise(failure)
      return Effect.flatMap(asNeeded<Fault | Found, R>(this.#ask(fault, 0)), (next) => {
        if (!this.#frame.isOpen) return Effect.interrupt
        if (next === fault) return otherwise(failure)
        const ended = "about" in next
          ? otherwise(next.failure)
          : next._tag === "Arguments"
          ? this.#again(next, failure)
          : this.#answered(next, failure)
        // Whoever wrote the tool is to know of its fault, whatever was made of it.
        return about === "defect" ? Effect.andThen(this.#reported(failure), ended) : ended
      })
    })
  }

  // From one fixer to the next, until one has something better. What one escalates, the next is told in its words.
  #ask(fault: Fault, index: number): Effect.Effect<Fault | Found, never, unknown> {
    const fixer = this.#fixers[index]
    if (fixer === undefined) return Effect.succeed(fault)
    return Effect.flatMap(fixer.better(fault), (better) => {
      if (better === undefined) return this.#ask(fault, index + 1)
      if (better._tag !== "Escalation") return Effect.succeed(better)
      this.#frame.handled(fault.failure, { by: "escalated" })
      return this.#ask({ ...fault, failure: escalated(fault.failure, better, fixer.name) }, index + 1)
    })
  }

  // They may be refused like a call's first ones; then nothing was run with them.
  #again(found: Found & { readonly _tag: "Arguments" }, failure: Fixable) {
    const { params, repairs, shown, text } = found
    let isAdmitted = false
    const admitted = this.#way.admit(params, text, () => {
      isAdmitted = true
      this.#isSettled = false
      this.#frame.adopt({ text, isSecret: shown === undefined }, params)
      this.#frame.note({ _tag: "ArgumentsCorrected", repairs: [fixed("used", found), ...repairs] })
      this.#frame.replaced(failure, { by: "fix" })
    })
    const refused = () =>
      Effect.sync(() => {
        if (isAdmitted) return
        this.#repaired([fixed("refused", found)])
        this.#frame.handled(failure, { by: "ignored" })
      })
    return Effect.flatMap(Effect.tapError(admitted, refused), (params) => this.run(params))
  }

  #answered({ caveats, source, value }: Found & { readonly _tag: "Value" }, failure: Fixable) {
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

  #repaired(repairs: ReadonlyArray<Repair>): void {
    if (repairs.length > 0) this.#frame.note({ _tag: "ArgumentsRepaired", repairs })
  }
}

// What the model is told of a correction.
const fixed = (what: "used" | "refused", { caveats, shown }: Found & { readonly _tag: "Arguments" }): Repair => {
  const told = `The arguments were corrected${shown === undefined ? "" : `; ${what} were ${shown}`}`
  return { kind: "fixed", path: [], note: [told, ...caveats].join(". ") }
}

// What a fixer needs, the tool needs, too.
const asNeeded = <A, R, E = never>(self: Effect.Effect<A, E, unknown>) => self as Effect.Effect<A, E, R>

const isObject = Schema.is(Schema.JsonObject)

/** The parameters as JSON, as far as that can be had. */
const jsonOf = (parameters: Schema.ConstraintDecoder<unknown>, params: unknown): Effect.Effect<unknown> =>
  hasSecrets(schemaOf(parameters))
    ? Effect.undefined
    : Effect.catchCause(
      Effect.suspend(() => encoderOf(parameters)(params)),
      () => Effect.sync(() => JSON.parse(readable(params) ?? "null"))
    )

/** What a run has ended with, if a fixer may be asked about that. */
interface Ended {
  readonly about: Fault["about"]
  readonly failed: Fixable | undefined
  /** What the handler has rejected, if it has. */
  readonly rejected?: RejectionSignal
}

const faultIn = (cause: Cause.Cause<ToolFailure>, tool: string): Ended => {
  const { reasons: [first, ...others] } = cause
  const signal = signalIn(defectsOf(cause))
  if (signal?._tag === "RejectionSignal") return { about: "rejection", failed: signal.failure, rejected: signal }
  if (signal !== undefined || first === undefined) return unfixable
  if ([first, ...others].every(Cause.isDieReason)) {
    return { about: "defect", failed: DispatchFailure.defect({ tool, outcome: undefined, cause }) }
  }
  const error = others.length === 0 && Cause.isFailReason(first) && isWhole(first.error) ? first.error : undefined
  return error?._tag === "SemanticGarbage" || error?._tag === "ToolUnavailable"
    ? { about: error._tag, failed: error }
    : unfixable
}

const unfixable: Ended = { about: "rejection", failed: undefined }

// The time is that of the call: what is inside of a timeout has less.
const asking = (
  fixers: ReadonlyArray<Fixing>,
  tool: Correctable,
  frame: Frame,
  fiber: Fiber.Fiber<unknown, unknown>,
  ran: ReadonlyArray<unknown>
): ReadonlyArray<FixerRounds> => {
  const clock = fiber.getRef(Clock.Clock)
  const deadline = fiber.getRef(Deadline.current)
  const call = {
    asked: 0,
    ran,
    get left() {
      // Half of it: what comes after the fixer takes its time, too.
      return (deadline - clock.currentTimeMillisUnsafe() - momentToAnswer) / 2
    }
  }
  return fixers.map((fixing, index) => new FixerRounds(fixing, tool, frame, call, index))
}

/** A tool's run by hand, with its fixers. It runs in a frame of its own. */
export const corrected = (tool: Correctable, run: Way<unknown>["run"]): Way<unknown>["run"] =>
  tool.fixers === undefined || tool.fixers.length === 0 ? run : (params) =>
    Effect.withFiber((fiber) => {
      const frame = asOwner(fiber.getRef(current))
      return new CorrectionStage(tool, frame, fiber, { ...byHand, run }).run(params)
    })

// Whoever runs a tool has given it one of these.
const asOwner = (frame: Frame) => frame as CallFrame | InnerFrame
