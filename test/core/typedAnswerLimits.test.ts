/** Limits of runs with typed answers, and what their models are asked. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  type Model,
  ModelFailure,
  SemanticGarbage,
  type Tool,
  ToolCall,
  Toolkit,
  Transcript
} from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Duration, Effect, Exit, Schedule, Schema } from "effect"
import type { Untyped } from "../support/nonsense.ts"
import {
  answered,
  call,
  calls,
  Days,
  daysAgent,
  failed,
  final,
  json,
  lastText,
  look,
  type Models,
  namesOf,
  played,
  refused,
  structured,
  text,
  ways
} from "../support/typedAnswers.ts"
import { passing } from "../support/virtualTime.ts"

describe("the limits of a run with a typed answer", () => {
  const concluding = (limits: Agent.Options<Tool.Any>["limits"], onLimit: "fail" | "conclude" = "conclude") =>
    Agent.make({
      toolkit: Toolkit.make(look((ran) => `news ${ran}`)),
      output: Days,
      limits: limits ?? {},
      onLimit,
      checkOutput: ({ days }) => days < 0 ? new SemanticGarbage({ code: "negative", detail: "Negative." }) : undefined
    })
  const usage = { inputTokens: 40, outputTokens: 10 }
  const cases: ReadonlyArray<readonly ["turns" | "calls" | "tokens", Agent.Options<Tool.Any>["limits"]]> = [
    ["turns", { turns: 3 }],
    ["calls", { calls: 2 }],
    ["tokens", { tokens: 200 }]
  ]
  const isLast = ({ messages }: ScriptedModel.Recorded) => messages.at(-1)?.text.includes("used up") === true

  for (const [limit, limits] of cases) {
    it.effect(`are concluded with a typed answer, or fail: ${limit}`, () =>
      Effect.gen(function*() {
        for (const [way, write, model] of ways) {
          const till = (last: Model.Reply): ScriptedModel.Script => (request) =>
            isLast(request) ? last : { ...call("look"), usage }
          const { exit, requests } = yield* played(concluding(limits), model(till(write({ days: 3 }))))
          const answer = answered(exit)
          assert.deepInclude(answer, { stopReason: "concluded", concluded: limit, truncated: false })
          assert.deepStrictEqual(answer.value, { days: 3 })
          assert.deepStrictEqual(Transcript.toArray(answer.transcript).at(-1)?.text, "{\"days\":3}")
          const last = requests.at(-1)!
          assert.deepStrictEqual(namesOf(last), way === "structured output" ? [] : ["final_answer"])
          assert.strictEqual(last.options.output !== undefined, way === "structured output")
          const wrong: ReadonlyArray<Model.Reply> = [
            write({ days: "x" }),
            write({ days: -1 }),
            { ...text("{\"days\":3}"), truncated: true },
            text("{\"days\":3"),
            text(""),
            text("I do not know."),
            call("look"),
            calls(["final_answer", { days: 1 }], ["final_answer", { days: 2 }])
          ]
          for (const reply of wrong) {
            const failure = failed((yield* played(concluding(limits), model(till(reply)))).exit)
            assert.isTrue(failure._tag === "LimitReached" && failure.limit === limit, JSON.stringify(reply))
          }
          const failure = failed((yield* played(concluding(limits, "fail"), model(till(write({ days: 3 }))))).exit)
          assert.isTrue(failure._tag === "LimitReached" && failure.limit === limit)
        }
      }))
  }

  it.effect("of calls do not count the answer", () =>
    Effect.gen(function*() {
      for (const limits of [{ calls: 1 }, { callsPerTool: 1 }, { callsPerTool: { look: 1 } }] as const) {
        const agent = Agent.make({ toolkit: Toolkit.make(look()), output: Days, limits })
        const script = [call("look"), final({ days: "x" }), final({ days: "x" }), final({ days: 3 })]
        const { exit, requests } = yield* played(agent, script)
        assert.deepStrictEqual(answered(exit).value, { days: 3 })
        for (const request of requests.slice(1)) assert.include(namesOf(request), "final_answer")
      }
      const run = yield* played(daysAgent, [final({ days: 3 })], { limits: { callsPerTool: { final_answer: 1 } } })
      assert.strictEqual(failed(run.exit)._tag, "RunRefused")
    }))

  it.effect("end a correction: turns and time", () =>
    Effect.gen(function*() {
      for (const [, write, model] of ways) {
        const short = Agent.make({ toolkit: Toolkit.empty, output: Days, limits: { turns: 2 } })
        const { exit, requests } = yield* played(short, model(() => write({ days: "x" })))
        const failure = failed(exit)
        assert.isTrue(failure._tag === "LimitReached" && failure.limit === "turns")
        assert.strictEqual(requests.length, 2)
        const timed = Agent.make({ toolkit: Toolkit.empty, output: Days, limits: { elapsed: "1 minute" } })
        const slow = Effect.delay(Effect.succeed(write({ days: "x" })), "45 seconds")
        const late = yield* passing(played(timed, model(() => slow)))
        const end = failed(late.exit)
        assert.isTrue(end._tag === "LimitReached" && end.limit === "elapsed")
      }
    }))

  it.effect("are reached, and nobody replies to a check that asks then", () =>
    Effect.gen(function*() {
      const agent = Agent.make({
        toolkit: Toolkit.make(look()),
        output: Days,
        limits: { turns: 2 },
        onLimit: "conclude",
        checkOutput: () => Effect.asVoid(ToolCall.ask("Right?"))
      })
      for (const [, write, model] of ways) {
        const { exit } = yield* played(agent, model([call("look"), write({ days: 3 })]))
        assert.strictEqual(failed(exit)._tag, "LimitReached")
      }
    }))

  it.effect("give up a check, whose value is not that of the next answer", () =>
    Effect.gen(function*() {
      for (const [, write, model] of ways) {
        const agent = Agent.make({
          toolkit: Toolkit.empty,
          output: Days,
          limits: { elapsed: "1 minute" },
          onLimit: "conclude",
          checkOutput: ({ days }) =>
            days === 1 ? Effect.uninterruptible(Effect.sleep("57 seconds")) : Effect.sleep("4 seconds")
        })
        const { exit } = yield* passing(played(agent, model([write({ days: 1 }), write({ days: 2 })])))
        if (Exit.isSuccess(exit)) assert.strictEqual(exit.value.text, JSON.stringify(exit.value.value))
      }
    }))

  it.effect("are not used up by a guard against loops that withdraws the answer", () =>
    Effect.gen(function*() {
      let ran = 0
      const both = () => calls(["final_answer", { days: 1 }], ["look", {}])
      const agent = Agent.make({ toolkit: Toolkit.make(look(() => `news ${++ran}`)), output: Days })
      const { requests } = yield* played(agent, () => both())
      for (const request of requests) assert.include(namesOf(request), "final_answer")
      assert.isAtMost(requests.length, 30)
    }))

  it.effect("are not all used up by a stuck model: a loop is concluded", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(look()), output: Days, onLimit: "conclude" })
      for (const [, write, model] of ways) {
        const { exit } = yield* played(
          agent,
          model(({ messages }) =>
            lastText({ messages, tools: [], options: {} }).includes("Give the best") ? write({ days: 3 }) : call("look")
          )
        )
        assert.deepInclude(answered(exit), { concluded: "loop", value: { days: 3 } })
      }
    }))
})

describe("the request for a typed answer", () => {
  const optionsOf = (
    modelOptions: Model.Options,
    model: (script: ScriptedModel.Script) => Models,
    toolkit = Toolkit.make(look())
  ) =>
    Effect.map(
      played(Agent.make({ toolkit, output: Days, modelOptions }), model([call("look"), text("{\"days\":3}")])),
      ({ requests }) =>
        requests.map((request) => {
          const { toolChoice = "-" } = request.options
          return `${namesOf(request).join()} ${typeof toolChoice === "string" ? toolChoice : toolChoice.tool}`
        })
    )
  const tool = (script: ScriptedModel.Script) => ScriptedModel.layer(script)
  const none: Untyped = Toolkit.empty

  it.effect("offers the tool, or has the schema, and never both", () =>
    Effect.gen(function*() {
      const plain = yield* played(daysAgent, [call("look"), final({ days: 3 })])
      for (const { options, tools } of plain.requests) {
        assert.isUndefined(options.output)
        assert.deepStrictEqual(tools.map(({ name }) => name), ["look", "final_answer"])
      }
      const written = yield* played(daysAgent, structured([call("look"), json({ days: 3 })]))
      for (const { options, tools } of written.requests) {
        assert.deepInclude(options.output, { type: "object", required: ["days"] })
        assert.deepStrictEqual(tools.map(({ name }) => name), ["look"])
      }
      // With tools, such a model could call none.
      const beside = yield* played(daysAgent, structured([final({ days: 3 })], "without_tools"))
      assert.deepStrictEqual(beside.requests.map(namesOf), [["look", "final_answer"]])
      const alone = Agent.make({ toolkit: Toolkit.empty, output: Days })
      const { requests } = yield* played(alone, structured([json({ days: 3 })], "without_tools"))
      assert.deepStrictEqual(requests.map(namesOf), [[]])
      assert.isDefined(requests[0]?.options.output)
    }))

  it.effect("has no other schema than that of the answer", () =>
    Effect.gen(function*() {
      const modelOptions = { output: { type: "object" }, temperature: 0 }
      const agent = Agent.make({ toolkit: Toolkit.make(look()), output: Days, modelOptions })
      const { requests: [byCall] } = yield* played(agent, [final({ days: 3 })], { modelOptions })
      assert.deepStrictEqual(byCall?.options, { temperature: 0 })
      const { requests: [byText] } = yield* played(agent, structured([json({ days: 3 })]), { modelOptions })
      assert.deepInclude(byText?.options.output, { required: ["days"] })
      const untyped = Agent.make({ toolkit: Toolkit.make(look()), modelOptions })
      const { requests: [own] } = yield* played(untyped, [text("{}")])
      assert.deepStrictEqual(own?.options, modelOptions)
    }))

  it.effect("requires a tool until one was called, and the answer is one", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* optionsOf({ toolChoice: "required" }, tool), [
        "look,final_answer required",
        "look,final_answer required"
      ])
      assert.deepStrictEqual(yield* optionsOf({ toolChoice: "required" }, structured), ["look required", "look -"])
      assert.deepStrictEqual(yield* optionsOf({ toolChoice: { tool: "look" } }, tool), [
        "look,final_answer look",
        "look,final_answer -"
      ])
      assert.deepStrictEqual(yield* optionsOf({ toolChoice: { tool: "look" } }, structured), [
        "look look",
        "look -"
      ])
    }))

  it.effect("offers the answer alone if no tool may be called", () =>
    Effect.gen(function*() {
      const first = (requests: ReadonlyArray<string>) => requests[0]
      assert.strictEqual(first(yield* optionsOf({ toolChoice: "none" }, tool)), "final_answer -")
      assert.strictEqual(first(yield* optionsOf({ toolChoice: "none" }, structured)), " -")
      const without = (script: ScriptedModel.Script) => structured(script, "without_tools")
      assert.strictEqual(first(yield* optionsOf({ toolChoice: "none" }, without)), " -")
    }))

  it.effect("corrects a text in words that fit the way in which the model answers", () =>
    Effect.gen(function*() {
      const { requests: [, byCall] } = yield* played(daysAgent, [json({ days: "x" }), final({ days: 3 })])
      assert.match(lastText(byCall!), /^Your last reply is not the final answer. To give it, call final_answer.\n\{/)
      const { requests: [, byText] } = yield* played(daysAgent, structured([json({ days: "x" }), json({ days: 3 })]))
      assert.strictEqual(
        lastText(byText!),
        "Your last reply is not a valid answer: 'days': expected integer, got \"x\".\nReply with the corrected answer alone, as JSON."
      )
      // Both see what they wrote.
      for (const request of [byCall, byText]) assert.strictEqual(request?.messages.at(-2)?.text, "{\"days\":\"x\"}")
    }))

  it.effect("does not require a tool if none is offered", () =>
    Effect.gen(function*() {
      const first = (requests: ReadonlyArray<string>) => requests[0]
      for (const toolChoice of ["required", { tool: "final_answer" }] as const) {
        assert.strictEqual(first(yield* optionsOf({ toolChoice }, structured, none)), " -")
      }
      assert.strictEqual(
        first(yield* optionsOf({ toolChoice: "required" }, tool, none)),
        "final_answer required"
      )
    }))

  it.effect("offers the answer also if only available tools are offered", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(look()), output: Days, offer: "available" })
      const { requests } = yield* played(agent, [final({ days: 3 })])
      assert.deepStrictEqual(requests.map(namesOf), [["look", "final_answer"]])
      const { requests: written } = yield* played(agent, structured([json({ days: 3 })]))
      assert.deepStrictEqual(written.map(namesOf), [["look"]])
    }))
})

describe("a postponed run with a typed answer", () => {
  const busy = new ModelFailure({
    code: "rate_limited",
    detail: "Busy.",
    transient: true,
    retryAfter: Duration.hours(1)
  })

  it.effect("goes on to its answer", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(look()), output: Days, modelRetry: Schedule.recurs(0) })
      for (const [, write, model] of ways) {
        const { exit } = yield* played(agent, model([write({ days: "x" }), Effect.fail(busy)]))
        const failure = failed(exit)
        if (failure._tag !== "RunPostponed") return assert.fail(String(failure))
        const answer = yield* Effect.provide(agent.resume(failure.postponement), model([write({ days: 3 })]))
        assert.deepStrictEqual(answer.value, { days: 3 })
      }
    }))

  it.effect("counts the corrections before it, also through storage", () =>
    Effect.gen(function*() {
      for (const [way, write, model] of ways) {
        const wrong = write({ days: "x" })
        const agent = Agent.make({ toolkit: Toolkit.empty, output: Days, modelRetry: Schedule.recurs(0) })
        const failure = failed((yield* played(agent, model([wrong, wrong, Effect.fail(busy)]))).exit)
        if (failure._tag !== "RunPostponed") return assert.fail(String(failure))
        const { Postponement } = AgentFailure
        const stored = Schema.decodeUnknownSync(Postponement)(
          JSON.parse(JSON.stringify(Schema.encodeSync(Postponement)(failure.postponement)))
        )
        // The request that would have told the model of the latest one failed.
        const isUntold = way !== "a call"
        assert.strictEqual(stored.refused, isUntold ? 1 : 2)
        const exit = yield* Effect.exit(Effect.provide(agent.resume(stored), model([wrong, wrong])))
        assert.strictEqual(refused(exit).report.turns, isUntold ? 4 : 3)
      }
    }))
})

describe("an agent with an output", () => {
  it("is taken where any agent is", () => {
    const anyone: Agent.Agent<Tool.Any, unknown> = daysAgent
    assert.strictEqual(anyone, daysAgent)
  })
})
