/*
 * The path of a call whose tool has fixers, which are functions that correct rejected arguments:
 *
 *     text ─ decode ─ admit ─ run under all policies ─┬─ value, or another failure
 *       └──────┬──────────────────────────────────────┴─ a failure after a rejection, or one that fixers are asked about
 *              └─ ask a fixer ─┬─ arguments ─ decode ─ admit ─ run …
 *                              ├─ a value, or a stop
 *                              └─ no answer ─ the failure stays as it was, or gets the fixer's words
 *
 * A fixer is asked about what the policies have left over. If they end with a failure although the handler's last word was
 * a rejection of its arguments, the fixer is asked about that rejection, whatever they have made of it.
 */
import { hasSecrets } from "@fallible/arguments/internal"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type * as Arguments from "../../Arguments.ts"
import * as Deadline from "../../Deadline.ts"
import type { SideEffect } from "../../SideEffect.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import type { Repair } from "../../ToolOutcome.ts"
import { Undecoded } from "../arguments/decoding.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { encoderOf } from "../arguments/encoder.ts"
import { schemaOf } from "../arguments/jsonSchema.ts"
import { isWhole } from "../call/ending.ts"
import { isOpen, whyNot } from "../call/mayBegin.ts"
import { note, noteHandled, noteReplaced } from "../call/note.ts"
import { heedPromise } from "../call/runUserCode.ts"
import { current, type Scope } from "../call/scope.ts"
import { momentToAnswer } from "../call/timeLeft.ts"
import { defectsOf, signalIn } from "../failure/controlSignal.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { isExit } from "../fiber/runContained.ts"
import { readable } from "../value/canonical.ts"
import { escalate } from "./fixerAnswer.ts"
import type { Fixing } from "./fixerOption.ts"
import { type Better, type Fault, faultOfUndecoded, FixerRounds } from "./fixerRounds.ts"
import type { Escalation, Fixable } from "./rejection.ts"

/** The fields of a tool that corrections need. */
export interface Correctable {
  readonly name: string
  readonly parameters: Schema.ConstraintDecoder<unknown>
  readonly success: Schema.ConstraintCodec<unknown, unknown>
  readonly sideEffect: SideEffect
  readonly fixers?: ReadonlyArray<Fixing>
}

type Run<R> = (params: unknown) => Effect.Effect<unknown, ToolFailure, R>

/** Decides whether a dispatched call may run. A program's own run of a tool is always admitted. */
export interface Admission {
  /** Returns the refusal of a call with these parameters, if it is refused. */
  readonly refuse: (params: unknown, text: string | undefined) => ToolFailure | undefined
  /** Returns the parameters to run with, once they have been admitted. */
  readonly admitted: (params: unknown) => Effect.Effect<unknown, ToolFailure>
  /** True if an equal call of the same turn ran in place of this one. */
  readonly isJoined: boolean
  /** Whether the tool may be called now. If not, no fixer is asked. */
  readonly isCalled: Effect.Effect<boolean>
}

const none: ReadonlyArray<never> = []
const called: Effect.Effect<boolean> = Effect.succeed(true)

/** A fixer's answer: arguments or a value. */
type Answer = Exclude<Better, Escalation>

/** Runs `decode → admit → run`, and repeats it with the corrections of fixers. Each call has its own stage. */
export class CorrectionStage<R> {
  readonly #tool: Correctable
  readonly #scope: Scope
  readonly #run: Run<R>
  readonly #admission: Admission | undefined
  /** The text of the arguments, exactly as the model wrote it. */
  #written: string | undefined = undefined
  readonly #fixers: ReadonlyArray<FixerRounds>
  /** The parameters that have already run. A correction that results in parameters equal to these is ignored. */
  readonly #ran: Array<unknown> = []

  constructor(
    tool: Correctable,
    scope: Scope,
    fiber: Fiber.Fiber<unknown, unknown>,
    run: Run<R>,
    admission?: Admission
  ) {
    const { fixers = none } = tool
    this.#tool = tool
    this.#scope = scope
    this.#run = run
    this.#admission = admission
    this.#fixers = fixers.length === 0 ? none : fixerRoundsOf(fixers, tool, scope, fiber, this.#ran)
  }

