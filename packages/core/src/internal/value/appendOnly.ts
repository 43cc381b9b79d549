/**
 * An immutable sequence whose append costs the same at any length.
 *
 * Each instance is a view: the first `length` items of a shared array. Appending to the newest view pushes to
 * that array. Appending to an older view copies first, so no view ever changes. A loop that only appends,
 * such as an agent's, never copies.
 */
export class AppendOnly<out A> implements Iterable<A> {
  readonly length: number
  readonly #items: Array<A>

  private constructor(items: Array<A>, length: number) {
    this.#items = items
    this.length = length
  }

  static from<A>(items: Iterable<A>): AppendOnly<A> {
    const array = Array.from(items)
    return new AppendOnly(array, array.length)
  }

  append<B>(this: AppendOnly<B>, items: ReadonlyArray<B>): AppendOnly<B> {
    // An empty sequence may be a shared constant, so appending to it always copies.
    const isNewest = this.length > 0 && this.#items.length === this.length
    const target = isNewest ? this.#items : this.#items.slice(0, this.length)
    for (const item of items) target.push(item)
    return new AppendOnly(target, this.length + items.length)
  }

  /** The same object for all views of one array: of two such views, the shorter one is the beginning of the longer one. */
  get lineage(): object {
    return this.#items
  }

  at(index: number): A | undefined {
    return index < 0 || index >= this.length ? undefined : this.#items[index]
  }

  /** Returns the items from an index on. */
  from(index: number): Array<A> {
    return this.#items.slice(index, this.length)
  }

  toArray(): Array<A> {
    return this.#items.slice(0, this.length)
  }

  *[Symbol.iterator](): IterableIterator<A> {
    for (let i = 0; i < this.length; i++) yield this.#items[i]!
  }
}
