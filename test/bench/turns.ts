/**
 * Measures the cost of a turn, relative to two bare loops that decode the same arguments. Reports medians
 * of CPU time, over interleaved rounds in one process. Run it with `pnpm bench`.
 *
 * The first bare loop is an ordinary recursive Effect with `Effect.gen`. The second is the leanest possible
 * loop: only `flatMap`, without checks, and it keeps only the messages.
 */
import { Agent, Model, RetryPolicy, SemanticGarbage, Tool, Toolkit } from "@fallible/core"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as LastKnown from "@fallible/core/LastKnown"
import type * as LoopGuard from "@fallible/core/LoopGuard"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Breaker from "effect/persistence/CircuitBreaker"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"

const Parameters = Schema.Struct({ city: Schema.String })
const Success = Schema.Struct({ celsius: Schema.Finite })
const handler = ({ city }: typeof Parameters.Type) => Effect.succeed({ celsius: city.length })

const agentOf = <T extends Tool.Any>(tool: T, loopGuard: LoopGuard.Options | "off" = {}) =>
  Agent.make({ toolkit: Toolkit.make(tool), limits: { turns: Number.MAX_SAFE_INTEGER }, loopGuard })

const definition = { description: "", parameters: Parameters, success: Success, sideEffect: "none" } as const
const good = agentOf(Tool.make("get_weather", definition, handler).pipe(Tool.retry(RetryPolicy.transient)))
const unguarded = agentOf(
  Tool.make("get_weather", definition, handler).pipe(Tool.retry(RetryPolicy.transient)),
  "off"
)
const acting = agentOf(
  Tool.make("get_weather", { ...definition, sideEffect: "non_idempotent" }, handler).pipe(
    Tool.retry(RetryPolicy.transient)
  )
)
const bad = agentOf(
  Tool.make("get_weather", definition, ({ city }) =>
    Effect.fail(
      new SemanticGarbage({ code: "unknown_city", detail: `Unknown city: '${city}'.`, alternatives: ["Paris"] })
    )),
  // The guard would end a run in which every call fails.
  "off"
)

// Every policy, under a deadline: for a handler that answers at once, and for one that yields first.
const guarded = (handler: (params: typeof Parameters.Type) => Effect.Effect<typeof Success.Type>) =>
  Agent.make({
    toolkit: Toolkit.make(
      Tool.make("get_weather", definition, handler).pipe(
        Tool.timeout("5 seconds"),
        Tool.retry(RetryPolicy.transient),
        Tool.timeout("20 seconds"),
        Tool.concurrency(8),
        CircuitBreaker.protect(),
        LastKnown.fallback()
      )
    ),
    limits: { turns: Number.MAX_SAFE_INTEGER, elapsed: "1 hour" }
  })
const everything = guarded(handler)
const everythingLater = guarded((params) => Effect.andThen(Effect.yieldNow, handler(params)))

const services = ManagedRuntime.make(
  Layer.merge(
    LastKnown.layerMemory(),
    Breaker.layer({ tripPolicy: Breaker.consecutive(5), openDuration: "30 seconds" }).pipe(
      Layer.provide(Breaker.layerStoreMemory())
    )
  )
)

/** Makes a model that makes one call in each of `turns` turns, each for another city, then answers. */
const modelOf = (turns: number) => {
  let replies = 0
  return Model.make({
    respond: () =>
      Effect.sync(() =>
        ++replies > turns
          ? { text: "done", calls: [] }
          : { text: "", calls: [{ id: "call_1", name: "get_weather", arguments: `{"city":"Paris ${replies}"}` }] }
      )
  })
}

const decode = SchemaParser.decodeUnknownEffect(Schema.toCodecJson(Parameters))
const ask = (model: Model.Model["Service"]) => model.respond({ transcript: undefined as never, tools: [] })

interface Message {
  readonly role: string
  readonly text: string
}

const bareGen = (
  model: Model.Model["Service"],
  messages: Array<Message>
): Effect.Effect<string, unknown> =>
  Effect.gen(function*() {
    const reply = yield* ask(model)
    const [call] = reply.calls
    if (call === undefined) return reply.text
    const params = yield* decode(JSON.parse(call.arguments ?? "{}"))
    const value = yield* handler(params)
    messages.push({ role: "assistant", text: reply.text }, { role: "tool", text: JSON.stringify(value) })
    return yield* bareGen(model, messages)
  })

