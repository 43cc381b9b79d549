import * as Duration from "effect/Duration"
import { type Bound, type Bounds, type Moment, unbounded, type Warning } from "../../Explanation.ts"
import type { SideEffect } from "../../SideEffect.ts"
import { durationText } from "../value/durationText.ts"
import { type Retries, type Waits, waitsOf } from "./scheduleStepping.ts"

// -----------------------------------------------------------------------------
// What each policy makes of the bounds of what is inside
// -----------------------------------------------------------------------------

interface Subject {
  readonly sideEffect: SideEffect
}

/** The handler: one attempt, of which nothing else is known. */
export const handler: Bounds = {
  attempts: () => ({ most: 1, because: [] }),
  waiting: { most: Duration.zero, because: [] },
  time: unbounded("the handler has no timeout"),
  moments: () => [{ at: Duration.zero, event: "attempt" }],
  warnings: []
}

/** A policy that says nothing of itself. */
export const anything = (kind: string) => (inner: Bounds): Bounds => {
  const because = [`nothing is known of the policy '${kind}'`]
  const time = { most: Duration.infinity, because }
  return { ...inner, attempts: () => ({ most: Infinity, because }), waiting: time, time, moments: () => [] }
}

/** A policy that changes nothing. */
export const same = (inner: Bounds): Bounds => inner

export const retry = (schedule: Retries) => (inner: Bounds, { sideEffect }: Subject): Bounds => {
  const waits = waitsOf(schedule)
  const condition = sideEffect === "non_idempotent" ? ", if it was not executed" : ""
  return {
    ...repeated(inner, waits, (wait) => `waits ${durationText(wait)}${condition}`),
    warnings: [...inner.warnings, ...warningsOf(waits)]
  }
}

/** Marks what is meant for tools of all kinds: that it does nothing for some of them is no mistake. */
export const forAllTools = (bound: object | undefined): void => {
  if (bound !== undefined) common.add(bound)
}

export const isForAllTools = (bound: object | undefined): boolean => bound !== undefined && common.has(bound)

const common = new WeakSet<object>()

/** No longer than a time: a timeout, or a deadline. */
export const timeLimit = (limit: Duration.Duration) => {
  const bound = (inner: Bounds, { sideEffect }: Subject): Bounds =>
    within(inner, limit, sideEffect === "non_idempotent" ? "fails or times out" : "times out")
  times.set(bound, limit)
  return bound
}

/** How long a policy says that it may take, if it does. */
export const timeOf = (bound: object | undefined): Duration.Duration | undefined =>
  bound === undefined ? undefined : times.get(bound)

const times = new WeakMap<object, Duration.Duration>()

/** What answers for a tool that is unavailable. When it is a tool itself, its bounds are known, too. */
export const fallback = (source: object, name: string | undefined) => (inner: Bounds): Bounds => {
  const to = name === undefined ? "the fallback" : `the fallback to ${name}`
  const known = sources.get(source)?.()
  if (known === undefined) return after(inner, untimed(to))
  const there = ({ because, most }: Bound<Duration.Duration>) => ({
    most,
    because: because.map((reason) => `${to}: ${reason}`)
  })
  // Its attempts are not this tool's.
  return after(inner, { ...aside(to), time: there(known.time), waiting: there(known.waiting) })
}

/** The bounds of tools, by what runs them. */
export const sources = new WeakMap<object, () => Bounds>()

/** What may run after what is inside, and takes a time of its own, of which nothing is known. */
export const afterwards = (who: string) => (inner: Bounds): Bounds => after(inner, untimed(who))

/** A check is asked after what is inside, and again while it settles. An attempt that still runs has as long to end. */
export const reconcile = (settle: Duration.Duration | undefined, isFinal: boolean) => {
  const most = Duration.times(settle ?? Duration.zero, 2)
  const bound = (inner: Bounds, { sideEffect }: Subject): Bounds => {
    const check = untimed("the check of the outcome")
    const warnings = sideEffect === "none" || settle !== undefined || isFinal ? [] : [notFinal]
    return after(inner, { ...check, waiting: { most, because: [] }, warnings })
  }
  if (settle !== undefined) {
    settles.set(bound, settle)
    times.set(bound, most)
  }
  return bound
}

const notFinal: Warning = {
  code: "reconcile_without_finality",
  detail: "What the check does not find may still come, so that the outcome stays unknown then.",
  hint: "Say how long the service takes (settle), or that the check's answer is final."
}

const settles = new WeakMap<object, Duration.Duration>()

/** How long a policy waits for an outcome to settle, if it does. */
export const settleOf = (bound: object | undefined): Duration.Duration | undefined =>
  bound === undefined ? undefined : settles.get(bound)

/** What is waited for before what is inside. */
export const turn = (what: string, patience: Duration.Duration) => (inner: Bounds): Bounds => {
  if (Duration.isZero(patience)) return inner
  const waiting = Duration.isFinite(patience)
    ? { most: patience, because: [] }
    : unbounded(`a call waits for ${what} as long as it takes`)
  return after({ ...aside(`waits for ${what}`), waiting, time: waiting }, inner)
}

/** A fixer is asked, and the tool runs again under all its policies, with what it answers. */
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
// How bounds are put together
// -----------------------------------------------------------------------------

const aside = (event: string): Bounds => ({
  attempts: () => ({ most: 0, because: [] }),
  waiting: { most: Duration.zero, because: [] },
  time: { most: Duration.zero, because: [] },
  moments: () => [{ at: Duration.zero, event }],
  warnings: []
})

const untimed = (who: string): Bounds => ({ ...aside(who), time: unbounded(`${who} has no timeout`) })

/** One, and then the other. */
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

/** No longer than this. */
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
    // However often it is tried, and however long it would wait: there is an end now.
    warnings: inner.warnings.filter(({ code }) => code !== "uncapped_retry")
  }
}

/** Again after each wait. */
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
        // A wait that does not end in time is not begun.
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
// What is likely not meant
// -----------------------------------------------------------------------------

const warningsOf = ({ isRandom, longest, most, unbounded }: Waits): ReadonlyArray<Warning> => {
  if (most.length === 0) return []
  const warnings: Array<Warning> = []
  if (!isRandom) {
    warnings.push({
      code: "unjittered_retry",
      detail: "The retry waits equally long for all callers, who all return at once to a service that comes back.",
      hint: "Use RetryPolicy.transient, or Schedule.jittered."
    })
  }
  if (unbounded !== undefined) {
    warnings.push({
      code: "uncapped_retry",
      detail: "The retry never ends.",
      hint: "Limit it by Schedule.upTo, or by a deadline around it."
    })
  } else if (Duration.isGreaterThan(longest, Duration.minutes(1))) {
    warnings.push({
      code: "uncapped_retry",
      detail: `The retry waits up to ${durationText(longest)} at once.`,
      hint:
        "Cap its waits, as in Schedule.min([schedule, Schedule.spaced(\"5 seconds\")]), and limit it by Schedule.upTo."
    })
  }
  return warnings
}
