/** The options of this package: accepted texts, secrets and limits. */
import type { Path } from "./json.ts"

/** Limits on texts, nesting and messages. */
export interface Limits {
  /** The longest text, in bytes of UTF-8. Default: 1,048,576. */
  readonly bytes?: number
  /** The deepest nesting of objects and arrays. Default: 128; at most 256. */
  readonly depth?: number
  /** The most issues in one refusal, and the most notes on repairs. Default: 20. */
  readonly issues?: number
}

export interface Options {
  /**
   * Accepts words around the object, as in `Here you are: {"a":1}`. Default: `false`. Leave it off for a
   * tool that changes anything: "I will not call it with {…}" is prose, too.
   */
  readonly prose?: boolean
  /**
   * The paths of secrets. A secret is never quoted, nor is a value that contains it. `"*"` stands for any
   * key and any index. A field that the schema marks as `writeOnly`, or with the format `password`, is
   * secret anyway.
   */
  readonly secrets?: ReadonlyArray<Path>
  readonly limits?: Limits
}

/** Returns all limits, with defaults. Throws a `RangeError` for a limit that is out of range. */
export const limitsOf = ({ limits }: Pick<Options, "limits">): Required<Limits> => {
  if (limits === undefined) return defaults
  const all = { ...defaults, ...limits }
  for (const [name, limit] of Object.entries(all)) {
    const most = name === "depth" ? deepest : Number.MAX_SAFE_INTEGER
    if (!Number.isInteger(limit) || limit < 1 || limit > most) {
      throw new RangeError(`limits.${name} has to be a whole number from 1 to ${most}, and is ${limit}.`)
    }
  }
  return all
}

/** The default limits. */
export const defaults: Required<Limits> = { bytes: 1_048_576, depth: 128, issues: 20 }

/** The deepest nesting of a value that is examined. */
export const deepest = 256
