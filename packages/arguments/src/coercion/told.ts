/**
 * What is told of repairs: thirty items that drifted in one way are one thing to learn, and of a thousand things twenty teach as much.
 */
import { isTold, type ValueRepair, type ValueRepairKind } from "../repair.ts"
import { Fields } from "../schema/field.ts"
import { keyOf, nameOf, pathOf, type Place, type Value } from "../value.ts"
import { noteOf } from "../words.ts"
import type { Undoing } from "./undo.ts"

/** Repairs of one kind in the same field of an array's items. */
interface Group {
  readonly undoing: Undoing
  count: number
}

/**
 * The repairs with their notes: at most `limit` with one, the last of which counts those that are left out, and `limit` without. Of one kind in the same field
 * of an array's items only the first has a note: it counts the others.
 *
 * @param show how a value at a path may be quoted
 */
export const repairsOf = (
  undoings: ReadonlyArray<Undoing>,
  limit: number,
  show: (value: Value, place: Place | undefined) => string
): ReadonlyArray<ValueRepair> => {
  const fields = new Fields<Map<ValueRepairKind, Group & { readonly isListed: boolean }>>()
  const listed: Array<Undoing | Group> = []
  let [silent, noted, others] = [0, 0, 0]
  for (const undoing of undoings) {
    if (!isTold(undoing.kind)) {
      if (silent++ < limit) listed.push(undoing)
      continue
    }
    const field = fields.at(undoing.place)
    const groups = field.value ??= new Map()
    const known = groups.get(undoing.kind)
    if (known !== undefined) {
      known.count++
      if (!known.isListed) others++
      continue
    }
    const group = { undoing, count: 1, isListed: noted++ < limit }
    groups.set(undoing.kind, group)
    if (group.isListed) listed.push(group)
    else others++
  }
  const last = listed.findLast((one) => "count" in one)
  return listed.map((one) => {
    if (!("count" in one)) return { kind: one.kind, path: pathOf(one.place) }
    const { count, undoing: { kind, place } } = one
    const more = count > 1 ? `, and ${count - 1} more like it` : ""
    const unlisted = one === last && others > 0 ? `; ${others} more repairs are not listed` : ""
    return { kind, path: pathOf(place), note: `${noteOn(one.undoing, show)}${more}${unlisted}` }
  })
}

const noteOn = (
  { from, kind, place, to }: Undoing,
  show: (value: Value, place: Place | undefined) => string
): string => {
  const path = pathOf(kind === "wrapper" ? place?.above : place)
  // Of these two, what was written and what it was read as are keys.
  if (kind === "renamed_key" || kind === "wrapper") {
    const name = path.length === 0 ? "the arguments" : nameOf(path)
    return noteOf(kind, { name, from: keyIn(from), to: keyIn(to) })
  }
  const as = kind === "text_with_drift" ? `an ${Array.isArray(to) ? "array" : "object"}` : show(to, place)
  return noteOf(kind, { name: nameOf(path), from: show(from, place), to: as })
}

const keyIn = (value: Value): string => typeof value === "string" ? keyOf(value) : ""
