/* Tools of a real MCP server, which the AI SDK's own client reads, as tools of ours. */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@fallible/ai-sdk"
import { Agent, Policy } from "@fallible/core"
import * as Arguments from "@fallible/core/Arguments"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schedule } from "effect"
import { z } from "zod"
import { codes, playing, results } from "../support/approving.ts"
import { callOf, whyNotMade } from "../support/foreignTools.ts"
import { recordedServers } from "../support/mcpSchemas.ts"
import { mcp, type McpOptions, type McpTool, text } from "../support/mcpServer.ts"
import { fittingValues } from "../support/schemaValues.ts"
import { passingBy, untilIdle } from "../support/virtualTime.ts"

const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
const png = { type: "image", data: "AQ==", mimeType: "image/png" } as const

const weather: McpTool = {
  description: "The weather",
  inputSchema: city,
  outputSchema: { type: "object", properties: { celsius: { type: "number" } }, required: ["celsius"] },
  run: ({ city }) => ({ ...text(`Sunny in ${String(city)}`), structuredContent: { celsius: 21 } })
}

/** A tool that charges, and what it has charged. */
const charging = () => {
  const charged: Array<unknown> = []
  const charge: McpTool = {
    description: "Charges a booking",
    inputSchema: { type: "object", properties: { booking: { type: "string" } }, required: ["booking"] },
    run: ({ booking }) => text(`receipt ${charged.push(booking)}`)
  }
  return { charge, charged }
}

const booking = "{\"booking\":\"b-1\"}"

const endOf = (outcome: ToolOutcome.ToolOutcome) => [
  outcome._tag === "Failed" ? outcome.failure.code : outcome._tag,
  outcome.certainty
]

const readOnly = { sideEffect: "none" } as const

describe("results of MCP tools", () => {
  const run = (tool: McpTool) =>
    Effect.gen(function*() {
      const { client } = yield* mcp({ probe: tool })
      const toolkit = AiSdk.toolkit(yield* Effect.promise(() => client.tools()), { probe: readOnly })
      const answer = yield* Agent.make({ toolkit }).run("Go.").pipe(
        playing(ScriptedModel.call("probe", { city: "Oslo" }), ScriptedModel.text("Done."))
      )
      const files = [...answer.transcript].flatMap((message) => message.role === "tool" ? message.files ?? [] : [])
      return { results: results(answer), files }
    })

  it.effect("of text are what the model reads", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* run(weather)).results, ["\"Sunny in Oslo\""])
    }))

  it.effect("with images attach them as files", () =>
    Effect.gen(function*() {
      const mixed = { ...weather, run: () => ({ content: [{ type: "text", text: "A map" } as const, png, png] }) }
      const { files, results } = yield* run(mixed)
      assert.deepStrictEqual(results, ["\"A map\""])
      assert.deepStrictEqual(files, [{ mediaType: "image/png", base64: "AQ==" }, {
        mediaType: "image/png",
        base64: "AQ=="
      }])
    }))

  it.effect("of nothing but an image are not called empty", () =>
    Effect.gen(function*() {
      const { files, results } = yield* run({ ...weather, run: () => ({ content: [png] }) })
      assert.strictEqual(files.length, 1)
      assert.deepStrictEqual(results, ["\"It is attached.\""])
    }))

  it.effect("without a text are told as their structure", () =>
    Effect.gen(function*() {
      const { results } = yield* run({ ...weather, run: () => ({ content: [], structuredContent: { celsius: 21 } }) })
      assert.deepStrictEqual(results, ["{\"celsius\":21}"])
    }))

  it.effect("with a link are told as they are", () =>
    Effect.gen(function*() {
      const link = { type: "resource_link", uri: "file:///a.txt", name: "a" } as const
      const { results } = yield* run({ ...weather, run: () => ({ content: [link] }) })
      assert.deepStrictEqual(results, [JSON.stringify(JSON.stringify(link))])
    }))

  it.effect("that report a failure are failures, which the model reads", () =>
    Effect.gen(function*() {
      const { results } = yield* run({ ...weather, run: () => ({ ...text("No such city: Oslo"), isError: true }) })
      assert.include(results[0], "No such city: Oslo")
      assert.include(results[0], "\"code\"")
    }))

  it.effect("are read again if they were lost, under a policy", () =>
    Effect.gen(function*() {
      const { client, seen } = yield* mcp({ weather }, { faults: ["lost", 503] })
      const toolkit = AiSdk.toolkit(yield* Effect.promise(() => client.tools()), {
        weather: { ...readOnly, policies: [Policy.retry(Schedule.recurs(2))] }
      })
      const outcome = yield* callOf([...toolkit.tools.values()][0]!, "{\"city\":\"Oslo\"}")
      assert.deepStrictEqual([outcome._tag, seen.calls.length], ["Completed", 2])
    }))

  it.effect("have the structure of their schema if it is given", () =>
    Effect.gen(function*() {
      const { client } = yield* mcp({ weather })
      const schemas = {
        weather: { inputSchema: z.object({ city: z.string() }), outputSchema: z.object({ celsius: z.number() }) }
      }
      const definitions = yield* Effect.promise(() => client.listTools())
      const tools = client.toolsFromDefinitions(definitions, { schemas })
      const toolkit = AiSdk.toolkit(tools, { weather: readOnly })
      const [tool] = toolkit.tools.values()
      assert.deepStrictEqual(yield* tool!.run({ city: "Oslo" }), { celsius: 21 })
      const { client: failing } = yield* mcp({ weather: { run: () => ({ ...text("No such city"), isError: true }) } })
      const again = AiSdk.toolkit(failing.toolsFromDefinitions(definitions, { schemas }), { weather: readOnly })
      const failure = yield* Effect.flip([...again.tools.values()][0]!.run({ city: "Oslo" }))
      assert.strictEqual(failure.detail, "No such city")
    }))
})

