/* Runs one tool call. `Dispatch` describes the stages. */
import { hasSecrets } from "@fallible/arguments/internal"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as References from "effect/References"
import type * as Schema from "effect/Schema"
import type * as Arguments from "../../Arguments.ts"
import type { CallFacts } from "../../CallFacts.ts"
import * as Deadline from "../../Deadline.ts"
import * as Observer from "../../Observer.ts"
import type * as Policy from "../../Policy.ts"
import type * as Tool from "../../Tool.ts"
import type * as ToolCall from "../../ToolCall.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { ToolHealth } from "../../ToolHealth.ts"
import type * as Toolkit from "../../Toolkit.ts"
import type { Suspended, ToolOutcome } from "../../ToolOutcome.ts"
import * as WireRequest from "../../WireRequest.ts"
import { anyIntentOf } from "../arguments/callIntent.ts"
import { decodeText } from "../arguments/decoding.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { schemaOf } from "../arguments/jsonSchema.ts"
import { resumedState } from "../call/callState.ts"
import { logFailure } from "../call/failureLogLine.ts"
import { reportEnd } from "../call/innerScope.ts"
import { reportingInterruption } from "../call/interruptedCall.ts"
import { asCall } from "../call/modelCall.ts"
import { note } from "../call/note.ts"
import { toObserver } from "../call/notifyObserver.ts"
import { completedOutcome, failedOutcome, happened } from "../call/outcome.ts"
import { callScope } from "../call/partScope.ts"
import { mayBeQuoted } from "../call/runAsCall.ts"
import { current, detached, type Place, type Scope, type Subject } from "../call/scope.ts"
import { both, effectsOf } from "../failure/effects.ts"
import { CorrectionStage } from "../fixing/correctionStage.ts"
import { limitedByDeadline } from "../policy/timeLimit.ts"
import { guard } from "../result/resultGuard.ts"
import { isCutOff } from "../result/resultText.ts"
import { runWithoutScope, subjectOf, tokenOf } from "../tool/toolParts.ts"
import { randomId } from "../value/randomId.ts"
import { CallAdmission, lostInProcess } from "./callAdmission.ts"
import { adviceOnDoubt } from "./doubtAdvice.ts"
import type { EarlierCall } from "./equalCalls.ts"
import { countInHealth } from "./healthCount.ts"
import { interruptedOutcome, openOutcome, outcomeOfCause } from "./outcomeOfCause.ts"
import { noteOnResult } from "./resultNotes.ts"
import { adviseOnDoubtfulAnswer, adviseOnFailure, cutOffNote } from "./toolHints.ts"

/**
 * The options of `Dispatch.call`.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallOptions {
  /**
   * The name of the call in logs, in events, and in the user's replies to its questions. Default: the
   * `idempotencyKey` option, or else a random name. The id that a model gives to a call is not used, because
   * models repeat ids.
   */
  readonly id?: string
  /**
   * The idempotency key. By default it is the first of these that applies:
   *
   * - derived from `facts`, if they determine a key
   * - derived from the outer call's key, if this call runs inside a tool's handler and has no `id` option
   * - the call's id
   */
  readonly idempotencyKey?: string
  /**
   * The facts of earlier calls, such as those of an `Answer`. They decide whether this call may run, and under which
   * idempotency key. Without a scope, two programs derive the same key from equal calls. By default there are no facts, and
   * no call is refused as a repetition.
   */
  readonly facts?: CallFacts
  /** If a suspended call is resumed: the user's replies to its questions. */
  readonly replies?: ReadonlyArray<ToolCall.Reply>
  /**
   * If a suspended call is resumed: its outcome at the time of its suspension. The call continues with the
   * corrected arguments in that outcome, and is not refused as a repetition.
   */
  readonly before?:
    & Pick<Suspended, "arguments" | "repairs" | "intent" | "effects" | "lasting" | "settled">
    & Partial<Pick<Suspended, "certainty" | "asks" | "salt">>
  /** True if the call was running when an earlier process ended, so that it may have taken effect. Default: `false`. */
  readonly wasBegun?: boolean
  /**
   * What happens to a call that a doubt about an earlier call holds back: `"refuse"`, or `"ask"` the user first what became
   * of that call. Default: `"refuse"`, since the user may not be able to know.
   */
  readonly onDoubt?: "refuse" | "ask" | undefined
  /**
   * What happens to a call that repeats what was done in an earlier run: `"refuse"` (`already_done`), or `"ask"` the user
   * whether to do it again. Default: `"refuse"`.
   */
  readonly onDone?: "refuse" | "ask" | undefined
  /** Receives each event of the call as it happens. Default: the `onEvent` of the current `Observer`. */
  readonly onEvent?: Observer.Observer["onEvent"]
  /** The annotations of the call's log lines. Default: the tool's name and the call's `id`. */
  readonly annotations?: Readonly<Record<string, unknown>>
}

