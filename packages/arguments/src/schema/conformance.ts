/**
 * Does a value fit a JSON Schema, and where not?
 *
 * One walk answers both: without a sink it stops at the first misfit, with one it goes on and reports one misfit for each field.
 *
 * Why a budget? A recursive union makes a walk try every member at every level. What was found of an object and a
 * schema is remembered, which makes that linear; the budget is for what memory does not catch. It grows with the value. A value that
 * exhausts it does not fit.
 */
import { isObject, type JsonSchema, type Path } from "../json.ts"
import { deepest } from "../options.ts"
import { isList, isRecord, type List, own, pathOf, type Place, type Record, Unsafe, type Value } from "../value.ts"
import { checkOf, type Complaint } from "./check.ts"
import {
  type Document,
  documentOf,
  extraOf,
  itemOf,
  nearest,
  patternsFor,
  propertiesOf,
  requiredOf,
  valueAt
} from "./document.ts"
import { Gathered, type Group } from "./gathered.ts"

/** What was found of a value by a schema, and by the next one. */
interface Answer {
  readonly schema: unknown
  fits: boolean
  readonly next: Answer | undefined
}

/** What is the matter with a field. */
export interface Misfit {
  readonly path: Path
  readonly kind: Complaint | "missing_key" | "unknown_key" | "key_name" | "union" | "count" | "contains" | "complex"
  /** What the field should have been; of a key, what the object should have been. */
  readonly schema: unknown
  /** All that is asked of what stands there, as far as it is known. */
  readonly whole: unknown
  readonly value: Value | undefined
  /** Of a key: the object that has it, or has it not, and the keys that this may have. */
  readonly parent?: Record
  readonly keys?: ReadonlyArray<string>
}

export interface Conformance {
  readonly document: Document
  readonly fits: (value: Value, schema: unknown) => boolean
  /** Of at most `limit` fields; nothing when it fits. */
  readonly misfits: (value: Value, schema: unknown, limit: number) => Misfits
  /** Takes from the budget; false when there is none left. */
  readonly spend: (visits: number) => boolean
}

/** What is wrong with a value. `unions`: the places of unions of which one member was spoken of for all. */
export interface Misfits {
  readonly fields: ReadonlyArray<Group<Misfit>>
  readonly unions: ReadonlyArray<Place | undefined>
  /** Were all of them looked at? */
  readonly isWhole: boolean
}

interface Sink {
  readonly found: Gathered<Misfit>
  readonly unions: Array<Place | undefined>
  /** How many more misfits are counted. */
  left: number
  /** The schema of the value that is being walked, of which others may be parts. */
  whole: unknown
  /** By which schemas a value was walked. */
  readonly told: Map<object, Set<unknown>>
}

const leastBudget = 200_000
// As many as schemas of use ask for; of a large one, as many as it has parts.
const visitsPerValue = 100

const fewVisits = 8

/** So many misfits are counted; of more, nothing more would be told. */
export const mostMisfits = 1000

// A walk is deeper than its value where it goes through references and unions.
const deepestWalk = 3 * deepest

// So many references and unions lead from a value to itself only where they go round in circles.
const mostDetours = 256

