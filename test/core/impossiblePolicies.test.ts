import { assert, describe, it } from "@effect/vitest"
import { Agent, Policy, Tool, Toolkit } from "@fallible/core"
import { Effect, Schema } from "effect"
import { definition, failing, succeeding } from "../support/illTyped.ts"
import type { Untyped } from "../support/nonsense.ts"
import { refused } from "../support/sequence.ts"

describe("an impossible policy", () => {
  const wrong: ReadonlyArray<readonly [string, () => unknown, RegExp]> = [
    [
      "a retry without a Schedule",
      () => succeeding.pipe(Tool.retry(3 as Untyped)),
      /^A retry needs a Schedule; got a number\. Write RetryPolicy\.make\(\{ attempts: 4 \}\)\.$/
    ],
    [
      "a retry of three times",
      () => succeeding.pipe(Tool.retry({ times: 3 } as Untyped)),
      /^A retry needs a Schedule; got an object\. Write RetryPolicy\.make\(\{ attempts: 4 \}\)\.$/
    ],
    [
      "a retry of nothing",
      () => succeeding.pipe(Tool.retry((() => 3) as Untyped)),
      /^A retry needs a Schedule; got a num/
    ],
    [
      "a wrap that is not a function",
      () =>
        succeeding.pipe(
          Tool.with(Policy.make({ kind: "custom", name: "mine", description: "", wrap: () => 3 as Untyped }))
        ),
      /^The policy 'mine' of 'victim' must wrap a run in a function; got a number\.$/
    ],
    [
      "a rendering by its name",
      () => Agent.make({ toolkit: Toolkit.empty, rendering: "json" as Untyped }),
      /^An agent's rendering must be a function; got a string\.$/
    ],
    [
      "instructions that are to come",
      () => Agent.make({ toolkit: Toolkit.empty, instructions: Promise.resolve("") as Untyped }),
      /^An agent's instructions must be a string, or \{ text, cache \}; got a promise, which must be awaited\.$/
    ],
    [
      "a fallback that is an Effect",
      () => Tool.fallback(failing(refused), Effect.succeed("x") as Untyped),
      /^A fallback must be a function; got an object\.$/
    ],
    [
      "a catch of an unknown tag",
      () => Tool.catchTag(failing(refused), "Unavailable" as Untyped, () => Effect.succeed("x")),
      /^A failure's tag must be one of 'SchemaMismatch', .*; got "Unavailable"\.$/
    ],
    [
      "one name instead of a list",
      () => Tool.make("p", { ...definition, instead: "mirror" as Untyped }, () => Effect.succeed("")),
      /^A tool's 'instead' must be a list of names; got "mirror"\.$/
    ],
    [
      "a check by the tool itself",
      () => Tool.make("pay", { description: "", success: Schema.Void, check: "pay" }, () => Effect.void),
      /^A tool's 'check' must be the name of another tool; got "pay"\.$/
    ]
  ]
  for (const [what, make, message] of wrong) {
    it(`throws where it is declared: ${what}`, () => {
      assert.throws(make, message)
    })
  }
})
