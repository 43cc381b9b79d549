/** Plays a fault over HTTP with the README's first agent, and compares its end with the best one. */
import { Agent, type AgentFailure, type Model, Observer, Policy, Toolkit } from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Duration, Effect, Exit, Fiber, Logger, Queue } from "effect"
import { TestClock } from "effect/testing"
import * as Http from "node:http"
import { listening } from "./http.ts"
import { atOnce, openAi, serving } from "./models.ts"
import { answer, World } from "./plainTools.ts"
import type { Scenario } from "./toolFaults.ts"

interface Played {
  readonly exit: Exit.Exit<Answer.Answer, AgentFailure.AgentFailure>
  readonly cost: string
  readonly done: ReadonlyArray<string>
  /** All text that the model has read. */
  readonly read: string
}

// The tools of a scenario need no services, but the common type of all scenarios cannot express that.
const needingAModel = <A, E>(run: Effect.Effect<A, E, unknown>) => run as Effect.Effect<A, E, Model.Model>

/** Plays a fault with the README's first agent. */
export const playedFault = (
  { model, service = () => answer({}), tools }: Scenario,
  reading: (script: FakeModelServer.Script) => FakeModelServer.Script = (script) => script
) =>
  Effect.gen(function*() {
    let requests = 0
    const url = yield* listening(Http.createServer((_, response) => service(++requests)(response)))
    // Time passes only during a wait: of a policy, or of the caller of a hanging tool.
    const waits = yield* Queue.unbounded<Duration.Duration>()
    const wait = (duration: Duration.Duration) => Queue.offerUnsafe(waits, duration)
    const world = new World(url, () => wait(Duration.seconds(30)))
    const onEvent: NonNullable<Observer.Observer["onEvent"]> = (event) => {
      if (event._tag === "WaitStarted" && event.wait !== undefined) wait(event.wait)
    }
    // This is the README's first agent.
    const agent = Agent.make({ toolkit: Toolkit.make(...tools(world)), policies: Policy.standard() })
    const { exit, state } = yield* Effect.gen(function*() {
      const run = needingAModel(agent.run("The user's question.")).pipe(
        atOnce,
        Observer.observe({ onEvent })
      )
      const fiber = yield* Effect.forkChild(run)
      yield* Effect.forkChild(
        Effect.forever(Effect.flatMap(Queue.take(waits), (duration) => TestClock.adjust(duration)))
      )
      const exit = yield* Fiber.await(fiber)
      return { exit, state: yield* (yield* FakeModelServer.FakeModelServer).state }
    }).pipe(Effect.provide(serving(openAi)(reading(model))), Effect.provide(Logger.layer([])))
    const read = JSON.stringify(state.requests.map(({ asked }) => asked?.messages))
    const played: Played = { exit, cost: `${state.replies}/${world.ran.length}`, done: world.done, read }
    return played
  })

/** Lists the faults of a played scenario. */
export const shortcomings = ({ cost, done = [], reads, says }: Scenario, played: Played): ReadonlyArray<string> => {
  const text = Exit.isSuccess(played.exit) ? played.exit.value.text : "no answer"
  return [
    says.test(text) ? "" : `it answers ${text.slice(0, 300)}`,
    reads === undefined || reads.test(played.read) ? "" : `its model reads ${played.read.slice(-600)}`,
    played.cost === cost ? "" : `it costs ${played.cost}`,
    played.done.join() === done.join() ? "" : `it has ${played.done.join()}`
  ].filter((shortcoming) => shortcoming !== "")
}
