/**
 * Stops the calls to a tool that has failed too often, until a test call (the *probe*) succeeds.
 *
 * Each tool has a *circuit*. While the circuit is closed, calls pass. When the tool has failed too often,
 * the circuit opens, and calls are refused. After some time, the next call is the probe, and the circuit is
 * half-open until that call has ended. If the probe succeeds, the circuit closes; if it fails, the circuit
 * opens again.
 *
 * The breaker is effect's own (`effect/persistence`). The layer of effect's breaker decides when a circuit
 * opens and for how long, and where circuits are stored. This module makes the breaker a policy. The policy
 * decides what counts as a failure of the tool, with which failure a call is refused, and when `ToolHealth`
 * is notified.
 *
 *     tool.pipe(
 *       Tool.timeout("5 seconds"),
 *       Tool.retry(RetryPolicy.transient),     inside the breaker, which sees one outcome per call
 *       CircuitBreaker.protect(),
 *       Tool.fallback(mirror.run)              outside: the mirror answers while the circuit is open
 *     )
 *
 * | outcome of the call                                                              | counts as               |
 * | -------------------------------------------------------------------------------- | ----------------------- |
 * | a value, or a failure other than `ToolUnavailable`                               | success: the tool works |
 * | a permanent `ToolUnavailable` about the arguments                                | success: the tool works |
 * | any other `ToolUnavailable`, or a defect                                         | failure                 |
 * | a refusal by an inner policy, a question to the user, a stop, or an interruption | neither                 |
 *
 * A probe that never ends keeps the circuit from closing, so put a `Tool.timeout` inside the breaker.
 *
 * If a `ToolHealth` is provided, the breaker notifies it when the circuit opens, is probed, and closes. The
 * failure of a refused call then also says how many consecutive errors the tool had, and gives the code of
 * the last error. `ToolHealth.enable` gives a tool a new, closed circuit. With
 * `openDuration: Duration.infinity`, this is the only way to close an open circuit.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Breaker from "effect/persistence/CircuitBreaker"
import { requireEffect, runAnswer } from "./internal/call/runUserCode.ts"
import { defectsOf, signalIn } from "./internal/failure/controlSignal.ts"
import { isBlameless, isRefusal, refusal } from "./internal/failure/policyRefusal.ts"
import { withinTime } from "./internal/fiber/withinTime.ts"
import { builtIn } from "./internal/policy/builtInPolicy.ts"
import { openCircuitText } from "./internal/policy/openCircuitText.ts"
import * as Policy from "./Policy.ts"
import * as Tool from "./Tool.ts"
import type { ToolFailure, ToolUnavailable } from "./ToolFailure.ts"
import { type Status, ToolHealth } from "./ToolHealth.ts"

/**
 * The options of this policy. All other settings are in effect's layer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * The name of the circuit. To let tools that use the same service share one circuit, give them the same
   * key. But if a tool's handler runs another tool, give these two different keys. Otherwise, while the
   * outer call is the probe, the inner call is refused. Default: the tool's name, so that each tool has its
   * own circuit.
   */
  readonly key?: string
}

// -----------------------------------------------------------------------------
// Policy
// -----------------------------------------------------------------------------

/**
 * Makes a circuit breaker: a policy of kind `"breaker"`. See {@link protect}.
 *
 * When to use: as a default of a toolkit or an agent. Each tool then has its own circuit, unless `key` is
 * set.
 *
 * @category policies
 * @since 0.1.0
 */