/** Checks a value against one document, whose definitions are inside. */
export const conformanceTo = (root: JsonSchema, value: Value): Conformance => {
  const document = documentOf(root)
  const size = count(value, 0)
  let left = leastBudget + Math.max(visitsPerValue, document.size) * Math.abs(size)
  // Where anything fits, nothing need be looked for.
  const isShallow = size > 0
  let depth = 0
  let detours = 0
  let open = new Set<unknown>()
  const known = new Map<object, Answer>()

  const spend = (visits: number): boolean => (left -= visits) >= 0

  const report = (
    sink: Sink | undefined,
    place: Place | undefined,
    kind: Misfit["kind"],
    value: Value | undefined,
    schema: unknown,
    of: Partial<Pick<Misfit, "parent" | "keys" | "whole">> = {}
  ): false => {
    if (sink !== undefined) {
      sink.left--
      sink.found.add(place, () => ({ path: pathOf(place), kind, schema, whole: sink.whole, value, ...of }))
    }
    return false
  }

  const visit = (value: Value, schema: unknown, place: Place | undefined, sink: Sink | undefined): boolean => {
    if (left-- <= 0 || depth > deepestWalk || detours > mostDetours) {
      return report(sink, place, "complex", value, schema)
    }
    if (sink !== undefined && typeof value === "object" && value !== null && isToldOf(value, schema, sink)) {
      return tested(value, schema)
    }
    if (value instanceof Unsafe) return report(sink, place, "type", value, schema)
    if (schema === false) return report(sink, place, "type", value, schema)
    depth++
    const fits = isObject(schema)
      ? visitNode(value, schema, place, sink)
      : typeof value !== "object" || value === null || visitChildren(value, anything, place, sink)
    depth--
    return fits
  }

  // What fits has nothing to be told, and what several parts of a schema refer to is told once.
  const isToldOf = (value: Value & object, schema: unknown, sink: Sink): boolean => {
    if (tested(value, schema)) return true
    const told = sink.told.get(value) ?? new Set()
    sink.told.set(value, told)
    if (told.has(schema)) return true
    told.add(schema)
    return false
  }

  const visitNode = (value: Value, schema: JsonSchema, place: Place | undefined, sink: Sink | undefined): boolean => {
    // As OpenAPI 3.0 says that there may be nothing.
    if (value === null && schema["nullable"] === true) return true
    const { complaintOf, hasParts } = checkOf(schema)
    const complaint = complaintOf(value)
    if (complaint !== undefined) {
      report(sink, place, complaint, value, schema)
      if (sink === undefined || complaint !== "bound") return false
    }
    const fits = !hasParts || visitParts(value, schema, place, sink)
    if (!fits && sink === undefined) return false
    const isWhole = typeof value !== "object" || value === null || visitChildren(value, schema, place, sink)
    return isWhole && fits && complaint === undefined
  }

  const visitChildren = (
    value: Value & object,
    schema: JsonSchema,
    place: Place | undefined,
    sink: Sink | undefined
  ): boolean => {
    const before = detours
    const outside = open
    if (outside.size > 0) open = new Set()
    detours = 0
    const fits = isList(value)
      ? visitItems(value, schema, place, sink)
      : isRecord(value)
      ? visitKeys(value, schema, place, sink)
      : true
    detours = before
    open = outside
    return fits
  }

  // ---------------------------------------------------------------------------
  // The same value by other schemas
  // ---------------------------------------------------------------------------

  const visitParts = (value: Value, schema: JsonSchema, place: Place | undefined, sink: Sink | undefined): boolean => {
    const { $ref, allOf, anyOf, not, oneOf } = schema
    let fits = true
    if (typeof $ref === "string") fits = test(value, document.resolve(schema), place, sink) && fits
    if (Array.isArray(allOf)) { for (const part of allOf) fits = test(value, part, place, sink) && fits }
    if (schema["if"] !== undefined) {
      const branch = schema[tested(value, schema["if"]) ? "then" : "else"]
      if (branch !== undefined) fits = test(value, branch, place, sink) && fits
    }
    if (not !== undefined && tested(value, not)) fits = report(sink, place, "union", value, schema)
    if (Array.isArray(anyOf) && !anyOf.some((member) => tested(value, member))) {
      fits = reportUnion(value, schema, anyOf, place, sink)
    }
    if (Array.isArray(oneOf)) {
      const count = oneOf.filter((member) => tested(value, member)).length
      if (count > 1) fits = report(sink, place, "count", value, schema)
      else if (count === 0) fits = reportUnion(value, schema, oneOf, place, sink)
    }
    return fits
  }

  // Of no member of the union: told of the one that was meant, where that is plain.
  const reportUnion = (
    value: Value,
    schema: JsonSchema,
    alternatives: ReadonlyArray<unknown>,
    place: Place | undefined,
    sink: Sink | undefined
  ): boolean => {
    if (sink === undefined) return false
    sink.unions.push(place)
    const before = sink.found.count
    const flat = alternatives.map((member) => document.flat(member))
    const likely = document.likely(value, flat)
    const members = document.members(schema) ?? []
    const tag = likely === undefined && isRecord(value) ? document.tag(members) : undefined
    const isUntagged = tag !== undefined && isRecord(value) && !tag.choices.includes(own(value, tag.key))
    const meant = likely ?? (isRecord(value) && !isUntagged ? nearest(value, flat) : undefined)
    if (meant !== undefined && (isRecord(value) || isList(value))) aside(value, meant, place, sink)
    else if (isUntagged) {
      const [written, inner] = [own(value, tag.key), { above: place, key: tag.key }]
      const choices = { enum: tag.choices }
      report(sink, inner, written === undefined ? "missing_key" : "choice", written, choices, {
        whole: choices,
        parent: value,
        keys: [tag.key]
      })
      reportUnknown(value, schema, members.filter(({ type }) => type === "object"), place, sink)
    } else report(sink, place, "union", value, schema)
    if (before === 0 && sink.found.count === 0) report(sink, place, "union", value, undefined)
    return false
  }

  // The keys that no member of the union has.
  const reportUnknown = (
    value: Record,
    schema: JsonSchema,
    members: ReadonlyArray<JsonSchema>,
    place: Place | undefined,
    sink: Sink
  ): void => {
    const keys = Array.from(new Set(members.flatMap((member) => Object.keys(propertiesOf(member)))))
    for (const key of Object.keys(value)) {
      if (keys.includes(key) || !members.every((member) => extraOf(member, key) === false)) continue
      report(sink, { above: place, key }, "unknown_key", value[key], schema, { parent: value, keys })
    }
  }

  // ---------------------------------------------------------------------------
  // The parts of a value
  // ---------------------------------------------------------------------------

  const visitItems = (value: List, schema: JsonSchema, place: Place | undefined, sink: Sink | undefined): boolean => {
    let fits = true
    for (let index = 0; index < value.length; index++) {
      if (sink !== undefined && sink.left <= 0) return false
      const inner = sink === undefined ? undefined : { above: place, key: index }
      if (visitPart(value[index]!, itemOf(schema, index), inner, sink)) continue
      if (sink === undefined) return false
      fits = false
    }
    if (schema["contains"] !== undefined && !isContaining(value, schema)) {
      fits = report(sink, place, "contains", value, schema)
    }
    if (schema["unevaluatedItems"] === undefined) return fits
    const evaluated = evaluatedItems(value, schema)
    return value.reduce<boolean>(
      (fits, item, index) =>
        evaluated.has(index) || visitPart(item, schema["unevaluatedItems"], { above: place, key: index }, sink)
          ? fits
          : false,
      fits
    )
  }

  const isContaining = (value: List, schema: JsonSchema): boolean => {
    const { maxContains = Infinity, minContains = 1 } = schema
    const count = value.filter((item) => tested(item, schema["contains"])).length
    return count >= Number(minContains) && count <= Number(maxContains)
  }

  const visitKeys = (value: Record, schema: JsonSchema, place: Place | undefined, sink: Sink | undefined): boolean => {
    const { declared, isPlain } = checkOf(schema)
    const properties = propertiesOf(schema)
    if (sink === undefined && isPlain) return fitsKeys(value, schema, properties, declared)
    let fits = true
    const isDone = () => !fits && (sink === undefined || (sink.left <= 0 || sink.found.isFull(place)))
    // What is missing is told before what is too much.
    for (const key of requiredBy(value, schema)) {
      if (Object.hasOwn(value, key)) continue
      fits = report(sink, { above: place, key }, "missing_key", undefined, valueAt(properties, key), {
        parent: value,
        keys: declared
      })
      if (isDone()) return false
    }
    for (const key of declared) {
      if (!Object.hasOwn(value, key)) continue
      fits = visitPart(value[key]!, properties[key], sink && { above: place, key }, sink) && fits
      if (isDone()) return false
    }
    const names = schema["propertyNames"]
    const hasPatterns = schema["patternProperties"] !== undefined
    const extra = schema["additionalProperties"]
    for (const key of Object.keys(value)) {
      const inner = sink && { above: place, key }
      const isDeclared = Object.hasOwn(properties, key)
      if (names !== undefined && !tested(key, names)) {
        fits = report(sink, inner, "key_name", value[key], names)
      } else if (hasPatterns || !isDeclared) {
        const matching = hasPatterns ? patternsFor(schema, key) : nothing
        for (const pattern of matching) fits = visitPart(value[key]!, pattern, inner, sink) && fits
        if (!isDeclared && matching.length === 0) {
          fits = extra === false
            ? report(sink, inner, "unknown_key", value[key], schema, { parent: value, keys: declared })
            : visitPart(value[key]!, extra, inner, sink) && fits
        }
      }
      if (isDone()) return false
    }
    for (const dependent of dependentOn(value, schema)) fits = test(value, dependent, place, sink) && fits
    return schema["unevaluatedProperties"] === undefined ? fits : visitUnevaluated(value, schema, place, sink) && fits
  }

  // The same where nobody is told, for an object with properties and little else, as nearly all are.
  const fitsKeys = (
    value: Record,
    schema: JsonSchema,
    properties: JsonSchema,
    declared: ReadonlyArray<string>
  ): boolean => {
    for (const key of requiredOf(schema)) if (!Object.hasOwn(value, key)) return false
    let others = Object.keys(value).length
    // Of a thousand properties a value may have three.
    for (const key of declared.length > 2 * others + 8 ? Object.keys(value) : declared) {
      if (!Object.hasOwn(value, key) || !Object.hasOwn(properties, key)) continue
      others--
      if (!tested(value[key]!, properties[key], false)) return false
    }
    const extra = schema["additionalProperties"]
    if (others === 0 || isShallow && (extra === undefined || extra === true)) return true
    return extra !== false &&
      Object.keys(value).every((key) => Object.hasOwn(properties, key) || tested(value[key]!, extra, false))
  }

  const visitUnevaluated = (
    value: Record,
    schema: JsonSchema,
    place: Place | undefined,
    sink: Sink | undefined
  ): boolean => {
    const evaluated = evaluatedKeys(value, schema)
    const rest = schema["unevaluatedProperties"]
    let fits = true
    for (const key of Object.keys(value)) {
      if (evaluated.has(key)) continue
      const inner = { above: place, key }
      fits = rest === false
        ? report(sink, inner, "unknown_key", value[key], schema, { parent: value, keys: Array.from(evaluated) })
        : visitPart(value[key]!, rest, inner, sink) && fits
    }
    return fits
  }

  // What was found of a container is remembered, so that no other look at it walks it again.
  const visitPart = (value: Value, schema: unknown, place: Place | undefined, sink: Sink | undefined): boolean =>
    sink === undefined ? tested(value, schema, false) : walked(value, schema, place, sink)

  const walked = (value: Value, schema: unknown, place: Place | undefined, sink: Sink): boolean => {
    const { whole } = sink
    sink.whole = schema
    const fits = visit(value, schema, place, sink)
    sink.whole = whole
    return fits
  }

  // ---------------------------------------------------------------------------
  // What other keywords have looked at
  // ---------------------------------------------------------------------------

  // The schemas that a value fits beside this one: what they evaluate counts.
  const beside = (value: Value, schema: JsonSchema): ReadonlyArray<JsonSchema> => {
    const { $ref, allOf, anyOf, oneOf } = schema
    const isMet = schema["if"] !== undefined && tested(value, schema["if"])
    const parts: ReadonlyArray<unknown> = [
      ...(typeof $ref === "string" ? [document.resolve(schema)] : []),
      ...[allOf, anyOf, oneOf].flatMap((members) => Array.isArray(members) ? members : []),
      ...(isMet ? [schema["if"], schema["then"]] : [schema["else"]]),
      ...(isRecord(value) ? dependentOn(value, schema) : [])
    ]
    return parts.filter(isObject).filter((part) => tested(value, part))
  }

  // What a schema has looked at that several others refer to counts once.
  const evaluatedKeys = (value: Record, schema: JsonSchema, seen = new Set<JsonSchema>()): Set<string> => {
    const found = new Set<string>()
    if (seen.has(schema)) return found
    seen.add(schema)
    const { additionalProperties } = schema
    for (const key of Object.keys(value)) {
      const isOwn = Object.hasOwn(propertiesOf(schema), key) || patternsFor(schema, key).length > 0
      if (isOwn || additionalProperties !== undefined) found.add(key)
    }
    for (const part of beside(value, schema)) {
      const isAll = part["unevaluatedProperties"] !== undefined
      for (const key of isAll ? Object.keys(value) : evaluatedKeys(value, part, seen)) found.add(key)
    }
    return found
  }

  const evaluatedItems = (value: List, schema: JsonSchema, seen = new Set<JsonSchema>()): Set<number> => {
    const found = new Set<number>()
    if (seen.has(schema)) return found
    seen.add(schema)
    const { additionalItems, contains, items, prefixItems = items } = schema
    const prefix = Array.isArray(prefixItems) ? prefixItems.length : 0
    const isRest = Array.isArray(items) ? additionalItems !== undefined : items !== undefined
    value.forEach((item, index) => {
      if (index < prefix || isRest || contains !== undefined && tested(item, contains)) found.add(index)
    })
    for (const part of beside(value, schema)) {
      const isAll = part["unevaluatedItems"] !== undefined
      for (const index of isAll ? value.keys() : evaluatedItems(value, part, seen)) found.add(index)
    }
    return found
  }

  // ---------------------------------------------------------------------------
  // Inside
  // ---------------------------------------------------------------------------

  const test = (value: Value, schema: unknown, place: Place | undefined, sink: Sink | undefined): boolean =>
    sink === undefined ? tested(value, schema) : aside(value, schema, place, sink)

  // The same value by another schema.
  const aside = (value: Value, schema: unknown, place: Place | undefined, sink: Sink | undefined): boolean => {
    detours++
    const fits = visit(value, schema, place, sink)
    detours--
    return fits
  }

  const tested = (value: Value, asked: unknown, isAside = true): boolean => {
    const schema = targetOf(asked)
    if (!isObject(schema)) return visit(value, schema, undefined, undefined)
    const { complaintOf, hasParts } = checkOf(schema)
    if (typeof value !== "object" || value === null) {
      if (hasParts) return guarded(value, schema)
      return left-- > 0 && (complaintOf(value) === undefined || value === null && schema["nullable"] === true)
    }
    const first = known.get(value)
    for (let answer = first; answer !== undefined; answer = answer.next) {
      if (answer.schema === schema) return answer.fits
    }
    const walk = isAside ? aside : visit
    if (!hasParts) {
      const before = left
      const fits = walk(value, schema, undefined, undefined)
      // To look at a few scalars once more costs less than to remember them.
      if (before - left > fewVisits) known.set(value, { schema, fits, next: known.get(value) })
      return fits
    }
    // What is asked of itself, without a step into the value, cannot fit.
    const answer: Answer = { schema, fits: false, next: first }
    known.set(value, answer)
    answer.fits = walk(value, schema, undefined, undefined)
    return answer.fits
  }

  // What a schema refers to that says nothing else.
  const targetOf = (schema: unknown): unknown => {
    let target = schema
    for (let hops = 0; hops < mostDetours && isObject(target) && checkOf(target).isReference; hops++) {
      target = document.resolve(target)
    }
    return target
  }

  // A scalar has no way out of a schema that refers to itself.
  const guarded = (value: Value, schema: unknown): boolean => {
    if (open.has(schema)) return false
    open.add(schema)
    const fits = aside(value, schema, undefined, undefined)
    open.delete(schema)
    return fits
  }

  return {
    document,
    fits: (value, schema) => tested(value, schema) && left > 0,
    misfits: (value, schema, limit) => {
      // What fits by one walk is not told of by another, whatever circles the schema goes round in.
      if (tested(value, schema) && left > 0) return { fields: [], unions: [], isWhole: true }
      const sink: Sink = { found: new Gathered(limit), unions: [], left: mostMisfits, whole: schema, told: new Map() }
      visit(value, schema, undefined, sink)
      if (sink.found.count === 0 || left <= 0) report(sink, undefined, "complex", value, undefined)
      return { fields: sink.found.groups(), unions: sink.unions, isWhole: sink.left > 0 }
    },
    spend
  }
}

