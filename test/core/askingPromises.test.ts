/** Async handlers that ask the user. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Observer, Policy, Tool, ToolCall, Toolkit } from "@fallible/core"
import { ActsOnce, type FakeService, ScriptedModel } from "@fallible/testing"
import { Cause, Effect, Exit, Schema } from "effect"

const definition = { description: "Books a room", success: Schema.String }

const model = ScriptedModel.layer(({ messages }) =>
  messages.at(-1)?.role === "user" ? ScriptedModel.call("book") : ScriptedModel.text("Done.")
)

const agentOf = <T extends Tool.Any>(tool: T) =>
  Agent.make({ toolkit: Toolkit.make(tool), policies: Policy.standard() })

const asked = <T extends Tool.Any>(tool: T) =>
  Effect.flatMap(
    Effect.flip(agentOf(tool).run("Book.")),
    (failure) => failure._tag === "RunSuspended" ? Effect.succeed(failure) : Effect.die(failure)
  ).pipe(Effect.provide(model))

describe("the ask of an async handler", () => {
  it.effect("suspends the run, and returns the reply after the handler has started again, with the same key", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const book = Tool.promise("book", definition, async (_params, { ask, attempt, idempotencyKey }) => {
        log.push(`start ${attempt} ${idempotencyKey}`)
        const reply = await ask("Room A1?")
        log.push(reply)
        return "booked"
      })
      const { certainty } = yield* Effect.map(asked(book), ({ suspension }) => suspension.outcomes[0]!)
      assert.strictEqual(certainty, "not_executed")
      assert.strictEqual(log.length, 1)
      const { question, suspension } = yield* asked(book)
      assert.strictEqual(question, "Room A1?")
      const [, before] = log
      const answer = yield* agentOf(book).resume(suspension, "yes").pipe(Effect.provide(model))
      assert.deepStrictEqual(log.slice(2), [before, "yes"])
      assert.deepStrictEqual(answer.report.failures, [])
    }))

  it.effect("cannot be skipped: nothing after it runs without a reply, whatever the handler catches", () =>
    Effect.gen(function*() {
      let acts = 0
      const stubborn = Tool.promise("book", definition, async (_params, { ask }) => {
        try {
          await ask("Sure?")
        } catch {
          // It goes on.
        } finally {
          acts++
        }
        return `booked ${++acts}`
      })
      yield* asked(stubborn)
      yield* Effect.yieldNow
      assert.strictEqual(acts, 0)
    }))

  it.effect("takes several questions, one after the other, and replies without an agent", () =>
    Effect.gen(function*() {
      const book = Tool.promise("book", definition, async (_params, { ask }) => {
        const people = await ask("How many people?")
        return `${people}, ${await ask("Inside?")}`
      })
      const first = yield* asked(book)
      const second = yield* Effect.flip(agentOf(book).resume(first.suspension, "four").pipe(Effect.provide(model)))
      if (second._tag !== "RunSuspended") return assert.fail(second._tag)
      assert.strictEqual(second.question, "Inside?")
      const answer = yield* agentOf(book).resume(second.suspension, "no").pipe(Effect.provide(model))
      assert.include(JSON.stringify(Array.from(answer.transcript)), "four, no")
      assert.strictEqual(yield* book.run({}).pipe(ToolCall.withReply("yes")), "yes, yes")
      const open = yield* Effect.exit(book.run({}))
      assert.include(Exit.isFailure(open) && String(Cause.squash(open.cause)), "How many people?")
    }))

  it.live("can be checked with ActsOnce", () =>
    Effect.gen(function*() {
      const pay = (first: "asks" | "acts") => (service: FakeService.FakeService) =>
        Tool.promise(
          "pay",
          { description: "Pays", success: Schema.Unknown, repeats: false },
          async (_params, { ask, signal }) => {
            if (first === "asks") await ask("Sure?")
            const response = await service.fetch("https://pay.example", { method: "POST", signal })
            if (!response.ok) throw response
            if (first === "acts") await ask("Sure?")
            return await response.json()
          }
        )
      const check = { arguments: {}, reply: "yes", runs: 40 }
      assert.strictEqual((yield* ActsOnce.check({ ...check, tool: pay("asks") })).runs, 40)
      // A handler that has acted does not run again after the reply, so it never comes to its end.
      const failure = yield* Effect.flip(ActsOnce.check({ ...check, tool: pay("acts") }))
      assert.strictEqual(failure._tag, "NeverSucceeded")
      assert.match(failure.message, /pay was not run again: an earlier attempt of this call may have taken effect/)
    }))
})

describe("await", () => {
  const awaited: ReadonlyArray<readonly [name: string, effect: Effect.Effect<unknown>, advice: string]> = [
    ["ToolCall.ask", ToolCall.ask("Sure?"), "call the 'ask' of the handler's second parameter"],
    ["ToolCall.current", ToolCall.current, "read the handler's second parameter"],
    ["ToolCall.stop", ToolCall.stop("No."), "make the tool with Tool.make"],
    ["ToolCall.caveat", ToolCall.caveat("Old."), "make the tool with Tool.make"],
    ["ToolCall.source", ToolCall.source({ name: "cache" }), "make the tool with Tool.make"]
  ]
  for (const [name, effect, advice] of awaited) {
    it.effect(`of ${name} is a defect that says what to do, and nothing after it runs`, () =>
      Effect.gen(function*() {
        let acts = 0
        const defects: Array<string> = []
        const book = Tool.promise("book", definition, async () => {
          // oxlint-disable-next-line typescript/await-thenable
          await effect
          return `booked ${++acts}`
        })
        const answer = yield* agentOf(book).run("Book.").pipe(
          Effect.provide(model),
          Observer.observe({
            onDefect: (_message, cause) => Effect.sync(() => void defects.push(String(Cause.squash(cause))))
          })
        )
        assert.deepStrictEqual(
          answer.report.failures.map(({ code }) => code),
          ["defect"]
        )
        assert.deepStrictEqual(defects, [
          `TypeError: ${name} is an Effect, and cannot be awaited. In Tool.promise, ${advice}.`
        ])
        assert.strictEqual(acts, 0)
      }))
  }
})
