import { Agent, type AgentFailure, type Model, Tool, Toolkit } from "@fallible/core"
import * as Approver from "@fallible/core/Approver"
import * as Claims from "@fallible/core/Claims"
import type * as Question from "@fallible/core/Question"
import { Context, Effect, type Layer, Schema, type Stream } from "effect"
import { describe, expect, it } from "tstyche"

class Limits extends Context.Service<Limits, { readonly of: (to: string) => number }>()("Limits") {}
class Names extends Context.Service<Names, { readonly of: (to: string) => string }>()("Names") {}

const pay = Tool.make("pay", {
  description: "Pays",
  parameters: Schema.Struct({ to: Schema.String, amount: Schema.Finite }),
  success: Schema.String
}, () => Effect.succeed(""))
const note = Tool.make("note", {
  description: "Notes",
  parameters: Schema.Struct({ text: Schema.String }),
  success: Schema.String
}, () => Effect.succeed(""))
const toolkit = Toolkit.make(pay, note)

describe("Tool.approve", () => {
  it("keeps the tool's type", () => {
    expect(pay.pipe(Tool.approve())).type.toBe<typeof pay>()
    expect(Tool.approve(pay)).type.toBe<typeof pay>()
    expect(Tool.approve(pay, () => true, { within: "1 hour" })).type.toBe<typeof pay>()
  })

  it("gives the predicate and the preview the tool's parameters, and needs their services", () => {
    const approved = pay.pipe(
      Tool.approve(({ amount, to }) => Limits.useSync((limits) => amount > limits.of(to)), {
        preview: ({ to }) => Names.useSync((names) => names.of(to))
      })
    )
    expect<Tool.Requirements<typeof approved>>().type.toBe<Limits | Names>()
    expect(pay.pipe).type.not.toBeCallableWith(Tool.approve(({ text }: { readonly text: string }) => text === ""))
    expect(Tool.approve).type.not.toBeCallableWith(pay, () => "yes")
    expect(Tool.approve).type.not.toBeCallableWith(pay, undefined, { preview: () => 7 })
  })
})

describe("the approvals of an agent", () => {
  it("see the parameters of their tools, and need the services of all", () => {
    const agent = Agent.make({
      toolkit,
      approvals: {
        pay: {
          when: ({ amount, to }) => Limits.useSync((limits) => amount > limits.of(to)),
          preview: ({ to }) => to
        },
        note: ({ text }) => Names.useSync((names) => names.of(text) === ""),
        "*": true
      }
    })
    expect(agent).type.toBe<Agent.Agent<typeof pay | typeof note, Limits | Names>>()
    expect(Agent.make({ toolkit, approvals: { "*": true, note: false } })).type.toBe<
      Agent.Agent<typeof pay | typeof note>
    >()
    expect(Agent.make({ toolkit })).type.toBe<Agent.Agent<typeof pay | typeof note>>()
  })

  it("have the names of the toolkit", () => {
    expect(Agent.make).type.not.toBeCallableWith({ toolkit, approvals: { refund: true } })
    expect(Agent.make).type.not.toBeCallableWith({ toolkit, approvals: { pay: true, refund: true } })
    expect(Agent.make).type.not.toBeCallableWith({ toolkit, approvals: { pay: 7 } })
    expect(Agent.make).type.not.toBeCallableWith({
      toolkit,
      approvals: { pay: ({ text }: { readonly text: string }) => text === "" }
    })
  })
})

const agent = Agent.make({ toolkit })
declare const suspension: AgentFailure.Suspension
declare const question: Question.Question

describe("a run that waits", () => {
  it("takes a text or replies", () => {
    expect(agent.resume).type.toBeCallableWith(suspension, "yes")
    expect(agent.resume).type.toBeCallableWith(suspension, [{ id: question.id, digest: "", approved: true, by: "Ada" }])
    expect(agent.resume).type.toBeCallableWith(suspension, [{ id: question.id, reply: "four" }])
    expect(agent.resume).type.not.toBeCallableWith(suspension, true)
    expect(agent.resume).type.not.toBeCallableWith(suspension, [{ id: question.id, approved: true }])
    expect(agent.resume).type.not.toBeCallableWith(suspension, [{ id: question.id, digest: "", approved: "yes" }])
  })

  it("is checked without services", () => {
    expect(agent.check(suspension)).type.toBe<Effect.Effect<void, AgentFailure.RunRefused>>()
  })

  it("is a value of an outcome, and no failure of a stream", () => {
    expect(Agent.outcome(agent.run("?"))).type.toBe<
      Effect.Effect<Agent.Outcome, AgentFailure.Failed, Model.Model>
    >()
    expect<Stream.Error<ReturnType<typeof agent.stream>>>().type.toBe<AgentFailure.Failed>()
    expect<Extract<AgentFailure.Failed, AgentFailure.RunSuspended | AgentFailure.RunPostponed>>().type.toBe<never>()
  })
})

describe("services for runs that wait", () => {
  it("need what they are made of, and are optional for the run", () => {
    expect(Claims.layerMemory).type.toBe<Layer.Layer<Claims.Claims>>()
    expect(Approver.layer(() => Names.useSync(() => []))).type.toBe<Layer.Layer<Approver.Approver, never, Names>>()
    expect<Effect.Services<ReturnType<typeof agent.run>>>().type.toBe<Model.Model>()
  })
})
