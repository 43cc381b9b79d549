import type { CallToolResult, MCPClient } from "@ai-sdk/mcp"
import { AiSdk } from "@fallible/ai-sdk"
import {
  PartialData,
  Policy,
  type SchemaMismatch,
  type SemanticGarbage,
  type Tool,
  type Toolkit,
  ToolUnavailable
} from "@fallible/core"
import { dynamicTool, jsonSchema, tool } from "ai"
import { type } from "arktype"
import { Context, Effect, Schema } from "effect"
import { describe, expect, test } from "tstyche"
import { z } from "zod"
import { z as z3 } from "zod/v3"

class Clinic extends Context.Service<Clinic, { readonly open: boolean }>()("Clinic") {}

interface Trip {
  readonly city: string
  readonly days?: number
}

type Caught = SchemaMismatch | SemanticGarbage | ToolUnavailable

const charge = tool({
  description: "Charges",
  inputSchema: z.object({ booking: z.string(), at: z.string().transform((text) => new Date(text)) }),
  execute: async ({ booking }) => ({ charged: booking })
})

const find = tool({
  description: "Finds",
  inputSchema: z.object({ page: z.number().optional() }),
  execute: () => ({ rooms: ["a"], next: 2 as number | null })
})

declare const client: MCPClient

describe("the tools that AiSdk.toolkit makes", () => {
  test("have the names, the inputs and the results of the AI SDK's", () => {
    expect(AiSdk.toolkit({ charge, find })).type.toBe<
      Toolkit.Toolkit<
        | Tool.Tool<"charge", { booking: string; at: Date }, { charged: string }, Caught>
        | Tool.Tool<"find", { page?: number | undefined }, { rooms: Array<string>; next: number | null }, Caught>
      >
    >()
  })

  const execute = () => 1
  test("have the inputs of each library", () => {
    expect(AiSdk.toolkit({ t: tool({ inputSchema: z3.object({ n: z3.string().transform(Number) }), execute }) }))
      .type.toBe<Toolkit.Toolkit<Tool.Tool<"t", { n: number }, number, Caught>>>()
    expect(AiSdk.toolkit({ t: tool({ inputSchema: jsonSchema<Trip>({ type: "object" }), execute }) }))
      .type.toBe<Toolkit.Toolkit<Tool.Tool<"t", Trip, number, Caught>>>()
    expect(AiSdk.toolkit({ t: tool({ inputSchema: () => jsonSchema<Trip>({ type: "object" }), execute }) }))
      .type.toBe<Toolkit.Toolkit<Tool.Tool<"t", Trip, number, Caught>>>()
    expect(AiSdk.toolkit({ t: tool({ inputSchema: type({ n: "number = 3" }), execute }) }))
      .type.toBe<Toolkit.Toolkit<Tool.Tool<"t", { n: number }, number, Caught>>>()
    const ofEffect = Schema.toStandardSchemaV1(Schema.Struct({ n: Schema.FiniteFromString }))
    expect(AiSdk.toolkit({ t: tool({ inputSchema: ofEffect, execute }) }))
      .type.toBe<Toolkit.Toolkit<Tool.Tool<"t", { readonly n: number }, number, Caught>>>()
  })

  test("have the last value of what is yielded", () => {
    const yielding = tool({
      inputSchema: z.object({}),
      async *execute() {
        yield { done: 1 }
      }
    })
    expect(AiSdk.toolkit({ yielding })).type.toBe<
      Toolkit.Toolkit<Tool.Tool<"yielding", Record<string, never>, { done: number }, Caught>>
    >()
  })

  test("have the result of the schema if the client runs them", () => {
    const locate = tool({ inputSchema: z.object({ exact: z.boolean() }), outputSchema: z.object({ city: z.string() }) })
    expect(AiSdk.toolkit({ locate })).type.toBe<
      Toolkit.Toolkit<Tool.Tool<"locate", { exact: boolean }, { city: string }, Caught>>
    >()
  })

  test("are unknown, and never any, where the AI SDK does not know them", async () => {
    const dynamic = dynamicTool({ inputSchema: z.object({ a: z.string() }), execute: async () => 1 })
    expect(AiSdk.toolkit({ dynamic })).type.toBe<
      Toolkit.Toolkit<Tool.Tool<"dynamic", unknown, unknown, Caught>>
    >()
    expect(AiSdk.toolkit(await client.tools())).type.toBe<
      Toolkit.Toolkit<Tool.Tool<string, unknown, CallToolResult, Caught>>
    >()
    const schemas = { weather: { inputSchema: z.object({ city: z.string() }) } }
    expect(AiSdk.toolkit(await client.tools({ schemas }))).type.toBe<
      Toolkit.Toolkit<Tool.Tool<"weather", { city: string }, CallToolResult, Caught>>
    >()
    const typed = { weather: { ...schemas.weather, outputSchema: z.object({ celsius: z.number() }) } }
    expect(AiSdk.toolkit(await client.tools({ schemas: typed }))).type.toBe<
      Toolkit.Toolkit<Tool.Tool<"weather", { city: string }, { celsius: number }, Caught>>
    >()
  })
})

