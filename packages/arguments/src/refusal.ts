/** Refusals of an argument text or of a value, as data. `message` puts a refusal into words. */
import type { Path } from "./json.ts"
import type { FaultKind } from "./text/fault.ts"

/** The refusal of an argument text that cannot be read as one JSON object. */
export interface Unreadable {
  readonly kind: FaultKind
  /** The 0-based offset of the fault in the text, in UTF-16 code units. */
  readonly offset: number
  /** The line of the fault, 1-based. */
  readonly line: number
  /** The column of the fault, 1-based, in UTF-16 code units. */
  readonly column: number
  /** An excerpt of the text around the fault; absent if the text may contain a secret. */
  readonly excerpt?: string
  /** The expectation at the offset. */
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
  | "validator"

/** A problem with one field. */
export interface Issue {
  /**
   * The kind of issue:
   *
   * | kind                         | meaning                                                                |
   * | ---------------------------- | ---------------------------------------------------------------------- |
   * | `missing_key`, `unknown_key` | an object lacks a required key, or has a key that is not allowed       |
   * | `type`                       | the value has the wrong type                                           |
   * | `choice`                     | the value is not one of the choices                                    |
   * | `format`                     | the string lacks the required format, or is a date that does not exist |
   * | `bound`                      | the value is too long, too large, or does not match the pattern        |
   * | `form`                       | the value fits no form of a union, or more than one                    |
   * | `complex`                    | the value is too deep, or has too many forms, to be checked completely |
   * | `validator`                  | the schema's own library refused the value; `expected` has its words   |
   * | `other`                      | another validator reported the issue                                   |
   */
  readonly kind: IssueKind
  readonly path: Path
  readonly expected: string
  /** An excerpt of the value that was sent. For a secret, only the kind of value. */
  readonly actual: string
  /** Advice on what to write, in one sentence; absent if `expected` says enough. */
  readonly advice?: string
  /**
   * The number of items that have this issue, if `path` is the path of their array. A few other items with
   * the same mistake have issues of their own.
   */
  readonly more?: number
}

/** The refusal of a value that does not fit its schema. */
export interface Misfit {
  readonly kind: "misfit"
  /** At least one issue, and at most `limits.issues` (default: 20). Missing keys come before unknown keys. */
  readonly issues: ReadonlyArray<Issue>
  /** The keys or choices that may have been meant, nearest first; empty if there are none. */
  readonly alternatives: ReadonlyArray<string>
  /** The keys that the object at `path` allows, if one of its keys is missing or unknown. */
  readonly keys?: {
    readonly path: Path
    readonly names: ReadonlyArray<string>
    /** The patterns of further keys, if the object allows keys by their pattern. */
    readonly patterns?: ReadonlyArray<string>
  }
}

export type Refusal = Unreadable | Misfit
