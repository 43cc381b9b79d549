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

/**
 * What is asked if the command line asks nothing. In the outage, London needs a retry, and Mumbai needs a reply of the user,
 * which is given in advance.
 */
const scene = {
  question: "How is the weather in London and in Mumbai? How many people live in Sydney? And what is 50 GBP in JPY?",
  reply: ["Tokyo"]
}

const epilogue = [
  { text: "Reply to its question yourself:", command: "npx -y pnpm@12 demo \"Rain in Mumbai?\"" },
  { text: "See eight failures and what the library does:", command: "npx -y pnpm@12 tour" }
]

const demo = Command.make("demo", {
  question: CommandLine.question(scene.question, {
    hint: `several questions at once are fine. By default, "${scene.question}", with --reply ${scene.reply.join()}`,
    example: "What time is it in Sydney?"
  }),
  outage: Flag.Boolean("outage").pipe(
    Flag.withDescription("The geocoder refuses 60 % of its look-ups, unless you say --no-outage"),
    Flag.withDefault(true)
  ),
  seed: Flag.String("seed").pipe(
    Flag.withDescription("Which look-ups are refused in an outage: the same seed, the same run; 232 by default"),
    Flag.withDefault("232")
  ),
  malformed: CommandLine.toggle("malformed", "The stand-in writes malformed calls, which are repaired or refused"),
  conversation: Flag.String("conversation").pipe(
    Flag.withDescription("Continues the conversation in this file, and stores it there"),
    Flag.filter((file) => file.trim() !== "", () => "a file, such as trip.json"),
    Flag.optional
  ),
  ...CommandLine.flags
}, ({ conversation, malformed, maxTurns, outage, question, reply, seed, ...asked }) => {
  const agent = Agent.make({
    instructions: "Answer with the tools. Say what you could not find out.",
    toolkit,
    limits: { turns: maxTurns }
  })
  const standIn = malformed ? Malformed : Planner
  const show = (agent: Conversation.Agent<Geocoder.Geocoder | Model.Model>) =>
    CommandLine.show({
      ...asked,
      agent,
      toolkit,
      question,
      reply: reply.length === 0 && question === scene.question ? scene.reply : reply,
      standIn,
      setting: outage ? "The geocoder is in an outage: it refuses 60 % of its look-ups." : "",
      epilogue
    })
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
