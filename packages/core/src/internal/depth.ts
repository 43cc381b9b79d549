/** How deeply a result may be nested: far less than what JSON and journals can write without running out of stack. */
export const mostDepth = 512

/** Is a value nested more deeply than that? It goes level by level, so that no depth takes it down. */
export const isTooDeep = (value: unknown): boolean => {
  if (!isObject(value)) return false
  let level: ReadonlyArray<object> = objectsIn(value)
  for (let depth = 1; level.length > 0; depth++) {
    if (depth === mostDepth) return true
    const next = level.flatMap(objectsIn)
    // What is shared is looked at once, or a few values that hold each other twice would be a million.
    level = next.length > 1000 ? Array.from(new Set(next)) : next
  }
  return false
}

const none: ReadonlyArray<object> = []

// Most values hold no others, and cost nothing.
const objectsIn = (value: object): ReadonlyArray<object> => {
  let found: Array<object> | undefined
  const members: Iterable<unknown> = Array.isArray(value) ? value : Object.values(value)
  for (const member of members) if (isObject(member)) (found ??= []).push(member)
  return found ?? none
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null
