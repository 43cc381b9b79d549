/**
 * Returns a function that computes its result once for each object, and keeps that result for as long as the
 * object lives.
 */
export const memoize = <K extends object, V extends {}>(make: (key: K) => V): (key: K) => V => {
  const values = new WeakMap<K, V>()
  return (key) => {
    const cached = values.get(key)
    if (cached !== undefined) return cached
    const value = make(key)
    values.set(key, value)
    return value
  }
}
