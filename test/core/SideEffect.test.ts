import { assert, describe, it } from "@effect/vitest"
import { SideEffect } from "@fallible/core"

const all: ReadonlyArray<SideEffect.SideEffect> = ["none", "idempotent", "non_idempotent"]

describe("SideEffect", () => {
  it("is the same after it was told as annotations and read back", () => {
    assert.deepStrictEqual(all.map((sideEffect) => SideEffect.fromAnnotations(SideEffect.annotations(sideEffect))), all)
  })

  it("as annotations takes whatever acts to be destructive", () => {
    assert.deepStrictEqual(all.map(SideEffect.annotations), [
      { readOnlyHint: true, idempotentHint: true, destructiveHint: false },
      { readOnlyHint: false, idempotentHint: true, destructiveHint: true },
      { readOnlyHint: false, idempotentHint: false, destructiveHint: true }
    ])
  })

  it("of annotations that do not say is the careful one", () => {
    assert.strictEqual(SideEffect.fromAnnotations({}), "non_idempotent")
    assert.strictEqual(SideEffect.fromAnnotations({ destructiveHint: false }), "non_idempotent")
    assert.strictEqual(SideEffect.fromAnnotations({ readOnlyHint: false }), "non_idempotent")
    assert.strictEqual(SideEffect.fromAnnotations({ idempotentHint: true }), "idempotent")
  })

  it("of a tool that is said to read is none, whatever else is said of it", () => {
    for (const idempotentHint of [true, false]) {
      for (const destructiveHint of [true, false]) {
        assert.strictEqual(
          SideEffect.fromAnnotations({ readOnlyHint: true, idempotentHint, destructiveHint }),
          "none"
        )
      }
    }
  })
})
