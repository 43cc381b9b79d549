/** Finds what the model wrote for a part of a coerced value. */
import { hasKey, keysOf, type Path } from "../json.ts"
import { wrapperOf } from "../schema/mistakenKeys.ts"
import { foldName, isList, isRecord, own, type Record, type Value } from "../value.ts"

/**
 * Returns what the model wrote for the part at a path of the coerced value. Removed wrappers and renamed keys
 * are traced back. A part that was parsed from a string or put into an array is returned as coerced.
 */
export const writtenAt = (written: Value, coerced: Value, path: Path): Value | undefined => {
  let from: Value | undefined = written
  let to: Value | undefined = coerced
  for (const key of path) {
    from = isRecord(from) && isRecord(to) ? unwrapped(from, to) : from
    if (isList(from) !== isList(to) || isRecord(from) !== isRecord(to)) from = to
    if (isRecord(from) && isRecord(to)) {
      const source: string = sourceOf(String(key), from, to)
      from = own(from, source)
      to = own(to, String(key))
    } else if (isList(from) && isList(to)) {
      from = from[Number(key)]
      to = to[Number(key)]
    } else return undefined
  }
  return from === undefined ? to : from
}

const unwrapped = (from: Record, to: Record): Record => {
  const wrapper = wrapperOf(from)
  if (wrapper === undefined || hasKey(to, wrapper)) return from
  const content = from[wrapper]!
  return isRecord(content) ? content : to
}

const sourceOf = (key: string, from: Record, to: Record): string =>
  hasKey(from, key)
    ? key
    : keysOf(from).find((written) => foldName(written) === foldName(key) && !hasKey(to, written)) ?? key
