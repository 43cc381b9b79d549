import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Pull from "effect/Pull"
import * as Random from "effect/Random"
import * as References from "effect/References"
import * as Schedule from "effect/Schedule"
import { ToolUnavailable } from "../ToolFailure.ts"

/** How long a schedule waits after each failure until it is done: one entry a failure. */
export interface Waits {
  readonly least: ReadonlyArray<Duration.Duration>
  readonly most: ReadonlyArray<Duration.Duration>
  /** Why there may be others beyond these. */
  readonly unbounded?: string
  readonly isRandom: boolean
  /** The longest wait that no service asked for. */
  readonly longest: Duration.Duration
}

/** A schedule that failures are retried on, whatever it needs. */
export type Retries = Schedule.Schedule<unknown, ToolUnavailable, never, unknown>

/**
 * Finds out how a schedule waits by stepping it with a simulated clock, before anything has failed.
 *
 * Attempts take no time, which gives the most of them; it is stepped with the least and with the greatest random draws, and
 * with failures that ask for as long a wait as it grants. What it does depend on besides, and cannot be known before, makes
 * it unbounded.
 */
export const waitsOf = (schedule: Retries): Waits => {
  const probe = new Probe()
  const calm = step(schedule, { failure: probe.failure })
  if (calm.died !== undefined) return unknown(`the retry's schedule cannot be stepped before running (${calm.died})`)
  if (probe.wasRead) return unknown("the waits of the retry depend on the failure")
  const eager = calm.isRandom ? step(schedule, { draw: greatest }) : calm
  if (starts.some((start) => !areAlike(step(schedule, { draw: greatest, start, steps: 100 }), eager))) {
    return unknown("the waits of the retry depend on the time of day")
  }
  const failures = [plain, ...Array.from(probe.granted, askingFor)]
  const isVaried = calm.isRandom || failures.length > 1
  const runs = isVaried ? [calm, ...failures.map((failure) => step(schedule, { draw: greatest, failure }))] : [calm]
  const steps = Math.max(...runs.map(({ waits }) => waits.length))
  // A longer wait may move a schedule that looks at the clock away from its longest waits. While no time passes, all of them come.
  const still = isVaried
    ? failures.map((failure) => step(schedule, { draw: greatest, failure, isStill: true, steps }))
    : []
  const most = inEachStep([...runs, ...still], steps, Math.max, 0)
  const isEndless = runs.some(({ isDone }) => !isDone)
  if (!isEndless) {
    const slow = step(schedule, { draw: greatest, attempt: aMinute, steps: steps + 1 })
    if (slow.waits.length > steps || sum(slow.waits) > sum(most) + 1) {
      return unknown("the waits of the retry grow with the time that attempts take")
    }
  }
  return {
    least: inEachStep(runs, steps, Math.min, Infinity).map(Duration.millis),
    most: most.map(Duration.millis),
    ...(isEndless ? { unbounded: "the retry never ends" } : {}),
    isRandom: calm.isRandom,
    longest: Duration.millis(eager.waits.reduce((longest, wait) => Math.max(longest, wait), 0))
  }
}

const unknown = (why: string): Waits => ({
  least: [],
  most: [],
  unbounded: why,
  isRandom: false,
  longest: Duration.zero
})

// -----------------------------------------------------------------------------
// Steps
// -----------------------------------------------------------------------------

/** A schedule that goes on for longer than this never ends. */
const manySteps = 10_000

const greatest = 1 - Number.EPSILON / 2

/** Other hours, other days of the week: what waits for a time of day waits differently from there. */
const starts = [27_073_456, 305_421_789]

/** For an attempt, about a minute: no multiple of what schedules are made of. */
const aMinute = 61_234

interface Conditions {
  readonly failure?: ToolUnavailable
  /** What is drawn, from 0 to 1: first of all, the least. */
  readonly draw?: number
  readonly start?: number
  /** How long each attempt takes, in milliseconds. */
  readonly attempt?: number
  readonly isStill?: boolean
  readonly steps?: number
}

