import { assert, describe, it } from "@effect/vitest"
import * as SideEffect from "@fallible/core/SideEffect"

const all: ReadonlyArray<SideEffect.SideEffect> = ["none", "idempotent", "non_idempotent"]

describe("SideEffect", () => {
  it("round-trips through annotations", () => {
    assert.deepStrictEqual(all.map((sideEffect) => SideEffect.fromAnnotations(SideEffect.annotations(sideEffect))), all)
  })

  it("as annotations marks every tool that acts as destructive", () => {
    assert.deepStrictEqual(all.map(SideEffect.annotations), [
      { readOnlyHint: true, idempotentHint: true, destructiveHint: false },
      { readOnlyHint: false, idempotentHint: true, destructiveHint: true },
      { readOnlyHint: false, idempotentHint: false, destructiveHint: true }
    ])
  })

  it("of incomplete annotations is the cautious one", () => {
    assert.strictEqual(SideEffect.fromAnnotations({}), "non_idempotent")
    assert.strictEqual(SideEffect.fromAnnotations({ destructiveHint: false }), "non_idempotent")
    assert.strictEqual(SideEffect.fromAnnotations({ readOnlyHint: false }), "non_idempotent")
    assert.strictEqual(SideEffect.fromAnnotations({ idempotentHint: true }), "idempotent")
  })

  it("of a tool that is annotated as read-only is none, whatever the other annotations", () => {
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
