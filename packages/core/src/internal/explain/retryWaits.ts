import * as Duration from "effect/Duration"
import type { Retries } from "../policy/policyTerms.ts"
import { maxWaits, type Terms, termsOf, type Wait } from "../policy/retryWait.ts"
import { steppedWaits, type Waits } from "./scheduleStepping.ts"

/** Computes the waits of a schedule: from its terms, or by stepping it with a simulated clock. */
export const waitsOf = (schedule: Retries): Waits => {
  const terms = termsOf(schedule)
  return terms === undefined ? steppedWaits(schedule) : fromTerms(terms)
}

const fromTerms = (terms: Terms): Waits => {
  if ("around" in terms) {
    const inner = waitsOf(terms.around)
    // A policy that honours a request itself also gives up on a longer one.
    const honours = termsOf(terms.around)?.honours ?? terms.honours
    return { ...inner, max: inner.max.map((wait) => Duration.max(wait, Duration.min(honours, terms.honours))) }
  }
  const { attempts, isRandom, waits } = terms
  const each = (of: (wait: Wait) => Duration.Duration) => waits.map(of)
  return {
    min: each(({ min }) => min),
    max: each(({ max }) => max),
    ...(attempts > maxWaits ? { unbounded: "the retry never ends" } : {}),
    isRandom,
    longest: each(({ own }) => own).reduce(Duration.max, Duration.zero)
  }
}
