/**
 * The seam for durable runs: a run's id, each model reply and each tool outcome is a named step.
 *
 * By default a step just runs. A journal in its place records what came of a step, and gives back the recorded result instead of running
 * it again. Names are positions in the run: `run`, `turn/3/model`, `turn/3/call/1`, and `turn/3/call/1/reply/1` after the user's first
 * reply; the ids that models give to calls repeat.
 *
 *     record "began" ─ run ─ record the result ─ give it back
 *     replay: a result?                  give it back
 *             began, and no result?      run `lost`, where the step has it, and record that
 *             neither?                   run
 *
 * What was under way when a process ended may have taken effect. So a call of a tool that acts has a `lost`: of a `"non_idempotent"` tool
 * the outcome is unknown, and its `Tool.reconcile` looks first; any other runs again under its key. What only reads just runs again.
 *
 * The time that a run has used is recorded with each result, so that a replayed run has the rest of its `limits.elapsed`, and no more.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/**
 * A step's name, and how its result is written down and read back.
 *
 * @category models
 * @since 0.1.0
 */
export interface Step<A, E, R = never> {
  readonly name: string
  readonly success: Schema.ConstraintCodec<A, unknown>
  readonly error: Schema.ConstraintCodec<E, unknown>
  /** What a replay runs if the step began, and has no result. Absent: the step itself, which does no harm then. */
  readonly lost?: Effect.Effect<A, E, R> | undefined
}

/**
 * Runs steps.
 *
 * @category models
 * @since 0.1.0
 */
export interface Journal {
  readonly step: <A, E, R>(step: Step<A, E, R>, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

const passThrough: Journal = { step: (_, effect) => effect }

/**
 * The journal of the run; by default one that just runs each step.
 *
 * @example
 * ```ts
 * import { Journal } from "@fallible/core"
 * import { Effect } from "effect"
 *
 * const names: Array<string> = []
 * const logging: Journal.Journal = {
 *   step: (step, effect) => Effect.tap(effect, () => Effect.sync(() => names.push(step.name)))
 * }
 * const provide = Effect.provideService(Journal.current, logging)
 * ```
 *
 * @category context
 * @since 0.1.0
 */
export const current: Context.Reference<Journal> = Context.Reference("@fallible/core/Journal/current", {
  defaultValue: () => passThrough
})

/**
 * Runs an Effect as a step of the current journal.
 *
 * @category steps
 * @since 0.1.0
 */
export const step = <A, E, R>(step: Step<A, E, R>, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(current, (journal) => journal === passThrough ? effect : taken(journal, step, effect))

const taken = <A, E, R>(journal: Journal, step: Step<A, E, R>, effect: Effect.Effect<A, E, R>) =>
  journal.step(step.lost === undefined ? step : { ...step, lost: alone(step.lost) }, alone(effect))

// The step is what is written down: what happens inside of it, another agent's run, say, has no steps of its own.
const alone = Effect.provideService(current, passThrough)
