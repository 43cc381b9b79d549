/**
 * A tool is a definition that a model reads, a handler, and the policies around it.
 *
 *     const searchOrders = Tool.make("search_orders", { description, parameters, success }, handler)
 *     const resilient = searchOrders.pipe(Tool.timeout("5 seconds"), Tool.retry(RetryPolicy.transient))
 *
 * A tool is a value with `pipe`. Each combinator adds one policy around the existing ones, in the order
 * written. It also changes the type: a handled failure leaves `E`, and a service that a policy needs enters
 * `R`. `Policy` says which order to choose.
 *
 * A tool needs no agent: `tool.run(params)` is an Effect whose error type is the tool's.
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
import { whyUnfit } from "./internal/arguments/argumentIdentity.ts"
import { executed } from "./internal/call/execution.ts"
import { failureLimitOf } from "./internal/call/failureLimit.ts"
import { current } from "./internal/call/frame.ts"
import { framed, leaving } from "./internal/call/framedRun.ts"
import { accountOf } from "./internal/call/outcome.ts"
import { ended, endedHere } from "./internal/call/runUserCode.ts"
import { explained } from "./internal/explain/explainTool.ts"
import { type Escalated, type FixerOptions, type Fixing, fixing, type Needed } from "./internal/fixing/fixerOption.ts"
import { withOwnFiber } from "./internal/policy/ownFiber.ts"
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
import { continuing, type PromiseCall, promised } from "./internal/tool/promiseHandler.ts"
import {
  assemble,
  checkedPolicies,
  checkedPolicy,
  rebuild,
  runWithFixers,
  subjectOf,
  tokenOf,
  withPolicy
} from "./internal/tool/toolParts.ts"
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
export type { Any } from "./internal/tool/anyTool.ts"
export type { PromiseCall } from "./internal/tool/promiseHandler.ts"

/**
 * A tool with the name `Name`. It turns `Params` into an `A`, can fail with `E`, and needs `R`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Tool<out Name extends string, in out Params, out A, out E extends ToolFailure = never, out R = never>
  extends Pipeable
{
  readonly name: Name
  /** The description that the model reads. */
  readonly description: string
  /** The schema of the arguments. The model reads its JSON Schema. */
  readonly parameters: Schema.ConstraintDecoder<Params>
  /** The schema of the result. The model reads the result in its JSON form. */
  readonly success: Schema.ConstraintCodec<A, unknown>
  readonly sideEffect: SideEffect
  /** The names of tools that can serve when this one is unavailable. */
  readonly instead: ReadonlyArray<string>
  /** The name of the tool that reports whether a call of this one took effect. */
  readonly check: string | undefined
  /** The parameter that limits the size of a result. */
  readonly size: string | undefined
  /** Selects the arguments that identify the effect. Default: all arguments. */
  readonly identity: ((params: Params) => unknown) | undefined
  /** Whether the same call may run again after a success. */
  readonly repeats: boolean | undefined
  /** The number of failed executions in a run after which the same call is refused. */
  readonly failureLimit: number
  /** The policies around the handler, innermost first. */
  readonly policies: ReadonlyArray<Policy.Any>
  /** The fixers that correct rejected arguments, in the order in which they are asked. */
  readonly fixers: ReadonlyArray<Fixing>
  /**
   * Runs the handler under its policies. It takes typed parameters; `Dispatch` decodes the arguments of a
   * model.
   *
   * The type does not show two facts:
   *
   * - Only a `ToolUnavailable` can report whether the call took effect (`outcome`). After another failure, or
   *   an answer from another source, use {@link outcome}.
   * - A tool that acts can fail with `ToolUnavailable` even if `E` does not contain it. It does so if a
   *   custom policy runs it again (`not_repeated`), or if it would start after its `Deadline` (`timeout`).
   *
   * Each run is a separate call, even under the same `ToolCall.withKey`. A retry around `run` therefore runs
   * the tool again; use {@link retry} instead.
   */
  readonly run: (params: Params) => Effect.Effect<A, E, R>
}

