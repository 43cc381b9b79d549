/** Runs of an agent whose turns cost as much as they do: for comparing two checkouts in one process. */
import { Agent, Model, Policy, RetryPolicy, SemanticGarbage, Tool, Toolkit } from "@fallible/core"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as LastKnown from "@fallible/core/LastKnown"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Breaker from "effect/persistence/CircuitBreaker"
import * as Schema from "effect/Schema"

const parameters = Schema.Struct({ city: Schema.String })
const success = Schema.Struct({ celsius: Schema.Finite })
const definition = { description: "", parameters, success, sideEffect: "none" } as const

const celsiusIn = ({ city }: typeof parameters.Type) => Effect.succeed({ celsius: city.length })
const plain = Tool.make("get_weather", definition, celsiusIn)
const tools = {
  plain,
  standard: plain.pipe(Tool.withDefaults(Policy.standard())),
  everything: plain.pipe(
    Tool.timeout("5 seconds"),
    Tool.retry(RetryPolicy.transient),
    Tool.timeout("20 seconds"),
    Tool.concurrency(8),
    CircuitBreaker.protect(),
    LastKnown.fallback()
  ),
  acting: Tool.make(
    "get_weather",
    { description: "", parameters, success, sideEffect: "non_idempotent", identity: ({ city }) => city },
    celsiusIn
  ),
  failing: Tool.make("get_weather", definition, ({ city }) =>
    Effect.fail(
      new SemanticGarbage({ code: "unknown_city", detail: `Unknown city: '${city}'.`, alternatives: ["Paris"] })
    ))
}

const runtime = ManagedRuntime.make(
  Layer.merge(
    LastKnown.layerMemory(),
    Breaker.layer({ tripPolicy: Breaker.consecutive(5), openDuration: "30 seconds" }).pipe(
      Layer.provide(Breaker.layerStoreMemory())
    )
  )
)

/** Makes a model that makes some calls in each of some turns, each for another city, and then answers. */
const modelOf = (turns: number, width: number) => {
  let replies = 0
  return Model.make({
    respond: () =>
      Effect.sync(() =>
        ++replies > turns ? { text: "done", calls: [] } : {
          text: "",
          calls: Array.from({ length: width }, (_, index) => ({
            id: `call_${index}`,
            name: "get_weather",
            arguments: `{"city":"Paris ${replies}.${index}"}`
          }))
        }
      )
  })
}

const running = (tool: typeof tools[keyof typeof tools], turns: number, width = 1, elapsed?: "1 hour") => {
  const max = Number.MAX_SAFE_INTEGER
  const agent = Agent.make({
    toolkit: Toolkit.make(tool),
    limits: { turns: max, calls: max, ...(elapsed === undefined ? {} : { elapsed }) },
    // The guard would end a run in which every call fails.
    loopGuard: tool === tools.failing ? "off" : {}
  })
  return {
    turns,
    run: () => runtime.runPromise(Effect.provideService(agent.run("?"), Model.Model, modelOf(turns, width)))
  }
}

export const subjects = {
  "a plain turn": running(tools.plain, 50),
  "a turn with Policy.standard()": running(tools.standard, 50),
  "a turn with everything on": running(tools.everything, 50, 1, "1 hour"),
  "a turn that acts": running(tools.acting, 50),
  "a failed turn": running(tools.failing, 50),
  "a turn of 100 parallel calls": running(tools.plain, 5, 100)
}
