import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as CallFacts from "../../CallFacts.ts"
import type { Certainty } from "../../Certainty.ts"
import type { Reply } from "../../Model.ts"
import type { Observer } from "../../Observer.ts"
import type * as Tool from "../../Tool.ts"
import type * as ToolCall from "../../ToolCall.ts"
import type * as Toolkit from "../../Toolkit.ts"
import * as ToolOutcome from "../../ToolOutcome.ts"
import type { Transcript } from "../../Transcript.ts"
import { anyIntentOf } from "../arguments/callIntent.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { shownCall } from "../call/modelCall.ts"
import { isNotRun, notRun, runInOrder } from "../dispatch/concurrentCalls.ts"
import { type EarlierCall, endedIn, isJoinable } from "../dispatch/equalCalls.ts"
import { withLateDoubts } from "../dispatch/lateDoubt.ts"
import { performCall, type PerformOptions } from "../dispatch/performCall.ts"
import { recordCall } from "../dispatch/recordCalls.ts"
import { isExemptFromLimits } from "../tool/exemptFromLimits.ts"
import { finalAnswerName, refusalBeside } from "./finalAnswer.ts"
import { joinOutcomes } from "./joinOutcomes.ts"
import { isRecording, journalStep } from "./journalStep.ts"
import { StepStart } from "./journalStepStart.ts"
import { type LoopState, refuseInLoop, waitInLoop } from "./loopGuard.ts"
import { isAnswered } from "./openQuestions.ts"
import { pollUntilChanged } from "./polling.ts"
import { countOwn, toolkitOf } from "./providerApproval.ts"
import { readUntilVisible, waitFirst } from "./rereads.ts"
import type { Run, State } from "./runState.ts"

/** The outcomes of a turn's calls, and the facts after them. */
export interface Called {
  readonly outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>
  /** The facts of the scope, including these calls. */
  readonly facts: CallFacts.CallFacts
}

/**
 * Runs the calls of a reply. The Effect can run once.
 *
 * Decides for each call whether it may run. The decision depends on the outcomes of the calls that have ended by then. The
 * calls count towards the limits in order. Calls that read and run concurrently are all decided on before any of them starts.
 *
 * If a call asks, those after it are held back. But they may ask, too, so that a person sees all that is asked at once.
 *
 * @param before the outcomes with which the run waited. A call that has ended keeps its outcome. A call whose question has its
 * reply runs again, with the reply. Default: no call has begun
 */
