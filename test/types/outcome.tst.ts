import { type SemanticGarbage, Tool } from "@fallible/core"
import type * as Certainty from "@fallible/core/Certainty"
import { Context, type Effect, type Exit, Schema } from "effect"
import { describe, expect, test } from "tstyche"

class Bank extends Context.Service<Bank, { readonly pay: Effect.Effect<string, SemanticGarbage> }>()("Bank") {}

const pay = Tool.make("pay", {
  description: "",
  parameters: Schema.Struct({ order: Schema.String }),
  success: Schema.String
}, () => Bank.use(({ pay }) => pay))

describe("the outcome of a run", () => {
  test("contains the end of the run, never fails, and has the requirements of the tool", () => {
    const outcome = Tool.outcome(pay, { order: "7" })
    expect(outcome).type.toBe<Effect.Effect<Tool.Outcome<string, SemanticGarbage>, never, Bank>>()
    expect(pay.pipe(Tool.outcome({ order: "7" }))).type.toBe<typeof outcome>()
    expect<Tool.Outcome<string, SemanticGarbage>["exit"]>().type.toBe<Exit.Exit<string, SemanticGarbage>>()
    expect<Tool.Outcome<string, SemanticGarbage>["certainty"]>().type.toBe<Certainty.Certainty>()
  })

  test("accepts the tool's own parameters", () => {
    expect(Tool.outcome).type.not.toBeCallableWith(pay, { order: 7 })
    expect(Tool.outcome).type.not.toBeCallableWith(pay, {})
  })
})
