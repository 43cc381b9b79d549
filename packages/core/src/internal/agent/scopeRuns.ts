/*
 * The runs of each scope in this process. Runs of one scope share their facts, so each needs those of the run before it:
 * two at the same time would not know of each other's effects. Other processes are not seen.
 */
import * as Effect from "effect/Effect"
import type { CallFacts } from "../../CallFacts.ts"
import { Latest } from "../value/latest.ts"

const open = new Set<string>()
/** The number of the latest run of each scope, also of scopes whose runs have ended. */
const latest = new Latest<string, number>(10_000)

/** Why a run must not go on beside others of its scope. */
export type WhyNotBeside = "running" | "later_run"

/**
 * Returns the facts of a run that begins. It is a later run than all before it in this process, although it may have begun
 * with facts that do not know of them: a job that was delivered twice.
 */
export const afterOthers = (facts: CallFacts): CallFacts => {
  const last = latest.get(facts.scope ?? "")
  return last === undefined || last < facts.run ? facts : { ...facts, run: last + 1 }
}

/**
 * Runs the only run of a scope.
 *
 * @param refuse returns the failure of the run if it must not run now
 */
export const alone = <A, E, R, E2>(
  { run, scope = "" }: Pick<CallFacts, "run" | "scope">,
  effect: Effect.Effect<A, E, R>,
  refuse: (why: WhyNotBeside) => E2 | undefined
): Effect.Effect<A, E | E2, R> =>
  // An interruption between them would lock the scope for good.
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const why = open.has(scope) ? "running" : (latest.get(scope) ?? run) > run ? "later_run" : undefined
      const refusal = why === undefined ? undefined : refuse(why)
      if (refusal !== undefined) return { refusal }
      open.add(scope)
      latest.set(scope, Math.max(latest.get(scope) ?? run, run))
      return undefined
    }),
    (refused): Effect.Effect<A, E | E2, R> => refused === undefined ? effect : Effect.fail(refused.refusal),
    (refused) => Effect.sync(() => refused === undefined && open.delete(scope))
  )
