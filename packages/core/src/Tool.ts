/**
 * A tool has three parts: a definition, which the model reads; a handler, which does the work; and the
 * policies around the handler.
 *
 *     const searchOrders = Tool.make("search_orders", { description, parameters, success }, handler)
 *     const resilient = searchOrders.pipe(Tool.timeout("5 seconds"), Tool.retry(RetryPolicy.transient))
 *
 * A tool is a value with a `pipe` method. Each combinator adds one policy around the existing ones, so the
 * policy written last is outermost. The combinator also changes the tool's type: a failure that it handles
 * leaves `E`, and a service that it needs enters `R`. The module `Policy` recommends an order.
 *
 * A tool works without an agent: `tool.run(params)` is an Effect that fails with the tool's own failures.
 *
 * A tool *acts* if it has side effects, and is *read-only* otherwise. Its `sideEffect` field declares
 * which.
 *
 * @since 0.1.0
 */
import type { StandardSchema } from "@fallible/arguments"
import type { Names } from "@fallible/arguments/internal"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import { dual } from "effect/Function"
import type * as Option from "effect/Option"
import type { Pipeable } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import type * as Types from "effect/Types"
import type { Source } from "./CallEvent.ts"
import type { Certainty, Doubt } from "./Certainty.ts"
import type { Explanation } from "./Explanation.ts"
import { execute } from "./internal/call/execute.ts"
import { failureLimitOf } from "./internal/call/failureLimit.ts"
import { isIdempotent } from "./internal/call/isIdempotent.ts"
import { noteStart } from "./internal/call/note.ts"
import { accountOf } from "./internal/call/outcome.ts"
import { runAsCall } from "./internal/call/runAsCall.ts"
import { insteadOfAsync, runAnswer, runAnswerHere } from "./internal/call/runUserCode.ts"
import { current } from "./internal/call/scope.ts"
import { undeclared } from "./internal/call/seenMistakes.ts"
import { explainTool } from "./internal/explain/explainTool.ts"
import {
  type Escalated,
  type FixerOptions,
  type Fixing,
  makeFixing,
  type Needed
} from "./internal/fixing/fixerOption.ts"
import type { FailedExecution, Fixed, Rejection } from "./internal/fixing/rejection.ts"
import {
  type Approval,
  type ApprovalOptions,
  type ApprovalPredicate,
  makeApproval
} from "./internal/policy/approval.ts"
import { withOwnFiber } from "./internal/policy/ownFiber.ts"
import {
  type Contract,
  contractDemands,
  type ContractFailures,
  type Empty,
  keepContract,
  type Pages,
  rememberRules
} from "./internal/result/resultContract.ts"
import type { OnMismatch } from "./internal/result/resultGuard.ts"
import type { Any, Polling, Settles } from "./internal/tool/anyTool.ts"
import { clientHandler } from "./internal/tool/clientTool.ts"
import {
  declaresEffects,
  demand,
  demandIdentity,
  demandParts,
  demands,
  demandSettles,
  type Schemas
} from "./internal/tool/definition.ts"
import type { Advice, PermittedFailure, SourceFailure } from "./internal/tool/permittedFailure.ts"
import {
  handlerOfPromise,
  type PromiseCall,
  type PromiseOf,
  runOnAfterInterrupt
} from "./internal/tool/promiseHandler.ts"
import {
  assemble,
  checkedPolicies,
  checkedPolicy,
  rebuild,
  runWithFixers,
  subjectOf,
  tokenOf,
  withApproval,
  withPolicy
} from "./internal/tool/toolParts.ts"
import type { File } from "./internal/value/file.ts"
import { finite, positive } from "./internal/value/numberOption.ts"
import { byMethod, namedRequests } from "./internal/wire/actingRequests.ts"
import type { Parameters } from "./Parameters.ts"
import * as Policy from "./Policy.ts"
import type { RunReport } from "./RunReport.ts"
import type { SideEffect } from "./SideEffect.ts"
import type { FromOptions, SchemaMismatch, SemanticGarbage, ToolFailure, ToolUnavailable } from "./ToolFailure.ts"
import type { Handled } from "./ToolOutcome.ts"
import type { WireRequest } from "./WireRequest.ts"

export type { FixerOptions } from "./internal/fixing/fixerOption.ts"
export type { ApprovalChoice, ApprovalOptions, ApprovalPredicate } from "./internal/policy/approval.ts"
export type { Any, Polling, Settles } from "./internal/tool/anyTool.ts"
export type { PromiseCall } from "./internal/tool/promiseHandler.ts"