export const policy = ({ key }: Options = {}): Policy.Policy<Breaker.CircuitBreaker> =>
  builtIn(Policy.make<Breaker.CircuitBreaker, ToolUnavailable>({
    kind: "breaker",
    description: key === undefined ? "breaker" : `breaker of ${key}`,
    terms: {},
    wrap: <A, E extends ToolFailure, R>(
      run: Policy.Run<A, E, R>,
      { name }: Policy.Subject<A>,
      call: Policy.Call
    ) => {
      const circuit = key ?? name
      const changes = new Changes(circuit, call)
      return (params: unknown) =>
        Effect.contextWith((context: Context.Context<Breaker.CircuitBreaker>) => {
          const breaker = Context.get(context, Breaker.CircuitBreaker)
          const health = Context.getOrUndefined(context, ToolHealth)
          const keyNow = () => keyOf(circuit, name, health)
          const isTroubled = changes.isTroubled(breaker)
          const self = isTroubled ? Effect.andThen(changes.passes(breaker, keyNow()), run(params)) : run(params)
          const guarded = health === undefined
            ? breaker.execute(self, { key: circuit, classify })
            : reportingToHealth(self, { breaker, health, keyNow, tool: name })
          const watched = Effect.tapDefect(guarded, () => changes.look(breaker, keyNow()))
          const refusing = Effect.catch(
            watched,
            (error): Effect.Effect<never, E | ToolUnavailable> =>
              error._tag === "CircuitBreakerError"
                ? Effect.andThen(
                  changes.refused(breaker, keyNow(), error),
                  call.refuse(refusalFor(name, error, health))
                )
                : Effect.andThen(changes.look(breaker, keyNow()), Effect.fail(error))
          )
          const result = isTroubled ? Effect.tap(refusing, () => changes.look(breaker, keyNow())) : refusing
          return wellTyped.has(breaker) ? result : checkUntilProven(breaker, result)
        })
    }
  }))

/**
 * Refuses calls to a tool while the tool's circuit is open.
 *
 * When to use: for a service that can be down for minutes. During that time, repeated timeouts would cost
 * the callers time, and repeated calls could keep the service down. Put the breaker outside `retry` and
 * `timeout`, and inside `fallback`.
 *
 * A refused call fails with a transient `ToolUnavailable` whose outcome is `not_executed`. Its code is one
 * of these:
 *
 * - `circuit_open`: the circuit is open, and `retryAfter` is the time until the probe; or another call is
 *   the probe, and there is no `retryAfter`
 * - `breaker_unavailable`: the breaker's store failed, and effect's breaker is configured to refuse calls
 *   in that case
 *
 * If the failure that opens the circuit has a `retryAfter`, the circuit stays open for at least that time,
 * up to effect's `maxOpenDuration`.
 *
 * Enabling a tool (`ToolHealth.enable`) gives it a new circuit in this process. If several tools share a
 * key, enable all of them.
 *
 * @example
 * ```ts
 * import { Tool, ToolUnavailable } from "@fallible/core"
 * import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
 * import { Effect, Layer, Schema } from "effect"
 * import * as Breaker from "effect/persistence/CircuitBreaker"
 *
 * const quote = Tool.make("get_quote", { description: "A quote", success: Schema.Finite, sideEffect: "none" }, () =>
 *   Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
 * ).pipe(CircuitBreaker.protect())
 *
 * const breaker = Breaker.layer({ tripPolicy: Breaker.consecutive(2), openDuration: "30 seconds" }).pipe(
 *   Layer.provide(Breaker.layerStoreMemory())
 * )
 * const call = Effect.map(Effect.flip(quote.run({})), ({ code }) => code)
 * const codes = await Effect.runPromise(Effect.all([call, call, call]).pipe(Effect.provide(breaker)))
 * codes // => ["connection", "connection", "circuit_open"]
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const protect = (options?: Options) => {
  const added = policy(options)
  return <Name extends string, Params, A, E extends ToolFailure, R>(
    self: Tool.Tool<Name, Params, A, E, R>
  ): Tool.Tool<Name, Params, A, E | ToolUnavailable, R | Breaker.CircuitBreaker> => Tool.with(self, added)
}

// -----------------------------------------------------------------------------
// Internals
// -----------------------------------------------------------------------------

// Effect's breaker cannot reset a circuit. So a tool that was enabled in `ToolHealth` continues under a
// different key.
const keyOf = (circuit: string, tool: string, health: ToolHealth["Service"] | undefined): string => {
  const enabled = health?.enabled(tool) ?? 0
  return enabled === 0 ? circuit : `${circuit}#${enabled}`
}

type Circuit = Parameters<Policy.Call["changed"]>[0]["to"]

const circuitOf = { Closed: "closed", Open: "open", HalfOpen: "half_open" } as const

/** How long the store may take to return the state of a circuit for an observer, in milliseconds. */
const storeMillis = 1_000

