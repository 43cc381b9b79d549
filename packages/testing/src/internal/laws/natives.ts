/** Laws of what a server adds to its replies: it goes back to that server, and to no other. */
import { AgentFailure, Model, Transcript } from "@fallible/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Received, Subject } from "../../ModelLaws.ts"
import * as ScriptedModel from "../../ScriptedModel.ts"
import { demand, differ, failing, isConnected, playing, type Rule, same, whole } from "./rule.ts"
import { agent, bodyOf, eachWay, ran, user } from "./runs.ts"

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
const known: Schema.JsonObject = {
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
          const theirs = Object.fromEntries(Object.entries(known).filter(([name]) => !own.has(name)))
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
        }).pipe(Effect.provideService(Model.Model, model))
    )
}

export const natives: ReadonlyArray<Rule> = [threeTurns, suspended, foreign]
