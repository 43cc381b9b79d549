/**
 * One turn, fold, recurse.
 *
 *     turn = ask the model ─ no calls: the answer
 *                          └ calls: run them, append what came of them, turn
 *
 * The loop is a recursive Effect over an immutable state. Each turn ends in its last `flatMap`, with
 * nothing wrapped around it, so that a run of any length takes the same memory per turn; and each
 * turn appends to what is there, so that it takes the same time.
 *
 * `Agent` runs it; the index does not export it.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as AgentBudget from "./AgentBudget.ts"
import type { Happened } from "./AgentEvent.ts"
import * as AgentFailure from "./AgentFailure.ts"
import type { Answer } from "./Answer.ts"
import type * as CallEvent from "./CallEvent.ts"
import * as CallFacts from "./CallFacts.ts"
import type { Certainty } from "./Certainty.ts"
import * as Defect from "./Defect.ts"
import * as Dispatch from "./Dispatch.ts"
import * as DispatchFailure from "./DispatchFailure.ts"
import * as FailureLog from "./FailureLog.ts"
import { Account } from "./internal/agent/account.ts"
import { recorded } from "./internal/agent/journaled.ts"
import { ask, isReplyAlone, lastOf, retriedOf, type Surroundings, unrecorded } from "./internal/agent/modelTurn.ts"
import { Beginning } from "./internal/agent/replay.ts"
import { isUnlimited } from "./internal/agent/unlimited.ts"
import type { UsedUp } from "./internal/agent/usage.ts"
import { anyIntentOf } from "./internal/arguments/intent.ts"
import { wasSent } from "./internal/call/callState.ts"
import { current, detached } from "./internal/call/frame.ts"
import { heed, outright } from "./internal/call/userCode.ts"
import { randomId } from "./internal/effect/randomId.ts"
import { withinTime } from "./internal/effect/withinTime.ts"
import { kind } from "./internal/value/text.ts"
import * as Journal from "./Journal.ts"
import * as Ledger from "./Ledger.ts"
import { type Model, ModelFailure, mustCall, type Options, type Reply } from "./Model.ts"
import * as Rendering from "./Rendering.ts"
import type * as Tool from "./Tool.ts"
import type * as ToolCall from "./ToolCall.ts"
import type * as Toolkit from "./Toolkit.ts"
import * as ToolOutcome from "./ToolOutcome.ts"
import type { Message, Transcript } from "./Transcript.ts"

/**
 * What stays the same throughout a run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Run<T extends Tool.Any> extends Surroundings {
  /** Names the run, and its calls: in logs, in events, and in the idempotency keys of its scope. */
  readonly id: string
  readonly model: Model["Service"]
  readonly toolkit: Toolkit.Toolkit<T>
  readonly rendering: Rendering.Rendering
  readonly budget: AgentBudget.AgentBudget
  /** Is the model to be offered only what may be called now? */
  readonly offersAvailable: boolean
  readonly modelOptions: Options
  /** When to ask the model again after a transient failure. */
  readonly modelRetry: Schedule.Schedule<unknown, ModelFailure>
  /** Told of everything that happens; absent when nobody looks. */
  readonly watch: ((event: Happened) => void) | undefined
}

/**
 * What changes from turn to turn.
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
  /** The turn to come, from 1. */
  readonly turn: number
  readonly transcript: Transcript
  readonly account: Account
  readonly facts: CallFacts.CallFacts
  /** How many replies in a row had neither text nor calls. */
  readonly blanks: number
}

/**
 * Where a run begins.
 *
 * @category models
 * @since 0.1.0
 */
export const beginning = (transcript: Transcript, facts: CallFacts.CallFacts): State => ({
  turn: 1,
  transcript,
  account: Account.empty(),
  facts,
  blanks: 0
})

/**
 * The id of a new run: a step of the journal, since the idempotency keys of a run that is replayed must be those of the first time. A run
 * inside of a call has one that comes of that call's key, and of what it is asked. So it may have begun in an earlier attempt.
 *
 * @category loop
 * @since 0.1.0
 */
