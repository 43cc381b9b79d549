/**
 * The faults that the simplest agent recovers from, over HTTP. Its tools are plain async functions that throw
 * ordinary errors, and its only setting is `Policy.standard()`.
 *
 * The model is a function of its messages. It reads the text of tool results as a weak model does, and does
 * not know this library. Errors of libraries are recorded (`support/errorShapes`); errors of `fetch` are
 * real.
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, type AgentFailure, type Model, Observer, Policy, Toolkit } from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Duration, Effect, Exit, Fiber, Logger, Queue } from "effect"
import { TestClock } from "effect/testing"
import { readFileSync } from "node:fs"
import * as Http from "node:http"
import { join } from "node:path"
import { shapeOf } from "./support/errorShapes.ts"
import { listening } from "./support/http.ts"
import { modelFaults } from "./support/modelFaults.ts"
import { atOnce, openAi, serving } from "./support/models.ts"
import { answer, lookup, weak, World } from "./support/plainTools.ts"
import { root } from "./support/program.ts"
import { type Scenario, toolFaults, unprovedFaults } from "./support/toolFaults.ts"

/** Scenarios that the agent does not handle yet. */
const undone: ReadonlyArray<Scenario> = [
  {
    name: "the connection is always refused, and there was a value yesterday",
    tools: (world) => [lookup(() => shapeOf("axios refused"))(world)],
    model: weak("look_up"),
    cost: "2/3",
    says: /old/,
    because: "A last known value needs LastKnown, which says where values are kept."
  }
]

const scenarios = [...toolFaults, ...modelFaults, ...undone]

interface Played {
  readonly exit: Exit.Exit<Answer.Answer, AgentFailure.AgentFailure>
  readonly cost: string
  readonly done: ReadonlyArray<string>
  /** All text that the model has read. */
  readonly read: string
}

// The tools of a scenario need no services, but the common type of all scenarios cannot express that.
const needingAModel = <A, E>(run: Effect.Effect<A, E, unknown>) => run as Effect.Effect<A, E, Model.Model>

const play = ({ model, service = () => answer({}), tools }: Scenario) =>
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
    }).pipe(Effect.provide(serving(openAi)(model)), Effect.provide(Logger.layer([])))
    const read = JSON.stringify(state.requests.map(({ asked }) => asked?.messages))
    const played: Played = { exit, cost: `${state.replies}/${world.ran.length}`, done: world.done, read }
    return played
  })

/** Lists the faults of a played scenario. */
const shortcomings = ({ cost, done = [], reads, says }: Scenario, played: Played): ReadonlyArray<string> => {
  const text = Exit.isSuccess(played.exit) ? played.exit.value.text : "no answer"
  return [
    says.test(text) ? "" : `it answers ${text.slice(0, 300)}`,
    reads === undefined || reads.test(played.read) ? "" : `its model reads ${played.read.slice(-600)}`,
    played.cost === cost ? "" : `it costs ${played.cost}`,
    played.done.join() === done.join() ? "" : `it has ${played.done.join()}`
  ].filter((shortcoming) => shortcoming !== "")
}

describe("the simplest agent", () => {
  for (const scenario of scenarios) {
    const { because, cost, name } = scenario
    it.effect(`${name}: ${because === undefined ? cost : `not well. ${because}`}`, () =>
      Effect.gen(function*() {
        const played = yield* play(scenario)
        const faults = shortcomings(scenario, played)
        if (because === undefined) assert.deepStrictEqual(faults, [])
        else assert.isNotEmpty(faults, "it ends well now: it needs no reason")
        assert.notMatch(played.read, /SECRET|hunter2|\/home|BookingError|TypeError|    at |127\.0\.0\.1/)
        assert.isAtMost(played.done.length, 1, "nothing acts twice")
      }))
  }

  for (const scenario of unprovedFaults) {
    it.effect(`tells as uncertain, and does at most once: ${scenario.name}`, () =>
      Effect.gen(function*() {
        const played = yield* play(scenario)
        assert.deepStrictEqual(shortcomings(scenario, played), [])
        assert.isAtMost(played.done.length, 1, "nothing acts twice")
      }))
  }

  it("handles at least 85 % of the scenarios, the number in the guide", () => {
    const well = scenarios.filter(({ because }) => because === undefined)
    assert.isAtLeast(well.length / scenarios.length, 0.85)
    const guide = readFileSync(join(root, "docs/any-error.md"), "utf8").replaceAll("\n", " ")
    assert.include(guide, `an agent recovers from ${well.length} of our ${scenarios.length} faults over HTTP`)
  })
})
