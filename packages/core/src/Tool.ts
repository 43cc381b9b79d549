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
import { dual } from "effect/Function"
import { type Pipeable, Prototype as PipeablePrototype } from "effect/Pipeable"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Types from "effect/Types"
import { CallRecord } from "./internal/callRecord.ts"
import { randomId } from "./internal/randomId.ts"
import * as Policy from "./Policy.ts"
import * as ToolCall from "./ToolCall.ts"
import type { Tag as ToolFailureTag, ToolFailure, ToolUnavailable } from "./ToolFailure.ts"

/**
 * What running a tool may change.
 *
 * @category models
 * @since 0.1.0
 */
export type SideEffect = Policy.SideEffect

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
  /** The policies around the handler, innermost first. */
  readonly policies: ReadonlyArray<Policy.Policy>
  /** Runs the handler under its policies. It takes typed parameters: decoding a model's is `Dispatch`'s matter. */
  readonly run: (params: Params) => Effect.Effect<A, E, R>
}

/**
 * Any tool: what a toolkit holds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Any {
  readonly name: string
  readonly description: string
  readonly parameters: Schema.ConstraintDecoder<unknown>
  readonly success: Schema.ConstraintCodec<unknown, unknown>
  readonly sideEffect: SideEffect
  readonly policies: ReadonlyArray<Policy.Policy>
  readonly run: (params: never) => Effect.Effect<unknown, ToolFailure, unknown>
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
 * A tool from its definition and its handler.
 *
 * The handler fails with the four failures and nothing else, and with partial data of its own
 * success type; anything else does not compile. What it throws is a defect.
 *
 * @param name letters, digits, `_` and `-`, at most 64 of them, as model providers require; anything else throws
 * @param definition `parameters` default to none. `sideEffect` defaults to `"non_idempotent"`, the careful
 * assumption: such a tool is never retried unless the failure says that it was not executed
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
  Params = {}
>(
  name: Name,
  definition: {
    readonly description: string
    readonly parameters?: Schema.ConstraintDecoder<Params>
    readonly success: Schema.ConstraintCodec<A, unknown>
    readonly sideEffect?: SideEffect
  },
  // Inferred whole, so that a handler may return one Effect or another.
  handler: (params: NoInfer<Params>) => Handled
): Tool<Name, Params, A, Effect.Error<Handled>, Effect.Services<Handled>> => {
  if (!validName.test(name)) {
    throw new TypeError(
      `A tool's name has 1 to 64 letters, digits, '_' or '-', as model providers require; got ${JSON.stringify(name)}.`
    )
  }
  return assemble({
    name,
    description: definition.description,
    parameters: definition.parameters ?? asParameters<Params>(Schema.Struct({})),
    success: definition.success,
    sideEffect: definition.sideEffect ?? "non_idempotent",
    policies: [],
    run: (params) =>
      Effect.flatMap(ToolCall.current, (call) => {
        call.begin()
        return parted(handler(params))
      })
  })
}

// -----------------------------------------------------------------------------
// Policies
// -----------------------------------------------------------------------------

/**
 * Tries again on a Schedule while the tool is transiently unavailable.
 *
 * When to use: around everything that talks to a network. Any Schedule will do; `RetryPolicy` has
 * the usual ones.
 *
 * Only a transient `ToolUnavailable` is retried, and only where a repetition is safe: the tool is
 * read-only or idempotent, or the failure says `outcome: "not_executed"`. When the schedule is done,
 * the last failure goes on as it is. While nothing fails, it costs next to nothing.
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
  <R2>(
    schedule: Schedule.Schedule<unknown, ToolUnavailable, never, R2>
  ): <Name extends string, Params, A, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>
  ) => Tool<Name, Params, A, E, R | R2>
  <Name extends string, Params, A, E extends ToolFailure, R, R2>(
    self: Tool<Name, Params, A, E, R>,
    schedule: Schedule.Schedule<unknown, ToolUnavailable, never, R2>
  ): Tool<Name, Params, A, E, R | R2>
} = dual(
  2,
  <T extends Any>(self: Any, schedule: Schedule.Schedule<unknown, ToolUnavailable, never, unknown>): T =>
    withPolicy(self, Policy.retry(schedule))
)

/**
 * Ends what is inside after a time: an attempt, or all attempts, by its place.
 *
 * When to use: around everything that can hang.
 *
 * Fails with `ToolUnavailable`. Of a read-only tool it is a transient `timeout`; of an idempotent one,
 * too, with an unknown outcome; of one that is neither it is `outcome_unknown`, which nothing retries.
 *
 * The handler is interrupted, but not waited for: what ignores its interruption goes on in the
 * background. A handler that blocks the thread cannot be timed out by anything in the same thread.
 * When the run itself is interrupted, it waits up to 5 s for the handler's finalizers.
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
 * Answers from elsewhere when the tool is unavailable: a cache, a mirror, a default.
 *
 * When to use: outside of `retry`. Say where the answer came from with `ToolCall.source`, so that a
 * stale answer is not taken for a fresh one.
 *
 * The source takes the parameters first, as `run` does, so that another tool's `run` is a source: `Tool.fallback(mirror.run)`.
 * `ToolUnavailable` leaves the type; what the source itself can fail with enters it. The failure comes
 * second: look at its `outcome` before doing elsewhere what may have been done already.
 *
 * @example
 * ```ts
 * import { Tool, ToolUnavailable } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const rate = Tool.make("rate", { description: "A rate", success: Schema.Finite, sideEffect: "none" }, () =>
 *   Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
 * ).pipe(Tool.fallback(() => Effect.succeed(1.08)))
 *
 * Effect.runSync(rate.run({})) // => 1.08
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const fallback: {
  <Params, A, Handled extends Effect.Effect<NoInfer<A>, ToolFailure<NoInfer<A>>, unknown>>(
    source: (params: Params, failure: ToolUnavailable) => Handled
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
    source: (params: Params, failure: ToolUnavailable) => Handled
  ): Tool<
    Name,
    Params,
    A,
    Types.ExcludeTag<E, "ToolUnavailable"> | Effect.Error<Handled>,
    R | Effect.Services<Handled>
  >
} = dual(
  2,
  <T extends Any>(
    self: Any,
    source: (params: never, failure: ToolUnavailable) => Effect.Effect<unknown, ToolFailure, unknown>
  ): T => withPolicy(self, Policy.fallback(source))
)

/**
 * Handles the failures of one or more tags, as `Effect.catchTag` does.
 *
 * When to use: to turn a failure into an answer ("no orders" instead of `SemanticGarbage`), or into
 * another failure with the tool's parameters at hand.
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
 * Turns each failure into another one: a clearer detail, a hint, another class.
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

// -----------------------------------------------------------------------------
// Inside
// -----------------------------------------------------------------------------

const validName = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * A tool around a handler and its policies. Their composition is kept aside: `run` puts a call's context around it,
 * when nobody else has, and a policy that is added later goes between the two.
 */
