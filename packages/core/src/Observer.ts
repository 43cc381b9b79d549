/**
 * What operators see of calls: their events, defects, late results, and log lines of failures.
 *
 *     Effect.provide(program, Observer.layer({ onDefect: (message, cause) => tracker.send(message, cause), failureLevel: "Warn" }))
 *
 * | part           | it receives                                                       | by default                      |
 * | -------------- | ----------------------------------------------------------------- | ------------------------------- |
 * | `onEvent`      | each event of each call, as it happens (`CallEvent`)              | nothing                         |
 * | `onDefect`     | a defect: a handler, a policy, a rendering or the journal throws  | it is logged as an error        |
 * | `onLateResult` | an acting attempt that ends after its caller had stopped waiting  | it is logged as a warning       |
 * | `failureLevel` | (a level) each failure of a tool or the model is logged once      | `"Debug"`, which loggers omit   |
 *
 * An observer changes nothing about a call. What an observer throws is a defect, and the call continues. The log line of a
 * failure says how it was handled:
 *
 *     flaky failed (connection): Refused. Retry 1 of 2 in 1.0 s.
 *     flaky failed (connection): Refused. The fallback was tried.
 *     flaky failed (connection): Refused. The model was told, after 3 attempts.
 *     The model failed (server_error): Busy. Retry 1 in 0.40 s.
 *     The model failed (server_error): Busy. The run ended, after 3 attempts.
 *
 * If a call fails and may have taken effect, its line is at least a warning. It names the requests of the handler, and is
 * annotated with the idempotency key, if the handler has read it. For the first such call of a tool that declares nothing
 * to settle its doubts, a second line says what would. Each line is annotated with the run, the turn, the tool and the call.
 *
 * @since 0.1.0
 */
import { demandKnown, type Names } from "@fallible/arguments/internal"
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Layer from "effect/Layer"
import type * as LogLevel from "effect/LogLevel"
import type { Watched } from "./CallEvent.ts"
import type { Certainty } from "./Certainty.ts"
import type { ToolFailure } from "./ToolFailure.ts"
import type { WireRequest } from "./WireRequest.ts"

/**
 * What an observer does. Parts that are absent have their defaults.
 *
 * @category models
 * @since 0.1.0
 */
export interface Observer {
  /**
   * Receives each event as it happens. If an event is about a failure, the function also receives the failure itself, which
   * still has its `cause`.
   */
  readonly onEvent?: ((event: Watched, failure?: ToolFailure) => void) | undefined
  /**
   * Receives each defect once: one sentence about what happened, and the full cause. The model reads only that a call had an
   * internal error. The library waits at most one second.
   */
  readonly onDefect?: ((message: string, cause: Cause.Cause<unknown>) => Effect.Effect<void>) | undefined
  /** Receives late results. The library does not wait for the Effect. */
  readonly onLateResult?: ((result: LateResult) => Effect.Effect<void>) | undefined
  /** The level of the log lines of failures; with `"None"`, they are not logged. Default: `"Debug"`. */
  readonly failureLevel?: LogLevel.Severity | "None" | undefined
}

/**
 * How an attempt of a tool that acts (has side effects) ended after its caller had stopped waiting: for example, a payment
 * succeeds after its timeout. By then, the call has ended with an unknown outcome.
 *
 * There are two more cases. An acting call was interrupted while it may have acted, for example because the client of a run
 * has left: such a call has no outcome, and its run has no report and no facts. Or a handler has sent a request after it had
 * ended, for example from a timer: what was known of its call is then no longer true.
 *
 * Only an attempt that keeps running has a late result of its own. By default, a timeout interrupts the handler, and the
 * interruption aborts the handler's request. After that, only a check (`Tool.reconcile`) or your own job can find out what
 * the service did. To let the request finish, declare the tool `uninterruptible`.
 *
 * @category models
 * @since 0.1.0
 */
