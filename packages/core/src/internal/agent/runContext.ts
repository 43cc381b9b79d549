import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { AgentBudget } from "../../AgentBudget.ts"
import * as CallEvent from "../../CallEvent.ts"
import * as Deadline from "../../Deadline.ts"
import * as Journal from "../../Journal.ts"
import * as Model from "../../Model.ts"
import { logFailure, retryText } from "../call/failureLine.ts"
import { current } from "../call/frame.ts"
import { fixerAround } from "../call/innerFrame.ts"
import type { Account } from "./account.ts"
import { RunTime } from "./runTime.ts"
import { outerUsage, RunUsage } from "./runUsage.ts"

/** What a run has around it. It is looked up once for a run, so that a turn in which nothing happens pays nothing for it. */
export interface RunContext {
  /** What the model has failed with since its last reply: filled by {@link inRunContext}, emptied by {@link ask}. */
  readonly retried: Array<Model.ModelFailure>
  /** Told of what happens in calls, beside who watches the run. */
  readonly watcher: CallEvent.Watcher | undefined
  readonly time: RunTime
  /** What it has used of its limits. */
  readonly spending: RunUsage
  readonly journal: Journal.Journal
  /** Where the run is, as logs have it. */
  readonly place: { readonly run: string; turn: number }
}

/**
 * Runs in its surroundings, and hears of each failure that the model is asked again after, by the agent or below it.
 *
 * @param account what it has used before
 * @param used how many milliseconds of its time it has used before
 */
export const inRunContext = <A, E, R>(
  id: string,
  budget: AgentBudget,
  account: Account,
  used: number,
  run: (surroundings: RunContext) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const { elapsed: limit } = budget
    const time = new RunTime(fiber, limit, used)
    const retried: Array<Model.ModelFailure> = []
    const place = { run: id, turn: 0 }
    const tell = fiber.getRef(Model.onRetry)
    const call = fiber.getRef(current)
    const spending = new RunUsage(budget, account, fixerAround(call), fiber.getRef(outerUsage))
    const hear: (typeof Model.onRetry)["Service"] = (failure, wait) =>
      Effect.flatMap(current, (asking) => {
        // A tool may ask a model, too. That is not the run's.
        if (asking !== call) return tell(failure, wait)
        const number = retried.push(failure)
        const told = logFailure("The model", failure, retryText({ number, wait }))
        return Effect.andThen(Effect.annotateLogs(told, { ...place }), tell(failure, wait))
      })
    const surroundings = {
      retried,
      watcher: fiber.getRef(CallEvent.watcher),
      time,
      spending,
      journal: fiber.getRef(Journal.current),
      place
    }
    // Merged, and not put on top: effect copies a context that has grown by eight services, which calls under policies would do each
    // for themselves.
    return Effect.updateContext(
      run(surroundings),
      (context: Context.Context<R>) => {
        const own = Context.add(Context.make(Model.onRetry, hear), outerUsage, spending)
        // The run's own limit, or the deadline that is set already: the tighter one, known to all that runs inside.
        return Context.merge(context, limit === Infinity ? own : Context.add(own, Deadline.current, time.deadline))
      }
    )
  })
