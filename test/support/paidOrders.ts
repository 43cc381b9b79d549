/** Payments that end as the test asks, and runs whose model calls for them. */
import {
  Agent,
  PartialData,
  SemanticGarbage,
  Tool,
  ToolCall,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import type * as SideEffect from "@fallible/core/SideEffect"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema } from "effect"

export const busy = new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" })
export const declined = new SemanticGarbage({ code: "declined", detail: "The card was declined." })
export const more = new PartialData({ code: "more_pages", detail: "1 of 2.", data: "paid" })

type Failure = ToolFailure.ToolFailure<string>

/** How a payment ends. With a `status`, it fails after a request that was seen to be answered so. */
export type End = "paid" | Failure | { readonly status: number; readonly failure: Failure }

export const Payment = Schema.Struct({
  order: Schema.String,
  amount: Schema.Finite.pipe(Schema.withDecodingDefaultKey(Effect.succeed(5))),
  note: Schema.optionalKey(Schema.String)
})

export type Options =
  & Partial<Pick<Tool.Definition<string, typeof Payment.Type>, "identity" | "repeats" | "joins" | "failureLimit">>
  & {
    readonly sideEffect?: SideEffect.SideEffect
  }

/** Makes a payment tool that ends with each of `ends` in turn, then succeeds. Records its keys and arguments. */
export const payments = (ends: ReadonlyArray<End>, options: Options = {}) => {
  const keys: Array<string> = []
  const sent: Array<typeof Payment.Type> = []
  const remaining = [...ends]
  const pay = Tool.make(
    "pay",
    { description: "Pays an order", parameters: Payment, success: Schema.String, identity: "all", ...options },
    (params) =>
      Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => {
        keys.push(idempotencyKey)
        sent.push(params)
        const end = remaining.shift() ?? "paid"
        if (end === "paid") return Effect.succeed(end)
        if (!("status" in end)) return Effect.fail(end)
        const { failure, status } = end
        return Effect.andThen(
          ToolCall.noteRequest({ method: "POST", url: "https://bank.example/pay", status }),
          Effect.fail(failure)
        )
      })
  )
  return { keys, sent, pay }
}

/** Runs an agent whose model makes these calls, one or several per turn. */
export const playing = (
  tool: Tool.Any,
  calls: ReadonlyArray<string | object | ReadonlyArray<object>>,
  options: Agent.RunOptions = {}
) => {
  const moves = calls.map((args) =>
    Array.isArray(args)
      ? ScriptedModel.calls(...args.map((args: object): [string, object] => [tool.name, args]))
      : ScriptedModel.call(tool.name, args)
  )
  const agent = Agent.make({ toolkit: Toolkit.make(asNeedingNothing(tool)), limits: { turns: 30 } })
  return Effect.provide(agent.run("Go.", options), ScriptedModel.layer([...moves, ScriptedModel.text("Done.")]))
}

// Valid because the tools of these tests need no services.
export const asNeedingNothing = (tool: Tool.Any) => tool as Tool.Tool<string, object, unknown, ToolUnavailable>

export const textsOf = ({ transcript }: Answer.Answer) =>
  Array.from(transcript).flatMap((message) => message.role === "tool" ? [message.text] : [])

export const order = { order: "7" }
