/** A failure that a handler's author wrote is told as it was written, but for stacks and paths of files. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Dispatch,
  Fixer,
  PartialData,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as Rendering from "@fallible/core/Rendering"
import { withoutPaths } from "@fallible/errors"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Logger, Schema } from "effect"

const definition = {
  description: "Reads a file",
  parameters: Schema.Struct({ file: Schema.String }),
  success: Schema.String,
  sideEffect: "none"
} as const

const call = (file: string) => ({ id: "1", name: "read", arguments: JSON.stringify({ file }) })

const outcomeOf = <T extends Tool.Any>(tool: T, file = "a") =>
  Effect.map(Dispatch.call(Toolkit.make(tool), call(file)), (outcome) => {
    assert(outcome._tag === "Failed")
    return { failure: outcome.failure, text: Rendering.json(outcome, call(file)) }
  }).pipe(Effect.provide(Logger.layer([])))

const failing = (failure: ToolFailure.ToolFailure<string>) => Tool.make("read", definition, () => Effect.fail(failure))

const garbage = (detail: string, hint?: string) =>
  new SemanticGarbage({ code: "c", detail, ...(hint === undefined ? {} : { hint }) })

const detailOf = (detail: string, file?: string) =>
  Effect.map(outcomeOf(failing(garbage(detail)), file), ({ failure }) => failure.detail)

describe("the detail of a handler's own failure", () => {
  it.effect("is told without the stack of an error that it quotes", () =>
    Effect.gen(function*() {
      const error = new RangeError("No such row.")
      const stack = error.stack ?? ""
      assert.include(stack, "withoutInternals.test.ts")
      for (
        const tool of [
          failing(garbage(stack)),
          Tool.promise("read", definition, () => {
            throw garbage(stack)
          })
        ]
      ) {
        const { failure, text } = yield* outcomeOf(tool)
        assert.strictEqual(failure.detail, "RangeError: No such row.")
        assert.notMatch(text, /test\.ts|node_modules| at /)
        assert(failure.cause instanceof SemanticGarbage)
        assert.strictEqual(failure.cause.detail, stack)
      }
    }))

  it.effect("is told without paths of files", () =>
    Effect.gen(function*() {
      for (
        const [detail, told] of [
          ["Cannot read /srv/app/rooms.json.", "Cannot read <path>."],
          ["Cannot read 'C:\\Users\\ada\\rooms.db'.", "Cannot read '<path>'."],
          ["It failed in src/rooms.ts:12:3.", "It failed in <path>."],
          ["It failed in node:internal/fs:105:5 and file:///srv/a.js.", "It failed in <path> and <path>."],
          ["No key in ~/.ssh/id_rsa.", "No key in <path>."]
        ] as const
      ) assert.strictEqual(yield* detailOf(detail), told)
      const hinted = yield* outcomeOf(failing(garbage("Gone.", "See /var/log/rooms.log.")))
      assert.strictEqual(hinted.failure.hint, "See <path>.")
    }))

  it.effect("is told with its own words, which only read like a frame or a path", () =>
    Effect.gen(function*() {
      for (
        const detail of [
          "The shop opens:\n  at 9 on Monday",
          "Meet  at 5 pm in B2.",
          "POST /orders.json is not allowed.",
          "It is cold:  at most 5 degrees."
        ]
      ) assert.strictEqual(yield* detailOf(detail), detail)
    }))

  it.effect("is told as it was written otherwise", () =>
    Effect.gen(function*() {
      for (
        const detail of [
          "Pay at https://pay.example/usr/orders/7.html?token=abc123def456 by 3/5/2026, 24/7.",
          "Use GET /v1/orders/17/items, and/or 'A/C'.",
          "Your new password is hunter2; the key is sk-live-abcdef123456.",
          "Ask ada@rooms.example at 10.0.0.7.",
          "One.\nTwo.\n  - Three at 5.",
          "Write C: or D."
        ]
      ) assert.strictEqual(yield* detailOf(detail), detail)
      const cause = new Error("x")
      const { failure } = yield* outcomeOf(
        failing(new ToolUnavailable({ code: "c", detail: "Gone.", transient: false, cause }))
      )
      assert.strictEqual(failure.cause, cause)
    }))

  it.effect("is told with the paths that the model has written itself", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* detailOf("No file /srv/app/a.txt.", "/srv/app/a.txt"), "No file /srv/app/a.txt.")
      assert.strictEqual(yield* detailOf("No file C:\\data\\a.txt", "C:\\data\\a.txt"), "No file C:\\data\\a.txt")
      assert.strictEqual(yield* detailOf("No file /srv/app/b.txt.", "/srv/app/a.txt"), "No file <path>.")
    }))

  it.effect("says at least that the tool failed", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* detailOf("\n    at read (/srv/app/a.js:1:2)"),
        "The tool failed. Only its operators can see why."
      )
    }))

  it.effect("is cleaned in every class, whose other fields stay", () =>
    Effect.gen(function*() {
      const partial = new PartialData({ code: "c", detail: "Page 1 of /srv/app/a.json.", data: "x" })
      const { failure } = yield* outcomeOf(failing(partial))
      assert.deepInclude({ ...failure }, { _tag: "PartialData", detail: "Page 1 of <path>.", data: "x" })
    }))

  it.effect("is told to an agent that corrects arguments in the same way", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const corrector = Agent.make({ toolkit: Toolkit.make(...Fixer.tools) })
      const wrong = new SchemaMismatch({ side: "arguments", code: "c", detail: "Not in /srv/app/files.json: /tmp/a." })
      const tool = Tool.make("read", definition, () => Effect.fail(wrong)).pipe(
        Tool.fix(Fixer.agent({
          run: (question) => {
            asked.push(question)
            return corrector.run(question).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.text("None.")])))
          }
        }))
      )
      yield* outcomeOf(tool, "/tmp/a")
      assert.include(asked.join(), "problem: \"Not in <path>: /tmp/a.\"")
    }))

  it.effect("is not changed for a program", () =>
    Effect.gen(function*() {
      const failure = garbage("Cannot read /srv/app/rooms.json.")
      assert.strictEqual(yield* Effect.flip(failing(failure).run({ file: "a" })), failure)
    }))
})

describe("withoutPaths", () => {
  it("takes linear time, whatever the text", () => {
    for (const piece of ["/a", "a/", "a.", "a:", "~/", "\\a", "https://a", "file:", " at x\n", "node:"]) {
      // Anything slower than linear time would not end.
      assert.isString(withoutPaths(piece.repeat(200_000)))
    }
  })
})