/**
 * A tool with the name `Name`. Its `run` takes `Params`, succeeds with an `A` or fails with an `E`, and
 * needs the services `R`.
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
  /** The schema of the arguments. The model gets it as a JSON Schema. */
  readonly parameters: Schema.ConstraintDecoder<Params>
  /** The schema of the result. The model reads the result in the JSON form of this schema. */
  readonly success: Schema.ConstraintCodec<A, unknown>
  readonly sideEffect: SideEffect
  /** The names of tools that the model can use when this one is unavailable. */
  readonly instead: ReadonlyArray<string>
  /** The name of the tool that reports whether a call to this tool took effect. */
  readonly check: string | undefined
  /** What a result of this tool says about calls in doubt of the tools that name it as their `check`. */
  readonly settles: Settles | undefined
  /** The name of the parameter that limits the size of a result. */
  readonly size: string | undefined
  /** Selects the arguments that identify the intended effect. `"all"`, and by default: all of them do. */
  readonly identity: ((params: Params) => unknown) | "all" | undefined
  /** Whether the same call may run again after it has succeeded. */
  readonly repeats: boolean | undefined
  /** Whether equal calls of one turn run once. */
  readonly joins: boolean
  /** Whether different calls of one turn may run at the same time. If absent: if `identity` is a function. */
  readonly concurrent?: boolean
  /** How many executions may fail in one run before the same call is refused. */
  readonly failureLimit: number
  /** What happens to a result that does not match `success`. */
  readonly onMismatch: OnMismatch
  /** The names of the fields of a result that change with every call, although the data stays the same. */
  readonly volatile: ReadonlyArray<string>
  /** How an agent waits for a new result if its model repeats a call. `undefined` if it does not wait. */
  readonly poll: Polling | undefined
  /** The policies around the handler, innermost first. */
  readonly policies: ReadonlyArray<Policy.Any>
  /** The functions that correct rejected arguments (fixers), in the order in which they are asked. */
  readonly fixers: ReadonlyArray<Fixing>
  /** Which calls need an approval before they run. Absent if none does. */
  readonly approvals?: ReadonlyArray<Approval>
  /** Present if the client runs the tool ({@link client}). */
  readonly client?: true
  /**
   * Runs the handler under the tool's policies. `run` takes decoded parameters; for arguments from a model,
   * use `Dispatch`, which decodes them.
   *
   * The type does not show two facts:
   *
   * - Only a `ToolUnavailable` says whether the call took effect (its `outcome` field). After any other
   *   failure, or an answer from another source, only {@link outcome} can tell; use it instead of `run`.
   * - A tool that acts can fail with `ToolUnavailable` even if `E` does not include it. This happens if a
   *   custom policy runs the tool a second time when that is unsafe (`not_repeated`). It also happens if
   *   the tool would start after its `Deadline` (`timeout`).
   *
   * Each `run` is a separate call, even with the same key (`ToolCall.withKey`). An `Effect.retry` around
   * `run` would therefore run the tool again even when that is unsafe; use {@link retry} instead. Inside the handler of
   * another tool, a run that is in doubt is not begun again (`not_repeated`), and a tool with a key runs under the same key
   * until it succeeds or refuses. If the arguments do not say which effect is meant, all runs there count as one effect.
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
 * The definition of a tool: its description, its types, and the rules that its results must satisfy
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
  /**
   * The schema of the arguments: Effect's, one of zod (4.2 and later), Valibot, ArkType or another library with Standard
   * Schema, or `Parameters.fromJsonSchema`. Default: no arguments.
   */
  readonly parameters?: Parameters<Params>
  /**
   * The schema of the handler's result. The handler returns the result in its decoded form. The model reads
   * the JSON form. What has no JSON form in the schema is written as `JSON.stringify` writes it: with `Schema.Unknown`,
   * a handler may return whatever its libraries return. A Map becomes an object, a Set a list, a bigint its digits, bytes a
   * label such as `<12 bytes>`, and a NaN null, with a note. A schema of another library must not transform values.
   */
  readonly success: Schema.ConstraintCodec<A, unknown> | StandardSchema<A>
  /**
   * What happens to a result that does not match `success`. With `"show"`, it is read as arguments are: a number in a text,
   * null for a field that may be absent. What still does not match is shown as received, except for secrets and fields that
   * are not declared. A note names each such field. A tool that returns nothing, although its schema says something else, has
   * ended without an error, and a note says so. A result is refused only if none of its fields is declared, or if it is a
   * web page or the beginning of JSON. With `"refuse"`, nothing is converted, and every such result is a `SchemaMismatch` of
   * the result (`invalid_result`). The log names the fields that are wrong, and a tool that acts counts as executed.
   * Default: `"show"`.
   */
  readonly onMismatch?: OnMismatch
  /**
   * Whether a run has side effects, and whether it can safely be repeated. Default: `"non_idempotent"`, the
   * safest assumption. Within one call, a non-idempotent tool runs again only if all its earlier attempts
   * certainly did nothing.
   */
  readonly sideEffect?: SideEffect
  /**
   * Tools that the model can use while this one is unavailable, by their names. The model is told only about those that are
   * in the toolkit. Default: none.
   */
  readonly instead?: ReadonlyArray<string>
  /**
   * The name of the tool that reports whether a call to this tool took effect. If it is unknown whether a call took
   * effect, the model is told about that tool. `Agent.make` throws if its toolkit does not have it. Default: none.
   */
  readonly check?: string
  /**
   * What a result says about a call in doubt, of a tool that names this one as its `check`. The doubt is then
   * settled: the acting tool is open again, or its call counts as done. The result counts for a call with the same identity,
   * so give both tools an `identity` that returns the same value: `({ order }) => order`. Only for a read-only tool.
   * Default: the model reads the result, and the doubt stays.
   */
  readonly settles?: SettlesOptions<NoInfer<A>>
  /**
   * Declares that the tool refuses a call only before any side effect. A refusal of its service (an
   * HTTP status, an SQLSTATE, an SMTP code) then proves that nothing was done. So does a failure that the handler
   * makes itself, and a `not_executed` failure of an inner tool (a tool that the handler runs). The sentence of an
   * error never does. Policies may run this tool again. Declare it for databases and mail: the library watches only
   * HTTP requests. Default: `false`.
   */
  readonly refusesFirst?: boolean
  /**
   * Which requests act, if not all with a method other than GET, HEAD, OPTIONS and TRACE do. Default: all of them.
   * Declare it if the handler also sends requests by POST that change nothing: for a token, a search, telemetry.
   */
  readonly acts?: ActsOptions
  /**
   * Selects the arguments that identify the intended effect: `({ order }) => order`. Within a run, calls
   * with equal identities are taken to intend the same effect. They share one idempotency key until one of
   * them succeeds; a later call intends a new effect.
   *
   * `"all"` says that all arguments identify the effect, regardless of key order or spacing. Default: `"all"`, which an
   * `"idempotent_by_key"` tool must say itself. If one of the arguments is free text, such as a note, select the others: a
   * call with another note counts as another effect otherwise. Free text is a string that is not limited to some values, a
   * pattern or a format.
   *
   * Arguments are compared as they are decoded, so `"5"` and `5` are the same. With a schema of Effect, so are an omitted
   * default and the same value written out. If a schema makes a value up, such as the time, or loses one, they are compared
   * as they were written. A key is never made from a secret.
   *
   * The function returns data that consists of JSON, dates, bigints, Maps and Sets. It must not change the
   * parameters. If the identity contains nothing but `undefined`, `null` and blank strings, the call is
   * refused (`no_identity`). If the function throws, or returns anything else, such as a promise or a secret, that is a
   * defect, and the handler does not run.
   *
   * If a call is in doubt, a tool without an identity is closed: all its calls are refused (`in_doubt`) until the doubt is
   * settled. With one, only calls with the same identity are held back.
   */
  readonly identity?: ((params: NoInfer<Params>) => unknown) | "all"
  /**
   * Whether the same call may run again after it has succeeded. Default: `true` within a run but `false` in later runs
   * of its scope, unless the tool is `"idempotent"`. Within a run, two identical orders may be intended. A call that must not
   * run again is refused (`already_done`).
   */
  readonly repeats?: boolean
  /**
   * Whether equal calls of one turn run once, and share their outcome. The model has seen no result between them, and some
   * providers send a call twice. Set it to `false` if a model means each of them: two pizzas. An `"idempotent"` tool always
   * runs each call. Default: `true`.
   */
  readonly joins?: boolean
  /**
   * Whether neighbouring calls of one turn may run together, at most eight. With `true`, a call runs together with
   * other calls of this tool, and of other tools that say `true`. With `false`, it runs alone, after the calls before it.
   * Default: if `identity` is a function, and then only with calls of this tool whose identities differ.
   *
   * Say `true` only if the order makes no difference: a user must exist before it is added to a group. Equal calls always
   * keep their order. So do identities with a part in common: to rename a to b, and then b to c. So do all calls of a tool
   * with fixers, because a correction may make two calls equal. Only for a tool that acts: read-only calls run together
   * anyway, after the calls before them.
   *
   * If a call asks the user or stops the run, those that already run go on, and the others do not begin. A doubt holds back
   * only calls with the same identity; without an identity, all that have not begun. If the agent asks about doubts
   * (`onDoubt: "ask"`), its acting calls run one by one after a failure.
   *
   * @example
   * ```ts
   * import { Agent, Tool, Toolkit } from "@fallible/core"
   * import { ScriptedModel } from "@fallible/testing"
   * import { Effect, Fiber, Schema } from "effect"
   * import { TestClock } from "effect/testing"
   *
   * const sender = <const Name extends string>(name: Name) =>
   *   Tool.make(name, {
   *     description: "Sends a message",
   *     parameters: Schema.Struct({ to: Schema.String }),
   *     success: Schema.String,
   *     identity: ({ to }) => to,
   *     concurrent: true
   *   }, () => Effect.as(Effect.sleep("600 millis"), "sent"))
   *
   * const agent = Agent.make({ toolkit: Toolkit.make(sender("send_mail"), sender("send_text")) })
   * const script = [
   *   ScriptedModel.calls(["send_mail", { to: "Ada" }], ["send_mail", { to: "Ben" }], ["send_text", { to: "Cy" }]),
   *   ScriptedModel.text("Done.")
   * ]
   * const program = Effect.gen(function*() {
   *   const run = yield* Effect.forkChild(agent.run("Greet all three."))
   *   yield* TestClock.adjust("600 millis")
   *   return (yield* Fiber.join(run)).text
   * })
   * await Effect.runPromise(Effect.provide(program, [ScriptedModel.layer(script), TestClock.layer()])) // => "Done."
   * ```
   */
  readonly concurrent?: boolean
  /**
   * How many executions of the same call may fail in one run. Then the call is refused (`repeated_call`). Each retry is an
   * execution, too. At least 1. Default: 3, or 9 if the tool is `"idempotent_by_key"`.
   */
  readonly failureLimit?: number
  /**
   * The fields of a result that change with every call, although the data stays the same, by their names: a time stamp, a
   * request id. An agent's `LoopGuard` ignores these fields, wherever they stand in the result. It also ignores
   * fields whose name and value look like the time of a response or the id of a request. Default: none.
   */
  readonly volatile?: ReadonlyArray<string>
  /**
   * Declares that the tool is polled, for example for the state of a job. If the model of an agent repeats a call,
   * the agent waits before it runs the tool again. It runs the tool again and again, until the result differs from
   * the one that the model has. So the model does not spend a turn for each look. Only for a read-only tool. Default:
   * the tool is not polled.
   */
  readonly poll?: PollOptions
  /**
   * Lets an attempt finish even if its time is up or its run is interrupted. If the tool acts, the `Observer`
   * reports how the attempt ended. Default: `false`.
   */
  readonly uninterruptible?: boolean
}

