/**
 * Does a value fit a JSON Schema, and where not?
 *
 * One walk answers both: without a sink it stops at the first misfit, with one it goes on and
 * reports one misfit for each field. It knows the keywords that tools use, and passes over all others.
 *
 * Why a budget? A recursive union makes a walk try every member at every level. What was found of an object and a
 * schema is remembered, which makes that linear; the budget is for what memory does not catch. A value that
 * exhausts it does not fit.
 */
import type * as JsonSchema from "effect/JsonSchema"
import { complaintOf } from "./constraint.ts"
import { describe, expectationFor, unsafeInteger } from "./expectation.ts"
import { at, extraOf, type Forms, formsOf, itemOf, nearest, propertiesOf, requiredOf } from "./form.ts"
import { Gathered, type Group } from "./gathered.ts"
import { deepest, isList, isRecord, type List, own, type Path, type Record, Unsafe, type Value } from "./written.ts"

/** What a field should have been. `isBound`: the kind of value was right, a check was not. */
export interface Misfit {
  readonly path: Path
  readonly expected: string
  readonly value: Value | undefined
  readonly isBound: boolean
}

export interface Conformance {
  readonly forms: Forms
  readonly fits: (value: Value, schema: unknown) => boolean
  /** Of at most `limit` fields; nothing when it fits. */
  readonly misfits: (value: Value, schema: unknown, limit: number, unknownKey: UnknownKey) => Misfits
  /** Takes from the budget; false when there is none left. */
  readonly spend: (visits: number) => boolean
}

/** What is wrong with a value. `unions`: the paths of unions of which one member was spoken of for all. */
export interface Misfits {
  readonly fields: ReadonlyArray<Group<Misfit>>
  readonly unions: ReadonlyArray<Path>
}

/** What is said of a key that an object with these keys may not have. */
export type UnknownKey = (record: Record, key: string, keys: ReadonlyArray<string>, schema: unknown) => string

interface Sink {
  readonly found: Gathered<Misfit>
  readonly unions: Array<Path>
  readonly unknownKey: UnknownKey
}

const budget = 2_000_000

// A walk is deeper than its value where it goes through references and unions.
const deepestWalk = 3 * deepest

// So many references and unions lead from a value to itself only where they go round in circles.
const mostDetours = 32

