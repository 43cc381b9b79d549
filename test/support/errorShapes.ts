/**
 * The errors of real libraries, as data: `errorShapes.json`, recorded by `bench/errors/record.ts`.
 *
 * A test revives them, and so needs none of the libraries. A revived error has the prototype chain, the properties and
 * the getters of the original. It has no methods and no symbols, a stack of one frame (its causes have none), and
 * nothing of what was deep, long or alive in it, such as sockets, streams and the bodies of responses.
 */
import { readFileSync } from "node:fs"

/** What is kept of a value. Strings, finite numbers, booleans and null are kept as they are. */
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
   * The names of the constructors up the prototype chain, without `Object`; `null` where the chain ends before it. One
   * with a star only has the name of a built-in class. One without a name has the constructor of the next, as Node's
   * own errors do. None: a plain object.
   */
  readonly classes?: ReadonlyArray<string>
  /** The own properties, and what own getters return. */
  readonly own: Readonly<Record<string, Tree>>
  /** The own properties that are there, and undefined. */
  readonly undefined?: ReadonlyArray<string>
  /** The own properties that are not enumerable, when those are others than {@link hiddenByDefault}. */
  readonly hidden?: ReadonlyArray<string>
  /** What the library's prototypes add: values, and what getters return. */
  readonly inherited?: Readonly<Record<string, Tree>>
}

/** One recorded error. */
export interface Recorded {
  readonly name: string
  readonly library: string
  readonly error: Tree
}

/** The classes that are the runtime's own: a revived error has the real ones. */
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

/** Stands in a recorded stack for the error's message. */
export const messageMark = "{message}"

/** The properties that the runtime's own constructors make, and do not make enumerable. */
export const hiddenByDefault = (kind: Instance["kind"], own: Instance["own"]): ReadonlyArray<string> =>
  kind === "error" ? Object.keys(own).filter((key) => ["stack", "message", "cause", "errors"].includes(key)) : []

/** The value that a tree was made of, as far as it was kept. */
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

/** `Array.isArray` does not know lists that are read-only. */
export const isList = (tree: Tree): tree is ReadonlyArray<Tree> => Array.isArray(tree)

const headers = (entries: ReadonlyArray<readonly [string, string]>) =>
  new Headers(entries.map(([name, value]) => [name, value]))

const stackOf = ({ own: { stack, message }, inherited = {} }: Instance) => {
  const said = message ?? inherited["message"]
  return typeof stack === "string" && typeof said === "string" ? { stack: stack.replace(messageMark, () => said) } : {}
}

const missing: Tree = { kind: "undefined" }

const instance = (tree: Instance): object => {
  const { kind, classes = [], own, hidden = hiddenByDefault(kind, own), inherited = {} } = tree
  const values = [
    ...Object.entries({ ...own, ...stackOf(tree) }),
    ...(tree.undefined ?? []).map((key) => [key, missing] as const)
  ]
  if (classes[0] === "DOMException") return defineAll(domException(inherited), values, hidden)
  // An error's internal slot comes with the constructor, and with it `Error.isError`.
  const revived: object = kind === "error" ? new Error() : {}
  if (kind === "error") {
    for (const key of Object.getOwnPropertyNames(revived)) Reflect.deleteProperty(revived, key)
  }
  Object.setPrototypeOf(revived, prototype(classes, Object.entries(inherited)))
  return defineAll(revived, values, hidden)
}

// Its fields are getters of a private state, so it can only be constructed.
const domException = ({ message, name }: Readonly<Record<string, Tree>>) => new DOMException(text(message), text(name))

const text = (tree: Tree | undefined) => typeof tree === "string" ? tree : ""

/** The chain of classes; those of the library share what they add, on the first. */
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

/** What stands in `errorShapes.json`. */
export const recorded = JSON.parse(
  readFileSync(new URL("errorShapes.json", import.meta.url), "utf8")
) as ReadonlyArray<Recorded>

/** Every recorded error, with a function that revives a fresh one. */
export const shapes: ReadonlyArray<{ readonly name: string; readonly library: string; readonly error: () => unknown }> =
  recorded.map(({ name, library, error }) => ({ name, library, error: () => revive(error) }))

/** A fresh error by its name. */
export const shapeOf = (name: string): unknown => {
  const found = recorded.find((recorded) => recorded.name === name)
  if (found === undefined) throw new Error(`No error was recorded as '${name}'.`)
  return revive(found.error)
}
