import { deepStrictEqual } from "node:assert"

/** The expected values of all claims so far, in order. */
export const claims: Array<unknown> = []

/** Records a claim of an example, and asserts that the expression has the claimed value. */
export const claim = (actual: unknown, expected: unknown): void => {
  claims.push(expected)
  deepStrictEqual(actual, expected)
}
