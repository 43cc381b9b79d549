import type { Certainty } from "../../Certainty.ts"

/**
 * The known effects of some work, such as a call. Two facts are needed: one effect may be certain while
 * another is in doubt.
 */
export interface Done {
  readonly hasActed: boolean
  readonly isInDoubt: boolean
}

/** The effects of work that certainly had none. */
export const nothing: Done = { hasActed: false, isInDoubt: false }
const acted: Done = { hasActed: true, isInDoubt: false }
const doubted: Done = { hasActed: false, isInDoubt: true }
const both: Done = { hasActed: true, isInDoubt: true }

const done = (hasActed: boolean, isInDoubt: boolean): Done =>
  hasActed ? isInDoubt ? both : acted : isInDoubt ? doubted : nothing

/**
 * Converts a certainty to a {@link Done}.
 *
 * @param hasActed whether a part has certainly taken effect; the rest may be in doubt; default: `false`
 */
export const doneOf = (certainty: Certainty, hasActed = false): Done =>
  done(hasActed || certainty === "executed", certainty === "unknown")

/** Combines the effects of two pieces of work. */
export const and = (one: Done, other: Done): Done => {
  if (one === nothing || one === other) return other
  if (other === nothing) return one
  return done(one.hasActed || other.hasActed, one.isInDoubt || other.isInDoubt)
}

/** Removes any doubt. */
export const certain = (one: Done): Done => done(one.hasActed, false)

/** Adds doubt. */
export const inDoubt = (one: Done): Done => done(one.hasActed, true)

export const certaintyOf = ({ hasActed, isInDoubt }: Done): Certainty =>
  isInDoubt ? "unknown" : hasActed ? "executed" : "not_executed"
