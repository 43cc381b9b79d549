import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Pull from "effect/Pull"
import * as Random from "effect/Random"
import * as References from "effect/References"
import * as Schedule from "effect/Schedule"
import { ToolUnavailable } from "../../ToolFailure.ts"
import type { Retries } from "../policy/policyTerms.ts"
import { maxWaits } from "../policy/retryWait.ts"

/** The waits of a schedule until it is done, with one entry for each failure. */
export interface Waits {
  readonly min: ReadonlyArray<Duration.Duration>
  readonly max: ReadonlyArray<Duration.Duration>
  /** Why these are not all waits, or not the longest. Absent if they are. */
  readonly unbounded?: string
  readonly isRandom: boolean
  /** The longest wait that the schedule chooses without a request from the service (`retryAfter`). */
  readonly longest: Duration.Duration
}

/**
 * Computes the waits of a schedule that publishes no terms, by stepping it with a simulated clock.
 *
 * Simulated attempts take no time, because that allows the largest number of attempts. The schedule is stepped with
 * the least and the greatest random draws. If it reads the failure, its waits are unknown and count as unbounded.
 */
export const steppedWaits = (schedule: Retries): Waits => {
  const probe = new Probe()
  const run = (conditions: Conditions = {}) => step(schedule, probe, conditions)
  const leastDraws = run()
  const greatestDraws = leastDraws.isRandom ? run({ draw: greatest }) : leastDraws
  const isEndless = !leastDraws.isDone || !greatestDraws.isDone
  const runs = [leastDraws, greatestDraws]
  const steps = Math.max(...runs.map(({ waits }) => waits.length))
  // A schedule that reads the clock may wait longer if waits do not advance the clock, or if attempts take time.
  const others: ReadonlyArray<Conditions> = [
    ...(leastDraws.isRandom ? [{ isStill: true }] : []),
    ...(isEndless ? [] : [1, 10, 100, 1_000, 10_000, anHour].map((attempt) => ({ attempt })))
  ]
  const all = [...runs, ...others.map((conditions) => run({ draw: greatest, steps, ...conditions }))]
  const max = inEachStep(all, steps, Math.max, 0)

  const died = all.find(({ died }) => died !== undefined)?.died
  if (died !== undefined) return unknown(`the retry's schedule cannot be stepped before running (${died})`)
  const atOtherTimes = starts.map((start) => run({ draw: greatest, start, steps: 100 }))
  const slowest = isEndless ? [] : run({ draw: greatest, attempt: aDay, steps: steps + 1 }).waits
  if (probe.wasRead) return unknown("the waits of the retry depend on the failure")
  if (atOtherTimes.some((shifted) => !areAlike(shifted, greatestDraws))) {
    return unknown("the waits of the retry depend on the time of day")
  }
  if (slowest.some((wait, index) => wait > (max[index] ?? -1) + 1)) {
    return unknown("the waits of the retry grow with the time that attempts take")
  }
  return {
    min: inEachStep(runs, steps, Math.min, Infinity).map(Duration.millis),
    max: max.map(Duration.millis),
    ...(isEndless ? { unbounded: "the retry never ends" } : {}),
    isRandom: leastDraws.isRandom,
    longest: Duration.millis(greatestDraws.waits.reduce((longest, wait) => Math.max(longest, wait), 0))
  }
}

const unknown = (why: string): Waits => ({
  min: [],
  max: [],
  unbounded: why,
  isRandom: false,
  longest: Duration.zero
})

// -----------------------------------------------------------------------------
// Steps
// -----------------------------------------------------------------------------

const greatest = 1 - Number.EPSILON / 2

/**
 * Other times at which the clock may start, in milliseconds: at other hours, on other weekdays. A schedule that
 * depends on the time of day has different waits from there.
 */
const starts = [27_073_456, 305_421_789]

// The lengths of slow attempts, in milliseconds. They are not multiples of the intervals that schedules use.
const anHour = 3_612_347
const aDay = 86_412_347

interface Conditions {
  /** The random draw, from 0 to 1. Default: 0, the least. */
  readonly draw?: number
  /** The time at which the clock starts, in milliseconds. Default: 0. */
  readonly start?: number
  /** How long each attempt takes, in milliseconds. Default: 0. */
  readonly attempt?: number
  /** True if waits do not advance the clock. Default: false. */
  readonly isStill?: boolean
  readonly steps?: number
}

interface Run {
  readonly waits: ReadonlyArray<number>
  readonly isDone: boolean
  readonly isRandom: boolean
  /** Why the schedule cannot be stepped. */
  readonly died?: string
}

