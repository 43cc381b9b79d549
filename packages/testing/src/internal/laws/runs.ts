/** Runs of an agent, and messages, for the laws of conversations. */
import { Agent, Tool, ToolCall, Toolkit, type Transcript } from "@fallible/core"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Received } from "../../ModelLaws.ts"
import { differ, found } from "./rule.ts"

export const ping = Tool.make("ping", {
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

export const agent = Agent.make({
  instructions: "Be brief.",
  toolkit: Toolkit.make(ping, confirm),
  modelRetry: Schedule.recurs(0)
})

/** Runs the agent, whole or streamed. */
export const ran = (isStreamed: boolean, prompt: string, options: Agent.RunOptions = {}) =>
  isStreamed
    ? Effect.flatMap(Stream.runCollect(agent.stream(prompt, options)), (events) => {
      const end = events.at(-1)
      return end?._tag === "RunEnded" ? Effect.succeed(end.answer) : Effect.fail(differ("an answer", end?._tag))
    })
    : agent.run(prompt, options)

export const eachWay = (
  law: (isStreamed: boolean) => Effect.Effect<void, unknown>
): Effect.Effect<void, unknown> =>
  Effect.forEach([false, true], (isStreamed) => law(isStreamed).pipe(found(isStreamed ? "streamed" : "whole")), {
    discard: true
  })

/** The text of a request as it went over the wire. */
export const bodyOf = ({ body, messages }: Received): string => body ?? JSON.stringify(messages)

export const user: Transcript.Message = { role: "user", text: "Ping!" }
export const last: Transcript.Message = { role: "user", text: "And what does that mean?" }

export const calling = (name: string, text: string | undefined): ReadonlyArray<Transcript.Message> => [
  user,
  {
    role: "assistant",
    text: "",
    calls: [{ id: "call_1", name, ...(text === undefined ? {} : { arguments: text }) }]
  },
  { role: "tool", callId: "call_1", name, text: "It failed." },
  last
]

export const offered = Toolkit.make(ping).definitions
