/**
 * The command of the clinical assistant: its arguments, its flags, and the agent that it runs.
 */
import { Agent } from "@fallible/core"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as CommandLine from "../shared/CommandLine.ts"
import * as Cache from "./Cache.ts"
import * as Database from "./Database.ts"
import * as DrugApi from "./DrugApi.ts"
import * as DrugServer from "./DrugServer.ts"
import * as Planner from "./Planner.ts"
import { toolkit } from "./tools.ts"

/** Makes a flag that selects a state. The first state is the healthy one, and the default. */
const state = <State extends string>(
  name: string,
  states: readonly [State, ...ReadonlyArray<State>],
  description: string
) => Flag.Literals(name, states).pipe(Flag.withDescription(description), Flag.withDefault(states[0]))

const clinical = Command.make("clinical", {
  question: CommandLine.question("Is it safe to give ibuprofen to patient P-1001?", {
    hint: "patients are P-1001 to P-1004",
    example: "Do warfarin and aspirin interact?"
  }),
  database: state("database", Database.states, "The internal database"),
  api: state("api", DrugServer.states, "The external API"),
  cache: state("cache", Cache.states, "What earlier sessions left: 3 hours old, 30 days old, or nothing"),
  seed: Flag.String("seed").pipe(
    Flag.withDescription("Which requests a flaky API fails: the same seed, the same run"),
    Flag.withDefault("1")
  ),
  ...CommandLine.flags
}, ({ api, cache, database, maxTurns, seed, ...asked }) => {
  const agent = Agent.make({
    instructions: "You help clinicians with the tools. Say where your facts are from, how old they are, and what you " +
      "could not find out. Never choose a drug for the user, and never call anything safe.",
    toolkit,
    limits: { turns: maxTurns }
  })
  const services = Layer.mergeAll(
    Database.layer(database),
    Cache.layer(cache),
    DrugApi.layer.pipe(Layer.provide([DrugServer.layer(api, seed), FetchHttpClient.layer]))
  )
  return CommandLine.show({ ...asked, agent, toolkit, standIn: Planner }).pipe(
    Effect.provide(services),
    // The seed also fixes the random waits between attempts.
    Random.withSeed(seed)
  )
}).pipe(
  Command.withDescription(
    "Answers questions about patients and drugs. Its data are invented; this is no medical advice"
  )
)

export const program = CommandLine.program(clinical)
