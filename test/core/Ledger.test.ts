import { assert, describe, it } from "@effect/vitest"
import { Agent, Ledger, Policy, Tool, Toolkit, ToolOutcome, ToolUnavailable } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema, Stream } from "effect"

const refused = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })

/** A policy as a user may write one. */
const queueing: Policy.Policy = Policy.make({
  kind: "custom",
  name: "queue",
  description: "queues what cannot be done now",
  // The tool below answers with texts.
  wrap: (run) => (params) => Effect.catch(run(params), () => Effect.succeed("queued" as never))
})

const down = Tool.make(
  "down",
  { description: "Is down", success: Schema.String, sideEffect: "none" },
  () => Effect.fail(refused)
)

describe("how a failure ended", () => {
  const script = ScriptedModel.layer([ScriptedModel.call("down"), ScriptedModel.text("done")])
  const agent = Agent.make({ toolkit: Toolkit.make(down), policies: [queueing] })
  const entry: Ledger.Entry = {
    turn: 1,
    call: 1,
    tool: "down",
    tag: "ToolUnavailable",
    code: "connection",
    detail: "Refused.",
    attempts: 1,
    ended: "custom",
    policy: "queue"
  }

  it.effect("is one of a closed list; a policy of one's own has its name beside it", () =>
    Effect.gen(function*() {
      const { ledger } = yield* agent.run("Go")
      assert.deepStrictEqual(ledger.failures, [entry])
    }).pipe(Effect.provide(script)))

  it.effect("is told to who watches, with the policy's name", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(agent.stream("Go"))
      const handled = events.flatMap((event) => event._tag === "FailureHandled" ? [[event.by, event.policy]] : [])
      assert.deepStrictEqual(handled, [["custom", "queue"]])
    }).pipe(Effect.provide(script)))

  it.effect("is told with the policy's name of a tool inside of another, and inside of a timeout", () =>
    Effect.gen(function*() {
      const inside = Toolkit.withDefaults(Toolkit.make(down), [queueing]).tools.get("down")
      const outer = Tool.make(
        "outer",
        { description: "", success: Schema.Unknown, sideEffect: "none" },
        () => inside!.run({})
      ).pipe(Tool.timeout("1 second"))
      const { ledger } = yield* Agent.make({ toolkit: Toolkit.make(outer) }).run("Go")
      assert.deepStrictEqual(ledger.failures, [{ ...entry, tool: "outer" }])
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("outer"), ScriptedModel.text("done")]))))

  it("has a schema that takes no other", () => {
    const isEntry = Schema.is(Ledger.Entry)
    const handled = { tag: "ToolUnavailable", code: "connection", detail: "Refused." }
    for (const by of ToolOutcome.HandledBy.literals) {
      assert.isTrue(Schema.is(ToolOutcome.Handled)({ ...handled, by }))
      assert.isTrue(isEntry({ ...entry, ended: by }))
    }
    assert.isTrue(isEntry({ ...entry, ended: "told" }))
    for (const by of ["queue", "run_failed", "", undefined]) {
      assert.isFalse(Schema.is(ToolOutcome.Handled)({ ...handled, by }))
      assert.isFalse(isEntry({ ...entry, ended: by }))
    }
    assert.isFalse(Schema.is(ToolOutcome.Handled)({ ...handled, by: "told" }))
  })
})