export interface LateResult {
  readonly tool: string
  /** The name of the call. In an agent, it is `run-…/turn/1/call/1`, with the same turn and call as in the report. */
  readonly id: string
  /** The idempotency key of the call, as its handler saw it. */
  readonly key: string
  /** The 1-based number of the attempt that ended. */
  readonly attempt: number
  /** Whether the attempt took effect. */
  readonly certainty: Certainty
  /** The code of the failure, if the attempt failed; `"interrupted"` if the call was interrupted. */
  readonly code?: string
  /** The request that the handler sent after it had ended, if that is what is reported. */
  readonly request?: WireRequest
  /** When the attempt ended, in milliseconds of the `Clock`. */
  readonly at: number
}

/**
 * The observer of the calls that start here. By default, it has no parts of its own.
 *
 * When to use: to read it. Use {@link observe} or {@link layer} to set parts of it.
 *
 * @category context
 * @since 0.1.0
 */
export const current: Context.Reference<Observer> = Context.Reference<Observer>("@fallible/core/Observer/current", {
  defaultValue: () => none
})

const none: Observer = {}

/**
 * Observes the calls that start in an Effect. The parts that are not given stay those of the observer around it.
 *
 * When to use: in tests of a tool's policies, and for your own metrics of one call. For a whole program, use {@link layer}.
 * The stream of an agent has the events of its calls, too (`AgentEvent`).
 *
 * Throws if a part has an unknown name.
 *
 * @example
 * ```ts
 * import { Observer, RetryPolicy, Tool, ToolUnavailable } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * let calls = 0
 * const flaky = Tool.make("flaky", { description: "Fails once", success: Schema.Int, sideEffect: "none" }, () =>
 *   ++calls < 2
 *     ? Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
 *     : Effect.succeed(calls)
 * ).pipe(Tool.retry(RetryPolicy.transient))
 *
 * const seen: Array<string> = []
 * await Effect.runPromise(Observer.observe(flaky.run({}), {
 *   onEvent: ({ _tag, attempt }) => seen.push(`${attempt} ${_tag}`)
 * }))
 * seen.slice(0, 3) // => ["1 AttemptStarted", "1 AttemptEnded", "1 FailureHandled"]
 * ```
 *
 * @category observing
 * @since 0.1.0
 */
export const observe: {
  (observer: Observer): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, observer: Observer): Effect.Effect<A, E, R>
} = dual(
  2,
  <A, E, R>(self: Effect.Effect<A, E, R>, observer: Observer): Effect.Effect<A, E, R> =>
    Effect.updateService(self, current, withParts("Observer.observe", observer))
)

/**
 * Observes all calls of a program. The parts that are not given stay those of the observer around the layer. Give all parts
 * in one layer: if several are merged, only the last one counts.
 *
 * When to use: to send defects to an error tracker, late results to the people who must act on them, and failures to the log.
 *
 * Throws if a part has an unknown name.
 *
 * @example
 * ```ts
 * import { Dispatch, Observer, Tool, Toolkit } from "@fallible/core"
 * import { Cause, Effect, Schema } from "effect"
 *
 * const broken = Tool.make("broken", { description: "Breaks", success: Schema.String }, () => Effect.die("No rows."))
 * const defects: Array<string> = []
 * const operators = Observer.layer({
 *   onDefect: (message, cause) => Effect.sync(() => defects.push(`${message}: ${String(Cause.squash(cause))}`)),
 *   failureLevel: "None"
 * })
 *
 * const call = Dispatch.call(Toolkit.make(broken), { id: "1", name: "broken" })
 * Effect.runSync(Effect.provide(call, operators))
 * defects // => ["The tool broken failed with an internal error: No rows."]
 * ```
 *
 * @category observing
 * @since 0.1.0
 */
export const layer = (observer: Observer): Layer.Layer<never> =>
  Layer.effect(current, Effect.map(current, withParts("Observer.layer", observer)))

const withParts = (name: string, observer: Observer): (outer: Observer) => Observer => {
  demandKnown(name, observer, names)
  return (outer) => ({ ...outer, ...observer })
}

const names: Names<Observer> = { onEvent: true, onDefect: true, onLateResult: true, failureLevel: true }
