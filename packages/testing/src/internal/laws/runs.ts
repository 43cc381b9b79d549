/** Runs of an agent, and messages, for the laws of conversations. */
import { Agent, type AgentFailure, type Model, Tool, ToolCall, Toolkit, type Transcript } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import type * as Answer from "@fallible/core/Answer"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Received } from "../../ModelLaws.ts"
import { differ, type Difference, found } from "./rule.ts"

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
export const ran = (
  isStreamed: boolean,
  prompt: string,
  options: Agent.RunOptions = {}
): Effect.Effect<Answer.Answer, AgentFailure.AgentFailure | Difference, Model.Model> =>
  isStreamed
    ? Effect.flatMap(Stream.runCollect(agent.stream(prompt, options)), (events): ReturnType<typeof ran> => {
      const end = events.at(-1)
      if (end === undefined || !AgentEvent.isLast(end)) return Effect.fail(differ("the end of a run", end?._tag))
      return end._tag === "RunEnded" ? Effect.succeed(end.answer) : Effect.fail(end.waiting)
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
