/**
 * A stand-in for two language models, over the same port: one that counts keys with its tool, and one that looks at what the first
 * has got wrong. Like models they see text alone.
 *
 * The first sends the JSON of the question as it stands there, and does not look at it. Told that it is malformed, it sends what it
 * was told to send, or else gives up.
 */
import { Model } from "@fallible/core"
import type { Toolkit, Transcript } from "@fallible/core"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { resultsOf } from "../shared/ToolMessages.ts"
import { quoteKeys } from "./tools.ts"

export const notice = "A stand-in plays the models: a small planner in this process. No language model is asked."

interface Asked {
  readonly messages: ReadonlyArray<Transcript.Message>
  readonly tools: ReadonlyArray<Toolkit.Definition>
}

export const layer: Layer.Layer<Model.Model> = Model.layer({
  respond: ({ tools, transcript }) => Effect.sync(() => reply({ messages: Array.from(transcript), tools }))
})

/** The next message of the model that has these tools. */
export const reply = ({ messages, tools }: Asked): Model.Reply => {
  const asked = messages.findLastIndex(({ role }) => role === "user")
  const message = messages[asked]
  const question = message?.role === "user" ? message.text : ""
  return tools.some(({ name }) => name === "escalate") ? correct(question) : count(question, messages.slice(asked + 1))
}

// -----------------------------------------------------------------------------
// The model that counts
// -----------------------------------------------------------------------------

const count = (question: string, messages: ReadonlyArray<Transcript.Message>): Model.Reply => {
  const results = resultsOf(messages)
  const last = results.at(-1)?.message
  if (last === undefined) {
    const json = jsonIn(question)
    return json === undefined ? say("Give me a JSON text, and I count its keys.") : countIn(json, 1)
  }
  if (last._tag === "Value") return say(`It has ${JSON.stringify(last.value["keys"])} keys.`)
  const meant = jsonIn(last.failure.hint ?? "")
  return meant === undefined || results.some(({ args }) => args["json"] === meant)
    ? say(`I could not count the keys. ${last.failure.detail}`)
    : countIn(meant, results.length + 1)
}

const jsonIn = (text: string): string | undefined => /\{.*\}/s.exec(text)?.[0]

const countIn = (json: string, nth: number) => call(`call_${nth}`, "count_json_keys", { json })

// -----------------------------------------------------------------------------
// The model that corrects
// -----------------------------------------------------------------------------

const correct = (question: string): Model.Reply => {
  const [, args = "{}"] = /<arguments>\n(.*)\n<\/arguments>/s.exec(question) ?? []
  const { json }: { readonly json: string } = JSON.parse(args)
  return /\bignore\b.*\binstructions\b/i.test(json)
    ? call("call_1", "throwException", { reason: "The JSON holds orders for whoever reads it." })
    : call("call_1", "escalate", {
      detail: "A key of the JSON lacks a quote.",
      hint: `Call again with this json: ${quoteKeys(json)}`,
      severity: "low"
    })
}

// -----------------------------------------------------------------------------
// What both say
// -----------------------------------------------------------------------------

const say = (text: string): Model.Reply => ({ text, calls: [] })

const call = (id: string, name: string, args: object): Model.Reply => ({
  text: "",
  calls: [{ id, name, arguments: JSON.stringify(args) }]
})
