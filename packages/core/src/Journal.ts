/**
 * The extension point for durable runs. The id of a run, each model reply and each tool outcome are the results
 * of named steps.
 *
 * By default a step just runs. A custom journal records the result of a step, and returns the recorded result
 * instead of running the step again. Names are positions in the run: `run`, `turn/3/model`, `turn/3/call/1`,
 * and `turn/3/call/1/reply/1` after the user's first reply. The ids that models give to calls are not used,
 * because models repeat ids. The steps of an agent that runs inside a call have that call's name before their own:
 * `turn/3/call/1/run-…/turn/1/model`.
 *
 *     record "began" ─ run ─ record the result ─ return it
 *     replay: a result?                  return it
 *             began, and no result?      run `lost`, if the step has it, and record its result
 *             neither?                   run
 *
 * A tool call that was running when its process ended may have taken effect. So if the tool acts (has side
 * effects), the step of the call has a `lost` Effect, which a replay runs instead of the step. A
 * `"non_idempotent"` tool does not run again: the outcome of the call is unknown, unless the tool's
 * `Tool.reconcile` determines it. Any other acting tool runs again under the same idempotency key. The step of a
 * read-only call has no `lost`, and the step itself runs again.
 *
 * Each result is recorded together with the time that the run has used so far. So a replayed run has only the
 * rest of its `limits.elapsed`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
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
  /** Runs in a replay if the step began but has no result. If absent, the step itself can safely run again. */
  readonly lost?: Effect.Effect<A, E, R> | undefined
}

/**
 * A journal that cannot record a step, or cannot read the record of one: its database is down, its lease is lost, a record
 * does not decode. The run halts (`RunHalted`): nothing of it begins after that.
 *
 * @example
 * ```ts
 * import * as Journal from "@fallible/core/Journal"
 *
 * new Journal.JournalFailure({ detail: "The lease of this run is lost." }).message // => "The lease of this run is lost."
 * ```
 *
 * @category failures
 * @since 0.1.0
 */
export class JournalFailure extends Data.TaggedError("JournalFailure")<{
  /** One line: what is wrong with the journal. */
  readonly detail: string
  /** The original error, for logs in this process. */
  readonly cause?: unknown
}> {
  override get message(): string {
    return this.detail
  }
}

/**
 * A journal: runs steps, and may record their results.
 *
 * - A step that fails with a {@link JournalFailure} halts the run. So does a journal that dies, or that returns a result
 *   which the step cannot have.
 * - A journal that is interrupted interrupts the run: an engine may stop a run that way, and start it again later.
 * - Only one process at a time may run the steps of a journal. To see to that, by a lease for example, is the duty of its
 *   store.
 *
 * @category models
 * @since 0.1.0
 */
export interface Journal {
  readonly step: <A, E, R>(
    step: Step<A, E, R>,
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | JournalFailure, R>
}

const passThrough: Journal = { step: (_, effect) => effect }

/**
 * The current journal. The default journal runs each step and records nothing.
 *
 * @example
 * ```ts
 * import * as Journal from "@fallible/core/Journal"
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
