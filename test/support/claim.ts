import { deepStrictEqual } from "node:assert"

/** The claims that were made, in their order. */
export const claims: Array<unknown> = []

/** What an example says of an expression. */
export const claim = (actual: unknown, expected: unknown): void => {
  claims.push(expected)
  deepStrictEqual(actual, expected)
}
