/*
 * The terms of a policy: what it adds to the run inside it, as data. `Tool.explain` computes the worst case from them.
 */
import * as Duration from "effect/Duration"
import type * as Schedule from "effect/Schedule"
import type { Warning } from "../../Explanation.ts"

/**
 * What a policy adds to the run inside it, as data. `Tool.explain` computes the worst case of a tool from the terms of its
 * policies. `{}` adds nothing. The parts apply in this order: `waits`, `before`, `repeats`, `after`, `limit`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Terms {
  /** A wait before anything runs, such as the wait for a permit, and how long it may take. */
  readonly waits?: { readonly for: string; readonly max: Duration.Duration }
  /** What the policy does before the inner run. */
  readonly before?: Part
  /** The inner run runs again: by a schedule of retries, or after each of some waits. */
  readonly repeats?: Retries | Repetitions
  /** What the policy does after the inner run. */
  readonly after?: Part
  /** The longest that everything may take, including the parts above. */
  readonly limit?: Duration.Duration
  /** Pages are fetched after the first one, and how long that may take. */
  readonly pages?: { readonly max: number; readonly time: Duration.Duration }
  /** A check of an unknown outcome. */
  readonly reconciles?: {
    readonly settle: Duration.Duration | undefined
    readonly isFinal: boolean
    readonly looksFirst: boolean
  }
  /** True if a fallback passes on the failure of a call that may have acted: then it repeats no effect elsewhere. */
  readonly passesOnDoubt?: true
  /** Mistakes in how the policy is made. */
  readonly warnings?: ReadonlyArray<Warning>
  /** True if the policy is meant for all kinds of tools. If it does nothing for some of them, that is no mistake. */
  readonly isForAllTools?: true
}

/**
 * A part of a policy's work beside the inner run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Part {
  /** What does the work, as a noun: `"the audit"`. Absent if the timeline does not show it. */
  readonly what?: string
  /** How long it may take. Default: no limit. */
  readonly time?: Duration.Duration
  /** A tool's `run`, if that is what does the work: then its bounds are known. */
  readonly tool?: object
}

/**
 * Repetitions of an inner run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Repetitions {
  /** The waits before the second run, the third, and so on. */
  readonly after: ReadonlyArray<Duration.Duration>
  /** True if the runs overlap, as those of a hedge. Default: `false`, one after the other. */
  readonly overlap?: boolean
}

/** A schedule of retries, which may require any services. */
export type Retries = Schedule.Schedule<unknown, never, never, unknown>

/** Returns the time that the terms of a policy declare, if any. */
export const timeOf = ({ limit, reconciles }: Terms): Duration.Duration | undefined =>
  limit ?? (reconciles?.settle === undefined ? undefined : Duration.times(reconciles.settle, 2))
