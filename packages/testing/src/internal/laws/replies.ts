/** Laws of replies: they come whole and streamed, as the model wrote them. */
import { Agent, Model, Tool, Toolkit } from "@fallible/core"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Subject } from "../../ModelLaws.ts"
import * as ScriptedModel from "../../ScriptedModel.ts"
import { demand, found, partsOf, playing, type Rule, same, shownOf, textOf, whole } from "./rule.ts"

// -----------------------------------------------------------------------------
// Kinds of replies
// -----------------------------------------------------------------------------

const written = "{ \"amount\": 12345678901234567890, \"to\" : \"}\\\"{\", \"to\":1.50, \"n\": [ ] }"

const kinds: ReadonlyArray<readonly [what: string, reply: Model.Reply]> = [
  ["a text", { text: "It is 21 °C in Zürich. ☀️🌡️ \"Warm\",\n they say.", calls: [] }],
  ["nothing", { text: "", calls: [] }],
  ["a long text", { text: "naïve café 日本語 ".repeat(100), calls: [] }],
  ["what it used", { text: "21.", calls: [], usage: { inputTokens: 12, outputTokens: 3 } }],
  [
    "what it used of caches, for reasoning, and in money",
    {
      text: "21.",
      calls: [],
      usage: {
        inputTokens: 120,
        outputTokens: 30,
        cachedTokens: 40,
        cacheWrittenTokens: 20,
        reasoningTokens: 10,
        money: 0.5
      }
    }
  ],
  ["what it thought", { text: "21.", calls: [], reasoning: "It is ☀️ July, and\n Zürich is warm then." }],
  ["a text that was cut off at its maximum", { text: "It is", calls: [], truncated: true }],
  ["a call", ScriptedModel.call("get_weather", { city: "Zürich 🌧", days: 3 })],
  ["a text and a call", { ...ScriptedModel.call("get_weather", { city: "Zürich" }), text: "Let me see." }],
  ["several calls", ScriptedModel.calls(["a", { x: "first one" }], ["b", { y: [1, 2, 3] }], ["a", { x: "third one" }])],
  ["a call without arguments", ScriptedModel.call("ping")],
  ["arguments with numbers, spaces and repeated names as they were written", ScriptedModel.call("pay", written)],
  ["arguments that were cut off", ScriptedModel.call("pay", "{\"amount\": 5, \"to\": \"ann")],
  ["arguments that are not JSON", ScriptedModel.call("pay", "{amount: 5,}")]
]

/** Whether the wire carries the arguments of a call as text in a whole or streamed reply. */
const sendsTexts = ({ wire = {} }: Subject, isStreamed: boolean): boolean =>
  wire.arguments === undefined || wire.arguments === "texts" || wire.arguments === "texts_in_streams" && isStreamed

const isNormal = (text: string): boolean => {
  try {
    return JSON.stringify(JSON.parse(text)) === text
  } catch {
    return false
  }
}

/** Whether the wire can say what a reply has. */
const canSay = (subject: Subject, { calls, reasoning }: Model.Reply, isStreamed: boolean): boolean =>
  (subject.wire?.reasoning !== false || reasoning === undefined) &&
  (sendsTexts(subject, isStreamed) || calls.every(({ arguments: text = "{}" }) => isNormal(text)))

/** The parts of a usage that the wire has. */
const countedBy = ({ wire = {} }: Subject): ReadonlyArray<keyof Model.Usage> =>
  wire.counts ?? ["inputTokens", "outputTokens"]

// A count that the script does not have must be absent. Some wires always have a number, and 0 then means "not known".
const usageAsScripted = (subject: Subject, came: Model.Usage = {}, scripted: Model.Usage = {}): boolean => {
  const counted = countedBy(subject)
  return Object.entries(came).every(([name, value]) =>
    scripted[name as keyof Model.Usage] === value || subject.wire?.zeroUsage === true && value === 0 &&
      !(name in scripted && counted.includes(name as keyof Model.Usage))
  ) && counted.every((name) => scripted[name] === undefined || came[name] === scripted[name])
}

// A call without arguments may come with an empty text, or with an empty object.
const callsOf = ({ calls }: Model.Reply) =>
  calls.map(({ arguments: text = "", id, name }) => ({ id, name, arguments: text === "" ? "{}" : text }))

