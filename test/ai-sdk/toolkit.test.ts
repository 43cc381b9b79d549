/* Tools of the AI SDK as tools of ours (`AiSdk.toolkit`). */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@fallible/ai-sdk"
import { Agent, Policy, type Tool, type Toolkit } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Question from "@fallible/core/Question"
import { ScriptedModel } from "@fallible/testing"
import { toStandardJsonSchema } from "@valibot/to-json-schema"
import { dynamicTool, jsonSchema, type ModelMessage, tool } from "ai"
import { type } from "arktype"
import { Deferred, Effect, Fiber, Schedule, Stream } from "effect"
import * as v from "valibot"
import { z } from "zod"
import * as zm from "zod/mini"
import { z as z3 } from "zod/v3"
import { playing, results, stored, suspended } from "../support/approving.ts"
import { callOf, whyNotMade } from "../support/foreignTools.ts"

const only = <T extends Tool.Any>({ tools }: Toolkit.Toolkit<T>): T => [...tools.values()][0]!

const booking = z.object({ booking: z.string() })

describe("AiSdk.toolkit", () => {
  it.effect("runs `execute` with decoded input and the options of the AI SDK", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      let said: ReadonlyArray<ModelMessage> = []
      const charge = tool({
        description: "Charges",
        inputSchema: z.object({ booking: z.string(), euros: z.number().default(1) }),
        contextSchema: z.object({ tenant: z.string() }),
        execute: async (input, options) => {
          said = options.messages
          seen.push(input, options.toolCallId, options.context, options.abortSignal?.aborted)
          seen.push(AiSdk.callOf({ ...options })?.idempotencyKey.length)
          return { charged: input.booking }
        }
      })
      const toolkit = AiSdk.toolkit({ charge }, {
        charge: { identity: ({ booking }) => booking, context: { tenant: "t-1" } }
      })
      const agent = Agent.make({ toolkit, instructions: "Be kind." })
      const answer = yield* agent.run("Charge b-1.", { id: "run-1" })
      assert.deepStrictEqual(seen, [
        { booking: "b-1", euros: 1 },
        "run-1/turn/1/call/1",
        { tenant: "t-1" },
        false,
        32
      ])
      assert.deepStrictEqual(JSON.parse(JSON.stringify(said)), [
        { role: "user", content: [{ type: "text", text: "Charge b-1." }] }
      ])
      assert.deepStrictEqual(results(answer), ["{\"charged\":\"b-1\"}"])
      assert.strictEqual(only(toolkit).sideEffect, "non_idempotent")
    }).pipe(playing(ScriptedModel.call("charge", { booking: "b-1" }), ScriptedModel.text("Done."))))

  it.effect("the call is not there if the AI SDK runs the tool", () =>
    Effect.sync(() => assert.isUndefined(AiSdk.callOf({ toolCallId: "1", messages: [], context: undefined }))))

  it.effect("what `execute` yields is progress, and the last value is the result", () =>
    Effect.gen(function*() {
      const report = tool({
        description: "Reports",
        inputSchema: z.object({}),
        async *execute() {
          yield { pages: 1 }
          yield { pages: 2 }
        }
      })
      const agent = Agent.make({ toolkit: AiSdk.toolkit({ report }, { report: { sideEffect: "none" } }) })
      const events = yield* agent.stream("Report.").pipe(
        AgentEvent.forClients({ results: true }),
        Stream.runCollect
      )
      const progress = [...events].flatMap((event) => event._tag === "ProgressMade" ? [event.value] : [])
      assert.deepStrictEqual(progress, [{ pages: 1 }, { pages: 2 }])
      const [value] = [...events].flatMap((event) => event._tag === "CallEnded" ? [event.value] : [])
      assert.deepStrictEqual(value, { pages: 2 })
    }).pipe(playing(ScriptedModel.call("report", {}), ScriptedModel.text("Done."))))

  it.effect("a generator that an async function returns does its work, too", () =>
    Effect.gen(function*() {
      const charged: Array<string> = []
      async function* charging(booking: string) {
        yield "charging"
        charged.push(booking)
        yield `${booking} is charged`
      }
      const charge = tool({
        description: "Charges",
        inputSchema: booking,
        execute: async ({ booking }): Promise<unknown> => charging(booking)
      })
      const agent = Agent.make({ toolkit: AiSdk.toolkit({ charge }) })
      assert.deepStrictEqual(results(yield* agent.run("Charge b-1.")), ["\"b-1 is charged\""])
      assert.deepStrictEqual(charged, ["b-1"])
    }).pipe(playing(ScriptedModel.call("charge", { booking: "b-1" }), ScriptedModel.text("Done."))))

  it.live("a generator goes no further once its call is interrupted, and the call is in doubt", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      let steps = 0
      let isClosed = false
      const charge = tool({
        description: "Charges",
        inputSchema: booking,
        execute: async function*() {
          try {
            for (; steps < 1_000; steps++) {
              if (steps === 3) Deferred.doneUnsafe(begun, Effect.void)
              await Effect.runPromise(Effect.sleep(1))
              yield steps
            }
          } finally {
            isClosed = true
          }
        }
      })
      let doubts: ReadonlyArray<CallFacts.Doubt> = []
      const run = Agent.make({ toolkit: AiSdk.toolkit({ charge }) }).run("Charge b-1.", {
        keep: ({ inDoubt }) => Effect.sync(() => doubts = inDoubt)
      })
      const fiber = yield* Effect.forkChild(run)
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(isClosed)
      assert.isBelow(steps, 100)
      assert.deepStrictEqual(doubts.map(({ tool }) => tool), ["charge"])
    }).pipe(playing(ScriptedModel.call("charge", { booking: "b-1" }), ScriptedModel.text("Done."))))

  it.effect("the model reads what `toModelOutput` makes, and files are attached", () =>
    Effect.gen(function*() {
      const chart = tool({
        description: "Draws",
        inputSchema: z.object({ of: z.string() }),
        execute: ({ of }) => ({ of, points: [1, 2, 3] }),
        toModelOutput: ({ input, output }) => ({
          type: "content",
          value: [
            { type: "text", text: `${input.of}: ${output.points.length} points` },
            { type: "file", mediaType: "image/png", data: { type: "data", data: "AQ==" } },
            { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://x.example/a.png") } }
          ]
        })
      })
      const broken = tool({
        description: "Fails to say",
        inputSchema: z.object({}),
        execute: () => 7,
        toModelOutput: () => {
          throw new Error("no words")
        }
      })
      const agent = Agent.make({
        toolkit: AiSdk.toolkit({ chart, broken }, { chart: { sideEffect: "none" }, broken: { sideEffect: "none" } })
      })
      const answer = yield* agent.run("Draw.")
      const [said, unsaid] = results(answer)
      assert.strictEqual(said, "\"a: 3 points\"")
      assert.include(unsaid, "no words for it")
      assert.notInclude(unsaid, "7")
      const files = [...answer.transcript].flatMap((message) => message.role === "tool" ? message.files ?? [] : [])
      assert.deepStrictEqual(files, [
        { mediaType: "image/png", base64: "AQ==" },
        { url: "https://x.example/a.png", mediaType: "image/png" }
      ])
    }).pipe(playing(ScriptedModel.calls(["chart", { of: "a" }], ["broken", {}]), ScriptedModel.text("Done."))))

  it.effect("the model reads the result if `toModelOutput` makes nothing, and a failure that only has a structure", () =>
    Effect.gen(function*() {
      const nothing = tool({
        inputSchema: z.object({}),
        execute: async (): Promise<unknown> => ({ rows: 3 }),
        toModelOutput: () => JSON.parse("{}")
      })
      const failing = tool({
        inputSchema: z.object({}),
        execute: async () => ({ isError: true, structuredContent: { reason: "no funds" } })
      })
      const agent = Agent.make({ toolkit: AiSdk.toolkit({ nothing, failing }) })
      const answer = yield* agent.run("Go.")
      assert.strictEqual(results(answer)[0], "{\"rows\":3}")
      assert.include(results(answer)[1], "no funds")
      assert.deepStrictEqual(CallFacts.inDoubt(answer.facts).map(({ tool }) => tool), ["failing"])
    }).pipe(playing(ScriptedModel.call("nothing", {}), ScriptedModel.call("failing", {}), ScriptedModel.text("Done."))))

  it.effect("`needsApproval` asks before a call runs, and gets the input and the call", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const charge = tool({
        description: "Charges",
        inputSchema: z.object({ euros: z.number() }),
        needsApproval: async ({ euros }, { messages, toolCallId }) => {
          asked.push([euros, toolCallId, messages.length])
          return euros > 10
        },
        execute: ({ euros }) => euros
      })
      const agent = Agent.make({ toolkit: AiSdk.toolkit({ charge }, { charge: { identity: "all" } }) })
      const { suspension } = yield* suspended(agent.run("Charge.", { id: "run-1" }))
      assert.deepStrictEqual(asked, [[5, "run-1/turn/1/call/1", 1], [50, "run-1/turn/1/call/2", 1]])
      const [question] = suspension.questions
      assert.strictEqual(suspension.questions.length, 1)
      const answer = yield* agent.resume(stored(suspension), [Question.approve(question!)])
      assert.deepStrictEqual(results(answer), ["5", "50"])
    }).pipe(
      playing(ScriptedModel.calls(["charge", { euros: 5 }], ["charge", { euros: 50 }]), ScriptedModel.text("Done."))
    ))

  it.effect("`needsApproval` that fails, or answers with nonsense, asks", () =>
    Effect.gen(function*() {
      const needing = (needsApproval: (() => Promise<boolean>) | boolean) =>
        tool({ description: "Charges", inputSchema: booking, needsApproval, execute: () => "charged" })
      const agent = Agent.make({
        toolkit: AiSdk.toolkit({
          always: needing(true),
          failing: needing(() => Promise.reject(new Error("down"))),
          nonsense: needing(async () => "perhaps" as unknown as boolean),
          never: needing(false)
        }, { never: { identity: "all" } })
      })
      const { suspension } = yield* suspended(agent.run("Charge."))
      assert.deepStrictEqual(suspension.questions.map(({ tool }) => tool), ["always", "failing", "nonsense"])
    }).pipe(
      playing(
        ScriptedModel.calls(
          ...(["never", "always", "failing", "nonsense"] as const).map((name) => [name, { booking: "b" }] as const)
        )
      )
    ))

  it.effect("a tool without `execute` is a question for the client", () =>
    Effect.gen(function*() {
      const locate = tool({
        description: "Locates",
        inputSchema: z.object({ exact: z.boolean() }),
        outputSchema: z.object({ city: z.string() })
      })
      const agent = Agent.make({ toolkit: AiSdk.toolkit({ locate }, { locate: { sideEffect: "none" } }) })
      const { suspension } = yield* suspended(agent.run("Where?"))
      const [question] = suspension.questions
      assert.deepInclude(question, { kind: "client", tool: "locate", arguments: "{\"exact\":true}" })
      const answer = yield* agent.resume(suspension, [Question.result(question!, { city: "Oslo" })])
      assert.deepStrictEqual(results(answer), ["{\"city\":\"Oslo\"}"])
    }).pipe(playing(ScriptedModel.call("locate", { exact: true }), ScriptedModel.text("Oslo."))))

  it.effect("policies stand around it, and a policy's failures and needs are in its type", () =>
    Effect.gen(function*() {
      let attempts = 0
      const flaky = tool({
        description: "Fails twice",
        inputSchema: z.object({}),
        execute: async () => {
          if (++attempts < 3) throw Object.assign(new Error("down"), { code: "ECONNREFUSED" })
          return attempts
        }
      })
      const toolkit = AiSdk.toolkit({ flaky }, {
        flaky: { sideEffect: "none", policies: [Policy.retry(Schedule.recurs(3))] }
      })
      assert.strictEqual(yield* only(toolkit).run({}), 3)
    }))

  it.effect("descriptions may be made from a context, and have the examples of the input", () =>
    Effect.sync(() => {
      const find = tool({
        description: ({ context }) => `Finds for ${context.tenant}`,
        inputSchema: booking,
        contextSchema: z.object({ tenant: z.string() }),
        inputExamples: [{ input: { booking: "b-1" } }, { input: { booking: "b-2" } }],
        execute: () => 1
      })
      const { definitions } = AiSdk.toolkit({ find }, { find: { sideEffect: "none", context: { tenant: "t-1" } } })
      assert.strictEqual(
        definitions[0]?.description,
        "Finds for t-1\nExamples: {\"booking\":\"b-1\"} {\"booking\":\"b-2\"}"
      )
      // Its type forbids a promise. A rejection that nobody hears would fail the test run.
      const late = { ...find, description: (async () => Promise.reject(new Error("down"))) as never }
      const { definitions: [definition] } = AiSdk.toolkit({ late }, {
        late: { sideEffect: "none", context: { tenant: "t-1" } }
      })
      assert.strictEqual(definition?.description, "Examples: {\"booking\":\"b-1\"} {\"booking\":\"b-2\"}")
    }))
})

