/**
 * A tool: a definition that a model reads, a handler, and the policies around it.
 *
 *     const searchOrders = Tool.make("search_orders", { description, parameters, success }, handler)
 *     const resilient = searchOrders.pipe(Tool.timeout("5 seconds"), Tool.retry(RetryPolicy.transient))
 *
 * A tool is a value with `pipe`. Each combinator adds one policy around what is there, in the order
 * written, and changes the type: a failure that is handled leaves `E`, what a policy needs enters `R`.
 * `Policy` says which order to choose.
 *
 * A tool needs no agent: `tool.run(params)` is an Effect with exactly the tool's error channel.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import { dual } from "effect/Function"
import type * as Option from "effect/Option"
import type { Pipeable } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as Types from "effect/Types"
import type { Source } from "./CallEvent.ts"
import type { Certainty } from "./Certainty.ts"
import type { Explanation } from "./Explanation.ts"
import { whyUnfit } from "./internal/arguments/identity.ts"
import { executed } from "./internal/call/execution.ts"
import { failureLimitOf } from "./internal/call/failureLimit.ts"
import { current } from "./internal/call/frame.ts"
import { framed, leaving } from "./internal/call/framedRun.ts"
import { accountOf } from "./internal/call/outcome.ts"
import { ended, endedHere } from "./internal/call/userCode.ts"
import { explained } from "./internal/explain/explain.ts"
import { type Escalated, type FixerOptions, type Fixing, fixing, type Needed } from "./internal/fixing/fixerOption.ts"
import { withOwnFiber } from "./internal/policy/ownFiber.ts"
import { continuing, type PromiseCall, promised } from "./internal/policy/promiseHandler.ts"
import {
  type Contract,
  contractDemands,
  type ContractFailures,
  type Empty,
  keeping,
  type Pages
} from "./internal/result/resultContract.ts"
import type { Any } from "./internal/tool/anyTool.ts"
import { demand, demands } from "./internal/tool/definition.ts"
import {
  assemble,
  checkedPolicies,
  checkedPolicy,
  rebuild,
  runWithFixers,
  subjectOf,
  tokenOf,
  withPolicy
} from "./internal/tool/parts.ts"
import type { Ledger } from "./Ledger.ts"
import * as Policy from "./Policy.ts"
import type { FailedExecution, Fixed, Rejection } from "./Rejection.ts"
import type { SideEffect } from "./SideEffect.ts"
import type {
  FromOptions,
  SchemaMismatch,
  SemanticGarbage,
  Tag as ToolFailureTag,
  ToolFailure,
  ToolUnavailable
} from "./ToolFailure.ts"
import type { Handled } from "./ToolOutcome.ts"

export type { FixerOptions } from "./internal/fixing/fixerOption.ts"
export type { PromiseCall } from "./internal/policy/promiseHandler.ts"
export type { Any } from "./internal/tool/anyTool.ts"

/**
 * A tool with the name `Name` that turns `Params` into an `A`, can fail with `E`, and needs `R`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Tool<out Name extends string, in out Params, out A, out E extends ToolFailure = never, out R = never>
  extends Pipeable
{
  readonly name: Name
  /** What the tool does, for the model. */
  readonly description: string
  /** What the tool takes; the model is shown its JSON Schema. */
  readonly parameters: Schema.ConstraintDecoder<Params>
  /** What the tool returns; the model gets its JSON form. */
  readonly success: Schema.ConstraintCodec<A, unknown>
  readonly sideEffect: SideEffect
  /** Tools that serve when this one is unavailable. */
  readonly instead: ReadonlyArray<string>
  /** The tool that tells whether a call of this one took effect. */
  readonly check: string | undefined
  /** The parameter that asks for less. */
  readonly size: string | undefined
  /** Which of its arguments say what is to be done; all of them where it is absent. */
  readonly identity: ((params: Params) => unknown) | undefined
  /** Whether the same may be done again after a success. */
  readonly repeats: boolean | undefined
  /** After how many failed executions in a run the same call is refused. */
  readonly failureLimit: number
  /** The policies around the handler, innermost first. */
  readonly policies: ReadonlyArray<Policy.Any>
  /** What corrects its arguments, in the order in which they are asked. */
  readonly fixers: ReadonlyArray<Fixing>
  /**
   * Runs the handler under its policies. It takes typed parameters: decoding a model's is `Dispatch`'s matter.
   *
   * Two things its type cannot say. Only a `ToolUnavailable` can tell whether the call took effect (`outcome`): after a failure of another
   * class, or an answer from elsewhere, ask {@link outcome}. And a tool that acts fails with `ToolUnavailable` where a policy of your own
   * runs it again (`not_repeated`), or where it would begin after its `Deadline` (`timeout`), also if `E` does not have it.
   *
   * Each run is a call of its own, also under the same `ToolCall.withKey`: a retry around it runs the tool again. Use {@link retry} instead.
   */
  readonly run: (params: Params) => Effect.Effect<A, E, R>
}

