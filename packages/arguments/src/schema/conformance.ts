/**
 * Decides whether a value fits a JSON Schema, and where it does not.
 *
 * One walk does both. A *misfit* is a problem with one field, and a *sink* collects misfits. Without a sink,
 * the walk stops at the first misfit. With a sink, the walk continues, and reports one misfit for each field.
 *
 * Why a budget? In a recursive union, a walk tries every member at every level. Results are remembered by
 * value and schema, which usually keeps the time linear. The budget of visits bounds the time in all other
 * cases: by the size of the value plus the size of the schema, never by their product. A value that exhausts its budget
 * does not fit.
 */
import {
  distinct,
  hasKey,
  isArray,
  isContainer,
  isNumber,
  isObject,
  isString,
  itemsIn,
  type JsonSchema,
  keysOf,
  type Path
} from "../json.ts"
import { getOrInsert, newMap, newSet } from "../memo.ts"
import { deepest } from "../options.ts"
import {
  isList,
  isRecord,
  isUnsafe,
  keysIn,
  type List,
  own,
  partIn,
  partsIn,
  pathOf,
  type Place,
  placeIn,
  type Record,
  type Value
} from "../value.ts"
import { type Checks, type Complaint, isSurelyJson } from "./check.ts"
import {
  declaredBy,
  declares,
  type Document,
  documentOf,
  extraOf,
  itemOf,
  literalsIn,
  nearest,
  patternsFor,
  propertiesOf,
  requiredOf,
  valueAt
} from "./document.ts"
import { Gathered, type Group } from "./gathered.ts"
import { allSchemas } from "./keyword.ts"
import { mistakenKeys, suspicionOf } from "./mistakenKeys.ts"

/** A problem with one field. */
export interface Misfit {
  readonly path: Path
  readonly kind:
    | Complaint
    | "missing_key"
    | "unknown_key"
    | "key_name"
    | "union"
    | "count"
    | "contains"
    | "excluded"
    | "complex"
  /** The schema that the field fails; for an unknown key, the schema of its object. */
  readonly schema: unknown
  /** The full schema of the field, if it is known. `schema` may be only a part of it. */
  readonly whole: unknown
  readonly value: Value | undefined
  /** For a missing or unknown key: the object (`parent`), and the keys that the object allows (`keys`). */
  readonly parent: Record | undefined
  readonly keys: ReadonlyArray<string> | undefined
}

export interface Conformance {
  readonly document: Document
  /** True if a value fits a schema, and no key of the value is mistaken. */
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

/** The misfits of a value that fits. */
export const nothingAmiss: Misfits = { fields: [], unions: [], isWhole: true }

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

// How many visits the budget has at least, and for each part of the value and of the schema. This is enough for practical
// schemas.
const leastBudget = 50_000
const visitsPerValue = 100
const visitsPerSchema = 20

const fewVisits = 8

/** The most misfits that are counted. Counting more would not change the report. */
export const maxMisfits = 1000

// References and unions make a walk deeper than its value.
const deepestWalk = 3 * deepest

// The most references and unions that are followed for one value. Only a circular schema has more.
const maxDetours = 256

/** Returns the functions that check a value against the schemas of one document (a schema with its definitions). */
export const conformanceTo = (root: JsonSchema, value: Value, { of: checkOf }: Checks): Conformance => {
  const document = documentOf(root)
  let budget = leastBudget + visitsPerValue * countValues(value) + visitsPerSchema * allSchemas(root).size
  // True if the value is not too deep, and no integer lost digits. A walk is then unnecessary where the
  // schema allows anything.
  const isShallow = isSurelyJson(value, 0)
  let depth = 0
  let detours = 0
  // The schemas that are being visited for one scalar.
  let visiting: Set<unknown> | undefined
  // For each value, the schemas that it was checked against, and whether it fits.
  let answers: Map<object, Map<unknown, boolean>> | undefined

  const spend = (visits: number): boolean => (budget -= visits) >= 0

  const report = (
    sink: Sink | undefined,
    place: Place | undefined,
    kind: Misfit["kind"],
    value: Value | undefined,
    schema: unknown,
    parent?: Record,
    keys?: ReadonlyArray<string>,
    whole = sink?.whole
  ): false => {
    if (sink) {
      sink.remaining--
      sink.found.count(place)?.push({ path: pathOf(place), kind, schema, whole, value, parent, keys })
    }
    return false
  }

  const visit = (value: Value, schema: unknown, place?: Place, sink?: Sink): boolean => {
    if (budget-- <= 0 || depth > deepestWalk || detours > maxDetours) {
      return report(sink, place, "complex", value, schema)
    }
    if (sink && isContainer(value) && needsNoReport(value, schema, sink)) return conforms(value, schema)
    if (isUnsafe(value) || schema === false) return report(sink, place, "type", value, schema)
    depth++
    const fits = visitNode(value, isObject(schema) ? schema : anything, place, sink)
    depth--
    return fits
  }

  // True if the value fits this schema, or was already reported for it: several parts may refer to the same schema.
  const needsNoReport = (value: Value & object, schema: unknown, sink: Sink): boolean => {
    if (conforms(value, schema)) return true
    const schemas = getOrInsert(sink.reported, value, newSet)
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
      if (!sink || complaint !== "bound") return false
    }
    const fits = !hasParts || visitParts(value, schema, place, sink)
    if (!fits && !sink) return false
    return visitChildren(value, schema, place, sink) && fits && complaint === undefined
  }

