import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import type * as Schedule from "effect/Schedule"
import * as Model from "../../Model.ts"
import type { Decision, ModelRecovery } from "../../ModelRecovery.ts"
import type { Transcript } from "../../Transcript.ts"
import { IllTyped, present } from "../call/runUserCode.ts"
import { contained } from "../fiber/runContained.ts"
import { modelRetries } from "../policy/modelRetries.ts"
import { retrying } from "../policy/retryLoop.ts"
import { kind } from "../value/text.ts"
import { type RequestResults, resultLengthOf, shorter } from "./shorterTranscript.ts"

/** How the failures of a request are handled. */
interface Recovery<A> {
  readonly decide: ModelRecovery | undefined
  readonly schedule: Schedule.Schedule<unknown, Model.ModelFailure>
  readonly turn: number
  /** Makes the reply with which the run ends after a failure. */
  readonly fallback: (text: string, failure: Model.ModelFailure, attempt: number) => A
}

/** Asks the model, and again after each failure for which that is decided. */
export const recovered = <A>(
  ask: Effect.Effect<A, Model.ModelFailure>,
  { decide, fallback, schedule, turn }: Recovery<A>
): Effect.Effect<A, Model.ModelFailure> => {
  if (decide === undefined) return Model.retry(ask, schedule)
  return Effect.suspend(() => {
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
    return retrying(judged, () =>
      modelRetries<Model.ModelFailure>(
        schedule,
        () => isRetried,
        notified
      ))
  })
}

const notified = (failure: Model.ModelFailure, wait: Duration.Duration): Effect.Effect<void> =>
  Effect.flatMap(Model.onRetry, (notify) => notify(failure, wait))

const label = "The agent's onModelFailure"

// The function is user code: it may throw, or return anything. Its Effect may fail, or interrupt itself.
const decisionOf = (decide: () => ReturnType<ModelRecovery>): Effect.Effect<Decision> =>
  Effect.flatMap(
    Effect.exit(contained(Effect.suspend((): Effect.Effect<unknown> => {
      const decision = present(label, "returned", decide())
      return Effect.isEffect(decision) ? decision : Effect.succeed(decision)
    }))),
    (exit) => {
      if (Exit.isFailure(exit)) return Effect.die(Cause.squash(exit.cause))
      const decision = present(label, "succeeded with", exit.value)
      return isDecision(decision)
        ? Effect.succeed(decision)
        : Effect.die(new IllTyped(`${label} must return a decision of ModelRecovery; got ${kind(decision)}.`))
    }
  )

const isDecision = (decision: unknown): decision is Decision =>
  Predicate.isTagged(decision, "Rethrow") || Predicate.isTagged(decision, "Retry") ||
  Predicate.isTagged(decision, "RespondWith") && Predicate.hasProperty(decision, "text") &&
    Predicate.isString(decision.text)

/** Returns what happens instead of a failure, or `undefined` if the failure stands. */
export type OnFailure<A> = (failure: Model.ModelFailure) => Effect.Effect<A, Model.ModelFailure> | undefined

/**
 * Asks the model with a transcript. If the conversation is too long for the model, shortens the results, and asks once
 * more.
 *
 * @param request what is sent of the results; its limit is lowered for the rest of the run
 * @param ask asks the model; it handles failures itself, because a `catch` would cost each turn
 */
export const onceShorter = <A>(
  transcript: Transcript,
  request: RequestResults,
  ask: (transcriptOf: () => Transcript, onFailure?: OnFailure<A>) => Effect.Effect<A, Model.ModelFailure>
): Effect.Effect<A, Model.ModelFailure> => {
  // After another failure, what was shortened is not sent whole again.
  let current = transcript
  const transcriptOf = () => current
  return ask(transcriptOf, (failure) => {
    if (failure.code !== "context_overflow" || request.most === Infinity) return undefined
    const length = resultLengthOf(current)
    const most = Math.floor(length / 2)
    const short = shorter(current, most)
    if (resultLengthOf(short) >= length) return undefined
    request.lower(most)
    current = short
    return Effect.andThen(
      notified(failure, Duration.zero),
      ask(transcriptOf)
    )
  })
}
