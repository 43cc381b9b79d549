/** Checks options: plain JavaScript and variables get past the compiler, and an option that is ignored changes nothing. */
import { entriesOf, isArray, isObject } from "./json.ts"
import { demandKnown, type Names } from "./knownOptions.ts"
import { deepest, defaults, type Limits, noOptions, type Options } from "./options.ts"
import { kind } from "./text/excerpt.ts"

const names: Names<Options> = { formats: true, limits: true, prose: true, secrets: true }
const limitNames: Names<Limits> = { bytes: true, depth: true, issues: true }

/** Throws a `TypeError` for an option that does not exist. */
export const checkOptions = (owner: string, options: Options): void => {
  if (options === noOptions) return
  demandKnown(owner, options, names)
  const { formats = {}, secrets = [] } = options
  for (const [format, test] of entriesOf(formats)) {
    if (typeof test !== "function") throw new TypeError(`formats.${format} is ${kind(test)}, not a function.`)
  }
  if (!secrets.every((path) => isArray(path))) {
    throw new TypeError("'secrets' is a list of paths, such as [[\"user\", \"pin\"]].")
  }
}

/** Returns all limits, with defaults. Throws for a limit that is out of range, or that does not exist. */
export const limitsOf = ({ limits }: Pick<Options, "limits">): Required<Limits> => {
  if (limits === undefined) return defaults
  if (!isObject(limits)) throw new TypeError(`'limits' is ${kind(limits)}, not an object.`)
  demandKnown("'limits'", limits, limitNames)
  const given = entriesOf(limits).filter(([, limit]) => limit !== undefined)
  const all = { ...defaults, ...Object.fromEntries(given) }
  for (const [name, limit] of entriesOf(all)) {
    const max = name === "depth" ? deepest : Number.MAX_SAFE_INTEGER
    if (!Number.isInteger(limit) || limit < 1 || limit > max) {
      throw new RangeError(`limits.${name} has to be a whole number from 1 to ${max}, and is ${limit}.`)
    }
  }
  return all
}
