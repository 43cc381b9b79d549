/** A key that a provider quotes is nowhere in what the bridge tells: 10,000 random failures. */
import { describe, it } from "@effect/vitest"
import { keysHidden } from "../support/hiddenKeys.ts"

describe("a key", { tags: "slow" }, () => {
  it("is told by no failure and no log line, in 10,000 random failures", () => keysHidden(10_000))
})
