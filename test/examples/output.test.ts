/** What examples print, and where: for readers that leave, and for those that parse it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runNodeUnread } from "../support/program.ts"

const multiTool = "examples/01-multi-tool-agent/main.ts"
const clinical = "examples/02-clinical-assistant/main.ts"
const counter = "examples/03-json-key-counter/main.ts"

describe("an example whose reader has left", () => {
  for (const [file, ...flags] of [[multiTool], [clinical], [clinical, "--json"], [counter]] as const) {
    it.live(`ends with code 0, and says nothing of it: ${file} ${flags.join(" ")}`, () =>
      Effect.gen(function*() {
        const finished = yield* runNodeUnread("stdout", file, ...flags)
        assert.deepStrictEqual(finished, { code: 0, stdout: "", stderr: "" })
      }))
  }
})