/** For a client over HTTP: its requests for tokens do not act. */
const acts = { requests: ["POST */mcp"], only: true }

/** Two equal calls of a tool that charges, in two turns. */
const chargingTwice = (options: McpOptions, more: object = {}) =>
  Effect.gen(function*() {
    const { charge, charged } = charging()
    const { client, seen } = yield* mcp({ charge }, options)
    const toolkit = AiSdk.toolkit(yield* Effect.promise(() => client.tools()), {
      charge: { identity: "all", repeats: false, policies: [Policy.retry(Schedule.recurs(3))], ...more }
    })
    const call = ScriptedModel.call("charge", { booking: "b-1" })
    const answer = yield* Agent.make({ toolkit }).run("Charge.").pipe(playing(call, call, ScriptedModel.text("Done.")))
    return { answer, charged, seen, codes: codes(answer) }
  })

describe("an acting MCP tool", () => {
  const ways = {
    "as JSON": {},
    "as events": { isStreaming: true },
    "after discovery": { client: { protocolVersionDiscovery: true } }
  }

  describe.each(Object.entries(ways))("that is answered %s", (_, way) => {
    it.effect("is called once", () =>
      Effect.gen(function*() {
        const { charged, codes } = yield* chargingTwice(way)
        assert.deepStrictEqual([charged, codes], [["b-1"], ["already_done"]])
      }))

    it.effect("is in doubt if its answer is lost, and not repeated", () =>
      Effect.gen(function*() {
        const { charged, codes } = yield* chargingTwice({ ...way, faults: ["lost"] })
        assert.deepStrictEqual([charged, codes], [["b-1"], ["outcome_unknown", "repeated_call"]])
      }))

    it.effect("is retried by its policy if its request never left", () =>
      Effect.gen(function*() {
        const { charged, codes } = yield* chargingTwice({ ...way, faults: ["never sent", "never sent"] })
        assert.deepStrictEqual([charged, codes], [["b-1"], ["already_done"]])
      }))
  })

  const statuses = [
    [503, [], ["outcome_unknown", "repeated_call"]],
    [500, [], ["outcome_unknown", "repeated_call"]],
    // The policy repeats what the server has refused for a moment.
    [429, ["b-1"], ["already_done"]],
    [404, [], ["not_found", "repeated_call"]],
    [400, [], ["rejected", "repeated_call"]]
  ] as const

  it.effect.each(statuses)("whose server answers with %i", ([status, paid, told]) =>
    Effect.gen(function*() {
      const { charged, codes } = yield* chargingTwice({ faults: [status] })
      assert.deepStrictEqual([charged, codes], [paid, told])
    }))

  it.effect("that reports a failure is in doubt, unless such errors are declared as refusals", () =>
    Effect.gen(function*() {
      const run = () => ({ ...text("The card was declined."), isError: true })
      const { client } = yield* mcp({ charge: { ...charging().charge, run } })
      const tools = yield* Effect.promise(() => client.tools())
      const [doubted] = AiSdk.toolkit(tools, { charge: { identity: "all" } }).tools.values()
      const [believed] = AiSdk.toolkit(tools, { charge: { identity: "all", refuses: [Error] } }).tools.values()
      assert.deepStrictEqual(endOf(yield* callOf(doubted!, booking)), ["rejected", "unknown"])
      assert.deepStrictEqual(endOf(yield* callOf(believed!, booking)), ["rejected", "not_executed"])
    }))

  it.effect("whose server answers with an error of its protocol is in doubt", () =>
    Effect.gen(function*() {
      const { charge } = charging()
      const failing = { ...charge, run: () => Promise.reject(new Error("out of order")) }
      const { client } = yield* mcp({ charge: failing })
      const [tool] = AiSdk.toolkit(yield* Effect.promise(() => client.tools()), { charge: { identity: "all" } }).tools
        .values()
      assert.deepStrictEqual(endOf(yield* callOf(tool!, booking)), ["outcome_unknown", "unknown"])
    }))

  it.effect("whose events end before its answer is ended by its timeout, in doubt", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(
        chargingTwice({ faults: ["cut"] }, { policies: [Policy.timeout("10 seconds")] })
      )
      const { charged, codes } = yield* passingBy("1 second", fiber)
      assert.deepStrictEqual([charged, codes], [[], ["outcome_unknown", "repeated_call"]])
    }))

  it.effect("that is slow is aborted at its timeout: its server sees that", () =>
    Effect.gen(function*() {
      const slow = { ...charging().charge, run: () => new Promise<never>(() => {}) }
      const { client, seen } = yield* mcp({ charge: slow })
      const toolkit = AiSdk.toolkit(yield* Effect.promise(() => client.tools()), {
        charge: { identity: "all", policies: [Policy.timeout("10 seconds")] }
      })
      const fiber = yield* Effect.forkChild(callOf([...toolkit.tools.values()][0]!, booking))
      const outcome = yield* passingBy("1 second", fiber)
      yield* untilIdle
      assert.deepStrictEqual([...endOf(outcome), seen.hungUp], ["outcome_unknown", "unknown", 1])
    }))

  it.effect("whose client is closed has done nothing if only its requests act", () =>
    Effect.gen(function*() {
      const { charge, charged } = charging()
      const { client } = yield* mcp({ charge })
      const tools = yield* Effect.promise(() => client.tools())
      const [unsure] = AiSdk.toolkit(tools, { charge: { identity: "all" } }).tools.values()
      const [sure] = AiSdk.toolkit(tools, { charge: { identity: "all", acts } }).tools.values()
      yield* Effect.promise(() => client.close())
      assert.deepStrictEqual(endOf(yield* callOf(unsure!, booking)), ["outcome_unknown", "unknown"])
      assert.deepStrictEqual(endOf(yield* callOf(sure!, booking)), ["failed", "not_executed"])
      assert.deepStrictEqual(charged, [])
    }))
})

