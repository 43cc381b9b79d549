/*
 * The runs of each scope in this process. Runs of one scope share their facts, so each needs those of the run before it:
 * two at the same time would not know of each other's effects. Other processes are not seen.
 */
import * as Effect from "effect/Effect"
import type { CallFacts } from "../../CallFacts.ts"
import type { Journal } from "../../Journal.ts"
import { Latest } from "../value/latest.ts"
import { isRecording } from "./journalStep.ts"

const open = new Set<string>()
/** The latest run of each scope, also of scopes whose runs have ended. */
const latest = new Latest<string, Started>(10_000)
/** The numbers of runs that a journal may replay, by their scope, id and number in the facts that they begin with. */
const replayed = new Latest<string, number>(10_000)

/** A run that has begun: its id, and its number within the scope. */
interface Started {
  readonly id: string
  readonly run: number
}

/** Why a run must not go on beside others of its scope. */
export type WhyNotBeside = "running" | "later_run"

/**
 * Returns the facts of a run that begins. It is a later run than all before it in this process, although it may have begun
 * with facts that do not know of them: a job that was delivered twice. A run that is replayed keeps its number.
 */
export const afterOthers = (facts: CallFacts, id: string, journal: Journal): CallFacts => {
  const { run, scope = "" } = facts
  const last = latest.get(scope)
  const name = isRecording(journal) ? JSON.stringify([scope, id, run]) : undefined
  const known = name === undefined ? undefined : replayed.get(name)
  const isReplay = known !== undefined && (last === undefined || last.run <= known || last.id !== id)
  const number = isReplay ? known : Math.max(run, (last?.run ?? -1) + 1)
  if (name !== undefined) replayed.set(name, number)
  return number === run ? facts : { ...facts, run: number }
}

/**
 * Runs the only run of a scope.
 *
 * @param refuse returns the failure of the run if it must not run now
 */
export const runAlone = <A, E, R, E2>(
  { run, scope = "" }: Pick<CallFacts, "run" | "scope">,
  id: string,
  effect: Effect.Effect<A, E, R>,
  refuse: (why: WhyNotBeside) => E2 | undefined
): Effect.Effect<A, E | E2, R> =>
  // An interruption between them would lock the scope for good.
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const last = latest.get(scope)
      const isLatest = last === undefined || last.run <= run
      const why = open.has(scope) ? "running" : isLatest ? undefined : "later_run"
      const refusal = why === undefined ? undefined : refuse(why)
      if (refusal !== undefined) return { refusal }
      open.add(scope)
      latest.set(scope, isLatest ? { id, run } : last)
      return undefined
    }),
    (refused): Effect.Effect<A, E | E2, R> => refused === undefined ? effect : Effect.fail(refused.refusal),
    (refused) => Effect.sync(() => refused === undefined && open.delete(scope))
  )
