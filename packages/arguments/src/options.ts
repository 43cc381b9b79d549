/** The options of this package: which text it accepts, which values are secret, and its limits. */
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

export interface Options {
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

/** Returns all limits, with defaults. Throws a `RangeError` for a limit that is out of range. */
export const limitsOf = ({ limits }: Pick<Options, "limits">): Required<Limits> => {
  if (limits === undefined) return defaults
  const all = { ...defaults, ...limits }
  for (const [name, limit] of Object.entries(all)) {
    const max = name === "depth" ? deepest : Number.MAX_SAFE_INTEGER
    if (!Number.isInteger(limit) || limit < 1 || limit > max) {
      throw new RangeError(`limits.${name} has to be a whole number from 1 to ${max}, and is ${limit}.`)
    }
  }
  return all
}

/** The default limits. */
export const defaults: Required<Limits> = { bytes: 1_048_576, depth: 128, issues: 20 }

/** The deepest nesting at which values are examined. */
export const deepest = 256