describe("the options of AiSdk.toolkit", () => {
  test("know the input and the result of their tool", () => {
    AiSdk.toolkit({ charge, find }, {
      charge: {
        identity: (input) => {
          expect(input).type.toBe<{ booking: string; at: Date }>()
          return input.booking
        },
        asOf: (result) => {
          expect(result).type.toBe<{ charged: string }>()
          return undefined
        }
      },
      find: { sideEffect: "none" }
    })
  })

  test("of tools without types know nothing of them", async () => {
    AiSdk.toolkit(await client.tools(), {
      weather: {
        identity: (input) => {
          expect(input).type.toBe<unknown>()
          return input
        }
      }
    })
  })

  test("add what their policies need and fail with", () => {
    const needy = Policy.fallback(() =>
      Clinic.use(() => Effect.fail(new ToolUnavailable({ code: "x", detail: "y", transient: false })))
    )
    expect(AiSdk.toolkit({ charge }, { charge: { policies: [needy] } })).type.toBe<
      Toolkit.Toolkit<Tool.Tool<"charge", { booking: string; at: Date }, { charged: string }, Caught, Clinic>>
    >()
  })

  test("add the failures and needs of several policies", () => {
    const partial = Policy.fallback(() => Effect.fail(new PartialData({ code: "half", data: 1, detail: "half" })))
    const needy = Policy.fallback(() => Clinic.use(({ open }) => Effect.succeed(open)))
    const made = AiSdk.toolkit({ charge }, { charge: { policies: [Policy.timeout("1 second"), partial, needy] } })
    type Made = typeof made extends Toolkit.Toolkit<infer T> ? T : never
    expect<Tool.Requirements<Made>>().type.toBe<Clinic>()
    expect<Tool.Failure<Made>>().type.toBe<Caught | PartialData<number>>()
  })

  test("need nothing for an async check, also in the loop of the AI SDK", () => {
    const toolkit = AiSdk.toolkit({ charge }, {
      charge: {
        policies: [
          Policy.reconcile(async ({ booking }: { readonly booking: string }, { fetch }) => {
            const response = await fetch(`https://bank.example/charges/${booking}`)
            return response.ok ? await response.json() : undefined
          }, { settle: "10 seconds" })
        ]
      }
    })
    expect<Tool.Requirements<typeof toolkit extends Toolkit.Toolkit<infer T> ? T : never>>().type.toBe<never>()
    expect(AiSdk.tools).type.toBeCallableWith(toolkit)
  })

  test("add partial data if results have pages", () => {
    const made = AiSdk.toolkit({ charge, find }, {
      find: { sideEffect: "none", pages: { more: "next", next: "page" } }
    })
    type Found = { rooms: Array<string>; next: number | null }
    expect(made).type.toBe<
      Toolkit.Toolkit<
        | Tool.Tool<"charge", { booking: string; at: Date }, { charged: string }, Caught>
        | Tool.Tool<"find", { page?: number | undefined }, Found, Caught | PartialData<Found>>
      >
    >()
  })

  test("are refused if no tool has their name, or if they are misspelt", () => {
    expect(AiSdk.toolkit).type.toBeCallableWith({ charge }, { charge: { identity: "all" } })
    expect(AiSdk.toolkit).type.not.toBeCallableWith({ charge }, { charges: { identity: "all" } })
    expect(AiSdk.toolkit).type.not.toBeCallableWith({ charge }, { charge: { identity: "all" }, charges: {} })
    expect(AiSdk.toolkit).type.not.toBeCallableWith({ charge }, { charge: { sideEffects: "none" } })
    expect(AiSdk.toolkit).type.not.toBeCallableWith({ charge }, { charge: { identity: "all", sideEffects: "none" } })
    expect(AiSdk.toolkit).type.not.toBeCallableWith({ charge }, { charge: { description: "Other" } })
    expect(AiSdk.toolkit).type.not.toBeCallableWith({ charge }, { charge: { sideEffect: "nothing" } })
    expect(AiSdk.toolkit).type.not.toBeCallableWith({ charge }, {
      charge: { identity: (input: { order: string }) => input }
    })
    expect(AiSdk.toolkit).type.not.toBeCallableWith({ charge }, {
      charge: { pages: { more: "missing", next: "page" } }
    })
  })
})
