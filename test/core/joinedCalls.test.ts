/** Equal calls of one turn run once, and share their outcome. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, SemanticGarbage, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema, Stream } from "effect"

const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true })
const Payment = Schema.Struct({ order: Schema.String, note: Schema.optionalKey(Schema.String) })
type Params = typeof Payment.Type
type Handler = (params: Params, number: number) => Effect.Effect<string, ToolUnavailable | SemanticGarbage>

const paymentTool = (handler: Handler, definition: Partial<Tool.Definition<string, Params>> = {}) => {
  const paid: Array<string> = []
  const pay = Tool.make(
    "pay",
    { description: "Pays an order", parameters: Payment, success: Schema.String, ...definition },
    (params) => Effect.suspend(() => handler(params, paid.push(params.order)))
  )
  return { paid, pay }
}

const receipt: Handler = (_, number) => Effect.succeed(`receipt ${number}`)

/** Runs an agent whose model makes these calls of `pay`, all in its first turn. */
const inOneTurn = <T extends Tool.Any>(tool: T, ...calls: ReadonlyArray<object | string>) =>
  Agent.make({ toolkit: Toolkit.make(tool) }).stream("Go.").pipe(
    Stream.runCollect,
    Effect.map(endOf),
    Effect.provide(ScriptedModel.layer([
      { text: "", calls: calls.map((args, index) => ({ id: `${index}`, name: "pay", arguments: textOf(args) })) },
      ScriptedModel.text("Done.")
    ]))
  )

const textOf = (args: object | string): string => typeof args === "string" ? args : JSON.stringify(args)

const endOf = (events: ReadonlyArray<AgentEvent.AgentEvent>) => {
  const last = events.at(-1)
  if (last?._tag !== "RunEnded") return assert.fail("The run has no answer.")
  const results = Array.from(last.answer.transcript).flatMap((message) => message.role === "tool" ? [message.text] : [])
  const joined = events.flatMap((event) => event._tag === "CallJoined" ? [event.index] : [])
  return { answer: last.answer, results, joined }
}

const once = "This turn has the same call twice, and it ran once: this is its one result"