/** The options of a call that an agent's loop makes. */
export interface PerformOptions extends CallOptions {
  /** The failure with which the call is refused, for example because a limit is used up. Default: none. */
  readonly refusal?: DispatchFailure.DispatchFailure | undefined
  /** The failure with which the call is refused if the `facts` permit it, because it would add nothing (`LoopGuard`). */
  readonly loopRefusal?: DispatchFailure.DispatchFailure | undefined
  /**
   * The earlier calls of the same turn that have ended, with their outcomes. If one of them is equal to this call,
   * and the tool acts, this call does not run, and shares that outcome (`joins`). Default: none.
   */
  readonly turn?: ReadonlyArray<EarlierCall> | undefined
  /** What the arguments decode to, if they have been decoded for this call. Default: they are decoded. */
  readonly decoded?: Arguments.Decoded<unknown> | undefined
  /** True if the call may ask, but does not run. If it asks nothing, it ends as `not_run`. Default: `false`. */
  readonly asksOnly?: boolean
  /** The run and the turn that the call belongs to. Default: none. */
  readonly place?: Place
  /** Receives the outcome of the call if it is interrupted. Default: nobody asks for it. */
  readonly onInterrupted?: ((outcome: ToolOutcome) => void) | undefined
  /** Receives a function that says how the call would end if it were cut off now. Default: nobody asks before the end. */
  readonly onBegun?: ((soFar: () => ToolOutcome) => void) | undefined
}

/** Runs one tool call: see `Dispatch.call`. */
export const performCall = <T extends Tool.Any>(
  toolkit: Toolkit.Toolkit<T>,
  call: ToolCall.ToolCall,
  options: PerformOptions = {}
): Effect.Effect<ToolOutcome, never, Tool.Requirements<T>> => {
  const id = options.id ?? options.idempotencyKey
  return id === undefined
    ? Effect.flatMap(randomId("call"), (id) => runCall(toolkit, call, id, options))
    : runCall(toolkit, call, id, options)
}