/**
 * What a tool can fail with.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Failure<T extends Any> = Effect.Error<ReturnType<T["run"]>>

/**
 * What a tool needs.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Requirements<T extends Any> = Effect.Services<ReturnType<T["run"]>>

// -----------------------------------------------------------------------------
// Constructors
// -----------------------------------------------------------------------------

/**
 * The definition of a tool: what a model reads, its types, and what its author knows of its results ({@link Contract}).
 *
 * @example
 * ```ts
 * import { Tool } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const search = Tool.make("search_orders", {
 *   description: "Orders by customer",
 *   parameters: Schema.Struct({ customer: Schema.String, page: Schema.optionalKey(Schema.Int) }),
 *   success: Schema.Struct({ orders: Schema.Array(Schema.String), hasMore: Schema.Boolean }),
 *   sideEffect: "none",
 *   empty: { detail: "No orders match this customer.", hint: "Use the customer's id." },
 *   pages: { more: "hasMore", next: "page" }
 * }, ({ customer }) => Effect.succeed({ orders: customer === "c-7" ? ["7"] : [], hasMore: customer === "c-7" }))
 *
 * const failure = Effect.runSync(Effect.flip(search.run({ customer: "c-7" })))
 * failure._tag === "PartialData" ? failure.next : failure // => { customer: "c-7", page: 2 }
 * Effect.runSync(Effect.flip(search.run({ customer: "Ada" }))).detail // => "No orders match this customer."
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Definition<A, Params = {}> extends Contract<NoInfer<A>, NoInfer<Params>> {
  /** What the tool does, for the model. */
  readonly description: string
  /** What the tool takes. Default: nothing. */
  readonly parameters?: Schema.ConstraintDecoder<Params>
  /** What the handler returns, decoded. The model reads its JSON form, nested in at most 512 levels. */
  readonly success: Schema.ConstraintCodec<A, unknown>
  /** Default: `"non_idempotent"`, the careful assumption. Within one call such a tool never runs again unless all its attempts did nothing. */
  readonly sideEffect?: SideEffect
  /** Tools that serve when this one is unavailable. The model is told of those that the toolkit has. */
  readonly instead?: ReadonlyArray<string>
  /** The tool that tells whether a call of this one took effect. The model is told of it when it needs to know. */
  readonly check?: string
  /**
   * Declares that the tool refuses before it does anything. So a 429, a refused connection, or a tool inside that was not run, says that
   * nothing was done, and policies may run the tool again. Default: `false`.
   */
  readonly refusesFirst?: boolean
  /**
   * What identifies the effect: `({ order }) => order`. Calls of a run with equal identities mean the same effect. After a success the next
   * one means another; until then they share one idempotency key. It is JSON, or has dates, bigints, Maps and Sets in it. It must not change
   * the parameters. A call whose identity has nothing but `undefined`, `null` and blank texts in it is refused (`no_identity`). Default: all
   * arguments, however they are written.
   */
  readonly identity?: (params: NoInfer<Params>) => unknown
  /**
   * May the same be done again after it has succeeded? Default: in the same run, yes, since two equal orders may be meant; in a later run of
   * its scope (`RunOptions.facts`) no, unless the tool is `"idempotent"`. What is refused then is told that it has already been done.
   */
  readonly repeats?: boolean
  /**
   * After how many failed executions in a run the same call is refused (`repeated_call`), retries counted. At least 1. Default: 3, and 9 of a
   * tool that is `"idempotent_by_key"`.
   */
  readonly failureLimit?: number
  /** Lets an attempt run to its end after its time is up or its run is interrupted. `LateResult` tells how it ended. Default: `false`. */
  readonly uninterruptible?: boolean
}

export type { Contract, ContractFailures, Empty, Pages }

/**
 * A definition with certain fields. `make` infers which it has, since they decide what the tool can fail with ({@link ContractFailures}).
 *
 * @category utility types
 * @since 0.1.0
 */
export type Having<Word extends keyof Definition<unknown>> = { readonly [K in Word]?: unknown }

/**
 * A tool from its definition and its handler.
 *
 * The handler fails with the four failures and nothing else, and with partial data of its own
 * success type; anything else does not compile. What it throws is a defect, and so is a promise in place of an Effect: the log
 * says what to do. A definition that is not of its type throws. With a `SchemaMismatch` on the side of the
 * arguments it promises that it has done nothing with them: it may be run again with better ones (`Tool.fix`).
 *
 * The handler of a tool that acts says by its end whether it has taken effect; `Certainty` has the table. A `SemanticGarbage` says that it
 * refused, and did nothing. So when something was done and its answer makes no sense, fail with a `SchemaMismatch` of the result, or with a
 * `ToolUnavailable` whose `outcome` is `"unknown"` or `"executed"`.
 *
 * It runs in a fiber of its own. So what it forks as a child ends with it; what is to go on is forked with `Effect.forkDetach`, or in
 * a scope.
 *
 * @param name letters, digits, `_` and `-`, at most 64 of them, as model providers require; anything else throws
 * @param definition {@link Definition}. Words of its {@link Contract} are checked after each success of the handler: `invariants`, the age,
 * `pages`, then `empty`. What they fail with enters the tool's type. Of a tool that acts, the call knows that it has taken effect, so that no
 * policy runs it again because of them
 * @param handler from the decoded parameters to an Effect; with several failures it reads best as an
 * `Effect.fnUntraced(function*({ city }) { … })` with `return yield* new SemanticGarbage({ … })`
 *
 * @example
 * ```ts
 * import { SemanticGarbage, Tool } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const population = Tool.make("get_population", {
 *   description: "The population of a city",
 *   parameters: Schema.Struct({ city: Schema.String }),
 *   success: Schema.Int,
 *   sideEffect: "none"
 * }, ({ city }) =>
 *   city === "Paris"
 *     ? Effect.succeed(2_102_650)
 *     : Effect.fail(new SemanticGarbage({ code: "unknown_city", detail: `Unknown city: '${city}'.` })))
 *
 * population.name // => "get_population"
 * Effect.runSync(population.run({ city: "Paris" })) // => 2102650
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <
  const Name extends string,
  A,
  Handled extends Effect.Effect<NoInfer<A>, ToolFailure<NoInfer<A>>, unknown>,
  Params = {},
  Word extends keyof Definition<unknown> = never
>(
  name: Name,
  definition: Definition<A, Params> & Having<Word>,
  // Inferred whole, so that a handler may return one Effect or another.
  handler: (params: NoInfer<Params>) => Handled
): Tool<
  Name,
  Params,
  A,
  Effect.Error<Handled> | ContractFailures<A>[Extract<Word, keyof ContractFailures<A>>],
  Effect.Services<Handled>
> =>
  defined<Name, A, Handled, Params, Word>(
    name,
    definition,
    handler,
    (handled) => withOwnFiber(handled(false), handled(true))
  )

/**
 * A tool whose handler is an async function.
 *
 * When to use: for code of promises. With Effects, use {@link make}.
 *
 * What the function throws becomes a failure by its shape (`ToolFailure.from`). The model reads the message of a plain `Error`, and of the
 * classes in `tell`. A `TypeError` and other mistakes of the program are defects. The function may also throw a failure of this library.
 *
 * The `signal` is aborted when the call's time is up or its run is interrupted. Pass it on, since an attempt runs until its promise has
 * settled. Nobody waits for that: a timeout ends the call at once, and an interrupted run waits 5 s at most.
 *
 * An error speaks of one request, and the function may have made others before. So after a refused connection or a 429, the outcome of a tool
 * that acts is unknown, and nothing runs it again. Declare `refusesFirst` if the function makes one request, or is refused before it does
 * anything. Such an error then counts as not executed, and may be retried. After the function has acted, a plain `Error` would say that it
 * refused: throw a `ToolUnavailable` with an `outcome`.
 *
 * @param name letters, digits, `_` and `-`, at most 64 of them; anything else throws
 * @param definition {@link Definition}, and `tell`: classes of errors whose messages the model may read; default: none
 * @param handler from the decoded parameters to a promise. It is also given the `signal`, the `idempotencyKey`, which is the same for each
 * attempt of the call, and the number of the `attempt`, from 1
 *
 * @example
 * ```ts
 * import { Tool } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const bookRoom = Tool.promise("book_room", {
 *   description: "Books a meeting room",
 *   parameters: Schema.Struct({ room: Schema.String }),
 *   success: Schema.String
 * }, async ({ room }, { signal }) => {
 *   signal.throwIfAborted()
 *   if (room === "A1") throw new Error("Room A1 is already booked. Free rooms: B2, C3.")
 *   return `${room} is yours.`
 * })
 *
 * await Effect.runPromise(bookRoom.run({ room: "B2" })) // => "B2 is yours."
 * const failure = await Effect.runPromise(Effect.flip(bookRoom.run({ room: "A1" })))
 * failure._tag // => "SemanticGarbage"
 * failure.detail // => "Room A1 is already booked. Free rooms: B2, C3."
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const promise = <
  const Name extends string,
  A,
  Params = {},
  Word extends Exclude<keyof Definition<unknown>, "uninterruptible"> = never
>(
  name: Name,
  definition: Omit<Definition<A, Params>, "uninterruptible"> & FromOptions & Having<Word>,
  handler: (params: NoInfer<Params>, call: PromiseCall) => PromiseLike<NoInfer<A>> | NoInfer<A>
): Tool<
  Name,
  Params,
  A,
  SchemaMismatch | SemanticGarbage | ToolUnavailable | ContractFailures<A>[Extract<Word, keyof ContractFailures<A>>]
> => {
  const { tell = [] } = definition
  demand([
    ["A tool's handler is a function", Predicate.isFunction(handler), handler],
    ["A tool's 'tell' is a list of classes", Array.isArray(tell) && tell.every(Predicate.isFunction), tell]
  ])
  const called = promised(`The handler of '${name}'`, handler, { tell })
  return defined<Name, A, ReturnType<typeof called>, Params, Word>(
    name,
    { ...definition, uninterruptible: true },
    called,
    (handled) => withOwnFiber(continuing(handled(true)), handled(true))
  )
}

type Around<Params> = <A, E extends ToolFailure, R>(
  handled: (isHere: boolean) => (params: Params) => Effect.Effect<A, E, R>
) => (params: Params) => Effect.Effect<A, E, R>

/** @param around what is made of a handler that has its own fiber (`false`), or that of a time limit (`true`) */
const defined = <
  const Name extends string,
  A,
  Handled extends Effect.Effect<A, ToolFailure<A>, unknown>,
  Params,
  Word extends keyof Definition<unknown>
