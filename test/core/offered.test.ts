import { assert, describe, it } from "@effect/vitest"
import { Agent, Policy, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as ToolHealth from "@fallible/core/ToolHealth"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Layer, Schedule, Schema } from "effect"
import * as Breaker from "effect/persistence/CircuitBreaker"
import { TestClock } from "effect/testing"

const services = Breaker.layer({ tripPolicy: Breaker.consecutive(1), openDuration: "30 seconds" }).pipe(
  Layer.provide(Breaker.layerStoreMemory()),
  Layer.merge(ToolHealth.layer)
)

/** Makes three tools, the first of which can be down, and one that lets time pass. */
const make = () => {
  const world = { isDown: true, calls: 0 }
  const definition = { description: "A quote", success: Schema.String, sideEffect: "none" } as const
  const handler = () =>
    Effect.suspend(() => {
      world.calls++
      return world.isDown
        ? Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
        : Effect.succeed("42.10")
    })
  const quote = Tool.make("quote", definition, handler).pipe(CircuitBreaker.protect())
  const kept = Tool.make("kept", definition, handler).pipe(
    CircuitBreaker.protect(),
    Tool.fallback(() => Effect.as(ToolCall.source({ name: "cache", age: "1 hour" }), "41.90"))
  )
  const wait = Tool.make("wait", {
    description: "Waits",
    parameters: Schema.Struct({ millis: Schema.Int }),
    success: Schema.Void,
    sideEffect: "none"
  }, ({ millis }) => TestClock.adjust(millis))
  return { world, toolkit: Toolkit.make(quote, kept, wait) }
}

/** Returns the tools offered in each turn to a model that makes these calls. */
const offers = <T extends Tool.Any>(
  toolkit: Toolkit.Toolkit<T>,
  script: ScriptedModel.Script,
  options: Partial<Agent.Options<T>> = {}
) =>
  Effect.gen(function*() {
    const answer = yield* Agent.make({ toolkit, offer: "available", ...options }).run("?")
    const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
    return { answer, names: requests.map(({ tools }) => tools.map(({ name }) => name).join()), requests }
  }).pipe(Effect.provide(ScriptedModel.layer(script)))

describe("the tools offered to a model", () => {
  it.effect("F8 omit a tool with an open circuit, until its probe is due", () =>
    Effect.gen(function*() {
      const { toolkit, world } = make()
      const moves = [
        ScriptedModel.call("quote"),
        ScriptedModel.call("wait", { millis: 29_999 }),
        ScriptedModel.call("wait", { millis: 1 }),
        // The probe, which fails, and another one half a minute later, which succeeds.
        ScriptedModel.call("quote"),
        ScriptedModel.call("wait", { millis: 30_000 }),
        ScriptedModel.call("quote"),
        ScriptedModel.text("done")
      ]
      const { names } = yield* offers(toolkit, (_, index) => {
        world.isDown = index < 5
        return moves[index]!
      })
      assert.deepStrictEqual(names, [
        "quote,kept,wait",
        "kept,wait",
        "kept,wait",
        "quote,kept,wait",
        "kept,wait",
        "quote,kept,wait",
        "quote,kept,wait"
      ])
    }).pipe(Effect.provide(services)))

  it.effect("F8 refuse a call of an omitted tool at once, without running it", () =>
    Effect.gen(function*() {
      const { toolkit, world } = make()
      const { answer } = yield* offers(toolkit, [
        ScriptedModel.call("quote"),
        ScriptedModel.call("quote"),
        ScriptedModel.text("done")
      ])
      assert.strictEqual(world.calls, 1)
      assert.deepStrictEqual(answer.report.failures.map(({ attempts, code }) => [code, attempts]), [
        ["connection", 1],
        ["circuit_open", 0]
      ])
    }).pipe(Effect.provide(services)))

  it.effect("F8 include a tool with a fallback outside its breaker, because it still answers", () =>
    Effect.gen(function*() {
      const { toolkit, world } = make()
      const { answer, names } = yield* offers(toolkit, [
        ScriptedModel.call("kept"),
        ScriptedModel.call("kept"),
        ScriptedModel.text("done")
      ])
      assert.deepStrictEqual(names, ["quote,kept,wait", "quote,kept,wait", "quote,kept,wait"])
      assert.strictEqual(world.calls, 1)
      const last = answer.transcript.at(4)
      assert.strictEqual(
        last?.role === "tool" && last.text,
        "{\"value\":\"41.90\",\"notes\":[\"from cache, 1h old; the live service is unavailable\"]}"
      )
    }).pipe(Effect.provide(services)))

  it.effect("E7 omit a disabled tool until it is enabled; by default they include it, and its calls are refused", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      yield* health.disable("quote")
      const { toolkit } = make()
      const script = [ScriptedModel.text("done")]
      assert.deepStrictEqual((yield* offers(toolkit, script)).names, ["kept,wait"])
      assert.deepStrictEqual((yield* offers(toolkit, script, { offer: "all" })).names, ["quote,kept,wait"])
      yield* health.enable("quote")
      assert.deepStrictEqual((yield* offers(toolkit, script)).names, ["quote,kept,wait"])
    }).pipe(Effect.provide(services)))

  it.effect("drop a tool choice that is not offered, which a provider would refuse", () =>
    Effect.gen(function*() {
      const health = yield* ToolHealth.ToolHealth
      const { toolkit } = make()
      const choice = (toolChoice: "required" | { readonly tool: string }) =>
        Effect.map(
          offers(toolkit, [ScriptedModel.text("done")], { modelOptions: { toolChoice, temperature: 0 } }),
          ({ requests }) => requests[0]?.options
        )
      assert.deepStrictEqual(yield* choice({ tool: "quote" }), { toolChoice: { tool: "quote" }, temperature: 0 })
      yield* health.disable("quote")
      assert.deepStrictEqual(yield* choice({ tool: "quote" }), { temperature: 0 })
      assert.deepStrictEqual(yield* choice("required"), { toolChoice: "required", temperature: 0 })
      for (const name of ["kept", "wait"]) yield* health.disable(name)
      assert.deepStrictEqual(yield* choice("required"), { temperature: 0 })
    }).pipe(Effect.provide(services)))
})

