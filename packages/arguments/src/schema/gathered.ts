/**
 * Groups findings by field. All items of an array share their fields, because sixty items with the same
 * mistake need only one message.
 */
import { isNumber, type Path } from "../json.ts"
import { pathOf, type Place } from "../value.ts"
import { ByPath } from "./byPath.ts"
import { Fields } from "./field.ts"

/** The findings about one field: the first few, and how many there are in all. */
export interface Group<A> {
  /** The place of the first finding. */
  readonly path: Path
  readonly first: ReadonlyArray<A>
  readonly count: number
}

interface Gathering<A> {
  readonly place: Place | undefined
  readonly first: Array<A>
  last: Place | undefined
  count: number
}

/** How many findings of a group are kept. */
const maxAlike = 3

/** Gathers findings about at most `limit` fields, and only one finding for each place. */
export class Gathered<A> {
  readonly #limit: number
  readonly #groups: Array<Gathering<A>> = []
  readonly #fields = new Fields<Gathering<A>>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** The number of fields with findings. */
  get size(): number {
    return this.#groups.length
  }

  /** Counts a finding about a place. Returns the list to add it to, if it is to be kept. */
  count(place: Place | undefined): Array<A> | undefined {
    const field = this.#fields.at(place)
    const group = field.value
    if (!group) {
      if (this.size === this.#limit) return undefined
      field.value = { place, last: place, first: [], count: 1 }
      this.#groups.push(field.value)
      return field.value.first
    }
    // Within a group, the findings about one place come in a row. Only the first of them is kept.
    if (isSamePlace(group.last, place)) return undefined
    group.last = place
    group.count++
    return group.first.length < maxAlike ? group.first : undefined
  }

  /**
   * True if no finding about this place or its parts can be added. Always false inside an array, because all
   * items are counted.
   */
  isFull(place: Place | undefined): boolean {
    return this.size === this.#limit && !isInList(place)
  }

  groups(): ReadonlyArray<Group<A>> {
    return this.#groups.map(({ count, first, place }) => ({ path: pathOf(place), first, count }))
  }
}

const isInList = (place: Place | undefined): boolean =>
  place !== undefined && (isNumber(place.key) || isInList(place.above))

const isSamePlace = (one: Place | undefined, other: Place | undefined): boolean =>
  one === other ||
  one !== undefined && other !== undefined && one.key === other.key && isSamePlace(one.above, other.above)

/**
 * Returns the findings of all groups, at most `limit`. For a large group, returns its first few findings, and
 * one finding that stands for all others.
 */
export const listFindings = <A>(
  groups: ReadonlyArray<Group<A>>,
  limit: number,
  others: (group: Group<A>, count: number) => A
): ReadonlyArray<A> => {
  const all = (maxEach: number) =>
    groups.flatMap((group) =>
      group.count <= maxEach ? group.first : [...group.first.slice(0, maxEach), others(group, group.count - maxEach)]
    )
  for (let maxEach = maxAlike; maxEach > 1; maxEach--) {
    const findings = all(maxEach)
    if (findings.length <= limit) return findings
  }
  return all(1).slice(0, limit)
}

/**
 * Returns a test for paths that findings already cover. A finding covers its own path, all paths that begin
 * with that path, and all beginnings of that path. If a group has more findings than are kept, all items of
 * the array are covered.
 */
export const within = (groups: ReadonlyArray<Group<{ readonly path: Path }>>): (path: Path) => boolean => {
  const counted = new ByPath<true>(true)
  for (const { count, first, path } of groups) if (count > first.length) counted.set(path, true)
  const paths = groups.flatMap(({ first }) => first.map(({ path }) => path))
  return (path) => counted.hasAlong(path) || paths.some((other) => isPrefixEitherWay(other, path))
}

// True if one path is the beginning of the other.
const isPrefixEitherWay = (first: Path, second: Path): boolean =>
  first.slice(0, second.length).every((key, index) => key === second[index])
