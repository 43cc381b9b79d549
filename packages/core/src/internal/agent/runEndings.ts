import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as AgentFailure from "../../AgentFailure.ts"
import * as Answer from "../../Answer.ts"
import { JournalFailure } from "../../Journal.ts"
import { ModelFailure, type Reply } from "../../Model.ts"
import type * as RunReport from "../../RunReport.ts"
import type * as Tool from "../../Tool.ts"
import type { ToolCall } from "../../ToolCall.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import type * as ToolOutcome from "../../ToolOutcome.ts"
import { logFailure } from "../call/failureLogLine.ts"
import { handedOn } from "../dispatch/lateDoubt.ts"
import { keepAskedKey, pauseFacts } from "../dispatch/recordCalls.ts"
import { textOf } from "../failure/failureField.ts"
import { durationText } from "../value/durationText.ts"
import { oneLine } from "../value/text.ts"
import { isA } from "../value/untrusted.ts"
import { describeLimit } from "./budget.ts"
import type { Fault } from "./enclosingStep.ts"
import { faultOf, type Given, shownAnswer, textOf as answerText, valueOf } from "./finalAnswer.ts"
import type { Recording } from "./journalStep.ts"
import { describeLoop, type Verdict } from "./loopGuard.ts"
import { assistantMessage } from "./messages.ts"
import { retriedOf } from "./modelEntry.ts"
import { neededIn, questionsIn, suspensionId } from "./openQuestions.ts"
import type { Questioned, Run, State } from "./runState.ts"
import type { UsedUp } from "./runUsage.ts"
import { afterCall } from "./turnCalls.ts"

// Nearly no run has one.
const refusedIn = (count: number) => count === 0 ? {} : { refused: count }

const progressOf = ({ account, facts, transcript }: State) => ({
  transcript,
  report: account.report,
  facts: handedOn(facts)
})

/** How a run ends with an answer: {@link Answer.Answer.stopReason} and, if it was concluded, why. */
export type Ending = Pick<Answer.Answer, "stopReason" | "concluded" | "looksLike">

export const answerOf = ({ account, facts, transcript }: State, reply: Reply, ending: Ending): Answer.Answer =>
  Answer.make({
    text: reply.text,
    truncated: reply.truncated ?? false,
    ...ending,
    ...besides(reply),
    transcript: transcript.append(assistantMessage(reply)),
    report: account.report,
    facts: handedOn(facts)
  })

// Few replies have them.
const besides = ({ files, sources }: Reply): Pick<Answer.Answer, "sources" | "files"> => ({
  ...(sources === undefined ? {} : { sources }),
  ...(files === undefined ? {} : { files })
})

/**
 * Ends a run with a typed answer.
 *
 * @param reply what the model wrote. If it called `final_answer`, the transcript has the text of the answer in its place: a
 * call to a tool that nobody has would be of no use to whoever continues the conversation. A secret is not in it
 */
export const typedAnswer = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  reply: Reply,
  { call, given }: { readonly call: ToolCall; readonly given: Given },
  ending: Ending
): Effect.Effect<Answer.Answer, AgentFailure.AgentFailure> => {
  const { output } = run
  if (output === undefined) return Effect.succeed(answerOf(state, reply, ending))
  const text = answerText(output, call)
  const shown = shownAnswer(output, call.arguments)
  const written = reply.calls.length === 0 && shown === undefined ? reply : { text: shown ?? text, calls: [] }
  const { account, facts, transcript } = state
  return Effect.mapBoth(valueOf(output, call, given), {
    onSuccess: (value) =>
      Answer.make({
        text,
        ...(shown === undefined ? {} : { shown }),
        value,
        truncated: reply.truncated ?? false,
        ...ending,
        ...besides(reply),
        transcript: transcript.append(assistantMessage(written)),
        report: account.report,
        facts: handedOn(facts)
      }),
    // The check has passed before, in another process.
    onFailure: ({ failure }) => outputRefused(state, call.shown ?? call.arguments, failure)
  })
}

