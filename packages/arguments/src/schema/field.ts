import type { Place } from "../value.ts"

/** What is known by field of a value: the items of an array are alike. A place is looked for by what holds it, so that a long path costs nothing. */
export class Fields<A> {
  value: A | undefined = undefined
  #inner: Map<string | null, Fields<A>> | undefined = undefined
  // By place, and for the whole value.
  readonly #known: Map<Place, Fields<A>>

  constructor(known = new Map<Place, Fields<A>>()) {
    this.#known = known
  }

  /** The field of a place. */
  at(place: Place | undefined): Fields<A> {
    if (place === undefined) return this
    const { above, key } = place
    return (above === undefined ? this : this.#holding(above)).#part(typeof key === "number" ? null : key)
  }

  // What holds many items is looked for once.
  #holding(place: Place): Fields<A> {
    const known = this.#known.get(place) ?? this.at(place)
    this.#known.set(place, known)
    return known
  }

  #part(key: string | null): Fields<A> {
    const known = this.#inner?.get(key)
    if (known !== undefined) return known
    const part = new Fields<A>(this.#known)
    this.#inner = (this.#inner ?? new Map<string | null, Fields<A>>()).set(key, part)
    return part
  }
}
