/** The ways to run an agent: each provider, whole or streamed. Records the result of each run. */
import { assert } from "@effect/vitest"
import { Agent, type AgentFailure, type Tool, Toolkit } from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import type { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Exit, Logger, Stream } from "effect"
import { atOnce, bridges, gemini, messages, ollama, openAi, providers, serving } from "./models.ts"

interface Played {
  readonly exit: Exit.Exit<Answer.Answer, AgentFailure.AgentFailure>
  readonly replies: number
  readonly executions: number
  readonly requests: ReadonlyArray<ScriptedModel.Recorded>
}

/** A provider, and whether the agent streams. */
interface Way {
  readonly name: string
  readonly provider: typeof openAi
  readonly streamed: boolean
  /** True if arguments are JSON objects on the wire, which no malformed text is. */
  readonly sendsObjects: boolean
  /** True if the server reads messages of one role that follow each other as one. */
  readonly joinsMessages: boolean
  /** Encodes a message as the provider's server does, if its messages have the form of Chat Completions. */
  readonly said?: (message: object) => string
}

const saidByOllama = (message: object): string => `${JSON.stringify({ message, done: true })}\n`

const saidBy = (streamed: boolean) => (message: object): string => {
  const choice = { index: 0, [streamed ? "delta" : "message"]: message, finish_reason: "stop" }
  const completion = JSON.stringify({ choices: [choice] })
  return streamed ? `data: ${completion}\n\ndata: [DONE]\n\n` : completion
}

/** Each provider, whole and streamed. */
export const ways: ReadonlyArray<Way> = [...providers, ...bridges].flatMap(([name, provider]) =>
  [false, true].map((streamed) => ({
    name: streamed ? `${name}, streamed` : name,
    provider,
    streamed,
    joinsMessages: provider === messages,
    sendsObjects: provider === gemini || provider === messages && !streamed,
    ...(provider === ollama ? { said: saidByOllama } : provider === openAi ? { said: saidBy(streamed) } : {})
  }))
)

/** Runs an agent to its end, and counts the executions of its handlers. */
export const playing = ({ provider, streamed }: Way) =>
<T extends Tool.Any>(options: {
  readonly tools: (ran: Effect.Effect<void>) => ReadonlyArray<T>
  readonly model: FakeModelServer.Script
  readonly turns?: number
}): Effect.Effect<Played, never, Tool.Requirements<T>> =>
  Effect.gen(function*() {
    let executions = 0
    const ran = Effect.sync(() => {
      executions++
    })
    const agent = Agent.make({
      toolkit: Toolkit.make(...options.tools(ran)),
      limits: { turns: options.turns ?? 10 }
    })
    const question = "The user's question."
    const answer = streamed
      ? Stream.runFold(agent.stream(question), (): Answer.Answer | undefined =>
        undefined, (answer, event) =>
        event._tag === "RunEnded" ? event.answer : answer)
      : agent.run(question)
    const run = Effect.flatMap(answer, (answer) =>
      answer === undefined ? Effect.die("no RunEnded") : Effect.succeed(answer))
    const { exit, state } = yield* Effect.gen(function*() {
      const exit = yield* Effect.exit(atOnce(run))
      const server = yield* FakeModelServer.FakeModelServer
      return { exit, state: yield* server.state }
    }).pipe(Effect.provide(serving(provider)(options.model)), Effect.provide(Logger.layer([])))
    assert.deepStrictEqual(
      state.requests.flatMap(({ problem }) =>
        problem ?? []
      ),
      [],
      "the server took every request"
    )
    const requests = state.requests.flatMap(({ asked }) =>
      asked ?? []
    )
    return { exit, requests, replies: state.replies, executions }
  })

export const costs = ({ executions, replies }: Played) => `${replies}/${executions}`

export const answered = ({ exit }: Played): string => Exit.isSuccess(exit) ? exit.value.text : "no answer"

/** Lists the repairs of arguments in the report. */
export const repaired = ({ exit }: Played): ReadonlyArray<string> =>
  Exit.isSuccess(exit) ? exit.value.report.repairs.map(({ kind, tool }) => `${tool} ${kind}`) : ["no answer"]
