/**
 * The script that plays recorded trajectories through `LoopGuard`.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runNode } from "./support/program.ts"

describe("recorded trajectories", () => {
  it.live("H10 the guard notices each stuck run, and stops no productive one", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* runNode("test/bench/trajectories.ts", "test/support/trajectories.jsonl")
      assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
      assert.deepStrictEqual(stdout.split("\n"), [
        "progress: 8 turns: nothing",
        "pages: 8 turns: nothing",
        "keys: 8 turns: warned in 3, 4, 5, 6, 7, 8",
        "edit and test: 12 turns: nothing",
        "news between: 10 turns: warned in 5, 7, 9",
        "corrections: 5 turns: warned in 3, 4",
        "other files: 8 turns: nothing",
        "same call: 8 turns: warned in 3, 4, 5, 6, 7, 8",
        "two calls: 10 turns: warned in 5, 6, 7, 8, 9, 10",
        "three calls: 12 turns: warned in 7, 8, 9, 10, 11, 12",
        "same failure: 14 turns: warned in 3, 4, 5, 6, 7, 8, 9, 10; withdrawn in 11; ended in 12",
        "same failed call: 9 turns: warned in 3; refused in 4, 5; withdrawn in 6; ended in 7",
        "lost payment: 6 turns: refused in 2, 3; withdrawn in 4; ended in 5",
        "same page: 13 turns: warned in 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13",
        "14 runs: warned 9, refused 2, withdrawn 3, ended 3; false stops 0, missed loops 0",
        ""
      ])
    }))

  it.live("says how it is used", () =>
    Effect.gen(function*() {
      const { code, stderr } = yield* runNode("test/bench/trajectories.ts")
      assert.deepStrictEqual({ code, stderr }, { code: 1, stderr: "Usage: node test/bench/trajectories.ts FILE...\n" })
    }))
})
