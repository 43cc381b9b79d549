/** Which paths of a value a JSON Schema describes, in any of its forms. */
import { isNumber, isObject, type JsonSchema, partAt, type Path } from "../json.ts"
import { allowsKind, choicesOf, declaredBy, documentOf, innerOf, maxTurns, propertiesOf, valueAt } from "./document.ts"
import { allSchemas } from "./keyword.ts"

/** True if some form of the schema describes the value at a path, or allows any value at a place on the way. */
export const describes = (root: JsonSchema, path: Path): boolean => {
  const steps = along(root, path)
  const key = path[steps.length - 1]
  return key === undefined || steps.at(-1)!.some((node) => isOpen(node, key))
}

/** Returns the beginning of a path that leads to a part of the value, or to a key that the schema declares. */
export const leadingPart = (path: Path, value: unknown, root: JsonSchema): Path => {
  const { formsAt } = documentOf(root)
  const isAt = (length: number): boolean =>
    partAt(value, path.slice(0, length)) !== undefined ||
    formsAt(path.slice(0, length - 1)).some((form) =>
      valueAt(propertiesOf(form), String(path[length - 1])) !== undefined
    )
  let length = 0
  while (length < path.length && isAt(length + 1)) length++
  return path.slice(0, length)
}

/** True if a path of the schema leads through a union. */
export const isInUnion = (root: JsonSchema, path: Path): boolean =>
  along(root, path).slice(0, path.length).some((nodes) => nodes.length > 1)

/** Returns the choices that a schema lists for a key of its value; `undefined` if it does not declare the key. */
export const choicesFor = (root: JsonSchema, key: string): ReadonlyArray<unknown> | undefined => {
  const declared = formsOf(root, [root]).map((form) => valueAt(propertiesOf(form), key)).filter(isObject)
  return declared.length === 0 ? undefined : formsOf(root, declared).flatMap((form) => choicesOf(form) ?? [])
}

/** Returns all keys that a schema declares, at any depth. */
export const keysDeclaredIn = (root: JsonSchema): ReadonlySet<string> =>
  new Set(Array.from(allSchemas(root)).flatMap(declaredBy))

/** Returns the schema that a reference leads to, or the schema itself if it is no reference. */
export const referred = (schema: JsonSchema, root: JsonSchema): JsonSchema => {
  const { resolve } = documentOf(root)
  let target = schema
  for (let hops = 0; hops < maxTurns; hops++) {
    const next = resolve(target)
    if (!isObject(next)) break
    target = next
  }
  return target
}

// Returns all forms at each step of a path, as far as the schema describes the path.
const along = (root: JsonSchema, path: Path): ReadonlyArray<ReadonlyArray<JsonSchema>> => {
  const steps = [formsOf(root, [root])]
  for (const key of path) {
    const next = formsOf(root, steps.at(-1)!.map((node) => innerOf(node, key)).filter(isObject))
    if (next.length === 0) break
    steps.push(next)
  }
  return steps
}

// Returns these schemas and, if one is a union, its members and their own members. A recursive schema has new
// members at each level, so the depth is limited.
const formsOf = (root: JsonSchema, schemas: ReadonlyArray<JsonSchema>): ReadonlyArray<JsonSchema> => {
  const { flat, members } = documentOf(root)
  const all = new Set<JsonSchema>()
  const collect = (schema: JsonSchema, depth: number): void => {
    const node = flat(schema)
    if (all.has(node) || depth === maxTurns) return
    all.add(node)
    for (const member of members(node) ?? []) collect(member, depth + 1)
  }
  for (const schema of schemas) collect(schema, 0)
  return Array.from(all)
}

// True for a schema that says nothing of the parts of its values.
const isOpen = (schema: JsonSchema, key: string | number): boolean =>
  Object.keys(schema).every((keyword) => documenting.has(keyword) || keyword === "type") &&
  allowsKind(schema, isNumber(key) ? [] : {})

const documenting: ReadonlySet<string> = new Set(["$defs", "definitions", "description", "examples", "title"])
