/*
 * JSON Schemas that describe their object in several parts: a union, or `allOf`, as a whole. Model providers refuse them there. So
 * a model is shown one object with the keys of all parts. Which keys go together, the author's schema judges.
 */
import { referred } from "@fallible/arguments/internal"
import * as Predicate from "effect/Predicate"
import { type Fields, fieldsOf } from "../untyped.ts"

/** Returns a schema of one object that allows all that a schema allows. `undefined` if it is one, or describes none. */
export const oneObject = (schema: object): Fields | undefined => {
  const root = fieldsOf(schema)
  const target = referred(root, root)
  if (!combiners.some((keyword) => Array.isArray(target[keyword]))) return undefined
  const shape = shapeOf(target, root, new Map())
  if (shape === undefined) return undefined
  const { $ref: _, ...beside } = root
  const rest = Object.entries({ ...beside, ...target }).filter(([keyword]) => !merged.has(keyword))
  return {
    ...Object.fromEntries(rest),
    type: "object",
    properties: Object.fromEntries(shape.properties),
    ...(shape.required.length === 0 ? {} : { required: shape.required }),
    ...(shape.isOpen ? { additionalProperties: true } : {})
  }
}

const combiners = ["anyOf", "oneOf", "allOf"] as const

const merged: ReadonlySet<string> = new Set([
  ...combiners,
  "$ref",
  "additionalProperties",
  "discriminator",
  "nullable",
  "properties",
  "required",
  "type",
  "unevaluatedProperties"
])

/** What is known of the keys of an object. */
interface Shape {
  readonly properties: ReadonlyMap<string, unknown>
  readonly required: ReadonlyArray<string>
  /** Whether it says itself that it has keys that it does not declare. */
  readonly isOpen: boolean
}

/**
 * Returns the keys of the objects that a schema allows; `undefined` if it allows none.
 *
 * @param known the shapes so far. References may lead to a part again and again, or in a circle
 */
const shapeOf = (schema: unknown, root: Fields, known: Map<object, Shape | undefined>): Shape | undefined => {
  if (!Predicate.isObject(schema)) return undefined
  const node = referred(schema, root)
  if (!known.has(node)) {
    known.set(node, undefined)
    known.set(
      node,
      newShapeOf(node, (members) => listOf(members).flatMap((member) => shapeOf(member, root, known) ?? []))
    )
  }
  return known.get(node)
}

const newShapeOf = (
  node: Fields,
  shapesIn: (members: unknown) => ReadonlyArray<Shape>
): Shape | undefined => {
  if (node["type"] !== undefined && ![node["type"]].flat().includes("object")) return undefined
  const unions = [node["anyOf"], node["oneOf"]].filter((members) => members !== undefined).map(shapesIn)
  if (unions.some((shapes) => shapes.length === 0)) return undefined
  return together([ownShape(node), ...shapesIn(node["allOf"]), ...unions.map(either)])
}

const ownShape = ({ additionalProperties, patternProperties, properties, required }: Fields): Shape => ({
  properties: new Map(Predicate.isObject(properties) ? Object.entries(properties) : []),
  required: listOf(required).filter(Predicate.isString),
  isOpen: additionalProperties === true || Predicate.isObject(additionalProperties) || patternProperties !== undefined
})

/** The keys of an object to which all of the shapes apply. */
const together = (shapes: ReadonlyArray<Shape>): Shape => ({
  properties: propertiesOf(shapes, "allOf"),
  required: Array.from(new Set(shapes.flatMap(({ required }) => required))),
  isOpen: shapes.some(({ isOpen }) => isOpen)
})

/** The keys of an object to which one of the shapes applies. */
const either = (shapes: ReadonlyArray<Shape>): Shape => ({
  properties: propertiesOf(shapes, "anyOf"),
  required: shapes[0]?.required.filter((key) => shapes.every(({ required }) => required.includes(key))) ?? [],
  isOpen: shapes.some(({ isOpen }) => isOpen)
})

const propertiesOf = (shapes: ReadonlyArray<Shape>, combiner: "allOf" | "anyOf"): ReadonlyMap<string, unknown> => {
  const keys = new Set(shapes.flatMap(({ properties }) => Array.from(properties.keys())))
  return new Map(Array.from(keys, (key) => {
    const all = shapes.flatMap(({ properties }) => properties.has(key) ? [properties.get(key)] : [])
    const distinct = Array.from(new Map(all.map((schema) => [JSON.stringify(schema), schema])).values())
    return [key, distinct.length === 1 ? distinct[0] : { [combiner]: distinct }]
  }))
}

const listOf = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []
