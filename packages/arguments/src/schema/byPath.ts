import type { Path } from "../json.ts"

/**
 * What is known by path. Each key is looked up by itself: the text of a whole path costs as much as its longest key, each time.
 */
export class ByPath<A> {
  private readonly areItemsAlike: boolean
  private value: A | undefined = undefined
  private inner: Map<string | number | null, ByPath<A>> | undefined = undefined

  /** @param areItemsAlike is `["items", 7, "price"]` the same as `["items", 0, "price"]`? */
  constructor(areItemsAlike = false) {
    this.areItemsAlike = areItemsAlike
  }

  get(path: Path, from = 0): A | undefined {
    return from === path.length ? this.value : this.inner?.get(this.idAt(path, from))?.get(path, from + 1)
  }

  set(path: Path, value: A, from = 0): void {
    if (from === path.length) {
      this.value = value
      return
    }
    const id = this.idAt(path, from)
    const known = this.inner?.get(id)
    const inner = known ?? new ByPath<A>(this.areItemsAlike)
    if (known === undefined) this.inner = (this.inner ?? new Map()).set(id, inner)
    inner.set(path, value, from + 1)
  }

  /** Is a path known, or one that it leads through? */
  hasAlong(path: Path, from = 0): boolean {
    return this.value !== undefined ||
      from < path.length && this.inner?.get(this.idAt(path, from))?.hasAlong(path, from + 1) === true
  }

  private idAt(path: Path, index: number): string | number | null {
    const key = path[index]!
    return this.areItemsAlike && typeof key === "number" ? null : key
  }
}
