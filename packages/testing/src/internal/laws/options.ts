/** Laws of options: they reach the server, or fail as unsupported. */
import { Agent, Model, ModelFailure, Tool, Toolkit } from "@fallible/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Subject } from "../../ModelLaws.ts"
import * as ScriptedModel from "../../ScriptedModel.ts"
import { demand, found, isConnected, playing, question, type Rule, same, ways } from "./rule.ts"

const ping = Tool.make(
  "ping",
  { description: "Answers", success: Schema.String, sideEffect: "none" },
  () => Effect.succeed("pong")
)
const toolkit = Toolkit.make(ping)

const offers: Rule = {
  name: "The server gets the tools, the temperature and the maximum of tokens.",
  holds: (subject) =>
    playing(subject, [ScriptedModel.text("Hello.")], ({ model, requests }) =>
      Effect.gen(function*() {
        const modelOptions = { temperature: 0.2, maxTokens: 100 }
        yield* Agent.make({ toolkit }).run("Ping!", { modelOptions }).pipe(Effect.provideService(Model.Model, model))
        const [request] = yield* requests
        yield* same("the tools", request?.tools, toolkit.definitions)
        const { maxTokens, temperature } = request?.options ?? {}
        yield* same("the options", { temperature, maxTokens }, modelOptions)
      }))
}

const output = {
  type: "object",
  properties: { answer_7: { type: "string" } },
  required: ["answer_7"],
  additionalProperties: false
}

interface Wish {
  readonly what: string
  readonly options: Model.Options
  /** A text that the body of the request then has. */
  readonly mark?: string
}

const wishesOf = ({ wire = {} }: Subject): ReadonlyArray<Wish> => {
  const { mark, option } = wire.provider ?? { option: { seed: 7 }, mark: "\"seed\":7" }
  return [
    { what: "temperature", options: { temperature: 0.25 }, mark: "0.25" },
    { what: "maxTokens", options: { maxTokens: 777 }, mark: "777" },
    { what: "stop", options: { stop: ["STOP-7"] }, mark: "STOP-7" },
    { what: "toolChoice none", options: { toolChoice: "none" } },
    { what: "toolChoice required", options: { toolChoice: "required" } },
    { what: "toolChoice of a tool", options: { toolChoice: { tool: "ping" } } },
    { what: "parallelCalls", options: { parallelCalls: false } },
    // A model that does not reason needs no field for "none".
    ...(["low", "high"] as const).map((reasoning) => ({
      what: `reasoning ${reasoning}`,
      options: { reasoning }
    })),
    { what: "output", options: { output }, mark: "answer_7" },
    { what: "provider", options: { provider: option }, mark }
  ]
}

const heeded: Rule = {
  name: "Each option reaches the server, or fails as unsupported. None is silently dropped.",
  holds: (subject) =>
    isConnected(subject)
      ? Effect.forEach(ways, ([way, ask]) =>
        Effect.forEach(wishesOf(subject), ({ mark = "", options, what }) =>
          playing(subject, () =>
            ScriptedModel.text("{\"answer_7\":\"Hello.\"}"), ({ model, requests }) =>
            Effect.gen(function*() {
              const request = { ...question, tools: toolkit.definitions }
              yield* ask(model, request)
              const failure = yield* Effect.match(ask(model, { ...request, options }), {
                onFailure: (failure) =>
                  failure,
                onSuccess: () =>
                  undefined
              })
              if (failure instanceof ModelFailure && failure.code === "unsupported") {
                return
              }
              if (failure !== undefined) {
                return yield* Effect.fail(failure)
              }
              const [without = "", sent = ""] = (yield* requests).map(({ body, ...rest }) =>
                body ?? JSON.stringify(rest)
              )
              yield* demand(sent !== without && sent.includes(mark), `a request with the option ${mark}`, sent)
            })).pipe(found(`${what}, ${way}`))), { discard: true })
      : Effect.void
}

const mustCall: Rule = {
  name: "A forced call without tools fails as unsupported.",
  holds: (subject) =>
    isConnected(subject)
      ? playing(subject, () =>
        ScriptedModel.text("Hello."), ({ model }) =>
        Effect.forEach(ways, ([way, ask]) =>
          Effect.match(ask(model, { ...question, options: { toolChoice: "required" } }), {
            onFailure: (failure) =>
              failure,
            onSuccess: () => undefined
          }).pipe(
            Effect.flatMap((failure) =>
              demand(failure instanceof ModelFailure && failure.code === "unsupported", "unsupported", failure)
            ),
            found(way)
          ), { discard: true }))
      : Effect.void
}

export const options: ReadonlyArray<Rule> = [offers, heeded, mustCall]