const runCall = <T extends Tool.Any>(
  toolkit: Toolkit.Toolkit<T>,
  rawCall: ToolCall.ToolCall,
  id: string,
  options: PerformOptions
): Effect.Effect<ToolOutcome, never, Tool.Requirements<T>> =>
  Effect.withFiber((fiber) => {
    const call = asCall(rawCall)
    const { before, decoded } = options
    const text = before?.arguments ?? call.arguments
    const tool = toolkit.tools.get(call.name)
    const subject = tool === undefined
      ? { name: call.name, sideEffect: "none" } as const
      : subjectOf(tool, tokenOf(tool))
    const { onEvent } = "onEvent" in options ? options : fiber.getRef(Observer.current)
    const hear = toObserver(fiber, call.name, id, onEvent)
    const state = before === undefined ? undefined : resumedState(before, isClearedBySuccess(subject))
    const scope = callScope(id, subject, hear, options.replies, state)
    scope.place = options.place
    const { idempotencyKey } = options
    if (idempotencyKey !== undefined) scope.keyBy(() => idempotencyKey)
    if (tool === undefined) {
      const outcome = options.wasBegun === true
        ? { ...failedOutcome(scope, lostInProcess(call.name), "resolve", "unknown"), intent: anyIntentOf(call.name) }
        : failedOutcome(scope, DispatchFailure.unknownTool(call.name, Array.from(toolkit.tools.keys())), "resolve")
      return Effect.annotateLogs(logged(outcome, tool, scope), options.annotations ?? { tool: call.name, call: id })
    }
    if (before?.arguments !== undefined) {
      scope.adopt({ text: before.arguments, isSecret: hasSecrets(schemaOf(tool.parameters)) })
    }
    const health = Context.getOrUndefined(fiber.context, ToolHealth)
    const outer = fiber.getRef(current)
    if (outer !== detached) scope.around = outer
    const { settles }: Tool.Any = tool
    const begun = settles === undefined ? 0n : fiber.getRef(Clock.Clock).monotonicTimeNanosUnsafe()
    const admission = new CallAdmission(scope, tool, call.arguments, options, health, outer, fiber)
    const limited = fiber.getRef(Deadline.current) === Infinity ? runOf(tool) : limitedByDeadline(runOf(tool), tool)
    const corrections = new CorrectionStage(tool, scope, fiber, limited, admission)
    const named = (outcome: ToolOutcome) => {
      scope.hasOutcome = true
      const known = options.facts === undefined ? outcome : admission.named(outcome)
      return known._tag === "Suspended" ? admission.asking(known) : known
    }
    // Suspended, so that an error thrown while decoding is caught below, too.
    const run = Effect.suspend(() =>
      Effect.flatMap(
        corrections.from(
          text,
          admission.read((again) =>
            again === undefined && decoded !== undefined
              ? Effect.succeed(decoded)
              : decodeArguments(again ?? text, tool, before)
          )
        ),
        (value) => {
          admission.stage = "guard"
          return guard(tool, value, ({ isEncoded, json, notes }): Effect.Effect<ToolOutcome> => {
            if (notes.length > 0) noteAll(scope, notes)
            if (typeof json === "string" && isCutOff(json)) note(scope, { _tag: "CaveatAdded", text: cutOffNote(tool) })
            return settles === undefined || !isEncoded || notes.length > 0
              ? completed(scope, json, value, tool, toolkit, text, named)
              : Effect.flatMap(
                admission.settleBy(value, toolkit, begun),
                () => completed(scope, json, value, tool, toolkit, text, named)
              )
          })
        }
      )
    )
    const total = Effect.catchCause(run, (cause) =>
      Effect.flatMapEager(
        outcomeOfCause(cause, admission.stageOf(cause), tool, scope, text),
        (failed) =>
          Effect.flatMapEager(
            adviseOnFailure(failed, tool, toolkit),
            (outcome) =>
              options.asksOnly === true ? Effect.succeed(named(outcome)) : logged(named(outcome), tool, scope)
          )
      ))
    // Updates the context once instead of twice, because every call takes this step.
    const outcome = Effect.updateContext(total, (context: Context.Context<Tool.Requirements<T>>) =>
      Context.add(
        Context.add(context, current, scope),
        References.CurrentLogAnnotations,
        mergedAnnotations(
          fiber.getRef(References.CurrentLogAnnotations),
          options.annotations ?? { tool: call.name, call: id }
        )
      ))
    const counted = health === undefined || options.asksOnly === true
      ? outcome
      : Effect.tap(
        outcome,
        (outcome) => outcome.joined === true ? Effect.void : countInHealth(outcome, tool, scope, health, fiber)
      )
    const { onBegun, onInterrupted } = options
    onBegun?.(() => admission.soFar(openOutcome(tool, admission.stage, scope)))
    const followed = onInterrupted === undefined
      ? counted
      : Effect.onInterrupt(
        counted,
        () => Effect.sync(() => onInterrupted(named(interruptedOutcome(tool, admission.stage, scope))))
      )
    const reported = reportingInterruption(followed, scope)
    return outer === detached ? reported : reportToOuter(outer, scope, reported)
  })

const noteAll = (scope: Scope, notes: ReadonlyArray<string>): void => {
  for (const text of notes) note(scope, { _tag: "CaveatAdded", text })
}

// True if a later success clears the doubt about earlier attempts.
const isClearedBySuccess = ({ sideEffect }: Subject): boolean =>
  sideEffect === "idempotent" || sideEffect === "idempotent_by_key"

// Decodes the arguments. If they were corrected before a suspension, the call's first state has their repairs.
const decodeArguments = (text: string | undefined, tool: Tool.Any, before: CallOptions["before"]) =>
  before?.arguments === undefined
    ? decodeText(text, tool)
    : Effect.mapEager(decodeText(text, tool), ({ params }) => ({ params, repairs: [] }))

