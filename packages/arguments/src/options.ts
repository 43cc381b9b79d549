/**
 * What is accepted, what is never quoted, and how much is looked at.
 */
import type { Path } from "./json.ts"

/** How much is looked at. */
export interface Limits {
  /** The longest text, in bytes of UTF-8. Default: 1,048,576. */
  readonly bytes?: number
  /** The deepest nesting of objects and arrays. Default: 128; at most 256. */
  readonly depth?: number
  /** The most issues of one refusal, and the most notes on repairs. Default: 20. */
  readonly issues?: number
}

export interface Options {
  /**
   * Are words around the object passed over, as in `Here you are: {"a":1}`? Default: `false`. Leave it off for a tool that changes anything: "I will
   * not call it with {…}" is prose, too.
   */
  readonly prose?: boolean
  /**
   * The paths of secrets, which are never quoted, nor is what holds them. `"*"` stands for any key and any index. What a schema marks as `writeOnly` or
   * with the format `password` is one anyway.
   */
  readonly secrets?: ReadonlyArray<Path>
  readonly limits?: Limits
}

/** All limits, checked. Throws a `RangeError` for one that is none. */
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

/** The limits that hold where nothing else is said. */
export const defaults: Required<Limits> = { bytes: 1_048_576, depth: 128, issues: 20 }

/** How deep a value is looked at. */
export const deepest = 256