>(
  name: Name,
  definition: Definition<A, Params> & Having<Word>,
  handler: (params: Params) => Handled,
  around: Around<Params>
): Tool<
  Name,
  Params,
  A,
  Effect.Error<Handled> | ContractFailures<A>[Extract<Word, keyof ContractFailures<A>>],
  Effect.Services<Handled>
> => {
  const { check, description, instead = [], refusesFirst = false, sideEffect = "non_idempotent", size } = definition
  const { identity, repeats, uninterruptible: isUninterruptible = false } = definition
  const { failureLimit = failureLimitOf(sideEffect) } = definition
  const given = { ...definition, failureLimit, instead, refusesFirst, isUninterruptible, sideEffect, handler }
  demand([...demands(name, given), ...contractDemands(given)])
  const who = `The handler of '${name}'`
  const acts = sideEffect !== "none"
  const token = {}
  const handled = (isHere: boolean) => (params: Params) =>
    Effect.withFiber((fiber) => {
      const frame = fiber.getRef(current)
      if (acts || frame.isWatched) {
        const call = () => parted(handler(params))
        return executed({ name, who, acts, token, call, refusesFirst, isUninterruptible, isHere }, frame, fiber)
      }
      frame.begin()
      return (isHere ? endedHere : ended)(who, parted(handler(params)))
    })
  const parameters = definition.parameters ?? asParameters<Params>(Schema.Struct({}))
  const unfit = sideEffect === "idempotent_by_key" && identity === undefined ? whyUnfit(parameters) : undefined
  if (unfit !== undefined) {
    throw new TypeError(
      `'${name}' needs an 'identity', since no idempotency key can be made of its arguments as they are: ${unfit}.`
    )
  }
  const kept = (isHere: boolean) => keeping({ ...definition, name, parameters, sideEffect }, handled(isHere))
  return assemble({
    name,
    description,
    parameters,
    success: definition.success,
    sideEffect,
    instead,
    check,
    size,
    identity,
    repeats,
    failureLimit
  }, {
    token,
    handler: around(kept),
    inside: [],
    own: [],
    defaults: [],
    fixers: { own: [] }
  })
}

// -----------------------------------------------------------------------------
// Policies
// -----------------------------------------------------------------------------

