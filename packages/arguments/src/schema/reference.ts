/**
 * Resolves a `$ref` inside its own document: by a JSON pointer, an `$anchor` or an `$id`. Nothing is ever
 * fetched.
 */
import { isObject, type JsonSchema } from "../json.ts"
import { memoize } from "../memo.ts"
import { schemasIn } from "./keyword.ts"

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
    const [address = "", fragment = ""] = splitFragment(reference)
    const base = index.bases.get(schema) ?? ""
    const target = address === "" ? base : resolveAddress(address, base)
    const resource = index.resources.get(target)
    if (fragment === "") return resource
    return fragment.startsWith("/")
      ? resource === undefined ? undefined : targetAt(resource, `#${fragment}`)
      : index.anchors.get(`${target}#${fragment}`)
  }
}

interface Index {
  /** Schemas by their address: the document itself, and every schema with an `$id`. */
  readonly resources: Map<string, JsonSchema>
  readonly anchors: Map<string, JsonSchema>
  /** For each schema, the base address of its references. */
  readonly bases: Map<JsonSchema, string>
}

const indexOf = (root: JsonSchema): Index => {
  const index: Index = { resources: new Map(), anchors: new Map(), bases: new Map() }
  // The loop also visits entries that are added to the map meanwhile, and visits each schema once.
  const queue = new Map<JsonSchema, string>([[root, ""]])
  for (const [schema, outerBase] of queue) {
    const { $anchor, $dynamicAnchor, $id, id = $id } = schema
    const base = typeof id === "string" && !id.startsWith("#")
      ? resolveAddress(splitFragment(id)[0] ?? "", outerBase)
      : outerBase
    index.bases.set(schema, base)
    if (base !== outerBase || schema === root) index.resources.set(base, schema)
    for (const anchor of [$anchor, $dynamicAnchor]) {
      if (typeof anchor === "string") index.anchors.set(`${base}#${anchor}`, schema)
    }
    for (const [, inner] of schemasIn(schema)) if (isObject(inner) && !queue.has(inner)) queue.set(inner, base)
  }
  return index
}

// True if any schema of the document has an `$id`. Computed once for each document.
const mentionsId: (root: JsonSchema) => boolean = memoize((root) => {
  const seen = new Set([root])
  for (const schema of seen) {
    if (typeof schema["$id"] === "string") return true
    for (const [, inner] of schemasIn(schema)) if (isObject(inner)) seen.add(inner)
  }
  return false
})

const splitFragment = (reference: string): ReadonlyArray<string> => {
  const at = reference.indexOf("#")
  return at === -1 ? [reference] : [reference.slice(0, at), reference.slice(at + 1)]
}

// Resolves an address against a base (RFC 3986, as far as schemas need it).
const resolveAddress = (address: string, base: string): string => {
  if (/^[a-z][a-z\d+.-]*:/i.test(address)) return address
  const [origin = ""] = /^[a-z][a-z\d+.-]*:(?:\/\/[^/]*)?/i.exec(base) ?? []
  const folder = address.startsWith("/") ? [] : base.slice(origin.length).split("/").slice(0, -1)
  const path: Array<string> = []
  for (const part of [...folder, ...address.split("/")]) {
    if (part === "..") path.pop()
    else if (part !== "." && part !== "") path.push(part)
  }
  return origin === "" ? path.join("/") : `${origin}/${path.join("/")}`
}

// Follows a JSON pointer such as `#/$defs/Place`; `#` is the schema itself.
const targetAt = (root: JsonSchema, reference: string): unknown =>
  reference.split("/").slice(1).reduce<unknown>((node, token) => {
    const key = decodeUri(token).replaceAll("~1", "/").replaceAll("~0", "~")
    return typeof node === "object" && node !== null && Object.hasOwn(node, key) ? Reflect.get(node, key) : undefined
  }, root)

const decodeUri = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
