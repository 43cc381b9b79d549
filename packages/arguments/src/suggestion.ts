/**
 * Nearest names: the names that a model most likely meant by a name that does not exist.
 *
 * The measure is the Damerau-Levenshtein distance (optimal string alignment: insert, delete, replace, swap
 * neighbours). Names are compared in lower case and without `_`, `-` and spaces, so `getWeather` equals
 * `get_weather`. If one name contains the other, and both have at least three letters, their distance is 1.
 *
 * A suggestion is only shown. This library never acts on a suggestion.
 */

/**
 * Returns all candidates, nearest first. Equal distances keep the order of the candidates.
 *
 * When to use: to list the valid choices in a failure's `alternatives`.
 *
 * @example
 * ```ts
 * import { nearest } from "@fallible/arguments/internal"
 *
 * nearest("get_wether", ["get_time", "get_weather"]) // => ["get_weather", "get_time"]
 * ```
 *
 * @param limit the most candidates to return (default: all)
 */
export const nearest = (
  name: string,
  candidates: Iterable<string>,
  limit = Number.POSITIVE_INFINITY
): ReadonlyArray<string> => {
  const written = fold(name)
  return Array.from(candidates, (candidate) => ({ candidate, distance: distance(written, fold(candidate)) }))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, limit)
    .map(({ candidate }) => candidate)
}

/**
 * Returns the one candidate that is probably meant, or `undefined` if none is near enough. The candidate's
 * distance is at most a third of the longer name's length, and no other candidate is as near.
 *
 * @example
 * ```ts
 * import { didYouMean } from "@fallible/arguments/internal"
 *
 * didYouMean("get_wether", ["get_time", "get_weather"]) // => "get_weather"
 * didYouMean("launch", ["get_time", "get_weather"]) // => undefined
 * ```
 */
export const didYouMean = (name: string, candidates: Iterable<string>): string | undefined => {
  const [first, second] = nearest(name, candidates, 2)
  if (first === undefined) return undefined
  const measure = (candidate: string) => distance(fold(name), fold(candidate))
  const nearEnough = measure(first) <= Math.max(fold(name).length, fold(first).length) / 3
  return nearEnough && (second === undefined || measure(first) < measure(second)) ? first : undefined
}

/**
 * Returns the one candidate that a name misspells: one letter is missing, surplus, wrong or swapped with its
 * neighbour, in a word of four letters or more, and not the first. `lastName` is no misspelling of `firstName`, nor
 * `include` of `exclude`.
 */
export const misspelt = (name: string, candidates: Iterable<string>): string | undefined => {
  const [first, second] = Array.from(candidates).filter((candidate) => isMisspelt(name, candidate))
  return second === undefined ? first : undefined
}

const isMisspelt = (name: string, candidate: string): boolean => {
  if (name.charAt(0).toLowerCase() !== candidate.charAt(0).toLowerCase()) return false
  const [written, meant] = [fold(name), fold(candidate)]
  return Math.min(written.length, meant.length) >= 4 && Math.abs(written.length - meant.length) < 2 &&
    edits(written, meant) === 1 &&
    written.replace(/\D/g, "") === meant.replace(/\D/g, "")
}

// Only the first characters of a name are compared: a hostile name may be a megabyte long.
const longest = 64

const fold = (name: string): string => name.slice(0, longest).toLowerCase().replace(/[_\-\s]/g, "")

const distance = (a: string, b: string): number => {
  if (a === b) return 0
  if (Math.min(a.length, b.length) >= 3 && (a.includes(b) || b.includes(a))) return 1
  // Names whose lengths differ this much are unrelated, so their exact distance does not matter.
  const apart = Math.abs(a.length - b.length)
  return apart > Math.max(a.length, b.length) / 2 ? apart : edits(a, b)
}

// Two rows before the current one are enough. Names are short, so the rows are reused.
const rows = [0, 1, 2].map(() => new Uint8Array(longest + 1))

const edits = (a: string, b: string): number => {
  let [beforeLast, last, row] = rows as [Uint8Array, Uint8Array, Uint8Array]
  for (let j = 0; j <= b.length; j++) last[j] = j
  for (let i = 1; i <= a.length; i++) {
    row[0] = i
    const unit = a.charCodeAt(i - 1)
    for (let j = 1; j <= b.length; j++) {
      const replaced = last[j - 1]! + (unit === b.charCodeAt(j - 1) ? 0 : 1)
      let best = Math.min(replaced, last[j]! + 1, row[j - 1]! + 1)
      if (i > 1 && j > 1 && unit === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === b.charCodeAt(j - 1)) {
        best = Math.min(best, beforeLast[j - 2]! + 1)
      }
      row[j] = best
    }
    const free = beforeLast
    beforeLast = last
    last = row
    row = free
  }
  return last[b.length]!
}
