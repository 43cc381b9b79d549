import type { Certainty } from "../../Certainty.ts"

/**
 * What is known of something that was done: two facts, since that one thing has taken effect says nothing about another that is in doubt.
 */
export interface Done {
  readonly hasActed: boolean
  readonly isInDoubt: boolean
}

/** Nothing has taken effect, for certain. */
export const nothing: Done = { hasActed: false, isInDoubt: false }
const acted: Done = { hasActed: true, isInDoubt: false }
const doubted: Done = { hasActed: false, isInDoubt: true }
const both: Done = { hasActed: true, isInDoubt: true }

const done = (hasActed: boolean, isInDoubt: boolean): Done =>
  hasActed ? isInDoubt ? both : acted : isInDoubt ? doubted : nothing

/** @param hasActed has anything taken effect, though it is in doubt whether all of it has? */
export const doneOf = (certainty: Certainty, hasActed = false): Done =>
  done(hasActed || certainty === "executed", certainty === "unknown")

/** Both of two things. */
export const and = (one: Done, other: Done): Done => {
  if (one === nothing || one === other) return other
  if (other === nothing) return one
  return done(one.hasActed || other.hasActed, one.isInDoubt || other.isInDoubt)
}

/** The same, without any doubt. */
export const certain = (one: Done): Done => done(one.hasActed, false)

/** The same, in doubt. */
export const inDoubt = (one: Done): Done => done(one.hasActed, true)

export const certaintyOf = ({ hasActed, isInDoubt }: Done): Certainty =>
  isInDoubt ? "unknown" : hasActed ? "executed" : "not_executed"
