/** A service with idempotency keys, tools that pay through it, and runs that call them. */
import { Agent, SchemaMismatch, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema } from "effect"
import { lost } from "./sequence.ts"

export const Payment = Schema.Struct({ order: Schema.Trim, note: Schema.optionalKey(Schema.String) })
export const byKey = {
  sideEffect: "idempotent_by_key",
  identity: ({ order }: { readonly order: string }) => order
} as const

/** Makes a correct service with idempotency keys: it stores each key with its body, and repeats the answer. */
export const service = (...faults: ReadonlyArray<"acts and drops" | "refuses" | "acts">) => {
  const storedBodies = new Map<string, string>()
  const requests: Array<string> = []
  const remaining = [...faults]
  const keys: Array<string> = []
  const status = (status: number) =>
    new SchemaMismatch({ side: "arguments", code: "rejected", detail: `Status ${status}.`, cause: { status } })
  const post = (key: string, body: object) =>
    Effect.suspend((): Effect.Effect<string, ToolUnavailable | SchemaMismatch> => {
      keys.push(key)
      const text = JSON.stringify(body)
      const fault = remaining.shift() ?? "acts"
      const before = storedBodies.get(key)
      requests.push(before === undefined ? fault : before === text ? "known" : "422")
      if (before !== undefined) return before === text ? Effect.succeed("receipt") : Effect.fail(status(422))
      if (fault === "refuses") return Effect.fail(status(400))
      storedBodies.set(key, text)
      return fault === "acts" ? Effect.succeed("receipt") : Effect.fail(lost)
    })
  return {
    post,
    requests,
    keys,
    get acted() {
      return storedBodies.size
    }
  }
}

export type Service = ReturnType<typeof service>

export const paying = ({ post }: Service, name = "pay") =>
  Tool.make(
    name,
    { description: "Pays", parameters: Payment, success: Schema.String, ...byKey },
    (params) => Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => post(idempotencyKey, params))
  )

/** Makes a tool that sends a mail and loses the answer. It has no idempotency key. */
export const mailing = () => {
  const sent: Array<string> = []
  const mail = Tool.make("mail", { description: "", success: Schema.String }, () =>
    Effect.suspend(() => {
      sent.push("a mail")
      return Effect.fail(
        new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
      )
    }))
  return { mail, sent }
}

export const played = <T extends Tool.Any>(
  tool: T,
  calls: ReadonlyArray<object | string>,
  options: Agent.RunOptions = {},
  journal?: Journal.Journal
) => {
  const script: ScriptedModel.Script = ({ messages }) => {
    const since = messages.slice(messages.findLastIndex(({ role }) => role === "user"))
    const args = calls[since.filter(({ role }) => role === "assistant").length]
    return args === undefined ? ScriptedModel.text("Done.") : ScriptedModel.call(tool.name, args)
  }
  // The model repeats itself on purpose. Only the facts refuse its calls.
  const agent = Agent.make({ toolkit: Toolkit.make(tool), limits: { turns: 20 }, loopGuard: "off" })
  const run = agent.run("Go.", options)
  return Effect.provide(
    journal === undefined ? run : Effect.provideService(run, Journal.current, journal),
    ScriptedModel.layer(script)
  )
}

export const note = (note: string) => ({ order: "7", note })