/**
 * Reports each change of a circuit to observers. The state of the circuit is read only after failures, and
 * while the circuit is known not to be closed. So calls that succeed, and calls without an observer, usually
 * cost nothing extra.
 */
class Changes {
  readonly #circuit: string
  readonly #call: Policy.Call
  // The last known state of the circuit, by breaker, because each process and each test has its own
  // breaker. Closed circuits are not stored.
  readonly #seen = new WeakMap<Breaker.CircuitBreaker, { readonly circuit: Circuit; readonly key: string }>()

  constructor(circuit: string, call: Policy.Call) {
    this.#circuit = circuit
    this.#call = call
  }

  isTroubled(breaker: Breaker.CircuitBreaker): boolean {
    return this.#seen.has(breaker)
  }

  /**
   * Reports that a call has passed a circuit that was not closed. The call is the probe, unless the circuit
   * is new.
   */
  passes(breaker: Breaker.CircuitBreaker, key: string): Effect.Effect<void> {
    return Effect.suspend(() => this.#saw(breaker, key, this.#seen.get(breaker)?.key === key ? "half_open" : "closed"))
  }

  refused(
    breaker: Breaker.CircuitBreaker,
    key: string,
    { reason }: Breaker.CircuitBreakerError
  ): Effect.Effect<void> {
    if (reason._tag === "CircuitBreakerStoreError") return Effect.void
    return this.#ifWatched(breaker, this.#saw(breaker, key, reason._tag === "CircuitOpen" ? "open" : "half_open"))
  }

  look(breaker: Breaker.CircuitBreaker, key: string): Effect.Effect<void> {
    // The store may be user code, and may hang. Watching a circuit must not make a call fail or wait for
    // long.
    const state = withinTime(
      Effect.suspend(() => requireEffect("The circuit breaker", breaker.state(key))),
      storeMillis,
      { late: () => Effect.undefined, who: "The circuit breaker" }
    )
    const look = Effect.flatMap(
      Effect.exit(state),
      (exit) =>
        Exit.isSuccess(exit) && exit.value !== undefined
          ? this.#saw(breaker, key, circuitOf[exit.value._tag])
          : Effect.void
    )
    return this.#ifWatched(breaker, look)
  }

  #ifWatched(breaker: Breaker.CircuitBreaker, look: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.flatMap(
      this.#call.state,
      ({ isWatched }) => isWatched || this.isTroubled(breaker) ? look : Effect.void
    )
  }

  #saw(breaker: Breaker.CircuitBreaker, key: string, to: Circuit): Effect.Effect<void> {
    return Effect.suspend(() => {
      const from = this.#seen.get(breaker)?.circuit ?? "closed"
      if (from === to) return Effect.void
      if (to === "closed") this.#seen.delete(breaker)
      else this.#seen.set(breaker, { circuit: to, key })
      return this.#call.changed({ circuit: this.#circuit, from, to })
    })
  }
}

// The breakers whose answers have the right types. The store may be user code, so its answers are checked
// until a call succeeds, but not on every call after that.
const wellTyped = new WeakSet<Breaker.CircuitBreaker>()

