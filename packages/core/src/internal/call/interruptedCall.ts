import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { isInDoubt } from "../failure/effects.ts"
import { effectsIn } from "./done.ts"
import { reportLateResult } from "./reportLateResult.ts"
import type { Scope } from "./scope.ts"

/**
 * Reports an acting call that is interrupted while it may have acted. It has no outcome, so neither a report, nor
 * the facts of its run, nor its caller learns of the doubt.
 *
 * What is still running is not reported here, but when it ends, and then only for itself. What has ended late has been
 * reported.
 */
export const reportingInterruption = <A, E, R>(run: Effect.Effect<A, E, R>, scope: Scope): Effect.Effect<A, E, R> =>
  scope.acts
    ? Effect.onExit(
      run,
      (exit) => Exit.hasInterrupts(exit) && isUnreportedDoubt(scope) ? report(scope) : Effect.void
    )
    : run

const isUnreportedDoubt = ({ acts, record: { state: { done } } }: Scope): boolean =>
  !done.isReported && isInDoubt(effectsIn({ ...done, acting: 0, running: 0 }, acts, false))

const report = ({ attempt, id, idempotencyKey: key, tool: { name: tool } }: Scope) =>
  Effect.flatMap(
    Clock.currentTimeMillis,
    (at) => reportLateResult({ tool, id, key, attempt, certainty: "unknown", code: "interrupted", at })
  )
