/**
 * One call's way from the model's text to its outcome:
 *
 *     model text ─ resolve ─ parse ─ decode ─ admit ─ run under its policies ─ guard ─ outcome
 *                  Toolkit   Arguments        Place   Tool                     success schema
 *                            └──────── fixers: better arguments ─────┘
 *
 * Each stage either hands on or ends in a failure. Only fixers lead back: what they answer is decoded, admitted and run like what a
 * model writes. There is no second place where failures are caught. Dispatch is total: its error channel is `never`, every call gets exactly one
 * outcome, and one call's failure never costs another its result. Only interruption passes through.
 *
 * Dispatch runs calls and knows nothing of turns; the loop (`AgentLoop`) knows nothing of tools' insides.
 *
 * @since 0.1.0
 */
import { hasSecrets } from "@fallible/arguments"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as References from "effect/References"
import * as CallEvent from "./CallEvent.ts"
import type { CallFacts } from "./CallFacts.ts"
import * as Deadline from "./Deadline.ts"
import * as DispatchFailure from "./DispatchFailure.ts"
import { attempt } from "./internal/arguments/decoding.ts"
import { anyIntentOf } from "./internal/arguments/intent.ts"
import { schemaOf } from "./internal/arguments/jsonSchema.ts"
import { CallFrame } from "./internal/call/callFrame.ts"
import { isLogged, logFailure } from "./internal/call/failureLine.ts"
import { current, detached, type Frame } from "./internal/call/frame.ts"
import { ofAnother, saysNothingDone } from "./internal/call/handlerEnding.ts"
import { asCall } from "./internal/call/modelCall.ts"
import { completedOutcome, failedOutcome } from "./internal/call/outcome.ts"
import { toWatcher } from "./internal/call/toWatcher.ts"
import { advised, cutOffNote, doubted } from "./internal/dispatch/advice.ts"
import { CallAdmission, lostInProcess } from "./internal/dispatch/callAdmission.ts"
import { countInHealth, disabledRefusal } from "./internal/dispatch/health.ts"
import { outcomeOfCause } from "./internal/dispatch/outcomeOfCause.ts"
import { guard } from "./internal/dispatch/resultGuard.ts"
import { randomId } from "./internal/effect/randomId.ts"
import type { Done } from "./internal/failure/done.ts"
import { CorrectionStage } from "./internal/fixing/correctionStage.ts"
import { limitedByDeadline } from "./internal/policy/timeLimit.ts"
import { isCutOff } from "./internal/result/resultText.ts"
import { runWithoutFrame, subjectOf, tokenOf } from "./internal/tool/parts.ts"
import type * as Policy from "./Policy.ts"
import type * as Tool from "./Tool.ts"
import type * as ToolCall from "./ToolCall.ts"
import { type ToolFailure } from "./ToolFailure.ts"
import { ToolHealth } from "./ToolHealth.ts"
import type * as Toolkit from "./Toolkit.ts"
import type { Stage, Suspended, ToolOutcome } from "./ToolOutcome.ts"

/**
 * How a call is made: its name, what earlier calls did, and who hears of it.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallOptions {
  /** Its name in logs, events and replies. Default: its idempotency key, or else a random name, since the ids that models give to calls repeat. */
  readonly id?: string
  /** Default: made of the `facts`, or else its id. A call in a tool's handler gets one of the outer call's, as any tool that runs there. */
  readonly idempotencyKey?: string
  /** What earlier calls did: they decide whether this one runs, and under which key. Default: nothing is refused as a repetition. */
  readonly facts?: CallFacts
  /** Why the call must not run, whatever its arguments are: a limit that is used up. */
  readonly refusal?: DispatchFailure.DispatchFailure | undefined
  /** The user's replies to the call's questions, when it was suspended and is resumed. */
  readonly replies?: ReadonlyArray<ToolCall.Reply>
  /** The outcome of the call when it was suspended. It goes on with its corrected arguments, and is not refused as a repetition. */
  readonly before?: Pick<Suspended, "arguments" | "repairs" | "intent"> & Partial<Pick<Suspended, "certainty">>
  /** Was the call running when an earlier process ended? Then it may have taken effect. Default: `false`. */
  readonly wasBegun?: boolean
  /** Hears each event of the call as it happens. Default: `CallEvent.watcher`. */
  readonly onEvent?: CallEvent.Watcher | undefined
  /** The annotations of its log lines. Default: its tool and its id. */
  readonly annotations?: Readonly<Record<string, unknown>>
}

