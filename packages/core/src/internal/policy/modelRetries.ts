import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import { withFields } from "../failure/failureClass.ts"
import type { Retries } from "./retryLoop.ts"

/** A failure of a model, which may have been retried before. */
interface Failure {
  readonly attempts?: number
}

/**
 * Returns how failures of a model are retried. The last failure has the number of all attempts.
 *
 * @param isRetried whether a failure is retried
 * @param notify called before each wait
 */
export const modelRetries = <F extends Failure & object>(
  schedule: Schedule.Schedule<unknown, F>,
  isRetried: (failure: F) => boolean,
  notify: (failure: F, wait: Duration.Duration) => Effect.Effect<void>
): Retries<F, F, never> => {
  let attemptsBefore = 0
  return {
    schedule,
    retryable: (failure): failure is F => isRetried(failure),
    onRetry: (failure, wait) => {
      attemptsBefore += failure.attempts ?? 1
      return notify(failure, wait)
    },
    last: (failure) => attemptsBefore === 0 ? failure : withAttempts(failure, attemptsBefore + (failure.attempts ?? 1))
  }
}

const withAttempts = <F extends Failure & object>(failure: F, attempts: number): F =>
  withFields<F>(failure, asFields<F>({ attempts }))

// Every such failure has this field.
const asFields = <F extends Failure>(fields: Failure) => fields as Partial<F>
