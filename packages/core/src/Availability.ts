/**
 * Tells which tools of a toolkit may be called now, and why the others may not be called.
 *
 * Dispatch uses this module to suggest other tools after a failure. An agent with `offer: "available"` uses it
 * to offer its model only the tools that may be called.
 *
 * The module reads the `ToolHealth` service. Without that service, every tool counts as available, although a
 * breaker may still refuse a call.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { openCircuitText } from "./internal/policy/openCircuitText.ts"
import type * as Tool from "./Tool.ts"
import * as ToolHealth from "./ToolHealth.ts"
import type * as Toolkit from "./Toolkit.ts"

/**
 * Whether a tool may be called. If it may not, `reason` says why, and `retryAfter` says how long the tool will
 * stay unavailable. `retryAfter` is absent if that is unknown.
 *
 * @category models
 * @since 0.1.0
 */
export type Availability =
  | { readonly _tag: "Available" }
  | { readonly _tag: "Unavailable"; readonly reason: string; readonly retryAfter?: Duration.Duration }

/**
 * Returns the availability of every tool of a toolkit, in the toolkit's order.
 *
 * When to use: for a status page, or for an operator's view.
 *
 * @example
 * ```ts
 * import { Tool, Toolkit } from "@fallible/core"
 * import * as Availability from "@fallible/core/Availability"
 * import * as ToolHealth from "@fallible/core/ToolHealth"
 * import { Effect, Schema } from "effect"
 *
 * const toolkit = Toolkit.make(
 *   Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong"))
 * )
 * const program = Effect.gen(function*() {
 *   yield* (yield* ToolHealth.ToolHealth).disable("ping", "It is being moved.")
 *   return yield* Availability.of(toolkit)
 * })
 * const availability = Effect.runSync(Effect.provide(program, ToolHealth.layer))
 * availability.get("ping") // => { _tag: "Unavailable", reason: "It is disabled: It is being moved." }
 * ```
 *
 * @category availability
 * @since 0.1.0
 */
export const of = (toolkit: Toolkit.Toolkit): Effect.Effect<ReadonlyMap<string, Availability>> =>
  Effect.map(
    lookup,
    (availabilityOf) => new Map(Array.from(toolkit.tools.values(), (tool) => [tool.name, availabilityOf(tool)]))
  )

/**
 * Returns the definitions of the tools that may be called now, to offer them to a model.
 *
 * @category availability
 * @since 0.1.0
 */
export const offered = (toolkit: Toolkit.Toolkit): Effect.Effect<ReadonlyArray<Toolkit.Definition>> =>
  Effect.map(
    of(toolkit),
    (availability) => toolkit.definitions.filter(({ name }) => availability.get(name)?._tag === "Available")
  )

/**
 * Returns a function from a tool to its current availability. Use the function for any number of tools: the
 * clock is read only once.
 *
 * @category availability
 * @since 0.1.0
 */
export const lookup: Effect.Effect<(tool: Tool.Any) => Availability> = Effect.withFiber((fiber) => {
  const health = Context.getOrUndefined(fiber.context, ToolHealth.ToolHealth)
  if (health === undefined) return Effect.succeed(() => available)
  return Effect.map(Clock.currentTimeMillis, (now) => (tool) => judge(tool, health, now))
})

const available: Availability = { _tag: "Available" }

const judge = (tool: Tool.Any, health: ToolHealth.ToolHealth["Service"], now: number): Availability => {
  const status = health.statusUnsafe(tool.name)
  const reason = () => openCircuitText("It", health.reportUnsafe(tool.name))
  switch (status._tag) {
    case "Available":
      return available
    case "Disabled":
      return {
        _tag: "Unavailable",
        reason: status.reason === undefined ? "It is disabled." : `It is disabled: ${status.reason}`
      }
    case "CircuitOpen": {
      const { until } = status
      // After `until`, the next call may run: it probes the service.
      if (until !== undefined && until <= now || hasOuterFallback(tool)) return available
      return {
        _tag: "Unavailable",
        reason: reason(),
        ...(until === undefined ? {} : { retryAfter: Duration.millis(until - now) })
      }
    }
    case "Probing":
      return hasOuterFallback(tool)
        ? available
        : { _tag: "Unavailable", reason: `${reason()} Another call is testing it now.` }
  }
}

// True if the tool has a fallback outside its breaker. The fallback answers while the circuit is open.
const hasOuterFallback = ({ policies }: Tool.Any): boolean =>
  policies.findLastIndex(({ kind }) => kind === "fallback") > policies.findIndex(({ kind }) => kind === "breaker")
