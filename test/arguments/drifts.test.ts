import { assert, it } from "@effect/vitest"
import { drifts } from "../support/drifts.ts"

// `node test/bench/drifts.ts 1000000` tries as many as that, and says what another value means.
it("random drifts of valid calls are undone or refused, and give no other value", () => {
  const { another, examples, refused, restored } = drifts(2_000, 7)
  assert.deepStrictEqual([another, examples], [0, []])
  assert.isAbove(restored, 400)
  assert.isAbove(refused, 400)
})