describe("an acting MCP tool whose client needs a new token in the call", () => {
  const rows = [
    ["is called once", [], {}, ["b-1"], ["already_done"]],
    ["is in doubt if its answer is lost", ["lost"], { acts }, ["b-1"], ["outcome_unknown", "repeated_call"]],
    ["is in doubt if it never left: the token may be what acted", ["never sent"], {}, [], [
      "outcome_unknown",
      "repeated_call"
    ]],
    // The first request was refused (401), so no policy repeats the call. The model may.
    ["was not done if it never left, and the token does not count", ["never sent"], { acts }, ["b-1"], ["connection"]]
  ] as const

  it.effect.each(rows)("%s", ([, faults, options, paid, told]) =>
    Effect.gen(function*() {
      const { charged, codes, seen } = yield* chargingTwice({ faults, isExpiring: true }, options)
      assert.deepStrictEqual([charged, codes, seen.tokens], [paid, told, 1])
    }))
})

describe("lists of MCP tools", () => {
  it.effect("with names that providers refuse are refused with advice", () =>
    Effect.gen(function*() {
      const { client } = yield* mcp({ "files.read": weather, "ok": weather, "a/b": weather })
      const tools = yield* Effect.promise(() => client.tools())
      const why = whyNotMade(() => AiSdk.toolkit(tools))?.message
      assert.include(why, "got \"files.read\". Rename it, for example to 'files_read'.")
      assert.include(why, "got \"a/b\". Rename it, for example to 'a_b'.")
    }))

  it.effect("with odd schemas come in, and get their input", () =>
    Effect.gen(function*() {
      const odd = {
        none: [{ type: "object" }, {}],
        loose: [{ type: "object", additionalProperties: true }, {}],
        dialect: [{ ...city, $schema: "https://example.org/mine" }, { city: "Oslo" }],
        cycle: [{ type: "object", properties: { a: { $ref: "#" } } }, { a: { a: {} } }],
        pattern: [{ type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } }, { a: "aa" }],
        nullable: [{ type: "object", properties: { a: { type: ["string", "null"], default: null } } }, { a: null }],
        hinted: [{ ...city, "x-order": 1, title: "T", examples: [{ city: "a" }] }, { city: "Oslo" }]
      } as const
      const { client, seen } = yield* mcp(
        Object.fromEntries(
          Object.entries(odd).map(([name, [inputSchema]]) => [name, { inputSchema, run: () => text(name) }])
        )
      )
      const tools = yield* Effect.promise(() => client.tools())
      const toolkit = AiSdk.toolkit(tools, Object.fromEntries(Object.keys(odd).map((name) => [name, readOnly])))
      for (const [name, [, input]] of Object.entries(odd)) {
        const outcome = yield* callOf(toolkit.tools.get(name)!, JSON.stringify(input))
        assert.strictEqual(outcome._tag, "Completed", name)
        assert.strictEqual(seen.calls.at(-1), `${name} ${JSON.stringify(input)}`)
      }
    }))

  it.effect.each(recordedServers().map(({ server, tools }) => [server, tools] as const))(
    "of %s come in, and get what a model writes",
    ([, tools]) =>
      Effect.gen(function*() {
        const { client, seen } = yield* mcp(
          Object.fromEntries(tools.map(({ inputSchema, name }) => [name, { inputSchema, run: () => text("done") }]))
        )
        const theirs = yield* Effect.promise(() => client.tools())
        const options = Object.fromEntries(tools.map(({ name }) => [name, readOnly]))
        for (const tool of AiSdk.toolkit(theirs, options).tools.values()) {
          const [value = {}] = fittingValues(Arguments.jsonSchema(tool.parameters), 1)
          yield* callOf(tool, JSON.stringify(value))
          assert.strictEqual(seen.calls.at(-1), `${tool.name} ${JSON.stringify(value)}`)
        }
      })
  )
})
