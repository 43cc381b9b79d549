/**
 * Undoes what models do to values on the way to a JSON Schema, where there is one reading.
 *
 * At each value, in this order: what fits stays; a wrapper is taken off; keys are renamed; children are undone,
 * choices and leaves by their readings; what is optional and cannot be is dropped. A reading counts only if it
 * fits, and of a union only if it fits one member: two guesses are never stacked.
 */
import { define, type Json, type JsonSchema } from "../json.ts"
import { deepest } from "../options.ts"
import { isTold, type ValueRepairKind } from "../repair.ts"
import { type Conformance, mostMisfits } from "../schema/conformance.ts"
import { allowsKind, extraOf, isRequired, itemOf, mostTurns, propertiesOf } from "../schema/document.ts"
import { isEqual } from "../schema/equal.ts"
import { plainly } from "../text/reader.ts"
import { isList, isRecord, type List, type NumberAt, type Place, type Record, type Value } from "../value.ts"
import { driftsFor, isBlank } from "./reading.ts"
import { mayBecome, respelled } from "./spelling.ts"
import { wrapperOf } from "./wrapper.ts"

/** What was undone, and where. */
export interface Undoing {
  readonly kind: ValueRepairKind
  readonly place: Place | undefined
  /** What was written, and what it was read as: a value, or a key. */
  readonly from: Value
  readonly to: Value
}

/** What was undone, in the order of the value: those of its parts are nested, and not copied at each level. */
type Undoings = Undoing | ReadonlyArray<Undoings>

/** A value and what was undone to get it. */
interface Undone {
  readonly value: Value
  readonly repairs: Undoings
}

/** How much is undone: everything; what needs no word; the same within a text, which is not read again. */
type Extent = "all" | "silent" | "inner"