/**
 * Which requests of a tool act.
 *
 * @category models
 * @since 0.1.0
 */
export interface ActsOptions {
  /**
   * Patterns such as `"POST api.stripe.com/v1/charges"`: a method, a host and a path. A `*` stands for any characters. A
   * pattern without a method, a host or a path holds for all of them; without a port, for all ports.
   */
  readonly requests: ReadonlyArray<string>
  /**
   * Promises that nothing but these requests acts: no file, no database, no process. If none of them was sent, the call
   * did nothing. Default: `false`.
   */
  readonly only?: boolean
}

/**
 * What the result of a check says about a call in doubt.
 *
 * @category models
 * @since 0.1.0
 */
export interface SettlesOptions<in A> {
  /**
   * Returns what became of the call: `"executed"`, `"not_executed"`, or `undefined` if the result does not say. It
   * receives the decoded result: a fresh one of the handler, not one of a cache, a fallback or your own policy. An
   * `"executed"` settles nothing if an equal call has succeeded before: the check may have found that one.
   */
  readonly outcome: (result: A) => "executed" | "not_executed" | undefined
  /**
   * How long an effect may take to become visible to the check. A `"not_executed"` counts only if the check
   * began at least this long after the call had ended, in this process. Default: none.
   */
  readonly settle?: Duration.Input
  /**
   * Whether a `"not_executed"` always counts: you promise that an effect that the check does not find will not happen.
   * Default: `false`. With neither `settle` nor `final`, only `"executed"` counts.
   */
  readonly final?: boolean
}

/**
 * How an agent polls a tool.
 *
 * @category models
 * @since 0.1.0
 */
export interface PollOptions {
  /** How long to wait between two runs of the tool. */
  readonly every: Duration.Input
  /** How long to wait in all for one call of the model. Default: 1 minute, unless `every` is longer. */
  readonly atMost?: Duration.Input
}

export type { Contract, ContractFailures, Empty, OnMismatch, Pages }

/**
 * A definition in which the fields named by `Word` are present. `make` infers `Word`, because these fields
 * decide which failures the tool can have ({@link ContractFailures}).
 *
 * @category utility types
 * @since 0.1.0
 */
export type Having<Word extends keyof Definition<unknown>> = { readonly [K in Word]?: unknown }

/**
 * Makes a tool from a definition and a handler.
 *
 * The handler can fail only with the four classes of `ToolFailure`, and a `PartialData` must contain data
 * of the tool's success type. No other handler compiles. An error that the handler throws is a defect. So
 * is a promise that it returns in place of an Effect; the log then says how to fix the handler.
 *
 * Throws if the definition does not match its type, or if its parameters are not an object: model providers refuse a
 * union at the top level.
 *
 * By failing with a `SchemaMismatch` of side `"arguments"`, a handler promises that it did nothing with the
 * arguments. The handler may therefore be run again with better ones (`Tool.fix`).
 *
 * If a tool acts (has side effects), a call that fails is in doubt, unless there is evidence of what it did. `Certainty`
 * has the table. To refuse a call, fail with `ToolCall.refuse`: nothing was done. If the tool has acted, but the service's
 * answer makes no sense, fail with a `SchemaMismatch` of side `"result"`. Alternatively, fail with an `outcome`:
 * `"unknown"` or `"executed"`.
 *
 * The handler runs in its own fiber, so its child fibers end when the handler ends. If work must continue
 * after that, fork it with `Effect.forkDetach`, or fork it in a scope.
 *
 * @param name at most 64 letters, digits, `_` and `-`, as model providers require; throws for any other
 * name
 * @param definition {@link Definition}. After each success of the handler, the rules of its
 * {@link Contract} are checked: `failed`, `invariants`, `freshness`, `pages`, then `empty`. The failures of these
 * checks are part of the tool's type. By then an acting tool is known to have taken effect, so no policy
 * re-runs it when a check fails
 * @param handler takes the decoded parameters and returns an Effect. A handler that can fail in several
 * ways reads best as an `Effect.fnUntraced(function*({ city }) { … })` with
 * `return yield* new SemanticGarbage({ … })`
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
  // The failures depend on `Handled` only for the compiler's message about a handler of the wrong type.
  Handled extends Effect.Effect<NoInfer<A>, PermittedFailure<Handled, NoInfer<A>>, unknown>,
  Params = {},
  Word extends keyof Definition<unknown> = never
>(
  name: Name,
  definition: Definition<A, Params> & Having<Word>,
  // `Handled` is inferred as a whole, so that the branches of a handler may return Effects of different
  // types.
  handler: (params: NoInfer<Params>) => Handled
): Tool<
  Name,
  Params,
  A,
  Effect.Error<Handled> | ContractFailures<A>[Extract<Word, keyof ContractFailures<A>>],
  Effect.Services<Handled>
> => {
  const schemas = demandParts<A, Params>(name, definition, handler, fields)
  return makeTool<Name, A, Handled, Params, Word>(
    name,
    { ...definition, ...schemas },
    handler,
    (runHandler) => withOwnFiber(runHandler(false), runHandler(true))
  )
}

/**
 * Makes a tool whose handler is an async function.
 *
 * When to use: for promise-based code. For Effects, use {@link make}.
 *
 * `ToolFailure.from` turns an error that the function throws into a failure. If the error is a plain
 * `Error`, or an instance of a class in `tell`, the model reads the error's message. A `TypeError`, or any
 * other error that shows a programming mistake, is a defect. The function may also throw one of the
 * `ToolFailure` classes itself. An error of a schema (zod, valibot, ArkType, Effect) with which the function checks its
 * parameters, before it waits for anything, is a `SchemaMismatch` of the arguments, in the words of the rule.
 *
 * The `signal` is aborted when the call's time is up, or when its run is interrupted. Pass the signal on to
 * the functions that you call, because an attempt counts as running until its promise settles. A timeout
 * does not wait for the promise: it ends the call immediately. An interrupted run waits for the promise,
 * but at most 5 s.
 *
 * A thrown error words the failure, and does not prove what an acting tool did. That is shown by the requests of the
 * function, which are watched (`Certainty`): after a 429 or a refused connection, the call may be retried; after a 404, it
 * counts as refused; after a lost answer, it is in doubt. To say that nothing was done, call `refuse` in place of `throw`.
 * Once the function has acted, throw one of the `ToolFailure` classes with an `outcome`.
 *
 * @param name at most 64 letters, digits, `_` and `-`; throws for any other name
 * @param definition {@link Definition}, and two lists of error classes. `tell`: the model may read their messages.
 * `refuses`: they mean that the tool has refused the call, and done nothing. Default: none
 * @param handler takes the decoded parameters and returns a promise. Its second argument ({@link PromiseCall}) contains
 * the `signal`, the `idempotencyKey` (the same for each attempt of the call), the 1-based number of the `attempt`, `ask`,
 * which asks the user, `refuse`, which refuses the call, a `fetch` that has the `signal`, and `noteRequest`
 *
 * @example
 * ```ts
 * import { Tool } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const bookRoom = Tool.promise("book_room", {
 *   description: "Books a meeting room",
 *   parameters: Schema.Struct({ room: Schema.String }),
 *   success: Schema.String,
 *   identity: ({ room }) => room
 * }, async ({ room }, { refuse, signal }) => {
 *   signal.throwIfAborted()
 *   if (room === "A1") return refuse("Room A1 is already booked.", { alternatives: ["B2", "C3"] })
 *   return `${room} is yours.`
 * })
 *
 * await Effect.runPromise(bookRoom.run({ room: "B2" })) // => "B2 is yours."
 * const failure = await Effect.runPromise(Effect.flip(bookRoom.run({ room: "A1" })))
 * failure._tag // => "SemanticGarbage"
 * failure.detail // => "Room A1 is already booked."
 * failure.outcome // => "not_executed"
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
  definition: Omit<Definition<A, Params>, "uninterruptible"> & Omit<FromOptions, "reads"> & Having<Word>,
  handler: (params: NoInfer<Params>, call: PromiseCall) => PromiseOf<NoInfer<A>>
): Tool<
  Name,
  Params,
  A,
  SchemaMismatch | SemanticGarbage | ToolUnavailable | ContractFailures<A>[Extract<Word, keyof ContractFailures<A>>]
> => {
  const schemas = demandParts<A, Params>(name, definition, handler, promiseFields)
  const { refuses = [], tell = [] } = definition
  demand([
    ["A tool's 'tell' is a list of classes", Array.isArray(tell) && tell.every(Predicate.isFunction), tell],
    ["A tool's 'refuses' is a list of classes", Array.isArray(refuses) && refuses.every(Predicate.isFunction), refuses]
  ])
  const asEffectHandler = handlerOfPromise(
    `The handler of '${name}'`,
    handler,
    { tell, refuses, reads: isIdempotent(definition.sideEffect ?? "non_idempotent") },
    schemas.parameters
  )
  return makeTool<Name, A, ReturnType<typeof asEffectHandler>, Params, Word>(
    name,
    { ...definition, ...schemas, uninterruptible: true },
    asEffectHandler,
    (runHandler) => withOwnFiber(runOnAfterInterrupt(runHandler(true)), runHandler(true))
  )
}

/**
 * Makes a tool that the client of the run executes: a page in a browser, or an app on a phone. The run is suspended with a
 * question of the kind `client`, which shows the arguments. It is resumed with the result (`Question.result`), or with the
 * reason why there is none (`Question.failure`).
 *
 * When to use: for what only the client can do, such as reading its location, or opening a window.
 *
 * The call ends when the reply is taken. A failure that the client reports is a `SemanticGarbage` (`client_failed`); it is no proof
 * that an acting tool did nothing. A result is checked against `success` like any other.
 *
 * @param name at most 64 letters, digits, `_` and `-`; throws for any other name
 * @param definition {@link Definition}, without what is about a handler
 *
 * @example
 * ```ts
 * import { Agent, Tool, Toolkit } from "@fallible/core"
 * import * as Question from "@fallible/core/Question"
 * import { ScriptedModel } from "@fallible/testing"
 * import { Effect, Schema } from "effect"
 *
 * const locate = Tool.client("locate", {
 *   description: "Where the user is",
 *   success: Schema.Struct({ city: Schema.String }),
 *   sideEffect: "none"
 * })
 * const agent = Agent.make({ toolkit: Toolkit.make(locate) })
 * const program = Effect.gen(function*() {
 *   const waiting = yield* Effect.flip(agent.run("Where am I?"))
 *   if (waiting._tag !== "RunSuspended") return waiting._tag
 *   const [question] = waiting.suspension.questions
 *   if (question === undefined) return "no question"
 *   return (yield* agent.resume(waiting.suspension, [Question.result(question, { city: "Oslo" })])).text
 * })
 * const model = ScriptedModel.layer([ScriptedModel.call("locate", {}), ScriptedModel.text("You are in Oslo.")])
 *
 * await Effect.runPromise(Effect.provide(program, model)) // => "You are in Oslo."
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const client = <const Name extends string, A, Params = {}>(
  name: Name,
  definition: ClientDefinition<A, Params>
): Tool<Name, Params, A, SemanticGarbage> => {
  const schemas = demandParts<A, Params>(name, definition, clientHandler, clientFields)
  const tool = makeTool(
    name,
    { ...definition, ...schemas },
    clientHandler(name, schemas.success, definition.sideEffect),
    (runHandler) => withOwnFiber(runHandler(false), runHandler(true))
  )
  return rebuild({ ...tool, client: true }, () => ({}))
}

/**
 * The definition of a tool that the client runs.
 *
 * @category models
 * @since 0.1.0
 */
