/**
 * A stand-in for two language models, over the same port: one that counts keys with its tool, and one that looks at what the first
 * has got wrong. Like models they see text alone.
 *
 * The first sends the JSON of the question as it stands there, and does not look at it. Told that it is malformed, it sends what it
 * was told to send. Told nothing of the kind, it looks itself, and sends what it should have sent; or else gives up and says why.
 */
import { Arguments, Model } from "@fallible/core"
import type { Toolkit, Transcript } from "@fallible/core"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { resultsOf } from "../shared/ToolMessages.ts"
import { isSound, mend, quoteKeys } from "./tools.ts"

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
  if (last._tag === "Value") {
    const keys = JSON.stringify(last.value["keys"])
    return say(`It has ${keys} ${keys === "1" ? "key" : "keys"}.`)
  }
  const { detail, hint = "", source } = last.failure
  const [, args] = /Corrected arguments: (\{.*\})/.exec(hint) ?? []
  const meant = args === undefined ? source === undefined ? mendedIn(question) : undefined : jsonOf(args)
  return meant === undefined || results.some(({ args }) => args["json"] === meant)
    ? say(`I could not count the keys. ${detail}${hint.endsWith("?") ? ` ${hint}` : ""}`)
    : countIn(meant, results.length + 1)
}

const jsonOf = (text: string): string => {
  const { json }: { readonly json: string } = JSON.parse(text)
  return json
}

const jsonIn = (text: string): string | undefined => /[{[].*[}\]]|[{[].*/s.exec(text)?.[0]

const mendedIn = (question: string): string | undefined => {
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
  if (!isTwice(quoted)) {
    return call("call_1", "escalate", { detail: "The JSON is malformed, and I cannot mend it." })
  }
  const [one, other] = readings(quoted)
  return call("call_1", "escalate", {
    detail: "A key stands in the JSON twice, with different values.",
    hint: /[{[].*[{[]/s.test(json) ? "Which of its values is meant?" : `Which is meant: ${one} or ${other}?`
  })
}

// Does a key stand twice in it, with different values, and is nothing else wrong?
const isTwice = (json: string): boolean =>
  Result.match(Arguments.parse(json), {
    onSuccess: () => false,
    onFailure: ({ fault }) => fault?.kind === "duplicate_key"
  })

// A key that stands twice has the first value, or the last one.
const readings = (json: string): readonly [first: string, last: string] => {
  const fields = Array.from(
    json.matchAll(/"(\w+)"\s*:\s*("[^"]*"|[^\s,{}]+)/g),
    ([, key, value]) => [key, value] as const
  )
  const written = (fields: ReadonlyArray<readonly [string | undefined, string | undefined]>) =>
    `{${Array.from(new Map(fields), ([key, value]) => `"${key}": ${value}`).join(", ")}}`
  return [written(fields.toReversed()), written(fields)]
}

// -----------------------------------------------------------------------------
// What both say
// -----------------------------------------------------------------------------

const say = (text: string): Model.Reply => ({ text, calls: [] })

const call = (id: string, name: string, args: object): Model.Reply => ({
  text: "",
  calls: [{ id, name, arguments: JSON.stringify(args) }]
})
