/** The bridge to the AI SDK under thousands of random failures and replies. */
import { describe, it } from "@effect/vitest"
import { keysHidden } from "../support/hiddenKeys.ts"
import { partsSettle } from "../support/randomParts.ts"

describe("the bridge", { tags: "slow" }, () => {
  it("tells no key that a provider quotes, in 10,000 random failures", () => keysHidden(10_000))
  it("makes one reply or one failure of random parts, 5,000 times", () => partsSettle(5000))
})
