/*
 * How long a retry waits: a backoff up to a cap, or longer if a service asks for more (up to a limit).
 *
 * A retry policy of this library reads every failure through {@link readBy}, with its {@link Terms}. To compute
 * the worst case before anything fails, `Tool.explain` passes it a {@link standIn}, which chooses the failure by
 * these terms.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { ToolUnavailable } from "../../ToolFailure.ts"
import { finite, whole } from "../value/numberOption.ts"

/** The fields of a failure that decide how long to wait. */
interface Retryable {
  readonly code?: string
  readonly retryAfter?: Duration.Duration
  readonly outcome?: ToolUnavailable["outcome"] & {}
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
) => {
  const times = whole("A retry's limit of attempts", attempts) - 1
  const first = finite("retry's base", base)
  const longest = finite("retry's cap", cap)
  if (Duration.isGreaterThan(first, longest)) {
    throw new TypeError(
      `A retry's base must not be longer than its cap; got ${Duration.format(first)} and ${Duration.format(longest)}.`
    )
  }
  const backoff = Schedule.min([Schedule.exponential(first), Schedule.spaced(longest)]).pipe(
    Schedule.setInputType<Retryable>(),
    Schedule.upTo({ times })
  )
  return { backoff, times }
}

/**
 * Makes a schedule wait at least as long as the service asks for. If the service asks for more than
 * `longest`, the schedule gives up.
 */
export const waitingAsAsked = <Output, Input, Error, Env>(
  schedule: Schedule.Schedule<Output, Input, Error, Env>,
  longest: Duration.Duration
): Schedule.Schedule<Output, Input & Retryable, Error, Env> => {
  const terms = { longest }
  return schedule.pipe(
    Schedule.setInputType<Input & Retryable>(),
    Schedule.while(({ input }) => Duration.isLessThanOrEqualTo(requestedWait(input, terms), longest)),
    Schedule.modifyDelay(({ duration, input }) => Effect.succeed(Duration.max(duration, requestedWait(input, terms))))
  )
}

/** Returns the wait that the service asked for, or zero. */
const requestedWait = (failure: Retryable, terms: Terms): Duration.Duration =>
  readBy(terms, failure).retryAfter ?? Duration.zero

/** How a retry policy of this library treats a failure. */
export interface Terms {
  /** The longest wait that a service may ask for. If it asks for more, there is no retry. */
  readonly longest?: Duration.Duration
  /** True if an attempt that timed out is not retried. */
  readonly endsAtTimeout?: true
}

const standIns = new WeakMap<object, (terms: Terms) => ToolUnavailable>()

/**
 * Makes `failure` a stand-in, so that one object can play the worst failure for each policy. A policy of this
 * library that reads the stand-in passes its terms to `read`, and sees the failure that `read` returns.
 */
export const standIn = (failure: object, read: (terms: Terms) => ToolUnavailable): void => {
  standIns.set(failure, read)
}

/**
 * Returns a failure as a policy of this library sees it. For a stand-in, this is the failure behind
 * it. All other schedules see the stand-in.
 */
export const readBy = <Failure extends object>(terms: Terms, failure: Failure): Failure | ToolUnavailable =>
  standIns.get(failure)?.(terms) ?? failure

const retries = new WeakMap<object, number>()

/** Records how many retries a schedule allows, and returns the schedule. */
export const allowing = <S extends object>(schedule: S, times: number): S => {
  retries.set(schedule, times)
  return schedule
}

/** Returns how many retries a schedule allows, if that is known without stepping it. */
export const retriesOf = (schedule: object): number | undefined => retries.get(schedule)
