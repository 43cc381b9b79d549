/** A search for orders whose definition has a contract about its results, and the message that a model gets. */
import { Dispatch, Tool, type ToolFailure, Toolkit } from "@fallible/core"
import * as Rendering from "@fallible/core/Rendering"
import { Effect, Schema } from "effect"

export const Orders = Schema.Struct({
  orders: Schema.Array(Schema.String),
  total: Schema.Int,
  more: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.Boolean, Schema.String, Schema.Finite]))),
  at: Schema.optionalKey(Schema.String)
})
export type Orders = typeof Orders.Type

const parameters = Schema.Struct({
  name: Schema.String,
  page: Schema.optionalKey(Schema.Int),
  cursor: Schema.optionalKey(Schema.String),
  limit: Schema.optionalKey(Schema.Int)
})
export type Params = typeof parameters.Type

export const ada: Params = { name: "ada" }
export const none: Orders = { orders: [], total: 0 }
export const one: Orders = { orders: ["7"], total: 1 }

export const base = { description: "Orders", parameters, success: Orders, sideEffect: "none" } as const

/** Makes a tool that gives the answer and declares the contract. */
export const saying = (words: Tool.Contract<Orders, Params>, answer: Orders | ((params: Params) => Orders)) =>
  Tool.make(
    "search_orders",
    { ...base, ...words },
    (params) => Effect.succeed(typeof answer === "function" ? answer(params) : answer)
  )

export const failureOf = <A, E extends ToolFailure.ToolFailure>(run: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(run), (failure): Readonly<Record<string, unknown>> => ({ ...failure }))

export const call = (args: object = ada) => ({ id: "1", name: "search_orders", arguments: JSON.stringify(args) })

export const outcomeOf = (tool: Tool.Any, args?: object) =>
  Dispatch.call(Toolkit.make(tool as Tool.Tool<string, Params, Orders>), call(args))

export const told = (tool: Tool.Any, args?: object) =>
  Effect.map(outcomeOf(tool, args), (outcome) => JSON.parse(Rendering.json(outcome, call())))
