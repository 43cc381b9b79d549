/*
 * The worst case of a tool, computed from the terms of its policies, from the handler outwards.
 */
import * as Duration from "effect/Duration"
import * as Schedule from "effect/Schedule"
import type { Bound, Moment, Warning } from "../../Explanation.ts"
import type { SideEffect } from "../../SideEffect.ts"
import type { Part, Repetitions, Retries, Terms } from "../policy/policyTerms.ts"
import { durationText } from "../value/durationText.ts"
import { waitsOf } from "./retryWaits.ts"
import type { Waits } from "./scheduleStepping.ts"

/** The bounds of everything inside a policy, with the policy itself. */
export interface Bounds {
  /** The most attempts that can start within a time, if each fails immediately and each wait is the shortest. */
  readonly attempts: (within: Duration.Duration) => Bound<number>
  readonly waiting: Bound<Duration.Duration>
  readonly time: Bound<Duration.Duration>
  /** The moments of the worst case, in order. Attempts are numbered later, in the `Explanation`. */
  readonly moments: () => Iterable<Moment>
  readonly warnings: ReadonlyArray<Warning>
}

/** The bounds of a handler: one attempt of unlimited time. */
export const handler: Bounds = {
  attempts: () => ({ max: 1, because: [] }),
  waiting: { max: Duration.zero, because: [] },
  time: unbounded("the handler has no timeout"),
  moments: () => [{ at: Duration.zero, event: "attempt" }],
  warnings: []
}

/** What the interpreter of terms knows of a tool. */
export interface Subject {
  readonly sideEffect: SideEffect
  /** Returns the bounds of the tool with a `run`; `undefined` if the function is not a tool's. */
  readonly boundsOfRun: (run: object) => Bounds | undefined
}

/** Applies the terms of a policy to the bounds inside it. */
export const applyTerms = (terms: Terms | undefined, kind: string, inner: Bounds, subject: Subject): Bounds => {
  if (terms === undefined) return unknown(kind, inner)
  const { after, before, limit, pages, reconciles, repeats, waits, warnings = [] } = terms
  let bounds = inner
  if (before !== undefined) bounds = inOrder(partBounds(before, bounds, subject), bounds)
  if (repeats !== undefined) bounds = repeatedBounds(repeats, bounds, subject)
  if (pages !== undefined) bounds = pagedBounds(pages, bounds)
  if (reconciles !== undefined) bounds = reconciledBounds(reconciles, bounds, subject)
  if (after !== undefined) bounds = inOrder(bounds, partBounds(after, bounds, subject))
  if (waits !== undefined) bounds = waitingBounds(waits, bounds)
  if (warnings.length > 0) bounds = { ...bounds, warnings: [...bounds.warnings, ...warnings] }
  if (limit === undefined) return bounds
  return within(bounds, limit, subject.sideEffect === "non_idempotent" ? "fails or times out" : "times out")
}

/** Removes all bounds, for a policy that publishes no terms. */
const unknown = (kind: string, inner: Bounds): Bounds => {
  const because = [`the policy '${kind}' has no bound`]
  const time = { max: Duration.infinity, because }
  return { ...inner, attempts: () => ({ max: Infinity, because }), waiting: time, time, moments: () => [] }
}

const repeatedBounds = (repeats: Retries | Repetitions, inner: Bounds, { sideEffect }: Subject): Bounds => {
  if (!Schedule.isSchedule(repeats)) {
    const { after, overlap = false } = repeats
    return repeated(inner, { min: after, max: after }, (wait) => `waits ${durationText(wait)}`, overlap)
  }
  const waits = waitsOf(repeats)
  const condition = sideEffect === "non_idempotent" ? ", if it was not executed" : ""
  return {
    ...repeated(inner, waits, (wait) => `waits ${durationText(wait)}${condition}`),
    warnings: [...inner.warnings, ...warningsOf(waits)]
  }
}

