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
import * as Predicate from "effect/Predicate"
import { isDate, isDateTime } from "./calendar.ts"
import { canonical } from "./canonical.ts"
import { describe, expectationFor } from "./expectation.ts"
import {
  at,
  choicesOf,
  extraOf,
  type Forms,
  formsOf,
  itemOf,
  nearest,
  patternOf,
  propertiesOf,
  requiredOf
} from "./form.ts"
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
  /** At most `limit`; empty when it fits. */
  readonly misfits: (
    value: Value,
    schema: unknown,
    limit: number,
    unknownKey: (record: Record, key: string, schema: JsonSchema.JsonSchema) => string
  ) => ReadonlyArray<Misfit>
  /** Takes from the budget; false when there is none left. */
  readonly spend: (visits: number) => boolean
}

/** What is said of an integer that lost digits when it was read. */
export const unsafeInteger = `a whole number of at most ${Number.MAX_SAFE_INTEGER}, or a text where the tool takes one`

interface Sink {
  readonly found: Map<string, Misfit>
  readonly limit: number
  readonly unknownKey: (record: Record, key: string, schema: JsonSchema.JsonSchema) => string
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

  const report = (sink: Sink | undefined, path: Path, value: Value | undefined, expected: string, isBound = false) => {
    if (sink !== undefined && sink.found.size < sink.limit) {
      const id = JSON.stringify(path)
      if (!sink.found.has(id)) sink.found.set(id, { path, expected, value, isBound })
    }
    return false
  }

  const visit = (value: Value, schema: unknown, path: Path, sink: Sink | undefined): boolean => {
    if (left-- <= 0 || depth > deepestWalk || detours > mostDetours) return report(sink, path, value, "a simpler value")
    if (value instanceof Unsafe) return report(sink, path, value, unsafeInteger)
    if (schema === false) return report(sink, path, value, "nothing")
    if (typeof schema !== "object" || schema === null) return visitChildren(value, {}, path, sink)
    depth++
    const fits = visitNode(value, asNode(schema), path, sink)
    depth--
    return fits
  }

