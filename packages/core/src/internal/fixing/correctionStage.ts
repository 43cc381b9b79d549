/*
 * The path of a call whose tool has fixers, which are functions that correct rejected arguments:
 *
 *     text ─ decode ─ admit ─ run under all policies ─┬─ value, or another failure
 *       └──────┬──────────────────────────────────────┴─ a rejection, or a failure that a fixer is asked about
 *              └─ ask a fixer ─┬─ arguments ─ decode ─ admit ─ run …
 *                              ├─ a value, or a stop
 *                              └─ no answer ─ the failure stays as it was, or gets the fixer's words
 *
 * The policies do not see a handler's rejection (`RejectionSignal`). They see only what they would have
 * seen if the model had sent the corrected arguments in the first place. If no fixer has an answer, the
 * call goes through the policies once more, so that they see the rejection (the stage's verdict). On this
 * extra pass the handler does not run, and no concurrency limit, rate limit or breaker refuses the call.
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
import { isForeign } from "../anyError/provenance.ts"
import { Undecoded } from "../arguments/decoding.ts"
import { encoderOf } from "../arguments/encoder.ts"
import { schemaOf } from "../arguments/jsonSchema.ts"
import type { CallFrame } from "../call/callFrame.ts"
import { current, type Frame, type Stage, type Verdict } from "../call/frame.ts"
import { isRejection, isWhole } from "../call/handlerEnding.ts"
import type { InnerFrame } from "../call/innerFrames.ts"
import { heed } from "../call/runUserCode.ts"
import { momentToAnswer } from "../call/timeLeft.ts"
import { defectsOf, type RejectionSignal, signalIn } from "../failure/controlSignal.ts"
import { readable } from "../value/canonical.ts"
import { escalated } from "./fixerAnswer.ts"
import type { Fixing } from "./fixerOption.ts"
import { type Better, type Fault, FixerRounds, undecoded } from "./fixerRounds.ts"

/** The fields of a tool that corrections need. */
export interface Correctable {
  readonly name: string
  readonly parameters: Schema.ConstraintDecoder<unknown>
  readonly success: Schema.ConstraintCodec<unknown, unknown>
  readonly sideEffect: SideEffect
  readonly fixers?: ReadonlyArray<Fixing>
}

/** How a call is admitted and run. */
export interface Way<R> {
  readonly run: (params: unknown) => Effect.Effect<unknown, ToolFailure, R>
  /**
   * Returns the parameters to run with. Fails if the call is refused.
   *
   * @param admitted called as soon as the parameters are admitted
   */
  readonly admit: (
    params: unknown,
    text: string | undefined,
    admitted?: () => void
  ) => Effect.Effect<unknown, ToolFailure>
  /** Whether the tool may be called now. If not, no fixer is asked. */
  readonly isCalled: Effect.Effect<boolean>
}

// A direct `tool.run`, without dispatch, is always admitted.
const directRun = {
  admit: (params: unknown, _: unknown, admitted?: () => void) => {
    admitted?.()
    return Effect.succeed(params)
  },
  isCalled: Effect.succeed(true)
}

const none: ReadonlyArray<never> = []

/** A fixer's answer: arguments or a value. */
type Answer = Exclude<Better, Escalation>

/** Runs `decode → admit → run`, and repeats it with the corrections of fixers. Each call has its own stage. */
export class CorrectionStage<R> implements Stage {
  readonly #tool: Correctable
  readonly #frame: CallFrame | InnerFrame
  readonly #way: Way<R>
  readonly #fixers: ReadonlyArray<FixerRounds>
  /** The parameters that have already run. A correction that results in parameters equal to these is ignored. */
  readonly #ran: Array<unknown> = []
  verdict: Verdict | undefined = undefined
  /** True if no fixer has better arguments than the current ones. */
  #isSettled = false

  constructor(tool: Correctable, frame: CallFrame | InnerFrame, fiber: Fiber.Fiber<unknown, unknown>, way: Way<R>) {
    const { fixers = none } = tool
    this.#tool = tool
    this.#frame = frame
    this.#way = way
    this.#fixers = fixers.length === 0 ? none : fixerRoundsOf(fixers, tool, frame, fiber, this.#ran)
    if (fixers.length > 0) frame.stage = this
  }

