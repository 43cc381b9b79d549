/**
 * How the tools of a process are doing: what was called, what failed, and which of them may be called at all.
 *
 *     Dispatch ── counts calls and errors ─┐
 *     a breaker ─ opens, probes, closes ───┼─ ToolHealth ─ report, changes ─ people
 *     people ──── disable, enable ─────────┘        └───── Availability ──── agents
 *
 * It is a service of the process, and not of a run: provide its layer once, below all agents. Without it nothing is
 * counted, and breakers work all the same.
 *
 * Health counts, and refuses only what people disable. To disable a tool after three consecutive errors, give it a
 * breaker (`CircuitBreaker`): it refuses at once, lets a probe through after a while, and closes when that goes well.
 * `enable` closes it by hand, and each step is one of the `changes`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import { cut, oneLine } from "./internal/value/text.ts"
import type { Tag } from "./ToolFailure.ts"

/**
 * Whether a tool may be called. An open circuit refuses calls before `until` (milliseconds of the `Clock`); the next call
 * is the probe. Without `until`, the circuit stays open until somebody enables the tool.
 *
 * @category models
 * @since 0.1.0
 */
export type Status =
  | { readonly _tag: "Available" }
  | { readonly _tag: "CircuitOpen"; readonly until?: number }
  | { readonly _tag: "Probing" }
  | { readonly _tag: "Disabled"; readonly reason?: string }

/**
 * A tool that may be called.
 *
 * @category models
 * @since 0.1.0
 */
export const available: Status = { _tag: "Available" }

/**
 * An error of a tool, and when it happened (`at`, in milliseconds of the `Clock`).
 *
 * @category models
 * @since 0.1.0
 */
export interface LastError {
  readonly tag: Tag
  readonly code: string
  /** One line. It may quote the arguments of the call, as the failure's own detail does. */
  readonly detail: string
  readonly at: number
}

/**
 * How many errors of a tool had one class and code.
 *
 * @category models
 * @since 0.1.0
 */
export interface ErrorCount {
  readonly tag: Tag
  /** `"other"` for the codes that came after the first 20. */
  readonly code: string
  readonly count: number
}

/**
 * How one tool is doing: plain data, which `JSON.stringify` can write.
 *
 * @category models
 * @since 0.1.0
 */
export interface Report {
  readonly tool: string
  readonly status: Status
  /** Calls that reached the tool; refused ones did not. */
  readonly calls: number
  /**
   * Calls after which the tool was at fault: it was unavailable (also when a fallback answered), had a defect, or gave an invalid result.
   * A question to the user, a stop and an interruption are not errors, and neither is a failure that is about the arguments alone.
   */
  readonly errors: number
  /** Errors since the last call that went well. */
  readonly consecutiveErrors: number
  /** Errors per call, from 0 to 1. */
  readonly errorRate: number
  /** Errors by class and code, in the order in which each first happened. */
  readonly errorsByCode: ReadonlyArray<ErrorCount>
  /** The last error, if there was any; calls that went well since then leave it. */
  readonly lastError?: LastError
}

/**
 * A tool's status has changed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Change {
  readonly tool: string
  readonly from: Status
  readonly to: Status
}

/**
 * The health of the tools of a process.
 *
 * @category services
 * @since 0.1.0
 */
export class ToolHealth extends Context.Service<ToolHealth, {
  /** Every tool that was called, disabled or found unavailable, in the order in which that first happened. */
  readonly report: Effect.Effect<ReadonlyArray<Report>>
  readonly status: (tool: string) => Effect.Effect<Status>
  /**
   * Refuses every call of a tool from now on until it is enabled: those that a model makes, through `Dispatch`. `tool.run` by hand, as a
   * fallback of another tool, say, is neither refused nor counted. The reason is told to the model.
   */
  readonly disable: (tool: string, reason?: string) => Effect.Effect<void>
  /** Lets a tool be called again, whatever kept it from that: by hand or by its breaker, whose circuit starts anew. */
  readonly enable: (tool: string) => Effect.Effect<void>
  /** Every change of a status from now on; who is slow misses the oldest of more than 256. */
  readonly changes: Stream.Stream<Change>
  /** A call has reached the tool and ended: with an error, if the tool was at fault. */
  readonly called: (tool: string, error?: LastError) => void
  /** A breaker has seen the tool's circuit change. Nothing that a breaker sees enables what was disabled by hand. */
  readonly noticed: (tool: string, status: Exclude<Status, { readonly _tag: "Disabled" }>) => Effect.Effect<void>
  /** What {@link status} says, at once. */
  readonly statusUnsafe: (tool: string) => Status
  /** What {@link report} says of one tool, at once; nothing of a tool that was never called, disabled or found unavailable. */
  readonly reportUnsafe: (tool: string) => Report | undefined
  /** How often a tool was enabled by hand: a breaker whose circuit is to start anew has it in its key. */
  readonly enabled: (tool: string) => number
}>()("@fallible/core/ToolHealth") {}

