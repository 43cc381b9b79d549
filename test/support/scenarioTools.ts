/** Tools that fail as the scenarios ask, and count their executions. */
import { RetryPolicy, Tool, ToolCall, ToolUnavailable } from "@fallible/core"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as ToolHealth from "@fallible/core/ToolHealth"
import { ScriptedModel } from "@fallible/testing"
import type * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Layer, Schema } from "effect"
import * as Persistence from "effect/persistence"
import { heard } from "./plainTools.ts"

export const weather = (ran: Effect.Effect<void>) =>
  Tool.make("get_weather", {
    description: "The weather of a city",
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.Struct({ celsius: Schema.Finite }),
    sideEffect: "none"
  }, () => Effect.as(ran, { celsius: 18 }))

export const transfer = (ran: Effect.Effect<void>) =>
  Tool.make("transfer", {
    description: "Sends money, and charges a fee",
    parameters: Schema.Struct({ to: Schema.String, amount: Schema.Finite }),
    success: Schema.Struct({ charged: Schema.Finite })
  }, ({ amount }) => Effect.as(ran, { charged: amount + 1.5 }))

export const refused = new ToolUnavailable({ code: "connection", detail: "Connection refused.", transient: true })
export const reset = new ToolUnavailable({ code: "connection", detail: "Connection reset.", transient: true })

export const source =
  (handler: (attempt: number) => Effect.Effect<string, ToolUnavailable>) => (ran: Effect.Effect<void>) =>
    Tool.make(
      "get_quote",
      { description: "A quote", success: Schema.String, sideEffect: "none" },
      () => Effect.flatMap(ToolCall.current, ({ attempt }) => Effect.andThen(ran, handler(attempt)))
    )

export const quoteThenTell: FakeModelServer.Script = (request, index) =>
  index === 0 ? ScriptedModel.call("get_quote") : ScriptedModel.text(heard(request))

/** Makes a tool that always fails behind a breaker, and a mirror that answers. */
export const quotes = (ran: Effect.Effect<void>) => {
  const definition = {
    description: "A quote",
    parameters: Schema.Struct({ symbol: Schema.String }),
    success: Schema.String,
    sideEffect: "none"
  } as const
  return [
    Tool.make(
      "get_quote",
      { ...definition, instead: ["get_quote_mirror"] },
      () => Effect.andThen(ran, Effect.fail(refused))
    )
      .pipe(Tool.retry(RetryPolicy.transient), CircuitBreaker.protect()),
    Tool.make("get_quote_mirror", definition, ({ symbol }) => Effect.as(ran, `${symbol} 42.10`))
  ]
}

export const breaking = Effect.provide(
  Persistence.CircuitBreaker.layer({
    tripPolicy: Persistence.CircuitBreaker.consecutive(1),
    openDuration: "30 seconds"
  }).pipe(Layer.provide(Persistence.CircuitBreaker.layerStoreMemory()), Layer.merge(ToolHealth.layer))
)

/** Returns the tool that a failure's text recommends instead. */
export const instead = (text: string) => /Call (\w+) instead/.exec(text)?.[1]

export const clock = (ran: Effect.Effect<void>) =>
  Tool.make(
    "now",
    { description: "The time", success: Schema.String, sideEffect: "none" },
    () => Effect.as(ran, "12:00")
  )
