/** The options of this package: which text it accepts, which formats it checks, which values are secret, and its limits. */
import type { Path } from "./json.ts"

/** Limits on the length of the text, on nesting and on messages. */
export interface Limits {
  /** The longest text that is read, in bytes of UTF-8. Default: 1,048,576. */
  readonly bytes?: number
  /** The deepest nesting of objects and arrays. Default: 128; at most 256. */
  readonly depth?: number
  /** The most issues in one refusal, and the most notes on repairs. Default: 20. */
  readonly issues?: number
}

/** Tests for formats, by their name in the schema. */
export interface Formats {
  readonly [format: string]: (text: string) => boolean
}

export interface Options {
  /**
   * Tests for the formats of strings, such as `{ email: (text) => text.includes("@") }`. Default: only `date` and
   * `date-time` are checked. Reuse the object: what is derived from a schema is cached for it. A test must return `true` for
   * a text that has the format, and must not throw.
   */
  readonly formats?: Formats
  /**
   * Whether words around the object are accepted, as in `Here you are: {"a":1}`. Default: `false`. Leave this
   * off for a tool that acts (has side effects): the words may be "I will not call it with {…}".
   */
  readonly prose?: boolean
  /**
   * The paths of secrets. Default: none. A secret is never quoted, nor is a value that contains a secret.
   * `"*"` stands for any key or index. Fields that the schema marks as `writeOnly`, or with the format
   * `password`, are always secret.
   */
  readonly secrets?: ReadonlyArray<Path>
  readonly limits?: Limits
}

/** No formats of the user's. */
export const noFormats: Formats = {}

/** The options that are used where none are given. */
export const noOptions: Options = {}

/** The default limits. */
export const defaults: Required<Limits> = { bytes: 1_048_576, depth: 128, issues: 20 }

/** The deepest nesting at which values are examined. */
export const deepest = 256
