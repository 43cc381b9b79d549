/**
 * The seam for durable runs: a run's id, each model reply and each tool outcome is a named step.
 *
 * By default a step just runs. A journal in its place may record what came of a step, and give back
 * the recorded result instead of running it again. Names are positions in the run: `run`, `turn/3/model`,
 * `turn/3/call/1`, and `turn/3/call/1/reply/1` after the user's first reply; the ids that models give to calls repeat.
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
export interface Step<A, E> {
  readonly name: string
  readonly success: Schema.ConstraintCodec<A, unknown>
  readonly error: Schema.ConstraintCodec<E, unknown>
}

/**
 * Runs steps.
 *
 * @category models
 * @since 0.1.0
 */
export interface Journal {
  readonly step: <A, E, R>(step: Step<A, E>, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
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
export const step = <A, E, R>(step: Step<A, E>, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(current, (journal) =>
    journal === passThrough
      ? effect
      // The step is what is written down: what happens inside of it, another agent's run, say, has no steps of its own.
      : journal.step(step, Effect.provideService(effect, current, passThrough)))