export const runCalls = <T extends Tool.Any>(
  run: Run<T>,
  { facts: factsBefore, loop, transcript, turn }: Pick<State, "facts" | "loop" | "transcript" | "turn">,
  reply: Pick<Reply, "calls" | "providerCalls">,
  before: ReadonlyArray<ToolOutcome.ToolOutcome> = none
): Effect.Effect<Called, never, Tool.Requirements<T>> => {
  let facts = factsBefore
  const { calls } = reply
  const count = countOwn(reply)
  // Nearly all turns have one call.
  const ended: Array<EarlierCall> | undefined = calls.length === 1
    ? undefined
    : before.flatMap((outcome, index) => endedIn(calls[index]!, outcome))
  const toolOf = (call: ToolCall.ToolCall): Tool.Any | undefined => toolkitOf(run.toolkit, call).tools.get(call.name)
  // Counts the call, once. Calls that wait are counted too, so that all are counted in their order.
  const limitRefusal = ({ name }: ToolCall.ToolCall, index: number, tool: Tool.Any | undefined) =>
    tool === undefined || !isExemptFromLimits(tool)
      ? run.usage.refusal(index, count, name)
      : run.output !== undefined && name === finalAnswerName
      ? refusalBeside(calls)
      : undefined
  const perform = (
    call: ToolCall.ToolCall,
    index: number,
    suspended?: ToolOutcome.Suspended
  ): Dispatched<T> => {
    const tool = toolOf(call)
    const joins = tool !== undefined && isJoinable(tool)
    const refusal = limitRefusal(call, index, tool)
    const refusedInLoop = loopRefusal(run, loop, call, tool)
    // An interrupted call has an outcome only for those who ask how far the run has come.
    const onInterrupted = run.tracker === undefined ? undefined : (outcome: ToolOutcome.ToolOutcome) => {
      facts = afterCall(run, facts, call, outcome)
      run.tracker?.callEnded(index, outcome, facts)
    }
    const begin = () => {
      facts = withLateDoubts(facts)
      const known = facts.failures === 0 || tool === undefined ? facts : run.rereads.forgiving(facts, tool, run.time)
      const admission = { facts: known, transcript, turn: ended, refusal, loopRefusal: refusedInLoop, onInterrupted }
      const mayBePatient = tool?.poll !== undefined || loop.mayWait || run.rereads.hasMade
      const around = mayBePatient && refusal === undefined && refusedInLoop === undefined
        ? patience(run, loop, call, tool)
        : undefined
      run.tracker?.callBegan(index)
      const performed = Effect.map(runCall(run, turn, call, index, admission, around, suspended), (outcome) => {
        // A suspended call has no final outcome yet.
        if (outcome._tag !== "Suspended") facts = afterCall(run, facts, call, outcome)
        if (tool !== undefined && (outcome._tag === "Failed" || tool.sideEffect !== "none")) {
          run.rereads.ended(call, tool, outcome, run.time)
        }
        run.tracker?.callEnded(index, outcome, facts)
        if (tool?.poll !== undefined) run.polled.add(call, outcome)
        if (joins) ended?.push(...endedIn(call, outcome))
        return outcome
      })
      const { tracker } = run
      return tracker === undefined || (tool?.sideEffect ?? "none") === "none"
        ? performed
        : Effect.tap(performed, tracker.stored)
    }
    // A call that acts may have to wait for others of its group.
    return ended === undefined || (tool?.sideEffect ?? "none") === "none" ? begin() : Effect.suspend(begin)
  }
  const [first] = calls
  // Fast path: most turns have one call.
  if (calls.length === 1 && first !== undefined && before.length === 0) {
    return Effect.map(perform(first, 0), (outcome) => ({ outcomes: [outcome], facts }))
  }
  const each = (call: ToolCall.ToolCall, index: number): Dispatched<T> => {
    const outcome = before[index]
    if (outcome === undefined || isNotRun(outcome)) return perform(call, index)
    if (outcome._tag !== "Suspended") return Effect.succeed(outcome)
    if (isAnswered(outcome)) return Effect.map(perform(call, index, outcome), (after) => joinOutcomes(outcome, after))
    limitRefusal(call, index, toolOf(call))
    return Effect.succeed(outcome)
  }
  const mayAsk = (tool: Tool.Any | undefined) =>
    run.onDoubt === "ask" || run.onDone === "ask" || tool?.approvals !== undefined || tool?.client === true
  const asks = (
    call: ToolCall.ToolCall,
    index: number,
    asking: ReadonlyArray<ToolOutcome.ToolOutcome>
  ): Dispatched<T> => {
    const earlier = before[index]
    const tool = toolOf(call)
    const refusal = limitRefusal(call, index, tool)
    if (earlier !== undefined && !isNotRun(earlier)) return Effect.succeed(earlier)
    const heldBack = earlier ?? notRun(call)
    if (!mayAsk(tool)) return Effect.succeed(heldBack)
    return Effect.map(
      askFirst(run, turn, call, index, {
        facts,
        transcript,
        turn: ended,
        refusal,
        loopRefusal: loopRefusal(run, loop, call, tool)
      }),
      (outcome) =>
        outcome._tag !== "Suspended" || isAskedIn(asking, outcome, tool)
          ? heldBack
          : outcome
    )
  }
  // All calls that a doubt holds back would ask about it.
  const inOrder = run.onDoubt === "ask" && factsBefore.failures > 0
  return Effect.map(runInOrder(run.toolkit, calls, { each, asks, inOrder }), (outcomes) => ({
    // A call that is held back keeps the outcome that it had.
    outcomes: before.length === 0
      ? outcomes
      : outcomes.map((outcome, index) => isNotRun(outcome) ? before[index] ?? outcome : outcome),
    facts
  }))
}

const none: ReadonlyArray<never> = []

