/**
 * The health of a process's tools: calls, errors, and which tools may be called.
 *
 *     Dispatch ── counts calls and errors ─┐
 *     a breaker ─ opens, probes, closes ───┼─ ToolHealth ─ report, changes ─ operators
 *     operators ─ disable, enable ─────────┘        └───── Availability ──── agents
 *
 * `ToolHealth` is a service of the process, not of a run: provide its layer once, for all agents. Without the
 * layer, nothing is counted, but breakers still work.
 *
 * `ToolHealth` counts calls and errors. It refuses calls only to tools that an operator has disabled. To disable
 * a tool automatically, for example after three consecutive errors, give the tool a breaker (`CircuitBreaker`).
 * An open breaker refuses calls immediately. After a while, it lets one call through as a probe, and it closes if
 * the probe succeeds. `enable` closes an open breaker directly. Each of these steps is reported in `changes`.
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
 * Whether a tool may be called. An open circuit refuses calls before `until` (milliseconds of the `Clock`). The
 * first call after that time is the probe. Without `until`, the circuit stays open until an operator enables the
 * tool.
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
 * The status of a tool that may be called.
 *
 * @category models
 * @since 0.1.0
 */
export const available: Status = { _tag: "Available" }

/**
 * An error of a tool, and when the error happened (`at`, in milliseconds of the `Clock`).
 *
 * @category models
 * @since 0.1.0
 */
export interface LastError {
  readonly tag: Tag
  readonly code: string
  /** One line. Like the failure's own detail, it may quote the arguments of the call. */
  readonly detail: string
  readonly at: number
}

/**
 * The number of a tool's errors that have the same class and code.
 *
 * @category models
 * @since 0.1.0
 */
export interface ErrorCount {
  readonly tag: Tag
  /** `"other"` for codes after the first 20. */
  readonly code: string
  readonly count: number
}

/**
 * The health of one tool, as plain data that `JSON.stringify` can write.
 *
 * @category models
 * @since 0.1.0
 */
export interface Report {
  readonly tool: string
  readonly status: Status
  /** The number of calls that reached the tool. Refused calls are not counted. */
  readonly calls: number
  /**
   * The number of calls in which the tool was at fault. It was unavailable (even if a fallback answered), had a
   * defect, or gave an invalid result. A question to the user, a stop, an interruption, and a failure that
   * concerns only the arguments are not errors.
   */
  readonly errors: number
  /** The number of errors since the last call without an error. */
  readonly consecutiveErrors: number
  /** Errors per call, from 0 to 1. */
  readonly errorRate: number
  /** The numbers of errors by class and code, in order of first occurrence. */
  readonly errorsByCode: ReadonlyArray<ErrorCount>
  /** The last error, if any. Later calls without an error do not clear it. */
  readonly lastError?: LastError
}

/**
 * A change in a tool's status.
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
 * The health of a process's tools.
 *
 * @category services
 * @since 0.1.0
 */
export class ToolHealth extends Context.Service<ToolHealth, {
  /** The reports of all tools that were called, disabled or unavailable, in order of first occurrence. */
  readonly report: Effect.Effect<ReadonlyArray<Report>>
  readonly status: (tool: string) => Effect.Effect<Status>
  /**
   * Makes `Dispatch` refuse every call to a tool until the tool is enabled. The model reads the reason. A direct
   * `tool.run`, for example in the fallback of another tool, is neither refused nor counted.
   */
  readonly disable: (tool: string, reason?: string) => Effect.Effect<void>
  /**
   * Allows calls to a tool again, after `disable` or after its breaker has opened. In either case, the tool's
   * breaker starts with a new circuit.
   */
  readonly enable: (tool: string) => Effect.Effect<void>
  /** All status changes from now on. A slow consumer loses the oldest changes when more than 256 are pending. */
  readonly changes: Stream.Stream<Change>
  /** Records that a call reached the tool and ended. `error` is given if the tool was at fault. */
  readonly called: (tool: string, error?: LastError) => void
  /** Records a status that a breaker reports for a tool. The status is ignored while the tool is disabled. */
  readonly noticed: (tool: string, status: Exclude<Status, { readonly _tag: "Disabled" }>) => Effect.Effect<void>
  /** Returns the {@link status} synchronously. */
  readonly statusUnsafe: (tool: string) => Status
  /**
   * Returns the {@link Report} of one tool synchronously; `undefined` if the tool was never called, disabled
   * or unavailable.
   */
  readonly reportUnsafe: (tool: string) => Report | undefined
  /**
   * Returns how many times `enable` was called for a tool. A breaker adds this number to the key of its circuit,
   * so that each `enable` starts a new circuit.
   */
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

/** How many codes of a tool are counted separately. The number is limited because a handler may use any codes. */
const maxCodes = 20

/** The maximum lengths of the last error's code and detail, in characters. */
const maxLength = { code: 60, detail: 200 }

/**
 * Makes the service. At first, it knows no tools.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<ToolHealth["Service"]> = Effect.map(PubSub.sliding<Change>(256), (changes) => {
  const entries = new Map<string, Entry>()
  const entryOf = (tool: string): Entry => {
    const existing = entries.get(tool)
    if (existing !== undefined) return existing
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
    report: Effect.sync(() => Array.from(entries, ([tool, entry]) => reportOf(tool, entry))),
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
      else recordError(entry, error)
    },
    noticed: (tool, status) =>
      Effect.suspend(() => entries.get(tool)?.status._tag === "Disabled" ? Effect.void : set(tool, status)),
    statusUnsafe: (tool) => entries.get(tool)?.status ?? available,
    reportUnsafe: (tool) => {
      const entry = entries.get(tool)
      return entry === undefined ? undefined : reportOf(tool, entry)
    },
    enabled: (tool) => entries.get(tool)?.enabled ?? 0
  })
})

const recordError = (entry: Entry, { at, code, detail, tag }: LastError) => {
  const error: LastError = {
    tag,
    code: cut(oneLine(code), maxLength.code),
    detail: cut(oneLine(detail), maxLength.detail),
    at
  }
  entry.errors++
  entry.consecutiveErrors++
  entry.lastError = error
  const { byCode } = entry
  const isCounted = byCode.has(`${tag} ${error.code}`) || byCode.size < maxCodes
  const countedCode = isCounted ? error.code : "other"
  const key = `${tag} ${countedCode}`
  byCode.set(key, { tag, code: countedCode, count: (byCode.get(key)?.count ?? 0) + 1 })
}

const reportOf = (tool: string, { byCode, calls, consecutiveErrors, errors, lastError, status }: Entry): Report => ({
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
 * A layer that provides the health of a process's tools.
 *
 * @example
 * ```ts
 * import { Dispatch, Tool, Toolkit } from "@fallible/core"
 * import * as ToolHealth from "@fallible/core/ToolHealth"
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
