/**
 * Runs one turn, folds its outcomes into the state, and recurses.
 *
 *     turn = ask the model ─ calls: run them, append their outcomes, turn
 *                          └ no calls: the answer; if it is empty or does not look like one, turn
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
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as AgentFailure from "../../AgentFailure.ts"
import type { Answer, LooksLike } from "../../Answer.ts"
import { ModelFailure, type Reply } from "../../Model.ts"
import type * as Tool from "../../Tool.ts"
import type * as ToolOutcome from "../../ToolOutcome.ts"
import { withShown } from "../arguments/secretArguments.ts"
import { logFailure } from "../call/failureLogLine.ts"
import { resumeFacts } from "../dispatch/recordCalls.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { tokensOf } from "../value/usage.ts"
import { answeredInPlace, mayBeAnswered } from "./answeredInPlace.ts"
import { type Answered, answeredBy, checkText, correctionOf, invalidAnswer } from "./answerText.ts"
import { askInTime, timeIsUp } from "./askInTime.ts"
import { isFallback, isReplyAlone } from "./askModel.ts"
import { concludeRun, limitToConclude } from "./conclusion.ts"
import {
  answerIn,
  type Given,
  giving,
  isAnswer,
  maxCorrections,
  notGiven,
  type Output,
  textOf,
  withOneAnswer,
  writtenIn
} from "./finalAnswer.ts"
import { assistantMessage } from "./messages.ts"
import { lastOf } from "./modelEntry.ts"
import { isBlank } from "./modelReply.ts"
import { countOwn } from "./providerApproval.ts"
import { offeredNames, questionOf } from "./question.ts"
import { Account } from "./runAccount.ts"
import {
  answerOf,
  endedByModel,
  type Ending,
  haltedBy,
  isPostponed,
  limitReached,
  lookalikes,
  loopDetected,
  markedAnswer,
  ofRun,
  outputRefused,
  runHalted,
  typedAnswer,
  unpricedIn,
  withModelFailures,
  withRetries
} from "./runEndings.ts"
import { initialState, type RefusedAnswers, type Run, type State } from "./runState.ts"
import { shownOutcomes } from "./shownOutcomes.ts"
import { type Called, callsMade, callsSince, runCalls } from "./turnCalls.ts"
import { looksLike } from "./unfinishedReply.ts"
import { answeringReply, isInWords, shownText } from "./writtenAnswer.ts"

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
    onFailure: ({ at, failure, failures }) =>
      state.questioned === undefined || run.output !== undefined || failure.code === "defect" || isPostponed(failure)
        ? endedByModel(run, state, failure, failures, at)
        // What was questioned may have been the answer, so it is not lost.
        : markedAnswer(run, withModelFailures(run, state, failures), state.questioned),
    onSuccess: (asked) => {
      if (asked === timeIsUp) {
        const late = withRetries(run, state)
        return concludeRun(run, late, limitReached(run, late, ofRun(run, "elapsed")))
      }
      const received = isReplyAlone(asked) ? asked : asked.reply
      const reply = run.output === undefined ? received : withOneAnswer(received)
      const before = isReplyAlone(asked) ? state.account : state.account.modelFailed(asked.failures)
      const replied = { ...state, account: before.replied(reply, isFallback(asked)) }
      run.retried.length = 0
      run.usage.now(replied.account, countOwn(reply))
      const unpriced = run.usage.needsPrices && !isFallback(asked) ? unpricedIn(run, reply) : undefined
      if (unpriced !== undefined) return endedByModel(run, replied, unpriced, [lastOf(unpriced, state.turn, 1)])
      if (reply.calls.length > 0) {
        // In an earlier turn, a refusal already told the model that no calls are left.
        if (state.account.calls > run.budget.calls && !(run.output !== undefined && isAnswer(reply.calls))) {
          return concludeRun(run, replied, limitReached(run, replied, ofRun(run, "calls")))
        }
        run.tracker?.calls(replied, reply)
        return afterCalls(run, replied, reply, runCalls(run, replied, reply))
      }
      // The provider goes on with its own work. That costs a turn, like any other reply.
      if (reply.paused === true) {
        return Effect.suspend(() =>
          turn(run, {
            ...replied,
            turn: state.turn + 1,
            transcript: state.transcript.append(assistantMessage(reply)),
            postponed: 0
          })
        )
      }
      if (run.output !== undefined && (isFallback(asked) || !isBlank(reply.text))) {
        return afterAnswerText(run, replied, reply, run.output, isFallback(asked))
      }
      if (isFallback(asked)) return Effect.succeed(answerOf(replied, reply, { stopReason: "fallback" }))
      return afterText(run, replied, reply, isReplyAlone(asked) ? 1 : asked.failures.at(-1)?.attempts)
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
  run.output === undefined
    ? Effect.flatMap(calls, ({ facts, outcomes }) => proceed(run, { ...before, facts }, reply, outcomes, notGiven))
    : Effect.flatMap(
      giving(calls),
      ({ facts, given, outcomes }) => proceed(run, { ...before, facts }, reply, outcomes, given)
    )

const proceed = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  reply: Reply,
  outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>,
  given: Given
): Loop<T, Answer> =>
  run.approver !== undefined && mayBeAnswered(run, outcomes)
    ? Effect.flatMap(answeredInPlace(run, state, reply, outcomes), (answered) =>
      answered === undefined
        ? afterTurn(run, state, reply, outcomes, given)
        : run.time.within(afterCalls(run, state, reply, runCalls(run, state, reply, answered))))
    : afterTurn(run, state, reply, outcomes, given)

// Shows the outcomes to the model, and starts the next turn, or ends the run.
const afterTurn = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  reply: Reply,
  outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>,
  given: Given
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
    blanks: 0,
    questioned: undefined,
    hasQuestioned: state.hasQuestioned,
    refused: toldSince(state.refused)
  }
  // The usage of a suspended turn is counted after the run is resumed.
  if (outcomes.every(({ _tag }) => _tag !== "Suspended")) run.usage.now(next.account)
  const rest = () =>
    haltedBy(run, state, next, reply, outcomes) ??
      (run.output === undefined
        ? undefined
        : afterAnswer(run, { ...state, account: next.account }, next, reply, outcomes, given)) ??
      (verdict.step === "ended" ? concludeRun(run, next, loopDetected(run, next, verdict.repeated)) : turn(run, next))
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

// Ends the run if the model has called `final_answer`, and nothing is wrong with the answer, or too often something was.
const afterAnswer = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  next: State,
  reply: Reply,
  outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>,
  given: Given
): Loop<T, Answer> | undefined => {
  const answer = answerIn(reply, outcomes)
  if (answer === undefined) return undefined
  const { call, outcome } = answer
  if (outcome._tag === "Completed") return typedAnswer(run, state, reply, { call, given }, { stopReason: "answered" })
  if (outcome._tag !== "Failed" || !isAnswer(reply.calls)) return undefined
  return next.refused.count === maxCorrections || isBroken(outcome)
    ? Effect.fail(outputRefused(next, call.shown ?? call.arguments, outcome.failure))
    : Effect.suspend(() => turn(run, { ...next, refused: { count: next.refused.count + 1, latest: undefined } }))
}

/**
 * Resumes a suspended run: runs the calls whose questions have their replies, and then those that they held back.
 *
 * @param outcomes the outcomes of the turn, with the replies
 * @category loop
 * @since 0.1.0
 */
