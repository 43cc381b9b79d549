/**
 * The extension point for durable runs: a run's id, each model reply and each tool outcome is a named step.
 *
 * By default a step just runs. A custom journal records the result of a step, and returns the recorded result
 * instead of running the step again. Names are positions in the run: `run`, `turn/3/model`, `turn/3/call/1`,
 * and `turn/3/call/1/reply/1` after the user's first reply. The ids that models give to calls are
 * not used, since they repeat.
 *
 *     record "began" ─ run ─ record the result ─ return it
 *     replay: a result?                  return it
 *             began, and no result?      run `lost`, if the step has it, and record its result
 *             neither?                   run
 *
 * A step that was under way when its process ended may have taken effect. So a call of a tool that acts has a
 * `lost`. The outcome of a `"non_idempotent"` tool is unknown then, and its `Tool.reconcile` checks first.
 * Any other tool that acts runs again under its key. A call that only reads just runs again.
 *
 * The time that a run has used is recorded with each result. So a replayed run has only the rest of its
 * `limits.elapsed`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/**
 * A named step, with the schemas of its result.
 *
 * @category models
 * @since 0.1.0
 */
export interface Step<A, E, R = never> {
  readonly name: string
  readonly success: Schema.ConstraintCodec<A, unknown>
  readonly error: Schema.ConstraintCodec<E, unknown>
  /** Run by a replay if the step began but has no result. Absent: the step itself runs again, without harm. */
  readonly lost?: Effect.Effect<A, E, R> | undefined
}

/**
 * A journal, which runs steps.
 *
 * @category models
 * @since 0.1.0
 */
export interface Journal {
  readonly step: <A, E, R>(step: Step<A, E, R>, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

const passThrough: Journal = { step: (_, effect) => effect }

/**
 * The journal of the run. By default it just runs each step.
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
  Effect.flatMap(current, (journal) => journal === passThrough ? effect : recorded(journal, step, effect))

const recorded = <A, E, R>(journal: Journal, step: Step<A, E, R>, effect: Effect.Effect<A, E, R>) =>
  journal.step(step.lost === undefined ? step : { ...step, lost: withoutJournal(step.lost) }, withoutJournal(effect))

// A step is recorded as a whole. Another agent's run inside it, for example, records no steps.
const withoutJournal = Effect.provideService(current, passThrough)