/**
 * Tries again on a Schedule while the tool is transiently unavailable.
 *
 * When to use: around everything that talks to a network. Any Schedule will do; `RetryPolicy` has
 * the usual ones. A function gets a `$` that gives a schedule the failures' type, as in `Effect.retry`:
 * `Tool.retry(($) => $(Schedule.recurs(3)).pipe(Schedule.while(({ input }) => input.code !== "rate_limited")))`.
 *
 * Only a transient `ToolUnavailable` is retried, and only where a repetition is safe: the tool is
 * read-only or idempotent, or all its attempts in this call certainly did nothing (`Certainty`). A failure that was mapped to another one
 * changes nothing about that. A wait that cannot
 * end before the `Deadline` is not begun, and neither is one that the `RetryBudget` has nothing left for. When the
 * schedule is done, the last failure goes on as it is. While nothing fails, it costs next to nothing.
 *
 * @example
 * ```ts
 * import { RetryPolicy, Tool, ToolUnavailable } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * let calls = 0
 * const flaky = Tool.make("flaky", { description: "Fails twice", success: Schema.Int, sideEffect: "none" }, () =>
 *   ++calls < 3
 *     ? Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
 *     : Effect.succeed(calls)
 * ).pipe(Tool.retry(RetryPolicy.transient))
 *
 * await Effect.runPromise(flaky.run({})) // => 3
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const retry: {
  <R2>(retries: Policy.Retries<R2>): <Name extends string, Params, A, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>
  ) => Tool<Name, Params, A, E, R | R2>
  <Name extends string, Params, A, E extends ToolFailure, R, R2>(
    self: Tool<Name, Params, A, E, R>,
    retries: Policy.Retries<R2>
  ): Tool<Name, Params, A, E, R | R2>
} = dual(2, <T extends Any>(self: Any, retries: Policy.Retries<unknown>): T => withPolicy(self, Policy.retry(retries)))

/**
 * Ends an attempt after a time.
 *
 * When to use: around everything that can hang, inside of `retry`. Outside of `retry`, {@link deadline} limits the whole call.
 *
 * Fails with `ToolUnavailable`. Of a read-only tool it is a transient `timeout`; of an idempotent one,
 * too, with an unknown outcome; of one that is neither it is `outcome_unknown`, which nothing retries. A call that was still waiting for
 * its turn when the time was up has done nothing: it is transient and `not_executed`, as `timeout`, or as what it waited for says
 * (`bulkhead_full`).
 *
 * The handler is interrupted, but not waited for: what ignores its interruption goes on in the
 * background. How it ends, when it acts, `LateResult` tells; nothing else that acts begins in it. A handler that blocks the thread cannot be
 * timed out by anything in the same thread.
 * When the run itself is interrupted, it waits up to 5 s for the handler's finalizers.
 *
 * What runs inside knows when its time is up (`Deadline`); of several limits the tightest counts.
 *
 * @example
 * ```ts
 * import { Tool } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const hangs = Tool.make("hangs", { description: "Hangs", success: Schema.Void, sideEffect: "none" }, () => Effect.never)
 *
 * const limited = hangs.pipe(Tool.timeout("10 millis"))
 * const failure = await Effect.runPromise(Effect.flip(limited.run({})))
 * failure.code // => "timeout"
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const timeout: {
  (duration: Duration.Input): <Name extends string, Params, A, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>
  ) => Tool<Name, Params, A, E | ToolUnavailable, R>
  <Name extends string, Params, A, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>,
    duration: Duration.Input
  ): Tool<Name, Params, A, E | ToolUnavailable, R>
} = dual(2, <T extends Any>(self: Any, duration: Duration.Input): T => withPolicy(self, Policy.timeout(duration)))

/**
 * Ends a whole call after a time, with all its attempts and waits.
 *
 * When to use: outside of `retry` and of all that waits, inside of the breaker and the fallback. Inside of `retry`, {@link timeout} limits
 * each attempt.
 *
 * It fails as `timeout` does, and what it ends goes on as it says there. A retry whose wait could not end before the deadline is not
 * begun: the call fails at once with its last failure. As a policy it is of a kind of its own, so that a default timeout and a default
 * deadline stand side by side.
 *
 * @param duration above zero; anything else throws
 *
 * @example
 * ```ts
 * import { RetryPolicy, Tool } from "@fallible/core"
 * import { Duration, Effect, Schema } from "effect"
 *
 * const quote = Tool.make("get_quote", { description: "A quote", success: Schema.Finite, sideEffect: "none" }, () =>
 *   Effect.succeed(1)
 * ).pipe(
 *   Tool.timeout("2 seconds"),
 *   Tool.retry(RetryPolicy.transient),
 *   Tool.deadline("5 seconds")
 * )
 *
 * Duration.format(Tool.explain(quote).time.most) // => "5s"
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const deadline: typeof timeout = dual(
  2,
  <T extends Any>(self: Any, duration: Duration.Input): T => withPolicy(self, Policy.deadline(duration))
)

/**
 * Answers from elsewhere when the tool is unavailable: a mirror, a cache, a default.
 *
 * When to use: outside of `retry`. Several in a row make a chain: each is asked when all before it were unavailable. Give each
 * a name: the outcome (not the model, unless there is an age) says which one answered, and when all have failed, the failure lists those that were `tried`. Say how old a
 * stale answer is with `ToolCall.source`, so that it is not taken for a fresh one; `LastKnown` does all of that.
 *
 * The source takes the parameters first, as `run` does, so that another tool's `run` is a source: `Tool.fallback(mirror.run)`.
 * `ToolUnavailable` leaves the type; what the source itself can fail with enters it. The failure comes
 * second: look at its `outcome` before doing elsewhere what may have been done already. Of a tool that acts, the answer says in what doubt
 * the tool itself was left, and `Tool.explain` warns of the fallback.
 *
 * @example
 * ```ts
 * import { Tool, ToolUnavailable } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const rate = Tool.make("rate", { description: "A rate", success: Schema.Finite, sideEffect: "none" }, () =>
 *   Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
 * ).pipe(Tool.fallback(() => Effect.succeed(1.08), { name: "yesterday's table" }))
 *
 * Effect.runSync(rate.run({})) // => 1.08
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const fallback: {
  <Params, A, Handled extends Effect.Effect<NoInfer<A>, ToolFailure<NoInfer<A>>, unknown>>(
    source: (params: Params, failure: ToolUnavailable) => Handled,
    options?: Policy.FallbackOptions
  ): <Name extends string, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>
  ) => Tool<
    Name,
    Params,
    A,
    Types.ExcludeTag<E, "ToolUnavailable"> | Effect.Error<Handled>,
    R | Effect.Services<Handled>
  >
  <
    Name extends string,
    Params,
    A,
    E extends ToolFailure,
    R,
    Handled extends Effect.Effect<NoInfer<A>, ToolFailure<NoInfer<A>>, unknown>
  >(
    self: Tool<Name, Params, A, E, R>,
    source: (params: Params, failure: ToolUnavailable) => Handled,
    options?: Policy.FallbackOptions
  ): Tool<
    Name,
    Params,
    A,
    Types.ExcludeTag<E, "ToolUnavailable"> | Effect.Error<Handled>,
    R | Effect.Services<Handled>
  >
} = dual(
  isDataFirst,
  <T extends Any>(
    self: Any,
    source: (params: never, failure: ToolUnavailable) => Effect.Effect<unknown, ToolFailure, unknown>,
    options?: Policy.FallbackOptions
  ): T => withPolicy(self, Policy.fallback(source, options))
)

/**
 * Handles the failures of one or more tags, as `Effect.catchTag` does.
 *
 * When to use: to turn a failure into an answer ("no orders" instead of `SemanticGarbage`), or into
 * another failure with the tool's parameters at hand. Of a tool that acts, the answer says in what doubt the tool itself was left, and
 * `Tool.explain` warns of the catch.
 *
 * @example
 * ```ts
 * import { SemanticGarbage, Tool } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const orders = Tool.make("orders", { description: "Orders", success: Schema.Array(Schema.String), sideEffect: "none" }, () =>
 *   Effect.fail(new SemanticGarbage({ code: "empty_result", detail: "No orders." }))
 * ).pipe(Tool.catchTag("SemanticGarbage", () => Effect.succeed([])))
 *
 * Effect.runSync(orders.run({})) // => []
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const catchTag: {
  <
    const K extends Tags<E>,
    E extends ToolFailure,
    Params,
    A,
    Handled extends Effect.Effect<NoInfer<A>, ToolFailure<NoInfer<A>>, unknown>
  >(
    tag: K,
    handler: (failure: Types.ExtractTag<E, One<K>>, params: Params) => Handled
  ): <Name extends string, R>(
    self: Tool<Name, Params, A, E, R>
  ) => Tool<
    Name,
    Params,
    A,
    Types.ExcludeTag<E, One<K>> | Effect.Error<Handled>,
    R | Effect.Services<Handled>
  >
  <
    Name extends string,
    Params,
    A,
    E extends ToolFailure,
    R,
    const K extends Tags<E>,
    Handled extends Effect.Effect<NoInfer<A>, ToolFailure<NoInfer<A>>, unknown>
  >(
    self: Tool<Name, Params, A, E, R>,
    tag: K,
    handler: (failure: Types.ExtractTag<E, One<K>>, params: Params) => Handled
  ): Tool<
    Name,
    Params,
    A,
    Types.ExcludeTag<E, One<K>> | Effect.Error<Handled>,
    R | Effect.Services<Handled>
  >
} = dual(
  3,
  <T extends Any>(
    self: Any,
    tag: ToolFailureTag | ReadonlyArray<ToolFailureTag>,
    handler: (failure: never, params: never) => Effect.Effect<unknown, ToolFailure, unknown>
  ): T => withPolicy(self, Policy.catchTag(tag, handler))
)

// `E` stands without `NoInfer` in `ExtractTag<E, …>`: a conditional type does not distribute over it.

/** One tag, or several. */
type Tags<E extends ToolFailure> = E["_tag"] | readonly [E["_tag"], ...ReadonlyArray<E["_tag"]>]