  const visitChildren = (
    value: Value,
    schema: JsonSchema,
    place: Place | undefined,
    sink: Sink | undefined
  ): boolean => {
    if (!isContainer(value)) return true
    const before = detours
    detours = 0
    const fits = isList(value)
      ? visitItems(value, schema, place, sink)
      : isRecord(value)
      ? visitKeys(value, schema, place, sink)
      : true
    detours = before
    return fits
  }

  // ---------------------------------------------------------------------------
  // The same value with other schemas
  // ---------------------------------------------------------------------------

  const visitParts = (value: Value, schema: JsonSchema, place: Place | undefined, sink: Sink | undefined): boolean => {
    const { $ref, allOf, anyOf, not, oneOf } = schema
    let fits = true
    if (isString($ref)) fits = test(value, document.resolve(schema), place, sink) && fits
    for (const part of itemsIn(allOf)) fits = test(value, part, place, sink) && fits
    if (schema["if"] !== undefined) {
      const branch = schema[conforms(value, schema["if"]) ? "then" : "else"]
      if (branch !== undefined) fits = test(value, branch, place, sink) && fits
    }
    if (not !== undefined && conforms(value, not)) fits = report(sink, place, "excluded", value, schema)
    if (isArray(anyOf) && countFitting(value, anyOf, 1) === 0) {
      fits = reportUnion(value, schema, anyOf, place, sink)
    }
    if (isArray(oneOf)) {
      const count = countFitting(value, oneOf, 2)
      if (count > 1) fits = report(sink, place, "count", value, schema)
      else if (count === 0) fits = reportUnion(value, schema, oneOf, place, sink)
    }
    return fits
  }