export const newId = (
  state: State,
  question: string
): Effect.Effect<{ readonly id: string; readonly mayHaveRun: CallFacts.Likelihood }, AgentFailure.ModelFailed> =>
  Effect.flatMap(current, (frame) => {
    if (frame !== detached) {
      const id = `run-${frame.keyOf(JSON.stringify(["run", question]))}`
      return Effect.succeed({ id, mayHaveRun: wasSent(frame.whole.state) ? "likely" : "no" } as const)
    }
    const id = Effect.flatMap(
      Journal.current,
      (journal) =>
        Journal.stepOr(
          journal,
          { name: "run", success: Schema.String, error: ModelFailure.schema },
          randomId("run"),
          unrecorded
        )
    )
    return Effect.mapBoth(id, {
      // The model was not asked.
      onFailure: (failure) =>
        modelFailed({ ...state, account: state.account.modelFailed([lastOf(failure, state.turn, 0)]) }, failure),
      onSuccess: (id) => ({ id, mayHaveRun: "no" } as const)
    })
  })

type Loop<T extends Tool.Any, A> = Effect.Effect<A, AgentFailure.AgentFailure, Tool.Requirements<T>>

/**
 * The rest of a run: from this turn to its answer or its failure.
 *
 * @category loop
 * @since 0.1.0
 */
export const turn = <T extends Tool.Any>(run: Run<T>, state: State): Loop<T, Answer> => {
  const { usedUp } = run.spending
  if (usedUp !== undefined) return Effect.fail(limitReached(run, state, usedUp))
  return Effect.matchEffect(inTime(run, ask(run, state.turn, state.transcript, optionsFor(run, state))), {
    onFailure: ({ failure, failures }) => endedByModel(run, state, failure, failures),
    onSuccess: (heard) => {
      if (heard === timeIsUp) {
        const late = failed(run, state, retriedOf(run.retried, state.turn))
        return Effect.fail(limitReached(run, late, { limit: "elapsed", budget: run.budget, isOwn: true }))
      }
      const reply = isReplyAlone(heard) ? heard : heard.reply
      const before = isReplyAlone(heard) ? state.account : state.account.modelFailed(heard.failures)
      const asked = { ...state, account: before.replied(reply) }
      run.spending.now(asked.account, reply.calls.length)
      if (reply.calls.length > 0) {
        // It has been told already that there are no calls left.
        if (state.account.calls > run.budget.calls) {
          return Effect.fail(limitReached(run, asked, { limit: "calls", budget: run.budget, isOwn: true }))
        }
        return dispatch(run, asked, reply)
      }
      return isBlank(reply.text) ? askAgain(run, asked) : Effect.succeed(answer(asked, reply))
    }
  })
}

/**
 * Goes on with a turn whose calls have their outcomes: the next turn, or the end when one of them
 * waits for the user or stopped the run.
 *
 * @category loop
 * @since 0.1.0
 */
export const proceed = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  reply: Reply,
  outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>
): Loop<T, Answer> => {
  const { faults, messages } = heard(run, reply, outcomes)
  const next: State = {
    turn: state.turn + 1,
    transcript: state.transcript.append(said(reply), ...messages),
    account: state.account.ended(state.turn, reply, outcomes),
    facts: state.facts,
    blanks: 0
  }
  // What waits for its user is told when it has gone on.
  if (outcomes.every(({ _tag }) => _tag !== "Suspended")) run.spending.now(next.account)
  const rest = halted(run, state, next, reply, outcomes) ?? turn(run, next)
  return faults.length === 0
    ? rest
    : Effect.andThen(
      Defect.report(
        "An outcome could not be rendered",
        Cause.fromReasons(faults.map((fault) => Cause.makeDieReason(fault)))
      ),
      rest
    )
}

/**
 * Goes on with a suspended run: the first call that waits runs again with the reply, and then what it held back.
 *
 * @category loop
 * @since 0.1.0
 */
