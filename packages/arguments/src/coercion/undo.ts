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
import { define, type Json, type JsonSchema } from "../json.ts"
import { deepest } from "../options.ts"
import { isTold, type ValueRepairKind } from "../repair.ts"
import { type Conformance, maxMisfits } from "../schema/conformance.ts"
import { allowsKind, extraOf, isRequired, itemOf, maxTurns, propertiesOf } from "../schema/document.ts"
import { isEqual } from "../schema/equal.ts"
import { plainly } from "../text/reader.ts"
import { isList, isRecord, type List, type NumberAt, type Place, type Record, type Value } from "../value.ts"
import { driftsFor, isBlank } from "./reading.ts"
import { findRespelled, mayBecome } from "./spelling.ts"
import { wrapperOf } from "./wrapper.ts"

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
  const memories = new Map<object, Memory>()

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
    const undone = typeof value !== "object" || value === null
      ? undoPrimitive(value, schema, place, extent)
      : undoContainer(value, schema, place, extent)
    depth--
    return undone
  }

  // A primitive has no parts. So a schema that refers back to itself for the same value gives no reading.
  let activeSchemas = new Set<unknown>()
  const undoPrimitive = (
    value: Value,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone | undefined => {
    if (activeSchemas.has(schema)) return undefined
    activeSchemas.add(schema)
    const undone = undoFlat(value, document.flat(schema), schema, place, extent)
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
    if (inUnions === 0) return undoFlat(value, document.flat(schema), schema, place, extent)
    const first = memories.get(value)
    for (let earlier = first; earlier !== undefined; earlier = earlier.next) {
      if (earlier.schema === schema && earlier.extent === extent) return earlier.undone
    }
    // Until the result is known, a schema that refers to itself for the same value gives no reading.
    const memory: Memory = { schema, extent, undone: undefined, next: first }
    memories.set(value, memory)
    const outerSchemas = activeSchemas
    if (outerSchemas.size > 0) activeSchemas = new Set()
    memory.undone = undoFlat(value, document.flat(schema), schema, place, extent)
    activeSchemas = outerSchemas
    return memory.undone
  }

  const undoFlat = (
    value: Value,
    flat: JsonSchema,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone | undefined => {
    const members = document.members(flat)
    if (members !== undefined) return undoUnion(value, members, schema, place, extent)
    if (typeof value !== "object" || value === null || !allowsKind(flat, value)) {
      return undoLeaf(value, flat, schema, place, extent)
    }
    const before = turns
    turns = 0
    const undone = isRecord(value)
      ? undoRecord(value, flat, schema, place, extent)
      : isList(value)
      ? undoList(value, flat, place, extent)
      : undoLeaf(value, flat, schema, place, extent)
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
    const candidates: Array<Undone> = []
    turns++
    inUnions++
    for (const member of members) {
      if (!mayBecome(value, member)) continue
      const undone = undoValue(value, member, place, extent)
      if (undone === undefined || !fits(undone.value, schema)) continue
      const same = candidates.findIndex((other) => isEqual(other.value, undone.value))
      if (same === -1) candidates.push(undone)
      else if (countNotes(undone) < countNotes(candidates[same]!)) candidates[same] = undone
    }
    inUnions--
    turns--
    if (candidates.length === 1) return candidates[0]!
    if (inUnions === 0 && extent === "all" && candidates.length === 0) hopeless++
    if (candidates.length > 1 || !isRecord(value) && !isList(value)) return undefined
    const likely = document.likely(value, members)
    return likely === undefined ? undefined : undoValue(value, likely, place, extent)
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
    if (unwrapped !== undefined) return unwrapped
    const properties = propertiesOf(flat)
    const { isRival, meant } = findRespelled(value, flat)
    const repairs: Array<Undoings> = []
    const dropped: Array<Undoing> = []
    const left: Array<readonly [key: string, value: Value]> = []
    const record: { [key: string]: Value } = {}
    for (const written of Object.keys(value)) {
      const key = extent === "all" ? meant.get(written) ?? written : written
      const child = value[written]!
      const isDeclared = Object.hasOwn(properties, key)
      const inner = isDeclared ? properties[key] : extraOf(flat, key)
      const at = { above: place, key: written }
      if (key !== written) repairs.push({ kind: "renamed_key", place: at, from: written, to: key })
      const before = hopeless
      const undone = undoValue(child, inner, at, extent)
      // A property is kept if an undeclared key is spelled like it: which of the two was meant is unclear.
      const mayDrop = isDeclared && undone === undefined && (key !== written || !isRival(key))
      const drop = mayDrop && !isRequired(key, flat) ? dropOf(child, inner, at, extent) : undefined
      if (drop !== undefined) {
        hopeless = before
        dropped.push(drop)
        left.push([key, child])
      } else define(record, key, undone?.value ?? child)
      if (undone !== undefined) repairs.push(undone.repairs)
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
    const isText = typeof content === "string"
    const inner: Value | undefined = isText ? parseText(content) : content
    if (inner === undefined || !isRecord(inner)) return undefined
    const undone = undoValue(inner, schema, { above: place, key: wrapper }, isText ? "inner" : "silent")
    const to = undone?.value ?? inner
    if (!fits(to, schema)) return undefined
    const repair: Undoing = { kind: "wrapper", place: { above: place, key: wrapper }, from: wrapper, to }
    return { value: to, repairs: [repair, undone?.repairs ?? none] }
  }

  const isDeclared = (key: string, flat: JsonSchema): boolean =>
    Object.hasOwn(propertiesOf(flat), key) || typeof extraOf(flat, key) === "object"

  const dropOf = (child: Value, inner: unknown, place: Place | undefined, extent: Extent): Undoing | undefined => {
    if (child !== null && (extent !== "all" || !isBlank(child)) || fits(child, inner)) return undefined
    return { kind: child === null ? "null_for_optional" : "blank_for_optional", place, from: child, to: null }
  }

  // ---------------------------------------------------------------------------
  // Arrays and leaves
  // ---------------------------------------------------------------------------

  const undoList = (value: List, flat: JsonSchema, place: Place | undefined, extent: Extent): Undone | undefined => {
    let items: Array<Value> | undefined
    const repairs: Array<Undoings> = []
    for (let index = 0; index < value.length; index++) {
      const undone = undoValue(value[index]!, itemOf(flat, index), { above: place, key: index }, extent)
      if (undone === undefined) continue
      items ??= value.slice()
      items[index] = undone.value
      repairs.push(undone.repairs)
    }
    return items === undefined ? undefined : { value: items, repairs }
  }

  const undoLeaf = (
    value: Value,
    flat: JsonSchema,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone | undefined => {
    if (typeof value === "string" && extent !== "inner") {
      const undone = undoText(value, flat, schema, place, extent)
      if (undone !== undefined) return undone
    }
    const written = { value, place, numberAt: extent === "inner" ? nothing : numberAt }
    for (const drift of driftsFor(flat)) {
      const reading = drift(written, flat)
      if (reading === undefined || extent !== "all" && isTold(reading.kind) || !fits(reading.to, schema)) continue
      const { from = value, kind, to } = reading
      return { value: to, repairs: { kind, place, from, to } }
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
      const kind = type === "array" ? "text_for_array" : "text_for_object"
      return { value, repairs: { kind, place, from: text, to: value } }
    }
    if (extent !== "all") return undefined
    const undone = undoValue(value, schema, place, "inner")
    if (undone === undefined || !fits(undone.value, schema)) return undefined
    const repair: Undoing = { kind: "text_with_drift", place, from: text, to: undone.value }
    return { value: undone.value, repairs: [repair, undone.repairs] }
  }

  // Parsing a long string costs as much as walking a large value, so it draws on the budget. A string that is
  // obviously not JSON costs nothing.
  const parseText = (text: string): Json | undefined => {
    if (!mayBeJson.test(text) || !conformance.spend(text.length >> 3)) return undefined
    const parsed = plainly(text, { depth: deepest })
    return "kind" in parsed || parsed.hasUnsafeInteger ? undefined : parsed.value
  }

  const undone = undoValue(value, schema, undefined, "all")
  return undone === undefined ? undefined : { value: undone.value, repairs: flatten(undone.repairs) }
}

/** A remembered result: one value, undone for one schema. The results for a value form a linked list. */
interface Memory {
  readonly schema: unknown
  readonly extent: Extent
  undone: Undone | undefined
  readonly next: Memory | undefined
}

const mayBeJson = /^\s*(?:\[\s*(?:["[\]{\-\dtfn]|$)|\{\s*(?:["}]|$))/

// True if the record has a single key, and that key is undeclared and may be a wrapper.
const isWrapperAlone = (record: Record, properties: JsonSchema): boolean => {
  const wrapper = wrapperOf(record)
  return wrapper !== undefined && !Object.hasOwn(properties, wrapper)
}

const none: ReadonlyArray<Undoing> = []
const nothing = () => undefined

const countNotes = ({ repairs }: Undone): number => flatten(repairs).filter(({ kind }) => isTold(kind)).length

const flatten = (undoings: Undoings, all: Array<Undoing> = []): Array<Undoing> => {
  if ("kind" in undoings) all.push(undoings)
  else for (const part of undoings) flatten(part, all)
  return all
}