const checkUntilProven = <A, E extends ToolFailure, R>(
  breaker: Breaker.CircuitBreaker,
  called: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.map(runAnswer("The circuit breaker", called), (value) => {
    wellTyped.add(breaker)
    return value
  })

const classify = (exit: Exit.Exit<unknown, ToolFailure>): Breaker.Outcome => {
  if (Exit.isSuccess(exit)) return Breaker.success
  const { cause } = exit
  // Neither an interruption nor a defect of a finalizer that runs during the interruption says anything
  // about the tool.
  if (Cause.hasDies(cause)) {
    return Cause.hasInterrupts(cause) || signalIn(defectsOf(cause)) !== undefined ? Breaker.ignored : Breaker.failure()
  }
  return Option.match(Cause.findErrorOption(cause), {
    onNone: () => Breaker.ignored,
    onSome: (failure) => {
      if (failure._tag !== "ToolUnavailable" || isBlameless(failure)) return Breaker.success
      return isRefusal(failure) ? Breaker.ignored : Breaker.failure({ retryAfter: failure.retryAfter })
    }
  })
}

const refusalFor = (
  tool: string,
  error: Breaker.CircuitBreakerError,
  health: ToolHealth["Service"] | undefined
): ToolUnavailable => {
  const openText = () => openCircuitText(tool, health?.reportUnsafe(tool))
  switch (error.reason._tag) {
    case "CircuitOpen":
      return refusal({
        code: "circuit_open",
        detail: openText(),
        retryAfter: error.reason.retryAfter,
        cause: error
      })
    case "CircuitHalfOpen":
      return refusal({
        code: "circuit_open",
        detail: `${openText()} Another call is testing it now.`,
        cause: error
      })
    case "CircuitBreakerStoreError":
      return refusal({
        code: "breaker_unavailable",
        detail: `${tool} was not called: its circuit breaker did not respond.`,
        cause: error
      })
  }
}

/**
 * Runs a call, and reports the state of its circuit to `ToolHealth`. The state is read only when it may
 * have changed: after a failure, and while `ToolHealth` shows an open circuit or a probe. So a successful
 * call usually costs nothing extra.
 *
 * Only the probe itself sets the status `Probing`, because only the probe is sure to report how it ended.
 * If a call that is refused in the meantime set this status, the tool could stay in `Probing` forever.
 */
const reportingToHealth = <A, E extends ToolFailure, R>(
  self: Effect.Effect<A, E, R>,
  { breaker, health, keyNow, tool }: {
    readonly breaker: Breaker.CircuitBreaker
    readonly health: ToolHealth["Service"]
    readonly keyNow: () => string
    readonly tool: string
  }
): Effect.Effect<A, E | Breaker.CircuitBreakerError, R> => {
  const circuit = keyNow()
  const inTrouble = () => {
    const { _tag } = health.statusUnsafe(tool)
    return _tag === "CircuitOpen" || _tag === "Probing"
  }
  const open = (retryAfter: Duration.Duration) =>
    Effect.flatMap(
      Clock.currentTimeMillis,
      (now) => health.noticed(tool, openUntil(now + Duration.toMillis(retryAfter)))
    )
  const look = (whileHalfOpen: Effect.Effect<void>) =>
    Effect.matchEffect(breaker.state(circuit), {
      // The store failed. The next call reads the state again.
      onFailure: () => inTrouble() ? whileHalfOpen : Effect.void,
      onSuccess: (state) => {
        switch (state._tag) {
          case "Closed":
            return health.noticed(tool, { _tag: "Available" })
          case "Open":
            return open(state.retryAfter)
          case "HalfOpen":
            return whileHalfOpen
        }
      }
    })
  const probing = () => look(health.noticed(tool, { _tag: "Probing" }))
  // If the circuit is still half-open after the call, the next call may be another probe. So the circuit is
  // reported as open, with the current time as its `until`.
  const probed = () => look(open(Duration.zero))
  const watched = Effect.suspend(() => inTrouble() ? Effect.andThen(probing(), self) : self)
  return Effect.onExit(breaker.execute(watched, { key: circuit, classify }), (exit) => {
    // The tool was enabled in the meantime, so this circuit is no longer the tool's.
    if (circuit !== keyNow()) return Effect.void
    const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
    if (error?._tag === "CircuitBreakerError") {
      return error.reason._tag === "CircuitOpen" ? open(error.reason.retryAfter) : Effect.void
    }
    const hasFailed = error?._tag === "ToolUnavailable" || Exit.isFailure(exit) && Cause.hasDies(exit.cause)
    return hasFailed || inTrouble() ? probed() : Effect.void
  })
}

// JSON has no infinite numbers, so a circuit that stays open forever has no `until`.
const openUntil = (until: number): Status & { readonly _tag: "CircuitOpen" } =>
  Number.isFinite(until) ? { _tag: "CircuitOpen", until } : { _tag: "CircuitOpen" }
