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
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import * as Arguments from "./Arguments.ts"
import * as Availability from "./Availability.ts"
import * as CallEvent from "./CallEvent.ts"
import { type Certainty, join } from "./Certainty.ts"
import * as Deadline from "./Deadline.ts"
import * as Defect from "./Defect.ts"
import * as DispatchFailure from "./DispatchFailure.ts"
import * as FailureLog from "./FailureLog.ts"
import { type Admission, anyIntentOf, type Intended, type Repeated } from "./internal/arguments/intent.ts"
import { schemaOf } from "./internal/arguments/jsonSchema.ts"
import { Call } from "./internal/call/callFrame.ts"
import { ofAnother, saysNothingDone, withOutcome } from "./internal/call/ending.ts"
import { current, detached, type Frame } from "./internal/call/frame.ts"
import { asCall } from "./internal/call/modelCall.ts"
import { completed, failed as failedCall, hasActed, stopped, suspended } from "./internal/call/outcome.ts"
import { heed } from "./internal/call/userCode.ts"
import { hearing } from "./internal/call/watching.ts"
import { type Admit, Admitting, lost } from "./internal/dispatch/admission.ts"
import { contained } from "./internal/effect/containment.ts"
import { randomId } from "./internal/effect/randomId.ts"
import { unknown } from "./internal/error/describe.ts"
import { isGuess } from "./internal/error/guess.ts"
import type { Done } from "./internal/failure/done.ts"
import { withFields } from "./internal/failure/failureClass.ts"
import { isBlameless, isRefusal, isRepeat } from "./internal/failure/refusalCode.ts"
import { defectsOf, signalIn } from "./internal/failure/signal.ts"
import { Correcting } from "./internal/fixing/correction.ts"
import { misfitLogged } from "./internal/result/misfitLog.ts"
import { resultIssues } from "./internal/result/resultIssues.ts"
import { isCutOff } from "./internal/result/resultText.ts"
import { isTooDeep, mostDepth, plainJson, type Unfit } from "./internal/value/plainJson.ts"
import * as Policy from "./Policy.ts"
import * as Tool from "./Tool.ts"
import type * as ToolCall from "./ToolCall.ts"
import {
  isOutcomeUnknown,
  isToolFailure,
  PartialData,
  type SchemaMismatch,
  type ToolFailure,
  ToolUnavailable
} from "./ToolFailure.ts"
import { type LastError, ToolHealth } from "./ToolHealth.ts"
import type * as Toolkit from "./Toolkit.ts"
import type { Completed, Failed, Stage, Suspended, ToolOutcome } from "./ToolOutcome.ts"

/**
 * What a call is told about its place in a run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Place {
  /** What logs, events and replies call it. Default: its idempotency key, or else a random name, since the ids that models give to calls repeat. */
  readonly id?: string
  /** Default: what `admit` says, or its id; inside of a tool's handler one of the outer call's, as for any tool that it runs. */
  readonly idempotencyKey?: string
  /** The user's replies to the call's questions, when it was suspended and is resumed. */
  readonly replies?: ReadonlyArray<ToolCall.Reply>
  /** What came of the call before, when it was suspended and is resumed: it goes on with what its arguments were corrected to. */
  readonly before?: Pick<Suspended, "arguments" | "repairs" | "intent"> & Partial<Pick<Suspended, "certainty">>
  /** Was the call under way when an earlier process ended? Then it may have taken effect. Default: `false`. */
  readonly wasBegun?: boolean
  /** Told of each event of the call as it happens. Default: `CallEvent.watcher`. */
  readonly onEvent?: CallEvent.Watcher | undefined
  /** What logs say of the call. Default: its tool and its id. */
  readonly annotations?: Readonly<Record<string, unknown>>
  /**
   * Why the call is not to be run, if so, or else what it is run with: asked once its arguments are decoded, and whenever they are corrected
   * after that. Before a fixer is asked for any that cannot be decoded, it is asked without them.
   */
  readonly admit?: Admit
}

export type { Admission, Admit, Intended, Repeated }

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
  place: Place = {}
): Effect.Effect<ToolOutcome, never, Tool.Requirements<T>> => {
  const id = place.id ?? place.idempotencyKey
  return id === undefined
    ? Effect.flatMap(randomId("call"), (id) => placed(toolkit, call, id, place))
    : placed(toolkit, call, id, place)
}

