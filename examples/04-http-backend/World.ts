/** The data of the example: the invented orders and parcels of a small shop. */
import * as Schema from "effect/Schema"

export const Order = Schema.Struct({
  id: Schema.String,
  item: Schema.String,
  cents: Schema.Int,
  parcel: Schema.String,
  status: Schema.Literals(["paid", "refunded"])
})
export interface Order extends Schema.Schema.Type<typeof Order> {}

export const Parcel = Schema.Struct({ id: Schema.String, place: Schema.String, due: Schema.String })
export interface Parcel extends Schema.Schema.Type<typeof Parcel> {}

/** What the refund of an order would pay: the whole price, or 0 if it is refunded already. */
export const Quote = Schema.Struct({ order: Schema.String, item: Schema.String, cents: Schema.Int })
export interface Quote extends Schema.Schema.Type<typeof Quote> {}

export const Refund = Schema.Struct({ order: Schema.String, cents: Schema.Int, receipt: Schema.String })
export interface Refund extends Schema.Schema.Type<typeof Refund> {}

const items = [["office chair", 24_900], ["fountain pen", 3900], ["desk lamp", 6400], ["notebook", 450]] as const
const places = ["in the warehouse", "on its way to Leeds", "out for delivery"]

const numbers = Array.from({ length: 1000 }, (_, index) => 1000 + index)

/** Orders o-1000 to o-1999. Every fourth one is an expensive chair. */
export const orders: ReadonlyMap<string, Order> = new Map(numbers.map((number) => {
  const [item, cents] = items[number % items.length]!
  return [`o-${number}`, { id: `o-${number}`, item, cents, parcel: `p-${number}`, status: "paid" }]
}))

export const parcels: ReadonlyMap<string, Parcel> = new Map(numbers.map((number) => [
  `p-${number}`,
  { id: `p-${number}`, place: places[number % places.length]!, due: "Friday" }
]))

/** Writes an amount for people: `24900` is "249.00". */
export const price = (cents: number): string => (cents / 100).toFixed(2)
