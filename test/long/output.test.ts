/** The output of the examples, for readers that leave early and for programs that parse it. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect } from "effect"
import { program } from "../support/dying.ts"
import * as InProcess from "../support/inProcess.ts"
import { runNode, runNodeUnread } from "../support/program.ts"

const multiTool = "examples/01-multi-tool-agent/main.ts"
const clinical = "examples/02-clinical-assistant/main.ts"
const dying = "test/support/dying.ts"

describe("an example whose reader leaves", () => {
  for (const [file, ...flags] of [[multiTool], [clinical, "--json"]] as const) {
    it.live(`ends with code 0 and without a message: ${file} ${flags.join(" ")}`, () =>
      Effect.gen(function*() {
        const finished = yield* runNodeUnread("stdout", {}, file, ...flags)
        assert.deepStrictEqual(finished, { code: 0, stdout: "", stderr: "" })
      }))
  }
})

describe("an example whose tool dies", () => {
  const answer = "I could not measure it. The tool measure failed with an internal error.\n"

  it.live("logs the defect on standard error, once and in full, and prints only the answer with --quiet", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* runNode(dying, "--quiet")
      assert.deepStrictEqual([code, stdout], [0, answer])
      assert.strictEqual(stderr.split("RangeError: Maximum call stack size exceeded").length, 2)
      assert.match(stderr, /ERROR.*The tool measure failed with an internal error/)
      assert.match(stderr, /at depthOf \(/)
      assert.match(stderr, /tool: 'measure'/)
    }))

  it.live("prints nothing but its events with --json", () =>
    Effect.gen(function*() {
      const { stderr, stdout } = yield* InProcess.run(program, "--json")
      const events = stdout.trimEnd().split("\n").map((line): { readonly _tag: string } => JSON.parse(line))
      assert.strictEqual(events.filter(({ _tag }) => _tag === "CallEnded").length, 1)
      assert.deepInclude(events.at(-1), { _tag: "RunEnded" })
      assert.include(stderr, "RangeError")
    }))

  it.live("prints the answer even if its log has no reader", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([
        ScriptedModel.call("measure", { what: "the sea" }),
        ScriptedModel.text("It is too deep.")
      ])
      const finished = yield* runNodeUnread("stderr", { OLLAMA_HOST: server.url }, dying, "--quiet")
      assert.deepStrictEqual(finished, { code: 0, stdout: "It is too deep.\n", stderr: "" })
    }).pipe(Effect.scoped))
})
