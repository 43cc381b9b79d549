import {
  Agent,
  type AgentFailure,
  Dispatch,
  SemanticGarbage,
  Tool,
  type ToolFailure,
  Toolkit,
  type ToolUnavailable
} from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as CallFacts from "@fallible/core/CallFacts"
import type * as Journal from "@fallible/core/Journal"
import type * as SideEffect from "@fallible/core/SideEffect"
import { ActsOnce, type FakeService } from "@fallible/testing"
import { Context, Effect, type Result, Schema } from "effect"
import { describe, expect, test } from "tstyche"

class Shop extends Context.Service<Shop, { readonly name: string }>()("Shop") {}

const definition = {
  description: "Pays",
  parameters: Schema.Struct({ order: Schema.String, note: Schema.optionalKey(Schema.String) }),
  success: Schema.String
}

const pay = Tool.make("pay", {
  ...definition,
  sideEffect: "idempotent_by_key",
  identity: ({ order }) => order,
  repeats: false,
  failureLimit: 5
}, ({ order }) => Effect.succeed(order))

describe("a tool's identity", () => {
  test("is a function of the decoded parameters, and does not change the tool's type", () => {
    Tool.make("pay", {
      ...definition,
      identity: (params) => {
        expect(params).type.toBe<{ readonly order: string; readonly note?: string }>()
        return params.order
      }
    }, () => Effect.succeed(""))
    expect<Tool.Failure<typeof pay>>().type.toBe<never>()
    expect(pay).type.toBeAssignableTo<Tool.Any>()
    expect(pay.pipe(Tool.timeout("1 second"))).type.toBe<
      Tool.Tool<"pay", { readonly order: string; readonly note?: string }, string, ToolUnavailable>
    >()
  })

  test("may be all arguments", () => {
    expect(Tool.make).type.toBeCallableWith(
      "pay",
      { ...definition, identity: "all" as const },
      () => Effect.succeed("")
    )
    expect(Tool.make).type.not.toBeCallableWith("pay", { ...definition, identity: "order" }, () => Effect.succeed(""))
  })

  test("may come with a word on whether its calls run together", () => {
    expect(Tool.make).type.toBeCallableWith("pay", { ...definition, concurrent: true }, () => Effect.succeed(""))
    expect(Tool.make).type.not.toBeCallableWith("pay", { ...definition, concurrent: "yes" }, () => Effect.succeed(""))
    expect(pay.concurrent).type.toBe<boolean | undefined>()
  })

  test("does not compile with an unknown field or side effect", () => {
    expect(Tool.make).type.not.toBeCallableWith(
      "pay",
      { ...definition, identity: ({ amount }: { readonly amount: number }) => amount },
      () => Effect.succeed("")
    )
    expect(Tool.make).type.not.toBeCallableWith(
      "pay",
      { ...definition, sideEffect: "by_key" },
      () => Effect.succeed("")
    )
  })

  test("is allowed for a tool that is idempotent by key", () => {
    expect<SideEffect.SideEffect>().type.toBe<"none" | "idempotent" | "idempotent_by_key" | "non_idempotent">()
  })
})

describe("facts", () => {
  const agent = Agent.make({ toolkit: Toolkit.make(pay) })

  test("come from an answer or a failure, and go into a run", () => {
    expect<Answer.Answer["facts"]>().type.toBe<CallFacts.CallFacts>()
    expect<AgentFailure.AgentFailure["facts"]>().type.toBe<CallFacts.CallFacts>()
    expect(agent.run).type.toBeCallableWith("?", { scope: "order-7", facts: CallFacts.empty, id: "job-1" })
    expect(agent.run).type.not.toBeCallableWith("?", { facts: [] })
  })

  test("admit a call in a custom loop", () => {
    expect(Dispatch.call).type.toBeCallableWith(Toolkit.make(pay), { id: "1", name: "pay" }, { facts: CallFacts.empty })
  })
})

describe("a journal", () => {
  test("may run the substitute of a lost step, with the requirements of the step", () => {
    const journal: Journal.Journal = { step: (step, effect) => step.lost ?? effect }
    expect(journal).type.toBe<Journal.Journal>()
    expect<Journal.Step<string, never, Shop>["lost"]>().type.toBe<Effect.Effect<string, never, Shop> | undefined>()
  })
})

describe("ActsOnce.check", () => {
  const tool = (service: FakeService.FakeService) =>
    Tool.make(
      "pay",
      definition,
      ({ order }) => Effect.flatMap(Shop, () => Effect.as(Effect.orDie(service.act({ body: order })), order))
    )

  test("has the requirements of the tool", () => {
    expect(ActsOnce.check({ tool, arguments: { order: "7" } })).type.toBe<
      Effect.Effect<
        ActsOnce.Checked,
        ActsOnce.ActedTwice | ActsOnce.ToldWrongly | ActsOnce.NeverSucceeded | ActsOnce.NeverEnded,
        Shop
      >
    >()
    expect(ActsOnce.check).type.not.toBeCallableWith({ tool })
  })

  test("does not expose the failures of a tool", () => {
    const failing = () =>
      Tool.make("pay", definition, () => Effect.fail(new SemanticGarbage({ code: "c", detail: "d" })))
    expect<ToolFailure.ToolFailure>().type.toBeAssignableFrom<Tool.Failure<ReturnType<typeof failing>>>()
    expect(ActsOnce.check({ tool: failing, arguments: {} })).type.toBe<
      Effect.Effect<
        ActsOnce.Checked,
        ActsOnce.ActedTwice | ActsOnce.ToldWrongly | ActsOnce.NeverSucceeded | ActsOnce.NeverEnded
      >
    >()
  })
})

describe("what a check says about a call in doubt", () => {
  const definition = {
    description: "",
    parameters: Schema.Struct({ order: Schema.String }),
    success: Schema.Struct({ paid: Schema.Boolean }),
    sideEffect: "none"
  } as const
  const answer = () => Effect.succeed({ paid: true })

  test("is read from its own result, and is one of two words, or nothing", () => {
    expect(Tool.make).type.toBeCallableWith("status", {
      ...definition,
      settles: { outcome: ({ paid }: { readonly paid: boolean }) => paid ? "executed" : "not_executed", final: true }
    }, answer)
    expect(Tool.make).type.toBeCallableWith("status", { ...definition, settles: { outcome: () => undefined } }, answer)
    expect(Tool.make).type.not.toBeCallableWith(
      "status",
      { ...definition, settles: { outcome: () => "unknown" } },
      answer
    )
    expect(Tool.make).type.not.toBeCallableWith(
      "status",
      { ...definition, settles: { outcome: (text: string) => text === "" ? "executed" : undefined } },
      answer
    )
  })

  test("is settled by a result, which may say that there is no doubt", () => {
    expect(CallFacts.settle(CallFacts.empty, "id", { certainty: "executed", by: "Ada" })).type.toBe<
      Result.Result<CallFacts.CallFacts, CallFacts.NotInDoubt>
    >()
    expect(CallFacts.settle).type.not.toBeCallableWith(CallFacts.empty, "id", { certainty: "unknown", by: "Ada" })
  })
})
