/** The same function, which makes what belongs to an object once, and keeps it for as long as the object lives. */
export const memoized = <K extends object, V extends {}>(make: (key: K) => V): (key: K) => V => {
  const made = new WeakMap<K, V>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined) return known
    const value = make(key)
    made.set(key, value)
    return value
  }
}
