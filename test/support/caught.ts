import { assert } from "@effect/vitest"
import { ToolFailure } from "@fallible/core"

type Caught = ReturnType<typeof ToolFailure.from>

/** Converts any error to a failure. Returns `undefined` if `ToolFailure.from` throws the error again. */
export const caught = (error: unknown, options?: ToolFailure.FromOptions): Caught | undefined => {
  try {
    return ToolFailure.from(error, options)
  } catch (thrown) {
    assert.strictEqual(thrown, error, "what is thrown again is the error itself")
    return undefined
  }
}
