/**
 * A stand-in for two language models, behind the same `Model` service: one counts keys with its tool, and the other
 * corrects the arguments of the first. Like models, they see only text.
 *
 * The first sends the JSON of the question unchanged. If the failure contains corrected arguments, it sends those.
 * Without help from a fixer, it mends the JSON itself and sends it again. If it cannot, it gives up and says why.
 */
import { Model, type Toolkit, type Transcript } from "@fallible/core"
import * as Arguments from "@fallible/core/Arguments"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { resultsOf } from "../shared/ToolMessages.ts"
import { isSound, mend, quoteKeys } from "./tools.ts"

export const notice = "A stand-in plays the models: a small planner in this process. No language model is asked."

interface Request {
  readonly messages: ReadonlyArray<Transcript.Message>
  readonly tools: ReadonlyArray<Toolkit.Definition>
}

export const layer: Layer.Layer<Model.Model> = Model.layer({
  respond: ({ tools, transcript }) => Effect.sync(() => reply({ messages: Array.from(transcript), tools }))
})

/** Returns the next message of the model that has these tools. */
export const reply = ({ messages, tools }: Request): Model.Reply => {
  const questionIndex = messages.findLastIndex(({ role }) => role === "user")
  const message = messages[questionIndex]
  const question = message?.role === "user" ? message.text : ""
  return tools.some(({ name }) => name === "escalate")
    ? correct(question)
    : count(question, messages.slice(questionIndex + 1))
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
  if (last._tag === "Value") {
    const keys = JSON.stringify(last.value["keys"])
    return say(`It has ${keys} ${keys === "1" ? "key" : "keys"}.`)
  }
  const { detail, hint = "", source } = last.failure
  const [, args] = /Corrected arguments: (\{.*\})/.exec(hint) ?? []
  const correctedJson = args === undefined ? source === undefined ? mendedJsonIn(question) : undefined : jsonOf(args)
  return correctedJson === undefined || results.some(({ args }) => args["json"] === correctedJson)
    ? say(`I could not count the keys. ${detail}${hint.endsWith("?") ? ` ${hint}` : ""}`)
    : countIn(correctedJson, results.length + 1)
}

const jsonOf = (text: string): string => {
  const { json }: { readonly json: string } = JSON.parse(text)
  return json
}

/** Returns the JSON text in a question, well-formed or not. */
export const jsonIn = (text: string): string | undefined => /[{[].*[}\]]|[{[].*/s.exec(text)?.[0]

const mendedJsonIn = (question: string): string | undefined => {
  const json = jsonIn(question) ?? ""
  return [mend(json), mend(quoteKeys(json))].find(isSound)
}

const countIn = (json: string, nth: number) => call(`call_${nth}`, "count_json_keys", { json })

// -----------------------------------------------------------------------------
// The model that corrects
// -----------------------------------------------------------------------------

const correct = (question: string): Model.Reply => {
  const [, text = "\"{}\""] = /^arguments: (.*)$/m.exec(question) ?? []
  const args: string = JSON.parse(text)
  const json = jsonOf(args)
  if (/\bignore\b.*\binstructions\b/i.test(json)) {
    return call("call_1", "throwException", { reason: "The JSON holds orders for whoever reads it." })
  }
  const mended = mend(json)
  if (isSound(mended)) return say(JSON.stringify({ json: mended }))
  const quoted = mend(quoteKeys(json))
  if (isSound(quoted)) {
    return call("call_1", "escalate", {
      detail: "A key of the JSON lacks a quote.",
      arguments: { json: quoted },
      severity: "low"
    })
  }
  if (!hasDuplicateKey(quoted)) {
    return call("call_1", "escalate", { detail: "The JSON is malformed, and I cannot mend it." })
  }
  const [one, other] = readings(quoted)
  return call("call_1", "escalate", {
    detail: "A key stands in the JSON twice, with different values.",
    hint: /[{[].*[{[]/s.test(json) ? "Which of its values is meant?" : `Which is meant: ${one} or ${other}?`
  })
}

// True if a key occurs twice, with different values, and nothing else is wrong.
const hasDuplicateKey = (json: string): boolean =>
  Result.match(Arguments.parse(json), {
    onSuccess: () => false,
    onFailure: ({ fault }) => fault?.kind === "duplicate_key"
  })

// Returns both readings of a text with a duplicate key: the one with its first value, and the one with its last.
const readings = (json: string): readonly [first: string, last: string] => {
  const fields = Array.from(
    json.matchAll(/"(\w+)"\s*:\s*("[^"]*"|[^\s,{}]+)/g),
    ([, key, value]) => [key, value] as const
  )
  const render = (fields: ReadonlyArray<readonly [string | undefined, string | undefined]>) =>
    `{${Array.from(new Map(fields), ([key, value]) => `"${key}": ${value}`).join(", ")}}`
  return [render(fields.toReversed()), render(fields)]
}

// -----------------------------------------------------------------------------
// Replies of both models
// -----------------------------------------------------------------------------

const say = (text: string): Model.Reply => ({ text, calls: [] })

const call = (id: string, name: string, args: object): Model.Reply => ({
  text: "",
  calls: [{ id, name, arguments: JSON.stringify(args) }]
})
