import type * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import type { LooksLike } from "../../Answer.ts"
import type * as CallFacts from "../../CallFacts.ts"
import type * as LoopGuard from "../../LoopGuard.ts"
import type { Model, ModelFailure, Options, Reply } from "../../Model.ts"
import type { ModelRecovery } from "../../ModelRecovery.ts"
import type * as Rendering from "../../Rendering.ts"
import type { ResultSize } from "../../ResultSize.ts"
import type * as Tool from "../../Tool.ts"
import type * as Toolkit from "../../Toolkit.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import type { Transcript } from "../../Transcript.ts"
import type { Masks } from "../arguments/secretArguments.ts"
import type { Budget } from "./budget.ts"
import type { Output } from "./finalAnswer.ts"
import type { KeptResults } from "./keptResults.ts"
import { type LoopState, noLoop } from "./loopGuard.ts"
import type { PolledResults } from "./polledResults.ts"
import type { Rereads } from "./rereads.ts"
import { Account } from "./runAccount.ts"
import type { RunContext } from "./runContext.ts"
import type { Happened } from "./runEvent.ts"
import { type RequestResults, resultLengthOf } from "./shorterTranscript.ts"
import type { Admit } from "./takenReplies.ts"

/**
 * The part of a run that does not change.
 *
 * @category models
 * @since 0.1.0
 */
export interface Run<T extends Tool.Any> extends RunContext {
  /** The name of the run in logs, in events, in the ids of its calls, and in the idempotency keys of its scope. */
  readonly id: string
  readonly model: Model["Service"]
  /** The agent's tools, and `read_more` once a result was cut. */
  toolkit: Toolkit.Toolkit<T>
  /** What masks the secrets in the calls of the tools. Absent if no tool takes a secret. */
  readonly masks: Masks | undefined
  readonly rendering: Rendering.Rendering
  readonly budget: Budget
  /** True if the model is asked for a last answer when a limit is reached, or when the run is stuck. */
  readonly concludes: boolean
  /** What happens to a call that a doubt about an earlier one holds back. */
  readonly onDoubt: "refuse" | "ask"
  /** What happens to a call that repeats what was done in an earlier run. */
  readonly onDone: "refuse" | "ask"
  /** How long the run can be resumed once it waits for replies, in milliseconds. */
  readonly resumeWithin: number
  /** Decides who may reply. Absent if everybody may. */
  readonly admit: Admit | undefined
  /** Absent if repeated calls are not watched. */
  readonly guard: LoopGuard.LoopGuard | undefined
  /** Absent if results are never cut. */
  readonly resultSize: ResultSize | undefined
  /** The whole results that were cut. Absent if results are never cut, or if the toolkit has its own `read_more`. */
  readonly kept: KeptResults | undefined
  /** The results of the tools that are polled. */
  readonly polled: PolledResults
  /** What the run remembers for its next reads. */
  readonly rereads: Rereads
  /** What is sent of the results. */
  readonly request: RequestResults
  /** True if the model is offered only the tools that are available now. */
  readonly offersAvailable: boolean
  readonly modelOptions: Options
  /** What typed answers need. Absent if the agent has no `output`. */
  readonly output: Output | undefined
  /** True if the model writes its answer as a text, by a JSON Schema. Otherwise it calls `final_answer`. */
  readonly isStructured: boolean
  /** The schedule by which the model is asked again after a transient failure. */
  readonly modelRetry: Schedule.Schedule<unknown, ModelFailure>
  /** Decides what happens after a failure of the model. By default, only a transient failure is retried. */
  readonly onModelFailure: ModelRecovery | undefined
  /** Learns how far the run has come; absent if nobody asks. */
  tracker: Tracker | undefined
  /** Receives every event; absent if the run is not watched. */
  readonly watch: ((event: Happened) => void) | undefined
  /** Which pieces of a reply are watched, beside those of its text. */
  readonly deltas: ReadonlyArray<"reasoning" | "arguments">
}

/**
 * Learns how far a run has come, turn by turn and call by call.
 *
 * @category models
 * @since 0.1.0
 */
export interface Tracker {
  /** A turn begins. */
  readonly turn: (state: State) => void
  /** The calls of a reply are to run. Those of a resumed turn may have outcomes. */
  readonly calls: (state: State, reply: Reply, outcomes?: ReadonlyArray<ToolOutcome>) => void
  readonly callBegan: (index: number) => void
  /** @param facts the facts of the run, including this call */
  readonly callEnded: (index: number, outcome: ToolOutcome, facts: CallFacts.CallFacts) => void
  /** Stores how far the run has come, unless an earlier process has come further. */
  readonly stored: Effect.Effect<void>
}

/**
 * The part of a run that changes from turn to turn.
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
  /** The 1-based number of the next turn. */
  readonly turn: number
  readonly transcript: Transcript
  readonly account: Account
  readonly facts: CallFacts.CallFacts
  /** What the guard against loops remembers. */
  readonly loop: LoopState
  /** How many bytes the results of the transcript have. */
  readonly resultLength: number
  /** How many times the next request was postponed, because its model asked for a long wait. */
  readonly postponed: number
  /** How many of the latest replies, in a row, had neither text nor calls. */
  readonly blanks: number
  /** The latest reply, if it does not look like an answer and the model is asked for one. It is not in the transcript. */
  readonly questioned: Questioned | undefined
  /** True if a text was questioned in this run. It happens once. */
  readonly hasQuestioned: boolean
  /** The answers that did not fit the agent's `output`. */
  readonly refused: RefusedAnswers
}

/**
 * Answers that did not fit the agent's `output`, or did not pass its check.
 *
 * @category models
 * @since 0.1.0
 */
export interface RefusedAnswers {
  readonly count: number
  /** The latest reply, if its text was the answer, and what is wrong with it. It is not in the transcript. */
  readonly latest: { readonly reply: Reply; readonly why: string } | undefined
}

/** No answer was refused. */
export const noneRefused: RefusedAnswers = { count: 0, latest: undefined }

/**
 * A reply that does not look like an answer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Questioned {
  readonly reply: Reply
  readonly looksLike: LooksLike
}

/**
 * Returns the state in which a run begins.
 *
 * @category models
 * @since 0.1.0
 */
export const initialState = (transcript: Transcript, facts: CallFacts.CallFacts): State => ({
  turn: 1,
  transcript,
  account: Account.empty,
  facts,
  loop: noLoop,
  resultLength: resultLengthOf(transcript),
  postponed: 0,
  blanks: 0,
  questioned: undefined,
  hasQuestioned: false,
  refused: noneRefused
})
