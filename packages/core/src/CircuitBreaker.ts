/**
 * Stops calling a tool that has failed too often, until a probe finds it well again.
 *
 * The breaker is effect's own (`effect/persistence`): its layer says when a circuit opens and for how long, and where
 * circuits are kept. Here is what makes a policy of it: what counts as a failure of the tool, what a refused call fails
 * with, and who is told.
 *
 *     tool.pipe(
 *       Tool.timeout("5 seconds"),
 *       Tool.retry(RetryPolicy.transient),     inside: the breaker sees one outcome per call
 *       CircuitBreaker.protect(),
 *       Tool.fallback(mirror.run)              outside: it answers while the circuit is open
 *     )
 *
 * | outcome of the call                                                                    | counts as           |
 * | -------------------------------------------------------------------------------------- | ------------------- |
 * | a value; any failure but `ToolUnavailable`; a permanent one that is about the arguments | success: it answers |
 * | any other `ToolUnavailable`, a defect                                                  | failure             |
 * | a refusal of a policy inside, a question to the user, a stop, an interruption          | nothing             |
 *
 * A probe that never ends keeps the circuit from closing: put a `Tool.timeout` inside.
 *
 * Where there is a `ToolHealth`, it is told when the circuit opens, is probed and closes, and a tool that is enabled by
 * hand there gets a new circuit. With `openDuration: Duration.infinity` nothing else closes it. A refused call then says how many errors
 * the tool had in a row, and what the last one was.
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
import { answered, ended } from "./internal/call/userCode.ts"
import { withinTime } from "./internal/effect/withinTime.ts"
import { same } from "./internal/explain/bounds.ts"
import { isBlameless, isRefusal, refusal } from "./internal/failure/refusalCode.ts"
import { defectsOf, signalIn } from "./internal/failure/signal.ts"
import { builtIn } from "./internal/policy/builtIn.ts"
import { openCircuitText } from "./internal/policy/openCircuit.ts"
import * as Policy from "./Policy.ts"
import * as Tool from "./Tool.ts"
import type { ToolFailure, ToolUnavailable } from "./ToolFailure.ts"
import { type Status, ToolHealth } from "./ToolHealth.ts"

/**
 * What can be said of a breaker here; the rest is said where effect's layer is made.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * The circuit's name: tools that stand on one service share it. Not for tools that run inside of each other, since a
   * probe would refuse its own inner call. Default: the tool's name, a circuit of its own.
   */
  readonly key?: string
}

// -----------------------------------------------------------------------------
// Policy
// -----------------------------------------------------------------------------

/**
 * A breaker as a policy of kind `"breaker"`. See {@link protect}.
 *
 * When to use: as a default of a toolkit or an agent: each tool gets a circuit of its own, unless there is a `key`.
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
          const called = health === undefined
            ? breaker.execute(self, { key: circuit, classify })
            : observed(self, { breaker, health, keyNow, tool: name })
          const looked = Effect.tapDefect(called, () => changes.look(breaker, keyNow()))
          const judged = Effect.catch(
            looked,
            (error): Effect.Effect<never, E | ToolUnavailable> =>
              error._tag === "CircuitBreakerError"
                ? Effect.andThen(changes.refused(breaker, keyNow(), error), call.refuse(refused(name, error, health)))
                : Effect.andThen(changes.look(breaker, keyNow()), Effect.fail(error))
          )
          const told = isTroubled ? Effect.tap(judged, () => changes.look(breaker, keyNow())) : judged
          return wellTyped.has(breaker) ? told : proving(breaker, told)
        })
    }
  }))

/**
 * Refuses the calls of a tool while its circuit is open.
 *
 * When to use: for what goes down for minutes: whoever waits for a timeout again and again loses time, and whoever calls
 * all the same keeps the service down. Outside of `retry` and `timeout`, inside of `fallback`.
 *
 * Fails with `ToolUnavailable`, transient and `not_executed`: as `circuit_open` while the circuit is open, with the time
 * until the probe as `retryAfter`, and while another call is the probe, without one; as `breaker_unavailable` when effect's
 * breaker is told to fail with its store. A failure's own `retryAfter` keeps the circuit open for at least as long, up to
 * effect's `maxOpenDuration`.
 *
 * A tool that was enabled by hand (`ToolHealth.enable`) gets a new circuit in this process; of tools that share a key, enable
 * all.
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
// Inside
// -----------------------------------------------------------------------------

// Effect's breaker has no reset: who was enabled by hand starts anew under another key.
const keyOf = (circuit: string, tool: string, health: ToolHealth["Service"] | undefined): string => {
  const enabled = health?.enabled(tool) ?? 0
  return enabled === 0 ? circuit : `${circuit}#${enabled}`
}

type Circuit = Parameters<Policy.Call["changed"]>[0]["to"]

const named = { Closed: "closed", Open: "open", HalfOpen: "half_open" } as const

/** How long a store may take to tell a watcher of a circuit, in milliseconds. */
const patience = 1_000

