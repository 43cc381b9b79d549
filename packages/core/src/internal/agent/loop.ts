/**
 * Runs one turn, folds its outcomes into the state, and recurses.
 *
 *     turn = ask the model ─ no calls: the answer
 *                          └ calls: run them, append their outcomes, turn
 *
 * The loop is a recursive Effect over an immutable state. A turn only appends to the state. The last `flatMap` of
 * a turn returns the next turn, with nothing wrapped around it. So the loop itself takes the same time in every turn,
 * and its stack does not grow.
 *
 * `Agent` runs the loop. The package's index does not export it.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as AgentFailure from "../../AgentFailure.ts"
import type { Answer } from "../../Answer.ts"
import { ModelFailure, type Reply } from "../../Model.ts"
import type * as Tool from "../../Tool.ts"
import type * as ToolOutcome from "../../ToolOutcome.ts"
import { withShown } from "../arguments/secretArguments.ts"
import { resumeFacts } from "../dispatch/recordCalls.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { askInTime, isBlank, timeIsUp } from "./askInTime.ts"
import { isFallback, isReplyAlone } from "./askModel.ts"
import { concludeRun, limitToConclude } from "./conclusion.ts"
import { assistantMessage } from "./messages.ts"
import { lastOf } from "./modelEntry.ts"
import { questionOf } from "./question.ts"
import { Account } from "./runAccount.ts"
import {
  answerOf,
  endedByModel,
  haltedBy,
  limitReached,
  loopDetected,
  ofRun,
  runHalted,
  withRetries
} from "./runEndings.ts"
import { initialState, type Run, type State } from "./runState.ts"
import { shownOutcomes } from "./shownOutcomes.ts"
import { type Called, callsMade, callsSince, resumeCalls, runCalls } from "./turnCalls.ts"

type Loop<T extends Tool.Any, A> = Effect.Effect<A, AgentFailure.AgentFailure, Tool.Requirements<T>>

/**
 * Runs the rest of a run: from this turn to its answer or its failure.
 *
 * @category loop
 * @since 0.1.0
 */
export const turn = <T extends Tool.Any>(run: Run<T>, state: State): Loop<T, Answer> => {
  const fault = run.halt?.fault
  if (fault !== undefined) return Effect.fail(runHalted(fault, state))
  run.tracker?.turn(state)
  const usedUp = run.usage.usedUp ?? limitToConclude(run)
  if (usedUp !== undefined) return concludeRun(run, state, limitReached(run, state, usedUp))
  return Effect.matchEffect(askInTime(run, state, questionOf(run, state)), {
    onFailure: ({ at, failure, failures }) => endedByModel(run, state, failure, failures, at),
    onSuccess: (asked) => {
      if (asked === timeIsUp) {
        const late = withRetries(run, state)
        return concludeRun(run, late, limitReached(run, late, ofRun(run, "elapsed")))
      }
      const reply = isReplyAlone(asked) ? asked : asked.reply
      const before = isReplyAlone(asked) ? state.account : state.account.modelFailed(asked.failures)
      const replied = { ...state, account: before.replied(reply) }
      run.retried.length = 0
      run.usage.now(replied.account, reply.calls.length)
      if (reply.calls.length > 0) {
        // In an earlier turn, a refusal already told the model that no calls are left.
        if (state.account.calls > run.budget.calls) {
          return concludeRun(run, replied, limitReached(run, replied, ofRun(run, "calls")))
        }
        run.tracker?.calls(replied, reply)
        return afterCalls(run, replied, reply, runCalls(run, replied, reply))
      }
      return isBlank(reply.text) && !isFallback(asked)
        ? askAgain(run, replied)
        : Effect.succeed(answerOf(replied, reply, { stopReason: isFallback(asked) ? "fallback" : "answered" }))
    }
  })
}

// Runs the calls of a turn. Then it starts the next turn, or ends the run if a call stops it or asks the user.
const afterCalls = <T extends Tool.Any>(
  run: Run<T>,
  before: State,
  reply: Reply,
  calls: Effect.Effect<Called, never, Tool.Requirements<T>>
): Loop<T, Answer> =>
  Effect.flatMap(calls, ({ facts, outcomes }) => proceed(run, { ...before, facts }, reply, outcomes))