const step = (
  schedule: Retries,
  probe: Probe,
  { attempt = 0, draw = 0, isStill = false, start = 0, steps = maxWaits }: Conditions
): Run => {
  const waits: Array<number> = []
  const time = new SimulatedTime(start)
  let isRandom = false
  const drawn = <A>(number: A): A => {
    isRandom = true
    return number
  }
  const follow = Effect.gen(function*() {
    const next = yield* Schedule.toStep(schedule)
    while (waits.length < steps && time.now < Number.MAX_SAFE_INTEGER) {
      const failed = time.now += attempt
      const wait = yield* Pull.matchEffect(next(failed, asInput(probe.failure)), {
        onSuccess: ([, wait]) => Effect.succeed(Math.max(0, Duration.toMillis(wait))),
        onFailure: Effect.failCause,
        // A schedule that is done counts as an infinite wait, since no retry ever starts such a wait.
        onDone: () => Effect.succeed(Infinity)
      })
      if (wait === Infinity) return true
      // Time that the schedule itself takes counts as a wait.
      waits.push(time.now - failed + wait)
      time.now = isStill ? start : time.now + wait
    }
    return false
  }).pipe(
    Effect.provideService(Clock.Clock, time),
    Effect.provideService(Random.Random, {
      nextDoubleUnsafe: () => drawn(draw),
      nextIntUnsafe: () => drawn(draw === 0 ? Number.MIN_SAFE_INTEGER : Number.MAX_SAFE_INTEGER)
    }),
    Effect.provideService(References.CurrentLoggers, new Set())
  )
  const exit = Effect.runSyncExit(asRunnable(follow))
  return Exit.isSuccess(exit)
    ? { waits, isRandom, isDone: exit.value }
    : { waits, isRandom, isDone: true, died: diagnosis(Cause.squash(exit.cause)) }
}

// The cast hides the required services. If one is missing, running the schedule ends with a defect.
const asRunnable = <A, R>(effect: Effect.Effect<A, never, R>) => effect as Effect.Effect<A>

const diagnosis = (defect: unknown): string => {
  if (!Cause.isAsyncFiberError(defect)) return defect instanceof Error ? defect.message : String(defect)
  // Without the interruption, the schedule would go on in the background.
  defect.fiber.interruptUnsafe()
  return "it waits for an external event"
}

/** A clock that advances only when it is set, or by a sleep. A sleep returns immediately. */
class SimulatedTime implements Clock.Clock {
  now: number

  constructor(start: number) {
    this.now = start
  }

  currentTimeMillisUnsafe() {
    return this.now
  }

  currentTimeNanosUnsafe() {
    return BigInt(Math.round(this.now * 1e6))
  }

  monotonicTimeNanosUnsafe() {
    return this.currentTimeNanosUnsafe()
  }

  readonly currentTimeMillis = Effect.sync(() => this.currentTimeMillisUnsafe())
  readonly currentTimeNanos = Effect.sync(() => this.currentTimeNanosUnsafe())
  readonly monotonicTimeNanos = Effect.sync(() => this.monotonicTimeNanosUnsafe())

  sleep(duration: Duration.Duration) {
    return Effect.sync(() => {
      this.now += Duration.toMillis(duration)
    })
  }
}

/** Returns, for each step, the least or the greatest wait of all runs. */
const inEachStep = (
  runs: ReadonlyArray<Run>,
  steps: number,
  choose: (...waits: ReadonlyArray<number>) => number,
  none: number
) => Array.from({ length: steps }, (_, index) => choose(...runs.map(({ waits }) => waits[index] ?? none)))

// Differences below 1 ms are ignored: a clock that has advanced far loses fractions of a millisecond.
const areAlike = (some: Run, all: Run): boolean =>
  some.waits.length === Math.min(all.waits.length, 100) &&
  some.waits.every((wait, index) => Math.abs(wait - (all.waits[index] ?? 0)) < 1)

// -----------------------------------------------------------------------------
// The simulated failure
// -----------------------------------------------------------------------------

const plain = new ToolUnavailable({ code: "connection", detail: "This failure is simulated.", transient: true })

/** Fields that are the same for every retried failure. A schedule may read them without depending on the failure. */
const constants: ReadonlySet<PropertyKey> = new Set(["_tag", "transient"])

/** Notes whether a schedule reads the failure that it is shown. */
class Probe {
  wasRead = false
  readonly failure: ToolUnavailable

  constructor() {
    const note = (key: PropertyKey) => {
      // Keys that begin with `~` belong to `effect`, and are not fields of the failure.
      if (typeof key === "string" && !key.startsWith("~") && !constants.has(key)) this.wasRead = true
    }
    this.failure = new Proxy(plain, {
      get: (failure, key, receiver) => {
        note(key)
        return Reflect.get(failure, key, receiver)
      },
      has: (failure, key) => {
        note(key)
        return Reflect.has(failure, key)
      },
      getOwnPropertyDescriptor: (failure, key) => {
        note(key)
        return Reflect.getOwnPropertyDescriptor(failure, key)
      },
      ownKeys: (failure) => {
        note("all")
        return Reflect.ownKeys(failure)
      }
    })
  }
}

// `Retries` takes any failure, which its type cannot say.
const asInput = (failure: ToolUnavailable) => failure as never
