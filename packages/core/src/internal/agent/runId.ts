import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as AgentFailure from "../../AgentFailure.ts"
import type * as CallFacts from "../../CallFacts.ts"
import * as Journal from "../../Journal.ts"
import { wasSent } from "../call/callState.ts"
import { keyOfRun } from "../call/openRuns.ts"
import { current, detached } from "../call/scope.ts"
import { randomId } from "../value/randomId.ts"
import { runStep } from "./journalStep.ts"
import { runHalted } from "./runEndings.ts"
import type { State } from "./runState.ts"

/** A new run, and how likely it has begun before. */
export interface NewRun {
  readonly id: string
  readonly mayHaveRun: CallFacts.Likelihood
  /** To be called when the run has ended. */
  readonly end?: ((hasAnswer: boolean) => void) | undefined
}

/**
 * Returns the id of a new run. The id is the result of a journal step, so that a replayed run has the same
 * idempotency keys.
 *
 * A run inside a tool call derives its id from the call's key, and from the run's agent and question. So a run with this id
 * may have begun in an earlier attempt of the call. If the handler runs the agent again because that run has no answer, or
 * is in doubt, it is the same run.
 *
 * @category loop
 * @since 0.1.0
 */
export const newId = (
  state: State,
  question: string,
  agent: string
): Effect.Effect<NewRun, AgentFailure.RunHalted> =>
  Effect.flatMap(current, (scope): Effect.Effect<NewRun, AgentFailure.RunHalted> => {
    if (scope !== detached) {
      const { end, isAgain, key } = keyOfRun(scope, agent, question)
      const mayHaveRun = isAgain || wasSent(scope.record.state) ? "likely" : "no"
      return Effect.succeed({ id: `run-${key}`, mayHaveRun, end } as const)
    }
    return Effect.flatMap(Journal.current, (journal) =>
      Effect.flatMap(
        runStep(journal, { name: "run", success: Schema.String, error: Schema.Never }, randomId("run")),
        (result) =>
          "fault" in result
            ? Effect.fail(runHalted(result.fault, state))
            : Effect.map(result.exit, (id) => ({ id, mayHaveRun: "no" } as const))
      ))
  })