const assemble = <T extends Any>(fields: Omit<T, "pipe">): T => {
  const tool: T = Object.assign(Object.create(PipeablePrototype), fields, { run: withContext(fields.name, fields.run) })
  composed.set(tool, fields.run)
  return tool
}

const composed = new WeakMap<Any, Any["run"]>()

// Each run is a call of its own, with a key that its attempts share: outside of a dispatch, and inside of another tool.
const withContext = (name: string, run: Any["run"]): Any["run"] => (params) =>
  Effect.flatMap(ToolCall.current, (call) => {
    if (call === ToolCall.detached) {
      return Effect.flatMap(
        ToolCall.keyOr(randomId("call")),
        (key) => Effect.provideService(run(params), ToolCall.current, new CallRecord(key).enter(name))
      )
    }
    const own = call.enter(name)
    if (own === call) return run(params)
    return Effect.map(Effect.provideService(run(params), ToolCall.current, own), (value) => {
      own.leave()
      return value
    })
  })

// An Effect is an Effect of its own parts, which the compiler does not see of a type parameter.
const parted = <Handled extends Effect.Effect<unknown, unknown, unknown>>(handled: Handled) =>
  handled as Effect.Effect<Effect.Success<Handled>, Effect.Error<Handled>, Effect.Services<Handled>>

// Only reached when `parameters` is absent, and then `Params` is its default, `{}`.
const asParameters = <Params>(schema: Schema.ConstraintDecoder<{}>) => schema as Schema.ConstraintDecoder<Params>

// Policies treat every tool alike and so are written without its types. What each does to them is said
// by the signature of its combinator above, and pinned by the type tests.
const withPolicy = <T extends Any>(self: Any, policy: Policy.Policy): T =>
  assemble<Any>({
    ...self,
    policies: [...self.policies, policy],
    run: policy.wrap((composed.get(self) ?? self.run) as Policy.Run, self)
  }) as T
