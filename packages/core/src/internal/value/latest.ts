/** A map that keeps only the entries that were set last. */
export class Latest<Key, Value> {
  readonly #entries = new Map<Key, Value>()
  readonly #most: number

  /** @param most how many entries are kept */
  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)
  }

  /** Sets an entry, which is then the latest. */
  set(key: Key, value: Value): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#most) return
    const [oldest] = this.#entries.keys()
    if (oldest !== undefined) this.#entries.delete(oldest)
  }

  delete(key: Key): void {
    this.#entries.delete(key)
  }
}