export const resume = <T extends Tool.Any>(
  run: Run<T>,
  { facts, ledger, outcomes, reply, transcript, turn }: AgentFailure.Suspension,
  userReply: string
): Loop<T, Answer> => {
  const state = { turn, transcript, account: Account.from(ledger), facts: CallFacts.resuming(facts), blanks: 0 }
  const first = outcomes.findIndex(({ _tag }) => _tag === "Suspended")
  // What its calls have used comes to the account with their ends.
  for (const { fixing } of outcomes) {
    if (fixing !== undefined) run.spending.add({ ...fixing, tokens: fixing.inputTokens + fixing.outputTokens })
  }
  const choose = (perform: Perform<T>): Perform<T> => (call, index) => {
    const before = outcomes[index]!
    if (before._tag === "Suspended" && index === first) {
      const replies = [...before.replies, { id: before.id, question: before.question, reply: userReply }]
      return Effect.map(perform(call, index, { ...before, replies }), (outcome) => together(before, outcome))
    }
    return Dispatch.isNotRun(before) ? perform(call, index) : Effect.succeed(before)
  }
  // What had its outcome keeps it, also when something before it asks again.
  const kept = (outcome: ToolOutcome.ToolOutcome, index: number) =>
    Dispatch.isNotRun(outcome) ? outcomes[index]! : outcome
  return dispatch(run, state, reply, { choose, kept })
}

// The effort of a call that ran in two parts adds up.
const together = (before: ToolOutcome.Suspended, outcome: ToolOutcome.ToolOutcome): ToolOutcome.ToolOutcome => {
  const attempts = before.attempts + outcome.attempts
  const executions = ToolOutcome.executions(before) + ToolOutcome.executions(outcome)
  return {
    ...outcome,
    attempts,
    ...(executions === attempts ? {} : { executions }),
    waited: Duration.sum(before.waited, outcome.waited),
    handled: [...before.handled, ...outcome.handled],
    ...(before.fixing === undefined
      ? {}
      : { fixing: outcome.fixing === undefined ? before.fixing : Ledger.plus(before.fixing, outcome.fixing) })
  }
}

const timeIsUp: unique symbol = Symbol("time is up")

// The time ends a model call that is under way, whether or not it lets itself be interrupted.
const inTime = <T extends Tool.Any, A, E>(
  { time }: Run<T>,
  self: Effect.Effect<A, E>
): Effect.Effect<A | typeof timeIsUp, E> =>
  Effect.suspend(() => {
    const { millisLeft } = time
    if (millisLeft === Infinity) return self
    const late = () => Effect.succeed<typeof timeIsUp>(timeIsUp)
    return millisLeft === 0 ? late() : withinTime(self, millisLeft, { late })
  })

// A model that must call a tool can never answer: once it has called one, it need not.
const optionsFor = <T extends Tool.Any>({ modelOptions }: Run<T>, { account }: State): Options => {
  if (account.calls === 0 || !mustCall(modelOptions)) return modelOptions
  const { toolChoice: _, ...others } = modelOptions
  return others
}

// -----------------------------------------------------------------------------
// Replies that say nothing
// -----------------------------------------------------------------------------

const isBlank = (text: string): boolean => text.trim() === ""

// A reply without text and calls is not an answer. It costs a turn like any other reply.
const askAgain = <T extends Tool.Any>(run: Run<T>, state: State): Loop<T, Answer> =>
  state.blanks === 2
    ? endedByModel(run, state, emptyReply, [lastOf(emptyReply, state.turn, state.blanks + 1)])
    : turn(run, { ...state, turn: state.turn + 1, blanks: state.blanks + 1 })

const emptyReply = new ModelFailure({
  code: "empty_reply",
  detail: "The model replied with neither text nor a tool call, three times in a row.",
  transient: true
})

// -----------------------------------------------------------------------------
// Running its calls
// -----------------------------------------------------------------------------