/**
 * Runs one call.
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
    ? Effect.flatMap(randomId("call"), (id) => placed(toolkit, call, id, options))
    : placed(toolkit, call, id, options)
}

const placed = <T extends Tool.Any>(
  toolkit: Toolkit.Toolkit<T>,
  given: ToolCall.ToolCall,
  id: string,
  options: CallOptions
): Effect.Effect<ToolOutcome, never, Tool.Requirements<T>> =>
  Effect.withFiber((fiber) => {
    const call = asCall(given)
    const { before } = options
    const text = before?.arguments ?? call.arguments
    const tool = toolkit.tools.get(call.name)
    const subject = tool === undefined
      ? { name: call.name, sideEffect: "none" } as const
      : subjectOf(tool, tokenOf(tool))
    const watcher = "onEvent" in options ? options.onEvent : fiber.getRef(CallEvent.watcher)
    const hear = toWatcher(fiber, call.name, id, watcher)
    const record = new CallFrame(id, subject, text, options.replies, hear)
    const { idempotencyKey } = options
    if (idempotencyKey !== undefined) record.keyed = () => idempotencyKey
    if (tool === undefined) {
      const outcome = options.wasBegun === true
        ? { ...failedOutcome(record, lostInProcess(call.name), "resolve", "unknown"), intent: anyIntentOf(call.name) }
        : failedOutcome(record, DispatchFailure.unknownTool(call.name, Array.from(toolkit.tools.keys())), "resolve")
      return logged(Effect.succeed(outcome), call.name, fiber).pipe(
        Effect.annotateLogs(options.annotations ?? { tool: call.name, call: id })
      )
    }
    const health = Context.getOrUndefined(fiber.context, ToolHealth)
    if (before !== undefined) resumed(record, before, tool)
    const outer = fiber.getRef(current)
    const admitting = new CallAdmission(record, tool, options, () => disabledRefusal(tool, health), outer)
    let stage: Stage = "decode"
    const run = fiber.getRef(Deadline.current) === Infinity ? runOf(tool) : limitedByDeadline(runOf(tool), tool)
    const correcting = new CorrectionStage(tool, record, fiber, {
      run: (params) => {
        stage = "run"
        return run(params)
      },
      admit: (params, text, admitted) => {
        stage = "admit"
        return admitting.admit(params, text, admitted)
      },
      isCalled: admitting.isCalled
    })
    // Suspended once more, so that what decoding throws is caught below, too.
    const outcome = Effect.suspend(() =>
      Effect.flatMap(correcting.from(text, admitting.read(() => decoded(text, tool, before))), (value) => {
        stage = "guard"
        return Effect.flatMapEager(guard(tool, value), (json): Effect.Effect<ToolOutcome> => {
          if (typeof json === "string" && isCutOff(json)) {
            record.note({ _tag: "CaveatAdded", text: cutOffNote(tool) })
          }
          const outcome = completedOutcome(record, json)
          return outcome.certainty === "unknown" ? doubted(outcome, tool, toolkit) : Effect.succeed(outcome)
        })
      })
    ).pipe(
      Effect.catchCause((cause) =>
        logged(
          Effect.map(
            Effect.flatMap(outcomeOfCause(cause, stage, tool, record), (failed) => advised(failed, tool, toolkit)),
            (outcome) => leavingWith(outcome, record.done)
          ),
          tool.name,
          fiber
        )
      ),
      // In one step, since every call takes it.
      Effect.updateContext((context: Context.Context<Tool.Requirements<T>>) =>
        Context.add(
          Context.add(context, current, record),
          References.CurrentLogAnnotations,
          annotated(
            fiber.getRef(References.CurrentLogAnnotations),
            options.annotations ?? { tool: call.name, call: id }
          )
        )
      )
    )
    const named = options.facts === undefined ? outcome : Effect.map(outcome, (outcome) => admitting.named(outcome))
    const told = health === undefined
      ? named
      : Effect.tap(named, (outcome) => countInHealth(outcome, tool, record, health, fiber))
    return outer === detached ? told : heardBy(outer, tool, record, told)
  })

// What was corrected before says what was done to it.
const decoded = (text: string | undefined, tool: Tool.Any, before: CallOptions["before"]) =>
  before?.arguments === undefined
    ? attempt(text, tool)
    : Effect.mapEager(attempt(text, tool), ({ params }) => ({ params, repairs: [] }))

// A tool may dispatch calls, as an agent does that is a tool: what they did, it did.
const heardBy = <R>(
  outer: Frame,
  { name }: Tool.Any,
  record: CallFrame,
  outcome: Effect.Effect<ToolOutcome, never, R>
): Effect.Effect<ToolOutcome, never, R> =>
  Effect.onExit(outcome, (exit) =>
    Effect.sync(() => {
      // What a refused call says may be of an equal one before it, which has told that itself.
      const certainty = Exit.isSuccess(exit) && !wasRefused(exit.value) ? exit.value.certainty : record.certainty
      if (Exit.isSuccess(exit) && exit.value._tag === "Failed" && saysNothingDone(exit.value.failure)) {
        outer.live.mayQuote = true
      }
      if (certainty === "not_executed") return
      outer.note({ _tag: "InnerEnded", inside: name, by: outer.role, certainty, lasting: true })
    }))

// Its failure speaks of this tool, wherever it is thrown next.
const leavingWith = (outcome: ToolOutcome, done: Done): ToolOutcome => {
  if (outcome._tag !== "Failed") return outcome
  const failure = ofAnother(outcome.failure, done)
  return failure === outcome.failure ? outcome : { ...outcome, failure }
}

const wasRefused = (outcome: ToolOutcome): boolean => outcome._tag === "Failed" && outcome.stage === "admit"

// The call goes on with what its arguments were corrected to before it was suspended, and with what was done in it then: nothing that may
// have acted runs again because of a question. What has certainly acted before it asked, its author lets run twice.
const resumed = (
  call: CallFrame,
  { arguments: text, certainty = "not_executed", intent, repairs = [] }: CallOptions["before"] & {},
  { name, parameters, sideEffect }: Tool.Any
) => {
  if (certainty === "unknown" && sideEffect.startsWith("idempotent") && intent?.lasting === undefined) {
    // A success settles it.
    call.note({ _tag: "CallRepeated", certainty })
  } else if (certainty !== "not_executed") {
    const by = certainty === "unknown" ? "handler" : "policy"
    call.note({ _tag: "InnerEnded", inside: name, by, certainty, lasting: true })
  }
  if (text === undefined) return
  call.adopt({ text, isSecret: hasSecrets(schemaOf(parameters)) })
  if (repairs.length > 0) call.note({ _tag: "ArgumentsRepaired", repairs })
}

// A tool's parameters and its handler agree by construction (`Tool.make`), but in a union of tools the
// compiler no longer sees it: what one tool's schema decodes goes to the same tool's handler.
const runOf = <T extends Tool.Any>(tool: T) =>
  runWithoutFrame(tool) as Policy.Run<unknown, ToolFailure, Tool.Requirements<T>>

const annotated = (outer: Readonly<Record<string, unknown>>, inner: Readonly<Record<string, unknown>>) => {
  for (const _ in outer) return { ...outer, ...inner }
  return inner
}

const logged = (
  outcome: Effect.Effect<ToolOutcome>,
  tool: string,
  fiber: Fiber.Fiber<unknown, unknown>
): Effect.Effect<ToolOutcome> =>
  isLogged(fiber)
    ? Effect.tap(outcome, (outcome) => {
      // A defect, and a result that does not fit, are logged where they are found, with what only a log should say.
      if (outcome._tag !== "Failed" || outcome.failure.code === "defect" || outcome.stage === "guard") {
        return Effect.void
      }
      const attempts = outcome.attempts > 1 ? `, after ${outcome.attempts} attempts` : ""
      return logFailure(tool, outcome.failure, `The model was told${attempts}.`)
    })
    : outcome
