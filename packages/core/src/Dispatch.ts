/**
 * Runs one tool call, from the model's text to the call's outcome:
 *
 *     model text ─ resolve ─ parse ─ decode ─ admit ─── run under its policies ─ guard ─ outcome
 *                  Toolkit   Arguments        CallFacts Tool                     success schema
 *                            └──────── fixers: better arguments ──┘
 *
 * `resolve` finds the tool, `admit` decides whether the call may run, and `guard` encodes the result. Each stage
 * passes its result to the next one, or ends with a failure. Only fixers (functions that correct rejected
 * arguments) loop back: the corrected arguments are decoded, admitted and run like a model's. A failure that no
 * fixer corrects goes straight to the outcome.
 *
 * Dispatch is total: its error channel is `never`, and every call gets exactly one outcome, unless it is
 * interrupted. The failure of one call does not affect the results of other calls.
 *
 * Dispatch runs single calls and knows nothing about an agent's turns. The agent's loop, in turn, knows nothing
 * about the internals of tools.
 *
 * @since 0.1.0
 */
import { hasSecrets } from "@fallible/arguments"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as References from "effect/References"
import type * as Schema from "effect/Schema"
import type { CallFacts } from "./CallFacts.ts"
import * as Deadline from "./Deadline.ts"
import * as DispatchFailure from "./DispatchFailure.ts"
import { anyIntentOf } from "./internal/arguments/callIntent.ts"
import { attempt } from "./internal/arguments/decoding.ts"
import { schemaOf } from "./internal/arguments/jsonSchema.ts"
import { resumedState } from "./internal/call/callState.ts"
import { logFailure } from "./internal/call/failureLogLine.ts"
import { mayBeQuoted } from "./internal/call/framedRun.ts"
import { reportEnd } from "./internal/call/innerScope.ts"
import { reportingInterruption } from "./internal/call/interruptedCall.ts"
import { asCall } from "./internal/call/modelCall.ts"
import { note } from "./internal/call/note.ts"
import { toObserver } from "./internal/call/notifyObserver.ts"
import { completedOutcome, failedOutcome } from "./internal/call/outcome.ts"
import { callScope } from "./internal/call/partScope.ts"
import { current, detached, type Scope, type Subject } from "./internal/call/scope.ts"
import { CallAdmission, lostInProcess } from "./internal/dispatch/callAdmission.ts"
import { adviceOnDoubt } from "./internal/dispatch/doubtAdvice.ts"
import type { EarlierCall } from "./internal/dispatch/equalCalls.ts"
import { countInHealth } from "./internal/dispatch/healthCount.ts"
import { outcomeOfCause } from "./internal/dispatch/outcomeOfCause.ts"
import { advised, cutOffNote, doubted } from "./internal/dispatch/toolHints.ts"
import { both, effectsOf } from "./internal/failure/effects.ts"
import { CorrectionStage } from "./internal/fixing/correctionStage.ts"
import { limitedByDeadline } from "./internal/policy/timeLimit.ts"
import { guard } from "./internal/result/resultGuard.ts"
import { isCutOff } from "./internal/result/resultText.ts"
import { runWithoutScope, subjectOf, tokenOf } from "./internal/tool/toolParts.ts"
import { randomId } from "./internal/value/randomId.ts"
import * as Observer from "./Observer.ts"
import type * as Policy from "./Policy.ts"
import type * as Tool from "./Tool.ts"
import type * as ToolCall from "./ToolCall.ts"
import type { ToolFailure } from "./ToolFailure.ts"
import { ToolHealth } from "./ToolHealth.ts"
import type * as Toolkit from "./Toolkit.ts"
import type { Suspended, ToolOutcome } from "./ToolOutcome.ts"
import * as WireRequest from "./WireRequest.ts"

/**
 * The options of {@link call}.
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
   * The facts of earlier calls, with their scope: `CallFacts.beginning(facts, scope)`. They decide whether this
   * call may run, and under which idempotency key. Without a scope, two programs derive the same key from equal
   * calls. By default there are no facts, and no call is refused as a repetition.
   */
  readonly facts?: CallFacts
  /** The failure with which the call is refused, for example because a limit is used up. Default: none. */
  readonly refusal?: DispatchFailure.DispatchFailure | undefined
  /** The failure with which the call is refused if the `facts` permit it, because it would add nothing (`LoopGuard`). */
  readonly loopRefusal?: DispatchFailure.DispatchFailure | undefined
  /** If a suspended call is resumed: the user's replies to its questions. */
  readonly replies?: ReadonlyArray<ToolCall.Reply>
  /**
   * If a suspended call is resumed: its outcome at the time of its suspension. The call continues with the
   * corrected arguments in that outcome, and is not refused as a repetition.
   */
  readonly before?:
    & Pick<Suspended, "arguments" | "repairs" | "intent" | "effects" | "lasting" | "settled">
    & Partial<Pick<Suspended, "certainty">>
  /** True if the call was running when an earlier process ended, so that it may have taken effect. Default: `false`. */
  readonly wasBegun?: boolean
  /**
   * The earlier calls of the same turn that have ended, with their outcomes. If one of them is equal to this call,
   * and the tool acts, this call does not run, and shares that outcome (`joins`). Default: none.
   */
  readonly turn?: ReadonlyArray<EarlierCall> | undefined
  /**
   * What happens to a call that a doubt about an earlier call holds back: `"refuse"`, or `"ask"` the user first what became
   * of that call. Default: `"refuse"`, since the user may not be able to know.
   */
  readonly onDoubt?: "refuse" | "ask" | undefined
  /** Receives each event of the call as it happens. Default: the `onEvent` of the current `Observer`. */
  readonly onEvent?: Observer.Observer["onEvent"]
  /** The annotations of the call's log lines. Default: the tool's name and the call's `id`. */
  readonly annotations?: Readonly<Record<string, unknown>>
}