/**
 * The failures of a tool.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Failure<T extends Any> = Effect.Error<ReturnType<T["run"]>>

/**
 * The services that a tool needs.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Requirements<T extends Any> = Effect.Services<ReturnType<T["run"]>>

// -----------------------------------------------------------------------------
// Constructors
// -----------------------------------------------------------------------------

/**
 * The definition of a tool: its description, its types, and the rules that its results keep
 * ({@link Contract}).
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
  /** The description that the model reads. */
  readonly description: string
  /** The schema of the arguments. Default: no arguments. */
  readonly parameters?: Schema.ConstraintDecoder<Params>
  /**
   * The schema of the handler's decoded result. The model reads its JSON form, nested at most 512 levels
   * deep.
   */
  readonly success: Schema.ConstraintCodec<A, unknown>
  /**
   * The side effect of a run. Default: `"non_idempotent"`, the safest assumption. Within one call, a
   * non-idempotent tool runs again only if all its attempts certainly did nothing.
   */
  readonly sideEffect?: SideEffect
  /**
   * The names of tools that can serve when this one is unavailable. The model is told only about those in the
   * toolkit.
   */
  readonly instead?: ReadonlyArray<string>
  /**
   * The name of the tool that reports whether a call of this one took effect. The model is told about it when
   * a call is in doubt.
   */
  readonly check?: string
  /**
   * Declares that the tool refuses before it has any side effect. Then a 429, a refused connection, or an
   * inner tool that did not run proves that nothing was done, so policies may run the tool again. Default:
   * `false`.
   */
  readonly refusesFirst?: boolean
  /**
   * Selects the arguments that identify the effect: `({ order }) => order`. Calls of a run with equal
   * identities mean the same effect, and share one idempotency key until one of them succeeds. A call after
   * that success means another effect.
   *
   * The function returns JSON, which may contain dates, bigints, Maps and Sets. It must not change the
   * parameters. A call is refused (`no_identity`) if its identity contains nothing but `undefined`, `null`
   * and blank texts. Default: all arguments, however they are written.
   */
  readonly identity?: (params: NoInfer<Params>) => unknown
  /**
   * Whether the same call may run again after a success. In the same run, the default is yes, since two equal
   * orders may be intended. In a later run of its scope (`RunOptions.facts`), the default is no, unless the
   * tool is `"idempotent"`. The refusal says that the call has already been done.
   */
  readonly repeats?: boolean
  /**
   * The number of failed executions in a run after which the same call is refused (`repeated_call`). Retries
   * count. At least 1. Default: 3, or 9 for a tool that is `"idempotent_by_key"`.
   */
  readonly failureLimit?: number
  /**
   * Lets an attempt finish even if its time is up or its run is interrupted. `LateResult` reports how it
   * ended. Default: `false`.
   */
  readonly uninterruptible?: boolean
}

export type { Contract, ContractFailures, Empty, Pages }

/**
 * A definition that has certain fields. `make` infers them, because they decide which failures the tool can
 * have ({@link ContractFailures}).
 *
 * @category utility types
 * @since 0.1.0
 */
export type Having<Word extends keyof Definition<unknown>> = { readonly [K in Word]?: unknown }