const placed = <T extends Tool.Any>(
  toolkit: Toolkit.Toolkit<T>,
  given: ToolCall.ToolCall,
  id: string,
  place: Place
): Effect.Effect<ToolOutcome, never, Tool.Requirements<T>> =>
  Effect.withFiber((fiber) => {
    const call = asCall(given)
    const { before } = place
    const text = before?.arguments ?? call.arguments
    const tool = toolkit.tools.get(call.name)
    const subject = tool === undefined
      ? { name: call.name, sideEffect: "none" } as const
      : Tool.subjectOf(tool, Tool.tokenOf(tool))
    const watcher = "onEvent" in place ? place.onEvent : fiber.getRef(CallEvent.watcher)
    const hear = hearing(fiber, call.name, id, watcher)
    const record = new Call(id, subject, text, place.replies, hear)
    const { idempotencyKey } = place
    if (idempotencyKey !== undefined) record.keyed = () => idempotencyKey
    if (tool === undefined) {
      const outcome = place.wasBegun === true
        ? { ...failedCall(record, lost(call.name), "resolve", "unknown"), intent: anyIntentOf(call.name) }
        : failedCall(record, DispatchFailure.unknownTool(call.name, Array.from(toolkit.tools.keys())), "resolve")
      return logged(Effect.succeed(outcome), call.name, fiber).pipe(
        Effect.annotateLogs(place.annotations ?? { tool: call.name, call: id })
      )
    }
    const health = Context.getOrUndefined(fiber.context, ToolHealth)
    if (before !== undefined) resumed(record, before, tool)
    const outer = fiber.getRef(current)
    const admitting = new Admitting(record, tool, place, () => disabled(tool, health), outer)
    let stage: Stage = "decode"
    const run = fiber.getRef(Deadline.current) === Infinity ? runOf(tool) : endedAtDeadline(tool)
    const correcting = new Correcting(tool, record, fiber, {
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
          const outcome = completed(record, json)
          return outcome.certainty === "unknown" ? doubted(outcome, tool, toolkit) : Effect.succeed(outcome)
        })
      })
    ).pipe(
      Effect.catchCause((cause) =>
        logged(
          Effect.map(
            Effect.flatMap(fold(cause, stage, tool, record), (failed) => advised(failed, tool, toolkit)),
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
          annotated(fiber.getRef(References.CurrentLogAnnotations), place.annotations ?? { tool: call.name, call: id })
        )
      )
    )
    const named = place.admit === undefined ? outcome : Effect.map(outcome, (outcome) => admitting.named(outcome))
    const told = health === undefined
      ? named
      : Effect.tap(named, (outcome) => counted(outcome, tool, record, health, fiber))
    return outer === detached ? told : heardBy(outer, tool, record, told)
  })

// What was corrected before says what was done to it.
const decoded = (text: string | undefined, tool: Tool.Any, before: Place["before"]) =>
  before?.arguments === undefined
    ? Arguments.attempt(text, tool)
    : Effect.mapEager(Arguments.attempt(text, tool), ({ params }) => ({ params, repairs: [] }))