interface Run {
  readonly waits: ReadonlyArray<number>
  readonly isDone: boolean
  readonly isRandom: boolean
  readonly died?: string
}

const step = (
  schedule: Retries,
  { attempt = 0, draw = 0, failure = plain, isStill = false, start = 0, steps = manySteps }: Conditions
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
      const wait = yield* Pull.matchEffect(next(failed, failure), {
        onSuccess: ([, wait]) => Effect.succeed(Math.max(0, Duration.toMillis(wait))),
        onFailure: Effect.failCause,
        // No retry begins a wait without end, either.
        onDone: () => Effect.succeed(Infinity)
      })
      if (wait === Infinity) return true
      // What the schedule itself took, it took from the caller.
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

// Whether it needs anything is what running it tells: a service that is not there is a defect.
const asRunnable = <A, R>(effect: Effect.Effect<A, never, R>) => effect as Effect.Effect<A>

const diagnosis = (defect: unknown): string => {
  if (!Cause.isAsyncFiberError(defect)) return defect instanceof Error ? defect.message : String(defect)
  // What waits would go on in the background.
  defect.fiber.interruptUnsafe()
  return "it waits for something"
}

/** A clock that goes as far as it is told; who sleeps by it takes up time, and does not wait. */
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

const sum = (waits: ReadonlyArray<number>): number => waits.reduce((sum, wait) => sum + wait, 0)

const inEachStep = (
  runs: ReadonlyArray<Run>,
  steps: number,
  choose: (...waits: ReadonlyArray<number>) => number,
  none: number
) => Array.from({ length: steps }, (_, index) => choose(...runs.map(({ waits }) => waits[index] ?? none)))

// Fractions of a millisecond are lost by a clock that has come far.
const areAlike = (some: Run, all: Run): boolean =>
  some.waits.length === Math.min(all.waits.length, 100) &&
  some.waits.every((wait, index) => Math.abs(wait - (all.waits[index] ?? 0)) < 1)

// -----------------------------------------------------------------------------
// Failures that have not happened
// -----------------------------------------------------------------------------

const plain = new ToolUnavailable({ code: "connection", detail: "This failure is simulated.", transient: true })

const askingFor = (millis: number): ToolUnavailable =>
  new ToolUnavailable({ ...plain, code: "rate_limited", retryAfter: Duration.millis(millis) })

/** What every failure that is retried has in common: reading it decides nothing. */
const constants: ReadonlySet<PropertyKey> = new Set(["_tag", "transient"])

/** A failure that notes whether a schedule looks at it, and which waits it may ask for. */
class Probe {
  wasRead = false
  readonly granted = new Set<number>()
  readonly failure = new Proxy(plain, {
    get: (failure, key, receiver) => {
      if (typeof key === "string" && !key.startsWith("~") && !constants.has(key)) this.wasRead = true
      return Reflect.get(failure, key, receiver)
    },
    has: (failure, key) => {
      if (typeof key === "string" && !key.startsWith("~")) this.wasRead = true
      return Reflect.has(failure, key)
    },
    ownKeys: (failure) => {
      this.wasRead = true
      return Reflect.ownKeys(failure)
    }
  })

  constructor() {
    probes.set(this.failure, this)
  }
}

const probes = new WeakMap<object, Probe>()

interface Asking {
  readonly code?: string
  readonly retryAfter?: Duration.Duration
}

/**
 * What a policy of this library reads of a failure, when the most that it makes of it is the wait that the service asked for,
 * up to a longest one. A probe takes its word for that, so that the bounds of what is composed of it are known, too.
 */
export const granting = (failure: Asking, longest: Duration.Duration): Asking => {
  const probe = probes.get(failure)
  if (probe === undefined) return failure
  probe.granted.add(Duration.toMillis(longest))
  return plain
}