export type ClientDefinition<A, Params = {}> = Pick<
  Definition<A, Params>,
  | "description"
  | "parameters"
  | "success"
  | "onMismatch"
  | "sideEffect"
  | "instead"
  | "check"
  | "identity"
  | "repeats"
  | "joins"
  | "concurrent"
  | "failureLimit"
  | "volatile"
>

const clientFields: Names<ClientDefinition<unknown>> = {
  description: true,
  parameters: true,
  success: true,
  onMismatch: true,
  sideEffect: true,
  instead: true,
  check: true,
  identity: true,
  repeats: true,
  joins: true,
  concurrent: true,
  failureLimit: true,
  volatile: true
}

const promiseFields: Names<Omit<Definition<unknown>, "uninterruptible"> & Omit<FromOptions, "reads">> = {
  description: true,
  parameters: true,
  success: true,
  onMismatch: true,
  sideEffect: true,
  instead: true,
  check: true,
  settles: true,
  refusesFirst: true,
  acts: true,
  identity: true,
  repeats: true,
  joins: true,
  concurrent: true,
  failureLimit: true,
  volatile: true,
  poll: true,
  empty: true,
  failed: true,
  pages: true,
  asOf: true,
  freshness: true,
  invariants: true,
  size: true,
  tell: true,
  refuses: true
}

const { tell: _, refuses: __, ...sharedFields } = promiseFields

const fields: Names<Definition<unknown>> = { ...sharedFields, uninterruptible: true }

type WrapHandler<Params> = <A, E extends ToolFailure, R>(
  runHandler: (isHere: boolean) => (params: Params) => Effect.Effect<A, E, R>
) => (params: Params) => Effect.Effect<A, E, R>

/**
 * Makes a tool from its parts.
 *
 * @param wrapHandler builds the tool's run from the handler; `isHere` says whether the handler runs in the
 * fiber of a time limit (`true`) or in its own (`false`)
 */
const makeTool = <
  const Name extends string,
  A,
  Handled extends Effect.Effect<A, ToolFailure<A>, unknown>,
  Params,
  Word extends keyof Definition<unknown>
>(
  name: Name,
  definition: Omit<Definition<A, Params>, keyof Schemas<A, Params>> & Schemas<A, Params> & Having<Word>,
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
  const { concurrent, identity, repeats, uninterruptible: isUninterruptible = false } = definition
  const { failureLimit = failureLimitOf(sideEffect), joins = true, onMismatch = "show", volatile = [] } = definition
  const poll = definition.poll === undefined ? undefined : pollingOf(definition.poll)
  const declared = {
    ...definition,
    onMismatch,
    volatile,
    failureLimit,
    instead,
    refusesFirst,
    isUninterruptible,
    sideEffect
  }
  demand([...demands(name, declared), ...contractDemands(declared)])
  const settles = definition.settles === undefined ? undefined : settlesOf(definition.settles, sideEffect)
  demandIdentity(name, definition)
  const label = `The handler of '${name}'`
  const acts = sideEffect !== "none"
  const acting = definition.acts === undefined ? byMethod : namedRequests(definition.acts.requests)
  const actsOnlyByRequests = definition.acts?.only === true
  const token = {}
  if (!declaresEffects(definition)) undeclared.add(token)
  rememberRules(token, definition)
  const runHandler = (isHere: boolean) => (params: Params) =>
    Effect.withFiber((fiber) => {
      const scope = fiber.getRef(current)
      if (acts || scope.isWatched) {
        const call = () => asOwnEffect(handler(params))
        return execute(
          { name, who: label, acts, token, call, refusesFirst, isUninterruptible, isHere, acting, actsOnlyByRequests },
          scope,
          fiber
        )
      }
      noteStart(scope)
      return (isHere ? runAnswerHere : runAnswer)(label, asOwnEffect(handler(params)), insteadOfAsync)
    })
  const { parameters } = definition
  const runContract = (isHere: boolean) =>
    keepContract({ ...definition, name, parameters, sideEffect }, runHandler(isHere))
  return assemble({
    name,
    description,
    parameters,
    success: definition.success,
    onMismatch,
    sideEffect,
    instead,
    check,
    settles,
    size,
    identity,
    repeats,
    joins,
    failureLimit,
    volatile,
    poll,
    // Absent unless it is given: one more field of every tool makes every call about 2% slower.
    ...(concurrent === undefined ? {} : { concurrent })
  }, {
    token,
    handler: wrapHandler(runContract),
    inside: [],
    own: [],
    defaults: [],
    fixers: { own: [] }
  })
}