  // Counts the members that a value fits, up to a number.
  const countFitting = (value: Value, members: ReadonlyArray<unknown>, enough: number): number => {
    const literals = typeof value === "object" ? undefined : literalsIn(members).counts
    if (literals) return literals.get(value) ?? 0
    let count = 0
    for (const member of members) if (conforms(value, member) && ++count === enough) break
    return count
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
    if (!sink) return false
    sink.unions.push(place)
    // Finding the member that was meant looks at every member.
    if (!spend(alternatives.length)) return report(sink, place, "union", value, schema)
    const before = sink.found.size
    const flat = alternatives.map(document.flat)
    const likely = document.likely(value, flat)
    const members = document.members(schema) ?? []
    const tag = !likely && isRecord(value) ? document.tag(members) : undefined
    if (tag && isRecord(value) && !tag.choices.includes(own(value, tag.key))) {
      const [written, inner] = [own(value, tag.key), placeIn(place, tag.key)]
      const choices = { enum: tag.choices }
      const kind = written === undefined ? "missing_key" : "choice"
      report(sink, inner, kind, written, choices, value, [tag.key], choices)
      reportUnknown(value, schema, members.filter(({ type }) => type === "object"), place, sink)
    } else {
      const target = likely ?? (isRecord(value) ? nearest(value, flat) : undefined)
      if (target && isContainer(value)) detour(value, target, place, sink)
      else report(sink, place, "union", value, schema)
    }
    if (before === 0 && sink.found.size === 0) report(sink, place, "union", value, undefined)
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
    const keys = distinct(members.flatMap(declaredBy))
    for (const key of keysOf(value)) {
      if (keys.includes(key) || !members.every((member) => extraOf(member, key) === false)) continue
      report(sink, placeIn(place, key), "unknown_key", value[key], schema, value, keys)
    }
  }

  // ---------------------------------------------------------------------------
  // The parts of a value
  // ---------------------------------------------------------------------------

  const visitItems = (value: List, schema: JsonSchema, place: Place | undefined, sink: Sink | undefined): boolean => {
    let fits = true
    for (let index = 0; index < value.length; index++) {
      if (sink && sink.remaining <= 0) return false
      const inner = sink && placeIn(place, index)
      if (visitPart(value[index]!, itemOf(schema, index), inner, sink)) continue
      if (!sink) return false
      fits = false
    }
    if (schema["contains"] !== undefined && !isContaining(value, schema)) {
      fits = report(sink, place, "contains", value, schema)
    }
    return visitUnevaluated(value, schema, place, sink) && fits
  }

  const isContaining = (value: List, schema: JsonSchema): boolean => {
    const { maxContains = Infinity, minContains = 1 } = schema
    const count = value.filter((item) => conforms(item, schema["contains"])).length
    return count >= Number(minContains) && count <= Number(maxContains)
  }

  const visitKeys = (value: Record, schema: JsonSchema, place: Place | undefined, sink: Sink | undefined): boolean => {
    const { declared, isPlain } = checkOf(schema)
    const properties = propertiesOf(schema)
    if (!sink && isPlain) return fitsKeys(value, schema, properties)
    let fits = true
    const isDone = () => !fits && (!sink || sink.remaining <= 0 || sink.found.isFull(place))
    // Report missing keys before unknown ones.
    for (const key of isPlain ? requiredOf(schema) : requiredBy(value, schema)) {
      if (hasKey(value, key)) continue
      fits = report(sink, placeIn(place, key), "missing_key", undefined, valueAt(properties, key), value, declared)
      if (isDone()) return false
    }
    for (const key of declared) {
      if (!hasKey(value, key)) continue
      fits = visitPart(value[key]!, properties[key], sink && placeIn(place, key), sink) && fits
      if (isDone()) return false
    }
    const names = schema["propertyNames"]
    const patternCount = keysOf(schema["patternProperties"] ?? {}).length
    const hasPatterns = patternCount > 0
    const extra = schema["additionalProperties"]
    for (const key of keysOf(value)) {
      const inner = sink && placeIn(place, key)
      const isDeclared = hasKey(properties, key)
      if (names !== undefined && !conforms(key, names)) {
        fits = report(sink, inner, "key_name", value[key], names)
      } else if (hasPatterns || !isDeclared) {
        // Each key is matched against each pattern, and a match costs as much as a few visits.
        if (hasPatterns && !spend(4 * patternCount)) return report(sink, place, "complex", value, schema)
        const matching = hasPatterns ? patternsFor(schema, key) : none
        for (const pattern of matching) fits = visitPart(value[key]!, pattern, inner, sink) && fits
        if (!isDeclared && matching.length === 0) {
          fits = extra === false
            ? report(sink, inner, "unknown_key", value[key], schema, value, declared)
            : visitPart(value[key]!, extra, inner, sink) && fits
        }
      }
      if (isDone()) return false
    }
    if (isPlain) return fits
    for (const dependent of schemasDependentOn(value, schema)) fits = test(value, dependent, place, sink) && fits
    return visitUnevaluated(value, schema, place, sink) && fits
  }

