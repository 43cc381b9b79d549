import { isNumber, type Path } from "../json.ts"

/**
 * A map whose keys are paths. A path is looked up step by step, because joining its steps into one string
 * would cost its whole length each time.
 */
export class ByPath<A> {
  private readonly areItemsAlike: boolean
  private value: A | undefined = undefined
  private inner: Map<string | number | null, ByPath<A>> | undefined = undefined

  /** @param areItemsAlike whether `["items", 7, "price"]` is the same path as `["items", 0, "price"]` */
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
    const existing = this.inner?.get(id)
    const inner = existing ?? new ByPath<A>(this.areItemsAlike)
    if (!existing) this.inner = (this.inner ?? new Map()).set(id, inner)
    inner.set(path, value, from + 1)
  }

  /** True if the path itself, or one of its beginnings, has a value. */
  hasAlong(path: Path, from = 0): boolean {
    return this.value !== undefined ||
      from < path.length && this.inner?.get(this.idAt(path, from))?.hasAlong(path, from + 1) === true
  }

  private idAt(path: Path, index: number): string | number | null {
    const key = path[index]!
    return this.areItemsAlike && isNumber(key) ? null : key
  }
}
