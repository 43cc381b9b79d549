/**
 * The errors of real libraries, as data: `errorShapes.json`, recorded by `bench/errors/record.ts`.
 *
 * Tests revive these errors, so they need none of the libraries. A revived error has the prototype chain,
 * the properties and the getters of the original. Its stack has one frame, and its causes have no stack.
 * Methods, symbols, deep or long parts, and live objects (sockets, streams, response bodies) are dropped.
 */
import { readFileSync } from "node:fs"

/** A recorded value. Strings, finite numbers, booleans and null are stored unchanged. */
export type Tree =
  | string
  | number
  | boolean
  | null
  | { readonly kind: "undefined" }
  | { readonly kind: "bigint"; readonly value: string }
  | { readonly kind: "url"; readonly href: string }
  | ReadonlyArray<Tree>
  | { readonly kind: "headers"; readonly entries: ReadonlyArray<readonly [string, string]> }
  | {
    readonly kind: "response"
    readonly status: number
    readonly statusText: string
    readonly url: string
    readonly headers: ReadonlyArray<readonly [string, string]>
  }
  | Instance

/** An object with a class. */
export interface Instance {
  readonly kind: "error" | "object"
  /**
   * The names of the constructors along the prototype chain, without `Object`. `null` marks a chain that
   * ends before `Object`. A star marks a class that only shares its name with a built-in class. An empty
   * name marks a prototype that inherits its constructor from the next one, as Node's own errors do. Absent
   * for a plain object.
   */
  readonly classes?: ReadonlyArray<string>
  /** The own properties, including the values of own getters. */
  readonly own: Readonly<Record<string, Tree>>
  /** The own properties whose value is `undefined`. */
  readonly undefined?: ReadonlyArray<string>
  /** The own properties that are not enumerable. Absent if they equal {@link hiddenByDefault}. */
  readonly hidden?: ReadonlyArray<string>
  /** The properties that the library's prototypes add, including the values of getters. */
  readonly inherited?: Readonly<Record<string, Tree>>
}

/** One recorded error. */
export interface Recorded {
  readonly name: string
  readonly library: string
  readonly error: Tree
}

/** The runtime's own classes. A revived error uses the real ones. */
export const builtIn: ReadonlyMap<string, { readonly prototype: object }> = new Map(
  [
    Error,
    TypeError,
    RangeError,
    SyntaxError,
    ReferenceError,
    URIError,
    EvalError,
    AggregateError,
    DOMException
  ].map((constructor) => [constructor.name, constructor])
)

/** Placeholder for the error's message in a recorded stack. */
export const messageMark = "{message}"

/** Returns the properties that the runtime's own constructors define as non-enumerable. */
export const hiddenByDefault = (kind: Instance["kind"], own: Instance["own"]): ReadonlyArray<string> =>
  kind === "error" ? Object.keys(own).filter((key) => ["stack", "message", "cause", "errors"].includes(key)) : []

/** Restores the value of a recorded tree. */
export const revive = (tree: Tree): unknown => {
  if (typeof tree !== "object" || tree === null) return tree
  if (isList(tree)) return tree.map(revive)
  switch (tree.kind) {
    case "undefined":
      return undefined
    case "bigint":
      return BigInt(tree.value)
    case "url":
      return new URL(tree.href)
    case "headers":
      return headers(tree.entries)
    case "response": {
      const { status, statusText, url } = tree
      const response = new Response(null, { status, statusText, headers: headers(tree.headers) })
      return Object.defineProperty(response, "url", { value: url })
    }
    case "error":
    case "object":
      return instance(tree)
  }
}

/** `Array.isArray` with a type guard for read-only arrays. */
export const isList = (tree: Tree): tree is ReadonlyArray<Tree> => Array.isArray(tree)

const headers = (entries: ReadonlyArray<readonly [string, string]>) =>
  new Headers(entries.map(([name, value]) => [name, value]))

const stackOf = ({ own: { stack, message }, inherited = {} }: Instance) => {
  const messageText = message ?? inherited["message"]
  return typeof stack === "string" && typeof messageText === "string"
    ? { stack: stack.replace(messageMark, () => messageText) }
    : {}
}

const missing: Tree = { kind: "undefined" }

const instance = (tree: Instance): object => {
  const { kind, classes = [], own, hidden = hiddenByDefault(kind, own), inherited = {} } = tree
  const values = [
    ...Object.entries({ ...own, ...stackOf(tree) }),
    ...(tree.undefined ?? []).map((key) => [key, missing] as const)
  ]
  if (classes[0] === "DOMException") return defineAll(domException(inherited), values, hidden)
  // Only the constructor sets the internal slot that `Error.isError` checks.
  const revived: object = kind === "error" ? new Error() : {}
  if (kind === "error") {
    for (const key of Object.getOwnPropertyNames(revived)) Reflect.deleteProperty(revived, key)
  }
  Object.setPrototypeOf(revived, prototype(classes, Object.entries(inherited)))
  return defineAll(revived, values, hidden)
}

// The fields of a DOMException are getters of private state, so only its constructor can set them.
const domException = ({ message, name }: Readonly<Record<string, Tree>>) => new DOMException(text(message), text(name))

const text = (tree: Tree | undefined) => typeof tree === "string" ? tree : ""

/** Builds the prototype chain. The first library class gets all inherited properties. */
const prototype = (
  classes: ReadonlyArray<string>,
  inherited: ReadonlyArray<readonly [string, Tree]>
): object | null => {
  const [name, ...above] = classes
  if (name === undefined) return Object.prototype
  if (name === "null") return null
  const real = builtIn.get(name)
  if (real !== undefined) return real.prototype
  const made = Object.create(prototype(above, [])) as object
  if (name !== "") {
    const constructor = Object.defineProperty(function() {}, "name", { value: name.replace("*", "") })
    Object.defineProperty(made, "constructor", { value: constructor, configurable: true, writable: true })
    Object.defineProperty(constructor, "prototype", { value: made })
  }
  for (const [key, value] of inherited) {
    Object.defineProperty(made, key, { get: () => revive(value), configurable: true })
  }
  return made
}

const defineAll = (object: object, values: ReadonlyArray<readonly [string, Tree]>, hidden: ReadonlyArray<string>) => {
  for (const [key, value] of values) {
    Object.defineProperty(object, key, {
      value: revive(value),
      enumerable: !hidden.includes(key),
      configurable: true,
      writable: true
    })
  }
  return object
}

/** The content of `errorShapes.json`. */
export const recorded = JSON.parse(
  readFileSync(new URL("errorShapes.json", import.meta.url), "utf8")
) as ReadonlyArray<Recorded>

/** All recorded errors, each with a function that revives a fresh one. */
export const shapes: ReadonlyArray<{ readonly name: string; readonly library: string; readonly error: () => unknown }> =
  recorded.map(({ name, library, error }) => ({ name, library, error: () => revive(error) }))

/** Revives a recorded error by its name. */
export const shapeOf = (name: string): unknown => {
  const match = recorded.find((recorded) => recorded.name === name)
  if (match === undefined) throw new Error(`No error was recorded as '${name}'.`)
  return revive(match.error)
}