/** Undoes the drifts of one value; `undefined` where there is nothing to undo. */
export const undo = (
  value: Value,
  schema: JsonSchema,
  conformance: Conformance,
  numberAt: NumberAt
): { readonly value: Value; readonly repairs: ReadonlyArray<Undoing> } | undefined => {
  const { document, fits } = conformance
  const known = new Map<object, Memory>()

  let depth = 0
  // How many values have no reading, each of which refuses the whole. After so many, no other would be told.
  let hopeless = 0
  let inUnions = 0
  // How many unions stand in one another around the same value.
  let turns = 0
  const within = (value: Value, schema: unknown, place: Place | undefined, extent: Extent): Undone | undefined => {
    if (fits(value, schema) || !conformance.spend(2) || depth > 2 * deepest || hopeless > mostMisfits) {
      return undefined
    }
    depth++
    const undone = typeof value !== "object" || value === null
      ? ofPrimitive(value, schema, place, extent)
      : remembered(value, schema, place, extent)
    depth--
    return undone
  }

  // A primitive has no way out of a schema that refers to itself.
  let open = new Set<unknown>()
  const ofPrimitive = (value: Value, schema: unknown, place: Place | undefined, extent: Extent): Undone | undefined => {
    if (open.has(schema)) return undefined
    open.add(schema)
    const undone = reading(value, document.flat(schema), schema, place, extent)
    open.delete(schema)
    return undone
  }

  const remembered = (
    value: object & Value,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone | undefined => {
    // Outside of unions, each value is undone once.
    if (inUnions === 0) return reading(value, document.flat(schema), schema, place, extent)
    const first = known.get(value)
    for (let earlier = first; earlier !== undefined; earlier = earlier.next) {
      if (earlier.schema === schema && earlier.extent === extent) return earlier.undone
    }
    // What refers to itself without a step into the value gets no further.
    const memory: Memory = { schema, extent, undone: undefined, next: first }
    known.set(value, memory)
    const outside = open
    if (outside.size > 0) open = new Set()
    memory.undone = reading(value, document.flat(schema), schema, place, extent)
    open = outside
    return memory.undone
  }

  const reading = (
    value: Value,
    flat: JsonSchema,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone | undefined => {
    const members = document.members(flat)
    if (members !== undefined) return ofUnion(value, members, schema, place, extent)
    if (typeof value !== "object" || value === null || !allowsKind(flat, value)) {
      return ofLeaf(value, flat, schema, place, extent)
    }
    const before = turns
    turns = 0
    const undone = isRecord(value)
      ? ofRecord(value, flat, schema, place, extent)
      : isList(value)
      ? ofList(value, flat, place, extent)
      : ofLeaf(value, flat, schema, place, extent)
    turns = before
    return undone
  }

  // ---------------------------------------------------------------------------
  // Unions
  // ---------------------------------------------------------------------------

  const ofUnion = (
    value: Value,
    members: ReadonlyArray<JsonSchema>,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone | undefined => {
    if (turns >= mostTurns) return undefined
    const meant: Array<Undone> = []
    turns++
    inUnions++
    for (const member of members) {
      if (!mayBecome(value, member)) continue
      const undone = within(value, member, place, extent)
      if (undone === undefined || !fits(undone.value, schema)) continue
      const same = meant.findIndex((other) => isEqual(other.value, undone.value))
      if (same === -1) meant.push(undone)
      else if (notes(undone) < notes(meant[same]!)) meant[same] = undone
    }
    inUnions--
    turns--
    if (meant.length === 1) return meant[0]!
    if (inUnions === 0 && extent === "all" && meant.length === 0) hopeless++
    if (meant.length > 1 || !isRecord(value) && !isList(value)) return undefined
    const likely = document.likely(value, members)
    return likely === undefined ? undefined : within(value, likely, place, extent)
  }

  // ---------------------------------------------------------------------------
  // Objects
  // ---------------------------------------------------------------------------

  const ofRecord = (
    value: Record,
    flat: JsonSchema,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone | undefined => {
    const unwrapped = extent === "all" ? withoutWrapper(value, flat, schema, place) : undefined
    if (unwrapped !== undefined) return unwrapped
    const properties = propertiesOf(flat)
    const { isRival, meant } = respelled(value, flat)
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
      const undone = within(child, inner, at, extent)
      // Beside a key that is spelled like it, it is not clear which of the two was meant.
      const mayDrop = isDeclared && undone === undefined && (key !== written || !isRival(key))
      const drop = mayDrop && !isRequired(key, flat) ? dropping(child, inner, at, extent) : undefined
      if (drop !== undefined) {
        hopeless = before
        dropped.push(drop)
        left.push([key, child])
      } else define(record, key, undone?.value ?? child)
      if (undone !== undefined) repairs.push(undone.repairs)
    }
    // What would be a wrapper without what was dropped is not to be taken for one later.
    if (dropped.length > 0 && isBare(record, properties)) {
      for (const [key, child] of left) define(record, key, child)
    } else if (dropped.length > 0) repairs.push(dropped)
    return repairs.length === 0 ? undefined : { value: record, repairs }
  }

  const withoutWrapper = (
    value: Record,
    flat: JsonSchema,
    schema: unknown,
    place: Place | undefined
  ): Undone | undefined => {
    const wrapper = wrapperOf(value)
    if (wrapper === undefined || isDeclared(wrapper, flat)) return undefined
    const content = value[wrapper]!
    const isText = typeof content === "string"
    const inner: Value | undefined = isText ? textOf(content) : content
    if (inner === undefined || !isRecord(inner)) return undefined
    const undone = within(inner, schema, { above: place, key: wrapper }, isText ? "inner" : "silent")
    const to = undone?.value ?? inner
    if (!fits(to, schema)) return undefined
    const repair: Undoing = { kind: "wrapper", place: { above: place, key: wrapper }, from: wrapper, to }
    return { value: to, repairs: [repair, undone?.repairs ?? none] }
  }

  const isDeclared = (key: string, flat: JsonSchema): boolean =>
    Object.hasOwn(propertiesOf(flat), key) || typeof extraOf(flat, key) === "object"

  const dropping = (child: Value, inner: unknown, place: Place | undefined, extent: Extent): Undoing | undefined => {
    if (child !== null && (extent !== "all" || !isBlank(child)) || fits(child, inner)) return undefined
    return { kind: child === null ? "null_for_optional" : "blank_for_optional", place, from: child, to: null }
  }

  // ---------------------------------------------------------------------------
  // Arrays and leaves
  // ---------------------------------------------------------------------------

  const ofList = (value: List, flat: JsonSchema, place: Place | undefined, extent: Extent): Undone | undefined => {
    let items: Array<Value> | undefined
    const repairs: Array<Undoings> = []
    for (let index = 0; index < value.length; index++) {
      const undone = within(value[index]!, itemOf(flat, index), { above: place, key: index }, extent)
      if (undone === undefined) continue
      items ??= value.slice()
      items[index] = undone.value
      repairs.push(undone.repairs)
    }
    return items === undefined ? undefined : { value: items, repairs }
  }

  const ofLeaf = (
    value: Value,
    flat: JsonSchema,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone | undefined => {
    if (typeof value === "string" && extent !== "inner") {
      const undone = fromText(value, flat, schema, place, extent)
      if (undone !== undefined) return undone
    }
    const written = { value, place, numberAt: extent === "inner" ? nothing : numberAt }
    for (const drift of driftsFor(flat)) {
      const reading = drift(written, flat)
      if (reading === undefined || extent !== "all" && isTold(reading.kind) || !fits(reading.to, schema)) continue
      const { from = value, kind, to } = reading
      return { value: to, repairs: { kind, place, from, to } }
    }
    // Of a union another member may still be meant, and what was tried inside of a wrapper or a text is not all.
    if (inUnions === 0 && extent === "all") hopeless++
    return undefined
  }

  // An array or an object as strict JSON.
  const fromText = (
    text: string,
    flat: JsonSchema,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone | undefined => {
    const { type } = flat
    if (type !== "array" && type !== "object") return undefined
    const value = textOf(text)
    if (value === undefined || (type === "array" ? !isList(value) : !isRecord(value))) return undefined
    if (fits(value, schema)) {
      const kind = type === "array" ? "text_for_array" : "text_for_object"
      return { value, repairs: { kind, place, from: text, to: value } }
    }
    if (extent !== "all") return undefined
    const undone = within(value, schema, place, "inner")
    if (undone === undefined || !fits(undone.value, schema)) return undefined
    const repair: Undoing = { kind: "text_with_drift", place, from: text, to: undone.value }
    return { value: undone.value, repairs: [repair, undone.repairs] }
  }

  // Reading a long text costs as much as a large value. A text that is plainly not JSON costs nothing.
  const textOf = (text: string): Json | undefined => {
    if (!mayBeJson.test(text) || !conformance.spend(text.length >> 3)) return undefined
    const read = plainly(text, { depth: deepest })
    return "kind" in read || read.hasUnsafeInteger ? undefined : read.value
  }

  const undone = within(value, schema, undefined, "all")
  return undone === undefined ? undefined : { value: undone.value, repairs: flattened(undone.repairs) }
}

/** What a value was undone to by a schema, and by the next one. */
interface Memory {
  readonly schema: unknown
  readonly extent: Extent
  undone: Undone | undefined
  readonly next: Memory | undefined
}

const mayBeJson = /^\s*(?:\[\s*(?:["[\]{\-\dtfn]|$)|\{\s*(?:["}]|$))/

// Has it nothing but a key that could be a wrapper?
const isBare = (record: Record, properties: JsonSchema): boolean => {
  const wrapper = wrapperOf(record)
  return wrapper !== undefined && !Object.hasOwn(properties, wrapper)
}

const none: ReadonlyArray<Undoing> = []
const nothing = () => undefined

const notes = ({ repairs }: Undone): number => flattened(repairs).filter(({ kind }) => isTold(kind)).length

const flattened = (undoings: Undoings, all: Array<Undoing> = []): Array<Undoing> => {
  if ("kind" in undoings) all.push(undoings)
  else for (const part of undoings) flattened(part, all)
  return all
}
