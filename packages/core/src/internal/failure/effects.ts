/*
 * What some work did, as far as it is known. Two facts are needed, because one effect may be certain while another is
 * in doubt. Everything that the library records about effects has this one form. `Certainty` is how it is told.
 */
import * as Schema from "effect/Schema"
import type { Certainty } from "../../Certainty.ts"

/**
 * The effects of a call, or of a part of it: `"none"`, `"done"`, `"maybe"` (in doubt), or `"done_and_maybe"` (a part has
 * taken effect, and another part is in doubt).
 *
 * @category models
 * @since 0.1.0
 */
export type Effects = typeof Effects.Type

/**
 * The schema of {@link Effects}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Effects = Schema.Literals(["none", "done", "maybe", "done_and_maybe"])

/** The effects of two pieces of work. */
export const both = (one: Effects, other: Effects): Effects => {
  if (one === other || other === "none") return one
  return one === "none" ? other : "done_and_maybe"
}

/** The same effects without the doubt. */
export const withoutDoubt = (effects: Effects): Effects =>
  effects === "maybe" ? "none" : effects === "done_and_maybe" ? "done" : effects

export const isInDoubt = (effects: Effects): boolean => effects === "maybe" || effects === "done_and_maybe"

export const certaintyOf = (effects: Effects): Certainty =>
  effects === "none" ? "not_executed" : effects === "done" ? "executed" : "unknown"

export const effectsOf = (certainty: Certainty): Effects =>
  certainty === "not_executed" ? "none" : certainty === "executed" ? "done" : "maybe"
