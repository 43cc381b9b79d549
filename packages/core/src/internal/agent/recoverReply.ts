import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import type * as Schedule from "effect/Schedule"
import * as Model from "../../Model.ts"
import type { Decision, ModelRecovery } from "../../ModelRecovery.ts"
import { IllTyped, requireNoPromise } from "../call/runUserCode.ts"
import { runContained } from "../fiber/runContained.ts"
import { modelRetries } from "../policy/modelRetries.ts"
import { retryOn } from "../policy/retryLoop.ts"
import { kind } from "../value/text.ts"

/** How the failures of a request are handled. */
interface Recovery<A> {
  readonly decide: ModelRecovery
  readonly schedule: Schedule.Schedule<unknown, Model.ModelFailure>
  readonly turn: number
  /** Makes the reply with which the run ends after a failure. */
  readonly fallback: (text: string, failure: Model.ModelFailure, attempt: number) => A
}

/** Asks the model, and again after each failure for which that is decided. */
export const recoverReply = <A>(
  ask: Effect.Effect<A, Model.ModelFailure>,
  { decide, fallback, schedule, turn }: Recovery<A>
): Effect.Effect<A, Model.ModelFailure> =>
  Effect.suspend(() => {
    let attempt = 0
    let isRetried = false
    const judged = Effect.catch(ask, (failure) => {
      attempt++
      return Effect.flatMap(
        decisionOf(() => decide(failure, { turn, attempt })),
        (decision) => {
          if (decision._tag === "RespondWith") return Effect.succeed(fallback(decision.text, failure, attempt))
          isRetried = decision._tag === "Retry"
          return Effect.fail(failure)
        }
      )
    })
    return retryOn(judged, () =>
      modelRetries<Model.ModelFailure>(
        schedule,
        () => isRetried,
        notifyRetry
      ))
  })

/** Reports a failure after which the model is asked again. */
export const notifyRetry = (failure: Model.ModelFailure, wait: Duration.Duration): Effect.Effect<void> =>
  Effect.flatMap(Model.onRetry, (notify) => notify(failure, wait))

const label = "The agent's onModelFailure"

// The function is user code: it may throw, or return anything. Its Effect may fail, or interrupt itself.
const decisionOf = (decide: () => ReturnType<ModelRecovery>): Effect.Effect<Decision> =>
  Effect.flatMap(
    Effect.exit(runContained(Effect.suspend((): Effect.Effect<unknown> => {
      const decision = requireNoPromise(label, "returned", decide())
      return Effect.isEffect(decision) ? decision : Effect.succeed(decision)
    }))),
    (exit) => {
      if (Exit.isFailure(exit)) return Effect.die(Cause.squash(exit.cause))
      const decision = requireNoPromise(label, "succeeded with", exit.value)
      return isDecision(decision)
        ? Effect.succeed(decision)
        : Effect.die(new IllTyped(`${label} must return a decision of ModelRecovery; got ${kind(decision)}.`))
    }
  )

const isDecision = (decision: unknown): decision is Decision =>
  Predicate.isTagged(decision, "Rethrow") || Predicate.isTagged(decision, "Retry") ||
  Predicate.isTagged(decision, "RespondWith") && Predicate.hasProperty(decision, "text") &&
    Predicate.isString(decision.text)
