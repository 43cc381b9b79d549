/*
 * When a run is concluded: the model is asked for the best answer from what is known, because a limit is reached or the
 * run is stuck.
 */
import * as Effect from "effect/Effect"
import type * as AgentFailure from "../../AgentFailure.ts"
import type { Answer, Concluded } from "../../Answer.ts"
import type * as Tool from "../../Tool.ts"
import { askToConclude, isBlank, timeIsUp } from "./askInTime.ts"
import { isFallback, isReplyAlone } from "./askModel.ts"
import { lastQuestionOf } from "./question.ts"
import { answerOf, ofRun, type Unfinished, withLedger, withModelFailures, withRetries } from "./runEndings.ts"
import type { Run, State } from "./runState.ts"
import type { UsedUp } from "./runUsage.ts"

/** Ends a run that cannot go on: with its failure, or with a last answer of the model. */
export const concludeRun = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  ended: Unfinished
): Effect.Effect<Answer, AgentFailure.AgentFailure, Tool.Requirements<T>> => {
  if (!canConclude(run)) return Effect.fail(ended.failure)
  const question = lastQuestionOf(run, state, ended.why)
  return Effect.matchEffect(askToConclude(run, state, question), {
    onFailure: ({ failures }) => Effect.fail(withLedger(ended, withModelFailures(run, state, failures))),
    onSuccess: (asked) => {
      if (asked === timeIsUp) return Effect.fail(withLedger(ended, withRetries(run, state)))
      const { calls: _, native: __, ...reply } = isReplyAlone(asked) ? asked : asked.reply
      const before = isReplyAlone(asked) ? state.account : state.account.modelFailed(asked.failures)
      const replied = { ...state, account: before.replied({ ...reply, calls: [] }) }
      run.usage.now(replied.account)
      if (isBlank(reply.text) && !isFallback(asked)) return Effect.fail(withLedger(ended, replied))
      return Effect.succeed(
        answerOf(replied, { ...reply, calls: [] }, {
          stopReason: isFallback(asked) ? "fallback" : "concluded",
          concluded: reasonOf(ended)
        })
      )
    }
  })
}

/** True if the model may be asked once more. Only the limit of calls may be exceeded, and that of tokens by this reply. */
const canConclude = <T extends Tool.Any>({ budget, concludes, time, usage }: Run<T>): boolean => {
  if (!concludes) return false
  const { isOwn = true } = usage.usedUp ?? {}
  const { tokens, turns } = usage.left(0)
  return isOwn && turns > 0 && tokens > 0 && time.millisToEnd > 0 && budget.turns > 1
}

/**
 * Returns the limit that is nearly used up, so that the next request must be the last: one turn is left, a tenth of
 * the time, or fewer tokens than two more requests like the latest would use.
 */
export const limitToConclude = <T extends Tool.Any>(run: Run<T>): UsedUp | undefined => {
  const { budget, concludes, time, usage } = run
  if (!concludes) return undefined
  const { tokens, turns } = usage.left(0)
  if (turns === 1 && budget.turns > 1) return ofRun(run, "turns")
  if (tokens < 2 * usage.latestTokens && budget.turns > 1) return ofRun(run, "tokens")
  // A deadline around the run may leave less time than the run's own limit.
  const left = budget.elapsed - time.used
  return budget.elapsed !== Infinity && left <= budget.elapsed / 10 ? ofRun(run, "elapsed") : undefined
}

const reasonOf = ({ failure }: Unfinished): Concluded => failure._tag === "LoopDetected" ? "loop" : failure.limit