export type { EarlierCall } from "./internal/dispatch/equalCalls.ts"

/**
 * Runs one tool call and returns its outcome. The Effect never fails.
 *
 * @example
 * ```ts
 * import { Dispatch, Tool, Toolkit } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const toolkit = Toolkit.make(
 *   Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong"))
 * )
 * const outcome = Effect.runSync(Dispatch.call(toolkit, { id: "1", name: "ping" }))
 * outcome._tag // => "Completed"
 * ```
 *
 * @category dispatch
 * @since 0.1.0
 */
export const call = <T extends Tool.Any>(
  toolkit: Toolkit.Toolkit<T>,
  call: ToolCall.ToolCall,
  options: CallOptions = {}
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
  options: CallOptions
): Effect.Effect<ToolOutcome, never, Tool.Requirements<T>> =>
  Effect.withFiber((fiber) => {
    const call = asCall(rawCall)
    const { before } = options
    const text = before?.arguments ?? call.arguments
    const tool = toolkit.tools.get(call.name)
    const subject = tool === undefined
      ? { name: call.name, sideEffect: "none" } as const
      : subjectOf(tool, tokenOf(tool))
    const { onEvent } = "onEvent" in options ? options : fiber.getRef(Observer.current)
    const hear = toObserver(fiber, call.name, id, onEvent)
    const state = before === undefined ? undefined : resumedState(before, isClearedBySuccess(subject))
    const scope = callScope(id, subject, hear, options.replies, state)
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
    const named = (outcome: ToolOutcome) => options.facts === undefined ? outcome : admission.named(outcome)
    // Suspended, so that an error thrown while decoding is caught below, too.
    const run = Effect.suspend(() =>
      Effect.flatMap(
        corrections.from(text, admission.read((again = text) => decodeArguments(again, tool, before))),
        (value) => {
          admission.stage = "guard"
          return Effect.flatMapEager(guard(tool, value), (json): Effect.Effect<ToolOutcome> => {
            if (typeof json === "string" && isCutOff(json)) note(scope, { _tag: "CaveatAdded", text: cutOffNote(tool) })
            return settles === undefined
              ? completed(scope, json, tool, toolkit, named)
              : Effect.flatMap(
                admission.settleBy(value, toolkit, begun),
                () => completed(scope, json, tool, toolkit, named)
              )
          })
        }
      )
    )
    const total = Effect.catchCause(run, (cause) =>
      Effect.flatMapEager(
        outcomeOfCause(cause, admission.stageOf(cause), tool, scope),
        (failed) =>
          Effect.flatMapEager(advised(failed, tool, toolkit), (outcome) => logged(named(outcome), tool, scope))
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
    const counted = health === undefined
      ? outcome
      : Effect.tap(
        outcome,
        (outcome) => outcome.joined === true ? Effect.void : countInHealth(outcome, tool, scope, health, fiber)
      )
    const reported = reportingInterruption(counted, scope)
    return outer === detached ? reported : reportToOuter(outer, scope, reported)
  })

// True if a later success clears the doubt about earlier attempts.
const isClearedBySuccess = ({ sideEffect }: Subject): boolean =>
  sideEffect === "idempotent" || sideEffect === "idempotent_by_key"

// Decodes the arguments. If they were corrected before a suspension, the call's first state has their repairs.
const decodeArguments = (text: string | undefined, tool: Tool.Any, before: CallOptions["before"]) =>
  before?.arguments === undefined
    ? attempt(text, tool)
    : Effect.mapEager(attempt(text, tool), ({ params }) => ({ params, repairs: [] }))

const completed = (
  scope: Scope,
  json: Schema.Json,
  tool: Tool.Any,
  toolkit: Toolkit.Toolkit,
  named: (outcome: ToolOutcome) => ToolOutcome
): Effect.Effect<ToolOutcome> => {
  const outcome = completedOutcome(scope, json)
  return outcome.certainty === "unknown"
    ? Effect.map(doubted(outcome, tool, toolkit), named)
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
  const isInDoubt = outcome.certainty === "unknown"
  const attempts = outcome.attempts > 1 ? `, after ${outcome.attempts} attempts` : ""
  const { wire = [] } = outcome
  const requests = isInDoubt && wire.length > 0 ? ` Its requests: ${wire.map(WireRequest.describe).join(", ")}.` : ""
  const line = logFailure(name, outcome.failure, `The model was told${attempts}.${requests}`, isInDoubt)
  const told = isInDoubt && key !== undefined ? Effect.annotateLogs(line, { key }) : line
  const advice = outcome.doubt === undefined || tool === undefined ? undefined : adviceOnDoubt(tool)
  return Effect.as(advice === undefined ? told : Effect.andThen(told, Effect.logWarning(advice)), outcome)
}