// True if an earlier call of the turn asks the same: about the same doubt, or about an equal call, which it would be joined to.
const isAskedIn = (
  asking: ReadonlyArray<ToolOutcome.ToolOutcome>,
  { asks: { kind, text }, intent }: ToolOutcome.Suspended,
  tool: Tool.Any | undefined
): boolean =>
  asking.some((other) =>
    other._tag === "Suspended" && (
      kind === "doubt"
        ? other.asks.kind === "doubt" && other.asks.text === text
        : tool !== undefined && isJoinable(tool) && intent !== undefined && other.intent?.id === intent.id
    )
  )

const loopRefusal = <T extends Tool.Any>(
  { guard }: Run<T>,
  loop: LoopState,
  call: ToolCall.ToolCall,
  tool: Tool.Any | undefined
) => guard === undefined || tool === undefined ? undefined : refuseInLoop(guard, loop, call, tool)

// Returns what is done around a call of a tool whose answer may change with time; `undefined` for most calls.
const patience = <T extends Tool.Any>(
  run: Run<T>,
  loop: LoopState,
  call: ToolCall.ToolCall,
  tool: Tool.Any | undefined
): Around<T> | undefined => {
  if (tool === undefined) return undefined
  if (tool.poll !== undefined) {
    const known = run.polled.of(call)
    return known === undefined ? undefined : (once) => pollUntilChanged(tool, run.time, known, once)
  }
  if (tool.sideEffect !== "none") return undefined
  const wait = run.guard === undefined ? 0 : waitInLoop(loop, call, tool, run.time)
  const madeAt = run.rereads.madeAt(call)
  if (wait === 0 && madeAt === undefined) return undefined
  return (once, { id, onEvent }) => {
    const waiting = { time: run.time, call: { tool: tool.name, id }, onEvent }
    const read = madeAt === undefined ? once : readUntilVisible(madeAt, waiting, once)
    return wait === 0 ? read : waitFirst(wait, waiting, read)
  }
}

/** Returns the names of the tools that were called since the user's last message. */
export const callsSince = (transcript: Transcript): ReadonlyArray<string> => {
  const messages = Array.from(transcript)
  const start = messages.findLastIndex(({ role }) => role === "user")
  return messages.slice(start + 1).flatMap((message) =>
    message.role === "assistant" ? message.calls.map(({ name }) => name) : []
  )
}

/** Returns the names of the tools whose calls have an outcome that a resumed run keeps. */
export const callsMade = (
  { calls }: Reply,
  outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>
): ReadonlyArray<string> =>
  calls.flatMap(({ name }, index) => {
    const outcome = outcomes[index]
    return outcome === undefined || outcome._tag === "Suspended" || isNotRun(outcome) ? [] : [name]
  })

/** Returns the facts with the outcome of a call added. */
export const afterCall = <T extends Tool.Any>(
  { toolkit }: Run<T>,
  facts: CallFacts.CallFacts,
  call: ToolCall.ToolCall,
  outcome: ToolOutcome.ToolOutcome
): CallFacts.CallFacts => {
  const { name } = call
  // A tool that is no longer in the toolkit counts as non-idempotent, because its side effect is unknown.
  const tool = toolkitOf(toolkit, call).tools.get(name) ?? { name, sideEffect: "non_idempotent" } as const
  return recordCall(facts, outcome, tool)
}

/** What decides whether a call may run, and what its model was asked. */
interface Admission {
  readonly facts: CallFacts.CallFacts
  readonly transcript: Transcript
  readonly turn: ReadonlyArray<EarlierCall> | undefined
  readonly refusal: DispatchFailure.DispatchFailure | undefined
  readonly loopRefusal: DispatchFailure.DispatchFailure | undefined
  readonly onInterrupted?: PerformOptions["onInterrupted"]
}

// Runs a call as a step of the journal, and emits its events if the run is watched. `index` is 0-based.
const runCall = <T extends Tool.Any>(
  run: Run<T>,
  turn: number,
  call: ToolCall.ToolCall,
  index: number,
  admission: Admission,
  around: Around<T> | undefined,
  suspended: ToolOutcome.Suspended | undefined
): Dispatched<T> => {
  const { watch } = run
  const position = positionOf(turn, index)
  const options = optionsOf(run, turn, call, position, admission, suspended)
  // Fast path: most runs are neither recorded nor watched.
  if (watch === undefined && !isRecording(run.journal)) return dispatch(run, call, options, around)
  return Effect.suspend(() =>
    // Once its journal has failed, nothing of a run begins.
    run.halt?.fault === undefined
      ? recordedCall(run, { turn, index: index + 1, call }, position, options, around)
      : Effect.succeed(haltedOutcome(run.toolkit, call))
  )
}

