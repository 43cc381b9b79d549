import * as Duration from "effect/Duration"
import { type Bound, type Bounds, type Moment, unbounded, type Warning } from "../../Explanation.ts"
import type { SideEffect } from "../../SideEffect.ts"
import { durationText } from "../value/durationText.ts"
import { type Retries, type Waits, waitsOf } from "./scheduleStepping.ts"

// -----------------------------------------------------------------------------
// How each policy changes the bounds of the run inside it
// -----------------------------------------------------------------------------

interface Subject {
  readonly sideEffect: SideEffect
}

/** The bounds of a handler: one attempt of unlimited time. */
export const handler: Bounds = {
  attempts: () => ({ most: 1, because: [] }),
  waiting: { most: Duration.zero, because: [] },
  time: unbounded("the handler has no timeout"),
  moments: () => [{ at: Duration.zero, event: "attempt" }],
  warnings: []
}

/** Removes all bounds, for a policy that declares no bound. */
export const anything = (kind: string) => (inner: Bounds): Bounds => {
  const because = [`the policy '${kind}' has no bound`]
  const time = { most: Duration.infinity, because }
  return { ...inner, attempts: () => ({ most: Infinity, because }), waiting: time, time, moments: () => [] }
}

/** Returns the bounds unchanged, for a policy that does not affect them. */
export const same = (inner: Bounds): Bounds => inner

export const retry = (schedule: Retries) => (inner: Bounds, { sideEffect }: Subject): Bounds => {
  const waits = waitsOf(schedule)
  const condition = sideEffect === "non_idempotent" ? ", if it was not executed" : ""
  return {
    ...repeated(inner, waits, (wait) => `waits ${durationText(wait)}${condition}`),
    warnings: [...inner.warnings, ...warningsOf(waits)]
  }
}

/**
 * Marks a policy as meant for all kinds of tools. If the policy does nothing for some of them, that is no mistake.
 */
export const forAllTools = (bound: object | undefined): void => {
  if (bound !== undefined) common.add(bound)
}

export const isForAllTools = (bound: object | undefined): boolean => bound !== undefined && common.has(bound)

const common = new WeakSet<object>()

/** Limits the time of the inner bounds, for a timeout or a deadline. */
export const timeLimit = (limit: Duration.Duration) => {
  const bound = (inner: Bounds, { sideEffect }: Subject): Bounds =>
    within(inner, limit, sideEffect === "non_idempotent" ? "fails or times out" : "times out")
  times.set(bound, limit)
  return bound
}

/** Returns the time that a policy's bound declares, if any. */
export const timeOf = (bound: object | undefined): Duration.Duration | undefined =>
  bound === undefined ? undefined : times.get(bound)

const times = new WeakMap<object, Duration.Duration>()

/** Adds the fallback of an unavailable tool. If the fallback is itself a tool, its bounds are known. */
export const fallback = (source: object, name: string | undefined) => (inner: Bounds): Bounds => {
  const to = name === undefined ? "the fallback" : `the fallback to ${name}`
  const sourceBounds = sources.get(source)?.()
  if (sourceBounds === undefined) return after(inner, untimed(to))
  const withPrefix = ({ because, most }: Bound<Duration.Duration>) => ({
    most,
    because: because.map((reason) => `${to}: ${reason}`)
  })
  const isUnbounded = Duration.isFinite(inner.time.most) && !Duration.isFinite(sourceBounds.time.most)
  // The attempts of the fallback do not count as this tool's.
  return after(inner, {
    ...aside(to),
    time: withPrefix(sourceBounds.time),
    waiting: withPrefix(sourceBounds.waiting),
    warnings: isUnbounded ? [unboundedFallback(to)] : []
  })
}

const unboundedFallback = (to: string): Warning => ({
  code: "unbounded_fallback",
  detail: `The time limits inside do not include ${to}, so a call has no time limit.`,
  hint: "Give the fallback's tool a timeout of its own, or put a deadline outside the fallback."
})

/** The bounds of tools, keyed by `run`. */
export const sources = new WeakMap<object, () => Bounds>()

/** Adds a step of unlimited time after the inner bounds. */
export const afterwards = (who: string) => (inner: Bounds): Bounds => after(inner, untimed(who))

/**
 * Adds a check after the inner bounds. The check is repeated during the `settle` time. Before that, an
 * attempt that still runs gets the same length of time to finish.
 */