/**
 * Makes a tool from a definition and a handler.
 *
 * The handler fails only with the four failures, and a `PartialData` contains data of the tool's success
 * type. Anything else does not compile. A thrown error is a defect. So is a promise that the handler returns
 * in place of an Effect; the log says how to fix it. A definition that does not match its type throws.
 *
 * A handler that fails with a `SchemaMismatch` of side `"arguments"` promises that it did nothing with them.
 * So it may run again with better arguments (`Tool.fix`).
 *
 * If a tool acts, the end of its handler says whether the call took effect; `Certainty` has the table. A
 * `SemanticGarbage` says that the tool refused and did nothing. If the tool acted, but its answer makes no
 * sense, fail with a `SchemaMismatch` of the result. Or fail with a `ToolUnavailable` whose `outcome` is
 * `"unknown"` or `"executed"`.
 *
 * The handler runs in its own fiber, so its child fibers end with it. Fork work that must continue with
 * `Effect.forkDetach`, or in a scope.
 *
 * @param name letters, digits, `_` and `-`, at most 64 characters, as model providers require; anything else
 * throws
 * @param definition {@link Definition}. The fields of its {@link Contract} are checked after each success of
 * the handler: `invariants`, the age, `pages`, then `empty`. Their failures enter the tool's type. If the
 * tool acts, the call knows by then that it took effect, so no policy runs it again because of them
 * @param handler takes the decoded parameters and returns an Effect. With several failures, an
 * `Effect.fnUntraced(function*({ city }) { … })` with `return yield* new SemanticGarbage({ … })` reads best
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
  // `Handled` is inferred as a whole, so that the branches of a handler may return different Effects.
  handler: (params: NoInfer<Params>) => Handled
): Tool<
  Name,
  Params,
  A,
  Effect.Error<Handled> | ContractFailures<A>[Extract<Word, keyof ContractFailures<A>>],
  Effect.Services<Handled>
> =>
  makeTool<Name, A, Handled, Params, Word>(
    name,
    definition,
    handler,
    (runHandler) => withOwnFiber(runHandler(false), runHandler(true))
  )

/**
 * Makes a tool whose handler is an async function.
 *
 * When to use: for promise-based code. For Effects, use {@link make}.
 *
 * An error that the function throws becomes a failure according to its shape (`ToolFailure.from`). The model
 * reads the message of a plain `Error`, and of the classes in `tell`. A `TypeError` and other programming
 * mistakes are defects. The function may also throw a failure of this library.
 *
 * The `signal` aborts when the call's time is up or its run is interrupted. Pass it on, because an attempt
 * counts as running until its promise settles. The caller does not wait for that: a timeout ends the call at
 * once, and an interrupted run waits at most 5 s.
 *
 * An error describes one request, but the function may have made others before. So a refused connection or a
 * 429 leaves the outcome of a tool that acts unknown, and a non-idempotent tool does not run again. Declare
 * `refusesFirst` if the function makes only one request, or is refused before it does anything. Such an error
 * then counts as not executed, and may be retried.
 *
 * A plain `Error` says that the tool refused. After the function has acted, throw a `ToolUnavailable` with an
 * `outcome` instead.
 *
 * @param name letters, digits, `_` and `-`, at most 64 characters; anything else throws
 * @param definition {@link Definition}, and `tell`: classes of errors whose messages the model may read;
 * default: none
 * @param handler takes the decoded parameters and returns a promise. Its second argument has the `signal`,
 * the `idempotencyKey`, which is the same for each attempt of the call, and the number of the `attempt`, from
 * 1
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
    ["A tool's handler must be a function", Predicate.isFunction(handler), handler],
    ["A tool's 'tell' is a list of classes", Array.isArray(tell) && tell.every(Predicate.isFunction), tell]
  ])
  const asEffectHandler = promised(`The handler of '${name}'`, handler, { tell })
  return makeTool<Name, A, ReturnType<typeof asEffectHandler>, Params, Word>(
    name,
    { ...definition, uninterruptible: true },
    asEffectHandler,
    (runHandler) => withOwnFiber(continuing(runHandler(true)), runHandler(true))
  )
}

type WrapHandler<Params> = <A, E extends ToolFailure, R>(
  runHandler: (isHere: boolean) => (params: Params) => Effect.Effect<A, E, R>
) => (params: Params) => Effect.Effect<A, E, R>

/**
 * Makes a tool from its parts.
 *
 * @param wrapHandler builds the run from the handler, which runs in its own fiber (`isHere` is `false`) or in
 * the fiber of a time limit (`true`)
 */
