import { assert, describe, it } from "@effect/vitest"
import { Agent, Policy, Tool, Toolkit } from "@fallible/core"
import { Effect, Schema } from "effect"
import { definition, failing, succeeding } from "../support/illTyped.ts"
import type { Untyped } from "../support/nonsense.ts"
import { refused } from "../support/sequence.ts"

describe("a policy that nobody could run", () => {
  const wrong: ReadonlyArray<readonly [string, () => unknown, RegExp]> = [
    [
      "a retry without a Schedule",
      () => succeeding.pipe(Tool.retry(3 as Untyped)),
      /^A retry takes a Schedule; got a number\.$/
    ],
    [
      "a retry of nothing",
      () => succeeding.pipe(Tool.retry((() => 3) as Untyped)),
      /^A retry takes a Schedule; got a num/
    ],
    [
      "a wrap that is not a function",
      () =>
        succeeding.pipe(
          Tool.with(Policy.make({ kind: "custom", name: "mine", description: "", wrap: () => 3 as Untyped }))
        ),
      /^The policy 'mine' of 'victim' wraps a run in a number, which is not a function\.$/
    ],
    [
      "a handler that is not a function",
      () => Tool.make("p", definition, 3 as Untyped),
      /^A tool's handler is a function; got 3\.$/
    ],
    [
      "parameters that are JSON Schema",
      () =>
        Tool.make(
          "p",
          { ...definition, parameters: { type: "object" } as Untyped },
          () => Effect.succeed("") as Untyped
        ),
      /^A tool's parameters are a Schema; got {"type":"object"}\.$/
    ],
    [
      "a success that is missing",
      () => Tool.make("p", { description: "" } as Untyped, () => Effect.succeed("") as Untyped),
      /^A tool's success is a Schema; got nothing\.$/
    ],
    [
      "a list of tools",
      () => Toolkit.make([succeeding] as Untyped),
      /^A toolkit is made of tools; got an array of 1\.$/
    ],
    [
      "an agent with a list of tools",
      () => Agent.make({ toolkit: [succeeding] as Untyped }),
      /^An agent has a Toolkit; got an array of 1\.$/
    ],
    [
      "an agent without a toolkit",
      () => Agent.make({ tools: [succeeding] } as Untyped),
      /^An agent has a Toolkit; got nothing\.$/
    ],
    [
      "a rendering by its name",
      () => Agent.make({ toolkit: Toolkit.empty, rendering: "json" as Untyped }),
      /^An agent's rendering is a function; got a string\.$/
    ],
    [
      "instructions that are to come",
      () => Agent.make({ toolkit: Toolkit.empty, instructions: Promise.resolve("") as Untyped }),
      /^An agent's instructions are a text; got a promise, which has to be awaited\.$/
    ],
    [
      "a fallback that is an Effect",
      () => Tool.fallback(failing(refused), Effect.succeed("x") as Untyped),
      /^A fallback is a function; got an object\.$/
    ],
    [
      "a catch of an unknown tag",
      () => Tool.catchTag(failing(refused), "Unavailable" as Untyped, () => Effect.succeed("x")),
      /^A failure's tag is one of 'SchemaMismatch', .*; got "Unavailable"\.$/
    ],
    [
      "an unknown side effect",
      () => Tool.make("p", { ...definition, sideEffect: "read_only" as Untyped }, () => Effect.succeed("")),
      /^A tool's sideEffect is one of 'none', 'idempotent', 'idempotent_by_key', 'non_idempotent'; got "read_only"\.$/
    ],
    [
      "one name instead of a list",
      () => Tool.make("p", { ...definition, instead: "mirror" as Untyped }, () => Effect.succeed("")),
      /^A tool's 'instead' is a list of names; got "mirror"\.$/
    ],
    [
      "a check by the tool itself",
      () => Tool.make("pay", { description: "", success: Schema.Void, check: "pay" }, () => Effect.void),
      /^A tool's 'check' is the name of another tool; got "pay"\.$/
    ],
    [
      "a description that is missing",
      () => Tool.make("p", { success: Schema.String } as Untyped, () => Effect.succeed("") as Untyped),
      /^A tool's description is a text; got nothing\.$/
    ]
  ]
  for (const [what, make, message] of wrong) {
    it(`throws where it is written: ${what}`, () => {
      assert.throws(make, message)
    })
  }
})