export const resume = <T extends Tool.Any>(
  run: Run<T>,
  { facts, refused: count = 0, reply: waiting, report, transcript, turn }: AgentFailure.Suspension,
  outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>
): Loop<T, Answer> => {
  // The program that stored the suspension may have had other tools.
  const reply = withShown(waiting, run.masks)
  const state = {
    ...initialState(transcript, resumeFacts(facts)),
    turn,
    account: Account.from(report),
    refused: { count, latest: undefined }
  }
  run.usage.recall(callsSince(transcript))
  run.usage.recall(callsMade(reply, outcomes))
  // The account includes the usage of a correcting agent only once the corrected call has ended. Until then, the
  // usage is added here.
  for (const { fixing, spent } of outcomes) {
    for (const used of [fixing, spent === undefined ? undefined : { turns: 0, calls: 0, ...spent }]) {
      if (used === undefined) continue
      run.usage.add({ turns: used.turns, calls: used.calls, tokens: tokensOf(used), money: used.money ?? 0 })
    }
  }
  run.tracker?.calls(state, reply, outcomes)
  const calls = runCalls(run, state, reply, outcomes)
  const { output } = run
  const written = writtenIn(reply)
  return output === undefined || written === undefined
    ? afterCalls(run, state, reply, calls)
    : Effect.flatMap(
      answeredBy(calls, { reply: { text: textOf(output, written), calls: [] }, asCall: reply, call: written }),
      (checked) => afterCheck(run, state, output, checked, { stopReason: "answered" })
    )
}

