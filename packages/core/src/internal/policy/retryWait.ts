/*
 * How long a retry waits: a backoff up to a cap, or longer if a service asks for more (up to a limit). A retry policy of this
 * library publishes this as data: its terms.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { Certainty } from "../../Certainty.ts"
import { finite, whole } from "../value/numberOption.ts"

/** The fields of a failure that decide how long to wait. */
interface Retryable {
  readonly code?: string
  readonly retryAfter?: Duration.Duration
  readonly outcome?: Certainty
}

/**
 * The terms of a retry policy, as data: how often it retries, and how long it waits.
 *
 * @category models
 * @since 0.1.0
 */
export type Terms =
  | {
    /** The most attempts, including the first. */
    readonly attempts: number
    /** The waits before the second attempt, the third, and so on: at most 10,000 of them. */
    readonly waits: ReadonlyArray<Wait>
    /** True if the waits have a random part. */
    readonly isRandom: boolean
    /** The longest wait that a service may ask for. Absent if the policy ignores what a service asks for. */
    readonly honours?: Duration.Duration
  }
  | {
    /** The schedule that decides everything else. */
    readonly around: Schedule.Schedule<unknown, never, never, unknown>
    /** The longest wait that a service may ask for. */
    readonly honours: Duration.Duration
  }

/**
 * The wait before an attempt.
 *
 * @category models
 * @since 0.1.0
 */
export interface Wait {
  readonly min: Duration.Duration
  /** The longest wait, if the service asks for the longest wait that the policy honours. */
  readonly max: Duration.Duration
  /** The longest wait if the service asks for none. */
  readonly own: Duration.Duration
}

/** A schedule with terms. */
export type WithTerms<S> = S & { readonly terms: Terms }

/** Returns the terms of a schedule; `undefined` for a schedule of the user's. */
export const termsOf = (schedule: object): Terms | undefined =>
  "terms" in schedule ? asTerms(schedule.terms) : undefined

// Only this library makes schedules with terms. A schedule of Effect has no such field.
const asTerms = (terms: unknown) => terms as Terms

/** Publishes the terms of a schedule. */
export const withTerms = <S extends object>(schedule: S, terms: Terms): WithTerms<S> =>
  Object.assign(schedule, { terms })

/** A backoff that doubles up to a cap. */
export interface Backoff {
  readonly schedule: Schedule.Schedule<unknown, Retryable>
  readonly attempts: number
  /** The waits of the backoff, without a random part. */
  readonly lengths: ReadonlyArray<Duration.Duration>
}

// The schedule limits the attempts before it checks anything else. So an attempt counts towards the
// limit even if a later condition refuses the retry. A larger schedule may contain this one and continue
// after the refusal; it must not count fewer attempts.
export const cappedBackoff = (
  { attempts = 3, base = "200 millis", cap = "5 seconds" }: {
    readonly attempts?: number
    readonly base?: Duration.Input
    readonly cap?: Duration.Input
  }
): Backoff => {
  const times = whole("A retry's limit of attempts", attempts) - 1
  const first = finite("retry's base", base)
  const longest = finite("retry's cap", cap)
  if (Duration.isGreaterThan(first, longest)) {
    throw new TypeError(
      `A retry's base must not be longer than its cap; got ${Duration.format(first)} and ${Duration.format(longest)}.`
    )
  }
  const schedule = Schedule.min([Schedule.exponential(first), Schedule.spaced(longest)]).pipe(
    Schedule.setInputType<Retryable>(),
    Schedule.upTo({ times })
  )
  const lengths = Array.from(
    { length: Math.min(times, maxWaits) },
    (_, index) => Duration.min(Duration.times(first, 2 ** Math.min(index, 60)), longest)
  )
  return { schedule, attempts, lengths }
}

/** A policy with more retries counts as one that never ends. */
export const maxWaits = 10_000

/**
 * Makes a schedule wait at least as long as the service asks for. If the service asks for more than
 * `longest`, the schedule gives up.
 */
export const waitAsAsked = <Output, Input, Error, Env>(
  schedule: Schedule.Schedule<Output, Input, Error, Env>,
  longest: Duration.Duration
): Schedule.Schedule<Output, Input & Retryable, Error, Env> =>
  schedule.pipe(
    Schedule.setInputType<Input & Retryable>(),
    Schedule.while(({ input }) => Duration.isLessThanOrEqualTo(requestedWait(input), longest)),
    Schedule.modifyDelay(({ duration, input }) => Effect.succeed(Duration.max(duration, requestedWait(input))))
  )

/** Returns the wait that the service asked for, or zero. */
const requestedWait = ({ retryAfter = Duration.zero }: Retryable): Duration.Duration => retryAfter
