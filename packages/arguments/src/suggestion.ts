/**
 * Nearest names: what a model most likely meant by a name that does not exist.
 *
 * The measure is the Damerau-Levenshtein distance (optimal string alignment: insert, delete,
 * replace, swap neighbours) over the names in lower case without `_`, `-` and spaces, so that
 * `getWeather` is as good as `get_weather`. A name that contains the other, of three letters or more, is
 * as near as one with a single mistake.
 *
 * A suggestion is for a reader; nothing in this library ever acts on one by itself.
 */

/**
 * All candidates, nearest first. Equal distances keep the order of the candidates.
 *
 * When to use: to list the valid choices in a failure's `alternatives`.
 *
 * @example
 * ```ts
 * import { nearest } from "@fallible/arguments"
 *
 * nearest("get_wether", ["get_time", "get_weather"]) // => ["get_weather", "get_time"]
 * ```
 *
 * @param limit how many to return at the most (default: all)
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
 * The one candidate that is probably meant, or `undefined` where none is near enough: its distance is at
 * most a third of the longer name's length, and no second candidate is as near.
 *
 * @example
 * ```ts
 * import { didYouMean } from "@fallible/arguments"
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

// A name is compared by its first characters only: a hostile one may be a megabyte long.
const longest = 64

const fold = (name: string): string => name.slice(0, longest).toLowerCase().replace(/[_\-\s]/g, "")

const distance = (a: string, b: string): number => {
  if (a === b) return 0
  if (Math.min(a.length, b.length) >= 3 && (a.includes(b) || b.includes(a))) return 1
  // So far apart nothing is meant, and how far does not matter.
  const apart = Math.abs(a.length - b.length)
  if (apart > Math.max(a.length, b.length) / 2) return apart
  let beforeLast: Array<number> = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      let best = Math.min(replaced, last[j]! + 1, row[j - 1]! + 1)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, beforeLast[j - 2]! + 1)
      }
      row.push(best)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
