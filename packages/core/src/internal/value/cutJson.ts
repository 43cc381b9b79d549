import type * as Schema from "effect/Schema"
import { cut as cutLine, utf8Length } from "./text.ts"

/** The size that a value may have as JSON. */
export interface JsonSize {
  /** The most bytes of the whole value, in UTF-8. */
  readonly bytes: number
  /** The most items of each array. */
  readonly items: number
}

/** A place where something was left out. */
export interface Omission {
  /** The names and indexes that lead to the place. They are the same in the original and in the cut value. */
  readonly path: ReadonlyArray<string | number>
  /** What was left out. `"levels"` means that `"…"` stands for a whole array or object. */
  readonly unit: "items" | "fields" | "characters" | "levels"
  readonly shown: number
  readonly of: number
}

export interface CutJson {
  readonly value: Schema.Json
  /** The first {@link maxListed} places, the outermost first. */
  readonly omissions: ReadonlyArray<Omission>
  /** The number of all places where something was left out. */
  readonly omitted: number
}

/** The most bytes of a failure's data that a rendering shows. */
export const maxData = 200_000

/** The most bytes that are shown of a result that has to be cut. Half of a window is too much for a part of a result. */
export const maxPart = 50_000

/** Stands at the end of a cut string, and in place of a value that cannot be shown. */
const mark = "…"

/** The bytes of {@link mark} as JSON. */
const markBytes = 5

/** A string of this size, such as a UUID, is kept like a number. No number needs more. */
const short = 40

/** A long item is cut to this size, or to a sixteenth of a smaller room, before items are left out. */
const readable = 500

/** An object with more fields is a dictionary. Its fields are alike, like the items of an array. */
const maxFields = 100

/** The most omissions that are listed. */
const maxListed = 20

/**
 * Makes a value smaller: arrays and dictionaries keep their first members, strings their beginning, and
 * objects all fields, as long as possible. Returns `undefined` if the value already fits. The smallest value
 * is `"…"`, which is returned even if `bytes` is less.
 *
 * Sizes are measured from the leaves up, and only until they exceed the budget. Then each array and object
 * divides its room among its members, from the root down.
 *
 * @param text the value as JSON, if the caller has it
 */
export const cutJson = (value: Schema.Json, size: JsonSize, text = JSON.stringify(value)): CutJson | undefined => {
  if (value === mark || fits(value, size, text)) return undefined
  const places: Array<Place> = []
  const cut = cutterFor(size, places)(value, size.bytes, { depth: 0 })
  // The sort is stable, and the places are in document order.
  const listed = places.toSorted((a, b) => a.at.depth - b.at.depth).slice(0, maxListed)
  return {
    value: cut,
    omissions: listed.map(({ at, ...omission }) => ({ path: pathTo(at), ...omission })),
    omitted: places.length
  }
}

/** Returns as much of the beginning of a text as has a number of bytes, as JSON: at least one character. */
export const startOf = (text: string, bytes: number): string => {
  const short = cutJson(text, { bytes, items: Infinity })?.value
  // A cut text ends in a mark.
  return typeof short === "string" ? text.slice(0, Math.max(1, short.length - mark.length)) : text
}

const fits = (value: Schema.Json, { bytes, items }: JsonSize, text: string): boolean =>
  // A UTF-16 unit needs one to three bytes.
  (text.length * 3 <= bytes || text.length <= bytes && utf8Length(text) <= bytes) &&
  // An array of n items has at least n characters, n - 1 commas and two brackets.
  (text.length < 2 * items + 3 || !hasLongArray(value, items))

const hasLongArray = (value: Schema.Json, items: number): boolean =>
  isContainer(value) && (isArray(value)
    ? value.length > items || value.some((item) => hasLongArray(item, items))
    : Object.values(value).some((field) => hasLongArray(field, items)))

/** An omission, with its path as a linked list: most paths are never listed. */
interface Place extends Omit<Omission, "path"> {
  readonly at: Position
}

interface Position {
  readonly depth: number
  readonly key?: string | number
  readonly parent?: Position
}

const pathTo = ({ key, parent }: Position): ReadonlyArray<string | number> =>
  key === undefined || parent === undefined ? [] : [...pathTo(parent), key]

type Entry = readonly [key: string | number, value: Schema.Json]

/** An item or field that will be shown. */
interface Member {
  readonly entry: Entry
  /** The bytes of its name, colon and comma. */
  readonly extra: number
  /** The bytes that its value gets at least, and at most. */
  readonly min: number
  readonly full: number
}

