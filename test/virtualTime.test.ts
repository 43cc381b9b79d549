/** How tests of servers pass virtual time. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { serving } from "./support/http.ts"
import { passingBy } from "./support/virtualTime.ts"

describe("virtual time", () => {
  it.effect("passes while a server holds back the head of its answer", () =>
    Effect.gen(function*() {
      const url = yield* serving((_, response) => void response.writeHead(200))
      const request = Effect.tryPromise((signal) => fetch(url, { signal })).pipe(Effect.timeoutOption("1 minute"))
      const fiber = yield* Effect.forkChild(request, { startImmediately: true })
      assert.strictEqual((yield* passingBy("10 seconds", fiber))._tag, "None")
    }))
})
