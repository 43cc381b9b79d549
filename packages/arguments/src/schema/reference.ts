/**
 * What a `$ref` points to: inside of its own document, by a JSON pointer, an `$anchor` or an `$id`. Nothing is ever fetched.
 */
import { isObject, type JsonSchema } from "../json.ts"
import { memoized } from "../memo.ts"
import { schemasIn } from "./keyword.ts"

/** Finds what the `$ref` of a schema of this document points to; `undefined` where there is nothing. */
export const referencesIn = (root: JsonSchema): (schema: JsonSchema) => unknown => {
  let index: Index | undefined
  return (schema) => {
    const reference = String(schema["$ref"])
    // As nearly all of them are.
    if (reference.startsWith("#/") && schema["$id"] === undefined && !mentionsId(root)) return pointed(root, reference)
    index ??= indexOf(root)
    const [address = "", fragment = ""] = split(reference)
    const base = index.bases.get(schema) ?? ""
    const target = address === "" ? base : resolved(address, base)
    const resource = index.resources.get(target)
    if (fragment === "") return resource
    return fragment.startsWith("/")
      ? resource === undefined ? undefined : pointed(resource, `#${fragment}`)
      : index.anchors.get(`${target}#${fragment}`)
  }
}

interface Index {
  /** Schemas by their address: the document itself, and what has an `$id`. */
  readonly resources: Map<string, JsonSchema>
  readonly anchors: Map<string, JsonSchema>
  /** The address by which the references of a schema are read. */
  readonly bases: Map<JsonSchema, string>
}

const indexOf = (root: JsonSchema): Index => {
  const index: Index = { resources: new Map(), anchors: new Map(), bases: new Map() }
  // A loop over a map comes to what is added meanwhile, and to each schema once.
  const outer = new Map<JsonSchema, string>([[root, ""]])
  for (const [schema, around] of outer) {
    const { $anchor, $dynamicAnchor, $id, id = $id } = schema
    const base = typeof id === "string" && !id.startsWith("#") ? resolved(split(id)[0] ?? "", around) : around
    index.bases.set(schema, base)
    if (base !== around || schema === root) index.resources.set(base, schema)
    for (const anchor of [$anchor, $dynamicAnchor]) {
      if (typeof anchor === "string") index.anchors.set(`${base}#${anchor}`, schema)
    }
    for (const [, inner] of schemasIn(schema)) if (isObject(inner) && !outer.has(inner)) outer.set(inner, base)
  }
  return index
}

// Whether there are addresses at all; found once for each document.
const mentionsId: (root: JsonSchema) => boolean = memoized((root) => {
  const seen = new Set([root])
  for (const schema of seen) {
    if (typeof schema["$id"] === "string") return true
    for (const [, inner] of schemasIn(schema)) if (isObject(inner)) seen.add(inner)
  }
  return false
})

const split = (reference: string): ReadonlyArray<string> => {
  const at = reference.indexOf("#")
  return at === -1 ? [reference] : [reference.slice(0, at), reference.slice(at + 1)]
}

// An address beside another one (RFC 3986, as far as schemas need it).
const resolved = (address: string, base: string): string => {
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

// A JSON pointer, as `#/$defs/Place`; `#` is the schema itself.
const pointed = (root: JsonSchema, reference: string): unknown =>
  reference.split("/").slice(1).reduce<unknown>((node, token) => {
    const key = decoded(token).replaceAll("~1", "/").replaceAll("~0", "~")
    return typeof node === "object" && node !== null && Object.hasOwn(node, key) ? Reflect.get(node, key) : undefined
  }, root)

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
