/**
 * The command of the orders agent: its arguments, its flags, and the agent that it runs.
 */
import { Agent, SemanticGarbage } from "@fallible/core"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as CommandLine from "../shared/CommandLine.ts"
import * as OrderServer from "./OrderServer.ts"
import * as Planner from "./Planner.ts"
import { allPagesToolkit, plainToolkit, toolkit } from "./tools.ts"
import { Spending } from "./World.ts"

/** A schema cannot say this. The model is told of it, and answers again. */
const checkOutput = ({ open, orders }: Spending) =>
  open > orders
    ? new SemanticGarbage({ code: "impossible_count", detail: `${open} open orders are more than all ${orders}.` })
    : undefined

const orders = Command.make("orders", {
  question: CommandLine.question("What did customer c-17 spend?", {
    hint: "customers are c-17, c-23 and c-42, or Ada Rowe, Ben Okoro and Cleo Marsh",
    example: "What did Ada Rowe spend?"
  }),
  upstream: Flag.Literals("upstream", OrderServer.states).pipe(
    Flag.withDescription("What is wrong with the order service; a gateway that cuts each answer at 4 KB by default"),
    Flag.withDefault("cut")
  ),
  plain: CommandLine.toggle("plain", "The same search without guards, in a loop that notices nothing"),
  allPages: CommandLine.toggle("all-pages", "The search fetches all pages itself; try it with --upstream up"),
  typed: CommandLine.toggle("typed", "The answer is data of a schema, which the program checks"),
  ...CommandLine.flags
}, ({ allPages, maxTurns, plain, typed, upstream, ...asked }) => {
  const mistake = !plain
    ? undefined
    : allPages
    ? "--plain follows no pages: leave it out, or --all-pages."
    : typed
    ? "--plain answers in words: leave it out, or --typed."
    : undefined
  if (mistake !== undefined) return Effect.andThen(Console.error(mistake), Effect.fail("usage" as const))
  const tools = allPages ? allPagesToolkit : toolkit
  const options = { instructions: "Add up what the customer spent. Use the tools.", limits: { turns: maxTurns } }
  const run = plain
    ? CommandLine.show({
      ...asked,
      agent: Agent.make({ ...options, toolkit: plainToolkit, loopGuard: "off" }),
      toolkit: plainToolkit,
      standIn: Planner
    })
    : CommandLine.show({
      ...asked,
      agent: typed
        ? Agent.make({ ...options, toolkit: tools, output: Spending, checkOutput })
        : Agent.make({ ...options, toolkit: tools }),
      toolkit: tools,
      standIn: Planner
    })
  return Effect.provide(run, [OrderServer.layer(upstream), FetchHttpClient.layer])
}).pipe(
  Command.withDescription("Answers questions about orders, from a service that misbehaves. Its data are invented")
)

export const program = CommandLine.program(orders)