/** Compares a reply with the scripted one. */
const asScripted = (subject: Subject, model: Model.Model["Service"], came: Model.Reply, scripted: Model.Reply) =>
  Effect.gen(function*() {
    const { calls: _, native: __, usage, ...fields } = came
    const { calls: ___, usage: expected, ...others } = scripted
    yield* same("the reply", fields, { ...others, ...(model.name === undefined ? {} : { model: model.name }) })
    yield* same("its calls", callsOf(came), callsOf(scripted))
    yield* demand(
      usageAsScripted(subject, usage, expected),
      `its usage: ${JSON.stringify(expected ?? null)}, and nothing that the server did not say`,
      usage ?? "none"
    )
  })

const wholeReply = ([what, reply]: typeof kinds[number]): Rule => ({
  name: `A whole reply has ${what}.`,
  holds: (subject) =>
    canSay(subject, reply, false)
      ? playing(
        subject,
        [reply],
        ({ model }) => Effect.flatMap(whole(model), (came) => asScripted(subject, model, came, reply))
      )
      : Effect.void
})

const streamedReply = ([what, reply]: typeof kinds[number]): Rule => ({
  name: `A streamed reply has ${what}: its pieces join to the one reply at the end.`,
  holds: (subject) =>
    canSay(subject, reply, true)
      ? playing(subject, [reply], ({ model }) =>
        Effect.gen(function*() {
          const { arguments: args, isLast, reasoning, replies: [came], replies, text } = shownOf(yield* partsOf(model))
          yield* demand(replies.length === 1 && isLast && came !== undefined, "one reply, at the end", replies)
          if (came === undefined) return
          yield* asScripted(subject, model, came, reply)
          yield* same("the pieces of its text", text, came.text)
          yield* same("the pieces of its reasoning", reasoning, came.reasoning ?? "")
          const whole = came.calls.map(({ arguments: text = "" }) => text)
          yield* demand(
            args.every((text, index) => text === whole[index]),
            `the pieces of its arguments: ${JSON.stringify(whole)}`,
            args
          )
        }))
      : Effect.void
})

// -----------------------------------------------------------------------------
// Cut off arguments
// -----------------------------------------------------------------------------

const Trip = Schema.Struct({ city: Schema.String, days: Schema.Array(Schema.Finite), direct: Schema.Boolean })
const trip = { city: "Zürich", days: [10, 2.5], direct: true }
const tripText = JSON.stringify(trip)

const prefixes = Array.from({ length: tripText.length + 1 }, (_, length) => tripText.slice(0, length))

const noPrefix: Rule = {
  name: "Arguments that were cut off anywhere are refused, or read as the whole value, and never as something else.",
  holds: (subject) =>
    Effect.forEach(
      [false, true].filter((isStreamed) => sendsTexts(subject, isStreamed)),
      (isStreamed) =>
        playing(
          subject,
          (_, index) =>
            index % 2 === 0 ? ScriptedModel.call("book_trip", prefixes[index / 2] ?? "") : ScriptedModel.text("Done."),
          ({ model }) =>
            Effect.gen(function*() {
              const booked: Array<unknown> = []
              const book = Tool.make("book_trip", {
                description: "Books a trip",
                parameters: Trip,
                success: Schema.String,
                sideEffect: "none"
              }, (trip) =>
                Effect.sync(() => {
                  booked.push(trip)
                  return "Booked."
                }))
              const agent = Agent.make({ toolkit: Toolkit.make(book), modelRetry: Schedule.recurs(0) })
              for (const prefix of prefixes) {
                booked.length = 0
                const run = isStreamed
                  ? Stream.runDrain(agent.stream("Book it."))
                  : Effect.asVoid(agent.run("Book it."))
                yield* Effect.provideService(run, Model.Model, model)
                const isWhole = prefix === tripText
                yield* demand(
                  booked.length === 0 ? !isWhole : booked.length === 1 && textOf(booked[0]) === textOf(trip),
                  `nothing, or ${tripText}, from ${prefix}`,
                  booked
                )
              }
            })
        ).pipe(found(isStreamed ? "streamed" : "whole"))
    )
}

export const replies: ReadonlyArray<Rule> = [
  ...kinds.flatMap((kind) => [wholeReply(kind), streamedReply(kind)]),
  noPrefix
]
