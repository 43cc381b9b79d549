/**
 * Measures the cost of policies around successful calls, relative to the bare tool. Reports medians of CPU
 * time, over interleaved rounds in one process. Run it with `pnpm bench`.
 */
import { Policy, RetryPolicy, Tool } from "@fallible/core"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as LastKnown from "@fallible/core/LastKnown"
import * as RateLimit from "@fallible/core/RateLimit"
import * as RetryBudget from "@fallible/core/RetryBudget"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Breaker from "effect/persistence/CircuitBreaker"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as Schema from "effect/Schema"

const bare = Tool.make("get_weather", {
  description: "",
  parameters: Schema.Struct({ city: Schema.String }),
  success: Schema.Struct({ celsius: Schema.Finite }),
  sideEffect: "none"
}, ({ city }) => Effect.succeed({ celsius: city.length }))

const retried = bare.pipe(Tool.retry(RetryPolicy.transient))
const subjects = {
  "the bare tool": bare,
  "retry": retried,
  "retry, fallback": retried.pipe(Tool.fallback(() => Effect.succeed({ celsius: 0 }))),
  "timeout": bare.pipe(Tool.timeout("5 seconds")),
  "timeout, retry": bare.pipe(Tool.timeout("5 seconds"), Tool.retry(RetryPolicy.transient)),
  "concurrency": bare.pipe(Tool.concurrency(8)),
  "reconcile, paginate": bare.pipe(
    Tool.reconcile(() => Effect.succeedNone),
    Tool.paginate({ merge: (soFar) => soFar })
  ),
  "breaker": bare.pipe(CircuitBreaker.protect()),
  "rate limit": bare.pipe(RateLimit.limit({ limit: 1e9, window: "1 second" })),
  "last known value": bare.pipe(LastKnown.fallback()),
  "all of the order": bare.pipe(Tool.withDefaults<LastKnown.LastKnown | Breaker.CircuitBreaker>([
    Policy.timeout("5 seconds"),
    Policy.retry(RetryPolicy.transient),
    Policy.concurrency(8),
    CircuitBreaker.policy(),
    LastKnown.policy()
  ]))
}

const services = Layer.mergeAll(
  LastKnown.layerMemory(),
  Breaker.layer({ tripPolicy: Breaker.consecutive(5), openDuration: "30 seconds" }).pipe(
    Layer.provide(Breaker.layerStoreMemory())
  ),
  RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory))
)
const runtimes = {
  "": ManagedRuntime.make(services),
  ", retry budget": ManagedRuntime.make(Layer.merge(services, RetryBudget.layer()))
}

const calls = 2000
const params = { city: "Paris" }

/** Microseconds of CPU per call. */
const measure = async (run: Effect.Effect<unknown, unknown>): Promise<number> => {
  const before = process.cpuUsage()
  await Effect.runPromise(run)
  const { system, user } = process.cpuUsage(before)
  return (user + system) / calls
}

type Services = LastKnown.LastKnown | Breaker.CircuitBreaker | RateLimiter.RateLimiter
type Run = (params: { readonly city: string }) => Effect.Effect<unknown, unknown, Services>

const plans: ReadonlyArray<readonly [name: string, run: Run, runtime: keyof typeof runtimes]> = [
  ...Object.entries(subjects).map(([name, { run }]) => [name, run, ""] as const),
  ["timeout, retry, retry budget", subjects["timeout, retry"].run, ", retry budget"]
]
const results = new Map<string, Array<number>>()
const rounds = 21
for (let round = -5; round < rounds; round++) {
  for (const [name, run, runtime] of plans) {
    const context = await runtimes[runtime].context()
    const all = Effect.forEach(Array.from({ length: calls }), () => run(params), { discard: true })
    const cost = await measure(Effect.provide(all, context))
    // The first rounds only warm up.
    if (round >= 0) results.set(name, [...(results.get(name) ?? []), cost])
  }
}

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
const bareCost = median(results.get("the bare tool")!)

console.log(`µs of CPU per call that goes well, median of ${rounds} rounds, Node ${process.version}`)
console.table(Object.fromEntries(Array.from(results, ([name, costs]) => [name, {
  µs: median(costs).toFixed(2),
  "to the bare tool": `${(median(costs) / bareCost).toFixed(2)} x`
}])))