/** The failure of a run whose model gave no valid answer. */
export const outputRefused = (state: State, text: string | undefined, failure: ToolFailure) =>
  new AgentFailure.OutputRefused({
    detail: failure.code === "defect"
      ? "The answer was not taken: its check failed with an internal error."
      : `The model gave no valid answer: ${faultOf(failure)}`,
    text: text ?? "",
    issues: failure._tag === "SchemaMismatch" ? failure.issues ?? [] : [],
    ...progressOf(state)
  })

/** What is wrong with a reply, by what it looks like in place of an answer. */
export const lookalikes: Readonly<Record<Answer.LooksLike, ModelFailure>> = {
  call_as_text: new ModelFailure({
    code: "call_as_text",
    detail: "The model wrote a tool call as text, so it was not run.",
    hint: "If this recurs, the server does not know how this model writes calls: use its own wire, or another model.",
    transient: true
  }),
  plan: new ModelFailure({
    code: "plan",
    detail: "The model only said what it would do, and made no tool call.",
    transient: true
  })
}

/** Ends a run with a reply that does not look like an answer, and warns of it. */
export const markedAnswer = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  { looksLike, reply }: Questioned,
  ending: Ending = { stopReason: "answered" }
): Effect.Effect<Answer.Answer> =>
  logFailure("The model", lookalikes[looksLike], "This is the answer of the run.", true).pipe(
    Effect.annotateLogs({ ...run.place }),
    Effect.as(answerOf(state, reply, { ...ending, looksLike }))
  )

/** The failure of a run that the model can still conclude with an answer. */
export interface Unfinished {
  /** What the model is told of it. The detail of the failure also has advice, which is for people. */
  readonly why: string
  readonly failure: AgentFailure.LimitReached | AgentFailure.LoopDetected
}

export const loopDetected = <T extends Tool.Any>(
  { masks }: Run<T>,
  state: State,
  repeated: Verdict["repeated"]
): Unfinished => {
  const why = describeLoop(repeated)
  const failure = new AgentFailure.LoopDetected({
    detail: `${why} Simplify the question, or give the agent better tools.`,
    calls: repeated.map(({ alike, arguments: text, times, tool }) => ({
      tool,
      arguments: masks?.get(tool)?.(text) ?? text,
      times: Math.max(times, alike)
    })),
    ...progressOf(state)
  })
  return { why, failure }
}

export const limitReached = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  { budget, isOwn, limit }: UsedUp
): Unfinished => {
  run.watch?.({ _tag: "LimitReached", turn: state.turn, limit })
  const used = describeLimit(budget, limit)
  const why = `The ${isOwn ? "agent" : "outer run"} used up its ${used} without an answer.`
  const advice = limit === "turns" || limit === "calls"
    ? " The run is probably stuck in a loop: simplify the question, or raise the limit."
    : ""
  return { why, failure: new AgentFailure.LimitReached({ limit, detail: `${why}${advice}`, ...progressOf(state) }) }
}

/** Returns a limit of the run itself as used up. */
export const ofRun = <T extends Tool.Any>({ budget }: Run<T>, limit: UsedUp["limit"]): UsedUp => ({
  limit,
  budget,
  isOwn: true
})

/** Returns the state with the failures of a request that was still being retried when the time was up. */
export const withRetries = <T extends Tool.Any>(run: Run<T>, state: State): State => {
  const after = withModelFailures(run, state, retriedOf(run.retried, state.turn))
  run.retried.length = 0
  return after
}

/** Returns the failure with a later report. */
export const withLedger = ({ failure }: Unfinished, state: State): Unfinished["failure"] => {
  const fields = { ...failure, ...progressOf(state) }
  return failure._tag === "LoopDetected"
    ? new AgentFailure.LoopDetected({ ...fields, calls: failure.calls })
    : new AgentFailure.LimitReached({ ...fields, limit: failure.limit })
}