/** A part of a policy's work. If it is itself a tool, its bounds are known. */
const partBounds = ({ time, tool, what }: Part, inner: Bounds, { boundsOfRun }: Subject): Bounds => {
  const work: Bounds = what === undefined ? { ...aside(""), moments: () => [] } : aside(what)
  const name = what ?? "a part of a policy"
  const source = tool === undefined ? undefined : boundsOfRun(tool)
  if (source === undefined) {
    return { ...work, time: time === undefined ? unbounded(`${name} has no timeout`) : { max: time, because: [] } }
  }
  const withPrefix = ({ because, max }: Bound<Duration.Duration>) => ({
    max,
    because: because.map((reason) => `${name}: ${reason}`)
  })
  const isUnbounded = Duration.isFinite(inner.time.max) && !Duration.isFinite(source.time.max)
  // The attempts of another tool do not count as this tool's.
  return {
    ...work,
    time: withPrefix(source.time),
    waiting: withPrefix(source.waiting),
    warnings: isUnbounded ? [unboundedFallback(name)] : []
  }
}

const unboundedFallback = (to: string): Warning => ({
  code: "unbounded_fallback",
  detail: `The time limits inside do not include ${to}, so a call has no time limit.`,
  hint: "Give the fallback's tool a timeout of its own, or put a deadline outside the fallback."
})

/**
 * Adds a check of the outcome. The check is repeated during the time to settle. Before that, an attempt that still runs gets
 * the same length of time to finish.
 */
const reconciledBounds = (
  { isFinal, looksFirst, settle }: NonNullable<Terms["reconciles"]>,
  inner: Bounds,
  { sideEffect }: Subject
): Bounds => {
  const max = Duration.times(settle ?? Duration.zero, 2)
  const warnings = sideEffect === "none" || settle !== undefined || isFinal ? [] : [notFinal]
  const check = { ...untimed("the check of the outcome"), waiting: { max, because: [] }, warnings }
  const checked = inOrder(inner, check)
  return looksFirst && sideEffect !== "none" ? inOrder(untimed("the check before the first attempt"), checked) : checked
}

const notFinal: Warning = {
  code: "reconcile_without_finality",
  detail: "An effect that the check does not find may still appear, so the outcome stays unknown.",
  hint: "Say how long the service takes (settle), or that the check's answer is final."
}

const waitingBounds = ({ for: what, max }: NonNullable<Terms["waits"]>, inner: Bounds): Bounds => {
  if (Duration.isZero(max)) return inner
  const waiting = Duration.isFinite(max)
    ? { max, because: [] }
    : unbounded(`a call waits for ${what} as long as it takes`)
  return inOrder({ ...aside(`waits for ${what}`), waiting, time: waiting }, inner)
}

const pagedBounds = ({ max, time }: NonNullable<Terms["pages"]>, inner: Bounds): Bounds => {
  const next = "asks for the next page"
  const gaps = Array.from({ length: max - 2 }, () => Duration.zero)
  const rest = repeated(inner, { min: gaps, max: gaps }, () => next)
  return {
    ...inOrder(inner, within(inOrder(aside(next), rest), time, "has no time for further pages")),
    warnings: inner.warnings
  }
}

/**
 * Adds fixers. Each of them may be asked; after each answer, the tool runs again under all its policies. A fixer's
 * `time` covers all its `tries`.
 */
export const fixedBounds = (
  fixers: ReadonlyArray<{ readonly tries: number; readonly time: Duration.Duration }>,
  inner: Bounds
): Bounds => {
  const again = { ...inner, warnings: [] }
  return fixers.reduce<Bounds>((bounds, { time, tries }) => {
    const asked: Bounds = {
      ...aside("a fixer is asked"),
      time: Duration.isFinite(time) ? { max: time, because: [] } : unbounded("the fixer has no timeout")
    }
    return Array.from({ length: tries }).reduce<Bounds>(
      (bounds, _, index) =>
        inOrder(bounds, index === 0 ? inOrder(asked, again) : inOrder(aside("a fixer is asked"), again)),
      bounds
    )
  }, inner)
}

// An upper bound that does not exist, and why.
function unbounded(because: string): Bound<Duration.Duration> {
  return { max: Duration.infinity, because: [because] }
}

// -----------------------------------------------------------------------------
// Combining bounds
// -----------------------------------------------------------------------------

const aside = (event: string): Bounds => ({
  attempts: () => ({ max: 0, because: [] }),
  waiting: { max: Duration.zero, because: [] },
  time: { max: Duration.zero, because: [] },
  moments: () => [{ at: Duration.zero, event }],
  warnings: []
})

const untimed = (who: string): Bounds => ({ ...aside(who), time: unbounded(`${who} has no timeout`) })