const settlesOf = <A>(options: SettlesOptions<A>, sideEffect: SideEffect): Settles => {
  demandSettles(options, sideEffect)
  const { final = false, outcome, settle } = options
  return { outcome, final, settle: settle === undefined ? undefined : positive("time to settle", settle) }
}

const pollingOf = (options: PollOptions): Polling => {
  demand([["A tool's 'poll' must be an object such as { every: \"5 seconds\" }", Predicate.isObject(options), options]])
  const { atMost, every: input } = options
  const every = finite("tool's interval between polls", input)
  const max = atMost === undefined
    ? Duration.max(every, Duration.minutes(1))
    : finite("tool's longest time of polling", atMost)
  if (Duration.isGreaterThanOrEqualTo(max, every)) return { every, atMost: max }
  throw new TypeError(
    `A tool's longest time of polling must be at least its interval, ${Duration.format(every)}; got ${
      Duration.format(max)
    }.`
  )
}

// -----------------------------------------------------------------------------
// Policies
// -----------------------------------------------------------------------------

/**
 * Retries the tool on a Schedule, as long as the tool fails with a transient `ToolUnavailable`.
 *
 * When to use: around every tool that uses a network. Any Schedule works that cannot itself fail, as that of a cron
 * expression can; `RetryPolicy` has the usual ones.
 * You can also pass a function that returns a Schedule. The function's argument `$` types the schedule's
 * input as the tool's failure, as in `Effect.retry`:
 * `Tool.retry(($) => $(Schedule.recurs(3)).pipe(Schedule.while(({ input }) => input.code !== "rate_limited")))`.
 *
 * Only a transient `ToolUnavailable` is retried, and only if a repetition is safe. A repetition is safe if
 * the tool is read-only or idempotent, or if all attempts of this call certainly did nothing (`Certainty`).
 * Mapping one failure to another does not make a repetition safe.
 *
 * If the wait before a retry could not end before the `Deadline`, or if the `RetryBudget` is used up, the
 * retry is not started. If there is no further retry, the call fails with the last failure, unchanged. A
 * call that does not fail has almost no overhead.
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
} = /* @__PURE__ */ fromPolicy(Policy.retry)

/**
 * Limits how long an attempt may take.
 *
 * When to use: around every tool that can hang, inside `retry`. To limit the whole call, use
 * {@link deadline} outside `retry`.
 *
 * Fails with `ToolUnavailable`:
 *
 * | tool                         | code                                             | transient | outcome        |
 * | ---------------------------- | ------------------------------------------------ | --------- | -------------- |
 * | read-only                    | `timeout`                                        | yes       | none           |
 * | idempotent, including by key | `timeout`                                        | yes       | `unknown`      |
 * | non-idempotent               | `outcome_unknown`                                | no        | `unknown`      |
 * | acting, but not yet started  | `timeout`, or the code of the policy it waits in | yes       | `not_executed` |
 *
 * The timeout interrupts the handler, but does not wait until the handler has ended. A handler that ignores
 * the interruption continues in the background, as an *abandoned* attempt. For an acting tool, the `Observer`
 * reports how the handler ended. An abandoned attempt can no longer start other acting tools. A handler
 * that blocks the thread cannot be timed out, because the timeout runs in the same thread. If the run
 * itself is interrupted, it waits up to 5 s for the handler's finalizers.
 *
 * The handler, and the policies inside the timeout, can read the limit from `Deadline`. If several limits
 * apply, `Deadline` gives the earliest.
 *
 * @param duration above zero; throws otherwise
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
} = /* @__PURE__ */ fromPolicy(Policy.timeout)

/**
 * Limits how long a whole call may take, including all its attempts and waits.
 *
 * When to use: outside `retry` and every other policy that waits, but inside the breaker and the fallback.
 * To limit each attempt, use {@link timeout} inside `retry`.
 *
 * Fails as {@link timeout} does, and treats an abandoned attempt in the same way. If the wait before a
 * retry could not end before the deadline, the retry is not started: the call fails immediately with its
 * last failure. Timeout and deadline are different kinds of policy, so a tool can have a default of each.
 *
 * @param duration above zero; throws otherwise
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
 * Duration.format(Tool.explain(quote).time.max) // => "5s"
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const deadline: typeof timeout = /* @__PURE__ */ fromPolicy(Policy.deadline)

/**
 * When the tool is unavailable, takes the answer from another source, such as a mirror, a cache or a
 * default value.
 *
 * When to use: outside `retry`. Several fallbacks form a chain: each is used only if all sources before it
 * were unavailable. Give each fallback a name. The outcome names the source that answered; if all sources
 * were unavailable, the failure lists them as `tried`.
 *
 * The model reads the name, too: "from the mirror; the usual source is unavailable". Report the age of a
 * stale answer with `ToolCall.source`, so that the answer is not mistaken for a fresh one. `LastKnown` is a
 * fallback that does all of this.
 *
 * The source is a function. Like `run`, it takes the parameters as its first argument, so another tool's
 * `run` can be a source: `Tool.fallback(mirror.run)`. Its second argument is the failure. Check the
 * failure's `outcome` before you act elsewhere, since the tool may already have acted. In the tool's error
 * type, the failures of the source replace `ToolUnavailable`.
 *
 * The source also gets refusals, such as a 403: failures with the scope `"arguments"` or the code
 * `permission_denied`. To pass one on, fail with the failure:
 * `(params, failure) => failure.scope === "arguments" ? Effect.fail(failure) : mirror.run(params)`. It does not get other
 * classes: a web page with status 200 is a `SchemaMismatch`. So check the content type in the handler.
 *
 * If the tool acts, the answer carries a caveat that says whether the call may have taken effect, and
 * `Tool.explain` warns about the fallback.
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
  <Params, A, Handled extends Effect.Effect<NoInfer<A>, SourceFailure<Handled, NoInfer<A>>, unknown>>(
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
    Handled extends Effect.Effect<NoInfer<A>, SourceFailure<Handled, NoInfer<A>>, unknown>
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
} = /* @__PURE__ */ fromPolicy(Policy.fallback)

