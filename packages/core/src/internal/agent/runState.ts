import type * as Schedule from "effect/Schedule"
import type { AgentBudget } from "../../AgentBudget.ts"
import type * as CallFacts from "../../CallFacts.ts"
import type { Model, ModelFailure, Options } from "../../Model.ts"
import type * as Rendering from "../../Rendering.ts"
import type * as Tool from "../../Tool.ts"
import type * as Toolkit from "../../Toolkit.ts"
import type { Transcript } from "../../Transcript.ts"
import { Account } from "./account.ts"
import type { Happened } from "./happened.ts"
import type { RunContext } from "./runContext.ts"

/**
 * What stays the same throughout a run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Run<T extends Tool.Any> extends RunContext {
  /** Names the run, and its calls: in logs, in events, and in the idempotency keys of its scope. */
  readonly id: string
  readonly model: Model["Service"]
  readonly toolkit: Toolkit.Toolkit<T>
  readonly rendering: Rendering.Rendering
  readonly budget: AgentBudget
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
