import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Observer from "../../Observer.ts"
import { runReporter } from "./runReporter.ts"

/** Reports a defect to the observer, and waits at most one second for it. */
export const reportDefect = (message: string, cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Effect.flatMap(Observer.current, ({ onDefect = logDefect }) =>
    Effect.flatMap(
      Effect.forkDetach(runReporter(() => onDefect(message, cause)), { startImmediately: true }),
      (fiber) =>
        fiber.pollUnsafe() === undefined
          // An observer that hangs must not block the run.
          ? Effect.asVoid(Effect.timeoutOption(Fiber.await(fiber), "1 second"))
          : Effect.void
    ))

// Printing the thrown value may throw, too.
const logDefect: NonNullable<Observer.Observer["onDefect"]> = (message, cause) =>
  Effect.catchCause(
    Effect.logError(message, cause),
    () => Effect.logError(`${message}. The thrown value cannot be shown.`)
  )
