/**
 * Stops calling a tool that has failed too often, until a probe succeeds.
 *
 * The breaker is effect's own (`effect/persistence`). Its layer decides when a circuit opens and for how
 * long, and where circuits are stored. This module makes it a policy. It decides what counts as a failure of
 * the tool, how a refused call fails, and who is notified.
 *
 *     tool.pipe(
 *       Tool.timeout("5 seconds"),
 *       Tool.retry(RetryPolicy.transient),     inside: the breaker sees one outcome per call
 *       CircuitBreaker.protect(),
 *       Tool.fallback(mirror.run)              outside: it answers while the circuit is open
 *     )
 *
 * | outcome of the call                                                             | counts as                 |
 * | ------------------------------------------------------------------------------- | ------------------------- |
 * | a value; any failure but `ToolUnavailable`; a permanent one about the arguments | success: the tool answers |
 * | any other `ToolUnavailable`, a defect                                           | failure                   |
 * | a refusal by a policy inside, a question to the user, a stop, an interruption   | nothing                   |
 *
 * A probe that never ends keeps the circuit from closing: put a `Tool.timeout` inside.
 *
 * If there is a `ToolHealth`, it is notified when the circuit opens, is probed, and closes. A tool that is
 * enabled by hand there gets a new circuit. With `openDuration: Duration.infinity`, nothing else closes the
 * circuit. With a `ToolHealth`, a refused call reports how many consecutive errors the tool had, and the code
 * of the last one.
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
import { answered, ended } from "./internal/call/runUserCode.ts"
import { same } from "./internal/explain/worstCaseBounds.ts"
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
   * The name of the circuit. Tools that use the same service share it. Do not share it between a tool and a
   * tool that runs inside it, since a probe would refuse its own inner call. Default: the tool's name, so
   * that the tool has its own circuit.
   */
  readonly key?: string
}

// -----------------------------------------------------------------------------
// Policy
// -----------------------------------------------------------------------------

/**
 * Makes a breaker as a policy of kind `"breaker"`. See {@link protect}.
 *
 * When to use: as a default of a toolkit or an agent. Each tool then has its own circuit, unless there is a
 * `key`.
 *
 * @category policies
 * @since 0.1.0
 */
export const policy = ({ key }: Options = {}): Policy.Policy<Breaker.CircuitBreaker> =>
  builtIn(Policy.make<Breaker.CircuitBreaker, ToolUnavailable>({
    kind: "breaker",
    description: key === undefined ? "breaker" : `breaker of ${key}`,
    bound: same,
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
 * Refuses the calls of a tool while its circuit is open.
 *
 * When to use: for a service that goes down for minutes. Then repeated timeouts cost the callers time, and
 * repeated calls keep the service down. Put it outside `retry` and `timeout`, and inside `fallback`.
 *
 * Fails with a transient `ToolUnavailable` whose outcome is `not_executed`:
 *
 * - `circuit_open` while the circuit is open, with the time until the probe as `retryAfter`; and while
 *   another call is the probe, without `retryAfter`
 * - `breaker_unavailable` if effect's breaker is configured to fail with its store
 *
 * A failure's own `retryAfter` keeps the circuit open for at least that time, up to effect's
 * `maxOpenDuration`.
 *
 * A tool that was enabled by hand (`ToolHealth.enable`) gets a new circuit in this process. If tools share a
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

// Effect's breaker has no reset. So a tool that was enabled by hand continues under another key.
const keyOf = (circuit: string, tool: string, health: ToolHealth["Service"] | undefined): string => {
  const enabled = health?.enabled(tool) ?? 0
  return enabled === 0 ? circuit : `${circuit}#${enabled}`
}

type Circuit = Parameters<Policy.Call["changed"]>[0]["to"]

const circuitOf = { Closed: "closed", Open: "open", HalfOpen: "half_open" } as const

/** How long a store may take to report a circuit to a watcher, in milliseconds. */
const storeMillis = 1_000

/**
 * Reports each change of a circuit to watchers. It reads the state after failures, and while a circuit is
 * known not to be closed. So a successful call costs nothing extra, and neither does a call without a
 * watcher.
 */
class Changes {
  readonly #circuit: string
  readonly #call: Policy.Call
  // By breaker, because each process and each test has its own. Closed circuits are not stored.
  readonly #seen = new WeakMap<Breaker.CircuitBreaker, { readonly circuit: Circuit; readonly key: string }>()

  constructor(circuit: string, call: Policy.Call) {
    this.#circuit = circuit
    this.#call = call
  }

  isTroubled(breaker: Breaker.CircuitBreaker): boolean {
    return this.#seen.has(breaker)
  }

  /** Reports a call that passed an open circuit: the probe, unless the circuit is new. */
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
    // A store may hang, or be user code. Watching must not make a call fail or wait for long.
    const state = withinTime(
      Effect.suspend(() => answered("The circuit breaker", breaker.state(key))),
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

// The store may be user code. Its answers are checked until a call succeeds, and not on every call.
const wellTyped = new WeakSet<Breaker.CircuitBreaker>()

const checkUntilProven = <A, E extends ToolFailure, R>(
  breaker: Breaker.CircuitBreaker,
  called: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.map(ended("The circuit breaker", called), (value) => {
    wellTyped.add(breaker)
    return value
  })

const classify = (exit: Exit.Exit<unknown, ToolFailure>): Breaker.Outcome => {
  if (Exit.isSuccess(exit)) return Breaker.success
  const { cause } = exit
  // An interruption says nothing about the tool, and neither do defects of its finalizers.
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
 * Runs a call, and reports its circuit to the tool's health. It reads the state only where it may have
 * changed: after a failure, and while the health shows an open circuit or a probe. So a successful call costs
 * nothing extra.
 *
 * Only the probe itself sets the status `Probing`, because only the probe is sure to report how it ended. A
 * call that is refused meanwhile would leave the tool in `Probing` for ever.
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
      // The store does not answer. The next call asks it again.
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
  // A circuit that is still half-open waits for another probe, which may be any call from now on.
  const probed = () => look(open(Duration.zero))
  const watched = Effect.suspend(() => inTrouble() ? Effect.andThen(probing(), self) : self)
  return Effect.onExit(breaker.execute(watched, { key: circuit, classify }), (exit) => {
    // The tool was enabled meanwhile, so this circuit is no longer the tool's.
    if (circuit !== keyNow()) return Effect.void
    const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
    if (error?._tag === "CircuitBreakerError") {
      return error.reason._tag === "CircuitOpen" ? open(error.reason.retryAfter) : Effect.void
    }
    const hasFailed = error?._tag === "ToolUnavailable" || Exit.isFailure(exit) && Cause.hasDies(exit.cause)
    return hasFailed || inTrouble() ? probed() : Effect.void
  })
}

// JSON has no infinite number.
const openUntil = (until: number): Status & { readonly _tag: "CircuitOpen" } =>
  Number.isFinite(until) ? { _tag: "CircuitOpen", until } : { _tag: "CircuitOpen" }
