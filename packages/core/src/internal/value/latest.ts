/** A map that keeps only the entries that were set last. */
export class Latest<Key, Value> {
  // Most of these maps stay empty, and an empty `Map` is large.
  #entries: Map<Key, Value> | undefined = undefined
  readonly #max: number

  /** @param max how many entries are kept */
  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#entries?.size ?? 0
  }

  get(key: Key): Value | undefined {
    return this.#entries?.get(key)
  }

  /** Sets an entry, which is then the latest. */
  set(key: Key, value: Value): void {
    const entries = this.#entries ??= new Map()
    entries.delete(key)
    entries.set(key, value)
    if (entries.size <= this.#max) return
    const [oldest] = entries.keys()
    if (oldest !== undefined) entries.delete(oldest)
  }

  delete(key: Key): void {
    this.#entries?.delete(key)
  }
}
