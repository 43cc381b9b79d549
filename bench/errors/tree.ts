/** Converts a live error to recorded data. */
import { EventEmitter } from "node:events"
import { builtIn, hiddenByDefault, messageMark, type Tree } from "../../test/support/errorShapes.ts"

const depthLimit = 6
/** The limit for objects that are neither errors nor lists: bodies, headers, segments of an issue's path. */
const objectDepthLimit = 4
const arrayLimit = 10
const keyLimit = 30
const stringLimit = 500

/** Properties that never identify an error: library internals, and details of every HTTP exchange. */
const skipped = new Set(
  `_zod accept accept-encoding adapter agent allowAbsoluteUrls ast b3 connection context controller dispatcher duplex
  duration env hash httpAgent httpsAgent keep-alive maxBodyLength maxContentLength options original retry timings traceparent
  transfer-encoding transformRequest transformResponse transitional urlParams user-agent xsrfCookieName
  xsrfHeaderName`.split(/\s+/)
)
const isSkipped = (key: string) => key === "stack" || skipped.has(key) || skipped.has(key.toLowerCase())

/** The properties recorded of a live object: a socket, a request, a stream. */
const liveKeys = ["status", "statusCode", "statusMessage", "headers", "url", "method", "path", "host"]

/** Replaces the parts of a string that differ between machines: paths and ports. */
export type Scrub = (text: string) => string

export const treeOf = (value: unknown, scrub: Scrub): Tree => {
  const parents = new Set<object>()
  const seen = new Set<object>()

  const visit = (value: unknown, depth: number, key = ""): Tree | undefined => {
    switch (typeof value) {
      case "string":
        return cut(scrub(value))
      case "number":
        return /port$/i.test(key)
          ? 12345
          : /^pid$|^processID$/i.test(key)
          ? 1
          : Number.isFinite(value)
          ? value
          : undefined
      case "boolean":
        return value
      case "bigint":
        return { kind: "bigint", value: String(value) }
      case "object":
        return value === null ? null : parents.has(value) || depth > depthLimit ? undefined : within(value, depth)
      default:
        return undefined
    }
  }

  const within = (value: object, depth: number) => {
    parents.add(value)
    const tree = object(value, depth)
    parents.delete(value)
    return tree
  }

  const object = (value: object, depth: number): Tree | undefined => {
    if (Array.isArray(value)) {
      const items = value.slice(0, arrayLimit).map((item) => visit(item, depth + 1))
      return items.filter((item) => item !== undefined)
    }
    if (value instanceof URL) return { kind: "url", href: scrub(value.href) }
    if (value instanceof Headers || className(value) === "Headers") {
      return { kind: "headers", entries: entries(value as Headers) }
    }
    if (value instanceof Response || className(value) === "Response") {
      const { status, statusText, url, headers } = value as Response
      return { kind: "response", status, statusText, url: scrub(url), headers: entries(headers) }
    }
    const classes = classesOf(value)
    const kind = value instanceof Error ? "error" : "object"
    const stack = kind === "error" && depth === 0 ? { stack: scrub(shortStack(value as Error)) } : {}
    const again = seen.has(value)
    if (kind === "object" && depth > objectDepthLimit) return undefined
    seen.add(value)
    const live = isLive(value)
    // Skips the request, which a response repeats.
    const repeated = depth > 0 && "data" in value ? ["config", "request"] : []
    const names = live
      ? liveKeys.filter((key) => depth < 2 && key in value)
      : Object.getOwnPropertyNames(value).filter((key) => !repeated.includes(key))
    // An object that was visited before is recorded with its scalars and its cause only.
    const properties = again ? names.filter((key) => key === "cause" || typeof read(value, key) !== "object") : names
    const own = { ...stack, ...visitAll(value, properties.filter((key) => !isSkipped(key)).slice(0, keyLimit), depth) }
    const empty = live || depth > 1 ? [] : names.filter((key) => read(value, key) === undefined && !isSkipped(key))
    const hidden = Object.keys(own).filter((key) => !live && !Object.prototype.propertyIsEnumerable.call(value, key))
    const usual = hiddenByDefault(kind, own)
    const above = live
      ? []
      : inheritedNames(value).filter((key) => (kind === "error" || liveKeys.includes(key)) && !isSkipped(key))
    const inherited = visitAll(value, above.filter((key) => !(key in own)), depth)
    return {
      kind,
      ...(classes.length > 0 ? { classes: live ? classes.slice(0, 1) : classes } : {}),
      own,
      ...(empty.length > 0 ? { undefined: empty } : {}),
      ...(hidden.join() === usual.join() ? {} : { hidden }),
      ...(Object.keys(inherited).length > 0 ? { inherited } : {})
    }
  }

  const visitAll = (value: object, keys: ReadonlyArray<string>, depth: number): Record<string, Tree> => {
    const trees: Record<string, Tree> = {}
    for (const key of keys) {
      const tree = visit(read(value, key), depth + 1, key)
      if (tree !== undefined) trees[key] = tree
    }
    return trees
  }

  const entries = (headers: Headers) =>
    [...headers].filter(([name]) => !isSkipped(name)).map(([name, value]) => [name, scrub(value)] as const)

  const tree = visit(value, 0)
  return tree === undefined ? { kind: "undefined" } : tree
}

/** Shortens a stack to its head and first frame. A mark replaces the message, which is recorded elsewhere. */
const shortStack = ({ message, stack = "" }: Error) => {
  const marked = message === "" ? stack : stack.replace(message, () => messageMark)
  const [head = "", frame] = marked.split(/\n(?= +at )/)
  return frame === undefined ? cut(head) : `${cut(head)}\n${frame}`
}

const cut = (text: string) => text.length > stringLimit ? `${text.slice(0, stringLimit)}…` : text

// Reads a property. If its getter throws, returns a function, which is not recorded.
const read = (value: object, key: string): unknown => {
  try {
    return Reflect.get(value, key)
  } catch {
    return () => {}
  }
}

const isLive = (value: object) =>
  value instanceof EventEmitter || value instanceof EventTarget || ArrayBuffer.isView(value) || value instanceof Request
  || value instanceof ReadableStream || Symbol.asyncIterator in value || value instanceof Promise

const prototypes = (value: object): ReadonlyArray<object> => {
  const above = Object.getPrototypeOf(value) as object | null
  return above === null ? [] : [above, ...prototypes(above)]
}

const className = (value: object) => classesOf(value)[0]

const classesOf = (value: object) => {
  const above = prototypes(value)
  return above.at(-1) === Object.prototype ? above.slice(0, -1).map(nameOf) : [...above.map(nameOf), "null"]
}

const nameOf = (prototype: object) => {
  // The classes of Node's own errors name the class above through a getter. They have no name here.
  const constructor = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value as { name?: string } | undefined
  const name = constructor?.name ?? ""
  return builtIn.has(name) && builtIn.get(name)?.prototype !== prototype ? `${name}*` : name
}

/**
 * Lists the properties of prototypes that are not the runtime's own, without the markers of Effect's classes. A
 * `DOMException` has its fields on its prototype.
 */
const inheritedNames = (value: object) =>
  value instanceof DOMException
    ? ["name", "message", "code"]
    : prototypes(value)
      .filter((prototype) => !isBuiltIn(prototype))
      .flatMap((prototype) => Object.getOwnPropertyNames(prototype))
      .filter((key) => key !== "constructor" && key !== "__proto__" && !key.startsWith("~effect/"))

const isBuiltIn = (prototype: object) =>
  [...builtIn.values()].some((constructor) => constructor.prototype === prototype)