/**
 * When the tool is unavailable, asks the user, and goes on with the reply.
 *
 * When to use: where neither an old answer (`LastKnown`) nor going on without one will do, and a person can decide: which
 * city to use instead, or what the price was. Put it outermost, after `retry`, and after `LastKnown.fallback` if there is
 * one.
 *
 * The user is asked with `ToolCall.ask`: the agent's run ends with a value from which it can be resumed. Then the tool runs
 * again, and the reply counts only if it is still unavailable. A failure that leads to another question is asked about
 * anew. So word the question from what stays the same, such as the parameters and the failure's `code`.
 *
 * - With `use`, the reply becomes the answer. Its source is the user, and the model also reads what was asked and replied.
 *   `use` may find that the reply is of no use, and fail.
 * - Without `use`, the failure stays. Its hint tells the model what was asked and replied.
 *
 * The user is asked only while the tool is down. These failures are passed on unchanged, so `ToolUnavailable` stays in `E`:
 *
 * - a refusal: a permanent failure with the scope `"arguments"`, or one with the code `permission_denied`;
 * - a failure of a call that may have taken effect, or has. The model must be told of that.
 *
 * Counts as a fallback: a default fallback of a toolkit or an agent is then left out.
 *
 * @param question takes the parameters and the failure, and returns what the user is asked
 * @param use takes the reply, the parameters and the failure, and returns the answer. Default: the failure stays
 *
 * @example
 * ```ts
 * import { Tool, ToolCall, ToolUnavailable } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const rate = Tool.make("get_rate", { description: "Dollars per euro", success: Schema.Finite, sideEffect: "none" }, () =>
 *   Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
 * )
 * const question = () => "The rate service is down. How many dollars is a euro?"
 * const asking = rate.pipe(Tool.askWhenUnavailable(question, (reply) => Effect.succeed(Number(reply))))
 * const telling = rate.pipe(Tool.askWhenUnavailable(question))
 *
 * Effect.runSync(asking.run({}).pipe(ToolCall.withReply("1.08"))) // => 1.08
 * const failure = Effect.runSync(Effect.flip(telling.run({})).pipe(ToolCall.withReply("go on without it")))
 * failure.hint
 * // => 'The user was asked "The rate service is down. How many dollars is a euro?" and replied "go on without it".'
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const askWhenUnavailable: {
  <Params, A, Handled extends Effect.Effect<NoInfer<A>, SourceFailure<Handled, NoInfer<A>>, unknown> = never>(
    question: (params: Params, failure: ToolUnavailable) => string,
    use?: (reply: string, params: Params, failure: ToolUnavailable) => Handled
  ): <Name extends string, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>
  ) => Tool<Name, Params, A, E | Effect.Error<Handled>, R | Effect.Services<Handled>>
  <
    Name extends string,
    Params,
    A,
    E extends ToolFailure,
    R,
    Handled extends Effect.Effect<NoInfer<A>, SourceFailure<Handled, NoInfer<A>>, unknown> = never
  >(
    self: Tool<Name, Params, A, E, R>,
    question: (params: Params, failure: ToolUnavailable) => string,
    use?: (reply: string, params: Params, failure: ToolUnavailable) => Handled
  ): Tool<Name, Params, A, E | Effect.Error<Handled>, R | Effect.Services<Handled>>
} = /* @__PURE__ */ fromPolicy(Policy.askWhenUnavailable)

/**
 * Handles the failures that have one of the given tags, as `Effect.catchTag` does.
 *
 * When to use: to turn a failure into an answer ("no orders" instead of `SemanticGarbage`), or into another
 * failure that is built from the tool's parameters.
 *
 * If the tool acts, the answer carries a caveat that says whether the call may have taken effect, and
 * `Tool.explain` warns about the catch.
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
    Handled extends Effect.Effect<NoInfer<A>, SourceFailure<Handled, NoInfer<A>>, unknown>
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
    Handled extends Effect.Effect<NoInfer<A>, SourceFailure<Handled, NoInfer<A>>, unknown>
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
} = /* @__PURE__ */ fromPolicy(Policy.catchTag)

// `ExtractTag<E, …>` uses `E` without `NoInfer`, because a conditional type does not distribute over
// `NoInfer<E>`.

/** One tag, or a list of tags. */
type Tags<E extends ToolFailure> = [E] extends [never] ? Advice<"This tool cannot fail, so there is nothing to catch.">
  : E["_tag"] | readonly [E["_tag"], ...ReadonlyArray<E["_tag"]>]

/** The union of the tags in `K`. */
type One<K> = K extends ReadonlyArray<infer Tag extends string> ? Tag : K extends string ? K : never

/**
 * Turns each failure into another one, for example to give it a clearer detail or a hint, or to change its
 * class.
 *
 * The mapping does not change the library's record of whether the call took effect. A payment that may have
 * been made is not retried, even if the new failure says `not_executed`.
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
} = /* @__PURE__ */ fromPolicy(Policy.mapFailure)

/**
 * If it is unknown whether a call took effect, runs a check to find out, and settles the outcome of the
 * call.
 *
 * When to use: for a tool that acts (has side effects), if its service can be asked whether an effect
 * exists. The check must find the effect of this call, and nobody else's: by the idempotency key that the handler sent
 * along, or by a number that means this effect alone. Put `reconcile` outside `timeout` and inside `retry`.
 *
 * The check runs if it is unknown whether the call took effect, even if an inner policy has changed the
 * failure. If the check succeeds with `Option.some` of a result, the call took effect, and the tool
 * succeeds with that result. `Option.none` means only that the check does not find the effect now; it may
 * still appear later. So the outcome stays unknown, unless you make one of these promises:
 *
 * - `settle` is the longest time that an effect can take to become visible to the check. It is counted
 *   from the end of the last attempt in this process. An attempt that is still running gets the same length
 *   of time to finish. The check is repeated until this time is over. If this time could not end before the
 *   `Deadline`, the check is not repeated.
 * - `final: true` is for a check whose answer is conclusive, such as a check that cancels the idempotency
 *   key. The service then refuses any request that still arrives with that key.
 *
 * With either promise, `Option.none` becomes a transient `not_executed`, so an outer `retry` runs the tool
 * again. If `settle` is too short, or the answer of a `final` check is not conclusive after all, the tool
 * may act twice. So prefer `settle`, and err on the long side.
 *
 * With `lookFirst: true`, the check also runs before the first attempt of each call. It then receives a failure with
 * the code `outcome_unknown`. If it finds the effect, the tool does not run, and a note tells the model so. If it
 * fails, the tool does not run either, and fails with `check_failed`. This is for runs that were interrupted, and are
 * asked again in the same scope (`RunOptions.scope`): the check finds the earlier effect by its key. Such a check must
 * only read, and it misses an effect that becomes visible only later.
 *
 * A check that cannot tell whether the call took effect should fail. Give the check its own time limit. The
 * result of the check applies to the tool's own attempts and the tools that they ran, but not to a
 * fallback's source. If a handler runs another tool, a check inside the handler cannot settle the outcome
 * of that tool: give that tool its own `reconcile`. The event `OutcomeSettled` reports the result of the
 * check.
 *
 * @param check takes the parameters, and the failure, the key, a `fetch` and a signal. If a later call repeats one in doubt, it
 * is asked about the earlier one: with the parameters of that one
 * @param options `settle`: as above; default: none. `schedule`: when to repeat the check during that time;
 * default: after 100 ms, doubling each time. `final` and `lookFirst`: as above; default: `false`. Throws if both
 * `settle` and `final` are given, or `schedule` without `settle`
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
 *   success: Schema.String,
 *   identity: ({ order }) => order
 * }, ({ order }) =>
 *   Effect.suspend(() => {
 *     paid.set(order, "receipt 1")
 *     return Effect.fail(
 *       new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
 *     )
 *   })
 * )
 *
 * const checked = pay.pipe(Tool.reconcile(async ({ order }) => paid.get(order), { settle: "10 seconds" }))
 * await Effect.runPromise(checked.run({ order: "7" })) // => "receipt 1"
 *
 * const checkedByEffect = pay.pipe(
 *   Tool.reconcile(({ order }) => Effect.succeed(Option.fromUndefinedOr(paid.get(order))), { settle: "10 seconds" })
 * )
 * Effect.runSync(checkedByEffect.run({ order: "8" })) // => "receipt 1"
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const reconcile: {
  <Params, A, const Checked extends Check<Checked, A>>(
    check: (params: Params, call: Policy.ReconcileCall) => Checked,
    options?: Policy.ReconcileOptions
  ): <Name extends string, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>
  ) => Tool<Name, Params, A, E | ToolUnavailable, R | Effect.Services<Checked>>
  <Name extends string, Params, A, E extends ToolFailure, R, const Checked extends Check<Checked, A>>(
    self: Tool<Name, Params, A, E, R>,
    check: (params: Params, call: Policy.ReconcileCall) => Checked,
    options?: Policy.ReconcileOptions
  ): Tool<Name, Params, A, E | ToolUnavailable, R | Effect.Services<Checked>>
} = /* @__PURE__ */ fromPolicy(Policy.reconcile)

