/**
 * The command of the multi-tool agent: its arguments, its flags, and the agent that it runs.
 */
import { Agent, type Model } from "@fallible/core"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as CommandLine from "../shared/CommandLine.ts"
import type * as Conversation from "../shared/Conversation.ts"
import * as Geocoder from "./Geocoder.ts"
import * as Malformed from "./Malformed.ts"
import * as Planner from "./Planner.ts"
import * as StoredConversation from "./StoredConversation.ts"
import { toolkit } from "./tools.ts"

const defaultQuestion = "What is the weather in London, Tokyo, and Atlantis right now? And convert 50 GBP to JPY."

const epilogue = "See eight failures and what the library does:\nnpx -y pnpm@12 tour"

const demo = Command.make("demo", {
  question: CommandLine.question(defaultQuestion, {
    hint: "several questions at once are fine",
    example: "What time is it in Sydney?"
  }),
  outage: CommandLine.toggle("outage", "The geocoder refuses 60 % of its calls"),
  seed: Flag.String("seed").pipe(
    Flag.withDescription("Which calls are refused in an outage: the same seed, the same run"),
    Flag.withDefault("51")
  ),
  malformed: CommandLine.toggle("malformed", "The stand-in writes malformed calls, which are repaired or refused"),
  conversation: Flag.String("conversation").pipe(
    Flag.withDescription("Continues the conversation in this file, and stores it there"),
    Flag.filter((file) => file.trim() !== "", () => "a file, such as trip.json"),
    Flag.optional
  ),
  ...CommandLine.flags
}, ({ conversation, malformed, maxTurns, outage, seed, ...asked }) => {
  const agent = Agent.make({
    instructions: "Answer with the tools. Say what you could not find out.",
    toolkit,
    limits: { turns: maxTurns }
  })
  const standIn = malformed ? Malformed : Planner
  const show = (agent: Conversation.Agent<Geocoder.Geocoder | Model.Model>) =>
    CommandLine.show({ ...asked, agent, toolkit, standIn, epilogue })
  const run = Option.match(conversation, {
    onNone: () => show(agent),
    onSome: (file) => StoredConversation.keep(file, agent, show)
  }).pipe(
    Effect.provide(outage ? Geocoder.layerOutage(seed) : Geocoder.layer)
  )
  // The seed also fixes the random waits between attempts.
  return outage ? Random.withSeed(run, seed) : run
}).pipe(
  Command.withDescription("Answers questions about weather, time, population and money with four tools")
)

export const program = CommandLine.program(demo)
