/** Payments in doubt: a tool whose first answer is lost, a check, and a scripted model that calls them. */
import { assert } from "@effect/vitest"
import { Agent, Tool, type Toolkit, ToolUnavailable } from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import { ScriptedModel } from "@fallible/testing"
import { type Duration, Effect, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"

export const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true })
export const Payment = Schema.Struct({ order: Schema.String, note: Schema.optionalKey(Schema.String) })

/** A payment tool whose first answer is lost. */
export const paymentTool = (definition: Partial<Tool.Definition<string, typeof Payment.Type>> = {}) => {
  const paid: Array<string> = []
  let number = 0
  const pay = Tool.make(
    "pay",
    { description: "Pays an order", parameters: Payment, success: Schema.String, ...definition },
    ({ order }) =>
      Effect.suspend(() => {
        paid.push(order)
        return ++number === 1 ? Effect.fail(lost) : Effect.succeed("receipt")
      })
  )
  return { paid, pay }
}

export const statusTool = (
  status: () => string,
  settles: Omit<Tool.SettlesOptions<string>, "outcome"> = {},
  definition: Partial<Tool.Definition<string, { readonly order: string }>> = {}
) =>
  Tool.make("payment_status", {
    description: "Whether an order is paid",
    parameters: Schema.Struct({ order: Schema.String }),
    success: Schema.String,
    sideEffect: "none",
    identity: ({ order }) => order,
    settles: {
      outcome: (status) => status === "paid" ? "executed" : status === "open" ? "not_executed" : undefined,
      ...settles
    },
    ...definition
  }, () => Effect.sync(status))

/** A tool that lets time pass. */
export const waitTool = (time: Duration.Input) =>
  Tool.make(
    "wait",
    { description: "", success: Schema.String, sideEffect: "none" },
    () => Effect.as(TestClock.adjust(time), "waited")
  )

export const byOrder = { identity: ({ order }: typeof Payment.Type) => order, check: "payment_status" }

export type Move = readonly [tool: string, args: object]

export const scripted = (moves: ReadonlyArray<Move>) =>
  ScriptedModel.layer([...moves.map(([tool, args]) => ScriptedModel.call(tool, args)), ScriptedModel.text("Done.")])

export const events = <T extends Tool.Any>(toolkit: Toolkit.Toolkit<T>, moves: ReadonlyArray<Move>) =>
  Agent.make({ toolkit, limits: { turns: 20 } }).stream("Go.").pipe(
    Stream.runCollect,
    Effect.map((events) => ({ events, answer: answerIn(events) })),
    Effect.provide(scripted(moves))
  )

const answerIn = (events: ReadonlyArray<AgentEvent.AgentEvent>) => {
  const last = events.at(-1)
  return last?._tag === "RunEnded" ? last.answer : assert.fail("The run has no answer.")
}

export const settledIn = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  events.flatMap((event) => event._tag === "DoubtSettled" ? [[event.about, event.certainty, event.by]] : [])

export const pay = (order: string, note = ""): Move => ["pay", note === "" ? { order } : { order, note }]
export const status = (order: string): Move => ["payment_status", { order }]
