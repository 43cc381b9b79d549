/**
 * How far a run has come: its messages, its report, and what its calls did, also of a run that is interrupted.
 *
 * @since 0.1.0
 */
import type { Suspension } from "./AgentFailure.ts"
import type * as CallFacts from "./CallFacts.ts"
import { readProgress } from "./internal/agent/runProgress.ts"
import type { RunReport } from "./RunReport.ts"
import type { Transcript } from "./Transcript.ts"

/**
 * How far a run has come.
 *
 * @category models
 * @since 0.1.0
 */
export interface RunProgress {
  /** The id of the run, in logs and events. */
  readonly runId: string
  /**
   * All messages so far, in a form that every provider accepts. A call that has not ended has a result, too: that it was
   * interrupted.
   */
  readonly transcript: Transcript
  /** Turns, calls, tokens and failures so far. */
  readonly report: RunReport
  /** The facts of the calls so far. Pass them to the run that continues from the `transcript`. */
  readonly facts: CallFacts.CallFacts
  /** The calls in doubt in these facts (`CallFacts.inDoubt`), among them those that have not ended. */
  readonly inDoubt: ReadonlyArray<CallFacts.Doubt>
  /** What a run that waits for replies has ended with. Pass it to `agent.resume`. */
  readonly suspension?: Suspension
}

/**
 * A handle of a run: tells from outside how far the run has come.
 *
 * When to use: to go on after a run that was interrupted, by a timeout for example, without acting twice. Pass the handle
 * as an option of the run. To store a conversation, use the option `keep`.
 *
 * @example
 * ```ts
 * import { Agent, Model, Tool, Toolkit } from "@fallible/core"
 * import * as RunHandle from "@fallible/core/RunHandle"
 * import { ScriptedModel } from "@fallible/testing"
 * import { Effect, Schema } from "effect"
 *
 * const restart = Tool.make("restart", {
 *   description: "Restarts a server",
 *   parameters: Schema.Struct({ server: Schema.String }),
 *   success: Schema.String,
 *   identity: ({ server }) => server
 * }, () => Effect.never)
 *
 * const handle = RunHandle.make()
 * const run = Agent.make({ toolkit: Toolkit.make(restart) }).run("Restart db-1.", { handle }).pipe(
 *   Effect.timeoutOption("10 millis"),
 *   Effect.provide(ScriptedModel.layer([ScriptedModel.call("restart", { server: "db-1" })]))
 * )
 * await Effect.runPromise(run)
 * handle.progress?.inDoubt[0]?.tool // => "restart"
 * handle.progress?.transcript.length // => 3
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export class RunHandle {
  /** How far the run has come; `undefined` before it has begun. A handle that is used again tells of the latest run. */
  get progress(): RunProgress | undefined {
    return readProgress(this)
  }
}

/**
 * Makes a handle for a run.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (): RunHandle => new RunHandle()