describe("schemas of the AI SDK's tools", () => {
  const schemas = {
    "Zod 4": z.object({ n: z.int() }),
    "Zod mini": zm.object({ n: zm.int() }),
    "Zod 3": z3.object({ n: z3.number().int() }),
    Valibot: toStandardJsonSchema(v.object({ n: v.pipe(v.number(), v.integer()) })),
    ArkType: type({ n: "number.integer" }),
    "a JSON Schema": jsonSchema<{ n: number }>({
      type: "object",
      properties: { n: { type: "integer" } },
      required: ["n"],
      additionalProperties: false
    }),
    "a JSON Schema with a validation": jsonSchema<{ n: number }>({
      type: "object",
      properties: { n: { type: "number" } },
      required: ["n"]
    }, {
      validate: (value) =>
        Number.isInteger(Object(value).n)
          ? { success: true, value: Object(value) }
          : { success: false, error: new Error("n is a whole number") }
    }),
    "a function": () =>
      jsonSchema<{ n: number }>({ type: "object", properties: { n: { type: "integer" } }, required: ["n"] })
  }

  it.effect.each(Object.entries(schemas))(
    "of %s are read, repaired and checked",
    ([, inputSchema]) =>
      Effect.gen(function*() {
        const seen: Array<unknown> = []
        const probe = dynamicTool({
          description: "Probes",
          inputSchema,
          execute: async (input) => void seen.push(input)
        })
        const made = only(AiSdk.toolkit({ probe }, { probe: { sideEffect: "none" } }))
        assert.strictEqual((yield* callOf(made, "{n: \"7\"}"))._tag, "Completed")
        assert.deepStrictEqual(seen, [{ n: 7 }])
        const wrong = yield* callOf(made, "{\"n\": 1.5}")
        assert.strictEqual(wrong._tag === "Failed" && wrong.failure.code, "invalid_arguments")
        assert.strictEqual(seen.length, 1)
      })
  )

  it.effect("an acting tool whose validation may change values needs an identity", () =>
    Effect.sync(() => {
      const charge = tool({ description: "Charges", inputSchema: z3.object({ n: z3.number() }), execute: () => 1 })
      assert.include(whyNotMade(() => AiSdk.toolkit({ charge }))?.message, "needs an 'identity'")
      AiSdk.toolkit({ charge }, { charge: { identity: ({ n }) => n } })
    }))
})

