/** Plays a scenario of honest work over a real model server, in virtual time: with a plain loop, and with this library. */
import { Agent, type Model, Policy } from "@fallible/core"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Clock, Effect, Exit, Logger } from "effect"
import { atOnce, openAi, serving } from "../models.ts"
import { passingBy } from "../virtualTime.ts"
import { plainLoop } from "./plainLoop.ts"
import { type PlainTool, toolkitOf } from "./plainTool.ts"
import type { HonestScenario, Script, World } from "./scenario.ts"

export interface Played {
  readonly answer: string
  readonly replies: number
  readonly done: ReadonlyArray<string>
  /** How long it took, in milliseconds of virtual time. */
  readonly time: number
  /** The bytes of all requests to the model. */
  readonly bytes: number
}

/** A way to play: what it answers. */
type Way = (
  tools: ReadonlyArray<PlainTool>
) => Effect.Effect<string, never, FakeModelServer.FakeModelServer | Model.Model>

const question = "The user's question."

const played = (
  { model, tools }: HonestScenario,
  way: Way,
  reading: (script: Script) => FakeModelServer.Script = (script) => script
) =>
  Effect.gen(function*() {
    const context = yield* Effect.context()
    const world: World = {
      done: [],
      ran: [],
      hold: (millis) => Effect.runPromiseWith(context)(Effect.sleep(millis))
    }
    const start = yield* Clock.currentTimeMillis
    let end = start
    const run = Effect.gen(function*() {
      const answer = yield* way(tools(world))
      end = yield* Clock.currentTimeMillis
      const { replies, requests } = yield* (yield* FakeModelServer.FakeModelServer).state
      const bytes = requests.reduce((sum, { body }) => sum + body.length, 0)
      return { answer, replies, bytes }
    }).pipe(Effect.provide(serving(openAi)(reading(model))), Effect.provide(Logger.layer([])))
    const ended = yield* passingBy("100 millis", yield* Effect.forkChild(run))
    const result: Played = { ...ended, done: world.done, time: end - start }
    return result
  })

/** Plays a scenario with a plain loop. */
export const playedPlainly = (scenario: HonestScenario) =>
  played(
    scenario,
    (tools) =>
      Effect.flatMap(FakeModelServer.FakeModelServer, ({ url }) =>
        Effect.promise(async () => (await plainLoop(url, tools, question)).answer))
  )

/** Plays a scenario with the agent that the README shows: `Policy.standard()`, and nothing else. */
export const playedHere = (scenario: HonestScenario, reading?: (script: Script) => FakeModelServer.Script) =>
  played(scenario, (tools) => {
    const agent = Agent.make({ toolkit: toolkitOf(tools), policies: Policy.standard() })
    return Effect.map(
      Effect.exit(atOnce(agent.run(question))),
      (exit) => Exit.isSuccess(exit) ? exit.value.text : `No answer: ${String(exit.cause)}`
    )
  }, reading)
