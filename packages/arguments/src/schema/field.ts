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

  constructor(byPlace = new Map<Place, Fields<A>>()) {
    this.#byPlace = byPlace
  }

  /** Returns the field of a place. */
  at(place: Place | undefined): Fields<A> {
    if (place === undefined) return this
    const { above, key } = place
    return (above === undefined ? this : this.#fieldOfContainer(above)).#part(typeof key === "number" ? null : key)
  }

  // The field of a container is remembered, because the container may have many items.
  #fieldOfContainer(place: Place): Fields<A> {
    const field = this.#byPlace.get(place) ?? this.at(place)
    this.#byPlace.set(place, field)
    return field
  }

  #part(key: string | null): Fields<A> {
    const existing = this.#inner?.get(key)
    if (existing !== undefined) return existing
    const part = new Fields<A>(this.#byPlace)
    this.#inner = (this.#inner ?? new Map<string | null, Fields<A>>()).set(key, part)
    return part
  }
}