/** Makes the function that cuts a value to a number of bytes. It adds the omissions to `places`. */
const cutterFor = (size: JsonSize, places: Array<Place>) => {
  const measure = measureFor(size)
  const memberOf = (entry: Entry, min: number): Member => (
    { entry, extra: extraFor(entry[0], size.bytes), min, full: measure(entry[1]).full }
  )

  const cut = (value: Schema.Json, room: number, at: Position): Schema.Json => {
    const { full, smallest } = measure(value)
    const of = lengthOf(value)
    const leaveOut = (unit: Omission["unit"], shown: number) => places.push({ at, unit, shown, of })
    const hide = () => {
      leaveOut(isContainer(value) ? "levels" : "characters", 0)
      return mark
    }
    // Members have room for their smallest size. Only the whole value may have less.
    if (room < smallest) return hide()
    if (typeof value === "string" && full > room) {
      const { end } = beginning(value, room - markBytes)
      leaveOut("characters", end)
      return value.slice(0, end) + mark
    }
    if (!isContainer(value)) return value
    // Each member pays for one comma, and the value for what the brackets need beyond that: one byte.
    const members = isArray(value) ? first(value.slice(0, size.items).entries(), room - 1) : fields(value, room - 1)
    if (members.length === 0 && of > 0) return hide()
    if (members.length < of) leaveOut(isArray(value) ? "items" : "fields", members.length)
    const level = levelFor(members, room - 1)
    const entries = members.map((member): Entry => {
      const [key, inner] = member.entry
      return [key, cut(inner, roomAt(level, member), { depth: at.depth + 1, key, parent: at })]
    })
    // Unlike an assignment, fromEntries keeps a field with the name "__proto__".
    return isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries)
  }

  /** Returns all fields, if they have room. Otherwise, returns the totals and the first other fields. */
  const fields = (value: Schema.JsonObject, room: number): ReadonlyArray<Member> => {
    const entries = Object.entries(value)
    const isDictionary = entries.length > maxFields
    const all = isDictionary ? [] : entries.map((entry) => memberOf(entry, measure(entry[1]).min))
    if (all.length > 0 && bytesAt(0, all) <= room) return all
    const ranked = [...entries.filter(([name]) => isTotal(name)), ...entries.filter(([name]) => !isTotal(name))]
    const kept = new Map(first(ranked, room, !isDictionary).map((member) => [member.entry[0], member]))
    return entries.flatMap(([name]) => kept.get(name) ?? [])
  }

  /**
   * Returns the first members that have room together.
   *
   * @param isRecord true to show as many as possible, if only by their names (default: false)
   */
  const first = (entries: Iterable<Entry>, room: number, isRecord = false): ReadonlyArray<Member> => {
    const kept: Array<Member> = []
    let left = room
    for (const entry of entries) {
      const { full, min, smallest } = measure(entry[1])
      const good = isRecord
        ? smallest
        : Math.min(full, Math.max(min, short, Math.min(Math.floor(room / 16), readable)))
      const member = memberOf(entry, Math.min(good, left - extraFor(entry[0], size.bytes)))
      // The first member may be as small as it can be. The last one is cut only if that fills much of the room.
      const enough = Math.min(good, kept.length === 0 ? smallest : Math.max(short, room / 5))
      if (member.min >= enough) {
        kept.push(member)
        left -= member.extra + member.min
      } else if (member.extra <= room / 2) {
        break
      }
      // Otherwise, only its very long name has no room, but the next members may have.
    }
    return kept
  }

  return cut
}

// The names of totals, of counts and of marks of pages: total_count, nextCursor, has_more.
const isTotal = (name: string): boolean =>
  /(?:^|[^a-zA-Z]|[a-z](?=[A-Z]))(?:[Tt]otal|[Cc]ount|[Nn]ext|[Pp]rev(?:ious)?|[Cc]ursor|[Pp]age|[Oo]ffset|[Mm]ore|[Tt]runcated)s?(?![a-z])/
    .test(name)

/** Returns the highest level at which the members have room. A small member leaves its share to the others. */
const levelFor = (members: ReadonlyArray<Member>, room: number): number => {
  if (bytesAt(room, members) <= room) return room
  let low = 0
  let high = room
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (bytesAt(middle, members) <= room) low = middle
    else high = middle - 1
  }
  return low
}

const bytesAt = (level: number, members: ReadonlyArray<Member>): number =>
  members.reduce((bytes, member) => bytes + member.extra + roomAt(level, member), 0)

const roomAt = (level: number, { full, min }: Member): number => Math.max(min, Math.min(full, level))