/** What a check returns. Promises are named, as in {@link PromiseOf}. */
type Check<Checked, A> =
  | Effect.Effect<Option.Option<NoInfer<A>>, SourceFailure<Checked, unknown>, unknown>
  | Promise<NoInfer<A> | undefined>
  | PromiseLike<NoInfer<A> | undefined>

/**
 * Fetches the remaining pages of a partial result without asking the model, and merges the pages. The
 * `next` field of each `PartialData` contains the arguments of the next page.
 *
 * When to use: where the model would otherwise have to request one page after another. Put `paginate`
 * outside `retry`, so that each page has its own attempts. Each page is fetched under its own idempotency
 * key. Only read-only and idempotent tools can be paginated; for any other tool, `paginate` throws when the
 * tool is built.
 *
 * When all pages have been fetched, the tool succeeds with the merged result. If a limit is reached or a
 * page fails, the pages so far are not lost: the tool fails with a `PartialData`. This failure contains the
 * merged pages, their coverage, the reason why pages are missing, and the arguments with which to continue.
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
} = /* @__PURE__ */ fromPolicy(Policy.paginate)

/**
 * Corrects rejected arguments before the model sees the failure. The correction comes from a *fixer*: a
 * function, which may return an Effect, or an agent (`Fixer.agent`).
 *
 * When to use: if a model keeps making the same mistake, and a few lines of code can correct it without a
 * model call. A fixer also helps if a small model can correct arguments that a large model would otherwise
 * have to send again.
 *
 * Several fixers on one tool form a chain. The next fixer is asked if the one before has nothing better, or
 * escalates (gives up and says why). A tool's own fixers replace its agent's (`fixers`), which replace its
 * toolkit's (`Toolkit.withFixers`).
 *
 * The fixer is asked if the arguments cannot be decoded. It is also asked if the handler rejects the
 * arguments by failing with a `SchemaMismatch` of side `"arguments"`. With this failure, the handler
 * promises that it did nothing with the arguments. With the option `on`, the fixer is asked about failed
 * executions, too.
 *
 * A fixer is not a policy: it goes around all policies, and is asked about what they have left over. So a
 * catch of `SchemaMismatch` answers in place of the fixer. With corrected arguments, all policies run again:
 * a timeout starts from zero, and a rate limit counts once more. While the fixer works, the call holds no
 * permit of a concurrency limit.
 *
 * | the fixer              | result                                                                                    |
 * | ---------------------- | ----------------------------------------------------------------------------------------- |
 * | corrects the arguments | they are decoded and admitted like the model's own; the tool runs, and the model is told  |
 * | answers with a value   | the value is decoded as a result of the tool; the outcome names the fixer as its source   |
 * | escalates              | the call fails with the fixer's text, and with the fixer as its source (`Fixer.escalate`) |
 * | stops the run          | the run ends (`Fixer.throwException`)                                                     |
 * | does anything else     | the failure stays as it was; if the fixer failed, the report has `fixer_failed`           |
 *
 * The fixer is not asked in these cases:
 *
 * - The tool acts (has side effects), and may already have acted in this call.
 * - A policy has run something that acts.
 * - The tool would not be called anyway: it is disabled, `ToolHealth` knows that its circuit is open, or the
 *   call exceeds a limit of the run.
 * - In the same attempt, an inner tool rejected arguments that the handler gave it. The model did not write
 *   those.
 * - The call fetches a further page of a result, so the model did not write its arguments.
 *
 * A key that the caller gave to `Dispatch.call` stays the same with corrected arguments. A journal records corrections with the outcome of
 * their call. If the process ended in the middle of a call of an acting tool, a replay asks no fixer: which arguments ran is
 * unknown, so the call does not run again. The exception is a tool with keys or an idempotent one, if its arguments decode
 * and no fixer has the option `on`.
 *
 * The tool's timeouts do not apply to fixers. A fixer gets at most half of the time left before the
 * `Deadline`.
 *
 * @param options {@link FixerOptions}. `tries` and `time` limit the fixer within one call (defaults: 1, 30
 * seconds). `on` lists further failures to ask the fixer about (default: none). `name` names the fixer in
 * outcomes (default: `the fixer of <tool>`). If `on` includes `"defect"`, the tool may fail with
 * `ToolUnavailable`
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
} = /* @__PURE__ */ dual(
  isDataFirst,
  <T extends Any>(
    self: Any,
    fixer: (rejection: Rejection) => Fixed | Effect.Effect<Fixed, unknown, unknown>,
    options?: FixerOptions
  ): T => rebuild(self, ({ fixers }) => ({ fixers: { ...fixers, own: [...fixers.own, makeFixing(fixer, options)] } }))
)

/**
 * Asks for an approval before a call of a model runs. The run waits for it (`AgentFailure.RunSuspended`), and goes on when the
 * decision is given: `agent.resume(suspension, [Question.approve(question)])`.
 *
 *     decode ─ correct ─ admit ─ ask ─ run under the policies
 *
 * When to use: for a tool whose calls a person, or a rule of yours, must see first. To ask for approvals in one agent only, use
 * its option `approvals`.
 *
 * The question shows the arguments that the call will run with, and the decision is bound to them by a digest. So other
 * arguments, such as those of a fixer, are asked about anew, and so is each further call. A retry is not. A denial is told to
 * the model with its reason, and calls with the same intent are refused for the rest of the run (`not_approved`).
 *
 * Calls of models are asked about, also those that `Dispatch.call` runs. A program's own `run` of the tool is not.
 *
 * @param when decides from the decoded arguments whether an approval is needed; if it fails, one is needed. Default: always
 * @param options {@link ApprovalOptions}. `preview`: what the call would do, in words; default: none. `within`: how long the
 * approval may take; default: no limit
 *
 * @example
 * ```ts
 * import { Agent, Tool, Toolkit } from "@fallible/core"
 * import * as Question from "@fallible/core/Question"
 * import { ScriptedModel } from "@fallible/testing"
 * import { Effect, Schema } from "effect"
 *
 * const pay = Tool.make("pay", {
 *   description: "Pays somebody",
 *   parameters: Schema.Struct({ to: Schema.String, amount: Schema.Finite }),
 *   success: Schema.String
 * }, ({ amount, to }) => Effect.succeed(`${to} got ${amount} EUR.`)).pipe(
 *   Tool.approve(({ amount }) => amount > 100, { preview: ({ amount, to }) => `Pays ${amount} EUR to ${to}.` })
 * )
 *
 * const agent = Agent.make({ toolkit: Toolkit.make(pay) })
 * const model = ScriptedModel.layer([ScriptedModel.call("pay", { to: "Ada", amount: 500 }), ScriptedModel.text("Paid.")])
 * const program = Effect.gen(function*() {
 *   const waiting = yield* Effect.flip(agent.run("Pay Ada 500 EUR."))
 *   if (waiting._tag !== "RunSuspended") return yield* waiting
 *   const [question] = waiting.suspension.questions
 *   const answer = yield* agent.resume(waiting.suspension, [Question.approve(question!, { by: "Grace" })])
 *   return [question!.preview, answer.text]
 * })
 * await Effect.runPromise(Effect.provide(program, model)) // => ["Pays 500 EUR to Ada.", "Paid."]
 * ```
 *
 * @category approvals
 * @since 0.1.0
 */
