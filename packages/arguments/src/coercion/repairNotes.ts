/**
 * Turns undone drifts into repairs with notes for the model. Notes are grouped and limited: thirty items with
 * the same drift need one note, and twenty notes are enough.
 */
import { isArray, isString, type Path } from "../json.ts"
import { newMap } from "../memo.ts"
import type { ValueRepair, ValueRepairKind } from "../repair.ts"
import { Fields } from "../schema/field.ts"
import { keyOf, nameOf, pathOf, type Place, type Value } from "../value.ts"
import { isTold, noteOf } from "../words.ts"
import type { Undoing } from "./undo.ts"

/** Repairs of one kind in the same field of an array's items. */
interface Group {
  readonly undoing: Undoing
  /** How many there are; 0 if repairs of this kind have no note. */
  count: number
}

/**
 * Returns the repairs: at most `limit` with a note, and at most `limit` without. Items of an array may have
 * repairs of the same kind in the same field. Then only the first is listed, and its note says how many more
 * there are. The last note also says how many repairs are beyond the limit.
 *
 * @param show formats a value at a place for a note
 */
export const repairsOf = (
  undoings: ReadonlyArray<Undoing>,
  limit: number,
  show: (value: Value, place: Place | undefined) => string
): ReadonlyArray<ValueRepair> => {
  const fields = new Fields<Map<ValueRepairKind, Group & { readonly isListed: boolean }>>()
  const listed: Array<Group> = []
  let [silent, noted, others] = [0, 0, 0]
  for (const undoing of undoings) {
    if (!isTold(undoing.kind)) {
      if (silent++ < limit) listed.push({ undoing, count: 0 })
      continue
    }
    const field = fields.at(undoing.place)
    const groups = field.value ??= newMap()
    const existing = groups.get(undoing.kind)
    if (existing !== undefined) {
      existing.count++
      if (!existing.isListed) others++
      continue
    }
    const group = { undoing, count: 1, isListed: noted++ < limit }
    groups.set(undoing.kind, group)
    if (group.isListed) listed.push(group)
    else others++
  }
  const last = listed.findLast(({ count }) => count > 0)
  return listed.map((one) => {
    const { count, undoing: { kind, place } } = one
    if (count === 0) return { kind, path: pathOf(place) }
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
  // For these two kinds, `from` is a key. For a renamed key, `to` is also a key.
  if (kind === "renamed_key" || kind === "wrapper") {
    const name = path.length === 0 ? "the arguments" : nameOf(path)
    return noteOf(kind, name, keyIn(from), keyIn(to))
  }
  const as = kind === "text_with_drift" ? `an ${isArray(to) ? "array" : "object"}` : show(to, place)
  return noteOf(kind, nameOf(declaredPath(place)), show(from, place), as)
}

// The path of a value, with the declared keys in place of those that were written.
const declaredPath = (place: Place | undefined): Path =>
  place ? [...declaredPath(place.above), place.as ?? place.key] : []

const keyIn = (value: Value): string => isString(value) ? keyOf(value) : ""
