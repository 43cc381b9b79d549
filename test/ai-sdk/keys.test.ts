/** A key that a provider quotes is nowhere in a failure, nor in what is logged, in whatever form and place it comes. */
import { APICallError } from "@ai-sdk/provider"
import { describe, it } from "@effect/vitest"
import { keysHidden } from "../support/hiddenKeys.ts"
import { runs } from "../support/runs.ts"

describe("a key", () => {
  it(`is told by no failure and no log line, in ${runs(2_000)} random failures`, () => keysHidden(runs(2_000)))
  it("would be found", () => {
    const error = new APICallError({ message: "x", url: "https://x.example/?key=k", requestBodyValues: {} })
    if (!error.url.includes("key=k")) throw new Error("An APICallError no longer has its address.")
  })
})