/** The tags among them. */
type One<K> = K extends ReadonlyArray<infer Tag extends string> ? Tag : K extends string ? K : never

/**
 * Turns each failure into another one: a clearer detail, a hint, another class. Whether the call took effect stays what it was: a payment
 * that was lost is not tried again because it is called `not_executed` now.
 *
 * @example
 * ```ts
 * import { SemanticGarbage, Tool } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const city = Tool.make("city", { description: "A city", success: Schema.String, sideEffect: "none" }, () =>
 *   Effect.fail(new SemanticGarbage({ code: "unknown_city", detail: "Unknown city." }))
 * ).pipe(Tool.mapFailure((failure) => new SemanticGarbage({ ...failure, hint: "Ask for a capital." })))
 *
 * Effect.runSync(Effect.flip(city.run({}))).hint // => "Ask for a capital."
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const mapFailure: {
  <A, E extends ToolFailure, E2 extends ToolFailure<NoInfer<A>>>(
    f: (failure: E) => E2
  ): <Name extends string, Params, R>(self: Tool<Name, Params, A, E, R>) => Tool<Name, Params, A, E2, R>
  <Name extends string, Params, A, E extends ToolFailure, R, E2 extends ToolFailure<NoInfer<A>>>(
    self: Tool<Name, Params, A, E, R>,
    f: (failure: E) => E2
  ): Tool<Name, Params, A, E2, R>
} = dual(2, <T extends Any>(self: Any, f: (failure: never) => ToolFailure): T => withPolicy(self, Policy.mapFailure(f)))

/**
 * Finds out what became of a call that may have acted, and turns the unknown into a fact.
 *
 * When to use: for a tool that acts, on a service that can be asked what it did: by the idempotency key (`ToolCall.current`), by the order.
 * Outside of `timeout`, inside of `retry`.
 *
 * The check is asked when nobody knows whether the call took effect, whatever its failure is called now. With `Option.some` of the result it
 * did, and the tool succeeds with that result. `Option.none` means that it cannot be found now, and *not there yet is not the same as not
 * there*. So the outcome stays unknown, unless you promise one of these:
 *
 * - `settle` is how long the service takes at most until what it was asked for can be found. The time counts from the end of the last
 *   attempt, as this process saw it; an attempt that still runs has as long to end. The check is asked again until it is over. Where it would
 *   not be over before the `Deadline`, the check is asked once.
 * - `final: true` is for a check that closes the matter, such as one that cancels the key: a request that still comes under it is refused.
 *
 * Then the failure is a transient `not_executed`, which a `retry` outside tries again. It is your promise: with too short a `settle`, or a
 * `final` that is not, the tool acts twice. So use `settle`, and rather too long.
 *
 * While the check cannot tell, it should fail; give it a time limit of its own. It clears the doubt about the tool's own attempts, and tools
 * inside of them; not about what a fallback asked instead. A handler cannot clear the doubt about a tool that it runs by looking for itself:
 * put the check into that tool's `reconcile`. Events tell of its answer (`OutcomeSettled`).
 *
 * @param check from the parameters and the failure
 * @param options `settle`: as above; `schedule`: when to ask again until then, by default after 100 ms, and each time after twice as long;
 * `final`: as above, default `false`. Both of `settle` and `final`, or a `schedule` without `settle`, throw
 *
 * @example
 * ```ts
 * import { Tool, ToolUnavailable } from "@fallible/core"
 * import { Effect, Option, Schema } from "effect"
 *
 * const paid = new Map<string, string>()
 * const pay = Tool.make("pay", {
 *   description: "Pays an order",
 *   parameters: Schema.Struct({ order: Schema.String }),
 *   success: Schema.String
 * }, ({ order }) =>
 *   Effect.suspend(() => {
 *     paid.set(order, "receipt 1")
 *     return Effect.fail(
 *       new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
 *     )
 *   })
 * ).pipe(
 *   Tool.reconcile(({ order }) => Effect.succeed(Option.fromUndefinedOr(paid.get(order))), { settle: "10 seconds" })
 * )
 *
 * Effect.runSync(pay.run({ order: "7" })) // => "receipt 1"
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const reconcile: {
  <Params, A, Checked extends Effect.Effect<Option.Option<NoInfer<A>>, ToolFailure, unknown>>(
    check: (params: Params, failure: ToolFailure) => Checked,
    options?: Policy.ReconcileOptions
  ): <Name extends string, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>
  ) => Tool<Name, Params, A, E | ToolUnavailable, R | Effect.Services<Checked>>
  <
    Name extends string,
    Params,
    A,
    E extends ToolFailure,
    R,
    Checked extends Effect.Effect<Option.Option<NoInfer<A>>, ToolFailure, unknown>
  >(
    self: Tool<Name, Params, A, E, R>,
    check: (params: Params, failure: ToolFailure) => Checked,
    options?: Policy.ReconcileOptions
  ): Tool<Name, Params, A, E | ToolUnavailable, R | Effect.Services<Checked>>
} = dual(
  isDataFirst,
  <T extends Any>(
    self: Any,
    check: (params: never, failure: ToolFailure) => Effect.Effect<Option.Option<unknown>, ToolFailure, unknown>,
    options?: Policy.ReconcileOptions
  ): T => withPolicy(self, Policy.reconcile(check, options))
)

/**
 * Fetches the rest of a partial result below the model: follows the `next` of `PartialData`, page by page, and puts the pages
 * together.
 *
 * When to use: where a model would only call for page after page anyway. Outside of `retry`, so that each page has its attempts. Each
 * page runs under an idempotency key of its own. A tool that acts cannot be completed; it throws at once.
 *
 * When all is there, the tool succeeds. When a limit is reached or a page fails, what is there is not lost: the failure is
 * `PartialData` with the pages so far, how much of how much they are, why there are not more, and the arguments that continue.
 *
 * @example
 * ```ts
 * import { PartialData, Tool } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const users = Tool.make("users", {
 *   description: "All users",
 *   parameters: Schema.Struct({ page: Schema.Int }),
 *   success: Schema.Array(Schema.String),
 *   sideEffect: "none"
 * }, ({ page }) =>
 *   page === 3
 *     ? Effect.succeed(["grace"])
 *     : Effect.fail(
 *       new PartialData({ code: "more_pages", detail: "There is more.", data: [`user ${page}`], next: { page: page + 1 } })
 *     )
 * ).pipe(Tool.paginate({ merge: (soFar, page) => [...soFar, ...page] }))
 *
 * Effect.runSync(users.run({ page: 1 })) // => ["user 1", "user 2", "grace"]
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const paginate: {
  <A>(options: Policy.PaginateOptions<A>): <Name extends string, Params, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>
  ) => Tool<Name, Params, A, E, R>
  <Name extends string, Params, A, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>,
    options: Policy.PaginateOptions<NoInfer<A>>
  ): Tool<Name, Params, A, E, R>
} = dual(
  2,
  <T extends Any>(self: Any, options: Policy.PaginateOptions<unknown>): T => withPolicy(self, Policy.paginate(options))
)

/**
 * Has rejected arguments corrected before the model hears of it: by a function, an Effect, or an agent (`Fixer.agent`).
 *
 * When to use: where a model keeps making the same mistake that a few lines can correct, at no model call; or where a small model
 * corrects what a large one would have to send anew. Several make a chain: the first is asked first, and the next where it has
 * nothing better, or escalates. A tool's own fixers win over an agent's (`fixers`), and those over a toolkit's (`Toolkit.withFixers`).
 *
 * The fixer is asked when the arguments cannot be decoded, and when the handler fails with a `SchemaMismatch` on the side of the arguments:
 * with that it promises that it has done nothing with them. With `on` it is asked about failed executions, too.
 *
 * It has no place among the policies, which all run anew with the corrected arguments. A timeout begins again, a catch of
 * `SchemaMismatch` and a breaker do not see the rejection, a fallback gets the corrected arguments, and no permit is held while the fixer
 * works. Each execution counts for a limit and for a rate. Only where no fixer has anything better do the policies see the rejection; a custom
 * one sees the call a second time then.
 *
 * | the fixer            | then                                                                                          |
 * | -------------------- | --------------------------------------------------------------------------------------------- |
 * | corrects             | its arguments are decoded and admitted as a call's own; the tool runs, and the model is told  |
 * | answers with a value | it is decoded as a result of the tool; the outcome names the fixer as its source              |
 * | escalates            | the failure goes on in the fixer's words, with its name (`Fixer.escalate`)                    |
 * | stops                | the run ends (`Fixer.throwException`)                                                         |
 * | does anything else   | the failure goes on as it was; a fixer that failed is in the ledger, as `fixer_failed`        |
 *
 * It is not asked when the tool acts and may already have done so in this call. Nor is it for what is not called anyway: a disabled tool, a
 * circuit that `ToolHealth` knows to be open, a call over a limit of the run. What a tool inside of the handler rejects in the same attempt,
 * and a further page of a result, is not the model's to correct. No timeout of the tool ends a fixer; of a `Deadline` it has half of what is left.
 *
 * @param options {@link FixerOptions}: `tries` (1) and `time` (30 seconds) in one call, `on` (none), `name`. With `"defect"` in `on` the tool may
 * fail with `ToolUnavailable`
 *
 * @example
 * ```ts
 * import { Dispatch, Tool, Toolkit } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const weather = Tool.make("get_weather", {
 *   description: "The weather",
 *   parameters: Schema.Struct({ city: Schema.String }),
 *   success: Schema.String,
 *   sideEffect: "none"
 * }, ({ city }) => Effect.succeed(`Sunny in ${city}.`)).pipe(
 *   Tool.fix(({ arguments: args }) => typeof args?.["place"] === "string" ? { city: args["place"] } : undefined)
 * )
 *
 * const call = { id: "1", name: "get_weather", arguments: "{\"place\":\"Paris\"}" }
 * const outcome = Effect.runSync(Dispatch.call(Toolkit.make(weather), call))
 * outcome._tag === "Completed" ? outcome.value : outcome // => "Sunny in Paris."
 * outcome.repairs?.[0]?.note // => 'The arguments were corrected; used were {"city":"Paris"}'
 * ```
 *
 * @category fixers
 * @since 0.1.0
 */