/**
 * Goes on with a run that was postponed: asks the model again.
 *
 * @category loop
 * @since 0.1.0
 */
export const goOn = <T extends Tool.Any>(
  run: Run<T>,
  { facts, postponed, refused: count = 0, report, transcript, turn: number }: AgentFailure.Postponement
): Loop<T, Answer> => {
  run.usage.recall(callsSince(transcript))
  return turn(run, {
    ...initialState(transcript, resumeFacts(facts)),
    turn: number,
    account: Account.from(report),
    refused: { count, latest: undefined },
    postponed
  })
}

// -----------------------------------------------------------------------------
// Replies without calls
// -----------------------------------------------------------------------------

// A reply that is empty, or that does not look like an answer, is asked for again. That costs a turn, like any other reply.
const afterText = <T extends Tool.Any>(run: Run<T>, state: State, reply: Reply, attempts = 1): Loop<T, Answer> => {
  const { blanks, hasQuestioned, questioned } = state
  if (isBlank(reply.text)) {
    // The model has nothing better.
    if (questioned !== undefined && run.output === undefined) return markedAnswer(run, state, questioned)
    return blanks === 2
      ? endedByModel(run, state, emptyReplies, [lastOf(emptyReplies, state.turn, blanks + 1)])
      : askAgain(run, state, emptyReply, blanks + 1, { blanks: blanks + 1 })
  }
  const kind = looksLike(reply.text, offeredNames(run, state))
  if (kind === undefined) return Effect.succeed(answerOf(state, reply, { stopReason: "answered" }))
  return hasQuestioned || run.usage.usedUp !== undefined
    ? markedAnswer(run, state, { reply, looksLike: kind })
    : questionReply(run, state, reply, kind, attempts)
}

// Asks the model once whether a reply that does not look like an answer was one.
const questionReply = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  reply: Reply,
  kind: LooksLike,
  attempts = 1
): Loop<T, Answer> =>
  askAgain(run, state, lookalikes[kind], attempts, {
    blanks: 0,
    questioned: { reply, looksLike: kind },
    hasQuestioned: true,
    refused: toldSince(state.refused)
  })

// A text in place of a call of `final_answer`. To ask for a better one costs a turn.
const afterAnswerText = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  reply: Reply,
  output: Output,
  isFallback: boolean
): Loop<T, Answer> => {
  const kind = isFallback ? undefined : looksLike(reply.text, offeredNames(run, state))
  const questionable = state.hasQuestioned || run.usage.usedUp !== undefined ? undefined : kind
  const isWords = kind !== undefined && isInWords(output, answeringReply(output, reply).calls[0], reply.text)
  // Any words fit an output that is a string.
  if (questionable !== undefined && isWords) return questionReply(run, state, reply, questionable)
  const ending: Ending = {
    stopReason: isFallback ? "fallback" : "answered",
    ...(isWords ? { looksLike: kind } : {})
  }
  return Effect.flatMap(
    checkText(run, state, reply, output),
    (checked) => afterCheck(run, state, output, checked, ending, questionable)
  )
}

