import { isNumber } from "../json.ts"
import { getOrInsert, newMap } from "../memo.ts"
import type { Place } from "../value.ts"

/**
 * Values by field. A *field* is a place in a value, but all items of an array share one field. A field is
 * found through the field of its container, so a lookup costs the same for a long path.
 */
export class Fields<A> {
  value: A | undefined = undefined
  #inner: Map<string | null, Fields<A>> | undefined = undefined
  // The fields of containers, by place. All fields of a value share this map.
  readonly #byPlace: Map<Place, Fields<A>>

  constructor(byPlace = newMap<Place, Fields<A>>()) {
    this.#byPlace = byPlace
  }

  /** Returns the field of a place. */
  at(place: Place | undefined): Fields<A> {
    if (!place) return this
    const { above, key } = place
    return (above ? this.#fieldOfContainer(above) : this).#part(isNumber(key) ? null : key)
  }

  // The field of a container is remembered, because the container may have many items.
  #fieldOfContainer(place: Place): Fields<A> {
    return getOrInsert(this.#byPlace, place, () => this.at(place))
  }

  #part(key: string | null): Fields<A> {
    return getOrInsert(this.#inner ??= newMap(), key, () => new Fields<A>(this.#byPlace))
  }
}
