/*
 * Looks at a value of which nothing is known: a getter may throw, and a chain of causes may have no end.
 */
import * as Predicate from "effect/Predicate"
import { attempted } from "../stranger.ts"

/** The value under a key, also an inherited one. */
export const at = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce((value, key) => Predicate.isObject(value) ? attempted(() => value[key]) : undefined, value)

export const textAt = (value: unknown, ...path: ReadonlyArray<string>): string | undefined => {
  const text = at(value, ...path)
  return typeof text === "string" ? text : undefined
}

export const wholeAt = (value: unknown, ...path: ReadonlyArray<string>): number | undefined => {
  const number = at(value, ...path)
  return Number.isInteger(number) ? Number(number) : undefined
}

/** The items of a list, as far as anybody needs them. */
export const listAt = (value: unknown, key: string): ReadonlyArray<unknown> => {
  const list = at(value, key)
  return Array.isArray(list) ? list.slice(0, most.items) : []
}

/** How many items of a list are looked at, and how many causes down. */
export const most = { items: 20, depth: 5 }

/** An error's own name, and those of its classes. */
export const namesOf = (error: object): ReadonlyArray<string> => {
  const names = [textAt(error, "name") ?? ""]
  let prototype: unknown = attempted(() => Object.getPrototypeOf(error))
  for (let depth = 0; Predicate.isObject(prototype) && depth < most.depth; depth++) {
    const own = prototype
    names.push(textAt(own, "constructor", "name") ?? "")
    prototype = attempted(() => Object.getPrototypeOf(own))
  }
  return names
}
