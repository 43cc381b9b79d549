/**
 * Findings by field, those of one field over the items of an array together: sixty items that are wrong in the same way are one thing to say.
 */
import type { Path } from "../json.ts"
import { pathOf, type Place } from "../value.ts"
import { ByPath } from "./byPath.ts"
import { Fields } from "./field.ts"

/** What was found of one field: all of it, but of an array's items the first few, and how many there are. */
export interface Group<A> {
  /** Where the first was found. */
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

/** So many of a group are kept. */
const mostAlike = 3

/** Gathers what is found of at most `limit` fields, one finding a place. */
export class Gathered<A> {
  readonly #limit: number
  readonly #groups: Array<Gathering<A>> = []
  readonly #fields = new Fields<Gathering<A>>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** How many fields there are findings of. */
  get count(): number {
    return this.#groups.length
  }

  add(place: Place | undefined, make: () => A): void {
    const field = this.#fields.at(place)
    const known = field.value
    if (known === undefined) {
      if (this.count === this.#limit) return
      field.value = { place, last: place, first: [make()], count: 1 }
      this.#groups.push(field.value)
      // What is found of one place is found in a row, as far as its group goes.
    } else if (!isSame(known.last, place)) {
      known.last = place
      known.count++
      if (known.first.length < mostAlike) known.first.push(make())
    }
  }

  /** Is nothing more to be learnt below this place? Items are counted to the end. */
  isFull(place: Place | undefined): boolean {
    return this.count === this.#limit && !isInList(place)
  }

  groups(): ReadonlyArray<Group<A>> {
    return this.#groups.map(({ count, first, place }) => ({ path: pathOf(place), first, count }))
  }
}

const isInList = (place: Place | undefined): boolean =>
  place !== undefined && (typeof place.key === "number" || isInList(place.above))

const isSame = (one: Place | undefined, other: Place | undefined): boolean =>
  one === other ||
  one !== undefined && other !== undefined && one.key === other.key && isSame(one.above, other.above)

/** The findings of all groups, at most `limit`: of those that have more, the first few and a word for the others. */
export const listed = <A>(
  groups: ReadonlyArray<Group<A>>,
  limit: number,
  others: (group: Group<A>, count: number) => A
): ReadonlyArray<A> => {
  const all = (most: number) =>
    groups.flatMap((group) =>
      group.count <= most ? group.first : [...group.first.slice(0, most), others(group, group.count - most)]
    )
  for (let most = mostAlike; most > 1; most--) {
    const findings = all(most)
    if (findings.length <= limit) return findings
  }
  return all(1).slice(0, limit)
}

/** Does a path lead into what was found, or to what it is a part of? Of a group that is counted, into any of it. */
export const within = (groups: ReadonlyArray<Group<{ readonly path: Path }>>): (path: Path) => boolean => {
  const counted = new ByPath<true>(true)
  for (const { count, first, path } of groups) if (count > first.length) counted.set(path, true)
  const paths = groups.flatMap(({ first }) => first.map(({ path }) => path))
  return (path) => counted.hasAlong(path) || paths.some((known) => isAlong(known, path))
}

// Is one path a part of the other?
const isAlong = (first: Path, second: Path): boolean =>
  first.slice(0, second.length).every((key, index) => key === second[index])
