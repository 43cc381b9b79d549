/** Findings of attacks: ways in which a resumed call paid twice. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema } from "effect"
import { byKey, mailing, note, paying, Payment, played, service } from "../support/keyedService.ts"
import { lettered } from "../support/lettered.ts"
import { certaintiesOf, codesOf } from "../support/toldFailures.ts"

describe("a resumed call", () => {
  const resuming = <T extends Tool.Any>(tool: T, ...calls: ReadonlyArray<object>) => {
    const agent = Agent.make({ toolkit: Toolkit.make(tool) })
    const script: ScriptedModel.Script = ({ messages }) =>
      messages.at(-1)?.role === "user"
        ? ScriptedModel.calls(...calls.map((args): [string, object] => [tool.name, args]))
        : ScriptedModel.text("Done.")
    const program = Effect.gen(function*() {
      const failure = yield* Effect.flip(agent.run("Go."))
      if (failure._tag !== "RunSuspended") return assert.fail(failure._tag)
      return yield* agent.resume(failure.suspension, "yes")
    })
    return Effect.provide(program, ScriptedModel.layer(script))
  }

  it.effect("has its key, even if it acted before it asked", () =>
    Effect.gen(function*() {
      const paid = service()
      const pay = paying(paid)
      const keys: Array<string> = []
      const checkout = Tool.make(
        "checkout",
        { description: "", parameters: Payment, success: Schema.String },
        (params) =>
          Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => {
            keys.push(idempotencyKey)
            return Effect.andThen(pay.run(params), ToolCall.ask("A receipt?"))
          })
      )
      yield* resuming(checkout, note("a"))
      assert.strictEqual(lettered(keys), "a a")
      assert.strictEqual(paid.acted, 1)
    }))

  it.effect("keeps its key if a fixer corrected arguments that the service had refused", () =>
    Effect.gen(function*() {
      const paid = service("refuses")
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byKey },
        (params) =>
          Effect.flatMap(
            ToolCall.current,
            ({ idempotencyKey }) => Effect.andThen(paid.post(idempotencyKey, params), ToolCall.ask("A receipt?"))
          )
      ).pipe(Tool.fix(() => Effect.succeed(note("short"))))
      yield* resuming(pay, note("long"))
      assert.strictEqual(lettered(paid.keys), "a b b")
      assert.deepStrictEqual(paid.requests, ["refuses", "acts", "known"])
    }))

  it.effect("treats a refused key as doubt, because it may have been resumed before", () =>
    Effect.gen(function*() {
      const paid = service()
      const sure = Tool.make("sure", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        ToolCall.ask("Sure?"))
      const agent = Agent.make({ toolkit: Toolkit.make(sure, paying(paid)) })
      const failure = yield* Effect.flip(agent.run("Go.")).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("sure")]))
      )
      if (failure._tag !== "RunSuspended") {
        return assert.fail(failure._tag)
      }
      const resumed = (...notes: ReadonlyArray<string>) =>
        agent.resume(failure.suspension, "yes").pipe(
          Effect.provide(ScriptedModel.layer([
            ...notes.map((text) =>
              ScriptedModel.call("pay", note(text))
            ),
            ScriptedModel.text("Done.")
          ]))
        )
      yield* resumed("a")
      const again = yield* resumed("b", "c")
      assert.strictEqual(paid.acted, 1)
      assert.deepStrictEqual(certaintiesOf(again), ["unknown", "unknown"])
    }))

  it.effect("runs with its key, whatever the outcome of an equal call beside it", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const look = Tool.make(
        "look",
        { description: "", parameters: Payment, success: Schema.String, sideEffect: "none", failureLimit: 1 },
        () =>
          Effect.flatMap(ToolCall.current, ({ idempotencyKey }): Effect.Effect<string, ToolUnavailable> => {
            keys.push(idempotencyKey)
            return keys.length === 1
              ? Effect.fail(new ToolUnavailable({ code: "down", detail: "Down.", transient: false }))
              : ToolCall.ask("Which one?")
          })
      )
      const answer = yield* resuming(look, note("a"), note("a"))
      assert.deepStrictEqual(codesOf(answer), ["down"])
      assert.strictEqual(keys.length, 3)
      assert.strictEqual(keys[2], keys[1])
    }))

  it.effect("does not repeat an effect without a key", () =>
    Effect.gen(function*() {
      const { mail, sent } = mailing()
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byKey },
        () => Effect.catch(mail.run({}), () => ToolCall.ask("Did it arrive?"))
      )
      yield* resuming(pay, note("a"))
      assert.strictEqual(sent.length, 1)
    }))
})

describe("doubt", () => {
  it.effect("of a tool that is idempotent by key is settled by a success after a question too", () =>
    Effect.gen(function*() {
      const paid = service("acts and drops")
      let asks = false
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byKey },
        (params) =>
          Effect.flatMap(
            ToolCall.current,
            ({ idempotencyKey }) =>
              Effect.andThen(asks ? ToolCall.ask("Sure?") : Effect.void, paid.post(idempotencyKey, params))
          )
      )
      const { facts } = yield* played(pay, [note("a")])
      asks = true
      const agent = Agent.make({ toolkit: Toolkit.make(pay) })
      const script: ScriptedModel.Script = ({ messages }) =>
        messages.at(-1)?.role === "user" ? ScriptedModel.call("pay", note("a")) : ScriptedModel.text("Done.")
      const program = Effect.gen(function*() {
        const failure = yield* Effect.flip(agent.run("Again.", { facts }))
        if (failure._tag !== "RunSuspended") return assert.fail(failure._tag)
        return yield* agent.resume(failure.suspension, "yes")
      })
      const answer = yield* Effect.provide(program, ScriptedModel.layer(script))
      assert.strictEqual(paid.acted, 1)
      const [fact] = Array.from(answer.facts.intents, ([, fact]) => fact)
      assert.isUndefined(fact?.failed)
      assert.isDefined(fact?.done)
      assert.notInclude(JSON.stringify(Array.from(answer.transcript)), "all the same")
    }))
})