  const visitNode = (value: Value, schema: JsonSchema.JsonSchema, path: Path, sink: Sink | undefined): boolean => {
    const complaint = complaintOf(value, schema)
    if (complaint !== undefined) {
      const expected = sink === undefined ? "" : expectationFor(value, schema, forms) ?? "another value"
      report(sink, path, value, expected, complaint === "bound")
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
      fits = report(sink, path, value, sink && describe(schema, forms) || "another value")
    }
    if (Array.isArray(anyOf) && !anyOf.some((member) => tested(value, member))) {
      fits = reportUnion(value, schema, anyOf, path, sink)
    }
    if (Array.isArray(oneOf)) {
      const count = oneOf.filter((member) => tested(value, member)).length
      if (count > 1) {
        const words = sink && describe(schema, forms)
        fits = report(sink, path, value, words === undefined ? "exactly one form" : `exactly one of ${words}`)
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
    const before = sink.found.size
    const flat = alternatives.map((member) => forms.flat(member))
    const likely = forms.likely(value, flat)
    const tag = likely === undefined && isRecord(value) ? tagOf(value, forms.members(schema) ?? []) : undefined
    const meant = likely ?? (isRecord(value) && tag === undefined ? nearest(value, flat) : undefined)
    if (meant !== undefined && (isRecord(value) || isList(value))) aside(value, meant, path, sink)
    else if (tag !== undefined && isRecord(value)) {
      const written = own(value, tag.key)
      report(sink, [...path, tag.key], written, expectationFor(written, { enum: tag.choices }, forms)!)
    } else report(sink, path, value, expectationFor(value, schema, forms) ?? "another form")
    if (sink.found.size === before && before === 0) report(sink, path, value, "another form")
    return false
  }

  // The key by whose literals the members are told apart, when the value has none of them there.
  const tagOf = (value: Record, members: ReadonlyArray<JsonSchema.JsonSchema>) => {
    const objects = members.filter((member) => member["type"] === "object")
    const [first] = objects
    if (first === undefined || objects.length < 2) return undefined
    for (const key of Object.keys(propertiesOf(first))) {
      const choices = objects.map((member) => choicesOf(forms.flat(at(propertiesOf(member), key))))
      if (!choices.every(Predicate.isNotUndefined)) continue
      const all = Array.from(new Set(choices.flat()))
      return Object.hasOwn(value, key) && all.includes(value[key]) ? undefined : { key, choices: all }
    }
    return undefined
  }

  const visitItems = (value: List, schema: JsonSchema.JsonSchema, path: Path, sink: Sink | undefined): boolean => {
    let fits = true
    for (let index = 0; index < value.length; index++) {
      if (visit(value[index]!, itemOf(schema, index), sink === undefined ? path : [...path, index], sink)) continue
      if (sink === undefined || sink.found.size >= sink.limit) return false
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
        fits = report(sink, inner, value[key], `a key that is ${sink && describe(names, forms) || "another"}`)
      } else if (!Object.hasOwn(properties, key)) {
        const extra = extraOf(schema, key)
        if (extra === false) {
          fits = report(sink, inner, value[key], sink?.unknownKey(value, key, schema) ?? "")
        } else fits = visit(value[key]!, extra, inner, sink) && fits
      }
      if (!fits && (sink === undefined || sink.found.size >= sink.limit)) return false
    }
    const required = requiredOf(schema)
    const missing = (key: string) =>
      report(sink, [...path, key], undefined, sink && describe(at(properties, key), forms) || "a value")
    for (const key of Object.keys(properties)) {
      if (Object.hasOwn(value, key)) {
        fits = visit(value[key]!, properties[key], sink === undefined ? path : [...path, key], sink) && fits
      } else if (required.includes(key)) fits = missing(key)
      if (!fits && (sink === undefined || sink.found.size >= sink.limit)) return false
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
      const sink: Sink = { found: new Map(), limit, unknownKey }
      if (!visit(value, schema, [], sink) && sink.found.size === 0) report(sink, [], value, "another value")
      if (left <= 0) report(sink, [], value, "a simpler value")
      return Array.from(sink.found.values())
    },
    spend
  }
}

/** Are two JSON values equal? */
export const isEqual = (first: unknown, second: unknown): boolean =>
  first === second ||
  typeof first === "object" && first !== null && typeof second === "object" && second !== null &&
    canonical(first) === canonical(second)

// What a value is told of by itself, without its children: that it is of another kind, or out of bounds.
const complaintOf = (value: Value, schema: JsonSchema.JsonSchema): "kind" | "bound" | undefined => {
  const { type } = schema
  if (type !== undefined && !(Array.isArray(type) ? type.some((type) => isOf(type, value)) : isOf(type, value))) {
    return "kind"
  }
  const choices = choicesOf(schema)
  if (choices !== undefined && !choices.some((choice) => isEqual(choice, value))) return "kind"
  return isWithin(value, schema) ? undefined : "bound"
}

const isWithin = (value: Value, schema: JsonSchema.JsonSchema): boolean =>
  typeof value === "string"
    ? isTextWithin(value, schema)
    : typeof value === "number"
    ? isNumberWithin(value, schema)
    : isList(value)
    ? isListWithin(value, schema)
    : !isRecord(value) || isCountWithin(() => Object.keys(value).length, schema, "Properties")

const isOf = (type: unknown, value: Value): boolean => {
  switch (type) {
    case "string":
    case "boolean":
      return typeof value === type
    case "number":
      return typeof value === "number" && Number.isFinite(value)
    case "integer":
      return Number.isSafeInteger(value)
    case "null":
      return value === null
    case "array":
      return isList(value)
    case "object":
      return isRecord(value)
    default:
      return true
  }
}

const isTextWithin = (text: string, schema: JsonSchema.JsonSchema): boolean => {
  const { format, pattern } = schema
  if (!isCountWithin(() => codePoints(text), schema, "Length")) return false
  if (format === "date" && !isDate(text) || format === "date-time" && !isDateTime(text)) return false
  return typeof pattern !== "string" || patternOf(pattern)?.test(text) !== false
}

const isNumberWithin = (value: number, schema: JsonSchema.JsonSchema): boolean => {
  const { exclusiveMaximum, exclusiveMinimum, maximum, minimum, multipleOf } = schema
  if (typeof minimum === "number" && value < minimum) return false
  if (typeof maximum === "number" && value > maximum) return false
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum) return false
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum) return false
  return typeof multipleOf !== "number" || multipleOf <= 0 || isMultiple(value / multipleOf)
}

// 0.3 is a multiple of 0.1, although 0.3 / 0.1 is 2.9999999999999996.
const isMultiple = (quotient: number): boolean =>
  Math.abs(quotient - Math.round(quotient)) <= 4 * Number.EPSILON * Math.abs(quotient)

const isListWithin = (value: List, schema: JsonSchema.JsonSchema): boolean =>
  isCountWithin(() => value.length, schema, "Items") && (schema["uniqueItems"] !== true || isWithoutDuplicates(value))

const isWithoutDuplicates = (items: List): boolean =>
  new Set(items.map((item) => typeof item === "object" && item !== null ? canonical(item) : JSON.stringify(item)))
    .size === items.length

const isCountWithin = (count: () => number, schema: JsonSchema.JsonSchema, what: string): boolean => {
  const [least, most] = [schema[`min${what}`], schema[`max${what}`]]
  if (least === undefined && most === undefined) return true
  const counted = count()
  return !(typeof least === "number" && counted < least) && !(typeof most === "number" && counted > most)
}

const codePoints = (text: string): number => {
  let count = text.length
  for (let at = 1; at < text.length; at++) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) count--
  }
  return count
}

// A JSON Schema that is no boolean is an object.
const asNode = (schema: object) => schema as JsonSchema.JsonSchema
