/** Circuit breakers, and failing calls behind them. */
import type { Tool } from "@fallible/core"
import { type Duration, Effect, Layer } from "effect"
import * as Breaker from "effect/persistence/CircuitBreaker"
import { TestClock } from "effect/testing"
import { type Failure, paris, refused, type Sequence } from "./sequence.ts"

export const fail = Effect.fail(refused)

/** Effect's own breaker. It opens after `failures` consecutive failures, for 30 seconds by default. */
export const breaker = (failures = 1, openDuration: Duration.Input = "30 seconds") =>
  Breaker.layer({ tripPolicy: Breaker.consecutive(failures), openDuration }).pipe(
    Layer.provide(Breaker.layerStoreMemory())
  )

/** Runs a tool at each of the given times (milliseconds), lets one hour pass, and returns the events. */
export const calling = Effect.fnUntraced(function*<R>(
  { ending, events }: Sequence,
  tool: Tool.Tool<string, typeof paris, string, Failure, R>,
  times: ReadonlyArray<number>
) {
  for (const time of times) yield* Effect.forkChild(Effect.delay(ending(tool.run(paris)), time))
  yield* TestClock.adjust("1 hour")
  return events
})

export const storeError = Effect.fail(
  new Breaker.CircuitBreakerError({ reason: new Breaker.CircuitBreakerStoreError({ message: "No connection." }) })
)
