import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  Dispatch,
  PartialData,
  Policy,
  RetryPolicy,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type * as SideEffect from "@fallible/core/SideEffect"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema } from "effect"
import * as DispatchFailure from "../../packages/core/src/internal/arguments/dispatchFailure.ts"
import { atOnce } from "../support/models.ts"

const parameters = Schema.Struct({ order: Schema.Int, note: Schema.optionalKey(Schema.String) })
const garbage = new SemanticGarbage({
  code: "unknown_entity",
  detail: "There is no order 7.",
  hint: "Ask for the number."
})
const refused = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })
const notExecuted = new ToolUnavailable({ ...refused, outcome: "not_executed" })
const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })

type Failure = SemanticGarbage | ToolUnavailable

/** Makes a tool whose nth execution runs the nth step. Later ones run the last step. */
const orders = (sideEffect: SideEffect.SideEffect, ...steps: ReadonlyArray<Failure | "found">) => {
  let executions = 0
  const tool = Tool.make(
    "orders",
    { description: "Orders", parameters, success: Schema.String, sideEffect },
    () =>
      Effect.suspend(() => {
        const step = steps[Math.min(executions++, steps.length - 1)]!
        return step === "found" ? Effect.succeed(step) : Effect.fail(step)
      })
  )
  return { tool, executions: () => executions }
}

/** Returns the tool messages of a run whose model makes these calls, one per turn. */
const playCalls = <T extends Tool.Any>(tool: T, ...calls: ReadonlyArray<string | object>) =>
  Effect.gen(function*() {
    const script = [...calls.map((args) => ScriptedModel.call("orders", args)), ScriptedModel.text("done")]
    const agent = Agent.make({ toolkit: Toolkit.make(tool), limits: { turns: 20 }, loopGuard: "off" })
    const { report, transcript } = yield* Effect.provide(agent.run("?"), ScriptedModel.layer(script))
    const texts = Array.from({ length: transcript.length }, (_, index) => transcript.at(index))
      .flatMap((message) => message?.role === "tool" ? [message.text] : [])
    const entries = report.failures.filter(({ handling }) => handling === "told")
    const certainties = entries.map((entry) => "certainty" in entry ? entry.certainty : undefined)
    return { codes: entries.map(({ code }) => code), certainties, texts }
  })