  // A faster walk without a sink, for schemas that restrict keys only by the usual keywords. Nearly all
  // schemas are like this.
  const fitsKeys = (value: Record, schema: JsonSchema, properties: JsonSchema): boolean => {
    for (const key of requiredOf(schema)) if (!hasKey(value, key)) return false
    const extra = schema["additionalProperties"]
    const isAnyAllowed = isShallow && (extra === undefined || extra === true)
    return keysOf(value).every((key) =>
      hasKey(properties, key)
        ? conforms(value[key]!, properties[key], false)
        : isAnyAllowed || extra !== false && conforms(value[key]!, extra, false)
    )
  }

  const visitUnevaluated = (
    value: List | Record,
    schema: JsonSchema,
    place: Place | undefined,
    sink: Sink | undefined
  ): boolean => {
    const rest = unevaluatedBy(schema, value)
    if (rest === undefined) return true
    const evaluated = evaluatedIn(value, schema)
    let fits = true
    for (const key of keysIn(value)) {
      if (evaluated.has(key)) continue
      const [part, inner] = [partIn(value, key), placeIn(place, key)]
      fits = rest === false && isRecord(value)
        ? report(sink, inner, "unknown_key", part, schema, value, Array.from(evaluated, String))
        : visitPart(part, rest, inner, sink) && fits
    }
    return fits
  }

  // Without a sink, results for containers are remembered, so that no large container is walked twice for the
  // same schema.
  const visitPart = (value: Value, schema: unknown, place: Place | undefined, sink: Sink | undefined): boolean => {
    if (!sink) return conforms(value, schema, false)
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
    const { allOf, anyOf, else: otherwise, if: condition, oneOf, then } = schema
    const isMet = condition !== undefined && conforms(value, condition)
    return [
      document.resolve(schema),
      ...[allOf, anyOf, oneOf].flatMap(itemsIn),
      ...(isMet ? [condition, then] : condition === undefined ? [] : [otherwise]),
      ...(isRecord(value) ? schemasDependentOn(value, schema) : [])
    ].filter(isObject).filter((part) => conforms(value, part))
  }

  // Collects the keys or indices of a value that a schema evaluates, with the schemas beside it. A schema that several
  // others refer to is evaluated once.
  const evaluatedIn = (
    value: List | Record,
    schema: JsonSchema,
    evaluated = newSet<string | number>(),
    seen = newSet<JsonSchema>()
  ): ReadonlySet<string | number> => {
    if (seen.has(schema)) return evaluated
    seen.add(schema)
    for (const key of keysIn(value)) if (isEvaluated(value, key, schema)) evaluated.add(key)
    for (const part of fittingParts(value, schema)) {
      if (unevaluatedBy(part, value) === undefined) evaluatedIn(value, part, evaluated, seen)
      else for (const key of keysIn(value)) evaluated.add(key)
    }
    return evaluated
  }

  const isEvaluated = (value: List | Record, key: string | number, schema: JsonSchema): boolean =>
    isNumber(key)
      ? itemOf(schema, key) !== undefined ||
        schema["contains"] !== undefined && conforms(partIn(value, key), schema["contains"])
      : declares(schema, key) || schema["additionalProperties"] !== undefined

  // ---------------------------------------------------------------------------
  // Memory and detours
  // ---------------------------------------------------------------------------

  const test = (value: Value, schema: unknown, place: Place | undefined, sink: Sink | undefined): boolean =>
    sink ? detour(value, schema, place, sink) : conforms(value, schema)

  // Visits the same value with a different schema.
  const detour = (value: Value, schema: unknown, place?: Place, sink?: Sink): boolean => {
    detours++
    const fits = visit(value, schema, place, sink)
    detours--
    return fits
  }