/** Checks against one document, whose definitions are inside. */
export const conformanceTo = (root: JsonSchema.JsonSchema): Conformance => {
  const forms = formsOf(root)
  let left = budget
  let depth = 0
  let detours = 0
  const leafSchemas = new Set<unknown>()
  const known = new WeakMap<object, Map<unknown, boolean>>()

  const spend = (visits: number): boolean => (left -= visits) >= 0

  // The words are found only where they are told: of a thousand items that do not fit, three are.
  const report = (
    sink: Sink | undefined,
    path: Path,
    value: Value | undefined,
    expected: () => string,
    isBound = false
  ): false => {
    sink?.found.add(path, () => ({ path, expected: expected(), value, isBound }))
    return false
  }

  // A secret is not compared with what it could have been.
  const expectation = (value: Value | undefined, schema: unknown, path: Path) =>
    expectationFor(forms.isSecretAt(path) ? undefined : value, schema, forms)

  const visit = (value: Value, schema: unknown, path: Path, sink: Sink | undefined): boolean => {
    if (left-- <= 0 || depth > deepestWalk || detours > mostDetours) {
      return report(sink, path, value, () => "a simpler value")
    }
    if (value instanceof Unsafe) {
      return report(sink, path, value, () => expectationFor(value, schema, forms) ?? unsafeInteger)
    }
    if (schema === false) return report(sink, path, value, () => "nothing")
    depth++
    const fits = typeof schema !== "object" || schema === null
      ? visitChildren(value, {}, path, sink)
      : visitNode(value, asNode(schema), path, sink)
    depth--
    return fits
  }

  const visitNode = (value: Value, schema: JsonSchema.JsonSchema, path: Path, sink: Sink | undefined): boolean => {
    const complaint = complaintOf(value, schema)
    if (complaint !== undefined) {
      report(sink, path, value, () => expectation(value, schema, path) ?? "another value", complaint === "bound")
      if (sink === undefined || complaint === "kind") return false
    }
    const fits = visitParts(value, schema, path, sink)
    if (!fits && sink === undefined) return false
    return visitChildren(value, schema, path, sink) && fits && complaint === undefined
  }

  const visitChildren = (value: Value, schema: JsonSchema.JsonSchema, path: Path, sink: Sink | undefined): boolean => {
    if (typeof value !== "object") return true
    const before = detours
    detours = 0
    const fits = isList(value)
      ? visitItems(value, schema, path, sink)
      : isRecord(value)
      ? visitKeys(value, schema, path, sink)
      : true
    detours = before
    return fits
  }

  const visitParts = (value: Value, schema: JsonSchema.JsonSchema, path: Path, sink: Sink | undefined): boolean => {
    const { $ref, allOf, anyOf, not, oneOf } = schema
    let fits = true
    if (typeof $ref === "string") fits = test(value, forms.resolve($ref), path, sink) && fits
    if (Array.isArray(allOf)) { for (const part of allOf) fits = test(value, part, path, sink) && fits }
    if (not !== undefined && tested(value, not)) {
      fits = report(sink, path, value, () => describe(schema, forms) ?? "another value")
    }
    if (Array.isArray(anyOf) && !anyOf.some((member) => tested(value, member))) {
      fits = reportUnion(value, schema, anyOf, path, sink)
    }
    if (Array.isArray(oneOf)) {
      const count = oneOf.filter((member) => tested(value, member)).length
      if (count > 1) {
        fits = report(sink, path, value, () => `exactly one of ${describe(schema, forms) ?? "several forms"}`)
      } else if (count === 0) fits = reportUnion(value, schema, oneOf, path, sink)
    }
    return fits
  }

  // Of no member of the union: told of the one that was meant, where that is plain.
  const reportUnion = (
    value: Value,
    schema: JsonSchema.JsonSchema,
    alternatives: ReadonlyArray<unknown>,
    path: Path,
    sink: Sink | undefined
  ): boolean => {
    if (sink === undefined) return false
    sink.unions.push(path)
    const before = sink.found.count
    const flat = alternatives.map((member) => forms.flat(member))
    const likely = forms.likely(value, flat)
    const members = forms.members(schema) ?? []
    const tag = likely === undefined && isRecord(value) ? forms.tag(members) : undefined
    const isUntagged = tag !== undefined && isRecord(value) && !tag.choices.includes(own(value, tag.key))
    const meant = likely ?? (isRecord(value) && !isUntagged ? nearest(value, flat) : undefined)
    if (meant !== undefined && (isRecord(value) || isList(value))) aside(value, meant, path, sink)
    else if (isUntagged) {
      const [written, inner] = [own(value, tag.key), [...path, tag.key]]
      report(sink, inner, written, () => expectation(written, { enum: tag.choices }, inner)!)
      reportStrangers(value, schema, members.filter(isObject), path, sink)
    } else report(sink, path, value, () => expectation(value, schema, path) ?? "another form")
    if (before === 0 && sink.found.count === 0) report(sink, path, value, () => "another form")
    return false
  }

  // The keys that no member of the union has.
  const reportStrangers = (
    value: Record,
    schema: JsonSchema.JsonSchema,
    members: ReadonlyArray<JsonSchema.JsonSchema>,
    path: Path,
    sink: Sink
  ): void => {
    const keys = Array.from(new Set(members.flatMap((member) => Object.keys(propertiesOf(member)))))
    for (const key of Object.keys(value)) {
      if (keys.includes(key) || !members.every((member) => extraOf(member, key) === false)) continue
      report(sink, [...path, key], value[key], () => sink.unknownKey(value, key, keys, schema))
    }
  }

  const visitItems = (value: List, schema: JsonSchema.JsonSchema, path: Path, sink: Sink | undefined): boolean => {
    let fits = true
    for (let index = 0; index < value.length; index++) {
      if (visit(value[index]!, itemOf(schema, index), sink === undefined ? path : [...path, index], sink)) continue
      if (sink === undefined) return false
      fits = false
    }
    return fits
  }

  const visitKeys = (value: Record, schema: JsonSchema.JsonSchema, path: Path, sink: Sink | undefined): boolean => {
    const properties = propertiesOf(schema)
    const names = schema["propertyNames"]
    let fits = true
    for (const key of Object.keys(value)) {
      const inner = sink === undefined ? path : [...path, key]
      if (names !== undefined && !visit(key, names, inner, undefined)) {
        fits = report(sink, inner, value[key], () => `a key that is ${describe(names, forms) ?? "another"}`)
      } else if (!Object.hasOwn(properties, key)) {
        const extra = extraOf(schema, key)
        if (extra === false) {
          fits = report(
            sink,
            inner,
            value[key],
            () => sink?.unknownKey(value, key, Object.keys(properties), schema) ?? ""
          )
        } else fits = visit(value[key]!, extra, inner, sink) && fits
      }
      if (!fits && (sink === undefined || sink.found.isFull(path))) return false
    }
    const required = requiredOf(schema)
    const missing = (key: string) =>
      report(sink, [...path, key], undefined, () => describe(at(properties, key), forms) ?? "a value")
    for (const key of Object.keys(properties)) {
      if (Object.hasOwn(value, key)) {
        fits = visit(value[key]!, properties[key], sink === undefined ? path : [...path, key], sink) && fits
      } else if (required.includes(key)) fits = missing(key)
      if (!fits && (sink === undefined || sink.found.isFull(path))) return false
    }
    for (const key of required) {
      if (!Object.hasOwn(value, key) && !Object.hasOwn(properties, key)) fits = missing(key)
    }
    return fits
  }

  const test = (value: Value, schema: unknown, path: Path, sink: Sink | undefined): boolean =>
    sink === undefined ? tested(value, schema) : aside(value, schema, path, sink)

  // The same value by another schema.
  const aside = (value: Value, schema: unknown, path: Path, sink: Sink | undefined): boolean => {
    detours++
    const fits = visit(value, schema, path, sink)
    detours--
    return fits
  }

  const tested = (value: Value, schema: unknown): boolean => {
    if (typeof value !== "object" || value === null) {
      // A leaf has no way out of a schema that refers to itself.
      if (leafSchemas.has(schema)) return false
      leafSchemas.add(schema)
      const fits = aside(value, schema, [], undefined)
      leafSchemas.delete(schema)
      return fits
    }
    const answers = known.get(value) ?? new Map<unknown, boolean>()
    known.set(value, answers)
    const answer = answers.get(schema)
    if (answer !== undefined) return answer
    // What is asked of itself, without a step into the value, cannot fit.
    answers.set(schema, false)
    const fits = aside(value, schema, [], undefined)
    answers.set(schema, fits)
    return fits
  }

  return {
    forms,
    fits: (value, schema) => tested(value, schema) && left > 0,
    misfits: (value, schema, limit, unknownKey) => {
      const sink: Sink = { found: new Gathered(limit), unions: [], unknownKey }
      if (!visit(value, schema, [], sink) && sink.found.count === 0) report(sink, [], value, () => "another value")
      if (left <= 0) report(sink, [], value, () => "a simpler value")
      return { fields: sink.found.groups(), unions: sink.unions }
    },
    spend
  }
}

// A JSON Schema that is no boolean is an object.
const asNode = (schema: object) => schema as JsonSchema.JsonSchema

const isObject = ({ type }: JsonSchema.JsonSchema): boolean => type === "object"