/** Runs a call; when it is resumed, from where it was suspended, with the user's replies to its questions. */
type Perform<T extends Tool.Any> = (
  call: ToolCall.ToolCall,
  index: number,
  suspended?: ToolOutcome.Suspended
) => Effect.Effect<ToolOutcome.ToolOutcome, never, Tool.Requirements<T>>

/** How a turn goes on when some of its calls have been run before. */
interface Resumed<T extends Tool.Any> {
  readonly choose: (perform: Perform<T>) => Perform<T>
  readonly kept: (outcome: ToolOutcome.ToolOutcome, index: number) => ToolOutcome.ToolOutcome
}

// What may be run is decided in the order of the calls: for those that run together before any of them starts, and with
// what has come of all that came before.
const dispatch = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  reply: Reply,
  resumed?: Resumed<T>
): Loop<T, Answer> =>
  Effect.suspend(() => {
    let { facts } = state
    const each: Perform<T> = (call, index, suspended) => {
      if (suspended === undefined) facts = CallFacts.called(facts, call)
      // What is resumed has the number that it had.
      const known = CallFacts.numbered(facts, suspended?.intent)
      // What had its intent when it was suspended was admitted; what its arguments are corrected to then was not.
      const admitted = suspended?.intent
      let isAdmitted = admitted !== undefined
      const admit: Dispatch.Admit = (tool, intended) => {
        const wasAdmitted = isAdmitted
        if (intended !== undefined) isAdmitted = false
        const refusal = wasAdmitted || isUnlimited(tool)
          ? undefined
          : run.spending.refusal(index, reply.calls.length, known)
        if (refusal !== undefined) return { refusal }
        if (intended === undefined) return {}
        const admission = CallFacts.admission(known, tool, intended)
        if (!wasAdmitted || admission.refusal === undefined) return admission
        const key = admitted?.key
        return key === undefined ? {} : { key: () => key }
      }
      return Effect.map(perform(run, state.turn, call, index, admit, suspended), (outcome) => {
        // What waits for the user is yet to end.
        if (outcome._tag !== "Suspended") facts = after(run, facts, call, outcome)
        return outcome
      })
    }
    const outcomes = Dispatch.ordered(run.toolkit, reply.calls, resumed === undefined ? each : resumed.choose(each))
    return Effect.flatMap(outcomes, (outcomes) =>
      proceed(run, { ...state, facts }, reply, resumed === undefined ? outcomes : outcomes.map(resumed.kept)))
  })

const after = <T extends Tool.Any>(
  { toolkit }: Run<T>,
  facts: CallFacts.CallFacts,
  { name }: ToolCall.ToolCall,
  outcome: ToolOutcome.ToolOutcome
): CallFacts.CallFacts => {
  // Of one that is not there any more, nobody knows what it does.
  const tool = toolkit.tools.get(name) ?? { sideEffect: "non_idempotent" }
  return CallFacts.ended(facts, outcome, tool)
}