describe("equal calls of one turn", () => {
  it.effect("run once, and each has the one answer, with a note", () =>
    Effect.gen(function*() {
      const { paid, pay } = paymentTool(receipt)
      const { answer, joined, results } = yield* inOneTurn(pay, { order: "7" }, "{ \"order\": \"7\" }", { order: "7" })
      assert.deepStrictEqual(paid, ["7"])
      assert.deepStrictEqual(joined, [2, 3])
      assert.strictEqual(results[0], "\"receipt 1\"")
      for (const result of results.slice(1)) {
        assert.strictEqual(JSON.parse(result).value, "receipt 1")
        assert.include(result, once)
        assert.include(result, "To do it twice, call it again in the next turn")
      }
      assert.deepStrictEqual(answer.report.failures, [])
    }))

  it.effect("are not said to be possible twice if a success is not repeated", () =>
    Effect.gen(function*() {
      const { pay } = paymentTool(receipt, { repeats: false })
      const { results } = yield* inOneTurn(pay, { order: "7" }, { order: "7" })
      assert.include(results[1], once)
      assert.notInclude(results[1], "To do it twice")
    }))

  it.effect("share a failure, a refusal and a doubt", () =>
    Effect.gen(function*() {
      const ends = [
        Effect.fail(lost),
        Effect.fail(new SemanticGarbage({ code: "declined", detail: "Declined.", outcome: "not_executed" })),
        Effect.fail(new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" }))
      ]
      for (const end of ends) {
        const { paid, pay } = paymentTool(() => end)
        const { answer, results } = yield* inOneTurn(pay, { order: "7" }, { order: "7" })
        assert.deepStrictEqual(paid, ["7"])
        const [first, second] = results.map((result) => JSON.parse(result))
        assert.strictEqual(second.code, first.code)
        assert.include(JSON.stringify(second.notes), once)
        const told = answer.report.failures.filter(({ handling }) => handling === "told")
        assert.deepStrictEqual(told.map((entry) => "certainty" in entry && entry.certainty).length, 2)
      }
    }))

  it.effect("with the same identity say which arguments were not sent", () =>
    Effect.gen(function*() {
      const { paid, pay } = paymentTool(receipt, { identity: ({ order }) => order })
      const { results } = yield* inOneTurn(pay, { order: "7", note: "a" }, { note: "b", order: "7" }, { order: "8" })
      assert.deepStrictEqual(paid, ["7", "8"])
      assert.include(results[1], "The arguments of the first call were sent. Different here: 'note'.")
    }))

  it.effect("share a question, and its answer", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String },
        ({ order }) =>
          Effect.map(ToolCall.ask(`Pay ${order}?`), () => {
            paid.push(order)
            return "receipt"
          })
      )
      const agent = Agent.make({ toolkit: Toolkit.make(pay) })
      const asked: Array<string> = []
      const answered = (run: ReturnType<typeof agent.run>): ReturnType<typeof agent.run> =>
        Effect.catchTag(run, "RunSuspended", ({ question, suspension }) => {
          asked.push(question)
          return answered(agent.resume(suspension, "yes"))
        })
      const { transcript } = yield* answered(agent.run("Go.")).pipe(Effect.provide(ScriptedModel.layer([
        ScriptedModel.calls(["pay", { order: "7" }], ["pay", { order: "7" }], ["pay", { order: "8" }]),
        ScriptedModel.text("Done.")
      ])))
      assert.deepStrictEqual(asked, ["Pay 7?", "Pay 8?"])
      assert.deepStrictEqual(paid, ["7", "8"])
      assert.include(JSON.stringify(Array.from(transcript)), once)
    }))

  it.effect("are one call for a fixer, too, whatever it would make of the second text", () =>
    Effect.gen(function*() {
      let asked = 0
      const { paid, pay } = paymentTool(receipt)
      const fixed = pay.pipe(Tool.fix(() => ({ order: `${++asked}` })))
      yield* inOneTurn(fixed, "{\"ordr\":\"7\"}", "{\"ordr\":\"7\"}")
      assert.deepStrictEqual([asked, paid], [1, ["1"]])
    }))

  it.effect("are one call if a fixer makes them equal", () =>
    Effect.gen(function*() {
      const { paid, pay } = paymentTool(receipt)
      const fixed = pay.pipe(Tool.fix(() => ({ order: "7" })))
      const { results } = yield* inOneTurn(fixed, { order: "7" }, "{\"ordr\":\"7\"}")
      assert.deepStrictEqual(paid, ["7"])
      assert.include(results[1], "The arguments were corrected to")
      assert.include(results[1], once)
    }))

  it.effect("each run in another turn", () =>
    Effect.gen(function*() {
      const { paid, pay } = paymentTool(receipt)
      yield* Agent.make({ toolkit: Toolkit.make(pay) }).run("Go.").pipe(Effect.provide(ScriptedModel.layer([
        ScriptedModel.call("pay", { order: "7" }),
        ScriptedModel.call("pay", { order: "7" }),
        ScriptedModel.text("Done.")
      ])))
      assert.deepStrictEqual(paid, ["7", "7"])
    }))

  it.effect("each run if the tool says so, or is idempotent: a value may be set, changed, and set again", () =>
    Effect.gen(function*() {
      for (const definition of [{ joins: false }, { sideEffect: "idempotent" }] as const) {
        const { paid, pay } = paymentTool(receipt, definition)
        yield* inOneTurn(pay, { order: "7" }, { order: "8" }, { order: "7" })
        assert.deepStrictEqual(paid, ["7", "8", "7"])
      }
    }))

  it.effect("count once for what they did: the next call is a new effect, with a new key", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String },
        () =>
          Effect.map(ToolCall.current, ({ idempotencyKey }) => {
            keys.push(idempotencyKey)
            return "receipt"
          })
      )
      const { facts, report } = yield* Agent.make({ toolkit: Toolkit.make(pay) }).run("Go.").pipe(
        Effect.provide(ScriptedModel.layer([
          ScriptedModel.calls(["pay", { order: "7" }], ["pay", { order: "7" }]),
          ScriptedModel.call("pay", { order: "7" }),
          ScriptedModel.text("Done.")
        ]))
      )
      assert.strictEqual(new Set(keys).size, 2)
      assert.deepStrictEqual(Array.from(facts.intents).map(([, { number }]) => number), [3])
      assert.strictEqual(report.calls, 3)
    }))

  it.effect("run once for a tool with keys, too, and each for two tools", () =>
    Effect.gen(function*() {
      const { paid, pay } = paymentTool(receipt, { sideEffect: "idempotent_by_key", identity: ({ order }) => order })
      yield* inOneTurn(pay, { order: "7" }, { order: "7", note: "a" })
      assert.deepStrictEqual(paid, ["7"])
      const first = paymentTool(receipt)
      const sent: Array<string> = []
      const send = Tool.make(
        "send",
        { description: "", parameters: Payment, success: Schema.String },
        ({ order }) => Effect.sync(() => `sent ${sent.push(order)}`)
      )
      yield* Agent.make({ toolkit: Toolkit.make(first.pay, send) }).run("Go.").pipe(
        Effect.provide(ScriptedModel.layer([
          ScriptedModel.calls(["pay", { order: "7" }], ["send", { order: "7" }], ["pay", { order: "7" }]),
          ScriptedModel.text("Done.")
        ]))
      )
      assert.deepStrictEqual([first.paid, sent], [["7"], ["7"]])
    }))
})