// If the check asks, somebody may reply while the run waits.
const afterCheck = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  output: Output,
  checked: Answered,
  ending: Ending,
  questionable?: LooksLike
): Loop<T, Answer> => {
  if (run.approver === undefined || !mayBeAnswered(run, checked.outcomes)) {
    return afterReplies(run, state, output, checked, ending, questionable)
  }
  const { asCall, call, facts, outcomes, reply } = checked
  const asking = { ...state, facts }
  return Effect.flatMap(answeredInPlace(run, asking, asCall, outcomes), (answered) => {
    if (answered === undefined) return afterReplies(run, state, output, checked, ending, questionable)
    const calls = run.time.within(runCalls({ ...run, watch: undefined }, asking, asCall, answered))
    return Effect.flatMap(
      answeredBy(calls, { asCall, call, reply }),
      (checked) => afterCheck(run, state, output, checked, ending, questionable)
    )
  })
}

// Ends the run with the text, if it is the answer. Otherwise, asks for a better one.
const afterReplies = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  output: Output,
  { asCall, call, facts, given, outcomes, reply }: Answered,
  ending: Ending,
  questionable?: LooksLike
): Loop<T, Answer> => {
  const [outcome] = outcomes
  const before = { ...state, facts }
  const after = { ...before, account: state.account.checked(state.turn, asCall, outcomes) }
  if (outcome?._tag === "Completed") return typedAnswer(run, after, reply, { call, given }, ending)
  const text = shownText(output, reply.text) ?? reply.text
  if (outcome?._tag !== "Failed") {
    // The check has asked the user, or stopped the run. In the transcript, the text is no call.
    const next = { ...after, transcript: state.transcript.append(assistantMessage({ text, calls: [] })) }
    if (outcome?._tag === "Stopped") run.usage.now(next.account)
    return haltedBy(run, before, next, asCall, outcomes) ?? turn(run, next)
  }
  if (questionable !== undefined) return questionReply(run, after, reply, questionable)
  if (ending.stopReason === "fallback" || state.refused.count === maxCorrections || isBroken(outcome)) {
    return Effect.fail(outputRefused(after, text, outcome.failure))
  }
  return askAgain(run, after, invalidAnswer(outcome.failure), 1, {
    blanks: 0,
    questioned: undefined,
    refused: { count: state.refused.count + 1, latest: { reply, why: correctionOf(run, call, outcome) } }
  })
}

// The model has replied since it was told what is wrong.
const toldSince = (refused: RefusedAnswers): RefusedAnswers =>
  refused.latest === undefined ? refused : { ...refused, latest: undefined }

// The model cannot mend the check of its answers.
const isBroken = ({ failure: { _tag, code } }: ToolOutcome.Failed): boolean =>
  _tag === "ToolUnavailable" && code === "defect"

const askAgain = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  failure: ModelFailure,
  attempts: number,
  asked: Partial<State>
): Loop<T, Answer> => {
  run.watch?.({ _tag: "ModelRetried", turn: state.turn, attempt: attempts, failure, wait: Duration.zero })
  const noted = withModelFailures(run, state, [{ ...lastOf(failure, state.turn, attempts), handling: "retry" }])
  return Effect.andThen(
    Effect.annotateLogs(logFailure("The model", failure, "It is asked again."), { ...run.place }),
    Effect.suspend(() => turn(run, { ...noted, ...asked, turn: state.turn + 1, postponed: 0 }))
  )
}

const emptyReply = new ModelFailure({
  code: "empty_reply",
  detail: "The model replied with neither text nor a tool call.",
  transient: true
})

const emptyReplies = new ModelFailure({
  code: "empty_reply",
  detail: "The model replied with neither text nor a tool call, three times in a row.",
  transient: true
})
