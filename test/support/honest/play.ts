/** Plays an honest scenario by the plain loop and by an agent, over real HTTP and in virtual time. */
import { Agent, type Model, Policy, type Tool, Toolkit } from "@fallible/core"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Clock, Effect, Exit, Logger } from "effect"
import * as Http from "node:http"
import { listening } from "../http.ts"
import { atOnce, openAi, serving } from "../models.ts"
import { plainLoop } from "../plainLoop.ts"
import { skippingSleeps } from "../skippedTime.ts"
import type { Scenario as Fault } from "../toolFaults.ts"
import { type HonestScenario, HonestWorld } from "./scenario.ts"

/** What became of a scenario. */
export interface Played {
  /** The answer, or why there is none. */
  readonly text: string
  readonly replies: number
  readonly done: ReadonlyArray<string>
  /** All text that the model has read. */
  readonly read: string
  /** The virtual milliseconds until the answer. */
  readonly time: number
}

/** Plays a scenario by the plain loop. */
export const playPlain = (scenario: HonestScenario): Effect.Effect<Played> =>
  playBy(scenario, scenario.model, (tools) =>
    Effect.flatMap(FakeModelServer.FakeModelServer, ({ url }) =>
      Effect.map(
        Effect.promise(() => plainLoop(url, tools, scenario.question)),
        ({ text }) => text ?? "no answer"
      )))

/** Changes how the model of a scenario listens. */
export type Listen = (script: FakeModelServer.Script) => FakeModelServer.Script

const asItIs: Listen = (script) => script

/** Plays a scenario by the library's agent as it is by default. */
export const playAgent = (scenario: HonestScenario, listen: Listen = asItIs): Effect.Effect<Played> =>
  playBy(
    scenario,
    listen(scenario.model),
    (tools) => answerOf(tools.map(({ tool }) => tool), scenario.question)
  )

/** Plays a fault in the same way. */
export const playFault = (
  { model, service, tools }: Pick<Fault, "model" | "service" | "tools">,
  listen: Listen = asItIs
): Effect.Effect<Played> =>
  Effect.suspend(() => {
    let requests = 0
    const setting = { tools, ...(service === undefined ? {} : { service: () => service(++requests) }) }
    return playBy(setting, listen(model), (tools) => answerOf(tools, "The user's question."))
  })

/** What an agent with these tools answers. Its only setting is that of the README's first agent. */
const answerOf = (tools: ReadonlyArray<Tool.Any>, question: string): Effect.Effect<string, never, Model.Model> =>
  needingAModel(Agent.make({ toolkit: Toolkit.make(...tools), policies: Policy.standard() }).run(question)).pipe(
    atOnce,
    Effect.exit,
    Effect.map((exit) => Exit.isSuccess(exit) ? exit.value.text : `no answer: ${whyOf(exit)}`)
  )

// The tools of a scenario need no services, but the type of all tools cannot say so.
const needingAModel = <A, E>(run: Effect.Effect<A, E, unknown>) => run as Effect.Effect<A, E, Model.Model>

const whyOf = (exit: Exit.Failure<unknown, { readonly _tag: string; readonly detail: string }>): string => {
  const failure = exit.cause.reasons.find((reason) => reason._tag === "Fail")
  return failure === undefined ? "a defect" : `${failure.error._tag}, ${failure.error.detail}`
}

interface Setting<Tools> {
  readonly service?: HonestScenario["service"] & {}
  readonly tools: (world: HonestWorld) => Tools
}

const playBy = <Tools>(
  { service, tools }: Setting<Tools>,
  model: FakeModelServer.Script,
  run: (tools: Tools) => Effect.Effect<string, never, FakeModelServer.FakeModelServer | Model.Model>
): Effect.Effect<Played> =>
  Effect.gen(function*() {
    const url = yield* serviceOf(service)
    const clock = yield* Clock.clockWith(Effect.succeed)
    const held: Array<Promise<void>> = []
    const world = new HonestWorld(url, (millis) => {
      const end = Effect.runPromise(Effect.provideService(Effect.sleep(millis), Clock.Clock, clock))
      held.push(end)
      return end
    })
    const start = yield* Clock.currentTimeMillis
    const text = yield* run(tools(world))
    const time = (yield* Clock.currentTimeMillis) - start
    // A handler whose call was given up may still act.
    for (let ended = 0; ended < held.length; ended++) yield* Effect.promise(() => held[ended]!)
    const { replies, requests } = yield* (yield* FakeModelServer.FakeModelServer).state
    const read = JSON.stringify(requests.map(({ asked }) => asked?.messages))
    return { text, replies, done: world.done, read, time }
  }).pipe(
    Effect.provide(serving(openAi)(model)),
    Effect.scoped,
    skippingSleeps,
    Effect.provide(Logger.layer([]))
  )

const serviceOf = (service: HonestScenario["service"] | undefined) => {
  const counts = new Map<string, number>()
  return listening(Http.createServer((request, response) => {
    const { method = "GET", url: path = "/" } = request
    const times = (counts.get(`${method} ${path}`) ?? 0) + 1
    counts.set(`${method} ${path}`, times)
    if (service === undefined) response.writeHead(404).end()
    else service({ method, path, times })(response)
  }))
}

// -----------------------------------------------------------------------------
// Judging
// -----------------------------------------------------------------------------

/** Lists what is wrong with the end of a played scenario, whatever it cost. */
export const wrongEnds = (
  { done = [], never, says }: Pick<HonestScenario, "done" | "never" | "says">,
  played: Played
): ReadonlyArray<string> =>
  [
    says.test(played.text) ? "" : `it answers ${played.text.slice(0, 400)}`,
    never?.test(`${played.text} ${played.read}`) === true ? `it says or reads ${String(never)}` : "",
    played.done.join() === done.join() ? "" : `it has done: ${played.done.join()}`
  ].filter((fault) => fault !== "")

/** Lists what a played scenario cost too much. */
export const excess = (
  { isPlain = false, replies, time = Infinity }: HonestScenario,
  played: Played
): ReadonlyArray<string> =>
  [
    played.replies <= replies + (isPlain ? 0 : 1) ? "" : `it costs ${played.replies} replies, not ${replies}`,
    played.time <= time ? "" : `it takes ${played.time} ms, not ${time} ms`
  ].filter((fault) => fault !== "")