export const fix: {
  <Answer extends Fixed | Effect.Effect<Fixed, unknown, unknown>, const On extends FailedExecution = never>(
    fixer: (rejection: Rejection<NoInfer<On>>) => Answer,
    options?: FixerOptions<On>
  ): <Name extends string, Params, A, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>
  ) => Tool<Name, Params, A, E | Escalated<On>, R | Needed<Answer>>
  <
    Name extends string,
    Params,
    A,
    E extends ToolFailure,
    R,
    Answer extends Fixed | Effect.Effect<Fixed, unknown, unknown>,
    const On extends FailedExecution = never
  >(
    self: Tool<Name, Params, A, E, R>,
    fixer: (rejection: Rejection<NoInfer<On>>) => Answer,
    options?: FixerOptions<On>
  ): Tool<Name, Params, A, E | Escalated<On>, R | Needed<Answer>>
} = dual(
  isDataFirst,
  <T extends Any>(
    self: Any,
    fixer: (rejection: Rejection) => Fixed | Effect.Effect<Fixed, unknown, unknown>,
    options?: FixerOptions
  ): T => rebuild(self, ({ fixers }) => ({ fixers: { ...fixers, own: [...fixers.own, fixing(fixer, options)] } }))
)

/**
 * Runs at most so many calls of the tool at once, over all runs of the process: a bulkhead.
 *
 * When to use: for what breaks under load, or must not starve others. Outside of `retry` a call keeps its permit while it waits;
 * inside, each attempt takes one.
 *
 * The permit stays taken until the handler has really ended, also when a timeout no longer waits for it. A call that gets none in
 * time fails as `bulkhead_full`.
 *
 * @param permits how many at once, from 1
 * @param options `maxWait`: how long a call waits for its permit; zero refuses it at once. Default: as long as it takes
 *
 * @example
 * ```ts
 * import { Tool } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const report = Tool.make("report", { description: "A report", success: Schema.String, sideEffect: "none" }, () =>
 *   Effect.delay(Effect.succeed("done"), "5 millis")
 * ).pipe(Tool.concurrency(1, { maxWait: 0 }))
 *
 * const both = Effect.all([report.run({}), Effect.flip(report.run({}))], { concurrency: 2 })
 * const [first, second] = await Effect.runPromise(both)
 * first // => "done"
 * second.code // => "bulkhead_full"
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const concurrency: {
  (permits: number, options?: Policy.ConcurrencyOptions): <Name extends string, Params, A, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>
  ) => Tool<Name, Params, A, E | ToolUnavailable, R>
  <Name extends string, Params, A, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>,
    permits: number,
    options?: Policy.ConcurrencyOptions
  ): Tool<Name, Params, A, E | ToolUnavailable, R>
} = dual(
  isDataFirst,
  <T extends Any>(self: Any, permits: number, options?: Policy.ConcurrencyOptions): T =>
    withPolicy(self, Policy.concurrency(permits, options))
)

/**
 * Adds a policy around all that is there, defaults included.
 *
 * When to use: for a policy of your own (`Policy.make`), and for one that you have as a value. It adds what the policy needs and what it
 * may fail with to the tool's type; it takes nothing away. A policy that runs what is inside more than once is for tools that only read, or are
 * idempotent: any other fails as `not_repeated` then, unless all before certainly did nothing.
 *
 * @param policy what is not made by `Policy.make` throws
 *
 * @example
 * ```ts
 * import { Policy, Tool } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const twice = Policy.make({
 *   kind: "custom",
 *   name: "second try",
 *   description: "a second try",
 *   wrap: (run) => (params) => Effect.catch(run(params), () => run(params))
 * })
 * let calls = 0
 * const ping = Tool.make("ping", { description: "Answers", success: Schema.Int, sideEffect: "none" }, () =>
 *   Effect.succeed(++calls)
 * ).pipe(Tool.with(twice))
 *
 * Effect.runSync(ping.run({})) // => 1
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
const with_: {
  <R2, E2 extends ToolFailure>(
    policy: Policy.Policy<R2, E2>
  ): <Name extends string, Params, A, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>
  ) => Tool<Name, Params, A, E | E2, R | R2>
  <Name extends string, Params, A, E extends ToolFailure, R, R2, E2 extends ToolFailure>(
    self: Tool<Name, Params, A, E, R>,
    policy: Policy.Policy<R2, E2>
  ): Tool<Name, Params, A, E | E2, R | R2>
} = dual(
  2,
  <T extends Any>(self: Any, policy: Policy.Any): T => withPolicy(self, checkedPolicy(policy))
)

export { with_ as with }

/**
 * Adds policies as defaults: those whose kind the tool does not have, each in its place (`Policy.order`). For a tool that has a `timeout`
 * of its own, a default `deadline` is that much longer (`Policy.withDefaults`).
 *
 * When to use: in a toolkit (`Toolkit.withDefaults`) or an agent (`policies`), which do it for all their tools.
 *
 * @example
 * ```ts
 * import { Policy, RetryPolicy, Tool } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const ping = Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong")).pipe(
 *   Tool.retry(RetryPolicy.none),
 *   Tool.withDefaults([Policy.retry(RetryPolicy.transient), Policy.timeout("5 seconds")])
 * )
 * ping.policies.map(({ kind }) => kind) // => ["timeout", "retry"]
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const withDefaults: {
  <R2 = never, E2 extends ToolFailure = ToolUnavailable>(
    policies: ReadonlyArray<Policy.Policy<R2, E2>>
  ): <T extends Any>(self: T) => WithDefaults<T, R2, E2>
  <T extends Any, R2 = never, E2 extends ToolFailure = ToolUnavailable>(
    self: T,
    policies: ReadonlyArray<Policy.Policy<R2, E2>>
  ): WithDefaults<T, R2, E2>
} = dual(
  2,
  <T extends Any>(self: Any, policies: ReadonlyArray<Policy.Any>): T =>
    rebuild(self, ({ defaults }) => ({ defaults: [...defaults, ...checkedPolicies(policies)] }))
)

/**
 * A tool with default policies: any of them may find it unavailable.
 *
 * @category utility types
 * @since 0.1.0
 */
