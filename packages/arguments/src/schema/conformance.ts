/**
 * Decides whether a value fits a JSON Schema, and where it does not.
 *
 * One walk does both. A *misfit* is a problem with one field, and a *sink* collects misfits. Without a sink,
 * the walk stops at the first misfit. With a sink, the walk continues, and reports one misfit for each field.
 *
 * Why a budget? In a recursive union, a walk tries every member at every level. Results are remembered by
 * value and schema, which usually keeps the time linear. The budget of visits bounds the time in all other
 * cases. A larger value has a larger budget. A value that exhausts its budget does not fit.
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

/** A remembered result: whether a value fits one schema. The results for a value form a linked list. */
interface Answer {
  readonly schema: unknown
  fits: boolean
  readonly next: Answer | undefined
}

/** A problem with one field. */
export interface Misfit {
  readonly path: Path
  readonly kind: Complaint | "missing_key" | "unknown_key" | "key_name" | "union" | "count" | "contains" | "complex"
  /** The schema that the field fails; for an unknown key, the schema of its object. */
  readonly schema: unknown
  /** The full schema of the field, if it is known. `schema` may be only a part of it. */
  readonly whole: unknown
  readonly value: Value | undefined
  /** For a missing or unknown key: the object (`parent`), and the keys that the object allows (`keys`). */
  readonly parent?: Record
  readonly keys?: ReadonlyArray<string>
}

export interface Conformance {
  readonly document: Document
  readonly fits: (value: Value, schema: unknown) => boolean
  /** Returns the misfits of at most `limit` fields; none if the value fits. */
  readonly misfits: (value: Value, schema: unknown, limit: number) => Misfits
  /** Spends visits from the budget. Returns false if the budget is exhausted. */
  readonly spend: (visits: number) => boolean
}

/**
 * The misfits of a value. `unions` has the places where the value fits no member of a union. For each of
 * them, the misfits of at most one member are reported.
 */
export interface Misfits {
  readonly fields: ReadonlyArray<Group<Misfit>>
  readonly unions: ReadonlyArray<Place | undefined>
  /** Whether all misfits were counted. */
  readonly isWhole: boolean
}

interface Sink {
  readonly found: Gathered<Misfit>
  readonly unions: Array<Place | undefined>
  /** How many more misfits may be counted. */
  remaining: number
  /** The full schema of the value that is being walked. The current schema may be only a part of it. */
  whole: unknown
  /** For each value, the schemas whose misfits were already reported. */
  readonly reported: Map<object, Set<unknown>>
}

const leastBudget = 200_000
// How many visits the budget has for each part of the value. This is enough for practical schemas. A schema
// with more subschemas gets one visit for each subschema.
const visitsPerValue = 100

const fewVisits = 8

/** The most misfits that are counted. Counting more would not change the report. */
export const maxMisfits = 1000

// References and unions make a walk deeper than its value.
const deepestWalk = 3 * deepest

// The most references and unions that are followed for one value. Only a circular schema has more.
const maxDetours = 256