const anything: JsonSchema = {}
const nothing: ReadonlyArray<never> = []

// How many values there are; negative where one of them fits nowhere, for its digits or its depth.
const count = (value: Value, depth: number): number => {
  if (typeof value !== "object" || value === null) return 1
  if (value instanceof Unsafe || depth > deepest) return -1
  let all = 1
  let sign = 1
  const add = (part: number) => {
    all += Math.abs(part)
    if (part < 0) sign = -1
  }
  if (isList(value)) { for (const item of value) add(count(item, depth + 1)) }
  else if (isRecord(value)) { for (const key of Object.keys(value)) add(count(value[key]!, depth + 1)) }
  return sign * all
}

/** The keys that an object with these keys must have. */
const requiredBy = (value: Record, schema: JsonSchema): ReadonlyArray<string> => {
  const required = requiredOf(schema)
  if (schema["dependentRequired"] === undefined && schema["dependencies"] === undefined) return required
  const more = [schema["dependentRequired"], schema["dependencies"]].flatMap((dependent) =>
    isObject(dependent) ? Object.entries(dependent).filter(([key]) => Object.hasOwn(value, key)) : []
  ).flatMap(([, keys]) => Array.isArray(keys) ? keys.filter((key) => typeof key === "string") : [])
  return more.length === 0 ? required : Array.from(new Set([...required, ...more]))
}

/** The schemas that an object with these keys has to fit. */
const dependentOn = (value: Record, schema: JsonSchema): ReadonlyArray<unknown> =>
  schema["dependentSchemas"] === undefined && schema["dependencies"] === undefined ?
    nothing :
    [schema["dependentSchemas"], schema["dependencies"]].flatMap((dependent) =>
      isObject(dependent)
        ? Object.entries(dependent).filter(([key, part]) => Object.hasOwn(value, key) && !Array.isArray(part))
          .map(([, part]) => part)
        : []
    )
