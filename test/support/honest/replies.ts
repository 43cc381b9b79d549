/**
 * Replies of a model that are no answer yet, where a plain loop takes them for one; and their look-alikes, which are
 * the answer.
 */
import { ScriptedModel } from "@fallible/testing"
import { Schema } from "effect"
import { find, latest, resultsOf } from "./reading.ts"
import {
  acts,
  type HonestKind,
  type HonestScenario,
  type HonestWorld,
  type Model,
  plainTool,
  reads,
  texts
} from "./scenario.ts"

const orderTool = (world: HonestWorld) =>
  plainTool(
    world,
    "get_order",
    reads("An order", Schema.Struct({ order: Schema.String, status: Schema.String }), texts("order")),
    ({ order }) => ({ order, status: "shipped" })
  )

type Request = Parameters<Model>[0]

const hasReplied = ({ messages }: Request): boolean => messages.some(({ role }) => role === "assistant")

/** Looks an order up, and answers with its status. */
const lookUp: Model = (request) => {
  const result = resultsOf(request, "get_order").at(-1)
  return result === undefined
    ? ScriptedModel.call("get_order", { order: "o-7" })
    : ScriptedModel.text(`Order o-7 is ${find(result, /"status":"(\w+)"/) ?? "unknown"}.`)
}

const slips = (
  name: string,
  first: string,
  replies: number,
  never?: RegExp
): HonestScenario => ({
  name,
  question: "Where is my order o-7?",
  tools: (world) => [orderTool(world)],
  // Whatever the next message asks of it: a model does not make the same slip twice in a row.
  model: (request, index) => hasReplied(request) ? lookUp(request, index) : ScriptedModel.text(first),
  replies,
  says: /o-7 is shipped/,
  ...(never === undefined ? {} : { never }),
  plainIsWrong: true
})

/** The best case of a call that is written as text is that it is read. */
const written = (name: string, first: string) => slips(`a call that is written as text: ${name}`, first, 2)

export const slippedReplies: HonestKind = {
  kind: "a reply that is no answer yet",
  scenarios: [
    written("tags", "<tool_call>\n{\"name\": \"get_order\", \"arguments\": {\"order\": \"o-7\"}}\n</tool_call>"),
    written("a block of JSON", "```json\n{\"name\": \"get_order\", \"arguments\": {\"order\": \"o-7\"}}\n```"),
    written("a function tag", "<function=get_order>{\"order\": \"o-7\"}</function>"),
    written("a list after a mark", "[TOOL_CALLS] [{\"name\": \"get_order\", \"arguments\": {\"order\": \"o-7\"}}]"),
    slips("a plan in place of a call", "I'll look up the order now.", 3),
    slips("a plan of two steps", "Let me check the status of order o-7. One moment, please.", 3),
    {
      name: "a plan after the first call",
      question: "If order o-7 is shipped, tell the customer.",
      tools: (world) => [
        orderTool(world),
        plainTool(
          world,
          "send_message",
          acts("Sends a message to a customer", Schema.String, texts("text")),
          ({ text }) => {
            world.done.push(text)
            return "Sent."
          }
        )
      ],
      model: (request) => {
        const [order] = resultsOf(request, "get_order")
        const [sent] = resultsOf(request, "send_message")
        if (order === undefined) return ScriptedModel.call("get_order", { order: "o-7" })
        if (sent !== undefined) return ScriptedModel.text(`The customer knows. ${sent}`)
        return latest(request).length > 0
          ? ScriptedModel.text("The order is shipped. Now I will send the message to the customer.")
          : ScriptedModel.call("send_message", { text: "Your order is shipped." })
      },
      replies: 4,
      says: /The customer knows/,
      done: ["Your order is shipped."],
      plainIsWrong: true
    },
    {
      name: "an empty answer, and then a real one",
      question: "Where is my order o-7?",
      tools: (world) => [orderTool(world)],
      // The slip is a matter of chance, so nothing in the messages decides it.
      model: (request, index) => index === 1 ? ScriptedModel.text("") : lookUp(request, index),
      replies: 3,
      says: /o-7 is shipped/,
      plainIsWrong: true
    }
  ]
}

/** An answer at once, with tools that are not needed. */
const atOnce = (name: string, question: string, text: string): HonestScenario => ({
  name,
  question,
  tools: (world) => [orderTool(world)],
  // Whoever asks again gets another answer, and that is one too many.
  model: (request) => ScriptedModel.text(hasReplied(request) ? "As I said." : text),
  replies: 1,
  says: new RegExp(`^${text.slice(0, 24).replaceAll(/[^\w ]/g, "[^]")}`),
  isPlain: true
})

export const honestAnswers: HonestKind = {
  kind: "what looks like no answer yet",
  scenarios: [
    atOnce(
      "an explanation of JSON with an example",
      "What does a package.json look like?",
      "The smallest one has a name:\n\n```json\n{\"name\": \"my-app\", \"version\": \"1.0.0\"}\n```"
    ),
    atOnce(
      "an offer to help later",
      "Thanks, that is all.",
      "You are welcome. I'll be here if you need me."
    ),
    atOnce(
      "the syntax of a call, because the user asked for it",
      "How would a model without native tool calls write a call of get_order? Show me an example, but do not call it.",
      "It would write this:\n\n<tool_call>\n{\"name\": \"get_order\", \"arguments\": {\"order\": \"o-1\"}}\n</tool_call>\n\nThe tags mark the call."
    ),
    atOnce(
      "a question back",
      "Where is my order?",
      "I will look it up as soon as you tell me its number. Which order do you mean?"
    ),
    atOnce(
      "a block of JSON that was asked for",
      "Give me a test person as JSON, with a name and arguments for and against hiring her.",
      "```json\n{\"name\": \"Ada\", \"arguments\": {\"for\": \"She knows engines.\", \"against\": \"None.\"}}\n```"
    ),
    {
      name: "a promise to the user after the work is done",
      question: "Where is my order o-7? Keep me posted.",
      tools: (world) => [orderTool(world)],
      model: (request, index) =>
        resultsOf(request).length === 0
          ? lookUp(request, index)
          : ScriptedModel.text(
            request.messages.filter(({ role }) => role === "assistant").length > 1
              ? "As I said."
              : "Order o-7 is shipped. I'll let you know if you ask again tomorrow."
          ),
      replies: 2,
      says: /^Order o-7 is shipped/,
      isPlain: true
    }
  ]
}
