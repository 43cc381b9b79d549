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

/** Returns the value of a key in a map. If there is none, makes it and inserts it. (`Map.prototype.getOrInsertComputed`) */
export const getOrInsert = <K, V extends {}>(map: Map<K, V>, key: K, make: () => V): V => {
  const existing = map.get(key)
  if (existing !== undefined) return existing
  const made = make()
  map.set(key, made)
  return made
}

export const newSet = <A>(): Set<A> => new Set()

export const newMap = <K, V>(): Map<K, V> => new Map()
