/**
 * Undoes what models do to values on the way to a JSON Schema, where there is one reading.
 *
 * At each value, in this order: what fits stays; a wrapper is taken off; keys are renamed; children are undone,
 * choices and leaves by their readings; what is optional and cannot be is dropped. A reading counts only if it
 * fits, and of a union only if it fits one member: two guesses are never stacked.
 */
import type { Json, JsonSchema } from "../json.ts"
import { deepest } from "../options.ts"
import { isTold, type ValueRepairKind } from "../repair.ts"
import type { Conformance } from "../schema/conformance.ts"
import { allowsKind, extraOf, isRequired, itemOf, propertiesOf } from "../schema/document.ts"
import { isEqual } from "../schema/equal.ts"
import { plainly } from "../text/reader.ts"
import { isList, isRecord, type List, type NumberAt, pathOf, type Place, type Record, type Value } from "../value.ts"
import { isBlank, readingsOf } from "./reading.ts"
import { mayBecome, respelled } from "./spelling.ts"
import { wrapperOf, wrappers } from "./wrapper.ts"

/** What was undone, and where. */
export interface Undoing {
  readonly kind: ValueRepairKind
  readonly place: Place | undefined
  /** What was written, and what it was read as: a value, or a key. */
  readonly from: Value
  readonly to: Value
}

/** A value and what was undone to get it; the same reference and nothing where nothing was. */
export interface Undone {
  readonly value: Value
  readonly repairs: ReadonlyArray<Undoing>
}

/** How much is undone: everything; what needs no word; the same within a text, which is not read again. */
type Extent = "all" | "silent" | "inner"