// A step of the journal, with events around it when somebody looks. A call's position in its turn counts from 0 here.
const perform = <T extends Tool.Any>(
  run: Run<T>,
  turn: number,
  call: ToolCall.ToolCall,
  index: number,
  admit: Dispatch.Admit,
  suspended: ToolOutcome.Suspended | undefined
): Effect.Effect<ToolOutcome.ToolOutcome, never, Tool.Requirements<T>> => {
  const { watch, watcher } = run
  const position = `turn/${turn}/call/${index + 1}`
  const id = `${run.id}/${position}`
  const place: Dispatch.Place = {
    id,
    admit,
    annotations: { run: run.id, turn, tool: call.name, call: id },
    onEvent: watcher,
    ...(suspended === undefined ? {} : { before: suspended, replies: suspended.replies })
  }
  const dispatched = (place: Dispatch.Place) => Dispatch.call(run.toolkit, call, place)
  // A resumed call is a step of its own: under the first name stands that it was suspended.
  const name = suspended === undefined ? position : `${position}/reply/${suspended.replies.length}`
  // What is not there any more may have acted.
  const acts = run.toolkit.tools.get(call.name)?.sideEffect !== "none"
  const stepIn = (place: Dispatch.Place, begin: Around<T>) => ({
    name,
    success: ToolOutcome.schema,
    error: Schema.Never,
    lost: acts ? begin(dispatched({ ...place, wasBegun: true })) : undefined
  })
  const unrecorded = (known: ToolOutcome.ToolOutcome | undefined) =>
    Effect.succeed(known ?? untold(run.toolkit, call, "run"))
  if (watch === undefined) {
    return recorded(run, stepIn(place, (self) => self), dispatched(place), (_, known) => unrecorded(known))
  }

  const event = { turn, index: index + 1, call }
  const onEvent: CallEvent.Watcher = (watched, failure) => {
    const { at: _, id: __, tool: ___, ...happened } = watched
    watch({ ...happened, ...event })
    watcher?.(watched, failure)
  }
  return Effect.suspend(() => {
    const beginning = new Beginning((replay) => watch({ _tag: "CallStarted", ...event, ...replay }))
    const begin: Around<T> = (self) => beginning.of(self)
    const watched = { ...place, onEvent }
    const outcome = recorded(run, stepIn(watched, begin), begin(dispatched(watched)), (_, known) => {
      beginning.begin()
      return unrecorded(known)
    })
    return Effect.map(Effect.timed(outcome), ([elapsed, outcome]) => {
      const replay = beginning.replay()
      watch({ _tag: "CallEnded", ...event, outcome, elapsed, ...replay })
      return outcome
    })
  })
}

type Dispatched<T extends Tool.Any> = Effect.Effect<ToolOutcome.ToolOutcome, never, Tool.Requirements<T>>

type Around<T extends Tool.Any> = (self: Dispatched<T>) => Dispatched<T>

// What came of a call cannot be told: whether it has acted is not known.
const untold = (
  toolkit: Toolkit.Toolkit,
  call: ToolCall.ToolCall,
  stage: ToolOutcome.Stage
): ToolOutcome.Failed => {
  const acts = (toolkit.tools.get(call.name)?.sideEffect ?? "none") !== "none"
  const failure = DispatchFailure.defect({ tool: call.name, outcome: acts ? "unknown" : undefined, cause: undefined })
  const certainty: Certainty = acts ? "unknown" : "not_executed"
  const effort = { certainty, repairs: [], attempts: 1, handled: [], waited: Duration.zero }
  return {
    _tag: "Failed",
    failure,
    stage,
    ...effort,
    ...(acts ? { intent: anyIntentOf(call.name) } : {})
  }
}

// -----------------------------------------------------------------------------
// Messages
// -----------------------------------------------------------------------------

const said = ({ calls, native, text }: Reply): Message => ({
  role: "assistant",
  text,
  calls,
  ...(native === undefined ? {} : { native })
})

// A rendering is a user's function, and a value may be more than any can put into words: the run goes on.
const heard = <T extends Tool.Any>(
  run: Run<T>,
  { calls }: Reply,
  outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>
): { readonly messages: ReadonlyArray<Message>; readonly faults: ReadonlyArray<unknown> } => {
  const faults: Array<unknown> = []
  const textBy = (rendering: Rendering.Rendering, outcome: ToolOutcome.ToolOutcome, call: ToolCall.ToolCall) => {
    try {
      const text: unknown = outright("The rendering", rendering(outcome, call))
      if (typeof text === "string") return text
      throw new TypeError(`The rendering returned ${kind(text)}, and not a text.`)
    } catch (fault) {
      heed("The rendering", fault)
      faults.push(fault)
      return undefined
    }
  }
  // What came of a call is not lost with its rendering.
  const render = (outcome: ToolOutcome.ToolOutcome, call: ToolCall.ToolCall): string =>
    textBy(run.rendering, outcome, call) ??
      textBy(Rendering.json, outcome, call) ??
      Rendering.json(unrenderable(run.toolkit, outcome, call), call)
  const messages = outcomes.map((outcome, index): Message => {
    const call = calls[index]!
    return { role: "tool", callId: call.id, name: call.name, text: render(outcome, call) }
  })
  return { messages, faults }
}

