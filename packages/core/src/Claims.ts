/**
 * Claims on suspensions: each is resumed once.
 *
 * People press a button twice, and queues deliver a message twice. If a suspension is resumed a second time, its calls act a
 * second time, unless the tools have keys or are idempotent. With claims, the second resume is refused (`RunRefused`) before
 * anything runs.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Latest } from "./internal/value/latest.ts"

/**
 * The service that keeps claims. An agent uses it if it is there. Make one of your own over a database that all processes
 * share, for example with `INSERT … ON CONFLICT DO NOTHING`.
 *
 * @category services
 * @since 0.1.0
 */
export class Claims extends Context.Service<Claims, {
  /**
   * Claims the id of a suspension: succeeds with `true` once, and with `false` from then on. If it fails, the run is not
   * resumed. A run that has a `Journal` claims once, also if it is replayed.
   */
  readonly claim: (suspension: string) => Effect.Effect<boolean, unknown>
}>()("@fallible/core/Claims") {}

/**
 * Provides claims that are kept in the memory of this process: the latest 100,000.
 *
 * When to use: where one process resumes all runs, and in tests.
 *
 * @example
 * ```ts
 * import { Agent, Tool, ToolCall, Toolkit } from "@fallible/core"
 * import * as Claims from "@fallible/core/Claims"
 * import { ScriptedModel } from "@fallible/testing"
 * import { Effect, Schema } from "effect"
 *
 * const pay = Tool.make("pay", { description: "Pays", success: Schema.String }, () =>
 *   Effect.as(ToolCall.ask("Pay?"), "paid"))
 * const agent = Agent.make({ toolkit: Toolkit.make(pay) })
 * const model = ScriptedModel.layer([ScriptedModel.call("pay"), ScriptedModel.text("Paid.")])
 *
 * const program = Effect.gen(function*() {
 *   const waiting = yield* Effect.flip(agent.run("Pay."))
 *   if (waiting._tag !== "RunSuspended") return yield* waiting
 *   yield* agent.resume(waiting.suspension, "yes")
 *   return (yield* Effect.flip(agent.resume(waiting.suspension, "yes")))._tag
 * })
 * await Effect.runPromise(Effect.provide(program, [Claims.layerMemory, model])) // => "RunRefused"
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMemory: Layer.Layer<Claims> = Layer.sync(Claims, () => {
  const claimed = new Latest<string, true>(100_000)
  return {
    claim: (suspension) =>
      Effect.sync(() => {
        if (claimed.get(suspension) === true) return false
        claimed.set(suspension, true)
        return true
      })
  }
})