describe("what cannot come in", () => {
  const execute = async () => 1
  it.effect("is refused with a reason that names the tool", () =>
    Effect.sync(() => {
      const named = (name: string, tool: object, options?: object) =>
        whyNotMade(() =>
          AiSdk.toolkit({ [name]: { inputSchema: booking, execute, ...tool } } as never, options as never)
        )
          ?.message ?? "it came in"
      const failing = () => {
        throw new Error("no words")
      }
      const provider = { type: "provider", id: "a.b", args: {} }
      const cases: ReadonlyArray<readonly [tool: object, reason: string]> = [
        [{ inputSchema: z.object({ at: z.map(z.string(), z.string()) }) }, "Map cannot be represented in JSON Schema"],
        [{ inputSchema: jsonSchema(Promise.resolve({ type: "object" as const })) }, "Wait for it"],
        [{ inputSchema: jsonSchema({ type: "array" }) }, "a model can only send an object"],
        [
          { inputSchema: jsonSchema({ type: "object", properties: { a: { $ref: "#/nowhere" } } }) },
          "properties/a/$ref: it leads nowhere"
        ],
        [{ inputSchema: 7 }, "The input schema of 'probe'"],
        [{ ...provider, isProviderExecuted: true }, "AiSdk.layer(model, { providerTools })"],
        [{ ...provider, isProviderExecuted: false }, "is defined by a provider"],
        [{ execute: 7 }, "has an 'execute' that is not a function"],
        [{ contextSchema: booking }, "it needs a 'context'"],
        [{ inputSchema: undefined, parameters: booking }, "has 'parameters'. Since version 5"],
        [{ description: failing }, "no words"],
        [{ inputExamples: [{ input: { n: 1n } }] }, "BigInt"]
      ]
      for (const [tool, reason] of cases) {
        assert.include(named("probe", tool), reason)
        assert.include(named("probe", tool), "'probe'")
      }
      assert.include(named("files.read", {}), "for example to 'files_read'")
      for (const probe of [undefined, null, 7, "charge", execute, []]) {
        assert.include(
          whyNotMade(() => AiSdk.toolkit({ probe } as never))?.message,
          "'probe' is not a tool of the AI SDK"
        )
      }
      assert.include(named("probe", {}, { charge: {} }), "There are options for tools that are not there: charge.")
      assert.include(named("probe", {}, { probe: { retry: 3 } }), "The tool 'probe' has no option 'retry'.")
    }))

  it.effect("all of them are named at once", () =>
    Effect.sync(() => {
      const why = whyNotMade(() =>
        AiSdk.toolkit({
          one: tool({ inputSchema: jsonSchema({ type: "array" }), execute }),
          two: tool({ inputSchema: booking, execute }),
          three: tool({ inputSchema: jsonSchema({ type: "string" }), execute })
        })
      )
      assert.include(why?.message, "'one'")
      assert.include(why?.message, "'three'")
      assert.notInclude(why?.message, "'two'")
    }))
})