export const reconcile = ({ isFinal, looksFirst, settle }: {
  readonly settle: Duration.Duration | undefined
  readonly isFinal: boolean
  readonly looksFirst: boolean
}) => {
  const most = Duration.times(settle ?? Duration.zero, 2)
  const bound = (inner: Bounds, { sideEffect }: Subject): Bounds => {
    const check = untimed("the check of the outcome")
    const warnings = sideEffect === "none" || settle !== undefined || isFinal ? [] : [notFinal]
    const checked = after(inner, { ...check, waiting: { most, because: [] }, warnings })
    return looksFirst && sideEffect !== "none" ? after(untimed("the check before the first attempt"), checked) : checked
  }
  if (settle !== undefined) {
    settles.set(bound, settle)
    times.set(bound, most)
  }
  return bound
}

const notFinal: Warning = {
  code: "reconcile_without_finality",
  detail: "An effect that the check does not find may still appear, so the outcome stays unknown.",
  hint: "Say how long the service takes (settle), or that the check's answer is final."
}

const settles = new WeakMap<object, Duration.Duration>()

/** Returns how long a policy waits for an outcome to settle; `undefined` if it does not wait. */
export const settleOf = (bound: object | undefined): Duration.Duration | undefined =>
  bound === undefined ? undefined : settles.get(bound)

/** Adds a wait before the inner bounds, such as the wait for a permit. */
export const turn = (what: string, patience: Duration.Duration) => (inner: Bounds): Bounds => {
  if (Duration.isZero(patience)) return inner
  const waiting = Duration.isFinite(patience)
    ? { most: patience, because: [] }
    : unbounded(`a call waits for ${what} as long as it takes`)
  return after({ ...aside(`waits for ${what}`), waiting, time: waiting }, inner)
}

/**
 * Adds fixers. Each of them may be asked; after each answer, the tool runs again under all its policies. A fixer's
 * `time` covers all its `tries`.
 */
export const fixed =
  (fixers: ReadonlyArray<{ readonly tries: number; readonly time: Duration.Duration }>) => (inner: Bounds): Bounds => {
    const again = { ...inner, warnings: [] }
    return fixers.reduce<Bounds>((bounds, { time, tries }) => {
      const asked: Bounds = {
        ...aside("a fixer is asked"),
        time: Duration.isFinite(time) ? { most: time, because: [] } : unbounded("the fixer has no timeout")
      }
      return Array.from({ length: tries }).reduce<Bounds>(
        (bounds, _, index) =>
          after(bounds, index === 0 ? after(asked, again) : after(aside("a fixer is asked"), again)),
        bounds
      )
    }, inner)
  }

export const paginate = (pages: number, time: Duration.Duration) => (inner: Bounds): Bounds => {
  const next = "asks for the next page"
  const gaps = Array.from({ length: pages - 2 }, () => Duration.zero)
  const rest = repeated(inner, { least: gaps, most: gaps }, () => next)
  return {
    ...after(inner, within(after(aside(next), rest), time, "has no time for further pages")),
    warnings: inner.warnings
  }
}

// -----------------------------------------------------------------------------
// Combining bounds
// -----------------------------------------------------------------------------

const aside = (event: string): Bounds => ({
  attempts: () => ({ most: 0, because: [] }),
  waiting: { most: Duration.zero, because: [] },
  time: { most: Duration.zero, because: [] },
  moments: () => [{ at: Duration.zero, event }],
  warnings: []
})

const untimed = (who: string): Bounds => ({ ...aside(who), time: unbounded(`${who} has no timeout`) })

/** Combines the bounds of two steps, one after the other. */
const after = (first: Bounds, second: Bounds): Bounds => ({
  attempts: (time) => plus(first.attempts(time), second.attempts(time)),
  waiting: sum(first.waiting, second.waiting),
  time: sum(first.time, second.time),
  *moments() {
    yield* first.moments()
    yield* from(first.time.most, second.moments())
  },
  warnings: [...first.warnings, ...second.warnings]
})