  /** Decodes, admits and runs the arguments in a model's text. */
  from(
    text: string | undefined,
    decoded: Effect.Effect<Arguments.Decoded<unknown>, Undecoded | ToolFailure>
  ): Effect.Effect<unknown, ToolFailure, R> {
    // Eager, like decoding: synchronous work takes no extra step of the runtime.
    return Effect.flatMapEager(
      Effect.catchEager(
        Effect.mapEager(decoded, (decoded) => () => this.#admit(decoded, text)),
        (error) =>
          Effect.succeed(() => error instanceof Undecoded ? this.#fixUndecoded(error, text) : Effect.fail(error))
      ),
      (next) => next()
    )
  }

  #admit({ params, repairs }: Arguments.Decoded<unknown>, text: string | undefined) {
    this.#noteRepairs(repairs)
    return Effect.flatMapEager(this.#way.admit(params, text), (params) => this.run(params))
  }

  /** Runs admitted parameters. */
  run(params: unknown): Effect.Effect<unknown, ToolFailure, R> {
    const run = this.#way.run(params)
    return this.#fixers.length === 0 ? run : Effect.catchCause(run, (cause) => this.#fixFailure(cause, params))
  }

  /** Returns whether a handler's rejection is held back, so that the policies around the handler do not see it. */
  hears(failure: ToolFailure, frame: Frame): boolean {
    // A foreign rejection is about the arguments of an inner tool. The handler made them, so they are
    // not this call's own.
    return !this.#isSettled && isRejection(failure) && !isForeign(failure) && !frame.live.hasRejected && frame.isOpen &&
      this.#mayRunAgain("rejection") && this.#fixers.some((fixer) => fixer.timeLeft("rejection") > 0)
  }

  /**
   * Returns whether the call may run again with other arguments. In any case, it must be certain that
   * the call did nothing. In addition, after a rejection the handler must be allowed to start; after
   * any other failure, the handler must have run.
   */
  #mayRunAgain(about: Fault["about"]): boolean {
    const { certainty, whole: { state } } = this.#frame
    if (certainty !== "not_executed") return false
    return about === "rejection" ? this.#frame.whyNot() === undefined : state.executions > 0
  }

  // -----------------------------------------------------------------------------
  // Failures to correct
  // -----------------------------------------------------------------------------

  #fixUndecoded(error: Undecoded, text = ""): Effect.Effect<unknown, ToolFailure, R> {
    return this.#fix(undecoded(text, error), (failure) => {
      // These repairs made the text readable, although its value then failed to decode.
      this.#noteRepairs(error.text?.repairs ?? none)
      return Effect.fail(failure)
    })
  }

  #fixFailure(cause: Cause.Cause<ToolFailure>, params: unknown): Effect.Effect<unknown, ToolFailure, R> {
    const { about, failed, rejected } = faultIn(cause, this.#tool.name)
    if (failed === undefined) return Effect.failCause(cause)
    const otherwise = (failure: Fixable) => {
      if (rejected !== undefined) return this.#showRejection(failure, rejected.params, params)
      return failure === failed ? Effect.failCause(cause) : Effect.fail(failure)
    }
    if (!this.#fixers.some((fixer) => fixer.timeLeft(about) > 0)) return otherwise(failed)
    this.#ran.push(params)
    const originalText = this.#frame.text
    return Effect.flatMap(jsonOf(this.#tool.parameters, params), (json) => {
      const value = isObject(json) ? json : undefined
      const text = originalText ?? (json === undefined ? "" : JSON.stringify(json))
      return this.#fix({ about, text, failure: failed, value, isWhole: false }, otherwise)
    })
  }

  /** Runs the policies once more, so that they see a rejection that no fixer corrected. */
  #showRejection(failure: ToolFailure, rejected: unknown, params: unknown): Effect.Effect<unknown, ToolFailure, R> {
    this.verdict = { failure, params: rejected }
    this.#isSettled = true
    return Effect.onExit(this.run(params), () =>
      Effect.sync(() => {
        this.verdict = undefined
      }))
  }

  // -----------------------------------------------------------------------------
  // Corrections
  // -----------------------------------------------------------------------------

  #fix(
    fault: Fault,
    otherwise: (failure: Fixable) => Effect.Effect<unknown, ToolFailure, R>
  ): Effect.Effect<unknown, ToolFailure, R> {
    const { about, failure } = fault
    if (this.#fixers.length === 0 || !this.#mayRunAgain(about)) return otherwise(failure)
    return Effect.flatMap(this.#way.isCalled, (isCalled) => {
      if (!isCalled) return otherwise(failure)
      return Effect.flatMap(asNeeded<Fault | Answer, R>(this.#ask(fault, 0)), (next) => {
        if (!this.#frame.isOpen) return Effect.interrupt
        if (next === fault) return otherwise(failure)
        const ended = "about" in next
          ? otherwise(next.failure)
          : next._tag === "Arguments"
          ? this.#runCorrected(next, failure)
          : this.#succeedWith(next, failure)
        // A defect is reported to the tool's author, even if a fixer has corrected the call.
        return about === "defect" ? Effect.andThen(this.#reportDefect(failure), ended) : ended
      })
    })
  }

  // Asks one fixer after the other until one of them has an answer. After an escalation, the next
  // fixer sees the escalation's text.
  #ask(fault: Fault, index: number): Effect.Effect<Fault | Answer, never, unknown> {
    const fixer = this.#fixers[index]
    if (fixer === undefined) return Effect.succeed(fault)
    return Effect.flatMap(fixer.better(fault), (better) => {
      if (better === undefined) return this.#ask(fault, index + 1)
      if (better._tag !== "Escalation") return Effect.succeed(better)
      this.#frame.handled(fault.failure, { by: "escalated" })
      return this.#ask({ ...fault, failure: escalated(fault.failure, better, fixer.name) }, index + 1)
    })
  }

  // Like the original arguments, corrected ones may be refused; in that case nothing is run.
  #runCorrected(answer: Answer & { readonly _tag: "Arguments" }, failure: Fixable) {
    const { params, repairs, shown, text } = answer
    let isAdmitted = false
    const admitted = this.#way.admit(params, text, () => {
      isAdmitted = true
      this.#isSettled = false
      this.#frame.adopt({ text, isSecret: shown === undefined }, params)
      this.#frame.note({ _tag: "ArgumentsCorrected", repairs: [correctionRepair("used", answer), ...repairs] })
      this.#frame.replaced(failure, { by: "fix" })
    })
    const refused = () =>
      Effect.sync(() => {
        if (isAdmitted) return
        this.#noteRepairs([correctionRepair("refused", answer)])
        this.#frame.handled(failure, { by: "ignored" })
      })
    return Effect.flatMap(Effect.tapError(admitted, refused), (params) => this.run(params))
  }

  #succeedWith({ caveats, source, value }: Answer & { readonly _tag: "Value" }, failure: Fixable) {
    this.#frame.replaced(failure, { by: "answered" })
    this.#frame.note({ _tag: "SourceNamed", ...source })
    for (const text of caveats) this.#frame.note({ _tag: "CaveatAdded", text })
    return Effect.succeed(value)
  }

  #reportDefect({ cause }: Fixable): Effect.Effect<void> {
    const defects = Cause.isCause(cause) ? cause : Cause.die(cause)
    for (const defect of defectsOf(defects)) heed(`The tool '${this.#tool.name}'`, defect)
    return Defect.report(`The tool ${this.#tool.name} failed with an internal error`, defects)
  }

  #noteRepairs(repairs: ReadonlyArray<Repair>): void {
    if (repairs.length > 0) this.#frame.note({ _tag: "ArgumentsRepaired", repairs })
  }
}

