/** A program like the examples, whose tool dies of a stack overflow. It can also run as a process. */
import { Agent, Model, Tool, Toolkit } from "@fallible/core"
import * as CommandLine from "@fallible/examples/shared/CommandLine"
import { Effect, Schema } from "effect"
import * as Command from "effect/cli/Command"

const depthOf = (value: object): number => 1 + depthOf({ value })

const measure = Tool.make("measure", {
  description: "Measures something",
  parameters: Schema.Struct({ what: Schema.String }),
  success: Schema.Int,
  sideEffect: "none"
}, ({ what }) => Effect.sync(() => depthOf({ what })))

const call = { id: "call_1", name: "measure", arguments: "{\"what\":\"the sea\"}" }

/** A model that calls `measure` once and answers with the failure's detail. */
const standIn = {
  notice: "A stand-in plays the model.",
  layer: Model.layer({
    respond: ({ transcript }) =>
      Effect.sync((): Model.Reply => {
        const last = Array.from(transcript).at(-1)
        if (last?.role !== "tool") return { text: "", calls: [call] }
        const { detail }: { readonly detail: string } = JSON.parse(last.text)
        return { text: `I could not measure it. ${detail}`, calls: [] }
      })
  })
}

const command = Command.make("dying", {
  question: CommandLine.question("How deep is the sea?", { hint: "about depths", example: "How deep is it?" }),
  ...CommandLine.flags
}, ({ maxTurns, question, ...how }) => {
  const toolkit = Toolkit.make(measure)
  const agent = Agent.make({ toolkit, limits: { turns: maxTurns } })
  return CommandLine.show({ ...how, question, agent, toolkit, standIn })
})

export const program = CommandLine.program(command)

if (import.meta.main) CommandLine.run(program)
