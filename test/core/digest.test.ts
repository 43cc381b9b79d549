import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { createHash } from "node:crypto"
import { digest } from "../../packages/core/src/internal/value/digest.ts"

const nodeDigest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 32)

describe("a digest", () => {
  it("equals Node's, for any length, and around the end of each block", () => {
    for (let length = 0; length < 300; length++) {
      const text = "a".repeat(length)
      assert.strictEqual(digest(text), nodeDigest(text), `${length}`)
    }
    for (const text of ["", "é", "𝄞".repeat(100), "\u0000\uffff", "x".repeat(200_000), "a"]) {
      assert.strictEqual(digest(text), nodeDigest(text))
    }
  })

  it("equals Node's for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 500 }), (text) => digest(text) === nodeDigest(text)),
      { numRuns: 300 }
    )
  })
})
