/** The data of the example: invented customers and their orders. */
import * as Schema from "effect/Schema"

export const Order = Schema.Struct({
  id: Schema.String,
  customer: Schema.String,
  item: Schema.String,
  status: Schema.Literals(["open", "sent", "returned"]),
  cents: Schema.Int
})
export interface Order extends Schema.Schema.Type<typeof Order> {}

/** One page of a customer's orders, as the order service answers. */
export const OrdersPage = Schema.Struct({
  orders: Schema.Array(Order),
  total: Schema.Int,
  page: Schema.Int,
  has_more: Schema.Boolean
})
export interface OrdersPage extends Schema.Schema.Type<typeof OrdersPage> {}

/** The typed answer: what a customer has spent. */
export const Spending = Schema.Struct({
  customer: Schema.String,
  orders: Schema.Int,
  open: Schema.Int,
  total: Schema.Finite
})
export interface Spending extends Schema.Schema.Type<typeof Spending> {}

export const Customer = Schema.Struct({ id: Schema.String, name: Schema.String })
export interface Customer extends Schema.Schema.Type<typeof Customer> {}

export const customers: ReadonlyArray<Customer> = [
  { id: "c-17", name: "Ada Rowe" },
  { id: "c-23", name: "Ben Okoro" },
  { id: "c-42", name: "Cleo Marsh" }
]

const items = ["notebook", "fountain pen", "desk lamp", "paper, 500 sheets"]
const statuses = ["sent", "sent", "open", "returned"] as const

const ordersOf = (customer: string, count: number): ReadonlyArray<Order> =>
  Array.from({ length: count }, (_, index) => ({
    id: `o-${1000 + index}`,
    customer,
    item: items[index % items.length]!,
    status: statuses[index % statuses.length]!,
    cents: 250 + index * 25
  }))

export const orders: ReadonlyArray<Order> = [...ordersOf("c-17", 64), ...ordersOf("c-23", 3)]