const proceed = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  reply: Reply,
  outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>
): Loop<T, Answer> => {
  const { faults, length, messages, verdict } = shownOutcomes(run, state, reply, outcomes)
  const next: State = {
    turn: state.turn + 1,
    transcript: state.transcript.append(assistantMessage(reply), ...messages),
    account: state.account.ended(state.turn, reply, outcomes),
    facts: state.facts,
    loop: verdict.state,
    resultLength: state.resultLength + length,
    postponed: 0,
    blanks: 0
  }
  // The usage of a suspended turn is counted after the run is resumed.
  if (outcomes.every(({ _tag }) => _tag !== "Suspended")) run.usage.now(next.account)
  const rest = () => {
    const fault = run.halt?.fault
    if (fault !== undefined) return Effect.fail(runHalted(fault, next))
    return haltedBy(run, state, next, reply, outcomes) ??
      (verdict.step === "ended" ? concludeRun(run, next, loopDetected(run, next, verdict.repeated)) : turn(run, next))
  }
  return faults.length === 0
    ? rest()
    : Effect.andThen(
      reportDefect(
        "An outcome could not be rendered",
        Cause.fromReasons(faults.map((fault) => Cause.makeDieReason(fault)))
      ),
      Effect.suspend(rest)
    )
}

/**
 * Resumes a suspended run: runs the first suspended call with the user's reply, and then the calls that it held back.
 *
 * @category loop
 * @since 0.1.0
 */
export const resume = <T extends Tool.Any>(
  run: Run<T>,
  { facts, report, outcomes, reply: waiting, transcript, turn }: AgentFailure.Suspension,
  userReply: string
): Loop<T, Answer> => {
  // The program that stored the suspension may have had other tools.
  const reply = withShown(waiting, run.masks)
  const state = {
    ...initialState(transcript, resumeFacts(facts)),
    turn,
    account: Account.from(report)
  }
  run.usage.recall(callsSince(transcript))
  run.usage.recall(callsMade(reply, outcomes))
  // The account includes the usage of a correcting agent only once the corrected call has ended. Until then, the
  // usage is added here.
  for (const { fixing, spent } of outcomes) {
    if (fixing !== undefined) run.usage.add({ ...fixing, tokens: fixing.inputTokens + fixing.outputTokens })
    if (spent !== undefined) run.usage.add({ turns: 0, calls: 0, tokens: spent.inputTokens + spent.outputTokens })
  }
  run.tracker?.calls(state, reply, outcomes)
  return afterCalls(run, state, reply, resumeCalls(run, state, reply, outcomes, userReply))
}

/**
 * Goes on with a run that was postponed: asks the model again.
 *
 * @category loop
 * @since 0.1.0
 */
export const goOn = <T extends Tool.Any>(
  run: Run<T>,
  { facts, report, postponed, transcript, turn: number }: AgentFailure.Postponement
): Loop<T, Answer> => {
  run.usage.recall(callsSince(transcript))
  return turn(run, {
    ...initialState(transcript, resumeFacts(facts)),
    turn: number,
    account: Account.from(report),
    postponed
  })
}

// -----------------------------------------------------------------------------
// Blank replies
// -----------------------------------------------------------------------------

// A reply with neither text nor calls is not an answer. It costs a turn, like any other reply.
const askAgain = <T extends Tool.Any>(run: Run<T>, state: State): Loop<T, Answer> =>
  state.blanks === 2
    ? endedByModel(run, state, emptyReply, [lastOf(emptyReply, state.turn, state.blanks + 1)])
    : turn(run, { ...state, turn: state.turn + 1, postponed: 0, blanks: state.blanks + 1 })

const emptyReply = new ModelFailure({
  code: "empty_reply",
  detail: "The model replied with neither text nor a tool call, three times in a row.",
  transient: true
})