const positionOf = (turn: number, index: number): string => `turn/${turn}/call/${index + 1}`

const optionsOf = <T extends Tool.Any>(
  run: Run<T>,
  turn: number,
  call: ToolCall.ToolCall,
  position: string,
  admission: Admission,
  suspended?: ToolOutcome.Suspended
): CallOptions => {
  const id = `${run.id}/${position}`
  const annotations = { run: run.id, turn, tool: call.name, call: id }
  return {
    id,
    facts: admission.facts,
    turn: admission.turn,
    onDoubt: run.onDoubt,
    onDone: run.onDone,
    refusal: admission.refusal,
    loopRefusal: admission.loopRefusal,
    onInterrupted: admission.onInterrupted,
    place: { run: run.id, turn, transcript: admission.transcript },
    annotations,
    onEvent: run.onEvent,
    ...(suspended === undefined ? {} : { before: suspended, replies: suspended.replies })
  }
}

// Lets a call ask that does not run yet. It is no step of the journal, and has no events, unless it asks: the call begins
// later, and a replay asks again.
const askFirst = <T extends Tool.Any>(
  run: Run<T>,
  turn: number,
  call: ToolCall.ToolCall,
  index: number,
  admission: Admission
): Dispatched<T> => {
  const options = optionsOf(run, turn, call, positionOf(turn, index), admission)
  const asking = performCall(run.toolkit, call, { ...options, asksOnly: true, onEvent: undefined })
  return Effect.map(asking, (outcome) => {
    if (outcome._tag === "Suspended" && run.watch !== undefined) {
      const seen = { turn, index: index + 1, call: shownCall(call) }
      run.watch({ _tag: "CallStarted", ...seen, ...whoRuns(run, call) })
      run.watch({ _tag: "CallEnded", ...seen, outcome: shownOutcome(run, call, outcome), elapsed: Duration.zero })
    }
    return outcome
  })
}

const dispatch = <T extends Tool.Any>(
  run: Run<T>,
  call: ToolCall.ToolCall,
  options: CallOptions,
  around: Around<T> | undefined
): Dispatched<T> => {
  const once = performCall(toolkitOf(run.toolkit, call), call, options)
  return around === undefined ? once : around(once, options)
}

/** The options of a call that has a name. */
type CallOptions = PerformOptions & { readonly id: string }

/** What is done around a call: waits before it, and calls again. */
type Around<T extends Tool.Any> = (
  once: Dispatched<T>,
  options: { readonly id: string; readonly onEvent?: Observer["onEvent"] }
) => Dispatched<T>

const recordedCall = <T extends Tool.Any>(
  run: Run<T>,
  event: { readonly turn: number; readonly index: number; readonly call: ToolCall.ToolCall },
  position: string,
  options: CallOptions,
  around: Around<T> | undefined
): Dispatched<T> => {
  const { watch } = run
  const { call } = event
  const stepIn = (options: CallOptions, begin: Wrap<T>) => () => ({
    // A resumed call is a new step: the step named `position` has already recorded the suspension.
    name: options.before === undefined ? position : `${position}/reply/${options.replies?.length ?? 0}`,
    success: ToolOutcome.schema,
    error: Schema.Never,
    // A tool that is no longer in the toolkit may have acted before, too.
    lost: toolkitOf(run.toolkit, call).tools.get(call.name)?.sideEffect === "none"
      ? undefined
      : begin(dispatch(run, call, { ...options, wasBegun: true }, around))
  })
  const unrecorded = (own: ToolOutcome.ToolOutcome | undefined) =>
    Effect.succeed(own ?? haltedOutcome(run.toolkit, call))
  if (watch === undefined) {
    return journalStep(
      run,
      stepIn(options, (self) => self),
      dispatch(run, call, options, around),
      unrecorded
    )
  }

  const seen = { ...event, call: shownCall(call) }
  const onEvent: Observer["onEvent"] = (watched, failure) => {
    const { at: _, id: __, tool: ___, ...happened } = watched
    watch({ ...happened, ...seen })
    run.onEvent?.(watched, failure)
  }
  return Effect.suspend(() => {
    const beginning = new StepStart((replay) =>
      watch({ _tag: "CallStarted", ...seen, ...whoRuns(run, call), ...replay })
    )
    const begin: Wrap<T> = (self) => beginning.of(self)
    const watched = { ...options, onEvent }
    const outcome = journalStep(
      run,
      stepIn(watched, begin),
      begin(dispatch(run, call, watched, around)),
      (own) => {
        beginning.begin()
        return unrecorded(own)
      }
    )
    return Effect.map(Effect.timed(outcome), ([elapsed, outcome]) => {
      const replay = beginning.replay()
      watch({ _tag: "CallEnded", ...seen, outcome: shownOutcome(run, call, outcome), elapsed, ...replay })
      return outcome
    })
  })
}

