import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { SideEffect } from "../../SideEffect.ts"
import type { Demand } from "../result/resultContract.ts"
import { excerpt, list } from "../value/text.ts"

const sideEffects: ReadonlyArray<SideEffect> = ["none", "idempotent", "idempotent_by_key", "non_idempotent"]

const validName = /^[a-zA-Z0-9_-]{1,64}$/

/** Throws a `TypeError` for the first requirement that is not met. */
export const demand = (demands: ReadonlyArray<Demand>): void => {
  for (const [requirement, isMet, value] of demands) {
    if (!isMet) throw new TypeError(`${requirement}; got ${excerpt(value)}.`)
  }
}

// Returns the requirements on a definition. The compiler checks most of them, but it does not check plain JavaScript.
export const demands = (
  name: unknown,
  {
    check,
    description,
    failureLimit,
    handler,
    identity,
    instead,
    isUninterruptible,
    parameters,
    poll,
    refusesFirst,
    repeats,
    sideEffect,
    success,
    volatile
  }: Readonly<Record<string, unknown>>
): ReadonlyArray<Demand> => [
  [
    "A tool's name must have 1 to 64 letters, digits, '_' or '-', as model providers require",
    Predicate.isString(name) && validName.test(name),
    name
  ],
  ["A tool's description must be a string", Predicate.isString(description), description],
  [
    `A tool's sideEffect must be one of ${list(sideEffects)}`,
    sideEffects.some((valid) => valid === sideEffect),
    sideEffect
  ],
  [
    "A tool's 'instead' must be a list of names",
    Array.isArray(instead) && instead.every(Predicate.isString),
    instead
  ],
  [
    "A tool's 'check' must be the name of another tool",
    check === undefined || Predicate.isString(check) && check !== name,
    check
  ],
  ["A tool's 'refusesFirst' must be a boolean", Predicate.isBoolean(refusesFirst), refusesFirst],
  ["A tool's 'uninterruptible' must be a boolean", Predicate.isBoolean(isUninterruptible), isUninterruptible],
  ["A tool's 'identity' must be a function", identity === undefined || Predicate.isFunction(identity), identity],
  ["A tool's 'repeats' must be a boolean", repeats === undefined || Predicate.isBoolean(repeats), repeats],
  [
    "A tool's 'failureLimit' must be a whole number of at least 1",
    Number.isInteger(failureLimit) && Number(failureLimit) >= 1,
    failureLimit
  ],
  [
    "A tool's 'volatile' must be a list of field names",
    Array.isArray(volatile) && volatile.every(Predicate.isString),
    volatile
  ],
  [
    "A tool with 'poll' must be read-only (sideEffect: \"none\"), since it runs again and again",
    poll === undefined || sideEffect === "none",
    sideEffect
  ],
  ["A tool's parameters must be a Schema", parameters === undefined || Schema.isSchema(parameters), parameters],
  ["A tool's success must be a Schema", Schema.isSchema(success), success],
  ["A tool's handler must be a function", Predicate.isFunction(handler), handler]
]