// Notes what the result may be, if it may not be what it seems.
const completed = (
  scope: Scope,
  json: Schema.Json,
  answer: unknown,
  tool: Tool.Any,
  toolkit: Toolkit.Toolkit,
  text: string | undefined,
  named: (outcome: ToolOutcome) => ToolOutcome
): Effect.Effect<ToolOutcome> => {
  const hasFiles = scope.state.files.length > 0
  const noted = noteOnResult(json, answer, tool, toolkit, scope.correction?.text ?? text, hasFiles)
  return noted === undefined ? answered(scope, json, tool, toolkit, named) : Effect.flatMapEager(noted, (text) => {
    if (text !== undefined) note(scope, { _tag: "CaveatAdded", text })
    return answered(scope, json, tool, toolkit, named)
  })
}

const answered = (
  scope: Scope,
  json: Schema.Json,
  tool: Tool.Any,
  toolkit: Toolkit.Toolkit,
  named: (outcome: ToolOutcome) => ToolOutcome
): Effect.Effect<ToolOutcome> => {
  const outcome = completedOutcome(scope, json)
  return outcome.certainty === "unknown"
    ? Effect.map(adviseOnDoubtfulAnswer(outcome, tool, toolkit), named)
    : Effect.succeed(named(outcome))
}

// `Tool.make` guarantees that a tool's handler accepts what its parameters decode to. For a union of tools,
// the compiler cannot see that the decoded values go to the handler of the same tool.
const runOf = <T extends Tool.Any>(tool: T) =>
  runWithoutScope(tool) as Policy.Run<unknown, ToolFailure, Tool.Requirements<T>>

// Reports the effects of a call to its outer call. A tool (an agent used as a tool, for example) may itself dispatch
// calls. The effects of those calls count as effects of the outer call.
const reportToOuter = <R>(
  outer: Scope,
  scope: Scope,
  outcome: Effect.Effect<ToolOutcome, never, R>
): Effect.Effect<ToolOutcome, never, R> =>
  Effect.onExit(outcome, (exit) =>
    Effect.sync(() => {
      const ended = Exit.isSuccess(exit) ? exit.value : undefined
      const failed = ended?._tag === "Failed" ? ended : undefined
      if (failed !== undefined) mayBeQuoted(failed.failure, outer)
      // The certainty of a refused call may be about an earlier call with the same intent, which already reported it.
      const told = ended === undefined || ended.joined === true || failed?.stage === "admit"
        ? "none"
        : effectsOf(ended.certainty)
      const effects = both(scope.effects(ended?._tag === "Completed"), told)
      scope.end()
      reportEnd(scope, outer, effects, true)
    }))

const mergedAnnotations = (outer: Readonly<Record<string, unknown>>, inner: Readonly<Record<string, unknown>>) => {
  for (const _ in outer) return { ...outer, ...inner }
  return inner
}

// Logs a failure that the model is told. A defect or an invalid result is logged where it is detected, with details that
// only the log may show.
const logged = (outcome: ToolOutcome, tool: Tool.Any | undefined, scope: Scope): Effect.Effect<ToolOutcome> => {
  const { askedKey: key, tool: { name } } = scope
  if (
    outcome._tag !== "Failed" || outcome.joined === true || outcome.failure.code === "defect" ||
    outcome.stage === "guard"
  ) {
    return Effect.succeed(outcome)
  }
  const isInDoubt = happened(outcome) === "unknown"
  const attempts = outcome.attempts > 1 ? `, after ${outcome.attempts} attempts` : ""
  const { wire = [] } = outcome
  const requests = isInDoubt && wire.length > 0 ? ` Its requests: ${wire.map(WireRequest.describe).join(", ")}.` : ""
  const line = logFailure(name, outcome.failure, `The model was told${attempts}.${requests}`, isInDoubt)
  const told = isInDoubt && key !== undefined ? Effect.annotateLogs(line, { key }) : line
  const advice = outcome.doubt === undefined || tool === undefined ? undefined : adviceOnDoubt(tool)
  return Effect.as(advice === undefined ? told : Effect.andThen(told, Effect.logWarning(advice)), outcome)
}