export const approve: {
  <Params, R2 = never, R3 = never>(
    when?: ApprovalPredicate<Params, R2>,
    options?: ApprovalOptions<Params, R3>
  ): <Name extends string, A, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>
  ) => Tool<Name, Params, A, E, R | R2 | R3>
  <Name extends string, Params, A, E extends ToolFailure, R, R2 = never, R3 = never>(
    self: Tool<Name, Params, A, E, R>,
    when?: ApprovalPredicate<Params, R2>,
    options?: ApprovalOptions<Params, R3>
  ): Tool<Name, Params, A, E, R | R2 | R3>
} = /* @__PURE__ */ dual(
  isDataFirst,
  <T extends Any>(self: Any, when?: unknown, options?: unknown): T => withApproval(self, makeApproval(when, options))
)

/**
 * Limits how many calls to the tool run at the same time, over all runs in the process. This is a bulkhead.
 *
 * When to use: for a service that breaks under load, or that must not take resources from other services.
 * Placed outside `retry`, the limit gives each call one permit, which the call keeps between attempts.
 * Placed inside, the limit gives each attempt its own permit.
 *
 * A permit stays taken until the handler has really ended, even if a timeout no longer waits for it. A call
 * that gets no permit in time fails with `ToolUnavailable`, code `bulkhead_full`.
 *
 * @param permits how many calls may run at the same time: a whole number of at least 1
 * @param options `maxWait`: how long a call waits for its permit; with zero, a call never waits. Default:
 * no limit
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
} = /* @__PURE__ */ fromPolicy(Policy.concurrency)

/**
 * Adds a policy around all existing ones, including defaults.
 *
 * When to use: for a policy of your own (`Policy.make`), or for a policy that you have as a value. The
 * tool's type gains the services and failures of the policy, and loses none.
 *
 * A policy that runs the tool more than once is only for read-only and idempotent tools. When it runs any
 * other tool again, that tool fails with `not_repeated`, unless every earlier attempt certainly did
 * nothing.
 *
 * @param policy must be made by `Policy.make`; throws otherwise
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
} = /* @__PURE__ */ dual(
  2,
  <T extends Any>(self: Any, policy: Policy.Any): T => withPolicy(self, checkedPolicy(policy))
)

export { with_ as with }

/**
 * Adds default policies. A default is used only if the tool has no policy of the same kind; `Policy.order`
 * decides its place among the tool's policies. If the tool has its own `timeout`, a default `deadline` is
 * extended by that time (`Policy.withDefaults`).
 *
 * When to use: for a single tool. To add defaults to all tools of a toolkit or an agent, use
 * `Toolkit.withDefaults` or the agent's `policies`.
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
} = /* @__PURE__ */ dual(
  2,
  <T extends Any>(self: Any, policies: ReadonlyArray<Policy.Any>): T =>
    rebuild(self, ({ defaults }) => ({ defaults: [...defaults, ...checkedPolicies(policies)] }))
)

/**
 * The type of a tool with default policies. The policies need the services `R2`, and may add the failures
 * `ToolUnavailable` and `E2`.
 *
 * @category utility types
 * @since 0.1.0
 */
export type WithDefaults<T extends Any, R2, E2 extends ToolFailure = ToolUnavailable> = T extends
  Tool<infer Name, infer Params, infer A, infer E, infer R> ? Tool<Name, Params, A, E | E2 | ToolUnavailable, R | R2> :
  never

/**
 * The type of a tool with fixers. The fixers need the services `R2`, and may escalate with a failure `E2`.
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
 * The outcome of a tool's run: how the run ended, and the library's record of the call.
 *
 * @category models
 * @since 0.1.0
 */
export interface Outcome<out A, out E extends ToolFailure> {
  /** How the run ended: with an answer, a failure, or a defect. */
  readonly exit: Exit.Exit<A, E>
  /** Whether the call took effect. */
  readonly certainty: Certainty
  /** How strong the doubt is. Present if `certainty` is `unknown`. */
  readonly doubt?: Doubt
  /** The requests of the attempts that have no answer, at most 20. Absent if none was seen. */
  readonly wire?: ReadonlyArray<WireRequest>
  /** The number of attempts: executions of the handler, plus runs of other tools by the call's fallbacks. */
  readonly attempts: number
  /** The number of executions of the handler. */
  readonly executions: number
  /** How long the policies waited, in total. */
  readonly waited: Duration.Duration
  /** The failures that policies handled, oldest first. */
  readonly handled: ReadonlyArray<Handled>
  /** The report of the agents that corrected the arguments: their usage and their failures. */
  readonly fixing?: RunReport
  /** Caveats on the answer, one sentence each. */
  readonly caveats: ReadonlyArray<string>
  /** The files beside the answer (`ToolCall.attach`). Absent if there are none. */
  readonly files?: ReadonlyArray<File>
  /** The source of the answer. Absent if no source was named. */
  readonly source?: Source
}

/**
 * Runs a tool, and returns how the run ended together with the record of the call. The record says whether
 * the call took effect. An answer from a fallback, or a failure other than `ToolUnavailable`, does not
 * carry that information.
 *
 * When to use: in a program that has no agent and must know what a call did before continuing. `outcome`
 * never fails: the tool's failure or defect is in the `exit`. Only an interruption passes through.
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
} = /* @__PURE__ */ dual(
  2,
  <Name extends string, Params, A, E extends ToolFailure, R>(
    self: Tool<Name, Params, A, E, R>,
    params: Params
  ): Effect.Effect<Outcome<A, E>, never, R> =>
    runAsCall(
      subjectOf(self, tokenOf(self)),
      params,
      runWithFixers(self)(params),
      (call, scope) => Effect.map(Effect.exit(call), (exit) => accountOf(scope, exit))
    )
)

// -----------------------------------------------------------------------------
// Explaining
// -----------------------------------------------------------------------------

/**
 * Computes the worst case of a call to a tool, without running the tool: the number of attempts, the
 * waiting time and the total time. The result also has warnings about policies that are probably a mistake.
 *
 * When to use: in a test that guards the bounds of your tools, or to find out why a call takes so long.
 *
 * The bounds come from the tool's policies. Defaults of a toolkit or an agent are included only after they
 * have been added to the tool. To compute the waits, `explain` runs the Effects inside a retry's schedule,
 * and discards their log output.
 *
 * @example
 * ```ts
 * import { Tool } from "@fallible/core"
 * import * as Explanation from "@fallible/core/Explanation"
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
 * attempts.max // => 3
 * Duration.format(time.max) // => "15s 600ms"
 * warnings.map(({ code }) => code) // => ["unjittered_retry"]
 * ```
 *
 * @category explaining
 * @since 0.1.0
 */
// Generic, because with the parameter type `Any`, a combinator written inside the call, as in
// `explain(tool.pipe(…))`, would infer its parameters as `never`.
export const explain = <T extends Any>(tool: T): Explanation => explainTool(tool, tokenOf(tool))

// -----------------------------------------------------------------------------
// Internals
// -----------------------------------------------------------------------------

// True if a combinator is called with the tool as its first argument. The number of arguments cannot decide this, since
// options may be absent.
function isDataFirst([first]: ArrayLike<unknown> & Iterable<unknown>): boolean {
  return Predicate.hasProperty(first, "run") && Predicate.hasProperty(first, "sideEffect")
}

// `Handled` is an Effect of its own success, error and service types. The compiler does not see this for a
// type parameter.
const asOwnEffect = <Handled extends Effect.Effect<unknown, unknown, unknown>>(handled: Handled) =>
  handled as Effect.Effect<Effect.Success<Handled>, Effect.Error<Handled>, Effect.Services<Handled>>

/**
 * Makes the combinator of a policy. The declared type of the combinator says how it changes a tool's type. The policy has the
 * rest: its arguments, its checks, and what it does. Each use is marked as pure, so that a bundler drops what is not used.
 */
function fromPolicy<Combinator>(make: (...args: ReadonlyArray<never>) => Policy.Any): Combinator {
  const add = (self: Any, ...args: ReadonlyArray<never>) => withPolicy(self, make(...args))
  return asCombinator<Combinator>(dual(isDataFirst, add))
}

// A generic function cannot be described more closely, because each policy changes the type in its own way.
function asCombinator<Combinator>(f: unknown) {
  return f as Combinator
}
