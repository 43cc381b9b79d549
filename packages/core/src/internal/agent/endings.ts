import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as AgentBudget from "../../AgentBudget.ts"
import * as AgentFailure from "../../AgentFailure.ts"
import type { Answer } from "../../Answer.ts"
import type * as Ledger from "../../Ledger.ts"
import type { ModelFailure, Reply } from "../../Model.ts"
import type * as Tool from "../../Tool.ts"
import type * as ToolOutcome from "../../ToolOutcome.ts"
import { logFailure } from "../call/failureLine.ts"
import { afterCall } from "./calls.ts"
import { assistantMessage } from "./messages.ts"
import type { Run, State } from "./runState.ts"
import type { UsedUp } from "./runUsage.ts"

const sofar = ({ account, facts, transcript }: State) => ({ transcript, ledger: account.ledger, facts })

export const answerOf = ({ account, facts, transcript }: State, reply: Reply): Answer => ({
  text: reply.text,
  truncated: reply.truncated ?? false,
  transcript: transcript.append(assistantMessage(reply)),
  ledger: account.ledger,
  facts
})

export const limitReached = <T extends Tool.Any>(run: Run<T>, state: State, { budget, isOwn, limit }: UsedUp) => {
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
export const endedByModel = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  failure: ModelFailure,
  failures: ReadonlyArray<Ledger.ModelEntry>
) => {
  const ended = Effect.fail(modelFailed(withModelFailures(run, state, failures), failure))
  const attempts = failures.at(-1)?.attempts ?? 1
  return failure.code === "defect"
    ? ended
    : Effect.andThen(
      logFailure("The model", failure, `The run ended${attempts > 1 ? `, afterCall ${attempts} attempts` : ""}.`).pipe(
        Effect.annotateLogs({ ...run.place })
      ),
      ended
    )
}

export const modelFailed = (state: State, failure: ModelFailure) =>
  new AgentFailure.ModelFailed({ detail: failure.detail, failure, cause: failure.cause, ...sofar(state) })

export const withModelFailures = <T extends Tool.Any>(
  run: Run<T>,
  state: State,
  failures: ReadonlyArray<Ledger.ModelEntry>
): State => {
  const account = state.account.modelFailed(failures)
  run.spending.now(account)
  return { ...state, account }
}

// How a turn ends a run, if it does: a stop goes before a question.
export const haltedBy = <T extends Tool.Any>(
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
      version: 4,
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
        : afterCall(run, facts, call, { ...outcome, certainty: "unknown" })
    }, next.facts)
  })
