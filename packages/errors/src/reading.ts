/*
 * Safe access to unknown values: a getter may throw, and a message may be long.
 */

/** Returns the result of reading a value, or `undefined` if reading it throws. */
export const attempt = <A>(look: () => A): A | undefined => {
  try {
    return look()
  } catch {
    return undefined
  }
}

/** Returns a type guard for the instances of a class. */
export const isA = <A>(type: abstract new(...args: Array<never>) => A) => (value: unknown): value is A =>
  attempt(() => value instanceof type) === true

/** A class of errors. */
export type ErrorClass = abstract new(...args: Array<never>) => Error

/** True if a value is an instance of one of several classes. */
export const isOneOf = (value: unknown, classes: ReadonlyArray<ErrorClass>): boolean =>
  classes.some((type) => isA(type)(value))

/** True if a value is an object, which may be a list. */
export const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

/** True if a value is an object, and not a list. */
export const isRecord = (value: unknown): value is object =>
  isObject(value) && attempt(() => Array.isArray(value)) === false

/** True if a value has a property, own or inherited. Throws if that cannot be told. */
export const has = (value: unknown, key: string): boolean => isObjectOrFunction(value) && key in value

const isObjectOrFunction = (value: unknown): value is object => isObject(value) || typeof value === "function"

/** The limits on reading an error: related errors, items of a list, levels of classes or causes, characters. */
export const max = { errors: 50, items: 20, depth: 5, text: 2_000, name: 100 }

/** Returns the value at a path of keys, own or inherited. */
export const at = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce(
    (value, key) => isObjectOrFunction(value) ? attempt(() => Reflect.get(value, key)) : undefined,
    value
  )

export const textAt = (value: unknown, ...path: ReadonlyArray<string>): string | undefined => {
  const text = at(value, ...path)
  return typeof text === "string" ? text.slice(0, max.text) : undefined
}

/** Returns the full length of the text at a path. */
export const lengthAt = (value: unknown, ...path: ReadonlyArray<string>): number => {
  const text = at(value, ...path)
  return typeof text === "string" ? text.length : 0
}

export const wholeAt = (value: unknown, ...path: ReadonlyArray<string>): number | undefined => {
  const number = at(value, ...path)
  return Number.isInteger(number) ? Number(number) : undefined
}

/** Returns the first items of a list, at most `most.items`. */
export const listAt = (value: unknown, key: string): ReadonlyArray<unknown> => {
  const list = at(value, key)
  return attempt(() => Array.isArray(list) ? list.slice(0, max.items) : []) ?? []
}

/** Returns the parts of an error, an exit, a cause or an outcome. */
export const partsOf = (one: unknown): ReadonlyArray<unknown> =>
  Array.isArray(one)
    ? one.slice(0, max.items)
    : [at(one, "cause"), at(one, "error"), at(one, "failure"), ...listAt(one, "errors"), ...listAt(one, "reasons")]

/**
 * Returns an error and the errors inside it: its causes, the errors of an aggregate, the reasons of an Effect's cause, and so
 * on. At most 50 values, since errors may be circular and numerous.
 *
 * @category reading
 * @since 0.1.0
 */
export const errorsIn = (value: unknown, parts: typeof partsOf = partsOf): ReadonlySet<unknown> => {
  const all = new Set([value])
  for (const one of all) {
    for (const part of parts(one)) if (part !== undefined && all.size < max.errors) all.add(part)
  }
  return all
}

/** Returns the names of an error's classes, from its own class up. */
export const classesOf = (error: object): ReadonlyArray<string> => {
  const names: Array<string> = []
  let prototype: unknown = attempt(() => Object.getPrototypeOf(error))
  for (let depth = 0; isObject(prototype) && depth < max.depth; depth++) {
    const own = prototype
    names.push(textAt(own, "constructor", "name")?.slice(0, max.name) ?? "")
    prototype = attempt(() => Object.getPrototypeOf(own))
  }
  return names
}

/** Returns an error's own name, and the names of its classes. */
export const namesOf = (error: object): ReadonlyArray<string> => [
  textAt(error, "name")?.slice(0, max.name) ?? "",
  ...classesOf(error)
]
