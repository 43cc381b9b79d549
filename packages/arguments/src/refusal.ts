/** Why a text or a value was refused, as data. `message` puts it into words. */
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
  /** The text around the place; absent if it may contain a secret. */
  readonly excerpt?: string
  /** The expectation at this place. */
  readonly expected: string
  /** Advice, in one sentence; absent if `expected` says enough. */
  readonly advice?: string
}

/** The kinds of issues. */
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

/** A problem with one field. */
export interface Issue {
  /**
   * The kind of issue:
   *
   * | kind                         | meaning                                                               |
   * | ---------------------------- | --------------------------------------------------------------------- |
   * | `missing_key`, `unknown_key` | an object lacks a key, or has one that it may not have                |
   * | `type`                       | another kind of value                                                 |
   * | `choice`                     | not one of the choices                                                |
   * | `format`                     | a text without the required format, such as a day that does not exist |
   * | `bound`                      | too long, too large, or not matching the pattern                      |
   * | `form`                       | none of the forms of a union, or more than one                        |
   * | `complex`                    | too deep, or with too many forms, to be checked completely            |
   * | `other`                      | reported by another validator                                         |
   */
  readonly kind: IssueKind
  readonly path: Path
  readonly expected: string
  /** An excerpt of what was sent; of a secret, only the kind of value. */
  readonly actual: string
  /** Advice on what to write, in one sentence; absent if `expected` says enough. */
  readonly advice?: string
  /** How many more items of the array at `path` have this issue. The other items have issues of their own. */
  readonly more?: number
}

/** A value that does not fit its schema. */
export interface Misfit {
  readonly kind: "misfit"
  /** At least one, and at most as many as the limit allows. Missing keys come before unknown ones. */
  readonly issues: ReadonlyArray<Issue>
  /** The keys or choices that may have been meant, nearest first; empty if there are none. */
  readonly alternatives: ReadonlyArray<string>
  /** The keys that an object may have, if one of its keys is missing or unknown. */
  readonly keys?: { readonly path: Path; readonly names: ReadonlyArray<string> }
}

export type Refusal = Unreadable | Misfit