const makeTool = <
  const Name extends string,
  A,
  Handled extends Effect.Effect<A, ToolFailure<A>, unknown>,
  Params,
  Word extends keyof Definition<unknown>
>(
  name: Name,
  definition: Definition<A, Params> & Having<Word>,
  handler: (params: Params) => Handled,
  wrapHandler: WrapHandler<Params>
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
  const declared = { ...definition, failureLimit, instead, refusesFirst, isUninterruptible, sideEffect, handler }
  demand([...demands(name, declared), ...contractDemands(declared)])
  const label = `The handler of '${name}'`
  const acts = sideEffect !== "none"
  const token = {}
  const runHandler = (isHere: boolean) => (params: Params) =>
    Effect.withFiber((fiber) => {
      const frame = fiber.getRef(current)
      if (acts || frame.isWatched) {
        const call = () => asOwnEffect(handler(params))
        return executed({ name, who: label, acts, token, call, refusesFirst, isUninterruptible, isHere }, frame, fiber)
      }
      frame.begin()
      return (isHere ? endedHere : ended)(label, asOwnEffect(handler(params)))
    })
  const parameters = definition.parameters ?? asParameters<Params>(Schema.Struct({}))
  const unfit = sideEffect === "idempotent_by_key" && identity === undefined ? whyUnfit(parameters) : undefined
  if (unfit !== undefined) {
    throw new TypeError(
      `'${name}' needs an 'identity', since no idempotency key can be made of its arguments as they are: ${unfit}.`
    )
  }
  const runContract = (isHere: boolean) => keeping({ ...definition, name, parameters, sideEffect }, runHandler(isHere))
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
    handler: wrapHandler(runContract),
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
 * Retries the tool on a Schedule while it is transiently unavailable.
 *
 * When to use: around every tool that uses a network. Any Schedule works; `RetryPolicy` has the usual ones.
 * You can pass a function instead. Its `$` gives a schedule the type of the failures, as in `Effect.retry`:
 * `Tool.retry(($) => $(Schedule.recurs(3)).pipe(Schedule.while(({ input }) => input.code !== "rate_limited")))`.
 *
 * Only a transient `ToolUnavailable` is retried, and only if a repetition is safe. It is safe if the tool is
 * read-only or idempotent, or if all attempts of this call certainly did nothing (`Certainty`). Mapping a
 * failure to another one does not change that.
 *
 * A retry does not start if its wait cannot end before the `Deadline`, or if the `RetryBudget` is used up.
 * When the schedule is done, the call fails with the last failure, unchanged. A call without failures has
 * almost no overhead.
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
 * Limits how long an attempt may take.
 *
 * When to use: around every tool that can hang, inside `retry`. Outside `retry`, use {@link deadline} to
 * limit the whole call.
 *
 * Fails with `ToolUnavailable`:
 *
 * | tool                               | code                               | transient | outcome        |
 * | ---------------------------------- | ---------------------------------- | --------- | -------------- |
 * | read-only                          | `timeout`                          | yes       | none           |
 * | idempotent, also by key            | `timeout`                          | yes       | `unknown`      |
 * | non-idempotent                     | `outcome_unknown`                  | no        | `unknown`      |
 * | acts, but still waits for its turn | `timeout`, or the code of the wait | yes       | `not_executed` |
 *
 * The timeout interrupts the handler, but does not wait for it. A handler that ignores the interruption
 * continues in the background. `LateResult` reports how a handler that acts ended. No other tool that acts
 * starts inside an abandoned handler. A handler that blocks the thread cannot be timed out from the same
 * thread. When the run itself is interrupted, it waits up to 5 s for the handler's finalizers.
 *
 * Code inside can read its time limit from `Deadline`. Of several limits, the tightest counts.
 *
 * @param duration above zero; anything else throws
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
 * Limits how long a whole call may take, with all its attempts and waits.
 *
 * When to use: outside `retry` and every other policy that waits, inside the breaker and the fallback. Inside
 * `retry`, use {@link timeout} to limit each attempt.
 *
 * Fails as {@link timeout} does, and treats an abandoned attempt in the same way. A retry whose wait cannot
 * end before the deadline does not start: the call fails at once with its last failure. A deadline is a
 * separate kind of policy, so a default timeout and a default deadline can stand side by side.
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
 * Answers from another source when the tool is unavailable: a mirror, a cache, a default.
 *
 * When to use: outside `retry`. Several fallbacks form a chain: each is asked only if all sources before it
 * were unavailable. Give each a name. The outcome names the source that answered; if all fail, the failure
 * lists them as `tried`. The model reads the name only if the answer has an age. Report the age of a stale
 * answer with `ToolCall.source`, so that it is not mistaken for a fresh one. `LastKnown` does all of that.
 *
 * The source takes the parameters first, as `run` does, so another tool's `run` can be a source:
 * `Tool.fallback(mirror.run)`. `ToolUnavailable` leaves the type, and the failures of the source enter it.
 * The failure is the second argument. Check its `outcome` before you act elsewhere, since the tool may
 * already have acted. For a tool that acts, a caveat of the answer says whether the tool may have taken
 * effect. `Tool.explain` warns about the fallback.
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
 * Handles failures with one or more tags, as `Effect.catchTag` does.
 *
 * When to use: to turn a failure into an answer ("no orders" instead of `SemanticGarbage`), or into another
 * failure that needs the tool's parameters. For a tool that acts, a caveat of the answer says whether the
 * tool may have taken effect. `Tool.explain` warns about the catch.
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

// `ExtractTag<E, …>` uses `E` without `NoInfer`, because a conditional type does not distribute over
// `NoInfer<E>`.

/** One tag, or a list of tags. */
type Tags<E extends ToolFailure> = E["_tag"] | readonly [E["_tag"], ...ReadonlyArray<E["_tag"]>]

/** The union of the tags in `K`. */
type One<K> = K extends ReadonlyArray<infer Tag extends string> ? Tag : K extends string ? K : never

/**
 * Turns each failure into another one: with a clearer detail, with a hint, or of another class. It does not
 * change whether the call took effect: a payment in doubt is not retried, even if its failure now says
 * `not_executed`.
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
 * Checks whether a call in doubt took effect, and settles its outcome.
 *
 * When to use: for a tool that acts, if its service can report what it did: by idempotency key
 * (`ToolCall.current`), or by order. Put it outside `timeout` and inside `retry`.
 *
 * The check runs if the outcome of the call is unknown, whatever failure the policies inside made of it. If
 * the check succeeds with `Option.some` of the result, the call took effect, and the tool succeeds with that
 * result. `Option.none` means that the check cannot find the effect now, and *not there yet is not the same
 * as not there*. So the outcome stays unknown, unless you promise one of these:
 *
 * - `settle` is the longest time until the service can find what it was asked to do. It counts from the end
 *   of the last attempt, as this process saw it; an attempt that still runs has the same time to end. The
 *   check runs again until that time is over. If that time cannot end before the `Deadline`, the check runs
 *   once.
 * - `final: true` is for a check that settles the matter, such as one that cancels the key. The service then
 *   refuses a request that still arrives under that key.
 *
 * With such a promise, `Option.none` becomes a transient `not_executed`, which a `retry` outside runs again.
 * If `settle` is too short, or a `final` check is not final, the tool acts twice. So prefer `settle`, and
 * choose it too long rather than too short.
 *
 * A check that cannot tell should fail. Give it its own time limit. It clears doubt about the tool's own
 * attempts and about tools inside them, but not about the source of a fallback. A handler cannot clear doubt
 * about a tool that it runs by checking in the handler: put the check into that tool's `reconcile`. The event
 * `OutcomeSettled` reports the result of the check.
 *
 * @param check takes the parameters and the failure
 * @param options `settle`: as above. `schedule`: when to check again during that time; default: after 100 ms,
 * then each time after twice as long. `final`: as above; default: `false`. Both `settle` and `final`, or a
 * `schedule` without `settle`, throw
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
 * Fetches the rest of a partial result without the model: follows the `next` of `PartialData` page by page,
 * and merges the pages.
 *
 * When to use: where a model would only call for one page after another. Put it outside `retry`, so that each
 * page has its own attempts. Each page runs under its own idempotency key. Only a read-only or idempotent
 * tool can be paginated; any other tool throws at once.
 *
 * When all pages are fetched, the tool succeeds. If a limit is reached or a page fails, the pages so far are
 * not lost: the tool fails with `PartialData`. It contains the merged pages, their coverage, the reason why
 * pages are missing, and the arguments that continue.
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
 * Corrects rejected arguments before the model reads the failure: by a function, an Effect, or an agent
 * (`Fixer.agent`).
 *
 * When to use: if a model keeps making the same mistake, and a few lines can correct it without a model call.
 * Or if a small model can correct arguments that a large model would have to send again. Several fixers form
 * a chain: the next one is asked if the one before has nothing better, or escalates. A tool's own fixers take
 * precedence over an agent's (`fixers`), and those over a toolkit's (`Toolkit.withFixers`).
 *
 * The fixer is asked if the arguments cannot be decoded. It is also asked if the handler fails with a
 * `SchemaMismatch` of side `"arguments"`, which promises that the handler did nothing with them. With `on`,
 * it is asked about failed executions, too.
 *
 * A fixer is not a policy: all policies run again with the corrected arguments. A timeout starts again. A
 * catch of `SchemaMismatch` and a breaker do not see the rejection. A fallback gets the corrected arguments.
 * No permit is held while the fixer works. Each execution counts towards concurrency and rate limits. The
 * policies see the rejection only if no fixer has anything better; a custom policy then sees the call a
 * second time.
 *
 * | the fixer            | result                                                                                     |
 * | -------------------- | ------------------------------------------------------------------------------------------ |
 * | corrects             | its arguments are decoded and admitted like a call's; the tool runs, and the model is told |
 * | answers with a value | it is decoded as a result of the tool; the outcome names the fixer as its source           |
 * | escalates            | the call fails with the fixer's text, under its name (`Fixer.escalate`)                    |
 * | stops                | the run ends (`Fixer.throwException`)                                                      |
 * | does anything else   | the failure stays as it was; a fixer that failed is in the ledger, as `fixer_failed`       |
 *
 * The fixer is not asked in these cases:
 *
 * - The tool acts, and may already have acted in this call.
 * - The tool would not be called anyway: it is disabled, `ToolHealth` knows that its circuit is open, or the
 *   call exceeds a limit of the run.
 * - A tool inside the handler rejected its arguments in the same attempt, or the call is for a further page
 *   of a result. The model did not write those arguments.
 *
 * No timeout of the tool limits a fixer. A fixer has at most half of the time left before the `Deadline`.
 *
 * @param options {@link FixerOptions}: in one call, `tries` (1) and `time` (30 seconds); `on` (none); `name`.
 * With `"defect"` in `on`, the tool may fail with `ToolUnavailable`
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
 * outcome.repairs?.[0]?.note // => 'The arguments were corrected to {"city":"Paris"}'
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
 * Limits how many calls of the tool run at once, over all runs of the process: a bulkhead.
 *
 * When to use: for a service that breaks under load, or that must not starve others. Outside `retry`, a call
 * keeps its permit while it waits; inside, each attempt takes its own.
 *
 * A call holds its permit until the handler has really ended, even if a timeout has abandoned the attempt. A
 * call that gets no permit in time fails with `ToolUnavailable`, code `bulkhead_full`.
 *
 * @param permits how many calls may run at once, from 1
 * @param options `maxWait`: how long a call waits for its permit; zero refuses it at once. Default: no limit
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
 * Adds a policy around all existing ones, defaults included.
 *
 * When to use: for a policy of your own (`Policy.make`), or for a policy that you have as a value. The
 * services and failures of the policy enter the tool's type; nothing leaves it. A policy that runs the tool
 * more than once is only for read-only and idempotent tools. Any other tool then fails with `not_repeated`,
 * unless every earlier attempt certainly did nothing.
 *
 * @param policy a value that `Policy.make` did not make throws
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
 * Adds default policies: those whose kind the tool lacks, each in its place (`Policy.order`). If the tool has
 * its own `timeout`, a default `deadline` is extended by that time (`Policy.withDefaults`).
 *
 * When to use: in a toolkit (`Toolkit.withDefaults`) or an agent (`policies`), which add them to all their
 * tools.
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
 * A tool with default policies, which may fail with `ToolUnavailable` or an `E2`.
 *
 * @category utility types
 * @since 0.1.0
 */
export type WithDefaults<T extends Any, R2, E2 extends ToolFailure = ToolUnavailable> = T extends
  Tool<infer Name, infer Params, infer A, infer E, infer R> ? Tool<Name, Params, A, E | E2 | ToolUnavailable, R | R2> :
  never

/**
 * A tool with fixers. They need an `R2`, and may escalate with a failure `E2`.
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
 * The outcome of a run: how it ended, and the account of the call.
 *
 * @category models
 * @since 0.1.0
 */
export interface Outcome<out A, out E extends ToolFailure> {
  /** How the run ended: with an answer, a failure, or a defect. */
  readonly exit: Exit.Exit<A, E>
  /** Whether the call took effect. */
  readonly certainty: Certainty
  /** The number of attempts: executions of the handler, and tools that its fallbacks asked. */
  readonly attempts: number
  /** The number of executions of the handler. */
  readonly executions: number
  /** How long policies waited. */
  readonly waited: Duration.Duration
  /** The failures that policies handled, in order. */
  readonly handled: ReadonlyArray<Handled>
  /** The ledger of the agents that corrected the arguments: their usage and their failures. */
  readonly fixing?: Ledger
  /** Caveats about the answer, one sentence each. */
  readonly caveats: ReadonlyArray<string>
  /** The source of the answer, if it was named. */
  readonly source?: Source
}

/**
 * Runs a tool, and returns how it ended together with the account of the call. The account says whether the
 * call took effect. An answer from a fallback, or a failure other than `ToolUnavailable`, cannot say so.
 *
 * When to use: in a program without an agent that must know what a call did before it continues. It never
 * fails; a defect is in the `exit`. Only interruption passes through.
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
 * Computes the worst case of a tool from its policies, before it runs: how often it is tried, how long it
 * waits, and how long it takes. It also warns about policies that are probably a mistake.
 *
 * When to use: in a test that guards the bounds of your tools, or to find out why a call takes so long.
 * Defaults of a toolkit or an agent count once they are added to the tool. Effects inside a retry's schedule
 * run for this, but their logs are dropped.
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
// Generic, because with the parameter type `Any`, a combinator inside the call would infer `never` as its
// parameters.
export const explain = <T extends Any>(tool: T): Explanation => explained(tool)

// -----------------------------------------------------------------------------
// Internals
// -----------------------------------------------------------------------------

// The data-first form begins with a tool, which is an object. The number of arguments does not tell the forms
// apart, since options may be absent.
function isDataFirst(args: ArrayLike<unknown>): boolean {
  return typeof args[0] === "object"
}

// Every Effect is an Effect of its own success, error and service types. The compiler does not see that for a
// type parameter.
const asOwnEffect = <Handled extends Effect.Effect<unknown, unknown, unknown>>(handled: Handled) =>
  handled as Effect.Effect<Effect.Success<Handled>, Effect.Error<Handled>, Effect.Services<Handled>>

// Only used if `parameters` is absent. Then `Params` is its default, `{}`.
const asParameters = <Params>(schema: Schema.ConstraintDecoder<{}>) => schema as Schema.ConstraintDecoder<Params>