// A tool may dispatch calls, as an agent does that is a tool: what they did, it did.
const heardBy = <R>(
  outer: Frame,
  { name }: Tool.Any,
  record: Call,
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
  call: Call,
  { arguments: text, certainty = "not_executed", intent, repairs = [] }: Place["before"] & {},
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

/**
 * Runs the calls of one turn, with their outcomes in the order of the calls.
 *
 * Neighbours that only read run together, up to 8 at once; any other call runs alone, after all that
 * came before it. So writes happen in the order in which the model asked for them, and a read sees
 * the writes before it. (A handler that ignored its timeout may still be running beside them.)
 *
 * A call that stops the run, or asks the user, holds back all that come after it, but for the reads that run together
 * with it: they fail as `not_run`, at the stage `admit`, which stands before all others.
 *
 * @category dispatch
 * @since 0.1.0
 */
export const batch = <T extends Tool.Any>(
  toolkit: Toolkit.Toolkit<T>,
  calls: ReadonlyArray<ToolCall.ToolCall>
): Effect.Effect<ReadonlyArray<ToolOutcome>, never, Tool.Requirements<T>> =>
  ordered(toolkit, calls.map(asCall), (one) => call(toolkit, one))

/**
 * The order of {@link batch} for a function of one's own that runs a call.
 *
 * When to use: for what belongs around every single call: a journal, events, a span.
 *
 * @category dispatch
 * @since 0.1.0
 */
export const ordered = <E, R>(
  toolkit: Toolkit.Toolkit,
  calls: ReadonlyArray<ToolCall.ToolCall>,
  each: (call: ToolCall.ToolCall, index: number) => Effect.Effect<ToolOutcome, E, R>
): Effect.Effect<ReadonlyArray<ToolOutcome>, E, R> => {
  const [first] = calls
  if (calls.length === 1 && first !== undefined) return Effect.map(each(first, 0), (outcome) => [outcome])
  const groups = neighbours(toolkit, calls)
  return Effect.suspend(() => {
    const done: Array<ToolOutcome> = []
    const from = (group: number): Effect.Effect<ReadonlyArray<ToolOutcome>, E, R> => {
      const members = groups[group]
      if (members === undefined) return Effect.succeed(done)
      // All of them are asked for before any starts: what may be run is decided in the order of the calls.
      const outcomes = Effect.all(members.map(({ call, index }) => each(call, index)), {
        concurrency: members.length === 1 ? 1 : readers
      })
      return Effect.flatMap(outcomes, (outcomes) => {
        done.push(...outcomes)
        return outcomes.some(holdsBack)
          ? Effect.succeed([...done, ...calls.slice(done.length).map(notRun)])
          : from(group + 1)
      })
    }
    return from(0)
  })
}

const holdsBack = ({ _tag }: ToolOutcome): boolean => _tag === "Suspended" || _tag === "Stopped"

const notRun = (call: ToolCall.ToolCall): ToolOutcome =>
  failedCall(new Call("", { name: call.name, sideEffect: "none" }), DispatchFailure.notRun(call.name), "admit")

/**
 * Was the call held back by an earlier one of its turn, so that it can still be run?
 *
 * @category dispatch
 * @since 0.1.0
 */
export const isNotRun = (outcome: ToolOutcome): boolean =>
  outcome._tag === "Failed" && outcome.stage === "admit" && outcome.failure.code === "not_run"

/** How many reading calls of a turn run at once. */
const readers = 8

interface Indexed {
  readonly call: ToolCall.ToolCall
  readonly index: number
}

// Runs of calls that only read, and every other call on its own. An unknown tool does nothing, and so reads.
const neighbours = (
  toolkit: Toolkit.Toolkit,
  calls: ReadonlyArray<ToolCall.ToolCall>
): ReadonlyArray<ReadonlyArray<Indexed>> => {
  const groups: Array<Array<Indexed>> = []
  let reading: Array<Indexed> | undefined
  calls.forEach((call, index) => {
    const reads = (toolkit.tools.get(call.name)?.sideEffect ?? "none") === "none"
    if (reads && reading !== undefined) {
      reading.push({ call, index })
    } else {
      const group = [{ call, index }]
      groups.push(group)
      reading = reads ? group : undefined
    }
  })
  return groups
}

// A tool's parameters and its handler agree by construction (`Tool.make`), but in a union of tools the
// compiler no longer sees it: what one tool's schema decodes goes to the same tool's handler.
const runOf = <T extends Tool.Any>(tool: T) => Tool.bare(tool) as Policy.Run<unknown, ToolFailure, Tool.Requirements<T>>

const annotated = (outer: Readonly<Record<string, unknown>>, inner: Readonly<Record<string, unknown>>) => {
  for (const _ in outer) return { ...outer, ...inner }
  return inner
}

const endedAtDeadline = <T extends Tool.Any>(tool: T) => Policy.endedAtDeadline(runOf(tool), tool)

// -----------------------------------------------------------------------------
// Health
// -----------------------------------------------------------------------------

const disabled = ({ name }: Tool.Any, health: ToolHealth["Service"] | undefined) => {
  const status = health?.statusUnsafe(name)
  return status?._tag === "Disabled" ? DispatchFailure.disabled(name, status.reason) : undefined
}

// Only what reached the tool says anything of it.
const counted = (
  outcome: ToolOutcome,
  { name }: Tool.Any,
  { state }: Call,
  health: ToolHealth["Service"],
  fiber: Fiber.Fiber<unknown, unknown>
): Effect.Effect<void> => {
  if (state.executions === 0 || (outcome._tag !== "Completed" && outcome._tag !== "Failed")) return Effect.void
  return Effect.catchCause(
    Effect.sync(() => {
      const fault = faultOf(outcome, state)
      if (fault === undefined) return health.called(name)
      const { code, detail, tag } = fault
      health.called(name, { tag, code, detail, at: fiber.getRef(Clock.Clock).currentTimeMillisUnsafe() })
    }),
    (cause) => Defect.report("The health of tools could not be kept", cause)
  )
}

// What the tool did wrong, if it did. That a name is unknown, or a page is missing, is not its fault. A policy that refuses says nothing of
// the tool: then an earlier attempt counts.
const faultOf = (outcome: Completed | Failed, { fault, fellBack }: Call["state"]): Fault | undefined => {
  if (fellBack) return fault
  if (outcome._tag === "Completed" || outcome.stage === "admit") return undefined
  const { failure } = outcome
  const { _tag: tag, code, detail } = failure
  switch (tag) {
    case "PartialData":
    case "SemanticGarbage":
      return undefined
    case "SchemaMismatch":
      return failure.side === "result" ? { tag, code, detail } : undefined
    case "ToolUnavailable":
      if (isRefusal(failure)) return fault
      return isBlameless(failure) ? undefined : { tag, code, detail }
  }
}

type Fault = Pick<LastError, "tag" | "code" | "detail">

// -----------------------------------------------------------------------------
// What else there is
// -----------------------------------------------------------------------------

// A failure's own tool does not know what else the toolkit has.
const advised = (outcome: ToolOutcome, tool: Tool.Any, toolkit: Toolkit.Toolkit): Effect.Effect<ToolOutcome> => {
  if (outcome._tag !== "Failed") return Effect.succeed(outcome)
  const { certainty, failure } = outcome
  // What is done is not done elsewhere again, and a run that may call no more calls no other tool.
  if (hasActed(outcome) || failure.code === "call_limit") return Effect.succeed(outcome)
  const less = wasTooMuch(outcome) ? askingForLess(tool) : undefined
  const isUnknown = certainty === "unknown"
  const others = failure._tag !== "ToolUnavailable" && !isUnknown
    ? Effect.succeed([])
    : callable(isUnknown ? [tool.check ?? ""] : tool.instead, toolkit)
  return Effect.map(others, (names) => {
    const other = isUnknown ? `${names.join()} to find out` : `${names.join(" or ")} instead`
    const ways = [...(less === undefined ? [] : [less]), ...(names.length === 0 ? [] : [other])]
    if (ways.length === 0) return outcome
    const told = hinted(outcome, `Call ${ways.join(", or call ")}.`)
    return less === undefined || failure._tag !== "ToolUnavailable"
      ? told
      : { ...told, failure: withFields<Failed["failure"]>(told.failure, { scope: "arguments" }) }
  })
}

// Cut off, or not there in time, and nothing was done.
const wasTooMuch = ({ attempts, certainty, failure }: Failed): boolean =>
  certainty === "not_executed" && attempts > 0 &&
  (failure._tag === "ToolUnavailable" && failure.code === "timeout" ||
    failure._tag === "SchemaMismatch" && failure.code === "truncated")

// With less, what acts would do something else.
const askingForLess = ({ sideEffect, size }: Tool.Any): string | undefined =>
  size === undefined || sideEffect !== "none" ? undefined : `it again with a smaller '${size}'`

// An answer that leaves it open whether the tool has taken effect.
const doubted = (outcome: Completed, { check = "" }: Tool.Any, toolkit: Toolkit.Toolkit): Effect.Effect<ToolOutcome> =>
  Effect.map(callable([check], toolkit), ([name]) => {
    const [doubt = "", ...others] = outcome.caveats
    return name === undefined ? outcome : { ...outcome, caveats: [`${doubt} Call ${name} to find out.`, ...others] }
  })

// Whom to ask what became of a call, or what serves instead, as far as it may be called.
const callable = (
  names: ReadonlyArray<string>,
  toolkit: Toolkit.Toolkit
): Effect.Effect<ReadonlyArray<string>> => {
  const tools = names.flatMap((name) => toolkit.tools.get(name) ?? [])
  if (tools.length === 0) return Effect.succeed([])
  return Effect.map(
    Availability.lookup,
    (availabilityOf) => tools.filter((tool) => availabilityOf(tool)._tag === "Available").map(({ name }) => name)
  )
}

const hinted = (outcome: Failed, advice: string): Failed => {
  const { failure } = outcome
  // What was refused because it had failed before may say it already.
  if (failure.hint?.includes(advice) === true) return outcome
  const hint = failure.hint === undefined ? advice : `${failure.hint} ${advice}`
  // A copy with its class and its cause.
  return { ...outcome, failure: withFields(failure, { hint }) }
}

// -----------------------------------------------------------------------------
// From a cause to an outcome
// -----------------------------------------------------------------------------

const fold = (
  cause: Cause.Cause<unknown>,
  stage: Stage,
  tool: Tool.Any,
  record: Call
): Effect.Effect<ToolOutcome> => {
  // A signal goes before what its finalizers may have done.
  const signal = signalIn(defectsOf(cause))
  switch (signal?._tag) {
    case "StopSignal":
      return Effect.succeed(stopped(record, signal.reason))
    case "SuspendSignal":
      return Effect.succeed(suspended(record, signal))
    case "RejectionSignal":
    case undefined:
      break
  }

  const [reason] = cause.reasons
  if (cause.reasons.length === 1 && reason !== undefined && Cause.isFailReason(reason) && isToolFailure(reason.error)) {
    return settle(reason.error, stage, tool, record)
  }
  return broken(cause, stage, tool, record)
}

const logged = (
  outcome: Effect.Effect<ToolOutcome>,
  tool: string,
  fiber: Fiber.Fiber<unknown, unknown>
): Effect.Effect<ToolOutcome> =>
  FailureLog.isLogged(fiber)
    ? Effect.tap(outcome, (outcome) => {
      // A defect, and a result that does not fit, are logged where they are found, with what only a log should say.
      if (outcome._tag !== "Failed" || outcome.failure.code === "defect" || outcome.stage === "guard") {
        return Effect.void
      }
      const attempts = outcome.attempts > 1 ? `, after ${outcome.attempts} attempts` : ""
      return FailureLog.told(tool, outcome.failure, `The model was told${attempts}.`)
    })
    : outcome

// Thrown, died, interrupted itself, or failed with what no tool may fail with.
const broken = (
  cause: Cause.Cause<unknown>,
  stage: Stage,
  tool: Tool.Any,
  record: Call
): Effect.Effect<ToolOutcome> => {
  for (const defect of defectsOf(cause)) heed(`The tool '${tool.name}'`, defect)
  const certainty = stage === "guard" ? unread(record) : record.certainty
  const outcome = certainty === "not_executed" ? undefined : certainty
  const failure = DispatchFailure.defect({ tool: tool.name, outcome, cause })
  return Effect.as(
    Defect.report(`The tool ${tool.name} failed because of a fault of its own`, cause),
    failedCall(record, failure, stage, certainty)
  )
}

const settle = (
  failure: ToolFailure,
  stage: Stage,
  tool: Tool.Any,
  record: Call
): Effect.Effect<ToolOutcome> => {
  switch (failure._tag) {
    case "PartialData":
      return partial(failure, stage, tool, record)
    case "SchemaMismatch":
      return Effect.succeed(mismatched(failure, stage, record))
    case "SemanticGarbage":
      return Effect.succeed(failedCall(record, failure, stage))
    case "ToolUnavailable": {
      const failed = Effect.succeed(unavailable(failure, stage, tool, record))
      return failure.code === "failed" && isGuess(failure) ? reported(failure.cause, tool, failed) : failed
    }
  }
}

// Nobody knows what such an error means, but for whoever wrote the tool.
const reported = (error: unknown, { name }: Tool.Any, failed: Effect.Effect<Failed>) =>
  Effect.andThen(Defect.report(`The tool ${name} failed with ${unknown(error)}`, Cause.fail(error)), failed)

// The handler has answered, and nobody can read what: whether it did what was asked is open.
const unread = ({ acts, certaintyOfAnswer }: Call): Certainty =>
  acts && certaintyOfAnswer === "executed" ? "unknown" : certaintyOfAnswer

const mismatched = (failure: SchemaMismatch, stage: Stage, record: Call): Failed => {
  if (stage === "guard") return failedCall(record, failure, stage, unread(record))
  if (stage !== "decode" || failure.side === "result") return failedCall(record, failure, stage)
  return failedCall(record, failure, failure.code === "invalid_json" ? "parse" : stage)
}

// What is unknown of a tool depends on the tool: one that is not idempotent must not be tried again, now or later.
const unavailable = (failure: ToolUnavailable, stage: Stage, { sideEffect }: Tool.Any, record: Call): Failed => {
  const known = record.known(failure)
  const isUnknown = isOutcomeUnknown(known)
  if (record.certainty === "not_executed" && sideEffect === "none") {
    // It has done nothing, whatever its handler thought.
    return failedCall(record, isUnknown ? withOutcome(known, "not_executed") : known, stage)
  }
  const told = isUnknown && sideEffect === "non_idempotent" && !keepsCode(known)
    ? new ToolUnavailable({ ...known, code: "outcome_unknown", transient: false, cause: known.cause })
    : known
  const { outcome } = told
  if (outcome === undefined) return failedCall(record, told, stage)
  // An earlier call with the same arguments has taken effect: whoever counts what was executed is not to count it twice.
  const isOfEarlier = stage === "admit" && outcome === "executed" && record.certainty === "not_executed"
  const certainty = isOfEarlier ? "unknown" : join(record.certainty, outcome)
  // What an outcome says is in every copy of it.
  return failedCall(record, Object.keys(told).includes("outcome") ? told : withOutcome(told, outcome), stage, certainty)
}

const keepsCode = (failure: ToolUnavailable): boolean => failure.code === "defect" || isRepeat(failure)

// The data of a partial failure is a result, too: it is guarded, and travels as JSON.
const partial = (
  failure: PartialData,
  stage: Stage,
  tool: Tool.Any,
  record: Call
): Effect.Effect<ToolOutcome> =>
  Effect.suspend(() => guard(tool, failure.data)).pipe(
    Effect.match({
      onSuccess: (data) => {
        const { next, ...rest } = failure
        const kept = next === undefined || isTooDeep(next) || !isJsonObject(next) ? {} : { next }
        return failedCall(record, new PartialData({ ...rest, ...kept, data, cause: failure.cause }), stage)
      },
      onFailure: (invalid) => mismatched(invalid, "guard", record)
    }),
    Effect.catchCause((cause) => broken(cause, "guard", tool, record))
  )

const isJsonObject = Schema.is(Schema.JsonObject)

// -----------------------------------------------------------------------------
// The guard: a value must be what the tool declares, in JSON
// -----------------------------------------------------------------------------

type Encode = (value: unknown) => Effect.Effect<unknown, SchemaIssue.Issue>

const encoders = new WeakMap<object, Encode>()

const encoderOf = (success: Schema.ConstraintEncoder<unknown>): Encode => {
  const known = encoders.get(success)
  if (known !== undefined) return known
  const encode = SchemaParser.encodeUnknownEffect(Schema.toCodecJson(success), { errors: "all" })
  const encoder: Encode = (value) => contained(encode(value))
  encoders.set(success, encoder)
  return encoder
}

const guard = (tool: Tool.Any, value: unknown) => {
  const { name } = tool
  const guarded = Effect.catchEager(encoderOf(tool.success)(value), (issue) => {
    const issues = resultIssues(issue, value)
    return invalid(DispatchFailure.invalidResult({ tool: name, issues, cause: issue }), name, value)
  })
  return Effect.flatMapEager(guarded, (encoded) => {
    const plain = plainJson(encoded)
    return typeof plain === "string" ? invalid(unfit(name, plain), name, value) : Effect.succeed(plain.json)
  })
}

const cutOffNote = (tool: Tool.Any): string => {
  const less = askingForLess(tool)
  const told = "This text looks like JSON that was cut off."
  return less === undefined ? told : `${told} If you need it whole, call ${less}.`
}

// The model cannot do anything about it. Whoever wrote the tool can.
const invalid = (failure: DispatchFailure.Mismatch, tool: string, value: unknown) =>
  Effect.andThen(misfitLogged(tool, failure.issues, value), Effect.fail(failure))

const unfit = (tool: string, why: Unfit) =>
  DispatchFailure.invalidResult({
    tool,
    detail: why === "too_deep"
      ? `The result of ${tool} is nested in more than ${mostDepth} levels.`
      : `The result of ${tool} cannot be written as JSON.`,
    issues: [{
      path: [],
      expected: why === "too_deep" ? `at most ${mostDepth} levels` : "a JSON value",
      actual: why === "too_deep" ? "more" : "something else"
    }],
    cause: undefined
  })