  /** Decodes, admits and runs the arguments in a model's text. */
  from(
    text: string | undefined,
    decoded: Effect.Effect<Arguments.Decoded<unknown>, Undecoded | ToolFailure>
  ): Effect.Effect<unknown, ToolFailure, R> {
    this.#written = text
    // Decoding has nearly always ended by now.
    if (isExit(decoded) && Exit.isSuccess(decoded)) return this.#admit(decoded.value, text)
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
    const refusal = this.#admission?.refuse(params, text)
    return refusal === undefined ? this.#runAdmitted(params) : Effect.fail(refusal)
  }

  #runAdmitted(params: unknown): Effect.Effect<unknown, ToolFailure, R> {
    return this.#admission === undefined
      ? this.run(params)
      : Effect.flatMapEager(this.#admission.admitted(params), (params) => this.run(params))
  }

  /** Runs admitted parameters. */
  run(params: unknown): Effect.Effect<unknown, ToolFailure, R> {
    if (this.#fixers.length === 0) return this.#run(params)
    // A rejection of earlier arguments says nothing about these.
    if (this.#scope.rejection !== undefined) this.#scope.live.rejection = undefined
    return Effect.catchCause(this.#run(params), (cause) => this.#fixFailure(cause, params))
  }

  /**
   * Returns whether the call may run again with other arguments. In any case, it must be certain that
   * the call did nothing. In addition, after a rejection the handler must be allowed to start; after
   * any other failure, the handler must have run.
   */
  #mayRunAgain(about: Fault["about"]): boolean {
    const { certainty, record: { state } } = this.#scope
    if (certainty !== "not_executed") return false
    return about === "rejection" ? whyNot(this.#scope) === undefined : state.executions > 0
  }

  // -----------------------------------------------------------------------------
  // Failures to correct
  // -----------------------------------------------------------------------------

  #fixUndecoded(error: Undecoded, text = ""): Effect.Effect<unknown, ToolFailure, R> {
    return this.#fix(faultOfUndecoded(text, error), (failure) => {
      // These repairs made the text readable, although its value then failed to decode.
      this.#noteRepairs(error.text?.repairs ?? none)
      return Effect.fail(failure)
    })
  }

