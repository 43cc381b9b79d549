/** Laws of conversations: the server gets them, and accepts each next turn. */
import { Model, Transcript } from "@fallible/core"
import * as Effect from "effect/Effect"
import type { Subject } from "../../ModelLaws.ts"
import * as ScriptedModel from "../../ScriptedModel.ts"
import { demand, found, playing, type Rule, same, whole } from "./rule.ts"
import { calling, eachWay, last, ran, user } from "./runs.ts"

// -----------------------------------------------------------------------------
// What arrives
// -----------------------------------------------------------------------------

const conversation: ReadonlyArray<Transcript.Message> = [
  { role: "system", text: "Be brief. Sois bref. 簡潔に。" },
  {
    role: "user",
    text: "What are these?",
    files: [
      Transcript.file(new Uint8Array([71, 73, 70, 56]), "image/gif"),
      Transcript.file(new Uint8Array([137, 80, 78, 71, 13]), "image/png")
    ]
  },
  {
    role: "assistant",
    text: "I'll look.",
    calls: [{ id: "1", name: "look", arguments: "{\"at\":\"both\"}" }, { id: "2", name: "ping", arguments: "{}" }]
  },
  { role: "tool", callId: "1", name: "look", text: "\"a cat\"" },
  { role: "tool", callId: "2", name: "ping", text: "" },
  { role: "assistant", text: "A cat.", calls: [] },
  { role: "user", text: "And now?" }
]

const arrives: Rule = {
  name: "The server gets the whole conversation.",
  holds: (subject) =>
    playing(subject, [ScriptedModel.text("Hello.")], ({ model, requests }) =>
      Effect.gen(function*() {
        yield* model.respond({ transcript: Transcript.make(conversation), tools: [] })
        yield* same("the messages", (yield* requests)[0]?.messages, conversation)
      }))
}

// -----------------------------------------------------------------------------
// What a strict server accepts
// -----------------------------------------------------------------------------

const hard: ReadonlyArray<readonly [what: string, messages: ReadonlyArray<Transcript.Message>]> = [
  ...[
    undefined,
    "",
    "null",
    "[1]",
    "\"text\"",
    "{\"a\": ",
    "{'a': 1}",
    "{\"n\": 12345678901234567890}",
    "x".repeat(5_000)
  ]
    .map((text) => [`the arguments ${text?.slice(0, 40)}`, calling("ping", text)] as const),
  ...["", "get wether, please!", "a".repeat(100), "7up", "größe"]
    .map((name) => [`the tool name '${name.slice(0, 40)}'`, calling(name, "{}")] as const),
  ["an empty question", [{ role: "user", text: "" }]],
  ["a blank question", [{ role: "user", text: " \n" }]],
  ["an empty question among others", [user, { role: "assistant", text: "Pong.", calls: [] }, {
    role: "user",
    text: ""
  }]],
  ["an empty answer", [user, { role: "assistant", text: "", calls: [] }, last]],
  ["a blank answer", [user, { role: "assistant", text: " \n", calls: [] }, last]],
  [
    "a blank text beside a call",
    calling("ping", "{}").map((message) => message.role === "assistant" ? { ...message, text: "\n" } : message)
  ],
  ["empty instructions", [{ role: "system", text: "" }, user]],
  [
    "an empty result",
    calling("ping", "{}").map((message) => message.role === "tool" ? { ...message, text: "" } : message)
  ],
  [
    "a blank result",
    calling("ping", "{}").map((message) => message.role === "tool" ? { ...message, text: " " } : message)
  ],
  ["two questions in a row", [user, last]],
  ["a text with half a character", [{ role: "user", text: "a \uD83C b" }]]
]

const accepted: Rule = {
  name: "A strict server accepts earlier calls with any arguments and names, and empty texts.",
  holds: (subject) =>
    Effect.forEach(
      hard,
      ([what, messages]) =>
        playing(subject, [ScriptedModel.text("Fine.")], ({ model }) =>
          Effect.gen(function*() {
            const { text } = yield* whole(model, { transcript: Transcript.make(messages), tools: [] })
            yield* same("the reply", text, "Fine.")
          })).pipe(found(what)),
      { discard: true }
    )
}

const sendable = ({ wire = {} }: Subject, isStreamed: boolean): boolean =>
  (wire.arguments ?? "texts") === "texts" || wire.arguments === "texts_in_streams" && isStreamed

const answersAll: Rule = {
  name: "The server gets the result of each call, whatever the model called and however.",
  holds: (subject) =>
    eachWay((isStreamed) => {
      const valid: ReadonlyArray<ScriptedModel.Call> = [
        ["ping"],
        ["get wether, please!", "{}"],
        ["a".repeat(100)],
        ["ping", { n: "one" }]
      ]
      const malformed: ReadonlyArray<ScriptedModel.Call> = sendable(subject, isStreamed)
        ? [["ping", "null"], ["ping", "{\"n\": "], ["ping", "{'a': 1}"]]
        : []
      const calls = [...valid, ...malformed]
      return playing(subject, [ScriptedModel.calls(calls), ScriptedModel.text("Enough.")], ({ model, requests }) =>
        Effect.gen(function*() {
          const { report, text } = yield* ran(isStreamed, "Ping!")
          yield* same("the answer", text, "Enough.")
          const roles = (yield* requests)[1]?.messages.map(({ role }) =>
            role
          )
          yield* same("the messages", roles, ["system", "user", "assistant", ...calls.map(() => "tool")])
          yield* demand(report.failures.length >= 3, "the calls fail that cannot be run", report.failures.length)
        }).pipe(Effect.provideService(Model.Model, model)))
    })
}

const anyIds: Rule = {
  name: "Each call has its result, even if ids are equal or missing.",
  holds: (subject) =>
    eachWay((isStreamed) =>
      playing(subject, [
        {
          text: "",
          calls: [
            { id: "same", name: "ping", arguments: "{\"n\":1}" },
            { id: "same", name: "ping", arguments: "{\"n\":2}" },
            { id: "", name: "ping", arguments: "{\"n\":3}" }
          ]
        },
        ScriptedModel.text("Pong.")
      ], ({ model, requests }) =>
        Effect.gen(function*() {
          const { report, text } = yield* ran(isStreamed, "Ping!")
          yield* same("the answer", text, "Pong.")
          yield* same("the failures", report.failures.map(({ code }) => code), [])
          const messages = (yield* requests)[1]?.messages ?? []
          const made = messages.flatMap((message) => message.role === "assistant" ? message.calls : [])
          yield* same("the arguments", made.map(({ arguments: text }) => text), ["{\"n\":1}", "{\"n\":2}", "{\"n\":3}"])
          const ids = messages.flatMap((message) => message.role === "tool" ? [message.callId] : [])
          yield* same("the ids of the results", ids, made.map(({ id }) => id))
          yield* same("the number of ids", new Set(ids).size, 3)
        }).pipe(Effect.provideService(Model.Model, model)))
    )
}

export const conversations: ReadonlyArray<Rule> = [arrives, accepted, answersAll, anyIds]