// Ends a run whose model failed, and logs the failure. A defect has already been logged where it occurred.
export const endedByModel = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  failure: ModelFailure,
  failures: ReadonlyArray<RunReport.ModelEntry>,
  at?: number
): Effect.Effect<never, AgentFailure.AgentFailure> => {
  const after = withModelFailures(run, state, failures)
  const ended: Effect.Effect<never, AgentFailure.AgentFailure> = isPostponed(failure)
    ? runPostponed(run, after, failure, at)
    : Effect.fail(modelFailed(after, failure))
  const attempts = failures.at(-1)?.attempts ?? 1
  const consequence = `The run ended${attempts > 1 ? `, after ${attempts} attempts` : ""}.`
  const hint = textOf(failure.hint)
  const advice = hint === undefined ? "" : ` ${oneLine(hint)}`
  return failure.code === "defect"
    ? ended
    : Effect.andThen(
      logFailure("The model", failure, `${consequence}${advice}`).pipe(Effect.annotateLogs({ ...run.place })),
      ended
    )
}

/** True if the model has said when to come back: then it has not failed for good. */
export const isPostponed = (
  failure: ModelFailure
): failure is ModelFailure & { readonly retryAfter: Duration.Duration } =>
  failure.transient && failure.retryAfter !== undefined && Duration.isPositive(failure.retryAfter) &&
  Duration.isFinite(failure.retryAfter)

const runPostponed = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  failure: ModelFailure & { readonly retryAfter: Duration.Duration },
  at: number | undefined
) =>
  Effect.flatMap(at === undefined ? Clock.currentTimeMillis : Effect.succeed(at), (at) => {
    const progress = { ...progressOf(state), facts: pauseFacts(state.facts) }
    const { facts, report, transcript } = progress
    const until = at + Duration.toMillis(failure.retryAfter)
    return Effect.fail(
      new AgentFailure.RunPostponed({
        detail: `The run is postponed for ${durationText(failure.retryAfter)}: ${failure.detail}`,
        failure,
        cause: failure.cause,
        retryAfter: failure.retryAfter,
        postponement: {
          version: 8,
          runId: run.id,
          turn: state.turn,
          postponed: state.postponed + 1,
          until,
          transcript,
          report,
          facts,
          used: Duration.millis(run.time.used),
          // The model was not told of the latest one.
          ...refusedIn(state.refused.latest === undefined ? state.refused.count : state.refused.count - 1)
        },
        ...progress
      })
    )
  })

/** The end of a run whose journal has failed. */
export const runHalted = (fault: Fault, state: State): AgentFailure.RunHalted => haltedAfter(fault, progressOf(state))

const haltedAfter = (
  { cause, step }: Fault,
  { facts, report, transcript }: ReturnType<typeof progressOf>
): AgentFailure.RunHalted => {
  const [reason] = cause.reasons
  const refusal = reason !== undefined && Cause.isFailReason(reason) && isA(JournalFailure)(reason.error)
    ? reason.error
    : undefined
  const why = refusal === undefined ? "The journal failed with an internal error." : refusal.detail
  return new AgentFailure.RunHalted({
    detail: `The run halted at its step '${step}': ${oneLine(why)}`,
    step,
    cause: refusal ?? Cause.squash(cause),
    facts,
    report,
    transcript
  })
}

/** Ends a run as halted, however it ended, if its journal has failed. */
export const unlessHalted = <R>(
  { halt }: Recording,
  run: Effect.Effect<Answer.Answer, AgentFailure.AgentFailure, R>
): Effect.Effect<Answer.Answer, AgentFailure.AgentFailure, R> => {
  if (halt === undefined) return run
  const ended = <A, E>(end: ReturnType<typeof progressOf>, exit: Effect.Effect<A, E>) =>
    halt.fault === undefined ? exit : Effect.fail(haltedAfter(halt.fault, end))
  return Effect.matchEffect(run, {
    onSuccess: (answer) => ended(answer, Effect.succeed(answer)),
    onFailure: (failure) => ended(failure, Effect.fail(failure))
  })
}

