/** Agents whose models repeat calls, for the tests of `LoopGuard`. */
import { assert } from "@effect/vitest"
import { Agent, type Model, Tool, Toolkit, type Transcript } from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import type * as SideEffect from "@fallible/core/SideEffect"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Exit, Schema, Stream } from "effect"

const Parameters = Schema.Struct({
  n: Schema.optionalKey(Schema.Int),
  m: Schema.optionalKey(Schema.Int),
  text: Schema.optionalKey(Schema.String)
})
export type Parameters = typeof Parameters.Type

interface Definition {
  readonly sideEffect?: SideEffect.SideEffect
  readonly volatile?: ReadonlyArray<string>
  readonly repeats?: boolean
  readonly failureLimit?: number
  readonly poll?: Tool.PollOptions
}

/** Makes a tool whose result depends on its parameters, and on how often it has run, from 1. */
export const tool = <const Name extends string>(
  name: Name,
  result: (ran: number, params: Parameters) => Schema.Json,
  definition: Definition = {}
) => {
  let ran = 0
  return Tool.make(
    name,
    { description: name, parameters: Parameters, success: Schema.Json, sideEffect: "none", ...definition },
    (params) => Effect.sync(() => result(++ran, params))
  )
}

type Options = Pick<Agent.Options<Tool.Any>, "loopGuard" | "onLimit" | "limits" | "modelOptions">

/** A guard that takes its steps one after the other, as soon as it may. */
export const prompt = { warnAt: 3, refuseAt: 4, withdrawAt: 5, endAt: 6 } as const

/** Runs an agent to its end, with a prompt guard. Returns its exit, its requests, and its events. */
export const played = <T extends Tool.Any>(
  tools: ReadonlyArray<T>,
  script: ScriptedModel.Script,
  options: Options = {}
) =>
  Effect.gen(function*() {
    const agent = Agent.make({ toolkit: Toolkit.make(...tools), limits: { turns: 100 }, loopGuard: prompt, ...options })
    const events: Array<AgentEvent.AgentEvent> = []
    const exit = yield* Effect.exit(Stream.runForEach(agent.stream("?"), (event) =>
      Effect.sync(() => {
        events.push(event)
      })))
    const ended = events.find((event) => event._tag === "RunEnded")
    const { requests } = yield* ScriptedModel.ScriptedModel
    const failure = Exit.isFailure(exit) ? yield* Effect.flip(exit) : undefined
    return { failure, answer: ended?.answer, events, requests: yield* requests }
  }).pipe(Effect.provide(ScriptedModel.layer(script)))

export type Played = Effect.Success<ReturnType<typeof played>>

/** Makes a script that makes the given calls in turn, for ever. */
export const repeating = (...replies: ReadonlyArray<Model.Reply>): ScriptedModel.Script => (_, index) =>
  replies[index % replies.length]!

/** Makes a script that makes a call in each of some turns, and then answers. */
export const times = (turns: number, call: (turn: number) => Model.Reply): ScriptedModel.Script => (_, index) =>
  index < turns ? call(index + 1) : ScriptedModel.text("done")

/** The steps that the guard took, with their turns. */
export const steps = ({ events }: Played): ReadonlyArray<string> =>
  events.flatMap((event) => event._tag === "LoopNoticed" ? [`${event.turn} ${event.step} ${event.tools.join()}`] : [])

/** What the model read of its calls, oldest first. */
export const told = ({ answer, failure }: Played): ReadonlyArray<string> =>
  Array.from(answer?.transcript ?? failure?.transcript ?? []).flatMap((message) =>
    message.role === "tool" ? [message.text] : []
  )

/** The names of the tools that the model was offered, for each request. */
export const offered = ({ requests }: Played): ReadonlyArray<string> =>
  requests.map(({ tools }) => tools.map(({ name }) => name).join())

export const loopDetected = ({ failure }: Played) => {
  if (failure?._tag !== "LoopDetected") return assert.fail(`ended with ${failure?._tag ?? "an answer"}`)
  return failure
}

export const answered = ({ answer, failure }: Played) => {
  if (answer === undefined) return assert.fail(`ended with ${failure?._tag}: ${failure?.detail}`)
  return answer
}

/** True if every call has its result, so that any provider accepts the history. */
export const isValid = (transcript: Transcript.Transcript): boolean => {
  const open: Array<string> = []
  for (const message of transcript) {
    if (message.role === "assistant") open.push(...message.calls.map(({ id }) => id))
    if (message.role === "tool" && open.shift() !== message.callId) return false
  }
  return open.length === 0
}