export type WithDefaults<T extends Any, R2, E2 extends ToolFailure = ToolUnavailable> = T extends
  Tool<infer Name, infer Params, infer A, infer E, infer R> ? Tool<Name, Params, A, E | E2 | ToolUnavailable, R | R2> :
  never

/**
 * A tool with fixers, which need an `R2`, and may put a failure `E2` in their words.
 *
 * @category utility types
 * @since 0.1.0
 */
export type WithFixers<T extends Any, R2, E2 extends ToolFailure = never> = T extends
  Tool<infer Name, infer Params, infer A, infer E, infer R> ? Tool<Name, Params, A, E | E2, R | R2> : never

// -----------------------------------------------------------------------------
// Running
// -----------------------------------------------------------------------------

/**
 * What came of a run: its end, and the account of what happened on the way to it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Outcome<out A, out E extends ToolFailure> {
  /** How it ended: with an answer, a failure, or a defect. */
  readonly exit: Exit.Exit<A, E>
  /** Whether it has taken effect, as far as anybody knows. */
  readonly certainty: Certainty
  /** How often the handler ran, and the tools that its fallbacks asked. */
  readonly attempts: number
  /** How often the handler ran. */
  readonly executions: number
  /** How long policies waited. */
  readonly waited: Duration.Duration
  /** What policies took care of, in order. */
  readonly handled: ReadonlyArray<Handled>
  /** What the agents used and failed with that corrected its arguments. */
  readonly fixing?: Ledger
  /** What is said of an answer, one sentence each. */
  readonly caveats: ReadonlyArray<string>
  /** Where an answer came from, when anybody said so. */
  readonly source?: Source
}

