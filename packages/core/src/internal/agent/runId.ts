import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as AgentFailure from "../../AgentFailure.ts"
import type * as CallFacts from "../../CallFacts.ts"
import * as Journal from "../../Journal.ts"
import { ModelFailure } from "../../Model.ts"
import { wasSent } from "../call/callState.ts"
import { current, detached } from "../call/frame.ts"
import { randomId } from "../effect/randomId.ts"
import { unrecorded } from "./askModel.ts"
import { modelFailed } from "./endings.ts"
import { stepOr } from "./journaled.ts"
import { lastOf } from "./modelEntry.ts"
import type { State } from "./runState.ts"

/**
 * The id of a new run: a step of the journal, since the idempotency keys of a run that is replayed must be those of the first time. A run
 * inside of a call has one that comes of that call's key, and of what it is asked. So it may have begun in an earlier attempt.
 *
 * @category loop
 * @since 0.1.0
 */
export const newId = (
  state: State,
  question: string
): Effect.Effect<{ readonly id: string; readonly mayHaveRun: CallFacts.Likelihood }, AgentFailure.ModelFailed> =>
  Effect.flatMap(current, (frame) => {
    if (frame !== detached) {
      const id = `run-${frame.keyOf(JSON.stringify(["run", question]))}`
      return Effect.succeed({ id, mayHaveRun: wasSent(frame.whole.state) ? "likely" : "no" } as const)
    }
    const id = Effect.flatMap(
      Journal.current,
      (journal) =>
        stepOr(
          journal,
          { name: "run", success: Schema.String, error: ModelFailure.schema },
          randomId("run"),
          unrecorded
        )
    )
    return Effect.mapBoth(id, {
      // The model was not asked.
      onFailure: (failure) =>
        modelFailed({ ...state, account: state.account.modelFailed([lastOf(failure, state.turn, 0)]) }, failure),
      onSuccess: (id) => ({ id, mayHaveRun: "no" } as const)
    })
  })
