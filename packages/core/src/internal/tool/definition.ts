import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { SideEffect } from "../../SideEffect.ts"
import type { Demand } from "../result/resultContract.ts"
import { excerpt, list } from "../value/text.ts"

const sideEffects: ReadonlyArray<SideEffect> = ["none", "idempotent", "idempotent_by_key", "non_idempotent"]

const validName = /^[a-zA-Z0-9_-]{1,64}$/

/** Throws for the first demand that is not met. */
export const demand = (demands: ReadonlyArray<Demand>): void => {
  for (const [what, isSo, value] of demands) if (!isSo) throw new TypeError(`${what}; got ${excerpt(value)}.`)
}

// The compiler asks for all of it but the name's letters; a program without types does not.
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
    refusesFirst,
    repeats,
    sideEffect,
    success
  }: Readonly<Record<string, unknown>>
): ReadonlyArray<Demand> => [
  [
    "A tool's name has 1 to 64 letters, digits, '_' or '-', as model providers require",
    Predicate.isString(name) && validName.test(name),
    name
  ],
  ["A tool's description is a text", Predicate.isString(description), description],
  [
    `A tool's sideEffect is one of ${list(sideEffects)}`,
    sideEffects.some((known) => known === sideEffect),
    sideEffect
  ],
  [
    "A tool's 'instead' is a list of names",
    Array.isArray(instead) && instead.every(Predicate.isString),
    instead
  ],
  [
    "A tool's 'check' is the name of another tool",
    check === undefined || Predicate.isString(check) && check !== name,
    check
  ],
  ["A tool's 'refusesFirst' is a boolean", Predicate.isBoolean(refusesFirst), refusesFirst],
  ["A tool's 'uninterruptible' is a boolean", Predicate.isBoolean(isUninterruptible), isUninterruptible],
  ["A tool's 'identity' is a function", identity === undefined || Predicate.isFunction(identity), identity],
  ["A tool's 'repeats' is a boolean", repeats === undefined || Predicate.isBoolean(repeats), repeats],
  [
    "A tool's 'failureLimit' is a whole number from 1",
    Number.isInteger(failureLimit) && Number(failureLimit) >= 1,
    failureLimit
  ],
  ["A tool's parameters are a Schema", parameters === undefined || Schema.isSchema(parameters), parameters],
  ["A tool's success is a Schema", Schema.isSchema(success), success],
  ["A tool's handler is a function", Predicate.isFunction(handler), handler]
]
