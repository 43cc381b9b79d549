import { type SemanticGarbage, Tool, ToolCall, ToolFailure } from "@fallible/core"
import type * as Certainty from "@fallible/core/Certainty"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import type * as WireRequest from "@fallible/core/WireRequest"
import { Effect, Schema } from "effect"
import { describe, expect, test } from "tstyche"

const definition = { description: "Pays", parameters: Schema.Struct({ order: Schema.String }), success: Schema.String }

class SeatTaken extends Error {
  readonly code = "SEAT_TAKEN"
}

describe("the author's word", () => {
  test("ends an async handler", () => {
    expect<ReturnType<Tool.PromiseCall["refuse"]>>().type.toBe<never>()
    Tool.promise("pay", definition, async (_, { refuse }) => {
      const answer = refuse("The card was declined.", { code: "declined", alternatives: ["a"] })
      expect(answer).type.toBe<never>()
      return answer
    })
  })

  test("is a failure of an Effect", () => {
    expect(ToolCall.refuse("No.")).type.toBe<Effect.Effect<never, SemanticGarbage>>()
    const pay = Tool.make("pay", definition, () => ToolCall.refuse("No."))
    expect<Tool.Failure<typeof pay>>().type.toBe<SemanticGarbage>()
  })

  test("may be a class", () => {
    expect(ToolFailure.from).type.toBeCallableWith(new Error(), { refuses: [SeatTaken] })
    expect(ToolFailure.from).type.not.toBeCallableWith(new Error(), { refuses: ["SeatTaken"] })
    expect(Tool.promise).type.toBeCallableWith("pay", { ...definition, refuses: [SeatTaken] }, async () => "paid")
  })
})

describe("the requests of a handler", () => {
  test("are named by patterns", () => {
    const make = Tool.make<"pay", string, Effect.Effect<string>, { readonly order: string }>
    const handler = () => Effect.succeed("paid")
    expect(make).type.toBeCallableWith("pay", { ...definition, acts: { requests: ["POST /pay"], only: true } }, handler)
    expect(make).type.not.toBeCallableWith("pay", { ...definition, acts: { only: true } }, handler)
  })

  // These tests have no libraries that declare a global `fetch`.
  test("are sent by a plain fetch where the program's libraries declare none", () => {
    expect<ToolCall.Fetch>().type.toBe<ToolCall.PlainFetch>()
    expect<Tool.PromiseCall["fetch"]["withKey"]>().type.toBe<ToolCall.PlainFetch>()
    expect(ToolCall.fetch).type.toBe<Effect.Effect<ToolCall.CallFetch>>()
  })

  test("stand on the outcome", () => {
    expect<ToolOutcome.Failed["doubt"]>().type.toBe<Certainty.Doubt | undefined>()
    expect<ToolOutcome.Failed["wire"]>().type.toBe<ReadonlyArray<WireRequest.WireRequest> | undefined>()
    expect<Tool.Outcome<string, never>["wire"]>().type.toBe<ReadonlyArray<WireRequest.WireRequest> | undefined>()
  })
})