const unrenderable = (
  toolkit: Toolkit.Toolkit,
  { attempts, handled, waited }: ToolOutcome.ToolOutcome,
  call: ToolCall.ToolCall
): ToolOutcome.Failed => ({ ...untold(toolkit, call, "guard"), attempts, handled, waited })

// -----------------------------------------------------------------------------
// Endings
// -----------------------------------------------------------------------------

const sofar = ({ account, facts, transcript }: State) => ({ transcript, ledger: account.ledger, facts })

const answer = ({ account, facts, transcript }: State, reply: Reply): Answer => ({
  text: reply.text,
  truncated: reply.truncated ?? false,
  transcript: transcript.append(said(reply)),
  ledger: account.ledger,
  facts
})

const limitReached = <T extends Tool.Any>(run: Run<T>, state: State, { budget, isOwn, limit }: UsedUp) => {
  run.watch?.({ _tag: "LimitReached", turn: state.turn, limit })
  return new AgentFailure.LimitReached({
    limit,
    detail: `The ${isOwn ? "agent" : "run around this one"} used up its ${
      AgentBudget.describe(budget, limit)
    } without an answer.`,
    ...sofar(state)
  })
}

// A defect is logged where it is found.
const endedByModel = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  failure: ModelFailure,
  failures: ReadonlyArray<Ledger.ModelEntry>
) => {
  const ended = Effect.fail(modelFailed(failed(run, state, failures), failure))
  const attempts = failures.at(-1)?.attempts ?? 1
  return failure.code === "defect"
    ? ended
    : Effect.andThen(
      FailureLog.told("The model", failure, `The run ended${attempts > 1 ? `, after ${attempts} attempts` : ""}.`).pipe(
        Effect.annotateLogs({ ...run.place })
      ),
      ended
    )
}

const modelFailed = (state: State, failure: ModelFailure) =>
  new AgentFailure.ModelFailed({ detail: failure.detail, failure, cause: failure.cause, ...sofar(state) })

const failed = <T extends Tool.Any>(run: Run<T>, state: State, failures: ReadonlyArray<Ledger.ModelEntry>): State => {
  const account = state.account.modelFailed(failures)
  run.spending.now(account)
  return { ...state, account }
}

// How a turn ends a run, if it does: a stop goes before a question.
const halted = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  next: State,
  reply: Reply,
  outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>
): Effect.Effect<never, AgentFailure.AgentFailure> | undefined => {
  const stopped = outcomes.find((outcome) => outcome._tag === "Stopped")
  if (stopped !== undefined) return Effect.fail(runStopped(next, stopped.reason))
  const suspended = outcomes.find((outcome) => outcome._tag === "Suspended")
  return suspended === undefined
    ? undefined
    : Effect.fail(runSuspended(run, state, next, reply, outcomes, suspended.question))
}

const runStopped = (state: State, reason: string) =>
  new AgentFailure.RunStopped({ detail: `A tool stopped the run: ${reason}`, reason, ...sofar(state) })

const runSuspended = <T extends Tool.Any>(
  run: Run<T>,
  waiting: State,
  next: State,
  reply: Reply,
  outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>,
  question: string
) =>
  new AgentFailure.RunSuspended({
    detail: `The run waits for the user's answer to: ${question}`,
    question,
    suspension: {
      version: 3,
      runId: run.id,
      turn: waiting.turn,
      transcript: waiting.transcript,
      ledger: waiting.account.ledger,
      reply,
      outcomes,
      facts: next.facts,
      used: Duration.millis(run.time.used)
    },
    ...sofar(next),
    // Whoever does not resume it goes on with what those that wait have done: a part of what was meant.
    facts: reply.calls.reduce((facts, call, index) => {
      const outcome = outcomes[index]
      return outcome?._tag !== "Suspended" || outcome.certainty === "not_executed"
        ? facts
        : after(run, facts, call, { ...outcome, certainty: "unknown" })
    }, next.facts)
  })
