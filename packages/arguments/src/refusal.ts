/**
 * Why a text or a value was refused, as data. `message` says it in words.
 */
import type { Path } from "./json.ts"
import type { FaultKind } from "./text/fault.ts"

/** A text that cannot be read as one JSON object. */
export interface Unreadable {
  readonly kind: FaultKind
  /** In UTF-16 units from the start of the text. */
  readonly offset: number
  /** From 1. */
  readonly line: number
  /** From 1, in UTF-16 units. */
  readonly column: number
  /** The text around the place; absent where a secret may be in it. */
  readonly excerpt?: string
  /** What would have been right there. */
  readonly expected: string
  /** What to do about it, in a sentence; absent where `expected` says enough. */
  readonly advice?: string
}

/** What can be the matter with a value. */
export type IssueKind =
  | "bound"
  | "choice"
  | "complex"
  | "form"
  | "format"
  | "missing_key"
  | "other"
  | "type"
  | "unknown_key"

/** What is the matter with one field. */
export interface Issue {
  /**
   * `missing_key`, `unknown_key`: of an object. `type`: another kind of value. `choice`: none of the choices. `format`: a text that is no such text, as a
   * day that does not exist. `bound`: too long, too large, or not as a pattern has it. `form`: none of the forms of a union, or more than one. `complex`: so deep
   * or of so many forms that it was not looked at to its end. `other`: what another validator says.
   */
  readonly kind: IssueKind
  readonly path: Path
  readonly expected: string
  /** An excerpt of what came; of a secret, only what kind of value it is. */
  readonly actual: string
  /** What to write, in a sentence; absent where `expected` says enough. */
  readonly advice?: string
  /** How many more items of the array at `path` have the same; the others are listed by themselves. */
  readonly more?: number
}

/** A value that does not fit its schema. */
export interface Misfit {
  readonly kind: "misfit"
  /** At least one, at most as many as the limit allows. Missing keys stand before unknown ones. */
  readonly issues: ReadonlyArray<Issue>
  /** The keys or choices that could have been meant, nearest first; empty where there are none. */
  readonly alternatives: ReadonlyArray<string>
  /** The keys that an object may have, where one of its keys is missing or unknown. */
  readonly keys?: { readonly path: Path; readonly names: ReadonlyArray<string> }
}

export type Refusal = Unreadable | Misfit
