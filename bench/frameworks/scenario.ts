/** What a scenario is, and scenarios that are alike. */
import type * as FakeModelServer from "../../packages/testing/src/FakeModelServer.ts"
import type { Behaviour, World } from "../../test/support/plainTools.ts"
import type { Goal, Manner } from "./model.ts"
import * as Tools from "./tools.ts"

export interface Scenario {
  readonly name: string
  readonly service?: (request: number) => Behaviour
  readonly tools: (world: World) => Tools.PlainTool | ReadonlyArray<Tools.PlainTool>
  /** What the model is after, or how it plays. */
  readonly goal: Goal | { readonly play: (manner: Manner) => FakeModelServer.Script; readonly wanted: RegExp }
  /** The cost of the best case, as "replies of the model/executions of tools". */
  readonly cost: string
  /** The side effects in the end, in any order. Default: none. */
  readonly done?: ReadonlyArray<string>
  /** What the user says, one after the other. Default: one question. */
  readonly asks?: ReadonlyArray<string>
}

export const aPrice = /"price":\s*42/
const isPaid = /^(\{"value":\s*)?"?paid\b/
export const order = { order: "o-7" }

export const prices = (name: string, service: (request: number) => Behaviour, executions: number): Scenario => ({
  name,
  service,
  tools: Tools.price,
  goal: { first: ["get_price"], wanted: aPrice },
  cost: `2/${executions}`
})

/** A lookup that recovers after some failures. */
export const recovers = (name: string, failures: number, error: () => unknown): Scenario => ({
  name,
  tools: Tools.lookup((attempt) => attempt <= failures ? error() : undefined),
  goal: { first: ["look_up"], wanted: /\bfound\b/ },
  cost: `2/${failures + 1}`
})

/** A lookup that always fails, beside a tool that works. */
export const elsewhere = (name: string, error: () => unknown, cost = "3/2"): Scenario => ({
  name,
  tools: (world) => [Tools.lookup(error)(world), Tools.backup(world)],
  goal: { first: ["look_up"], wanted: /found elsewhere/, other: ["look_up_elsewhere"] },
  cost
})

/** A lookup that fails for good. The model can only say so. */
export const hopeless = (name: string, error: () => unknown, cost = "2/1"): Scenario => ({
  name,
  tools: Tools.lookup(error),
  goal: { first: ["look_up"] },
  cost
})

/** Room A1 cannot be booked. */
export const booked = (name: string, error: () => unknown, other?: Goal["other"]): Scenario => ({
  name,
  tools: Tools.booking(error),
  goal: { first: ["book_room", { room: "A1" }], wanted: /B2 is booked/, ...(other === undefined ? {} : { other }) },
  cost: "3/2",
  done: ["booked B2"]
})
export const b2 = ["book_room", { room: "B2" }] as const

/** A payment of an order, which is paid once in the end. */
export const paidOnce = (
  name: string,
  tools: Scenario["tools"],
  service?: Scenario["service"],
  cost = "3/2"
): Scenario => ({
  name,
  ...(service === undefined ? {} : { service }),
  tools,
  goal: { first: ["pay", order], wanted: isPaid, other: ["payment_status", order] },
  cost,
  done: ["paid o-7"]
})