  #fixFailure(cause: Cause.Cause<ToolFailure>, params: unknown): Effect.Effect<unknown, ToolFailure, R> {
    const found = faultIn(cause, this.#scope)
    if (found === undefined || !this.#fixers.some((fixer) => fixer.timeLeft(found.about) > 0)) {
      return Effect.failCause(cause)
    }
    this.#ran.push(params)
    const originalText = this.#scope.correction?.text ?? this.#written
    return Effect.flatMap(jsonOf(this.#tool.parameters, params), (json) => {
      const value = isObject(json) ? json : undefined
      const text = originalText ?? (json === undefined ? "" : JSON.stringify(json))
      return this.#fix(
        { ...found, text, value, isWhole: false },
        (failure) => failure === found.failure ? Effect.failCause(cause) : Effect.fail(failure)
      )
    })
  }

  // -----------------------------------------------------------------------------
  // Corrections
  // -----------------------------------------------------------------------------

  #fix(
    fault: Fault,
    otherwise: (failure: Fixable) => Effect.Effect<unknown, ToolFailure, R>
  ): Effect.Effect<unknown, ToolFailure, R> {
    const { about, failure, left } = fault
    if (this.#fixers.length === 0 || !this.#mayRunAgain(about)) return otherwise(failure)
    return Effect.flatMap(this.#admission?.isCalled ?? called, (isCalled) => {
      if (!isCalled) return otherwise(failure)
      return Effect.flatMap(asNeeded<Fault | Answer, R>(this.#ask(fault, 0)), (next) => {
        if (!isOpen(this.#scope)) return Effect.interrupt
        if (next === fault) return otherwise(failure)
        const ended = "about" in next
          ? otherwise(next.failure)
          : next._tag === "Arguments"
          ? this.#runCorrected(next, left)
          : this.#succeedWith(next, left)
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
      noteHandled(this.#scope, fault.left, { by: "escalated" })
      const failure = escalate(fault.failure, better, fixer.name)
      return this.#ask({ ...fault, failure, left: failure }, index + 1)
    })
  }

  // Like the original arguments, corrected ones may be refused; in that case nothing is run.
  #runCorrected(answer: Answer & { readonly _tag: "Arguments" }, failure: ToolFailure) {
    const { params, repairs, shown, text } = answer
    const adopt = () => {
      this.#scope.adopt({ text, isSecret: shown === undefined }, params)
      note(this.#scope, { _tag: "ArgumentsCorrected", repairs: [correctionRepair("used", answer), ...repairs] })
      noteReplaced(this.#scope, failure, { by: "fix" })
    }
    const refusal = this.#refusalOf(params, text, adopt)
    if (refusal !== undefined) {
      const isJoined = this.#admission?.isJoined === true
      this.#noteRepairs([correctionRepair(isJoined ? "used" : "refused", answer)])
      noteHandled(this.#scope, failure, { by: "ignored" })
      return Effect.fail(refusal)
    }
    adopt()
    return this.#runAdmitted(params)
  }

  // If the admission asks about corrected arguments, the call goes on with them once there is a reply.
  #refusalOf(params: unknown, text: string, adopt: () => void): ToolFailure | undefined {
    try {
      return this.#admission?.refuse(params, text)
    } catch (error) {
      if (signalIn([error]) !== undefined) adopt()
      throw error
    }
  }

  #succeedWith({ caveats, source, value }: Answer & { readonly _tag: "Value" }, failure: ToolFailure) {
    noteReplaced(this.#scope, failure, { by: "answered" })
    note(this.#scope, { _tag: "SourceNamed", ...source })
    for (const text of caveats) note(this.#scope, { _tag: "CaveatAdded", text })
    return Effect.succeed(value)
  }

  #reportDefect({ cause }: Fixable): Effect.Effect<void> {
    const defects = Cause.isCause(cause) ? cause : Cause.die(cause)
    for (const defect of defectsOf(defects)) heedPromise(`The tool '${this.#tool.name}'`, defect)
    return reportDefect(`The tool ${this.#tool.name} failed with an internal error`, defects)
  }

  #noteRepairs(repairs: ReadonlyArray<Repair>): void {
    if (repairs.length > 0) note(this.#scope, { _tag: "ArgumentsRepaired", repairs })
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

// Returns what a fixer may be asked about after a run; `undefined` if there is nothing.
const faultIn = (
  cause: Cause.Cause<ToolFailure>,
  { acts, rejection, tool: { name: tool } }: Scope
): Pick<Fault, "about" | "failure" | "left"> | undefined => {
  const { reasons: [first, ...others] } = cause
  if (first === undefined || signalIn(defectsOf(cause)) !== undefined) return undefined
  if ([first, ...others].every(Cause.isDieReason)) {
    const failure = DispatchFailure.defect({ tool, outcome: undefined, cause })
    return { about: "defect", failure, left: failure }
  }
  const left = others.length === 0 && Cause.isFailReason(first) && isWhole(first.error) ? first.error : undefined
  // A partial result is an answer.
  if (left === undefined || left._tag === "PartialData") return undefined
  // A policy may know of an effect that the record does not show.
  if (acts && (left.outcome === "executed" || left.outcome === "unknown")) return undefined
  if (rejection !== undefined && rejection !== "none") return { about: "rejection", failure: rejection, left }
  return left._tag === "SchemaMismatch" ? undefined : { about: left._tag, failure: left, left }
}

const fixerRoundsOf = (
  fixers: ReadonlyArray<Fixing>,
  tool: Correctable,
  scope: Scope,
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
  return fixers.map((fixing, index) => new FixerRounds(fixing, tool, scope, call, index))
}

/** Adds a tool's fixers to a direct `run` (one without dispatch). The run must be inside a scope of the tool. */
export const runWithCorrections = (tool: Correctable, run: Run<unknown>): Run<unknown> =>
  tool.fixers === undefined || tool.fixers.length === 0
    ? run
    : (params) => Effect.withFiber((fiber) => new CorrectionStage(tool, fiber.getRef(current), fiber, run).run(params))