/** Returns the functions that check a value against the schemas of one document (a schema with its definitions). */
export const conformanceTo = (root: JsonSchema, value: Value): Conformance => {
  const document = documentOf(root)
  const size = countValues(value, 0)
  let budget = leastBudget + Math.max(visitsPerValue, document.size) * Math.abs(size)
  // True if the value is not too deep, and no integer lost digits. A walk is then unnecessary where the
  // schema allows anything.
  const isShallow = size > 0
  let depth = 0
  let detours = 0
  let visiting = new Set<unknown>()
  const answers = new Map<object, Answer>()

  const spend = (visits: number): boolean => (budget -= visits) >= 0

  const report = (
    sink: Sink | undefined,
    place: Place | undefined,
    kind: Misfit["kind"],
    value: Value | undefined,
    schema: unknown,
    of: Partial<Pick<Misfit, "parent" | "keys" | "whole">> = {}
  ): false => {
    if (sink !== undefined) {
      sink.remaining--
      sink.found.add(place, () => ({ path: pathOf(place), kind, schema, whole: sink.whole, value, ...of }))
    }
    return false
  }

  const visit = (value: Value, schema: unknown, place: Place | undefined, sink: Sink | undefined): boolean => {
    if (budget-- <= 0 || depth > deepestWalk || detours > maxDetours) {
      return report(sink, place, "complex", value, schema)
    }
    if (sink !== undefined && typeof value === "object" && value !== null && needsNoReport(value, schema, sink)) {
      return conforms(value, schema)
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

  // True if the value fits this schema, or was already reported for it: several parts may refer to the same schema.
  const needsNoReport = (value: Value & object, schema: unknown, sink: Sink): boolean => {
    if (conforms(value, schema)) return true
    const schemas = sink.reported.get(value) ?? new Set()
    sink.reported.set(value, schemas)
    if (schemas.has(schema)) return true
    schemas.add(schema)
    return false
  }

  const visitNode = (value: Value, schema: JsonSchema, place: Place | undefined, sink: Sink | undefined): boolean => {
    // OpenAPI 3.0: `nullable` allows null.
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
    const outerVisiting = visiting
    if (outerVisiting.size > 0) visiting = new Set()
    detours = 0
    const fits = isList(value)
      ? visitItems(value, schema, place, sink)
      : isRecord(value)
      ? visitKeys(value, schema, place, sink)
      : true
    detours = before
    visiting = outerVisiting
    return fits
  }

  // ---------------------------------------------------------------------------
  // The same value with other schemas
  // ---------------------------------------------------------------------------

  const visitParts = (value: Value, schema: JsonSchema, place: Place | undefined, sink: Sink | undefined): boolean => {
    const { $ref, allOf, anyOf, not, oneOf } = schema
    let fits = true
    if (typeof $ref === "string") fits = test(value, document.resolve(schema), place, sink) && fits
    if (Array.isArray(allOf)) { for (const part of allOf) fits = test(value, part, place, sink) && fits }
    if (schema["if"] !== undefined) {
      const branch = schema[conforms(value, schema["if"]) ? "then" : "else"]
      if (branch !== undefined) fits = test(value, branch, place, sink) && fits
    }
    if (not !== undefined && conforms(value, not)) fits = report(sink, place, "union", value, schema)
    if (Array.isArray(anyOf) && !anyOf.some((member) => conforms(value, member))) {
      fits = reportUnion(value, schema, anyOf, place, sink)
    }
    if (Array.isArray(oneOf)) {
      const count = oneOf.filter((member) => conforms(value, member)).length
      if (count > 1) fits = report(sink, place, "count", value, schema)
      else if (count === 0) fits = reportUnion(value, schema, oneOf, place, sink)
    }
    return fits
  }

  // Reports a value that fits no member of a union. If one member was clearly meant, reports the misfits for
  // that member.
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
    const target = likely ?? (isRecord(value) && !isUntagged ? nearest(value, flat) : undefined)
    if (target !== undefined && (isRecord(value) || isList(value))) detour(value, target, place, sink)
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

  // Reports the keys that no member of the union allows.
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
      if (sink !== undefined && sink.remaining <= 0) return false
      const inner = sink === undefined ? undefined : { above: place, key: index }
      if (visitPart(value[index]!, itemOf(schema, index), inner, sink)) continue
      if (sink === undefined) return false
      fits = false
    }
    if (schema["contains"] !== undefined && !isContaining(value, schema)) {
      fits = report(sink, place, "contains", value, schema)
    }
    if (schema["unevaluatedItems"] === undefined) return fits
    const evaluated = evaluatedItemsOf(value, schema)
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
    const count = value.filter((item) => conforms(item, schema["contains"])).length
    return count >= Number(minContains) && count <= Number(maxContains)
  }

  const visitKeys = (value: Record, schema: JsonSchema, place: Place | undefined, sink: Sink | undefined): boolean => {
    const { declared, isPlain } = checkOf(schema)
    const properties = propertiesOf(schema)
    if (sink === undefined && isPlain) return fitsKeys(value, schema, properties, declared)
    let fits = true
    const isDone = () => !fits && (sink === undefined || (sink.remaining <= 0 || sink.found.isFull(place)))
    // Report missing keys before unknown ones.
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
      if (names !== undefined && !conforms(key, names)) {
        fits = report(sink, inner, "key_name", value[key], names)
      } else if (hasPatterns || !isDeclared) {
        const matching = hasPatterns ? patternsFor(schema, key) : none
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

  // A faster walk without a sink, for schemas that restrict keys only by the usual keywords. Nearly all
  // schemas are like this.
  const fitsKeys = (
    value: Record,
    schema: JsonSchema,
    properties: JsonSchema,
    declared: ReadonlyArray<string>
  ): boolean => {
    for (const key of requiredOf(schema)) if (!Object.hasOwn(value, key)) return false
    let undeclaredCount = Object.keys(value).length
    // Loops over the value's own keys if these are far fewer: a value may have three of a thousand declared
    // properties.
    for (const key of declared.length > 2 * undeclaredCount + 8 ? Object.keys(value) : declared) {
      if (!Object.hasOwn(value, key) || !Object.hasOwn(properties, key)) continue
      undeclaredCount--
      if (!conforms(value[key]!, properties[key], false)) return false
    }
    const extra = schema["additionalProperties"]
    if (undeclaredCount === 0 || isShallow && (extra === undefined || extra === true)) return true
    return extra !== false &&
      Object.keys(value).every((key) => Object.hasOwn(properties, key) || conforms(value[key]!, extra, false))
  }

  const visitUnevaluated = (
    value: Record,
    schema: JsonSchema,
    place: Place | undefined,
    sink: Sink | undefined
  ): boolean => {
    const evaluated = evaluatedKeysOf(value, schema)
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

  // Without a sink, results for containers are remembered, so that no large container is walked twice for the
  // same schema.
  const visitPart = (value: Value, schema: unknown, place: Place | undefined, sink: Sink | undefined): boolean =>
    sink === undefined ? conforms(value, schema, false) : visitWhole(value, schema, place, sink)

  const visitWhole = (value: Value, schema: unknown, place: Place | undefined, sink: Sink): boolean => {
    const { whole } = sink
    sink.whole = schema
    const fits = visit(value, schema, place, sink)
    sink.whole = whole
    return fits
  }

  // ---------------------------------------------------------------------------
  // Keys and items that other keywords evaluate
  // ---------------------------------------------------------------------------

  // Returns the subschemas that apply to the same value, and that the value fits. The keys and items that
  // these subschemas evaluate count as evaluated.
  const fittingParts = (value: Value, schema: JsonSchema): ReadonlyArray<JsonSchema> => {
    const { $ref, allOf, anyOf, oneOf } = schema
    const isMet = schema["if"] !== undefined && conforms(value, schema["if"])
    const parts: ReadonlyArray<unknown> = [
      ...(typeof $ref === "string" ? [document.resolve(schema)] : []),
      ...[allOf, anyOf, oneOf].flatMap((members) => Array.isArray(members) ? members : []),
      ...(isMet ? [schema["if"], schema["then"]] : [schema["else"]]),
      ...(isRecord(value) ? dependentOn(value, schema) : [])
    ]
    return parts.filter(isObject).filter((part) => conforms(value, part))
  }

  // A schema that several others refer to is evaluated once.
  const evaluatedKeysOf = (value: Record, schema: JsonSchema, seen = new Set<JsonSchema>()): Set<string> => {
    const evaluated = new Set<string>()
    if (seen.has(schema)) return evaluated
    seen.add(schema)
    const { additionalProperties } = schema
    for (const key of Object.keys(value)) {
      const isOwn = Object.hasOwn(propertiesOf(schema), key) || patternsFor(schema, key).length > 0
      if (isOwn || additionalProperties !== undefined) evaluated.add(key)
    }
    for (const part of fittingParts(value, schema)) {
      const isAll = part["unevaluatedProperties"] !== undefined
      for (const key of isAll ? Object.keys(value) : evaluatedKeysOf(value, part, seen)) evaluated.add(key)
    }
    return evaluated
  }

  const evaluatedItemsOf = (value: List, schema: JsonSchema, seen = new Set<JsonSchema>()): Set<number> => {
    const evaluated = new Set<number>()
    if (seen.has(schema)) return evaluated
    seen.add(schema)
    const { additionalItems, contains, items, prefixItems = items } = schema
    const prefix = Array.isArray(prefixItems) ? prefixItems.length : 0
    const isRest = Array.isArray(items) ? additionalItems !== undefined : items !== undefined
    value.forEach((item, index) => {
      if (index < prefix || isRest || contains !== undefined && conforms(item, contains)) evaluated.add(index)
    })
    for (const part of fittingParts(value, schema)) {
      const isAll = part["unevaluatedItems"] !== undefined
      for (const index of isAll ? value.keys() : evaluatedItemsOf(value, part, seen)) evaluated.add(index)
    }
    return evaluated
  }

  // ---------------------------------------------------------------------------
  // Memory and detours
  // ---------------------------------------------------------------------------

  const test = (value: Value, schema: unknown, place: Place | undefined, sink: Sink | undefined): boolean =>
    sink === undefined ? conforms(value, schema) : detour(value, schema, place, sink)

  // Visits the same value with a different schema.
  const detour = (value: Value, schema: unknown, place: Place | undefined, sink: Sink | undefined): boolean => {
    detours++
    const fits = visit(value, schema, place, sink)
    detours--
    return fits
  }

  const conforms = (value: Value, original: unknown, isDetour = true): boolean => {
    const schema = targetOf(original)
    if (!isObject(schema)) return visit(value, schema, undefined, undefined)
    const { complaintOf, hasParts } = checkOf(schema)
    if (typeof value !== "object" || value === null) {
      if (hasParts) return detourOnce(value, schema)
      return budget-- > 0 && (complaintOf(value) === undefined || value === null && schema["nullable"] === true)
    }
    const first = answers.get(value)
    for (let answer = first; answer !== undefined; answer = answer.next) {
      if (answer.schema === schema) return answer.fits
    }
    const walk = isDetour ? detour : visit
    if (!hasParts) {
      const before = budget
      const fits = walk(value, schema, undefined, undefined)
      // Checking a few scalars again costs less than remembering the result.
      if (before - budget > fewVisits) answers.set(value, { schema, fits, next: answers.get(value) })
      return fits
    }
    // Until the result is known, a schema that refers to itself for the same value does not fit.
    const answer: Answer = { schema, fits: false, next: first }
    answers.set(value, answer)
    answer.fits = walk(value, schema, undefined, undefined)
    return answer.fits
  }

  // Follows the reference of a schema that consists of nothing but a `$ref`.
  const targetOf = (schema: unknown): unknown => {
    let target = schema
    for (let hops = 0; hops < maxDetours && isObject(target) && checkOf(target).isReference; hops++) {
      target = document.resolve(target)
    }
    return target
  }

  // A scalar has no parts. So a schema that refers back to itself for the same value does not fit.
  const detourOnce = (value: Value, schema: unknown): boolean => {
    if (visiting.has(schema)) return false
    visiting.add(schema)
    const fits = detour(value, schema, undefined, undefined)
    visiting.delete(schema)
    return fits
  }

  return {
    document,
    fits: (value, schema) => conforms(value, schema) && budget > 0,
    misfits: (value, schema, limit) => {
      // Both kinds of walk must agree, even for circular schemas: a value that fits has no misfits.
      if (conforms(value, schema) && budget > 0) return { fields: [], unions: [], isWhole: true }
      const sink: Sink = {
        found: new Gathered(limit),
        unions: [],
        remaining: maxMisfits,
        whole: schema,
        reported: new Map()
      }
      visit(value, schema, undefined, sink)
      if (sink.found.count === 0 || budget <= 0) report(sink, undefined, "complex", value, undefined)
      return { fields: sink.found.groups(), unions: sink.unions, isWhole: sink.remaining > 0 }
    },
    spend
  }
}

const anything: JsonSchema = {}
const none: ReadonlyArray<never> = []

// Counts a value and all its parts. The count is negative if one of them can fit no schema, because it lost
// digits or is too deep.
const countValues = (value: Value, depth: number): number => {
  if (typeof value !== "object" || value === null) return 1
  if (value instanceof Unsafe || depth > deepest) return -1
  let all = 1
  let sign = 1
  const add = (part: number) => {
    all += Math.abs(part)
    if (part < 0) sign = -1
  }
  if (isList(value)) { for (const item of value) add(countValues(item, depth + 1)) }
  else if (isRecord(value)) { for (const key of Object.keys(value)) add(countValues(value[key]!, depth + 1)) }
  return sign * all
}

/** Returns the keys that this object must have. */
const requiredBy = (value: Record, schema: JsonSchema): ReadonlyArray<string> => {
  const required = requiredOf(schema)
  if (schema["dependentRequired"] === undefined && schema["dependencies"] === undefined) return required
  const more = [schema["dependentRequired"], schema["dependencies"]].flatMap((dependent) =>
    isObject(dependent) ? Object.entries(dependent).filter(([key]) => Object.hasOwn(value, key)) : []
  ).flatMap(([, keys]) => Array.isArray(keys) ? keys.filter((key) => typeof key === "string") : [])
  return more.length === 0 ? required : Array.from(new Set([...required, ...more]))
}

/** Returns the schemas that this object must fit because of the keys that it has. */
const dependentOn = (value: Record, schema: JsonSchema): ReadonlyArray<unknown> =>
  schema["dependentSchemas"] === undefined && schema["dependencies"] === undefined ?
    none :
    [schema["dependentSchemas"], schema["dependencies"]].flatMap((dependent) =>
      isObject(dependent)
        ? Object.entries(dependent).filter(([key, part]) => Object.hasOwn(value, key) && !Array.isArray(part))
          .map(([, part]) => part)
        : []
    )
