import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as LateResult from "../../LateResult.ts"
import { isActing } from "./mayBegin.ts"
import type { Scope } from "./scope.ts"

/**
 * Reports an acting call that is interrupted while it may have acted. It has no outcome, so neither a ledger, nor
 * the facts of its run, nor its caller learns of the doubt.
 *
 * An attempt that is still running is not reported here, but when it ends. One that has ended late has been reported.
 */
export const reportingInterruption = <A, E, R>(run: Effect.Effect<A, E, R>, scope: Scope): Effect.Effect<A, E, R> =>
  scope.acts
    ? Effect.onExit(
      run,
      (exit) => Exit.hasInterrupts(exit) && isUnreportedDoubt(scope) ? report(scope) : Effect.void
    )
    : run

const isUnreportedDoubt = (scope: Scope): boolean =>
  scope.certainty === "unknown" && !isActing(scope) && !scope.record.state.done.isReported

const report = ({ attempt, id, idempotencyKey: key, tool: { name: tool } }: Scope) =>
  Effect.flatMap(
    Clock.currentTimeMillis,
    (at) => LateResult.report({ tool, id, key, attempt, certainty: "unknown", code: "interrupted", at })
  )
