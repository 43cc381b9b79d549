/**
 * The command of the multi-tool agent: its arguments, its flags, and the agent that it runs.
 */
import { Agent } from "@fallible/core"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as CommandLine from "../shared/CommandLine.ts"
import * as Geocoder from "./Geocoder.ts"
import * as Planner from "./Planner.ts"
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
  ...CommandLine.flags
}, ({ maxTurns, outage, seed, ...asked }) => {
  const agent = Agent.make({
    instructions: "Answer with the tools. Say what you could not find out.",
    toolkit,
    limits: { turns: maxTurns }
  })
  const run = CommandLine.show({ ...asked, agent, toolkit, standIn: Planner, epilogue }).pipe(
    Effect.provide(outage ? Geocoder.layerOutage(seed) : Geocoder.layer)
  )
  // The seed also fixes the random waits between attempts.
  return outage ? Random.withSeed(run, seed) : run
}).pipe(
  Command.withDescription("Answers questions about weather, time, population and money with four tools")
)

export const program = CommandLine.program(demo)
