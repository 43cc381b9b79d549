/*
 * When a run is concluded: the model is asked for the best answer from what is known, because a limit is reached or the
 * run is stuck.
 */
import * as Effect from "effect/Effect"
import type * as AgentFailure from "../../AgentFailure.ts"
import type { Answer, Concluded } from "../../Answer.ts"
import type * as CallFacts from "../../CallFacts.ts"
import type { Reply } from "../../Model.ts"
import type * as Tool from "../../Tool.ts"
import type { ToolCall } from "../../ToolCall.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import { answeredBy, checkText } from "./answerText.ts"
import { askToConclude, timeIsUp } from "./askInTime.ts"
import { isFallback, isReplyAlone } from "./askModel.ts"
import { finalAnswerName, type Output, withOneAnswer } from "./finalAnswer.ts"
import { lastOf } from "./modelEntry.ts"
import { isBlank } from "./modelReply.ts"
import { lastQuestionOf } from "./question.ts"
import {
  answerOf,
  endedByModel,
  type Ending,
  markedAnswer,
  ofRun,
  runStopped,
  typedAnswer,
  type Unfinished,
  unpricedIn,
  withLedger,
  withModelFailures,
  withRetries
} from "./runEndings.ts"
import type { Run, State } from "./runState.ts"
import type { UsedUp } from "./runUsage.ts"
import { afterCall, runCalls } from "./turnCalls.ts"
import { looksLike } from "./unfinishedReply.ts"

/** Ends a run that cannot go on: with its failure, or with a last answer of the model. */
export const concludeRun = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  ended: Unfinished
): Effect.Effect<Answer, AgentFailure.AgentFailure, Tool.Requirements<T>> => {
  if (!canConclude(run)) return unanswered(run, state, ended.failure)
  const question = lastQuestionOf(run, state, ended.why)
  return Effect.matchEffect(askToConclude(run, state, question), {
    onFailure: ({ failures }) => {
      const failed = withModelFailures(run, state, failures)
      return unanswered(run, failed, withLedger(ended, failed))
    },
    onSuccess: (asked) => {
      if (asked === timeIsUp) {
        const late = withRetries(run, state)
        return unanswered(run, late, withLedger(ended, late))
      }
      const whole = isReplyAlone(asked) ? asked : asked.reply
      const { calls: _, native: __, ...reply } = whole
      const before = isReplyAlone(asked) ? state.account : state.account.modelFailed(asked.failures)
      const replied = { ...state, account: before.replied({ ...reply, calls: [] }, isFallback(asked)) }
      run.usage.now(replied.account)
      const unpriced = isFallback(asked) ? undefined : unpricedIn(run, reply)
      if (unpriced !== undefined) return endedByModel(run, replied, unpriced, [lastOf(unpriced, state.turn, 1)])
      const concluded = reasonOf(ended)
      const last = { ...reply, calls: [] }
      if (run.output !== undefined) {
        const stopReason = isFallback(asked) ? "fallback" : "concluded"
        return concludeTyped(run, replied, whole, run.output, ended, { stopReason, concluded })
      }
      if (isFallback(asked)) return Effect.succeed(answerOf(replied, last, { stopReason: "fallback", concluded }))
      if (isBlank(reply.text)) return unanswered(run, replied, withLedger(ended, replied))
      const ending: Ending = { stopReason: "concluded", concluded }
      const kind = looksLike(reply.text, new Set(run.toolkit.tools.keys()))
      return kind === undefined
        ? Effect.succeed(answerOf(replied, last, ending))
        : markedAnswer(run, replied, { reply: last, looksLike: kind }, ending)
    }
  })
}

// The last answer fits the agent's `output` and passes its check, or the run ends with its failure.
const concludeTyped = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  reply: Reply,
  output: Output,
  ended: Unfinished,
  ending: Ending
): Effect.Effect<Answer, AgentFailure.AgentFailure, Tool.Requirements<T>> => {
  const answering = withOneAnswer({ ...reply, calls: reply.calls.filter(({ name }) => name === finalAnswerName) })
  const [call] = answering.calls
  if (call === undefined && isBlank(reply.text) && ending.stopReason !== "fallback") {
    return Effect.fail(withLedger(ended, state))
  }
  const calling = call === undefined
    ? checkText(run, state, reply, output)
    : Effect.suspend(() => {
      run.tracker?.calls(state, answering)
      return answeredBy(runCalls(run, state, answering), { reply: answering, asCall: answering, call })
    })
  return Effect.flatMap(calling, ({ asCall, call, facts, given, outcomes }) => {
    const [outcome] = outcomes
    const after = {
      ...state,
      facts: afterQuestion(run, facts, call, outcome),
      account: state.account.ended(state.turn, asCall, outcomes)
    }
    return outcome?._tag === "Completed"
      ? typedAnswer(run, after, answering, { call, given }, ending)
      : outcome?._tag === "Stopped"
      ? Effect.fail(runStopped(after, outcome.reason))
      : Effect.fail(withLedger(ended, after))
  })
}

// Nobody replies to a question of the check: the run ends. What the check did before it asked is known.
const afterQuestion = <T extends Tool.Any>(
  run: Run<T>,
  facts: CallFacts.CallFacts,
  call: ToolCall,
  outcome: ToolOutcome | undefined
): CallFacts.CallFacts =>
  outcome?._tag === "Suspended" && outcome.certainty !== "not_executed"
    ? afterCall(run, facts, call, { ...outcome, certainty: "unknown" })
    : facts

// A text that does not look like an answer is the answer if the model cannot be asked for a better one.
const unanswered = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  failure: AgentFailure.AgentFailure
): Effect.Effect<Answer, AgentFailure.AgentFailure> =>
  state.questioned === undefined || run.output !== undefined
    ? Effect.fail(failure)
    : markedAnswer(run, state, state.questioned)

/** True if the model may be asked once more. Only the limit of calls may be exceeded, and those of tokens and money by this reply. */
const canConclude = <T extends Tool.Any>({ budget, concludes, time, usage }: Run<T>): boolean => {
  if (!concludes) return false
  const { isOwn = true } = usage.usedUp ?? {}
  const { money, tokens, turns } = usage.left(0)
  return isOwn && turns > 0 && tokens > 0 && money > 0 && time.millisToEnd > 0 && budget.turns > 1
}

/**
 * Returns the limit that is nearly used up, so that the next request must be the last: one turn is left, a tenth of
 * the time, or fewer tokens or less money than two more requests like the latest would use.
 */
export const limitToConclude = <T extends Tool.Any>(run: Run<T>): UsedUp | undefined => {
  const { budget, concludes, time, usage } = run
  if (!concludes) return undefined
  const { money, tokens, turns } = usage.left(0)
  if (turns === 1 && budget.turns > 1) return ofRun(run, "turns")
  if (tokens < 2 * usage.latestTokens && budget.turns > 1) return ofRun(run, "tokens")
  if (money < 2 * usage.latestMoney && budget.turns > 1) return ofRun(run, "money")
  // A deadline around the run may leave less time than the run's own limit.
  const left = budget.elapsed - time.used
  return budget.elapsed !== Infinity && left <= budget.elapsed / 10 ? ofRun(run, "elapsed") : undefined
}

const reasonOf = ({ failure }: Unfinished): Concluded => failure._tag === "LoopDetected" ? "loop" : failure.limit
