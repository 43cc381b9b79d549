/** Laws of conversations: a strict server accepts each next turn, and gets back what it added itself. */
import { Agent, AgentFailure, Model, Tool, ToolCall, Toolkit, Transcript } from "@fallible/core"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Received, Subject } from "../../ModelLaws.ts"
import * as ScriptedModel from "../../ScriptedModel.ts"
import { demand, differ, failing, found, isConnected, once, playing, type Rule, same, whole } from "./rule.ts"

const ping = Tool.make("ping", {
  description: "Answers",
  parameters: Schema.Struct({ n: Schema.optionalKey(Schema.Int) }),
  success: Schema.String,
  sideEffect: "none"
}, () => Effect.succeed("pong"))

const confirm = Tool.make("confirm", {
  description: "Asks the user",
  success: Schema.String,
  sideEffect: "none"
}, () => ToolCall.ask("Really?"))

const agent = Agent.make({
  instructions: "Be brief.",
  toolkit: Toolkit.make(ping, confirm),
  modelRetry: Schedule.recurs(0)
})

/** Runs the agent, whole or streamed. */
const ran = (isStreamed: boolean, prompt: string, options: Agent.RunOptions = {}) =>
  isStreamed
    ? Effect.flatMap(Stream.runCollect(agent.stream(prompt, options)), (events) => {
      const end = events.at(-1)
      return end?._tag === "RunEnded" ? Effect.succeed(end.answer) : Effect.fail(differ("an answer", end?._tag))
    })
    : agent.run(prompt, options)

const eachWay = (
  law: (isStreamed: boolean) => Effect.Effect<void, unknown>
): Effect.Effect<void, unknown> =>
  Effect.forEach([false, true], (isStreamed) => law(isStreamed).pipe(found(isStreamed ? "streamed" : "whole")), {
    discard: true
  })

/** The text of a request as it went over the wire. */
const bodyOf = ({ body, messages }: Received): string => body ?? JSON.stringify(messages)

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

const user: Transcript.Message = { role: "user", text: "Ping!" }
const last: Transcript.Message = { role: "user", text: "And what does that mean?" }

const calling = (name: string, text: string | undefined): ReadonlyArray<Transcript.Message> => [
  user,
  {
    role: "assistant",
    text: "",
    calls: [{ id: "call_1", name, ...(text === undefined ? {} : { arguments: text }) }]
  },
  { role: "tool", callId: "call_1", name, text: "It failed." },
  last
]

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

// -----------------------------------------------------------------------------
// What the server added
// -----------------------------------------------------------------------------

// A reply with what the server adds of its own: reasoning that it signs, and the fields of its own form.
const adding = ({ wire = {} }: Subject, reply: Model.Reply, thought: string): Model.Reply => ({
  ...reply,
  ...(wire.reasoning === false ? {} : { reasoning: thought }),
  ...(wire.own === undefined ? {} : { native: wire.own.native })
})

const marksIn = ({ wire = {} }: Subject, request: Received | undefined): number =>
  request === undefined || wire.own === undefined ? 0 : bodyOf(request).split(wire.own.mark).length - 1

const keeps = (subject: Subject, request: Received | undefined, times: number) =>
  subject.wire?.own === undefined
    ? demand(request !== undefined, "one more request", "none")
    : same(`how often the request has ${subject.wire.own.mark}`, marksIn(subject, request), times)

const threeTurns: Rule = {
  name: "What the server added to its replies goes back to it: over three turns of tools, and in a later run.",
  holds: (subject) =>
    eachWay((isStreamed) => {
      const turn = (n: number) => adding(subject, ScriptedModel.call("ping", { n }), `Thought ${n}.`)
      const done = adding(subject, ScriptedModel.text("Done."), "It is done.")
      return playing(subject, [turn(1), turn(2), turn(3), done, turn(4), done], ({ model, requests }) =>
        Effect.gen(function*() {
          const { facts, text, transcript } = yield* ran(isStreamed, "Ping!")
          yield* same("the answer", text, "Done.")
          yield* keeps(subject, (yield* requests)[3], 3)
          const later = yield* ran(isStreamed, "And?", { transcript, facts })
          yield* same("the later answer", later.text, "Done.")
          yield* same("the number of requests", (yield* requests).length, 6)
          yield* keeps(subject, (yield* requests)[5], 5)
        }).pipe(Effect.provideService(Model.Model, model)))
    })
}

const suspended: Rule = {
  name: "What the server added to its replies goes back to it after a suspension that was stored as text.",
  holds: (subject) =>
    eachWay((isStreamed) =>
      playing(subject, [
        adding(subject, ScriptedModel.call("ping", { n: 1 }), "First, I ping."),
        adding(subject, ScriptedModel.call("confirm"), "Better ask."),
        ScriptedModel.text("Done.")
      ], ({ model, requests }) =>
        Effect.gen(function*() {
          const failure = yield* failing(ran(isStreamed, "Ping!"), "a run that waits")
          if (failure._tag !== "RunSuspended") return yield* Effect.fail(differ("RunSuspended", failure.message))
          const text = JSON.stringify(yield* Schema.encodeEffect(AgentFailure.Suspension)(failure.suspension))
          const stored = yield* Schema.decodeUnknownEffect(AgentFailure.Suspension)(JSON.parse(text))
          yield* same("the answer", (yield* agent.resume(stored, "Yes.")).text, "Done.")
          yield* keeps(subject, (yield* requests)[2], 2)
        }).pipe(Effect.provideService(Model.Model, model)))
    )
}

