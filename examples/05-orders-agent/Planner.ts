/**
 * A stand-in for a language model, behind the same `Model` service. Like a weak model, it sees only text, and it repeats
 * its call unless the text says what else to do.
 *
 * It looks up the orders of the customer in the question, follows the pages that it is told of, asks for less if it is
 * told to, and adds up what it has. If it is told not to repeat the call, and has no better one, it says why it has no
 * answer. If it is offered `final_answer`, it calls that, and writes the total as a text, as weak models do.
 */
import { Model, type Toolkit, type Transcript } from "@fallible/core"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

export const notice = "A stand-in plays the model: a small planner in this process. No language model is asked."

export const layer: Layer.Layer<Model.Model> = Model.layer({
  respond: ({ tools, transcript }) => Effect.sync(() => reply({ messages: Array.from(transcript), tools }))
})

interface Request {
  readonly messages: ReadonlyArray<Transcript.Message>
  readonly tools: ReadonlyArray<Toolkit.Definition>
}

/** Returns the model's next message. */
export const reply = ({ messages, tools }: Request): Model.Reply => {
  const isTyped = tools.some(({ name }) => name === "final_answer")
  const start = messages.findIndex(({ role }) => role === "user")
  const question = messages[start]
  const who = nameIn(question?.role === "user" ? question.text : "")
  const steps = stepsOf(messages.slice(start + 1))
  const last = steps.at(-1)
  if (last === undefined) return call(steps.length, "search_orders", { customer: who })
  return next(last, steps, isTyped) ?? call(steps.length, last.tool, last.args)
}

const next = (last: Step, steps: ReadonlyArray<Step>, isTyped: boolean): Model.Reply | undefined => {
  const { args, text, tool } = last
  const said = Option.getOrUndefined(readFailure(text))
  if (said === undefined) return tool === "find_customer" ? byId(text, steps) : answer(steps, isTyped)
  const advice = `${said.hint ?? ""} ${said.retry}`
  if (said.next !== undefined) return call(steps.length, tool, said.next)
  if (/smaller 'limit'/.test(advice) && args["limit"] === undefined) {
    return call(steps.length, tool, { ...args, limit: 20 })
  }
  const { customer } = args
  const isName = typeof customer === "string" && !/^c-\d+$/.test(customer)
  if (/find_customer/.test(advice) && isName) return call(steps.length, "find_customer", { name: customer })
  return /do not (?:repeat|call)/i.test(advice) ? say(`I have no answer. ${said.detail}`) : undefined
}

const byId = (text: string, steps: ReadonlyArray<Step>): Model.Reply | undefined => {
  const customer = /"id":"(c-\d+)"/.exec(text)?.[1]
  return customer === undefined ? undefined : call(steps.length, "search_orders", { customer })
}

const answer = (steps: ReadonlyArray<Step>, isTyped: boolean): Model.Reply | undefined => {
  const orders = steps.flatMap(({ text }) => ordersIn(text))
  if (orders.length === 0) return undefined
  const cents = orders.reduce((sum, order) => sum + order.cents, 0)
  const open = orders.filter(({ status }) => status === "open").length
  const customer = orders[0]?.customer
  const total = (cents / 100).toFixed(2)
  return isTyped
    ? call(steps.length, "final_answer", { customer, orders: orders.length, open, total })
    : say(`${customer} has ${orders.length} orders, ${open} of them open. They cost ${total} in all.`)
}

// -----------------------------------------------------------------------------
// What the model reads
// -----------------------------------------------------------------------------

interface Step {
  readonly tool: string
  readonly args: Schema.JsonObject
  readonly text: string
}

const stepsOf = (messages: ReadonlyArray<Transcript.Message>): ReadonlyArray<Step> => {
  const texts = new Map(messages.flatMap((message) => message.role === "tool" ? [[message.callId, message.text]] : []))
  return messages.flatMap((message) => message.role === "assistant" ? message.calls : []).map((call) => ({
    tool: call.name,
    args: Option.getOrElse(readArguments(call.arguments), () => ({})),
    text: texts.get(call.id) ?? ""
  }))
}

const readArguments = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.JsonObject))

const readFailure = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({
  ok: Schema.Literal(false),
  detail: Schema.String,
  hint: Schema.optionalKey(Schema.String),
  next: Schema.optionalKey(Schema.JsonObject),
  retry: Schema.String
})))

const OrderText = Schema.Struct({ customer: Schema.String, status: Schema.String, cents: Schema.Int })
const Orders = Schema.Struct({ orders: Schema.Array(OrderText) })
const readOrders = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Union([Orders, Schema.Struct({ data: Orders }), Schema.Struct({ value: Orders })]))
)

const ordersIn = (text: string): ReadonlyArray<typeof OrderText.Type> =>
  Option.match(readOrders(text), {
    onNone: () => [],
    onSome: (page) => ("orders" in page ? page : "data" in page ? page.data : page.value).orders
  })

const nameIn = (question: string): string =>
  /\bc-\d+\b/.exec(question)?.[0] ?? /\b([A-Z]\w+(?: [A-Z]\w+)*) (?:spend|buy|order)/.exec(question)?.[1] ?? "everybody"

// -----------------------------------------------------------------------------
// What the model writes
// -----------------------------------------------------------------------------

const say = (text: string): Model.Reply => ({ text, calls: [] })

const call = (before: number, name: string, args: object): Model.Reply => ({
  text: "",
  calls: [{ id: `call_${before + 1}`, name, arguments: JSON.stringify(args) }]
})
