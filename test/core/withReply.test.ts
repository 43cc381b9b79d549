/** Replies to the questions of a tool that runs without an agent. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Tool, ToolCall, Toolkit } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Effect, Exit, Schema } from "effect"

let starts = 0
const book = Tool.make("book", { description: "Books a table", success: Schema.String }, () =>
  Effect.gen(function*() {
    starts++
    const people = yield* ToolCall.ask("For how many people?")
    const seats = yield* ToolCall.ask("Inside?")
    return `${people} ${seats}`
  }))

const untyped = <A>(value: unknown) => value as A

describe("ToolCall.withReply", () => {
  it.effect("answers each question of a tool, without another start of its handler", () =>
    Effect.gen(function*() {
      starts = 0
      assert.strictEqual(yield* book.run({}).pipe(ToolCall.withReply("yes")), "yes yes")
      assert.strictEqual(starts, 1)
      const byQuestion = ToolCall.withReply((question) => question.startsWith("For") ? "four" : "no")
      assert.strictEqual(yield* byQuestion(book.run({})), "four no")
      const { certainty, exit } = yield* byQuestion(Tool.outcome(book, {}))
      assert.deepStrictEqual([certainty, exit], ["executed", Exit.succeed("four no")])
    }))

  it.effect("leaves a question open that has no reply, and says how to give one", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(book.run({}).pipe(ToolCall.withReply(() => undefined)))
      assert.include(
        Exit.isFailure(exit) && String(Cause.squash(exit.cause)),
        "A tool asked the user, but it runs without an agent: give a reply (ToolCall.withReply). For how many people?"
      )
    }))

  it.effect("answers in an agent, too, before its user is asked", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(book) })
      const run = agent.run("Book.").pipe(
        ToolCall.withReply((question) => question === "Inside?" ? "no" : undefined),
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("book"), ScriptedModel.text("Done.")]))
      )
      const failure = yield* Effect.flip(run)
      if (failure._tag !== "RunSuspended") return assert.fail(failure._tag)
      assert.strictEqual(failure.question, "For how many people?")
      const answer = yield* agent.resume(failure.suspension, "four").pipe(
        ToolCall.withReply("no"),
        Effect.provide(ScriptedModel.layer([ScriptedModel.text("Done.")]))
      )
      assert.include(JSON.stringify(Array.from(answer.transcript)), "four no")
    }))

  it.effect("refuses a reply that is no string, and passes on what a function throws", () =>
    Effect.gen(function*() {
      const wrong = yield* Effect.exit(
        book.run({}).pipe(ToolCall.withReply(untyped(() => Promise.reject(new Error("no reply")))))
      )
      assert.deepStrictEqual(
        wrong,
        Exit.die(new TypeError("The reply to a question must be a string; got a promise, which must be awaited."))
      )
      const bug = new Error("no reply")
      const thrown = yield* Effect.exit(
        book.run({}).pipe(ToolCall.withReply(() => {
          throw bug
        }))
      )
      assert.deepStrictEqual(thrown, Exit.die(bug))
    }))
})