/** Returns the failure of a reply without a price, if this run or a run around it has a limit of money. */
export const unpricedIn = <T extends Tool.Any>(
  run: Run<T>,
  { model, usage }: Pick<Reply, "model" | "usage">
): ModelFailure | undefined =>
  usage?.money !== undefined || !run.usage.needsPrices ? undefined : new ModelFailure({
    code: "unpriced",
    detail: usage === undefined
      ? "The run has a limit of money, and the provider did not say what the reply used."
      : `The run has a limit of money, and there is no price for ${model ?? "the model"}.`,
    hint: usage === undefined
      ? "Use a provider that reports what it used, or set no 'limits.money'."
      : "Give the model a price (Model.priced), or set no 'limits.money'.",
    transient: false,
    ...(model === undefined ? {} : { model })
  })

export const modelFailed = (state: State, failure: ModelFailure) =>
  new AgentFailure.ModelFailed({ detail: failure.detail, failure, cause: failure.cause, ...progressOf(state) })

export const withModelFailures = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  failures: ReadonlyArray<RunReport.ModelEntry>
): State => {
  const account = state.account.modelFailed(failures)
  run.usage.now(account)
  return { ...state, account }
}

// Returns the failure that ends the run, if its journal has failed, or if a call of the last turn stopped the run or asked the
// user. A stop takes precedence over a question.
export const haltedBy = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  next: State,
  reply: Reply,
  outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>
): Effect.Effect<never, AgentFailure.AgentFailure> | undefined => {
  const fault = run.halt?.fault
  if (fault !== undefined) return Effect.fail(runHalted(fault, next))
  const stopped = outcomes.find((outcome) => outcome._tag === "Stopped")
  if (stopped !== undefined) return Effect.fail(runStopped(next, stopped.reason))
  return outcomes.some(({ _tag }) => _tag === "Suspended")
    ? Effect.fail(runSuspended(run, state, next, reply, outcomes))
    : undefined
}

/** The end of a run that a tool stopped. */
export const runStopped = (state: State, reason: string) =>
  new AgentFailure.RunStopped({ detail: `A tool stopped the run: ${reason}`, reason, ...progressOf(state) })

const runSuspended = <T extends Tool.Any>(
  run: Run<T>,
  waiting: State,
  next: State,
  reply: Reply,
  outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>
) => {
  const facts = pauseFacts(next.facts)
  const questions = questionsIn(outcomes)
  const question = questions[0]?.text ?? ""
  const more = questions.length === 1 ? "" : ` (and ${questions.length - 1} more)`
  const expires = run.resumeWithin === Infinity ? undefined : run.time.now + run.resumeWithin
  return new AgentFailure.RunSuspended({
    detail: `The run waits for the user's answer to: ${question}${more}`,
    question,
    suspension: {
      version: 8,
      id: suspensionId(run.id, waiting.turn, outcomes),
      runId: run.id,
      turn: waiting.turn,
      questions,
      needs: neededIn(reply, outcomes, run.toolkit.tools),
      ...(expires === undefined ? {} : { expires }),
      transcript: waiting.transcript,
      report: waiting.account.report,
      reply,
      outcomes,
      facts,
      used: Duration.millis(run.time.used),
      ...refusedIn(waiting.refused.count)
    },
    ...progressOf(next),
    // The caller may never resume the run. So these facts treat a suspended call that may have acted as in doubt: it
    // may have done only part of what was intended. A client that was asked to run a call may have run it.
    facts: reply.calls.reduce((facts, call, index) => {
      const outcome = outcomes[index]
      if (outcome?._tag !== "Suspended") return facts
      const { intent, ...rest } = outcome
      const mayHaveRun = outcome.asks.kind === "client" && run.toolkit.tools.get(call.name)?.sideEffect !== "none"
      return outcome.certainty === "not_executed" && !mayHaveRun
        // Without its intent, only the doubts that the call has settled are added.
        ? keepAskedKey(afterCall(run, facts, call, rest), intent)
        : afterCall(run, facts, call, { ...outcome, certainty: "unknown" })
    }, facts)
  })
}