/** The sizes of a value, in bytes. A size that exceeds the budget is not exact. */
interface Sizes {
  /** With all that the limit of items allows. */
  readonly full: number
  /** With all fields and numbers, but with short strings, and without the content of arrays and dictionaries. */
  readonly min: number
  /** As `"…"`. Numbers are never cut. */
  readonly smallest: number
}

/** Makes the function that measures values. It measures each array and object once. */
const measureFor = ({ bytes, items }: JsonSize) => {
  const known = new Map<Schema.Json, Sizes>()
  const measure = (value: Schema.Json): Sizes => {
    if (typeof value === "string") {
      const full = stringBytes(value, bytes)
      return { full, min: Math.min(full, short), smallest: Math.min(full, markBytes) }
    }
    if (!isContainer(value)) {
      const full = lengthOf(value)
      return { full, min: full, smallest: full }
    }
    const sizes = known.get(value) ?? (isArray(value) ? measureItems(value) : measureFields(value))
    known.set(value, sizes)
    return sizes
  }
  const measureItems = (array: Schema.JsonArray): Sizes => {
    let full = array.length === 0 ? 2 : items < 1 ? markBytes : 1
    for (const item of array.slice(0, items)) {
      full += 1 + measure(item).full
      if (full > bytes) break
    }
    const smallest = Math.min(full, markBytes)
    return { full, min: smallest, smallest }
  }
  const measureFields = (object: Schema.JsonObject): Sizes => {
    const entries = Object.entries(object)
    const isDictionary = entries.length > maxFields
    let full = entries.length === 0 ? 2 : 1
    let min = full
    for (const [name, field] of entries) {
      const extra = extraFor(name, bytes)
      const sizes = measure(field)
      full += extra + sizes.full
      min += extra + sizes.min
      if ((isDictionary ? full : min) > bytes) break
    }
    const smallest = Math.min(full, markBytes)
    return { full, min: isDictionary ? smallest : min, smallest }
  }
  return measure
}

const extraFor = (key: string | number, max: number): number => typeof key === "number" ? 1 : stringBytes(key, max) + 2

/** Returns the bytes of a string as JSON, or `Infinity` if they are more than `max`. */
const stringBytes = (text: string, max: number): number => {
  const { bytes, end } = beginning(text, max - 2)
  return end < text.length ? Infinity : bytes + 2
}

/** Returns where the longest beginning ends that has at most `max` bytes as JSON, without quotes. */
const beginning = (text: string, max: number): { readonly end: number; readonly bytes: number } => {
  let bytes = 0
  let end = 0
  while (end < text.length) {
    const code = text.codePointAt(end)!
    const next = bytes + charBytes(code)
    if (next > max) break
    bytes = next
    end += code > 0xffff ? 2 : 1
  }
  return { end, bytes }
}

const charBytes = (code: number): number => {
  // The escapes \b \t \n \f \r have two characters. Those of other control characters have six.
  if (code < 0x20) return code === 0x0b || code < 0x08 || code > 0x0d ? 6 : 2
  if (code < 0x80) return code === 0x22 || code === 0x5c ? 2 : 1
  if (code < 0x800) return 2
  if (code > 0xffff) return 4
  // A single surrogate is escaped.
  return code >= 0xd800 && code <= 0xdfff ? 6 : 3
}

/** The number of items, fields or characters. */
const lengthOf = (value: Schema.Json): number =>
  !isContainer(value) ? `${value}`.length : isArray(value) ? value.length : Object.keys(value).length

const isContainer = (value: Schema.Json): value is Schema.JsonArray | Schema.JsonObject =>
  typeof value === "object" && value !== null

// Array.isArray alone does not narrow readonly arrays.
const isArray = (value: Schema.Json): value is Schema.JsonArray => Array.isArray(value)

// -----------------------------------------------------------------------------
// Words
// -----------------------------------------------------------------------------

/** The most places that are described. */
const maxDescribed = 3

/** Describes what is left of a cut value: "100 of 5000 items of 'rows'". */
export const shownText = ({ omissions, omitted }: CutJson): string => {
  const places = omissions.slice(0, maxDescribed).map(placeText)
  const others = omitted - places.length
  return others === 0
    ? places.join(", ")
    : `${places.join(", ")}, and less of ${others} other ${others === 1 ? "place" : "places"}`
}

const placeText = (omission: Omission): string => {
  const { of, shown, unit } = omission
  const path = cutLine(pathText(omission), 80)
  const where = path === "" ? "" : ` of '${path}'`
  return unit === "levels" ? `nothing${where}` : `${shown} of ${of} ${unit}${where}`
}

/** Returns the path of a place as one text: "rows.0.text". */
export const pathText = ({ path }: Omission): string => textOfPath(path)

export const textOfPath = (path: Omission["path"]): string => path.join(".")