/**
 * Tells whoever watches of each change of a circuit. It looks after failures, and while it knows of trouble: a call that goes well pays
 * nothing, and neither does one that nobody watches.
 */
class Changes {
  readonly #circuit: string
  readonly #call: Policy.Call
  // By breaker, since each process has its own, and so has each test. A closed one is not kept.
  readonly #seen = new WeakMap<Breaker.CircuitBreaker, { readonly circuit: Circuit; readonly key: string }>()

  constructor(circuit: string, call: Policy.Call) {
    this.#circuit = circuit
    this.#call = call
  }

  isTroubled(breaker: Breaker.CircuitBreaker): boolean {
    return this.#seen.has(breaker)
  }

  /** What passes an open circuit is its probe, unless there is a new circuit. */
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
    // A store may hang, or be a user's. A call does not fail, or wait, because somebody watches it.
    const state = withinTime(
      Effect.suspend(() => answered("The circuit breaker", breaker.state(key))),
      patience,
      { late: () => Effect.undefined, who: "The circuit breaker" }
    )
    const look = Effect.flatMap(
      Effect.exit(state),
      (exit) =>
        Exit.isSuccess(exit) && exit.value !== undefined ? this.#saw(breaker, key, named[exit.value._tag]) : Effect.void
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

// A store of circuits may be a user's, too: what it answers with is looked at until a call has gone well, and not at every call.
const wellTyped = new WeakSet<Breaker.CircuitBreaker>()

const proving = <A, E extends ToolFailure, R>(
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
  // An interruption says nothing of the tool, and neither does what its finalizers died of.
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

const refused = (
  tool: string,
  error: Breaker.CircuitBreakerError,
  health: ToolHealth["Service"] | undefined
): ToolUnavailable => {
  const disabled = () => openCircuitText(tool, health?.reportUnsafe(tool))
  switch (error.reason._tag) {
    case "CircuitOpen":
      return refusal({
        code: "circuit_open",
        detail: disabled(),
        retryAfter: error.reason.retryAfter,
        cause: error
      })
    case "CircuitHalfOpen":
      return refusal({
        code: "circuit_open",
        detail: `${disabled()} Another call is testing it now.`,
        cause: error
      })
    case "CircuitBreakerStoreError":
      return refusal({
        code: "breaker_unavailable",
        detail: `${tool} was not called: its circuit breaker does not answer.`,
        cause: error
      })
  }
}

/**
 * A call whose circuit is told to the tool's health. It is looked at only where it may have changed: after a failure, and
 * while the health knows of trouble; a call that goes well pays nothing.
 *
 * Only a probe says that it probes, since it alone is sure to say how that ended: whoever it refuses meanwhile would leave
 * the tool as being probed for ever.
 */
const observed = <A, E extends ToolFailure, R>(
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
      // A store that cannot say: the next call will find out.
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
  // What is still half-open waits for another probe, which may be any call from now on.
  const probed = () => look(open(Duration.zero))
  const watched = Effect.suspend(() => inTrouble() ? Effect.andThen(probing(), self) : self)
  return Effect.onExit(breaker.execute(watched, { key: circuit, classify }), (exit) => {
    // Enabled meanwhile: this circuit is no longer the tool's.
    if (circuit !== keyNow()) return Effect.void
    const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
    if (error?._tag === "CircuitBreakerError") {
      return error.reason._tag === "CircuitOpen" ? open(error.reason.retryAfter) : Effect.void
    }
    const hasFailed = error?._tag === "ToolUnavailable" || Exit.isFailure(exit) && Cause.hasDies(exit.cause)
    return hasFailed || inTrouble() ? probed() : Effect.void
  })
}

// JSON has no number without end.
const openUntil = (until: number): Status & { readonly _tag: "CircuitOpen" } =>
  Number.isFinite(until) ? { _tag: "CircuitOpen", until } : { _tag: "CircuitOpen" }