describe("CallFacts", () => {
  it.effect("D4 refuses the same call after three failed executions, without running it", () =>
    Effect.gen(function*() {
      const { executions, tool } = orders("none", garbage)
      const { codes, texts } = yield* playCalls(tool, { order: 7 }, { order: 7 }, { order: 7 }, { order: 7 }, {
        order: 7
      })
      const known = "unknown_entity"
      const exceeded = "repeated_call"
      assert.deepStrictEqual(codes, [known, known, known, exceeded, exceeded])
      assert.strictEqual(executions(), 3)
      assert.deepStrictEqual(JSON.parse(texts[3]!), {
        ok: false,
        error: "SemanticGarbage",
        code: exceeded,
        detail:
          "This call was not run: the same call has already failed 3 times, the last time with unknown_entity: There is no order 7.",
        hint: "Ask for the number.",
        retry: "Do not repeat this call with the same arguments. Use other arguments or another tool, or ask the user."
      })
    }))

  it.effect("D4 counts executions, so a call with three attempts inside is not run again", () =>
    Effect.gen(function*() {
      const { executions, tool } = orders("none", refused)
      const { codes } = yield* playCalls(tool.pipe(Tool.retry(RetryPolicy.transient)), { order: 7 }, { order: 7 })
      assert.deepStrictEqual(codes, ["connection", "repeated_call"])
      assert.strictEqual(executions(), 3)
    }).pipe(atOnce))

  it.effect("D4 refuses a call of a tool that is neither read-only nor idempotent after one failed execution", () =>
    Effect.gen(function*() {
      const acting = orders("non_idempotent", garbage)
      assert.deepStrictEqual((yield* playCalls(acting.tool, { order: 7 }, { order: 7 })).codes, [
        "unknown_entity",
        "repeated_call"
      ])
      assert.strictEqual(acting.executions(), 1)
      const idempotent = orders("idempotent", garbage)
      yield* playCalls(idempotent.tool, { order: 7 }, { order: 7 }, { order: 7 }, { order: 7 })
      assert.strictEqual(idempotent.executions(), 3)
    }))

  it.effect("allows a call that certainly did nothing to be repeated, up to three executions", () =>
    Effect.gen(function*() {
      const { executions, tool } = orders("non_idempotent", notExecuted)
      const { codes } = yield* playCalls(tool, { order: 7 }, { order: 7 }, { order: 7 }, { order: 7 })
      assert.deepStrictEqual(codes, ["connection", "connection", "connection", "repeated_call"])
      assert.strictEqual(executions(), 3)
    }))

  it.effect("says in a refusal that the call may have taken effect, if the earlier one may have", () =>
    Effect.gen(function*() {
      const { executions, tool } = orders("non_idempotent", lost)
      const { texts } = yield* playCalls(tool, { order: 7 }, { order: 7 })
      assert.strictEqual(executions(), 1)
      assert.include(texts[1], "\"error\":\"ToolUnavailable\",\"code\":\"repeated_call\"")
      assert.include(
        texts[1],
        "Do not repeat this call: it would be refused again, because it may already have taken effect. If you know that it has not, tell the user."
      )
    }))

  it.effect("says in a refusal, and in the report of it, that the earlier call took effect", () =>
    Effect.gen(function*() {
      const { executions, tool } = orders("non_idempotent", "found")
      const failing = Tool.with(
        tool,
        Policy.make<never, SemanticGarbage>({
          kind: "custom",
          name: "fails after it",
          description: "fails after it",
          wrap: (run) => (params) => Effect.andThen(run(params), Effect.fail(garbage))
        })
      )
      const { certainties, texts } = yield* playCalls(failing, { order: 7 }, { order: 7 })
      assert.strictEqual(executions(), 1)
      assert.deepStrictEqual(certainties, ["executed", "executed"])
      assert.deepInclude(JSON.parse(texts[1]!), {
        hint: "Ask for the number.",
        retry: "Do not repeat this call: it has already taken effect."
      })
    }))

  it.effect("leaves no doubt in an outer tool, because a refused call does nothing", () =>
    Effect.gen(function*() {
      const pay = Tool.make("pay", { description: "Pays", success: Schema.String, empty: "No receipt." }, () =>
        Effect.succeed(""))
      const script = [ScriptedModel.call("pay"), ScriptedModel.call("pay"), ScriptedModel.text("Done.")]
      const assistant = Tool.make("assistant", { description: "Pays", success: Schema.String }, () =>
        Agent.make({ toolkit: Toolkit.make(pay) }).run("?").pipe(
          Effect.map(({ text }) =>
            text
          ),
          Effect.orDie,
          Effect.provide(ScriptedModel.layer(script))
        ))
      const outcome = yield* Dispatch.call(Toolkit.make(assistant), { id: "1", name: "assistant" })
      assert.deepInclude(outcome, { _tag: "Completed", value: "Done.", certainty: "executed", caveats: [] })
    }))

  it.effect("does not make a refusal count as an effect of the tool that fails with it", () =>
    Effect.gen(function*() {
      const repeated = DispatchFailure.repeatedCall({
        executions: 1,
        code: "connection",
        detail: "Reset.",
        tag: "ToolUnavailable",
        certainty: "executed"
      })
      const outer = Tool.make("outer", { description: "Pays", success: Schema.String }, () => Effect.fail(repeated))
      assert.strictEqual((yield* Tool.outcome(outer, {})).certainty, "unknown")
    }))

  it.effect("treats calls as equal whatever the order of keys and the white space, but no other calls", () =>
    Effect.gen(function*() {
      const { executions, tool } = orders("non_idempotent", garbage)
      const { codes } = yield* playCalls(
        tool,
        "{\"order\":7,\"note\":\"a\"}",
        " { \"note\" : \"a\",\n \"order\" : 7 } ",
        "{\"order\":7,\"note\":\"b\"}",
        "{\"order\":70,\"note\":\"a\"}"
      )
      const [known, exceeded] = ["unknown_entity", "repeated_call"]
      assert.deepStrictEqual(codes, [known, exceeded, known, known])
      assert.strictEqual(executions(), 3)
    }))

  it.effect("counts neither calls that never reached the tool nor successful ones", () =>
    Effect.gen(function*() {
      const { executions, tool } = orders("none", "found")
      const { codes } = yield* playCalls(
        tool,
        {},
        {},
        {},
        {},
        "{\"or",
        ...Array.from({ length: 5 }, () => ({ order: 7 }))
      )
      assert.deepStrictEqual(codes, [...Array.from({ length: 4 }, () => "invalid_arguments"), "invalid_json"])
      assert.strictEqual(executions(), 5)
    }))

  it.effect("keeps the doubt about a read-only tool that has run one which acts", () =>
    Effect.gen(function*() {
      const { executions, tool } = orders("non_idempotent", lost)
      const outer = Tool.make(
        "orders",
        { description: "", parameters, success: Schema.String, sideEffect: "none" },
        (params) => tool.run(params)
      )
      const { certainties, texts } = yield* playCalls(outer, { order: 7 }, { order: 7 })
      assert.deepStrictEqual(certainties, ["unknown", "unknown"])
      assert.include(texts[1], "may already have taken effect")
      assert.strictEqual(executions(), 1)
    }))

  it.effect("applies within a turn: an equal second call shares the failure of the first", () =>
    Effect.gen(function*() {
      const { executions, tool } = orders("non_idempotent", lost)
      const pay = { name: "orders", arguments: "{\"order\":7}" }
      const script = [
        { text: "", calls: [{ id: "1", ...pay }, { id: "2", ...pay }] },
        ScriptedModel.text("done")
      ]
      const { report } = yield* Effect.provide(
        Agent.make({ toolkit: Toolkit.make(tool) }).run("?"),
        ScriptedModel.layer(script)
      )
      assert.deepStrictEqual(report.failures.map(({ code }) => code), ["outcome_unknown", "outcome_unknown"])
      assert.strictEqual(executions(), 1)
    }))

  it.effect("decides about concurrent calls before any of them starts, whether they yield or not", () =>
    Effect.gen(function*() {
      for (const pause of [Effect.void, Effect.yieldNow]) {
        let executions = 0
        const tool = Tool.make(
          "orders",
          { description: "", parameters, success: Schema.String, sideEffect: "none" },
          () =>
            Effect.andThen(
              pause,
              Effect.suspend(() => {
                executions++
                return Effect.fail(garbage)
              })
            )
        )
        const calls = Array.from({ length: 12 }, (_, index) => ({
          id: `${index}`,
          name: "orders",
          arguments: "{\"order\":7}"
        }))
        yield* Effect.provide(
          Agent.make({ toolkit: Toolkit.make(tool) }).run("?"),
          ScriptedModel.layer([{ text: "", calls }, ScriptedModel.text("done")])
        )
        assert.strictEqual(executions, 12)
      }
    }))

  it.effect("quotes the original failure in later refusals, not the first refusal", () =>
    Effect.gen(function*() {
      const { tool } = orders("non_idempotent", garbage)
      const { texts } = yield* playCalls(tool, { order: 7 }, { order: 7 }, { order: 7 })
      assert.strictEqual(texts[2], texts[1])
      assert.include(texts[2], "the same call has already failed with unknown_entity: There is no order 7.")
    }))

  it.effect("does not count successful pages", () =>
    Effect.gen(function*() {
      const page = new PartialData({ code: "more_pages", detail: "1 of 2.", data: "a" })
      let executions = 0
      const tool = Tool.make(
        "orders",
        { description: "", parameters, success: Schema.String, sideEffect: "none" },
        () =>
          Effect.suspend(() => {
            executions++
            return Effect.fail(page)
          })
      )
      yield* playCalls(tool, ...Array.from({ length: 5 }, () => ({ order: 7 })))
      assert.strictEqual(executions, 5)
    }))

  it.effect("starts afresh with each run", () =>
    Effect.gen(function*() {
      const { executions, tool } = orders("non_idempotent", garbage)
      yield* playCalls(tool, { order: 7 })
      yield* playCalls(tool, { order: 7 })
      assert.strictEqual(executions(), 2)
    }))

  it.effect("applies after a resume in another process", () =>
    Effect.gen(function*() {
      const { executions, tool } = orders("non_idempotent", lost)
      const asking = Tool.make(
        "ask",
        { description: "Asks", success: Schema.String, sideEffect: "none" },
        () => ToolCall.ask("Again?")
      )
      const agent = Agent.make({ toolkit: Toolkit.make(tool, asking) })
      const suspended = yield* Effect.flip(Effect.provide(
        agent.run("?"),
        ScriptedModel.layer([ScriptedModel.call("orders", { order: 7 }), ScriptedModel.call("ask")])
      ))
      if (suspended._tag !== "RunSuspended") return assert.fail(suspended._tag)
      const stored = JSON.stringify(yield* Schema.encodeEffect(AgentFailure.Suspension)(suspended.suspension))
      const read = yield* Schema.decodeUnknownEffect(AgentFailure.Suspension)(JSON.parse(stored))
      const { report } = yield* Effect.provide(
        agent.resume(read, "yes"),
        ScriptedModel.layer([ScriptedModel.call("orders", { order: 7 }), ScriptedModel.text("done")])
      )
      assert.deepStrictEqual(report.failures.map(({ code }) => code), ["outcome_unknown", "repeated_call"])
      assert.strictEqual(executions(), 1)
    }))

  it.effect("distinguishes calls by any key, including `__proto__`", () =>
    Effect.gen(function*() {
      const any = Schema.Record(Schema.String, Schema.Json)
      const acting = Tool.make("orders", { description: "", parameters: any, success: Schema.String }, () =>
        Effect.fail(garbage))
      const { codes } = yield* playCalls(
        acting,
        "{\"a\":{\"constructor\":1},\"b\":2}",
        "{\"b\":2,\"a\":{\"constructor\":1}}",
        "{\"b\":2}",
        "{\"b\":2,\"a\":{\"constructor\":2}}"
      )
      assert.deepStrictEqual(codes, ["unknown_entity", "repeated_call", "unknown_entity", "unknown_entity"])
    }))
})
