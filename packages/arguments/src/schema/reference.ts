/**
 * Resolves a `$ref` inside its own document: by a JSON pointer, an `$anchor` or an `$id`. Nothing is ever
 * fetched.
 */
import { isString, type JsonSchema, partAt } from "../json.ts"
import { memoize, newMap } from "../memo.ts"
import { allSchemas, schemasIn } from "./keyword.ts"

/**
 * Returns a function that finds the target of a schema's `$ref`. That function returns `undefined` if there
 * is no target.
 */
export const referencesIn = (root: JsonSchema): (schema: JsonSchema) => unknown => {
  let index: Index | undefined
  return (schema) => {
    const reference = String(schema["$ref"])
    // The usual case.
    if (reference.startsWith("#/") && schema["$id"] === undefined && !mentionsId(root)) return targetAt(root, reference)
    index ??= indexOf(root)
    const [address, fragment] = splitFragment(reference)
    const base = index.bases.get(schema) ?? ""
    const target = address === "" ? base : resolveAddress(address, base)
    return fragment === "" || fragment.startsWith("/")
      ? targetAt(index.schemas.get(target), fragment)
      : index.schemas.get(`${target}#${fragment}`)
  }
}

interface Index {
  /** Schemas by their address: the document itself, and every schema with an `$id` or an anchor. */
  readonly schemas: Map<string, JsonSchema>
  /** For each schema, the base address of its references. */
  readonly bases: Map<JsonSchema, string>
}

const indexOf = (root: JsonSchema): Index => {
  const index: Index = { schemas: newMap(), bases: newMap() }
  // The loop also visits entries that are added to the map meanwhile, and visits each schema once.
  const queue = new Map<JsonSchema, string>([[root, ""]])
  for (const [schema, outerBase] of queue) {
    const { $anchor, $dynamicAnchor, $id, id = $id } = schema
    const base = isString(id) && !id.startsWith("#") ? resolveAddress(splitFragment(id)[0], outerBase) : outerBase
    index.bases.set(schema, base)
    if (base !== outerBase || schema === root) index.schemas.set(base, schema)
    for (const anchor of [$anchor, $dynamicAnchor]) {
      if (isString(anchor)) index.schemas.set(`${base}#${anchor}`, schema)
    }
    for (const [, inner] of schemasIn(schema)) if (!queue.has(inner)) queue.set(inner, base)
  }
  return index
}

// True if any schema of the document has an `$id`. Computed once for each document.
const mentionsId: (root: JsonSchema) => boolean = memoize((root) =>
  Array.from(allSchemas(root)).some((schema) => isString(schema["$id"]))
)

const splitFragment = (reference: string): readonly [address: string, fragment: string] => {
  const [address = ""] = reference.split("#", 1)
  return [address, reference.slice(address.length + 1)]
}

const schemeAndHost = /^[a-z][a-z\d+.-]*:(?:\/\/[^/]*)?/i

// Resolves an address against a base (RFC 3986, as far as schemas need it).
const resolveAddress = (address: string, base: string): string => {
  if (schemeAndHost.test(address)) return address
  const [origin = ""] = schemeAndHost.exec(base) ?? []
  const folder = address.startsWith("/") ? [] : base.slice(origin.length).split("/").slice(0, -1)
  const path: Array<string> = []
  for (const part of [...folder, ...address.split("/")]) {
    if (part === "..") path.pop()
    else if (part !== "." && part !== "") path.push(part)
  }
  return origin === "" ? path.join("/") : `${origin}/${path.join("/")}`
}

const targetAt = (root: JsonSchema | undefined, pointer: string): unknown => partAt(root, keysIn(pointer))

/** Returns the keys of a JSON pointer such as `#/$defs/Place`; `#` has none, and is the schema itself. */
export const keysIn = (pointer: string): ReadonlyArray<string> =>
  pointer.split("/").slice(1).map((token) => decodeUri(token).replaceAll("~1", "/").replaceAll("~0", "~"))

const decodeUri = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
