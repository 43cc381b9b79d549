/**
 * A stand-in for a language model, behind the same `Model` service. It looks up the orders that the question names, and
 * refunds or tracks them if the question says so. Of an order for which the question names an amount, it refunds only that.
 * Without an order in the question, it takes the last one of the conversation. It reads what the tools told it, and writes its
 * answer word by word.
 */
import { Model, type Transcript } from "@fallible/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as ToolMessages from "../shared/ToolMessages.ts"
import { price } from "./World.ts"

export const notice = "A stand-in plays the model: a small planner in this process. No language model is asked."

/** @param pace how long the model takes for a word; default: no time */
export const paced = (pace: Duration.Input = 0): Layer.Layer<Model.Model> =>
  Layer.succeed(Model.Model, {
    respond: ({ transcript }) => Effect.sync(() => reply({ messages: Array.from(transcript) })),
    stream: ({ transcript }) =>
      Stream.unwrap(Effect.sync(() => {
        const written = reply({ messages: Array.from(transcript) })
        const words = Stream.fromIterable(written.text.split(/(?<= )/)).pipe(
          Stream.filter((word) => word !== ""),
          Stream.map((text) => ({ _tag: "TextDelta" as const, text })),
          Duration.isZero(Duration.fromInputUnsafe(pace)) ? (words) => words : Stream.schedule(Schedule.spaced(pace))
        )
        return Stream.concat(words, Stream.succeed({ _tag: "Replied" as const, reply: written }))
      }))
  })

export const layer: Layer.Layer<Model.Model> = paced("25 millis")

/** Returns the model's next message. */
export const reply = ({ messages }: { readonly messages: ReadonlyArray<Transcript.Message> }): Model.Reply => {
  const start = messages.findLastIndex(({ role }) => role === "user")
  const asked = messages.slice(0, start + 1).flatMap((message) => message.role === "user" ? [message.text] : [])
  const question = asked.at(-1) ?? ""
  const orders = ordersIn(question).length > 0 ? ordersIn(question) : asked.flatMap(ordersIn).slice(-1)
  if (orders.length === 0) return say("Which order do you mean? An order id looks like o-1001.")
  const results = ToolMessages.resultsOf(messages.slice(start + 1))
  const isDone = (tool: string) => results.some((result) => result.tool === tool)
  const refunds = toRefund(question, orders)
  const first = [
    ...(isDone("refund_order")
      ? []
      : calls("refund_order", refunds.map((order) => ({ order, ...amountIn(question, order) })))),
    ...(isDone("find_order")
      ? []
      : calls("find_order", orders.filter((order) => !refunds.includes(order)).map((order) => ({ order }))))
  ]
  if (first.length > 0) return { text: "", calls: first }
  const parcels = results.flatMap(({ message }) =>
    message._tag === "Value" && typeof message.value["parcel"] === "string" ? [message.value["parcel"]] : []
  )
  if (/parcel|where|track|arrive/i.test(question) && !isDone("track_parcel") && parcels.length > 0) {
    return { text: "", calls: calls("track_parcel", parcels.map((parcel) => ({ parcel }))) }
  }
  return answer(results)
}

/** Returns the orders in the clauses that ask for a refund: "Where is o-1, and refund o-2." refunds only o-2. */
const toRefund = (question: string, orders: ReadonlyArray<string>): ReadonlyArray<string> => {
  const clauses = question.split(/[.?!;]\s|,?\s+and\s+(?!o-\d)/i).filter((clause) => /refund/i.test(clause))
  const named = clauses.flatMap(ordersIn)
  return named.length > 0 || clauses.length === 0 ? named : orders
}

/** Returns the amount that the question names for an order: "Refund 150.00 of o-1004." */
const amountIn = (question: string, order: string): Schema.JsonObject => {
  const [, amount] = new RegExp(`\\b(\\d+\\.\\d\\d) (?:of|for) (?:order )?${order}\\b`).exec(question) ?? []
  return amount === undefined ? {} : { cents: Math.round(Number(amount) * 100) }
}

const ordersIn = (text: string): ReadonlyArray<string> => Array.from(text.matchAll(/\bo-\d+\b/g), ([id]) => id)

// -----------------------------------------------------------------------------
// What the model writes
// -----------------------------------------------------------------------------

const say = (text: string): Model.Reply => ({ text, calls: [] })

const calls = (name: string, all: ReadonlyArray<Schema.JsonObject>): Model.Reply["calls"] =>
  all.map((args, index) => ({ id: `${name}_${index + 1}`, name, arguments: JSON.stringify(args) }))

const answer = (results: ReadonlyArray<ToolMessages.Result>): Model.Reply => say(results.map(sentence).join(" "))

const sentence = ({ args, message, tool }: ToolMessages.Result): string => {
  if (message._tag === "Failure") {
    if (message.failure.code?.startsWith("already_") === true) {
      return `Order ${text(args["order"])} is already refunded. I refunded nothing again.`
    }
    if (message.failure.code === "not_approved") {
      const why = message.failure.detail.replace(/^This call was not run: /, "")
      return `I refunded nothing for order ${text(args["order"])}: ${why}`
    }
    return `I could not finish ${tool} for ${text(args["order"] ?? args["parcel"])}: ${message.failure.detail}`
  }
  const { cents, due, id, item, order, place, receipt, status } = message.value
  switch (tool) {
    case "refund_order":
      return `I refunded ${price(Number(cents))} for order ${text(order)}. The receipt is ${text(receipt)}.`
    case "track_parcel":
      return [`Parcel ${text(id)} is ${text(place)}. It is due on ${text(due)}.`, ...message.notes.map(noted)].join(" ")
    default:
      return `Order ${text(id)} is a ${text(item)} for ${price(Number(cents))}. It is ${text(status)}.`
  }
}

const noted = (note: string): string => `(${note})`

const text = (value: Schema.Json | undefined): string => typeof value === "string" ? value : "?"