describe("the policies of an agent", () => {
  const recording = (events: Array<string>, kind: Policy.Kind, whose: string): Policy.Policy =>
    Policy.make({
      kind,
      description: `${kind} of the ${whose}`,
      wrap: (run) => (params) =>
        Effect.suspend(() => {
          events.push(`${kind} of the ${whose}`)
          return run(params)
        })
    })

  it.effect("C1 yield to a tool's own, and override those of its toolkit, kind by kind", () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const tool = Tool.make("t", { description: "", success: Schema.Void, sideEffect: "none" }, () => Effect.void)
        .pipe(
          Tool.retry(Schedule.recurs(0))
        )
      const toolkit = Toolkit.make(tool).pipe(Toolkit.withDefaults([
        recording(events, "timeout", "toolkit"),
        recording(events, "retry", "toolkit"),
        recording(events, "concurrency", "toolkit"),
        recording(events, "fallback", "toolkit")
      ]))
      const policies = [
        recording(events, "timeout", "agent"),
        recording(events, "retry", "agent"),
        recording(events, "concurrency", "agent")
      ]
      yield* Agent.make({ toolkit, policies }).run("?").pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("t"), ScriptedModel.text("done")]))
      )
      assert.deepStrictEqual(events, ["fallback of the toolkit", "concurrency of the agent", "timeout of the agent"])
    }))

  it.effect("C1 change nothing for others that use the same toolkit", () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const tool = Tool.make("t", { description: "", success: Schema.Void, sideEffect: "none" }, () => Effect.void)
      const toolkit = Toolkit.make(tool)
      const script = ScriptedModel.layer([ScriptedModel.call("t"), ScriptedModel.text("done")])
      Agent.make({ toolkit, policies: [recording(events, "retry", "agent")] })
      yield* Agent.make({ toolkit }).run("?").pipe(Effect.provide(script))
      assert.deepStrictEqual(events, [])
      assert.deepStrictEqual(toolkit.tools.get("t")?.policies, [])
    }))

  it.effect("C12 if none are set, pass on the unchanged failure after one attempt", () =>
    Effect.gen(function*() {
      const refused = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })
      let runs = 0
      const tool = Tool.make("t", { description: "", success: Schema.Void, sideEffect: "none" }, () =>
        Effect.suspend(() => {
          runs++
          return Effect.fail(refused)
        }))
      assert.strictEqual(yield* Effect.flip(tool.run({})), refused)
      assert.strictEqual(runs, 1)
    }))
})
