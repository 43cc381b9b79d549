/**
 * Undoes the drifts of a value (see `reading.ts`) wherever the schema allows only one reading.
 *
 * For each value, these are the steps, in this order:
 *
 * 1. A value that fits stays as it is.
 * 2. A wrapper is removed.
 * 3. Keys are renamed.
 * 4. The same steps are applied to each child. A choice or a scalar is replaced by its reading.
 * 5. An optional property is dropped if it is null or blank, and cannot fit.
 *
 * A reading is used only if it fits. In a union, a reading is used only if no other member gives a different
 * one. Choosing between members would be a second guess.
 */
import {
  define,
  hasKey,
  isArray,
  isContainer,
  isNumber,
  isString,
  type Json,
  type JsonSchema,
  keysOf
} from "../json.ts"
import { getOrInsert, newMap, newSet } from "../memo.ts"
import { deepest } from "../options.ts"
import type { ValueRepairKind } from "../repair.ts"
import { type Conformance, maxMisfits } from "../schema/conformance.ts"
import { allowsKind, extraOf, isRequired, itemOf, maxTurns, propertiesOf } from "../schema/document.ts"
import { isEqual } from "../schema/equal.ts"
import { spellingsOf, wrapperOf } from "../schema/mistakenKeys.ts"
import { plainly } from "../text/reader.ts"
import {
  foldName,
  isHeld,
  isList,
  isRecord,
  isUnsafe,
  type List,
  type NumberAt,
  type Place,
  placeIn,
  type Record,
  type Value
} from "../value.ts"
import { isTold } from "../words.ts"
import { driftsFor, isBlank } from "./reading.ts"
import { findRespelled, mayBecome } from "./spelling.ts"

/** One repair, and its place. */
export interface Undoing {
  readonly kind: ValueRepairKind
  readonly place: Place | undefined
  /** The value or the key: as it was written (`from`), and as it was read (`to`). */
  readonly from: Value
  readonly to: Value
}

/**
 * Repairs in the order of the value. The repairs of its parts are nested lists, so that no level has to copy
 * them.
 */
type Undoings = Undoing | ReadonlyArray<Undoings>

/** A value, and the repairs that led to it. */
interface Undone {
  readonly value: Value
  readonly repairs: Undoings
}

/**
 * The drifts to undo. `"all"`: every drift. `"silent"`: only drifts that need no note. `"inner"`: as
 * `"silent"`, but inside a parsed string, whose own strings are not parsed again.
 */
type Extent = "all" | "silent" | "inner"

