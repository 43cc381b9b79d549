import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Approver } from "../../Approver.ts"
import * as Deadline from "../../Deadline.ts"
import * as Journal from "../../Journal.ts"
import * as Model from "../../Model.ts"
import * as Observer from "../../Observer.ts"
import * as RetryBudget from "../../RetryBudget.ts"
import { logFailure, retryText } from "../call/failureLogLine.ts"
import { current, type Scope } from "../call/scope.ts"
import type { Budget } from "./budget.ts"
import { RunTime } from "./elapsedTime.ts"
import { enclosing, Halt } from "./enclosingStep.ts"
import { isRecording, type Recording } from "./journalStep.ts"
import { namedFailure } from "./modelReply.ts"
import type { Account } from "./runAccount.ts"
import { outerUsage, RunUsage } from "./runUsage.ts"

/** The services that a run uses. They are looked up once per run, so that a turn in which nothing fails is cheap. */
export interface RunContext extends Recording {
  /** The failures of the model since its last reply: filled by {@link inRunContext}, emptied by the loop. */
  readonly retried: Array<Model.ModelFailure>
  /** Receives the events of calls, in addition to the stream of the run. */
  readonly onEvent: Observer.Observer["onEvent"]
  /** The usage of the run's limits. */
  readonly usage: RunUsage
  /** True if retries are paid from a `RetryBudget`, which counts the successes, too. */
  readonly hasRetryBudget: boolean
  /** Replies to questions while the run goes on. Absent if nobody does. */
  readonly approver: Approver["Service"] | undefined
  /** The run and its current turn, as logs show them. */
  readonly place: { readonly run: string; turn: number }
}

/**
 * Provides an agent's run with its context. Records each failure after which the model is asked again, whether by
 * the agent or by the provider.
 *
 * @param model the model of the run, whose name its failures carry
 * @param account the report of the run so far
 * @param used how much of its time the run has already used, in milliseconds
 * @param concludes true if a turn, and a tenth of the time, are kept for the conclusion of the run
 */
export const inRunContext = <A, E, R>(
  id: string,
  model: Model.Model["Service"],
  budget: Budget,
  account: Account,
  used: number,
  concludes: boolean,
  run: (surroundings: RunContext) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const { elapsed: limit } = budget
    const time = new RunTime(fiber, limit, used, concludes && limit !== Infinity ? limit / 10 : 0)
    const retried: Array<Model.ModelFailure> = []
    const place = { run: id, turn: 0 }
    const call = fiber.getRef(current)
    const journal = fiber.getRef(Journal.current)
    const around = fiber.getRef(enclosing)
    const usage = new RunUsage(budget, account, call, fiber.getRef(outerUsage), concludes && budget.turns > 1 ? 1 : 0)
    const surroundings = {
      retried,
      onEvent: fiber.getRef(Observer.current).onEvent,
      time,
      usage,
      journal,
      halt: isRecording(journal) ? new Halt(around) : undefined,
      around,
      prefix: around?.prefixOf(id) ?? "",
      hasRetryBudget: fiber.getRef(RetryBudget.current) !== undefined,
      approver: Context.getOrUndefined(fiber.context, Approver),
      place
    }
    const onRetry = recording(fiber.getRef(Model.onRetry), model, call, retried, place)
    // Suspended, because the frame that restores the context would hold the first turn until the run ends.
    return Effect.updateContext(
      Effect.suspend(() => run(surroundings)),
      (context: Context.Context<R>) => {
        const own = Context.add(Context.add(context, Model.onRetry, onRetry), outerUsage, usage)
        // Everything inside the run sees its deadline: the run's own limit or the outer deadline, the earlier one.
        return limit === Infinity ? own : Context.add(own, Deadline.current, time.deadline)
      }
    )
  })

const recording = (
  outerOnRetry: (typeof Model.onRetry)["Service"],
  model: Model.Model["Service"],
  call: Scope,
  retried: Array<Model.ModelFailure>,
  place: RunContext["place"]
): (typeof Model.onRetry)["Service"] =>
(failure, wait) =>
  Effect.flatMap(current, (asking) => {
    // A tool may ask a model, too. Failures of that model do not belong to this run.
    if (asking !== call) return outerOnRetry(failure, wait)
    // A provider that retries on its own knows no name of its failures.
    const named = namedFailure(failure, model)
    const number = retried.push(named)
    const logged = logFailure("The model", named, retryText({ number, wait }))
    return Effect.andThen(Effect.annotateLogs(logged, { ...place }), outerOnRetry(named, wait))
  })