  const conforms = (value: Value, original: unknown, isDetour = true): boolean => {
    const schema = targetOf(original)
    if (!isObject(schema)) return visit(value, schema)
    const { complaintOf, hasParts } = checkOf(schema)
    if (!isContainer(value)) {
      if (hasParts) return detourOnce(value, schema)
      return budget-- > 0 && (complaintOf(value) === undefined || value === null && schema["nullable"] === true)
    }
    const known = answers?.get(value)?.get(schema)
    if (known !== undefined) return known
    const before = budget
    // Until the result is known, a schema that refers to itself for the same value does not fit.
    if (hasParts) remember(value, schema, false)
    const fits = (isDetour ? detour : visit)(value, schema)
    // Checking a few scalars again costs less than remembering the result.
    if (hasParts || before - budget > fewVisits) remember(value, schema, fits)
    return fits
  }

  const remember = (value: object, schema: unknown, fits: boolean): void => {
    getOrInsert(answers ??= newMap(), value, newMap<unknown, boolean>).set(schema, fits)
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
    visiting ??= newSet()
    if (visiting.has(schema)) return false
    visiting.add(schema)
    const fits = detour(value, schema)
    visiting.delete(schema)
    return fits
  }

  const isSuspicious = suspicionOf(root)
  const mistakenIn = (value: Value, schema: unknown, limit: number) =>
    isSuspicious(value) ? mistakenKeys(value, schema, fittingParts, limit) : none

  return {
    document,
    fits: (value, schema) => conforms(value, schema) && mistakenIn(value, schema, 1).length === 0 && budget > 0,
    misfits: (value, schema, limit) => {
      // Both kinds of walk must agree, even for circular schemas: a value that fits has no misfits.
      const doesFit = conforms(value, schema) && budget > 0
      const mistaken = doesFit ? mistakenIn(value, schema, limit) : none
      if (doesFit && mistaken.length === 0) return nothingAmiss
      const sink: Sink = {
        found: new Gathered(limit),
        unions: [],
        remaining: maxMisfits,
        whole: schema,
        reported: newMap()
      }
      if (!doesFit) visit(value, schema, undefined, sink)
      for (const { declared, parent, place, value } of mistaken) {
        report(sink, place, "unknown_key", value, schema, parent, declared)
      }
      if (sink.found.size === 0 || budget <= 0) report(sink, undefined, "complex", value, undefined)
      return { fields: sink.found.groups(), unions: sink.unions, isWhole: sink.remaining > 0 }
    },
    spend
  }
}

const anything: JsonSchema = {}
const none: ReadonlyArray<never> = []

// Counts a value and all its parts.
const countValues = (value: Value, depth = 0): number =>
  !isContainer(value) || isUnsafe(value) || depth > deepest
    ? 1
    : partsIn(value).reduce<number>((count, part) => count + countValues(part, depth + 1), 1)

/** Returns what a schema demands of the keys or items that nothing else evaluates. */
const unevaluatedBy = (schema: JsonSchema, value: List | Record): unknown =>
  schema[isList(value) ? "unevaluatedItems" : "unevaluatedProperties"]

/** Returns the keys that this object must have. */
const requiredBy = (value: Record, schema: JsonSchema): ReadonlyArray<string> => {
  const more = dependentOn(value, schema, "dependentRequired").flatMap(itemsIn).filter(isString)
  return more.length === 0 ? requiredOf(schema) : distinct([...requiredOf(schema), ...more])
}

/** Returns the schemas that this object must fit because of the keys that it has. */
const schemasDependentOn = (value: Record, schema: JsonSchema): ReadonlyArray<unknown> =>
  dependentOn(value, schema, "dependentSchemas").filter((part) => !isArray(part))

/** Returns what a schema demands because of the keys that this object has: schemas, and lists of keys. */
const dependentOn = (value: Record, schema: JsonSchema, keyword: string): ReadonlyArray<unknown> =>
  [schema[keyword], schema["dependencies"]].flatMap((byKey) =>
    isObject(byKey) ? keysOf(byKey).filter((key) => hasKey(value, key)).map((key) => byKey[key]) : none
  )