/** Combines the bounds of two steps, one after the other. */
const inOrder = (first: Bounds, second: Bounds): Bounds => ({
  attempts: (time) => plus(first.attempts(time), second.attempts(time)),
  waiting: sum(first.waiting, second.waiting),
  time: sum(first.time, second.time),
  *moments() {
    yield* first.moments()
    yield* from(first.time.max, second.moments())
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
      if (Duration.isGreaterThan(inner.time.max, limit)) yield { at: limit, event }
    },
    // A time limit ends every retry, however often and however long the retry would wait, and every fallback.
    warnings: inner.warnings.filter(({ code }) => code !== "uncapped_retry" && code !== "unbounded_fallback")
  }
}

/** Repeats the inner bounds after each wait. */
const repeated = (
  inner: Bounds,
  { min, max, unbounded: why }: Pick<Waits, "min" | "max" | "unbounded">,
  event: (wait: Duration.Duration) => string,
  overlap = false
): Bounds => {
  const total = (once: Bound<Duration.Duration>, waits: ReadonlyArray<Duration.Duration>): Bound<Duration.Duration> =>
    why === undefined
      ? {
        max: waits.reduce(Duration.sum, Duration.times(once.max, waits.length + 1)),
        because: once.because
      }
      : sum(once, unbounded(why))
  return {
    attempts: (time) => {
      let all = inner.attempts(time)
      let begun = Duration.zero
      for (const wait of min) {
        begun = Duration.sum(begun, wait)
        // A wait that could not end in time is not started.
        if (all.max === Infinity || Duration.isGreaterThanOrEqualTo(begun, time)) return all
        all = plus(all, inner.attempts(Duration.subtract(time, begun)))
      }
      return why === undefined ? all : plus(all, { max: Infinity, because: [why] })
    },
    waiting: total(inner.waiting, max),
    time: overlap ? { ...inner.time, max: max.reduce(Duration.sum, inner.time.max) } : total(inner.time, max),
    moments: () => overlap ? inStartOrder(inner, max) : inTurn(inner, max, event),
    warnings: inner.warnings
  }
}

function* inTurn(
  inner: Bounds,
  waits: ReadonlyArray<Duration.Duration>,
  event: (wait: Duration.Duration) => string
): Iterable<Moment> {
  yield* inner.moments()
  let at = inner.time.max
  for (const wait of waits) {
    if (!Duration.isFinite(at)) return
    yield { at, event: event(wait), wait }
    at = Duration.sum(at, wait)
    yield* from(at, inner.moments())
    at = Duration.sum(at, inner.time.max)
  }
}

/** The moments of runs that overlap. Each starts some time after the one before. */
const inStartOrder = (inner: Bounds, waits: ReadonlyArray<Duration.Duration>): Iterable<Moment> => {
  const starts = waits.reduce((all, wait) => [...all, Duration.sum(all.at(-1)!, wait)], [Duration.zero])
  return starts.flatMap((start) => Array.from(from(start, inner.moments()))).toSorted((a, b) =>
    Duration.toMillis(a.at) - Duration.toMillis(b.at)
  )
}

function* from(start: Duration.Duration, moments: Iterable<Moment>): Iterable<Moment> {
  if (!Duration.isFinite(start)) return
  for (const moment of moments) yield { ...moment, at: Duration.sum(start, moment.at) }
}

const plus = (a: Bound<number>, b: Bound<number>): Bound<number> => ({
  max: a.max + b.max,
  because: union(a.because, b.because)
})

const sum = (a: Bound<Duration.Duration>, b: Bound<Duration.Duration>): Bound<Duration.Duration> => ({
  max: Duration.sum(a.max, b.max),
  because: union(a.because, b.because)
})

const atMost = (bound: Bound<Duration.Duration>, limit: Duration.Duration): Bound<Duration.Duration> =>
  Duration.isLessThan(bound.max, limit) ? bound : { max: limit, because: [] }

const union = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): ReadonlyArray<string> =>
  b.length === 0 ? a : a.length === 0 ? b : [...new Set([...a, ...b])]

// -----------------------------------------------------------------------------
// Likely mistakes
// -----------------------------------------------------------------------------

const warningsOf = ({ isRandom, longest, max, unbounded }: Waits): ReadonlyArray<Warning> => {
  if (max.length === 0) return []
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