interface Entry {
  status: Status
  calls: number
  errors: number
  consecutiveErrors: number
  enabled: number
  lastError: LastError | undefined
  readonly byCode: Map<string, ErrorCount>
}

/** How many codes of a tool are counted apart: a handler may make up codes of its own. */
const mostCodes = 20

/** How much is kept of the last error, in characters. */
const most = { code: 60, detail: 200 }

/**
 * A registry without any tools in it yet.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<ToolHealth["Service"]> = Effect.map(PubSub.sliding<Change>(256), (changes) => {
  const entries = new Map<string, Entry>()
  const entryOf = (tool: string): Entry => {
    const known = entries.get(tool)
    if (known !== undefined) return known
    const entry: Entry = {
      status: available,
      calls: 0,
      errors: 0,
      consecutiveErrors: 0,
      enabled: 0,
      lastError: undefined,
      byCode: new Map()
    }
    entries.set(tool, entry)
    return entry
  }
  const set = (tool: string, status: Status): Effect.Effect<void> => {
    const entry = entryOf(tool)
    const from = entry.status
    entry.status = status
    return from._tag === status._tag ? Effect.void : Effect.asVoid(PubSub.publish(changes, { tool, from, to: status }))
  }
  return ToolHealth.of({
    report: Effect.sync(() => Array.from(entries, ([tool, entry]) => reported(tool, entry))),
    status: (tool) => Effect.sync(() => entries.get(tool)?.status ?? available),
    disable: (tool, reason) =>
      Effect.suspend(() => set(tool, { _tag: "Disabled", ...(reason === undefined ? {} : { reason }) })),
    enable: (tool) =>
      Effect.suspend(() => {
        const entry = entryOf(tool)
        entry.enabled++
        entry.consecutiveErrors = 0
        return set(tool, available)
      }),
    changes: Stream.fromPubSub(changes),
    called: (tool, error) => {
      const entry = entryOf(tool)
      entry.calls++
      if (error === undefined) entry.consecutiveErrors = 0
      else erred(entry, error)
    },
    noticed: (tool, status) =>
      Effect.suspend(() => entries.get(tool)?.status._tag === "Disabled" ? Effect.void : set(tool, status)),
    statusUnsafe: (tool) => entries.get(tool)?.status ?? available,
    reportUnsafe: (tool) => {
      const entry = entries.get(tool)
      return entry === undefined ? undefined : reported(tool, entry)
    },
    enabled: (tool) => entries.get(tool)?.enabled ?? 0
  })
})

const erred = (entry: Entry, { at, code, detail, tag }: LastError) => {
  const error: LastError = { tag, code: cut(oneLine(code), most.code), detail: cut(oneLine(detail), most.detail), at }
  entry.errors++
  entry.consecutiveErrors++
  entry.lastError = error
  const { byCode } = entry
  const isCounted = byCode.has(`${tag} ${error.code}`) || byCode.size < mostCodes
  const counted = isCounted ? error.code : "other"
  const key = `${tag} ${counted}`
  byCode.set(key, { tag, code: counted, count: (byCode.get(key)?.count ?? 0) + 1 })
}

const reported = (tool: string, { byCode, calls, consecutiveErrors, errors, lastError, status }: Entry): Report => ({
  tool,
  status,
  calls,
  errors,
  consecutiveErrors,
  errorRate: calls === 0 ? 0 : errors / calls,
  errorsByCode: Array.from(byCode.values()),
  ...(lastError === undefined ? {} : { lastError })
})

/**
 * The health of the tools of a process, as a layer.
 *
 * @example
 * ```ts
 * import { Dispatch, Tool, ToolHealth, Toolkit } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const toolkit = Toolkit.make(
 *   Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong"))
 * )
 * const program = Effect.gen(function*() {
 *   const health = yield* ToolHealth.ToolHealth
 *   yield* health.disable("ping", "It is being moved.")
 *   return yield* Dispatch.call(toolkit, { id: "1", name: "ping" })
 * })
 * const outcome = Effect.runSync(Effect.provide(program, ToolHealth.layer))
 * outcome._tag === "Failed" && outcome.failure.code // => "disabled"
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<ToolHealth> = Layer.effect(ToolHealth, make)