const mark = "FOREIGN-7"

// What the known models keep of their replies.
const natives: Schema.JsonObject = {
  openai: { reasoning_details: [{ type: "reasoning.encrypted", data: mark }], reasoning_content: mark },
  ollama: { thinking: mark },
  elsewhere: { content: 7, secret: mark },
  "ai-sdk/openai.responses": [
    { type: "reasoning", text: mark, providerOptions: { openai: { itemId: "rs_1", reasoningEncryptedContent: mark } } },
    { type: "tool-call", toolCallId: "call_1", toolName: "ping", providerOptions: { openai: { itemId: mark } } }
  ],
  "ai-sdk/anthropic.messages": [
    { type: "reasoning", text: mark, providerOptions: { anthropic: { signature: mark } } },
    { type: "tool-call", toolCallId: "call_1", toolName: "ping" }
  ],
  "ai-sdk/google.generative-ai": [
    {
      type: "tool-call",
      toolCallId: "call_1",
      toolName: "ping",
      providerOptions: { google: { thoughtSignature: mark } }
    }
  ]
}

const foreign: Rule = {
  name: "A conversation with another model goes on, and the server gets nothing that another server added.",
  holds: (subject) =>
    playing(
      subject,
      [ScriptedModel.text("Hello."), ScriptedModel.text("And.")],
      ({ model, requests }) =>
        Effect.gen(function*() {
          const { native = {} } = yield* whole(model)
          const own = new Set(Object.keys(native ?? {}))
          const theirs = Object.fromEntries(Object.entries(natives).filter(([name]) => !own.has(name)))
          const transcript = Transcript.make([
            user,
            {
              role: "assistant",
              text: "One moment.",
              calls: [{ id: "call_1", name: "ping", arguments: "{\"n\":1}" }],
              native: theirs
            },
            { role: "tool", callId: "call_1", name: "ping", text: "pong" },
            { role: "assistant", text: "It said pong.", calls: [], native: theirs }
          ])
          const { text } = yield* agent.run("And?", { transcript })
          yield* same("the answer", text, "And.")
          const request = (yield* requests)[1]
          // Without a wire, nothing is sent.
          if (!isConnected(subject)) return
          yield* demand(request !== undefined && !bodyOf(request).includes(mark), `a request without ${mark}`, request)
          yield* same(
            "the messages",
            request?.messages.slice(1).map(({ role, text }) => [role, text]),
            [["user", "Ping!"], ["assistant", "One moment."], ["tool", "pong"], ["assistant", "It said pong."], [
              "user",
              "And?"
            ]]
          )
        }).pipe(Effect.provideService(Model.Model, model)),
      once
    )
}

// -----------------------------------------------------------------------------
// Files
// -----------------------------------------------------------------------------

const bytes = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 7, 7, 7])

const files: ReadonlyArray<Transcript.File> = [
  { ...Transcript.file(bytes, "image/png"), name: "photo.png" },
  Transcript.file(bytes, "image/jpeg"),
  { ...Transcript.file(bytes, "application/pdf"), name: "bill.pdf" },
  { ...Transcript.file(bytes, "text/plain"), name: "notes.txt" },
  Transcript.file(bytes, "audio/wav"),
  { ...Transcript.file(bytes, "application/zip"), name: "all.zip" },
  { url: "https://shop.example/7.png" },
  { url: "https://shop.example/7.pdf", mediaType: "application/pdf" },
  { url: `data:image/png;base64,${btoa(String.fromCharCode(...bytes))}` }
]

// The bytes or the address of a file; or what a note says of it.
const namesOf = (file: Transcript.File): ReadonlyArray<string> => {
  const type = file.mediaType === undefined ? [] : [file.mediaType]
  return "url" in file
    ? [file.url.replace(/^data:.*,/, ""), ...type, ...(file.url.startsWith("data:") ? ["image/png"] : [])]
    : [file.base64, new TextDecoder().decode(bytes), ...type]
}

const sendsFiles: Rule = {
  name: "Files of users and of tools reach the server, or are named in a note.",
  holds: (subject) =>
    Effect.forEach(
      files,
      (file) =>
        Effect.forEach(["user", "tool"] as const, (role) =>
          playing(subject, [ScriptedModel.text("Nice.")], ({ model, requests }) =>
            Effect.gen(function*() {
              const messages = role === "user"
                ? [{ role, text: "What is this?", files: [file] }]
                : calling("ping", "{}").map((message) =>
                  message.role === "tool" ? { ...message, files: [file] } : message
                )
              const { text } = yield* whole(model, { transcript: Transcript.make(messages), tools: offered })
              yield* same("the reply", text, "Nice.")
              const request = (yield* requests).at(-1)
              const body = request === undefined ? "" : bodyOf(request)
              yield* demand(
                namesOf(file).some((name) =>
                  body.includes(name)
                ),
                `one of ${namesOf(file).join(", ")}`,
                body
              )
            })).pipe(found(`of the ${role}: ${file.name ?? file.mediaType ?? "an address"}`))),
      { discard: true }
    )
}

const offered = Toolkit.make(ping).definitions

export const conversations: ReadonlyArray<Rule> = [
  arrives,
  accepted,
  answersAll,
  anyIds,
  threeTurns,
  suspended,
  foreign,
  sendsFiles
]