/** Undoes the drifts of one value. */
export const undo = (
  value: Value,
  schema: JsonSchema,
  conformance: Conformance,
  numberAt: NumberAt
): Undone => {
  const { document, fits } = conformance
  const memory = { all: new Map(), silent: new Map(), inner: new Map() } satisfies { [E in Extent]: Memory }

  let depth = 0
  const within = (value: Value, schema: unknown, place: Place | undefined, extent: Extent): Undone => {
    if (fits(value, schema) || !conformance.spend(2) || depth > 2 * deepest) return unchanged(value)
    depth++
    const undone = typeof value !== "object" || value === null
      ? ofPrimitive(value, schema, place, extent)
      : remembered(value, schema, place, extent)
    depth--
    return undone
  }

  // A primitive has no way out of a schema that refers to itself.
  let open = new Set<unknown>()
  const ofPrimitive = (value: Value, schema: unknown, place: Place | undefined, extent: Extent): Undone => {
    if (open.has(schema)) return unchanged(value)
    open.add(schema)
    const undone = reading(value, document.flat(schema), schema, place, extent)
    open.delete(schema)
    return undone
  }

  const remembered = (value: object & Value, schema: unknown, place: Place | undefined, extent: Extent): Undone => {
    const memories: Memory = memory[extent]
    const known = memories.get(schema) ?? new Map<object, Undone>()
    memories.set(schema, known)
    const earlier = known.get(value)
    if (earlier !== undefined) return earlier
    // What refers to itself without a step into the value gets no further.
    known.set(value, unchanged(value))
    const outside = open
    if (outside.size > 0) open = new Set()
    const undone = reading(value, document.flat(schema), schema, place, extent)
    open = outside
    if (undone.value !== value) known.set(value, undone)
    return undone
  }

  const reading = (
    value: Value,
    flat: JsonSchema,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone => {
    const members = document.members(flat)
    if (members !== undefined) return ofUnion(value, members, schema, place, extent)
    if (isRecord(value) && allowsKind(flat, value)) return ofRecord(value, flat, schema, place, extent)
    if (isList(value) && allowsKind(flat, value)) return ofList(value, flat, place, extent)
    return ofLeaf(value, flat, schema, place, extent)
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
  ): Undone => {
    const meant: Array<Undone> = []
    for (const member of members) {
      if (isRecord(value) && !mayBecome(value, member)) continue
      const undone = within(value, member, place, extent)
      if (undone.value === value || !fits(undone.value, schema)) continue
      const same = meant.findIndex((other) => isEqual(other.value, undone.value))
      if (same === -1) meant.push(undone)
      else if (notes(undone) < notes(meant[same]!)) meant[same] = undone
    }
    if (meant.length === 1) return meant[0]!
    if (meant.length > 1 || !isRecord(value) && !isList(value)) return unchanged(value)
    const likely = document.likely(value, members)
    return likely === undefined ? unchanged(value) : within(value, likely, place, extent)
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
  ): Undone => {
    const unwrapped = extent === "all" ? withoutWrapper(value, flat, schema, place) : undefined
    if (unwrapped !== undefined) return unwrapped
    const properties = propertiesOf(flat)
    const { isRival, meant } = respelled(value, flat)
    const repairs: Array<Undoing> = []
    const dropped: Array<Undoing> = []
    const entries: Array<readonly [key: string, value: Value, drop: Undoing | undefined]> = []
    for (const written of Object.keys(value)) {
      const key = extent === "all" ? meant.get(written) ?? written : written
      const child = value[written]!
      const isDeclared = Object.hasOwn(properties, key)
      const inner = isDeclared ? properties[key] : extraOf(flat, key)
      const at = { above: place, key: written }
      if (key !== written) repairs.push({ kind: "renamed_key", place: at, from: written, to: key })
      const undone = within(child, inner, at, extent)
      // Beside a key that is spelled like it, it is not clear which of the two was meant.
      const drop = isDeclared && undone.value === child && (key !== written || !isRival(key)) && !isRequired(key, flat)
        ? dropping(child, inner, at, extent)
        : undefined
      entries.push([key, undone.value, drop])
      if (drop !== undefined) dropped.push(drop)
      else append(repairs, undone.repairs)
    }
    if (dropped.length === 0) return repairs.length === 0 ? unchanged(value) : { value: recordOf(entries), repairs }
    const kept = entries.filter(([, , drop]) => drop === undefined)
    const [only] = kept
    // What would be a wrapper without what was dropped is not to be taken for one later.
    const isBare = kept.length === 1 && only !== undefined && wrappers.has(only[0]) &&
      !Object.hasOwn(properties, only[0])
    if (isBare) return repairs.length === 0 ? unchanged(value) : { value: recordOf(entries), repairs }
    append(repairs, dropped)
    return { value: recordOf(kept), repairs }
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
    if (!fits(undone.value, schema)) return undefined
    const repair: Undoing = { kind: "wrapper", place: { above: place, key: wrapper }, from: wrapper, to: undone.value }
    return { value: undone.value, repairs: [repair, ...undone.repairs] }
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

  const ofList = (value: List, flat: JsonSchema, place: Place | undefined, extent: Extent): Undone => {
    const repairs: Array<Undoing> = []
    const items = value.map((item, index) => {
      const undone = within(item, itemOf(flat, index), { above: place, key: index }, extent)
      append(repairs, undone.repairs)
      return undone.value
    })
    return repairs.length === 0 ? unchanged(value) : { value: items, repairs }
  }

  const ofLeaf = (
    value: Value,
    flat: JsonSchema,
    schema: unknown,
    place: Place | undefined,
    extent: Extent
  ): Undone => {
    if (typeof value === "string" && extent !== "inner") {
      const undone = fromText(value, flat, schema, place, extent)
      if (undone !== undefined) return undone
    }
    const token = () => extent === "inner" ? undefined : numberAt(pathOf(place))
    for (const { from = value, kind, to } of readingsOf({ value, place, token }, flat)) {
      if ((extent === "all" || !isTold(kind)) && fits(to, schema)) {
        return { value: to, repairs: [{ kind, place, from, to }] }
      }
    }
    return unchanged(value)
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
      return { value, repairs: [{ kind, place, from: text, to: value }] }
    }
    if (extent !== "all") return undefined
    const undone = within(value, schema, place, "inner")
    if (!fits(undone.value, schema)) return undefined
    const repair: Undoing = { kind: "text_with_drift", place, from: text, to: undone.value }
    return { value: undone.value, repairs: [repair, ...undone.repairs] }
  }

  // A long text costs as much as a large value; what is no JSON at first sight costs nothing.
  const textOf = (text: string): Json | undefined => {
    if (!mayBeJson.test(text) || !conformance.spend(text.length >> 3)) return undefined
    const read = plainly(text, { depth: deepest })
    return "kind" in read || read.hasUnsafeInteger ? undefined : read.value
  }

  return within(value, schema, undefined, "all")
}

type Memory = Map<unknown, Map<object, Undone>>

const mayBeJson = /^\s*(?:\[\s*(?:["[\]{\-\dtfn]|$)|\{\s*(?:["}]|$))/

// An own key may be called `__proto__`: it is defined, never assigned.
const recordOf = (
  entries: ReadonlyArray<readonly [key: string, value: Value, ...rest: ReadonlyArray<unknown>]>
): Record => {
  const record: { [key: string]: Value } = {}
  for (const [key, value] of entries) {
    if (key === "__proto__") {
      Object.defineProperty(record, key, { value, configurable: true, enumerable: true, writable: true })
    } else record[key] = value
  }
  return record
}

const unchanged = (value: Value): Undone => ({ value, repairs: none })

const none: ReadonlyArray<Undoing> = []

const notes = ({ repairs }: Undone): number => repairs.filter(({ kind }) => isTold(kind)).length

// A spread would put each on the stack.
const append = <A>(all: Array<A>, more: ReadonlyArray<A>): void => {
  for (const one of more) all.push(one)
}