/** Cuts bounds off at a time limit. */
const within = (inner: Bounds, limit: Duration.Duration, event: string): Bounds => {
  if (!Duration.isFinite(limit)) return inner
  return {
    attempts: (time) => inner.attempts(Duration.min(time, limit)),
    waiting: atMost(inner.waiting, limit),
    time: atMost(inner.time, limit),
    *moments() {
      for (const moment of inner.moments()) {
        const { at, wait } = moment
        if (!Duration.isZero(at) && Duration.isGreaterThanOrEqualTo(at, limit)) break
        if (wait !== undefined && Duration.isGreaterThanOrEqualTo(Duration.sum(at, wait), limit)) {
          return yield { at, event: `fails: there is no time to wait ${durationText(wait)}` }
        }
        yield moment
      }
      if (Duration.isGreaterThan(inner.time.most, limit)) yield { at: limit, event }
    },
    // A time limit ends every retry, however often and however long the retry would wait, and every fallback.
    warnings: inner.warnings.filter(({ code }) => code !== "uncapped_retry" && code !== "unbounded_fallback")
  }
}

/** Repeats the inner bounds after each wait. */
const repeated = (
  inner: Bounds,
  { least, most, unbounded: why }: Pick<Waits, "least" | "most" | "unbounded">,
  event: (wait: Duration.Duration) => string
): Bounds => {
  const total = (once: Bound<Duration.Duration>, waits: ReadonlyArray<Duration.Duration>): Bound<Duration.Duration> =>
    why === undefined
      ? {
        most: waits.reduce(Duration.sum, Duration.times(once.most, waits.length + 1)),
        because: once.because
      }
      : sum(once, unbounded(why))
  return {
    attempts: (time) => {
      let all = inner.attempts(time)
      let begun = Duration.zero
      for (const wait of least) {
        begun = Duration.sum(begun, wait)
        // A wait that could not end in time is not started.
        if (all.most === Infinity || Duration.isGreaterThanOrEqualTo(begun, time)) return all
        all = plus(all, inner.attempts(Duration.subtract(time, begun)))
      }
      return why === undefined ? all : plus(all, { most: Infinity, because: [why] })
    },
    waiting: total(inner.waiting, most),
    time: total(inner.time, most),
    *moments() {
      yield* inner.moments()
      let at = inner.time.most
      for (const wait of most) {
        if (!Duration.isFinite(at)) return
        yield { at, event: event(wait), wait }
        at = Duration.sum(at, wait)
        yield* from(at, inner.moments())
        at = Duration.sum(at, inner.time.most)
      }
    },
    warnings: inner.warnings
  }
}

function* from(start: Duration.Duration, moments: Iterable<Moment>): Iterable<Moment> {
  if (!Duration.isFinite(start)) return
  for (const moment of moments) yield { ...moment, at: Duration.sum(start, moment.at) }
}

const plus = (a: Bound<number>, b: Bound<number>): Bound<number> => ({
  most: a.most + b.most,
  because: union(a.because, b.because)
})

const sum = (a: Bound<Duration.Duration>, b: Bound<Duration.Duration>): Bound<Duration.Duration> => ({
  most: Duration.sum(a.most, b.most),
  because: union(a.because, b.because)
})

const atMost = (bound: Bound<Duration.Duration>, limit: Duration.Duration): Bound<Duration.Duration> =>
  Duration.isLessThan(bound.most, limit) ? bound : { most: limit, because: [] }

const union = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): ReadonlyArray<string> =>
  b.length === 0 ? a : a.length === 0 ? b : [...new Set([...a, ...b])]

// -----------------------------------------------------------------------------
// Likely mistakes
// -----------------------------------------------------------------------------

const warningsOf = ({ isRandom, longest, most, unbounded }: Waits): ReadonlyArray<Warning> => {
  if (most.length === 0) return []
  const warnings: Array<Warning> = []
  if (!isRandom) {
    warnings.push({
      code: "unjittered_retry",
      detail: "All callers wait equally long, so they all return at once when the service recovers.",
      hint: "Use RetryPolicy.transient, or Schedule.jittered."
    })
  }
  if (unbounded !== undefined) {
    warnings.push({
      code: "uncapped_retry",
      detail: "The retry never ends.",
      hint: "Limit it with Schedule.upTo, or with a deadline around it."
    })
  } else if (Duration.isGreaterThan(longest, Duration.minutes(1))) {
    warnings.push({
      code: "uncapped_retry",
      detail: `The retry waits up to ${durationText(longest)} at once.`,
      hint:
        "Cap its waits, as in Schedule.min([schedule, Schedule.spaced(\"5 seconds\")]), and limit it with Schedule.upTo."
    })
  }
  return warnings
}