/** Undoes the drifts of a value and of its parts. Returns `undefined` if nothing can be undone. */
export const undo = (
  value: Value,
  schema: JsonSchema,
  conformance: Conformance,
  numberAt: NumberAt
): { readonly value: Value; readonly repairs: ReadonlyArray<Undoing> } | undefined => {
  const { document, fits } = conformance
  let memories: Map<Extent, Memories> | undefined

  let depth = 0
  // The number of values that neither fit nor have a reading. Each of them makes the whole value unfit.
  // Beyond `maxMisfits`, none would be reported, so the work stops.
  let hopeless = 0
  let inUnions = 0
  // The number of nested unions around the current value.
  let turns = 0
  const undoValue = (value: Value, schema: unknown, place: Place | undefined, extent: Extent): Undone | undefined => {
    if (fits(value, schema) || !conformance.spend(2) || depth > 2 * deepest || hopeless > maxMisfits) {
      return undefined
    }
    depth++
    const undone = !isContainer(value)
      ? undoPrimitive(value, schema, place, extent)
      : undoContainer(value, schema, place, extent)
    depth--
    return undone
  }

  // A primitive has no parts. So a schema that refers back to itself for the same value gives no reading.
  let activeSchemas = newSet<unknown>()
  const undoPrimitive = (
    value: Value,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone | undefined => {
    if (activeSchemas.has(schema)) return undefined
    activeSchemas.add(schema)
    const undone = undoFlat(value, schema, place, extent)
    activeSchemas.delete(schema)
    return undone
  }

  const undoContainer = (
    value: object & Value,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone | undefined => {
    // Outside unions, each value is undone once, so its result need not be remembered.
    if (inUnions === 0) return undoFlat(value, schema, place, extent)
    const memory = getOrInsert(
      getOrInsert(memories ??= newMap(), extent, newMap<object, Memory>),
      value,
      newMap<unknown, Undone | undefined>
    )
    if (memory.has(schema)) return memory.get(schema)
    // Until the result is known, a schema that refers to itself for the same value gives no reading.
    memory.set(schema, undefined)
    const outerSchemas = activeSchemas
    if (outerSchemas.size > 0) activeSchemas = newSet()
    const undone = undoFlat(value, schema, place, extent)
    activeSchemas = outerSchemas
    memory.set(schema, undone)
    return undone
  }

  const undoFlat = (value: Value, schema: unknown, place: Place | undefined, extent: Extent): Undone | undefined => {
    const flat = document.flat(schema)
    const members = document.members(flat)
    if (members) return undoUnion(value, members, schema, place, extent)
    if (!isRecord(value) && !isList(value) || !allowsKind(flat, value)) {
      return undoLeaf(value, flat, schema, place, extent)
    }
    const before = turns
    turns = 0
    const undone = isRecord(value)
      ? undoRecord(value, flat, schema, place, extent)
      : undoList(value, flat, place, extent)
    turns = before
    return undone
  }

  // ---------------------------------------------------------------------------
  // Unions
  // ---------------------------------------------------------------------------

  const undoUnion = (
    value: Value,
    members: ReadonlyArray<JsonSchema>,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone | undefined => {
    if (turns >= maxTurns) return undefined
    // What fits several forms fits too many of them: another reading would please the schema, and nobody else.
    const oneOf = document.flat(schema)["oneOf"]
    if (isArray(oneOf) && oneOf.some((member) => fits(value, member))) return undefined
    turns++
    inUnions++
    const candidates = readingsIn(value, members, schema, place, extent)
    // A reading that is not tried here, because the model would have to be told of it, is a second reading all the same.
    const isUnclear = extent !== "all" && candidates.length === 1 &&
      readingsIn(value, members, schema, place, "all").length > 1
    inUnions--
    turns--
    if (candidates.length === 1) return isUnclear || isDoubtful(candidates[0]!, members) ? undefined : candidates[0]!
    if (inUnions === 0 && extent === "all" && candidates.length === 0) hopeless++
    if (candidates.length > 1 || !isRecord(value) && !isList(value) || !conformance.spend(members.length)) {
      return undefined
    }
    const likely = document.likely(value, members)
    return likely && undoValue(value, likely, place, extent)
  }

  // Returns the different readings of a value by the members of a union.
  const readingsIn = (
    value: Value,
    members: ReadonlyArray<JsonSchema>,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): ReadonlyArray<Undone> => {
    const readings: Array<Undone> = []
    for (const member of members) {
      if (!conformance.spend(1)) break
      if (!mayBecome(value, member)) continue
      const undone = undoValue(value, member, place, extent)
      if (!undone || !fits(undone.value, schema)) continue
      const same = readings.findIndex((other) => isEqual(other.value, undone.value))
      if (same === -1) readings.push(undone)
      else if (countNotes(undone) < countNotes(readings[same]!)) readings[same] = undone
    }
    return readings
  }

  // ---------------------------------------------------------------------------
  // Objects
  // ---------------------------------------------------------------------------

  const undoRecord = (
    value: Record,
    flat: JsonSchema,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone | undefined => {
    const unwrapped = extent === "all" ? unwrap(value, flat, schema, place) : undefined
    if (unwrapped) return unwrapped
    const properties = propertiesOf(flat)
    const { isRival, meant } = findRespelled(value, flat)
    const repairs: Array<Undoings> = []
    const dropped: Array<Undoing> = []
    const left: Array<readonly [key: string, value: Value]> = []
    const record: { [key: string]: Value } = {}
    for (const written of keysOf(value)) {
      const key = extent === "all" ? meant.get(written) ?? written : written
      const child = value[written]!
      const isDeclared = hasKey(properties, key)
      const inner = isDeclared ? properties[key] : extraOf(flat, key)
      const at = { above: place, key: written, as: key }
      if (key !== written) repairs.push({ kind: "renamed_key", place: at, from: written, to: key })
      const before = hopeless
      const undone = undoValue(child, inner, at, extent)
      // A property is kept if an undeclared key is spelled like it: which of the two was meant is unclear.
      const mayDrop = isDeclared && !undone && (key !== written || !isRival(key))
      const absent = mayDrop ? absentOf(child, inner, at, extent, isRequired(key, flat)) : undefined
      if (absent) hopeless = before
      if (absent?.kind === "blank_for_null") {
        repairs.push(absent)
        define(record, key, null)
      } else if (absent) {
        dropped.push(absent)
        left.push([key, child])
      } else define(record, key, undone?.value ?? child)
      if (undone) repairs.push(undone.repairs)
    }
    // If the remaining record could later be mistaken for a wrapper, nothing is dropped.
    if (dropped.length > 0 && isWrapperAlone(record, properties)) {
      for (const [key, child] of left) define(record, key, child)
    } else if (dropped.length > 0) repairs.push(dropped)
    return repairs.length === 0 ? undefined : { value: record, repairs }
  }

  const unwrap = (
    value: Record,
    flat: JsonSchema,
    schema: unknown,
    place: Place | undefined
  ): Undone | undefined => {
    const wrapper = wrapperOf(value)
    if (wrapper === undefined || isDeclared(wrapper, flat)) return undefined
    const content = value[wrapper]!
    const isText = isString(content)
    const inner: Value | undefined = isText ? parseText(content) : content
    if (inner === undefined || !isRecord(inner)) return undefined
    const undone = undoValue(inner, schema, placeIn(place, wrapper), isText ? "inner" : "silent")
    const to = undone?.value ?? inner
    if (!fits(to, schema)) return undefined
    return readAs(to, "wrapper", placeIn(place, wrapper), wrapper, undone)
  }

  // A wrapper may also be a declared key in another spelling.
  const isDeclared = (key: string, flat: JsonSchema): boolean =>
    spellingsOf(propertiesOf(flat)).has(foldName(key)) || typeof extraOf(flat, key) === "object"

  // A text such as "None" may mean null, or that there is no value. If both are the same, it is read as null.
  const absentOf = (
    child: Value,
    inner: unknown,
    place: Place | undefined,
    extent: Extent,
    isRequired: boolean
  ): Undoing | undefined => {
    if (child !== null && (extent !== "all" || !isBlank(child)) || fits(child, inner)) return undefined
    const undoing = (kind: ValueRepairKind): Undoing => ({ kind, place, from: child, to: null })
    const flat = document.flat(inner)
    if (child !== null && flat["default"] === null && fits(null, inner)) return undoing("blank_for_null")
    if (isRequired) return undefined
    if (child === null) return undoing("null_for_optional")
    return mayMeanBlank(flat) ? undefined : undoing("blank_for_optional")
  }

  // A blank text may be the answer to a yes-or-no question, an object without keys, null, or a value of any type.
  const mayMeanBlank = (form: JsonSchema, turns = 0): boolean => {
    const members = document.members(form)
    if (members) {
      return turns > maxTurns || members.some((member) => mayMeanBlank(member, turns + 1))
    }
    return [null, false, {}].some((value) => allowsKind(form, value))
  }

  // ---------------------------------------------------------------------------
  // Arrays and leaves
  // ---------------------------------------------------------------------------

  const undoList = (value: List, flat: JsonSchema, place: Place | undefined, extent: Extent): Undone | undefined => {
    let items: Array<Value> | undefined
    const repairs: Array<Undoings> = []
    for (let index = 0; index < value.length; index++) {
      const undone = undoValue(value[index]!, itemOf(flat, index), placeIn(place, index), extent)
      if (!undone) continue
      items ??= value.slice()
      items[index] = undone.value
      repairs.push(undone.repairs)
    }
    return items && { value: items, repairs }
  }

  const undoLeaf = (
    value: Value,
    flat: JsonSchema,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone | undefined => {
    if (isString(value) && extent !== "inner") {
      const undone = undoText(value, flat, schema, place, extent)
      if (undone) return undone
    }
    const written = { value, place, numberAt: extent === "inner" ? nothing : numberAt }
    for (const drift of driftsFor(flat)) {
      const reading = drift(written, flat)
      if (!reading || extent !== "all" && isTold(reading.kind) || !fits(reading.to, schema)) continue
      if (turns === 0 && isItemOfOne(reading.kind, place)) continue
      const { from = value, kind, to } = reading
      return readAs(to, kind, place, from)
    }
    // Inside a union, another member may still fit. Inside a wrapper or a parsed string, not every drift was
    // tried. So the value is not yet hopeless.
    if (inUnions === 0 && extent === "all") hopeless++
    return undefined
  }

  // Parses a string as strict JSON where an array or an object is expected.
  const undoText = (
    text: string,
    flat: JsonSchema,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone | undefined => {
    const { type } = flat
    if (type !== "array" && type !== "object") return undefined
    const value = parseText(text)
    if (value === undefined || (type === "array" ? !isList(value) : !isRecord(value))) return undefined
    if (fits(value, schema)) {
      return readAs(value, type === "array" ? "text_for_array" : "text_for_object", place, text)
    }
    if (extent !== "all") return undefined
    const undone = undoValue(value, schema, place, "inner")
    if (!undone || !fits(undone.value, schema)) return undefined
    return readAs(undone.value, "text_with_drift", place, text, undone)
  }

  // Parsing a long string costs as much as walking a large value, so it draws on the budget. A string that is
  // obviously not JSON costs nothing.
  const parseText = (text: string): Json | undefined => {
    if (!mayBeJson.test(text) || !conformance.spend(text.length >> 3)) return undefined
    const parsed = plainly(text, { depth: deepest })
    return "kind" in parsed || parsed.hasUnsafeInteger ? undefined : parsed.value
  }

  const undone = undoValue(value, schema, undefined, "all")
  return undone && { value: undone.value, repairs: flatten(undone.repairs) }
}

/** The results for one value: undone for each schema. */
type Memory = Map<unknown, Undone | undefined>
type Memories = Map<object, Memory>

const mayBeJson = /^\s*(?:\[\s*(?:["[\]{\-\dtfn]|$)|\{\s*(?:["}]|$))/

// A reading that no other member gives, and that is doubtful all the same: the value may be meant for another member whose
// type it has, and whose bounds or choices it breaks. So may the items of a list, which may have a bracket too many. A
// text beside a list may be meant for a member that is not a list.
const isDoubtful = ({ repairs, value }: Undone, members: ReadonlyArray<JsonSchema>): boolean => {
  const isWhole = "kind" in repairs
  return (isWhole || isList(value)) && flatten(repairs).some(({ from, kind, place }) =>
    isTold(kind) &&
    (members.some((member) => allowsOwnKind(member, from)) ||
      isWhole && (isItemOfOne(kind, place) || kind === "single_for_array" && members.some(isScalar)))
  )
}

// True if a member takes values of the type of this value, other than by converting them.
const allowsOwnKind = (member: JsonSchema, from: Value): boolean => {
  const value = isUnsafe(from) ? Number(from.token) : from
  const isLost = isUnsafe(from) && !isHeld(Number(from.token))
  return !isString(value) && !isLost && allowsKind(member, value)
}

// [[[1],[2]]] may stand for [[1,2]] or [[1],[2]].
const isItemOfOne = (kind: ValueRepairKind, place: Place | undefined): boolean =>
  kind === "array_for_single" && isNumber(place?.key)

const isScalar = (form: JsonSchema): boolean => ["", 0, false].some((value) => allowsKind(form, value))

// True if the record has a single key, and that key is undeclared and may be a wrapper.
const isWrapperAlone = (record: Record, properties: JsonSchema): boolean => {
  const wrapper = wrapperOf(record)
  return wrapper !== undefined && !hasKey(properties, wrapper)
}

/** A value that was read in place of another one, perhaps after repairs inside it. */
const readAs = (to: Value, kind: ValueRepairKind, place: Place | undefined, from: Value, inner?: Undone): Undone => {
  const repair: Undoing = { kind, place, from, to }
  return { value: to, repairs: inner ? [repair, inner.repairs] : repair }
}

const nothing = () => undefined

const countNotes = ({ repairs }: Undone): number => flatten(repairs).filter(({ kind }) => isTold(kind)).length

const flatten = (undoings: Undoings, all: Array<Undoing> = []): Array<Undoing> => {
  if ("kind" in undoings) all.push(undoings)
  else for (const part of undoings) flatten(part, all)
  return all
}