/**
 * Runs a tool and tells all that is known of the run: also whether it has taken effect, which a failure other than `ToolUnavailable`, and
 * an answer from elsewhere, cannot say.
 *
 * When to use: in a program without an agent that must know what a call has done, before it does anything else. It never fails; a defect
 * is in the `exit`. Only interruption passes through.
 *
 * @example
 * ```ts
 * import { SemanticGarbage, Tool, ToolUnavailable } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const pay = Tool.make("pay", { description: "Pays", success: Schema.String }, () =>
 *   Effect.fail(new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true }))
 * ).pipe(Tool.mapFailure(() => new SemanticGarbage({ code: "not_paid", detail: "It was not paid." })))
 *
 * const { certainty, exit } = Effect.runSync(Tool.outcome(pay, {}))
 * exit._tag // => "Failure"
 * certainty // => "unknown"
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const outcome: {
  <Params>(params: Params): <Name extends string, A, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>
  ) => Effect.Effect<Outcome<A, E>, never, R>
  <Name extends string, Params, A, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>,
    params: NoInfer<Params>
  ): Effect.Effect<Outcome<A, E>, never, R>
} = dual(
  2,
  <Name extends string, Params, A, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>,
    params: Params
  ): Effect.Effect<Outcome<A, E>, never, R> =>
    framed(
      subjectOf(self, tokenOf(self)),
      params,
      runWithFixers(self)(params),
      (run, frame) =>
        Effect.map(
          Effect.exit(Effect.mapError(run, (failure) => leaving(failure, frame))),
          (exit) => accountOf(frame, exit)
        )
    )
)

// -----------------------------------------------------------------------------
// Explaining
// -----------------------------------------------------------------------------

/**
 * What a tool costs at worst: how often it is tried, how long it waits and how long it takes, computed from its policies before it
 * runs. It also points out policies that are likely not meant as they are.
 *
 * When to use: in a test that keeps the bounds of your tools; and to find out why a call takes as long as it does. Defaults of a
 * toolkit or an agent count once they are added to the tool. Effects that a retry's schedule has of its own are run for it, but for
 * its logs.
 *
 * @example
 * ```ts
 * import { Explanation, Tool } from "@fallible/core"
 * import { Duration, Effect, Schedule, Schema } from "effect"
 *
 * const quote = Tool.make("get_quote", { description: "A quote", success: Schema.Finite, sideEffect: "none" }, () =>
 *   Effect.succeed(1)
 * ).pipe(
 *   Tool.timeout("5 seconds"),
 *   Tool.retry(Schedule.exponential("200 millis").pipe(Schedule.upTo({ times: 2 })))
 * )
 *
 * const { attempts, time, warnings } = Tool.explain(quote)
 * attempts.most // => 3
 * Duration.format(time.most) // => "15s 600ms"
 * warnings.map(({ code }) => code) // => ["unjittered_retry"]
 * ```
 *
 * @category explaining
 * @since 0.1.0
 */
// Of `Any` itself, a combinator inside of the call would infer the parameters of a run that takes none.
export const explain = <T extends Any>(tool: T): Explanation => explained(tool)

// -----------------------------------------------------------------------------
// Inside
// -----------------------------------------------------------------------------

// A function with options that may be left out tells its two forms apart by what comes first.
function isDataFirst(args: ArrayLike<unknown>): boolean {
  return typeof args[0] === "object"
}

// An Effect is an Effect of its own parts, which the compiler does not see of a type parameter.
const parted = <Handled extends Effect.Effect<unknown, unknown, unknown>>(handled: Handled) =>
  handled as Effect.Effect<Effect.Success<Handled>, Effect.Error<Handled>, Effect.Services<Handled>>

// Only reached when `parameters` is absent, and then `Params` is its default, `{}`.
const asParameters = <Params>(schema: Schema.ConstraintDecoder<{}>) => schema as Schema.ConstraintDecoder<Params>