const whoRuns = <T extends Tool.Any>({ toolkit }: Run<T>, call: ToolCall.ToolCall): { readonly client?: true } =>
  toolkitOf(toolkit, call).tools.get(call.name)?.client === true ? { client: true } : {}

// A suspended call keeps its corrected arguments, even if they have a secret.
const shownOutcome = <T extends Tool.Any>(
  { masks }: Run<T>,
  { name }: ToolCall.ToolCall,
  outcome: ToolOutcome.ToolOutcome
): ToolOutcome.ToolOutcome => {
  const mask = outcome.arguments === undefined ? undefined : masks?.get(name)
  return mask === undefined || outcome.arguments === undefined
    ? outcome
    : { ...outcome, arguments: mask(outcome.arguments) }
}

type Dispatched<T extends Tool.Any> = Effect.Effect<ToolOutcome.ToolOutcome, never, Tool.Requirements<T>>

type Wrap<T extends Tool.Any> = (self: Dispatched<T>) => Dispatched<T>

// Returns the outcome of a call whose result is lost. If the tool acts, the call is in doubt.
export const unknownOutcome = (
  toolkit: Toolkit.Toolkit,
  call: ToolCall.ToolCall,
  stage: ToolOutcome.Stage
): ToolOutcome.Failed => {
  const acts = (toolkitOf(toolkit, call).tools.get(call.name)?.sideEffect ?? "none") !== "none"
  return lostOutcome(
    call,
    stage,
    acts,
    (outcome) => DispatchFailure.defect({ tool: call.name, outcome, cause: undefined })
  )
}

// Returns the outcome of a call whose journal has failed. Whatever the tool was, and whether or not this process has begun
// the call, another process may have: it may have the journal now.
const haltedOutcome = (toolkit: Toolkit.Toolkit, call: ToolCall.ToolCall): ToolOutcome.Failed =>
  lostOutcome(
    call,
    "run",
    toolkitOf(toolkit, call).tools.get(call.name)?.sideEffect !== "none",
    (outcome) => DispatchFailure.halted(call.name, outcome)
  )

// Returns the outcome of a call that has none yet, for those who ask how far its run has come.
export const openOutcome = (toolkit: Toolkit.Toolkit, call: ToolCall.ToolCall): ToolOutcome.Failed =>
  lostOutcome(
    call,
    "run",
    (toolkitOf(toolkit, call).tools.get(call.name)?.sideEffect ?? "none") !== "none",
    (outcome) => DispatchFailure.interrupted(call.name, outcome)
  )

const lostOutcome = (
  { name }: ToolCall.ToolCall,
  stage: ToolOutcome.Stage,
  acts: boolean,
  failureOf: (outcome: Certainty | undefined) => DispatchFailure.DispatchFailure
): ToolOutcome.Failed => {
  const certainty: Certainty = acts ? "unknown" : "not_executed"
  const effort = { certainty, repairs: [], attempts: 1, handled: [], waited: Duration.zero }
  return {
    _tag: "Failed",
    failure: failureOf(acts ? "unknown" : undefined),
    stage,
    ...effort,
    ...(acts ? { intent: anyIntentOf(name) } : {})
  }
}
