/** How deeply a result may be nested: far less than what JSON and journals can write without running out of stack. */
export const mostDepth = 512

/** Is a value nested more deeply than that? It goes level by level, so that no depth takes it down. */
export const isTooDeep = (value: unknown): boolean => {
  let level = objectsIn([value])
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === mostDepth) return true
    level = inside(level)
  }
  return false
}

const inside = (level: ReadonlyArray<object>): ReadonlyArray<object> => {
  const found: Array<object> = []
  for (const value of level) found.push(...objectsIn(Array.isArray(value) ? value : Object.values(value)))
  // What is shared is looked at once, or a few values that hold each other twice would be a million.
  return found.length > 1000 ? Array.from(new Set(found)) : found
}

const none: ReadonlyArray<object> = []

// Most have none.
const objectsIn = (values: ReadonlyArray<unknown>): ReadonlyArray<object> => {
  let found: Array<object> | undefined
  for (const value of values) if (typeof value === "object" && value !== null) (found ??= []).push(value)
  return found ?? none
}
