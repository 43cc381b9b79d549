/*
 * Looks at a value of which nothing is known: a getter may throw, and a message may be long.
 */
import * as Predicate from "effect/Predicate"
import { attempted } from "../value/untrusted.ts"

/** How much is looked at: errors below and beside each other, items of a list, causes down, characters. */
export const most = { errors: 50, items: 20, depth: 5, text: 2_000, name: 100 }

/** The value under a key, also an inherited one. */
export const at = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce(
    (value, key) => Predicate.isObjectKeyword(value) ? attempted(() => Reflect.get(value, key)) : undefined,
    value
  )

export const textAt = (value: unknown, ...path: ReadonlyArray<string>): string | undefined => {
  const text = at(value, ...path)
  return typeof text === "string" ? text.slice(0, most.text) : undefined
}

/** How long a text is as a whole. */
export const lengthAt = (value: unknown, ...path: ReadonlyArray<string>): number => {
  const text = at(value, ...path)
  return typeof text === "string" ? text.length : 0
}

export const wholeAt = (value: unknown, ...path: ReadonlyArray<string>): number | undefined => {
  const number = at(value, ...path)
  return Number.isInteger(number) ? Number(number) : undefined
}

/** The items of a list, as far as anybody needs them. */
export const listAt = (value: unknown, key: string): ReadonlyArray<unknown> => {
  const list = at(value, key)
  return attempted(() => Array.isArray(list) ? list.slice(0, most.items) : []) ?? []
}

/** A value, and what is below it, as far as anybody needs that. Errors may hold each other, and be many. */
export const withBelow = (value: unknown, partsOf: (one: unknown) => ReadonlyArray<unknown>): ReadonlySet<unknown> => {
  const all = new Set([value])
  for (const one of all) {
    for (const part of partsOf(one)) if (part !== undefined && all.size < most.errors) all.add(part)
  }
  return all
}

/** The names of an error's classes. */
export const classesOf = (error: object): ReadonlyArray<string> => {
  const names: Array<string> = []
  let prototype: unknown = attempted(() => Object.getPrototypeOf(error))
  for (let depth = 0; Predicate.isObject(prototype) && depth < most.depth; depth++) {
    const own = prototype
    names.push(textAt(own, "constructor", "name")?.slice(0, most.name) ?? "")
    prototype = attempted(() => Object.getPrototypeOf(own))
  }
  return names
}

/** An error's own name, and those of its classes. */
export const namesOf = (error: object): ReadonlyArray<string> => [
  textAt(error, "name")?.slice(0, most.name) ?? "",
  ...classesOf(error)
]
