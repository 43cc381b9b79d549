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
import { standIn, type Terms } from "../policy/retryTerms.ts"

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
 * with the failures that decide what policies of this library do: those that ask for as long a wait as is granted, and timeouts.
 * Whatever else it depends on cannot be known before, and makes it unbounded.
 */
export const waitsOf = (schedule: Retries): Waits => {
  const probe = new Probe()
  const run = (conditions: Conditions = {}) => step(schedule, probe, conditions)
  const calm = run()
  const eager = calm.isRandom ? run({ draw: greatest }) : calm
  const others = decisiveFailures(probe, run)
  const runs = [calm, eager, ...others.map((failure) => run({ draw: greatest, failure }))]
  const steps = Math.max(...runs.map(({ waits }) => waits.length))
  const isEndless = runs.some(({ isDone }) => !isDone)
  // What looks at the clock may wait longer where waits, or attempts, move it elsewhere.
  const isVaried = calm.isRandom || others.length > 0
  const still = isVaried ? [plain, ...others].map((failure) => ({ failure, isStill: true })) : []
  const slow = isEndless ? [] : [1, 10, 100, 1_000, 10_000, anHour].map((attempt) => ({ attempt }))
  const all = [...runs, ...[...still, ...slow].map((conditions) => run({ draw: greatest, steps, ...conditions }))]
  const most = inEachStep(all, steps, Math.max, 0)

  const died = all.find(({ died }) => died !== undefined)?.died
  if (died !== undefined) return unknown(`the retry's schedule cannot be stepped before running (${died})`)
  const elsewhere = starts.map((start) => run({ draw: greatest, start, steps: 100 }))
  const slowest = isEndless ? [] : run({ draw: greatest, attempt: aDay, steps: steps + 1 }).waits
  if (probe.wasRead) return unknown("the waits of the retry depend on the failure")
  if (elsewhere.some((there) => !areAlike(there, eager))) {
    return unknown("the waits of the retry depend on the time of day")
  }
  if (slowest.some((wait, index) => wait > (most[index] ?? -1) + 1)) {
    return unknown("the waits of the retry grow with the time that attempts take")
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

// For attempts that take long, no multiples of what schedules are made of.
const anHour = 3_612_347
const aDay = 86_412_347

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
  /** Why there is no knowing. */
  readonly died?: string
}

const step = (
  schedule: Retries,
  probe: Probe,
  { attempt = 0, draw = 0, failure = plain, isStill = false, start = 0, steps = manySteps }: Conditions
): Run => {
  const waits: Array<number> = []
  const time = new SimulatedTime(start)
  const shown = probe.showing(failure)
  let isRandom = false
  const drawn = <A>(number: A): A => {
    isRandom = true
    return number
  }
  const follow = Effect.gen(function*() {
    const next = yield* Schedule.toStep(schedule)
    while (waits.length < steps && time.now < Number.MAX_SAFE_INTEGER) {
      const failed = time.now += attempt
      const wait = yield* Pull.matchEffect(next(failed, shown), {
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
  // It would go on in the background.
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

/** Step by step, the least or the most of all runs. */
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

const timedOut = new ToolUnavailable({ ...plain, code: "timeout" })

/** The failures that decide what this library's policies do in a schedule. Stepping with one may reach policies that look at others. */
const decisiveFailures = (
  probe: Probe,
  run: (conditions: Conditions) => Run,
  known = 0
): ReadonlyArray<ToolUnavailable> => {
  const failures = probe.decisive
  if (failures.length === known) return failures
  for (const failure of failures) run({ failure })
  return decisiveFailures(probe, run, failures.length)
}

/** What every failure that is retried has in common: reading it decides nothing. */
const constants: ReadonlySet<PropertyKey> = new Set(["_tag", "transient"])

/**
 * Shows failures to a schedule, and notes whether it looks at them. Policies of this library that are part of it say by what terms they
 * read one: they get the failure as it is, and what they make of it is known.
 */
class Probe {
  wasRead = false
  /** The longest wait that each policy of this library grants, in milliseconds. */
  readonly #granted = new Set<number>()
  #endsAtTimeout = false

  /**
   * Failures that ask for each wait that is granted, and for one that is not: what goes on after a policy that refuses it may grant others.
   * The same for a timeout.
   */
  get decisive(): ReadonlyArray<ToolUnavailable> {
    const granted = Array.from(this.#granted)
    const waits = granted.length === 0 ? [] : [...granted, Math.max(...granted) + 1]
    return [...waits.map(askingFor), ...(this.#endsAtTimeout ? [timedOut] : [])]
  }

  #noteTerms({ endsAtTimeout, longest }: Terms): void {
    if (longest !== undefined) this.#granted.add(Duration.toMillis(longest))
    if (endsAtTimeout !== undefined) this.#endsAtTimeout = true
  }

  showing(failure: ToolUnavailable): ToolUnavailable {
    const note = (key: PropertyKey) => {
      // What begins like this is effect's own.
      if (typeof key === "string" && !key.startsWith("~") && !constants.has(key)) this.wasRead = true
    }
    const shown = new Proxy(failure, {
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
    standIn(shown, (terms) => {
      this.#noteTerms(terms)
      return failure
    })
    return shown
  }
}