// Describes a correction for the model.
const correctionRepair = (
  what: "used" | "refused",
  { caveats, shown }: Answer & { readonly _tag: "Arguments" }
): Repair => {
  const sentence = what === "used"
    ? `The arguments were corrected${shown === undefined ? "" : ` to ${shown}`}`
    : `The corrected arguments were refused${shown === undefined ? "" : `: ${shown}`}`
  return { kind: "fixed", path: [], note: [sentence, ...caveats].join(". ") }
}

// The cast is safe: a tool's requirements include the requirements of its fixers.
const asNeeded = <A, R, E = never>(self: Effect.Effect<A, E, unknown>) => self as Effect.Effect<A, E, R>

const isObject = Schema.is(Schema.JsonObject)

/** Returns the parameters as JSON; `undefined` if they contain a secret, `null` if they cannot be written as JSON. */
const jsonOf = (parameters: Schema.ConstraintDecoder<unknown>, params: unknown): Effect.Effect<unknown> =>
  hasSecrets(schemaOf(parameters))
    ? Effect.undefined
    : Effect.catchCause(
      Effect.suspend(() => encoderOf(parameters)(params)),
      () => Effect.sync(() => JSON.parse(readable(params) ?? "null"))
    )

/** The failure of a run, if a fixer may be asked about it. */
interface Ended {
  readonly about: Fault["about"]
  readonly failed: Fixable | undefined
  /** The handler's rejection, if the run ended with one. */
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

const fixerRoundsOf = (
  fixers: ReadonlyArray<Fixing>,
  tool: Correctable,
  frame: Frame,
  fiber: Fiber.Fiber<unknown, unknown>,
  ran: ReadonlyArray<unknown>
): ReadonlyArray<FixerRounds> => {
  const clock = fiber.getRef(Clock.Clock)
  // The deadline of the whole call. A timeout inside the call may expire earlier.
  const deadline = fiber.getRef(Deadline.current)
  const call = {
    asked: 0,
    ran,
    get left() {
      // Fixers get half of the time left, since the call must still run after they have answered.
      return (deadline - clock.currentTimeMillisUnsafe() - momentToAnswer) / 2
    }
  }
  return fixers.map((fixing, index) => new FixerRounds(fixing, tool, frame, call, index))
}

/** Adds a tool's fixers to a direct `run` (one without dispatch). The run must be inside a frame of the tool. */
export const corrected = (tool: Correctable, run: Way<unknown>["run"]): Way<unknown>["run"] =>
  tool.fixers === undefined || tool.fixers.length === 0 ? run : (params) =>
    Effect.withFiber((fiber) => {
      const frame = asOwner(fiber.getRef(current))
      return new CorrectionStage(tool, frame, fiber, { ...directRun, run }).run(params)
    })

// A tool always runs in one of these frames.
const asOwner = (frame: Frame) => frame as CallFrame | InnerFrame