const bareLean = (
  model: Model.Model["Service"],
  messages: Array<Message>
): Effect.Effect<string, unknown> =>
  Effect.flatMap(ask(model), (reply) => {
    const [call] = reply.calls
    return call === undefined
      ? Effect.succeed(reply.text)
      : Effect.flatMap(decode(JSON.parse(call.arguments ?? "{}")), (params) =>
        Effect.flatMap(handler(params), (value) => {
          messages.push({ role: "assistant", text: reply.text }, { role: "tool", text: JSON.stringify(value) })
          return bareLean(model, messages)
        }))
  })

type Subject = (turns: number) => Promise<unknown>

const subjects = {
  ours: (turns) => Effect.runPromise(good.run("?").pipe(Effect.provideService(Model.Model, modelOf(turns)))),
  "ours, without guard": (turns) =>
    Effect.runPromise(unguarded.run("?").pipe(Effect.provideService(Model.Model, modelOf(turns)))),
  "ours, tool acts": (turns) =>
    Effect.runPromise(acting.run("?").pipe(Effect.provideService(Model.Model, modelOf(turns)))),
  "ours, tool fails": (turns) =>
    Effect.runPromise(bad.run("?").pipe(Effect.provideService(Model.Model, modelOf(turns)))),
  "ours, everything on": (turns) =>
    services.runPromise(everything.run("?").pipe(Effect.provideService(Model.Model, modelOf(turns)))),
  "ours, everything on, answers later": (turns) =>
    services.runPromise(everythingLater.run("?").pipe(Effect.provideService(Model.Model, modelOf(turns)))),
  "bare, gen": (turns) => Effect.runPromise(bareGen(modelOf(turns), [])),
  "bare, lean": (turns) => Effect.runPromise(bareLean(modelOf(turns), []))
} satisfies Record<string, Subject>

/** Microseconds of CPU per turn. */
const measure = async (subject: Subject, turns: number): Promise<number> => {
  const runs = Math.max(1, Math.round(20_000 / turns))
  const before = process.cpuUsage()
  for (let i = 0; i < runs; i++) await subject(turns)
  const { system, user } = process.cpuUsage(before)
  return (user + system) / (runs * turns)
}

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

const rounds = 15
const lengths = [10, 50, 2000]
const results = new Map<string, Array<number>>()
for (let round = -3; round < rounds; round++) {
  for (const turns of lengths) {
    for (const [name, subject] of Object.entries(subjects)) {
      const cost = await measure(subject, turns)
      // The first rounds only warm up.
      if (round >= 0) results.set(`${name}/${turns}`, [...(results.get(`${name}/${turns}`) ?? []), cost])
    }
  }
}

const cost = (name: keyof typeof subjects, turns: number) => median(results.get(`${name}/${turns}`)!)
const ratio = (value: number) => `${value.toFixed(2)} x`

console.log(`µs of CPU per turn, median of ${rounds} rounds, Node ${process.version}`)
console.table(Object.fromEntries(
  (Object.keys(subjects) as Array<keyof typeof subjects>).map((name) => [
    name,
    Object.fromEntries(lengths.map((turns) => [`${turns} turns`, cost(name, turns).toFixed(2)]))
  ])
))
console.table({
  "a turn, to bare gen (50 turns)": ratio(cost("ours", 50) / cost("bare, gen", 50)),
  "a turn, to one without the guard against loops": ratio(cost("ours", 50) / cost("ours, without guard", 50)),
  "a turn, to bare lean (50 turns)": ratio(cost("ours", 50) / cost("bare, lean", 50)),
  "a turn of 2,000, to one of 10": ratio(cost("ours", 2000) / cost("ours", 10)),
  "  the same, bare gen": ratio(cost("bare, gen", 2000) / cost("bare, gen", 10)),
  "  the same, bare lean": ratio(cost("bare, lean", 2000) / cost("bare, lean", 10)),
  "a turn whose tool acts, to one that reads": ratio(cost("ours, tool acts", 50) / cost("ours", 50)),
  "a turn whose tool fails, to a good one": ratio(cost("ours, tool fails", 50) / cost("ours", 50)),
  "a turn with everything on, to one with a retry": ratio(cost("ours, everything on", 50) / cost("ours", 50)),
  "  the same, of a tool that answers later": ratio(cost("ours, everything on, answers later", 50) / cost("ours", 50))
})
