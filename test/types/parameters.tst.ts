import { Tool } from "@fallible/core"
import * as Parameters from "@fallible/core/Parameters"
import { toStandardJsonSchema } from "@valibot/to-json-schema"
import { type } from "arktype"
import { Effect, Schema } from "effect"
import { describe, expect, test } from "tstyche"
import * as v from "valibot"
import { z } from "zod"

interface Trip {
  readonly city: string
  readonly days?: number
}

const definition = { description: "", success: Schema.Void, sideEffect: "none" } as const
const json = { type: "object", properties: { city: { type: "string" } } }

describe("the parameters of a handler", () => {
  test("are what a library returns", () => {
    Tool.make("t", { ...definition, parameters: z.object({ n: z.string().transform(Number) }) }, (params) => {
      expect(params).type.toBe<{ n: number }>()
      return Effect.void
    })
    const valibot = toStandardJsonSchema(v.object({ n: v.optional(v.number(), 3) }))
    Tool.make("t", { ...definition, parameters: valibot }, (params) => {
      expect(params).type.toBe<{ n: number }>()
      return Effect.void
    })
    Tool.make("t", { ...definition, parameters: type({ n: "number = 3" }) }, (params) => {
      expect(params).type.toBe<{ n: number }>()
      return Effect.void
    })
  })

  test("are JSON if they come from a JSON Schema, or what its author claims", () => {
    Tool.make("t", { ...definition, parameters: Parameters.fromJsonSchema(json) }, (params) => {
      expect(params).type.toBe<Schema.JsonObject>()
      return Effect.void
    })
    Tool.make("t", { ...definition, parameters: Parameters.fromJsonSchema<Trip>(json) }, (params) => {
      expect(params).type.toBe<Trip>()
      return Effect.void
    })
  })

  test("are what is in a field", () => {
    Tool.make("t", { ...definition, parameters: Parameters.inField("n", Schema.FiniteFromString) }, (n) => {
      expect(n).type.toBe<number>()
      return Effect.void
    })
    Tool.make("t", { ...definition, parameters: Parameters.inField("n", z.array(z.int())) }, (list) => {
      expect(list).type.toBe<Array<number>>()
      return Effect.void
    })
    Tool.make(
      "t",
      { ...definition, parameters: Parameters.inField("n", Parameters.fromJsonSchema<Trip>(json)) },
      (trip) => {
        expect(trip).type.toBe<Trip>()
        return Effect.void
      }
    )
  })
})

describe("the result of a handler", () => {
  test("has the type that a library's schema has", () => {
    const zod = { description: "", sideEffect: "none", success: z.object({ n: z.int() }) } as const
    const tool = Tool.make("t", zod, () => Effect.succeed({ n: 1 }))
    expect(tool.run({})).type.toBe<Effect.Effect<{ n: number }>>()
    expect(Tool.make).type.not.toBeCallableWith("t", zod, () => Effect.succeed({ n: "1" }))
  })
})
