/** Example 6 with a model over a real wire, which may make mistakes, and with a clock that does not wait for retries. */
import { createOpenAI } from "@ai-sdk/openai"
import type { Model, ToolCall, Transcript } from "@fallible/core"
import * as Planner from "@fallible/examples/06-from-the-ai-sdk/Planner"
import { play, type Played, programs, type Setting } from "@fallible/examples/06-from-the-ai-sdk/Scene"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Clock, Duration, Effect, Layer, Logger } from "effect"

export type ProgramName = keyof typeof programs

/** What a model does otherwise than the stand-in: it returns the reply that it makes of the stand-in's. */
export type Mistake = (reply: Model.Reply, messages: ReadonlyArray<Transcript.Message>) => Model.Reply

export interface Travelled extends Played {
  /** What the model has read of calls, in all requests. */
  readonly told: ReadonlyArray<string>
}

export const travel = (
  name: ProgramName,
  { mistake = (reply) => reply, ...setting }: Omit<Setting, "model" | "services"> & { readonly mistake?: Mistake }
): Effect.Effect<Travelled> =>
  Effect.scoped(Effect.gen(function*() {
    const { state, url } = yield* FakeModelServer.make(({ messages }) => mistake(Planner.reply(messages), messages))
    const model = createOpenAI({ apiKey: "any", baseURL: `${url}/v1` }).responses("any")
    const played = yield* Effect.promise(() => play(programs[name], { ...setting, model, services }))
    const { requests } = yield* state
    const read = requests.flatMap(({ asked }) => asked?.messages ?? []).flatMap((message) =>
      message.role === "tool" ? [message.text] : []
    )
    return { ...played, told: Array.from(new Set(read)) }
  }))

// Waits before a retry are short, and time limits are long. Only the latter are waited for.
const impatient: Clock.Clock = Object.assign(Object.create(Clock.Clock.defaultValue()), {
  sleep: (duration: Duration.Duration) =>
    Duration.toSeconds(duration) < 5 ? Effect.yieldNow : Clock.Clock.defaultValue().sleep(duration)
})

const services = Layer.merge(Logger.layer([]), Layer.succeed(Clock.Clock, impatient))

/** Changes the first call of a tool. */
export const firstCall = (
  tool: string,
  change: (call: ToolCall.ToolCall) => ReadonlyArray<ToolCall.ToolCall>
): Mistake => {
  let isMade = false
  return (reply) => {
    if (isMade || !reply.calls.some(({ name }) => name === tool)) return reply
    isMade = true
    return { ...reply, calls: reply.calls.flatMap((call) => call.name === tool ? change(call) : [call]) }
  }
}
