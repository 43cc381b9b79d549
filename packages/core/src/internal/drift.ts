/**
 * Undoes what models do to values on the way to a JSON Schema, where there is one reading.
 *
 * At each value, in this order: what fits stays; a wrapper is taken off; keys are renamed; children are undone,
 * choices and leaves by their readings; what is optional and cannot be is dropped. A reading counts only if it
 * fits, and of a union only if it fits one member: two guesses are never stacked.
 */
import type * as JsonSchema from "effect/JsonSchema"
import type * as Schema from "effect/Schema"
import type { Conformance } from "./conformance.ts"
import { isEqual } from "./constraint.ts"
import { allowsKind, at, extraOf, itemOf, propertiesOf, requiredOf } from "./form.ts"
import { strictly } from "./jsonReader.ts"
import { isBlank, type Reading, readingsOf } from "./leaf.ts"
import {
  deepest,
  folded,
  isList,
  isRecord,
  keyOf,
  kindOf,
  type List,
  nameOf,
  type Path,
  type Record,
  show,
  type Value
} from "./written.ts"

/** What was undone, and where. */
export interface Undoing extends Pick<Reading, "kind" | "note"> {
  readonly path: Path
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
  schema: JsonSchema.JsonSchema,
  conformance: Conformance,
  numberAt: (path: Path) => string | undefined
): Undone => {
  const { fits, forms } = conformance
  const showAt = (path: Path) => (value: Value) => (forms.isSecretAt(path) ? kindOf : show)(value)
  const memory = { all: new WeakMap(), silent: new WeakMap(), inner: new WeakMap() } satisfies { [E in Extent]: Memory }

  let depth = 0
  const within = (value: Value, schema: unknown, path: Path, extent: Extent): Undone => {
    if (fits(value, schema) || !conformance.spend(2) || depth > 2 * deepest) return unchanged(value)
    depth++
    const undone = typeof value !== "object" || value === null
      ? ofPrimitive(value, schema, path, extent)
      : remembered(value, schema, path, extent)
    depth--
    return undone
  }

  // A primitive has no way out of a schema that refers to itself.
  let open = new Set<unknown>()
  const ofPrimitive = (value: Value, schema: unknown, path: Path, extent: Extent): Undone => {
    if (open.has(schema)) return unchanged(value)
    open.add(schema)
    const undone = reading(value, forms.flat(schema), schema, path, extent)
    open.delete(schema)
    return undone
  }

  const remembered = (value: object & Value, schema: unknown, path: Path, extent: Extent): Undone => {
    const known = memory[extent].get(value) ?? new Map<unknown, Undone>()
    memory[extent].set(value, known)
    const earlier = known.get(schema)
    if (earlier !== undefined) return earlier
    // What refers to itself without a step into the value gets no further.
    known.set(schema, unchanged(value))
    const outside = open
    open = new Set()
    const undone = reading(value, forms.flat(schema), schema, path, extent)
    open = outside
    known.set(schema, undone)
    return undone
  }

  const reading = (value: Value, flat: JsonSchema.JsonSchema, schema: unknown, path: Path, extent: Extent): Undone => {
    const members = forms.members(flat)
    if (members !== undefined) return ofUnion(value, members, schema, path, extent)
    if (isRecord(value) && allowsKind(flat, value)) return ofRecord(value, flat, schema, path, extent)
    if (isList(value) && allowsKind(flat, value)) return ofList(value, flat, path, extent)
    return ofLeaf(value, flat, schema, path, extent)
  }

  // ---------------------------------------------------------------------------
  // Unions
  // ---------------------------------------------------------------------------

  const ofUnion = (
    value: Value,
    members: ReadonlyArray<JsonSchema.JsonSchema>,
    schema: unknown,
    path: Path,
    extent: Extent
  ): Undone => {
    const meant: Array<Undone> = []
    for (const member of members) {
      const undone = within(value, member, path, extent)
      if (undone.value === value || !fits(undone.value, schema)) continue
      const same = meant.findIndex((other) => isEqual(other.value, undone.value))
      if (same === -1) meant.push(undone)
      else if (notes(undone) < notes(meant[same]!)) meant[same] = undone
    }
    if (meant.length === 1) return meant[0]!
    if (meant.length > 1 || !isRecord(value) && !isList(value)) return unchanged(value)
    const likely = forms.likely(value, members)
    return likely === undefined ? unchanged(value) : within(value, likely, path, extent)
  }

  // ---------------------------------------------------------------------------
  // Objects
  // ---------------------------------------------------------------------------

  const ofRecord = (
    value: Record,
    flat: JsonSchema.JsonSchema,
    schema: unknown,
    path: Path,
    extent: Extent
  ): Undone => {
    const unwrapped = extent === "all" ? withoutWrapper(value, flat, schema, path) : undefined
    if (unwrapped !== undefined) return unwrapped
    const properties = propertiesOf(flat)
    const required = new Set(requiredOf(flat))
    const strangers = strangersOf(value, properties)
    const meant = extent === "all" ? renamed(value, flat, strangers, required) : new Map<string, string>()
    const repairs: Array<Undoing> = []
    const dropped: Array<Undoing> = []
    const entries: Array<readonly [string, Value]> = []
    const kept: Array<readonly [string, Value]> = []
    for (const written of Object.keys(value)) {
      const key = meant.get(written) ?? written
      const child = value[written]!
      const isDeclared = Object.hasOwn(properties, key)
      const inner = isDeclared ? properties[key] : extraOf(flat, key)
      const place = [...path, written]
      if (key !== written) repairs.push({ kind: "renamed_key", path: place, note: () => spelled(key, written) })
      const undone = within(child, inner, place, extent)
      kept.push([key, undone.value])
      // Beside a key that is spelled like it, it is not clear which of the two was meant.
      const drop =
        isDeclared && !required.has(key) && undone.value === child && (key !== written || !strangers.has(folded(key)))
          ? dropping(child, inner, place, extent)
          : undefined
      if (drop !== undefined) dropped.push(drop)
      else {
        entries.push([key, undone.value])
        append(repairs, undone.repairs)
      }
    }
    // What would be a wrapper without what was dropped is not to be taken for one later.
    const isBare = entries.length === 1 && kept.length > 1 && wrappers.has(entries[0]![0]) &&
      !Object.hasOwn(properties, entries[0]![0])
    if (!isBare) append(repairs, dropped)
    return repairs.length === 0 ? unchanged(value) : { value: Object.fromEntries(isBare ? kept : entries), repairs }
  }

  const withoutWrapper = (
    value: Record,
    flat: JsonSchema.JsonSchema,
    schema: unknown,
    path: Path
  ): Undone | undefined => {
    const [wrapper, ...others] = Object.keys(value)
    if (wrapper === undefined || others.length > 0 || !wrappers.has(wrapper) || isDeclared(wrapper, flat)) {
      return undefined
    }
    const content = value[wrapper]!
    const isText = typeof content === "string"
    const inner: Value | undefined = isText ? textOf(content) : content
    if (inner === undefined || !isRecord(inner)) return undefined
    const undone = within(inner, schema, [...path, wrapper], isText ? "inner" : "silent")
    if (!fits(undone.value, schema)) return undefined
    const note = () => `${path.length === 0 ? "the arguments" : nameOf(path)} go without '${wrapper}' around them`
    return { value: undone.value, repairs: [{ kind: "wrapper", path: [...path, wrapper], note }, ...undone.repairs] }
  }

  const isDeclared = (key: string, flat: JsonSchema.JsonSchema): boolean =>
    Object.hasOwn(propertiesOf(flat), key) || typeof extraOf(flat, key) === "object"

  // From keys as they were written to those that they mean.
  const renamed = (
    value: Record,
    flat: JsonSchema.JsonSchema,
    strangers: ReadonlyMap<string, Strangers>,
    required: ReadonlySet<string>
  ): ReadonlyMap<string, string> =>
    new Map(
      Array.from(strangers.values()).flatMap(
        ({ keys: [source = "", ...others], targets: [target = "", ...rivals] }) => {
          const isUnknown = extraOf(flat, source) === false
          const isMeant = others.length === 0 && rivals.length === 0 && !Object.hasOwn(value, target) &&
            (isUnknown || required.has(target)) && !isOfPrototype(source) && !isOfPrototype(target)
          return isMeant ? [[source, target]] : []
        }
      )
    )

  const dropping = (child: Value, inner: unknown, path: Path, extent: Extent): Undoing | undefined => {
    if (child !== null && (extent !== "all" || !isBlank(child)) || fits(child, inner)) return undefined
    return child === null
      ? { kind: "null_for_optional", path }
      : {
        kind: "blank_for_optional",
        path,
        note: () => `${nameOf(path)} is optional: leave it out instead of ${showAt(path)(child)}`
      }
  }

  // ---------------------------------------------------------------------------
  // Arrays and leaves
  // ---------------------------------------------------------------------------

  const ofList = (value: List, flat: JsonSchema.JsonSchema, path: Path, extent: Extent): Undone => {
    const repairs: Array<Undoing> = []
    const items = value.map((item, index) => {
      const undone = within(item, itemOf(flat, index), [...path, index], extent)
      append(repairs, undone.repairs)
      return undone.value
    })
    return repairs.length === 0 ? unchanged(value) : { value: items, repairs }
  }

  const ofLeaf = (
    value: Value,
    flat: JsonSchema.JsonSchema,
    schema: unknown,
    path: Path,
    extent: Extent
  ): Undone => {
    if (typeof value === "string" && extent !== "inner") {
      const undone = fromText(value, flat, schema, path, extent)
      if (undone !== undefined) return undone
    }
    const token = () => extent === "inner" ? undefined : numberAt(path)
    const written = { value, path, token, show: showAt(path) }
    for (const { kind, note, value: meant } of readingsOf(written, flat)) {
      if ((note === undefined || extent === "all") && fits(meant, schema)) {
        return { value: meant, repairs: [{ kind, path, ...(note === undefined ? {} : { note }) }] }
      }
    }
    return unchanged(value)
  }

  // An array or an object as strict JSON.
  const fromText = (
    text: string,
    flat: JsonSchema.JsonSchema,
    schema: unknown,
    path: Path,
    extent: Extent
  ): Undone | undefined => {
    const { type } = flat
    if (type !== "array" && type !== "object") return undefined
    const value = textOf(text)
    if (value === undefined || (type === "array" ? !isList(value) : !isRecord(value))) return undefined
    if (fits(value, schema)) {
      return { value, repairs: [{ kind: type === "array" ? "text_for_array" : "text_for_object", path }] }
    }
    if (extent !== "all") return undefined
    const undone = within(value, schema, path, "inner")
    if (!fits(undone.value, schema)) return undefined
    const note = () =>
      `${nameOf(path)} is an ${type}: send it as JSON, not as a text, and its values in their own types`
    return { value: undone.value, repairs: [{ kind: "text_with_drift", path, note }, ...undone.repairs] }
  }

  // A long text costs as much as a large value; what is no JSON at first sight costs nothing.
  const textOf = (text: string): Schema.Json | undefined => {
    if (!/^\s*[[{]/.test(text) || !conformance.spend(text.length >> 3)) return undefined
    const read = strictly(text)
    return "kind" in read || read.hasUnsafeInteger ? undefined : read.value
  }

  return within(value, schema, [], "all")
}

type Memory = WeakMap<object, Map<unknown, Undone>>

const unchanged = (value: Value): Undone => ({ value, repairs: none })

const none: ReadonlyArray<Undoing> = []

const notes = ({ repairs }: Undone): number => repairs.filter(({ note }) => note !== undefined).length

/** Keys that models put around the arguments. */
export const wrappers: ReadonlySet<string> = new Set([
  "arguments",
  "args",
  "parameters",
  "params",
  "input",
  "properties"
])

const isOfPrototype = (key: string): boolean => at(Object.prototype, key) !== undefined || key === "prototype"

const longestKey = 200

const spelled = (key: string, written: string): string => `${nameOf([key])} was written as ${keyOf(written)}`

/** Keys that no property has, and those that are written like them. */
interface Strangers {
  readonly keys: Array<string>
  readonly targets: ReadonlyArray<string>
}

const strangersOf = (value: Record, properties: JsonSchema.JsonSchema): ReadonlyMap<string, Strangers> => {
  const targets = new Map<string, Array<string>>()
  for (const key of Object.keys(properties)) push(targets, folded(key), key)
  const strangers = new Map<string, Strangers>()
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(properties, key) || key.length > longestKey) continue
    const fold = folded(key)
    const meant = fold === "" ? undefined : targets.get(fold)
    if (meant === undefined) continue
    const known = strangers.get(fold)
    if (known === undefined) strangers.set(fold, { keys: [key], targets: meant })
    else known.keys.push(key)
  }
  return strangers
}

const push = (lists: Map<string, Array<string>>, key: string, item: string): void => {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [item])
  else list.push(item)
}

// A spread would put each on the stack.
const append = <A>(all: Array<A>, more: ReadonlyArray<A>): void => {
  for (const one of more) all.push(one)
}
