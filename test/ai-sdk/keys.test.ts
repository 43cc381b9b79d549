/** A key that a provider quotes is nowhere in a failure, nor in what is logged, in whatever form and place it comes. */
import { APICallError } from "@ai-sdk/provider"
import { describe, it } from "@effect/vitest"
import { keysHidden } from "../support/hiddenKeys.ts"

describe("a key", () => {
  it("is told by no failure and no log line, in 1,000 random failures", () => keysHidden(1000))
  it("would be found", () => {
    const error = new APICallError({ message: "x", url: "https://x.example/?key=k", requestBodyValues: {} })
    if (!error.url.includes("key=k")) throw new Error("An APICallError no longer has its address.")
  })
})
