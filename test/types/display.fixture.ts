/** Variables whose displayed types `display.test.ts` pins: the types as an editor shows them. */
import { Agent, Guard, RetryPolicy, SemanticGarbage, Tool, Toolkit, type ToolUnavailable } from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import type * as CallEvent from "@fallible/core/CallEvent"
import { Context, Effect, Schema, type Stream } from "effect"

class OrdersPage extends Schema.Class<OrdersPage>("OrdersPage")({ orders: Schema.Array(Schema.String) }) {}

class OrdersApi extends Context.Service<OrdersApi, {
  readonly search: (customer: string) => Effect.Effect<string, ToolUnavailable>
}>()("OrdersApi") {}

export const searchOrders = Tool.make("search_orders", {
  description: "Search a customer's orders",
  parameters: Schema.Struct({ customer: Schema.String }),
  success: OrdersPage,
  sideEffect: "none"
}, ({ customer }) =>
  OrdersApi.use((api) => api.search(customer)).pipe(
    Guard.json(OrdersPage),
    Guard.check(({ orders }) =>
      orders.length === 0 ? new SemanticGarbage({ code: "empty_result", detail: "No orders." }) : undefined
    )
  ))

export const resilient = searchOrders.pipe(
  Tool.timeout("5 seconds"),
  Tool.retry(RetryPolicy.transient),
  Tool.fallback(() => Effect.succeed(new OrdersPage({ orders: [] })))
)

export const plain = Tool.make("plain", { description: "", success: Schema.String }, () => Effect.succeed(""))

export const toolkit = Toolkit.make(plain)

const agent = Agent.make({ toolkit: Toolkit.make(resilient) })

export const run = agent.run("Where is my order?")

export const stream = agent.stream("Where is my order?")

export declare const event: Stream.Success<typeof stream>

export declare const callEvent: CallEvent.CallEvent

export declare const ended: Extract<AgentEvent.AgentEvent, { readonly _tag: "CallEnded" }>

export declare const retried: Extract<AgentEvent.AgentEvent, { readonly _tag: "FailureHandled" }>
