/**
 * Policies, such as retry, timeout and fallback, stand between a tool's handler and its caller.
 *
 * A policy is a value. A tool has a list of policies, innermost first, in the order in which `pipe` added
 * them. The tool's `run` is built from the handler and that list. So each policy surrounds those written
 * before it:
 *
 *     tool.pipe(Tool.timeout("5 seconds"), Tool.retry(RetryPolicy.transient), Tool.fallback(lastKnown))
 *
 *     fallback( retry( timeout( handler ) ) )      each attempt has 5 s; the fallback sees the last failure
 *
 * This order, from the inside out, fits most tools:
 *
 * | policy        | place                                                                                       |
 * | ------------- | ------------------------------------------------------------------------------------------- |
 * | `timeout`     | inside `retry`, so that it limits each attempt                                              |
 * | `reconcile`   | directly outside `timeout`, so that `retry` can repeat a call that did nothing              |
 * | `retry`       | inside the breaker, so that the breaker sees one outcome per call                           |
 * | `paginate`    | outside `retry`, so that each page has its own attempts                                     |
 * | `concurrency` | outside `retry`: one permit per call, held between attempts; inside: one permit per attempt |
 * | `rate`        | outside `retry`: each call counts once; inside: each attempt counts                         |
 * | `deadline`    | outside every policy that waits, so that it limits the whole call                           |
 * | `breaker`     | outside `concurrency` and `rate`, so that no call queues while the circuit is open          |
 * | `fallback`    | outermost, since policies outside it never see the failures that it handles                 |
 *
 * To add a policy to a tool, use the typed combinators in `Tool`. This module is for code that reads
 * policies as values, that gives defaults to a toolkit or an agent, or that makes new policies.
 * `docs/writing-a-policy.md` shows how to write a policy.
 *
 * @since 0.1.0
 */
import { demandKnown, type Names } from "@fallible/arguments/internal"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import { isIdempotent } from "./internal/call/isIdempotent.ts"
import { defaultKinds, type PolicyKind, PolicyKind as PolicyKinds } from "./internal/call/policyKind.ts"
import { mayRetry } from "./internal/call/refusal.ts"
import { callUser, failWith, requireSync } from "./internal/call/runUserCode.ts"
import { withCauseOf } from "./internal/failure/failureClass.ts"
import { refusal } from "./internal/failure/policyRefusal.ts"
import { failExhausted, sourcesTried, withHint } from "./internal/failure/sourcesExhausted.ts"
import { builtIn } from "./internal/policy/builtInPolicy.ts"
import { bulkhead } from "./internal/policy/bulkhead.ts"
import { askSource, attemptCounter } from "./internal/policy/fallbackSource.ts"
import { followPages } from "./internal/policy/followPages.ts"
import { withoutOwnFiber } from "./internal/policy/ownFiber.ts"
import type { Call, State } from "./internal/policy/policyCall.ts"
import { type Terms, timeOf as timeOfTerms } from "./internal/policy/policyTerms.ts"
import {
  type CheckAnswer,
  type ReconcileCall,
  type ReconcileOptions,
  Reconciliation
} from "./internal/policy/reconciliation.ts"
import { retryOn } from "./internal/policy/retryLoop.ts"
import { termsOf } from "./internal/policy/retryWait.ts"
import { limitTime, type TimeLimit } from "./internal/policy/timeLimit.ts"
import { isToolRun } from "./internal/policy/toolRuns.ts"
import { mayAskUser, replyText, requireQuestion } from "./internal/policy/userReply.ts"
import type { Advice } from "./internal/tool/permittedFailure.ts"
import { finite, positive, whole } from "./internal/value/numberOption.ts"
import { excerpt, kind, list } from "./internal/value/text.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import type { SideEffect } from "./SideEffect.ts"
import * as ToolCall from "./ToolCall.ts"
import { type Coverage, isTransient, type Tag, type ToolFailure, type ToolUnavailable } from "./ToolFailure.ts"
import { Handled } from "./ToolOutcome.ts"

export type { Again, Call, State, WhyNot } from "./internal/policy/policyCall.ts"
export type { Part, Repetitions, Terms } from "./internal/policy/policyTerms.ts"
export type { ReconcileCall, ReconcileOptions } from "./internal/policy/reconciliation.ts"

/**
 * The fields of a tool that a policy can read.
 *
 * @category models
 * @since 0.1.0
 */
export interface Subject<A = unknown> {
  readonly name: string
  readonly sideEffect: SideEffect
  readonly parameters: Schema.ConstraintDecoder<unknown>
  readonly success: Schema.ConstraintCodec<A, unknown>
}

/**
 * A tool's run, as a policy sees it: a function that takes parameters, and returns an Effect of an answer
 * or a failure.
 *
 * @category models
 * @since 0.1.0
 */
export type Run<A = unknown, E extends ToolFailure = ToolFailure, R = unknown> = (
  params: unknown
) => Effect.Effect<A, E, R>

/**
 * The kind of a policy. The kind decides where a default policy is placed, and which name a policy has in
 * the report. `"custom"` is for policies that fit no other kind.
 *
 * @category models
 * @since 0.1.0
 */
export type Kind = PolicyKind

/**
 * The parts of a policy.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<out R = never, out E extends ToolFailure = never> {
  /**
   * The kind of the policy. A tool's own policy replaces a default of the same kind. A custom policy
   * replaces only a custom default of the same name.
   */
  readonly kind: Kind
  /** The name of the policy in events, reports and logs. Required for a custom policy. */
  readonly name?: string
  /** A description for people, such as `"timeout of 5s"`. */
  readonly description: string
  /**
   * Wraps a tool's run, the *inner run*. `wrap` itself is called when the tool is built; the function that
   * it returns is invoked for each call. That function succeeds only with an answer from the inner run, and
   * fails with a failure of the inner run or with an `E`.
   */
  readonly wrap: <A, E0 extends ToolFailure, R0>(
    run: Run<A, E0, R0>,
    subject: Subject<A>,
    call: Call
  ) => Run<A, E0 | E | Advice<"Declare the failures that the policy adds: Policy.make<never, SemanticGarbage>">, R0 | R>
  /**
   * What the policy adds to the inner run, for `Tool.explain`: repetitions, waits, time. `{}` adds nothing. Without terms,
   * nothing is known about the policy, and the tool counts as unbounded.
   */
  readonly terms?: Terms
}

/**
 * A policy, as made by {@link make}. It needs the services `R`, and may add failures `E` to a tool.
 *
 * @category models
 * @since 0.1.0
 */
export interface Policy<out R = never, out E extends ToolFailure = ToolUnavailable> extends Options<R, E> {
  readonly [TypeId]: typeof TypeId
}

const TypeId = "~@fallible/core/Policy"

/**
 * Any policy, with any requirements and failures.
 *
 * @category models
 * @since 0.1.0
 */
export type Any = Policy<unknown, ToolFailure>

/**
 * A schedule for retries, or a function that returns a schedule. The function's argument `$` types the
 * schedule's input as {@link ToolUnavailable}, like `$` in `Effect.retry`.
 *
 * @category models
 * @since 0.1.0
 */
export type Retries<R> =
  | Schedule.Schedule<unknown, ToolUnavailable, never, R>
  | ((
    $: <O, E, R1>(
      schedule: Schedule.Schedule<O, ToolUnavailable, E, R1>
    ) => Schedule.Schedule<O, ToolUnavailable, E, R1>
  ) => Schedule.Schedule<unknown, ToolUnavailable, never, R>)
  | NoSchedule

// No value has this type. The compiler says what to write instead.
type NoSchedule =
  | { readonly attempts: Advice<"Write RetryPolicy.make({ attempts: 3 })."> }
  | { readonly times: Advice<"Write RetryPolicy.make({ attempts: 3 })."> }

// -----------------------------------------------------------------------------
// Constructors
// -----------------------------------------------------------------------------

/**
 * Makes a policy of your own. `Tool.with` adds it to a tool.
 *
 * When to use: for behaviour that no policy of this library has, such as hedged requests, a cache or an
 * audit log. `docs/writing-a-policy.md` has examples.
 *
 * Whatever the policy does, the library's record of the call stays correct:
 *
 * - Each attempt in an inner run is counted.
 * - If the inner run fails and the policy does not fail with the same failure, the policy counts as having
 *   handled it.
 * - Time during which no inner run is in progress counts as waiting.
 * - An inner run that has not ended when the policy ends counts as abandoned.
 *
 * Through `call`, the third argument of `wrap`, a policy can report further details as they happen.
 *
 * The answer is compared with those of inner runs by identity, and equal strings count as the same. The caveats and the source
 * are those of the run whose answer it is. If it comes from no inner run, the caveats of the last successful run stay.
 *
 * An inner run is recognized by its arguments. If a policy passes changed ones in the fiber of another call, they count as that
 * call's. If they may be those of several calls, a tool that acts does not run (`outside_call`).
 *
 * A policy cannot repeat a tool's side effects. A `"non_idempotent"` tool fails with
 * `not_repeated` if a policy runs it after an attempt that may have taken effect (`Certainty`). The library
 * does not see side effects of the policy itself.
 *
 * Throws if the name or the description is not a string, the kind is unknown, a custom policy has no name, or
 * `wrap` is not a function.
 *
 * @example
 * ```ts
 * import { Policy, Tool } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const audited = Policy.make({
 *   kind: "custom",
 *   name: "audit",
 *   description: "audit of every call",
 *   wrap: (run, { name }) => (params) => Effect.tap(run(params), () => Effect.logDebug(`${name} was called`))
 * })
 * const ping = Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong")).pipe(
 *   Tool.with(audited)
 * )
 * ping.policies.map(({ name }) => name) // => ["audit"]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <R = never, E extends ToolFailure = never>(options: Options<R, E>): Policy<R, E> => {
  const { description, kind: policyKind, name, terms, wrap } = options
  if (!kinds.includes(policyKind)) {
    throw new TypeError(`A policy's kind must be one of ${list(kinds, kinds.length)}; got ${excerpt(policyKind)}.`)
  }
  if (typeof description !== "string") {
    throw new TypeError(`A policy's description must be a string; got ${kind(description)}.`)
  }
  if (name !== undefined && typeof name !== "string") {
    throw new TypeError(`A policy's name must be a string; got ${kind(name)}.`)
  }
  if (policyKind === "custom" && name === undefined) throw new TypeError("A custom policy needs a name.")
  if (typeof wrap !== "function") throw new TypeError(`A policy's wrap must be a function; got ${kind(wrap)}.`)
  return {
    [TypeId]: TypeId,
    kind: policyKind,
    ...(name === undefined ? {} : { name }),
    description,
    wrap,
    ...(terms === undefined ? {} : { terms })
  }
}

/**
 * Returns whether a value was made by {@link make}.
 *
 * @category guards
 * @since 0.1.0
 */
export const isPolicy = (value: unknown): value is Any => Predicate.hasProperty(value, TypeId)

const kinds: ReadonlyArray<Kind> = PolicyKinds.literals

// -----------------------------------------------------------------------------
// Policies
// -----------------------------------------------------------------------------

/**
 * Retries the tool on a Schedule, as long as it fails with a transient `ToolUnavailable` and a repetition
 * is safe. See `Tool.retry`.
 *
 * @category policies
 * @since 0.1.0
 */
export const retry = <R>(retries: Retries<R>): Policy<R> => {
  if (!Schedule.isSchedule(retries) && typeof retries !== "function") throw notASchedule(retries)
  const schedule = Schedule.isSchedule(retries) ? retries : retries((schedule) => schedule)
  if (!Schedule.isSchedule(schedule)) throw notASchedule(schedule)
  return makeBuiltIn({
    kind: "retry",
    description: "retry of transient failures",
    terms: { repeats: schedule },
    wrap: (run, _, call) => (params) =>
      retryOn(run(params), () => {
        let number = 0
        const limit = limitOf(schedule)
        let wait = Duration.zero
        return {
          schedule,
          retryable: isTransient,
          // An inner policy may have changed the failure's `outcome`, so the call's own record decides
          // whether a retry is safe.
          refusal: () => Effect.map(call.state, ({ whyNot }) => whyNot),
          onRefused: call.notAgain,
          begin: mayRetry,
          onRetry: (failure, length) => {
            wait = length
            return call.again(failure, { number: ++number, ...(limit === undefined ? {} : { limit }), wait })
          },
          waiting: (step) => call.waiting(step, wait)
        }
      })
  })
}

/**
 * Limits how long an attempt may take. See `Tool.timeout`.
 *
 * @category policies
 * @since 0.1.0
 */
export const timeout = (duration: Duration.Input): Policy => timeLimit("timeout", duration)

/**
 * Limits how long a whole call may take, including all its attempts and waits. See `Tool.deadline`.
 *
 * A default deadline is extended if the tool has its own timeout: see {@link withDefaults}.
 *
 * @category policies
 * @since 0.1.0
 */
export const deadline = (duration: Duration.Input): Policy => timeLimit("deadline", duration)

const timeLimit = (kind: TimeLimit, duration: Duration.Input): Policy => {
  const limit = positive(kind, duration)
  const millis = Duration.toMillis(limit)
  return makeBuiltIn({
    kind,
    description: `${kind} of ${Duration.format(limit)}`,
    terms: { limit },
    wrap: (run, subject) => {
      // With a finite limit, the handler runs in the limit's fiber. With an infinite limit, it needs its
      // own fiber.
      const inner = millis === Infinity ? run : withoutOwnFiber(run)
      return (params) => limitTime(inner(params), subject, millis, kind)
    }
  })
}

/**
 * When the tool is unavailable, takes the answer from another source. See `Tool.fallback`.
 *
 * @category policies
 * @since 0.1.0
 */
export const fallback = <R, E extends ToolFailure>(
  source: (params: never, failure: ToolUnavailable) => Effect.Effect<unknown, E, R>,
  options: FallbackOptions = {}
): Policy<R, E> => {
  demandKnown("Tool.fallback", options, fallbackNames)
  if (typeof source !== "function" && !Effect.isEffect(source)) {
    throw new TypeError(`A fallback needs a function; got ${kind(source)}. If a tool is the source, pass its 'run'.`)
  }
  const answer = eraseTypes("A fallback", source)
  const { insteadOf, name } = options
  return makeBuiltIn({
    kind: "fallback",
    description: name === undefined ? "fallback" : `fallback to ${name}`,
    terms: { after: { what: name === undefined ? "the fallback" : `the fallback to ${name}`, tool: source } },
    wrap: (run, subject, call) => (params) =>
      Effect.flatMap(
        attemptCounter,
        (newAttempts) =>
          Effect.catch(run(params), (failure) =>
            failure._tag === "ToolUnavailable"
              ? askElsewhere(call, failure, newAttempts, {
                name,
                insteadOf: insteadOf ?? subject.name,
                isTool: isToolRun(source),
                ask: () => callUser(`The fallback of '${subject.name}'`, () => answer(params, failure))
              })
              : Effect.fail(failure))
      )
  })
}

/**
 * The options of a fallback.
 *
 * @category models
 * @since 0.1.0
 */
export interface FallbackOptions {
  /** The name of the source in the outcome, and in the list of sources that were tried. Default: no name. */
  readonly name?: string
  /** The name of what the source replaces, in the list of sources that were tried. Default: the tool's name. */
  readonly insteadOf?: string
}

/**
 * When the tool is unavailable, asks the user, and goes on with the reply. See `Tool.askWhenUnavailable`.
 *
 * @category policies
 * @since 0.1.0
 */
export const askWhenUnavailable = <R = never, E extends ToolFailure = never>(
  question: (params: never, failure: ToolUnavailable) => string,
  use?: (reply: string, params: never, failure: ToolUnavailable) => Effect.Effect<unknown, E, R>
): Policy<R, E> => {
  const questionOf = eraseTypes("A question to the user", question)
  const answer = use === undefined ? undefined : eraseTypes("The use of a user's reply", use)
  return makeBuiltIn({
    kind: "fallback",
    description: answer === undefined ? "question to the user" : "question to the user, whose reply is used",
    terms: {
      // A question ends the run until there is a reply, so it takes no time of the call.
      after: answer === undefined
        ? { what: "the question to the user", time: Duration.zero }
        : { what: "the use of the user's reply" },
      passesOnDoubt: true
    },
    wrap: (run, { name, sideEffect }, call) => (params) =>
      Effect.flatMap(attemptCounter, (newAttempts) => {
        const goOn = (failure: ToolUnavailable, reply: string, replied: string) =>
          answer === undefined
            ? Effect.fail(withHint(failure, hintOn(replied, failure)))
            : askElsewhere(call, failure, newAttempts, {
              name: "the user",
              insteadOf: name,
              isTool: false,
              ask: () =>
                Effect.andThen(
                  ToolCall.caveat(replied),
                  callUser(`The use of the user's reply of '${name}'`, () => answer(reply, params, failure))
                )
            })
        const ask = (failure: ToolFailure, { certainty }: State) => {
          if (!mayAskUser(failure, certainty, sideEffect)) return Effect.fail(failure)
          const question = requireQuestion(name, questionOf(params, failure))
          return Effect.flatMap(ToolCall.ask(question), (reply) => goOn(failure, reply, replyText(question, reply)))
        }
        return Effect.catch(run(params), (failure) => Effect.flatMap(call.state, (state) => ask(failure, state)))
      })
  })
}

/**
 * Handles the failures that have one of the given tags. See `Tool.catchTag`.
 *
 * @category policies
 * @since 0.1.0
 */
export const catchTag = <R, E extends ToolFailure>(
  tag: Tag | ReadonlyArray<Tag>,
  handler: (failure: never, params: never) => Effect.Effect<unknown, E, R>
): Policy<R, E> => {
  const tags = Array.isArray(tag) ? tag : [tag]
  const unknownTag = tags.find((tag) => !tagsOfFailures.includes(tag))
  if (unknownTag !== undefined) {
    throw new TypeError(`A failure's tag must be one of ${list(tagsOfFailures)}; got ${excerpt(unknownTag)}.`)
  }
  const recover = eraseTypes("The handler of a catch", handler)
  // Catching `ToolUnavailable` counts as a fallback.
  const kind = tags.includes("ToolUnavailable") ? "fallback" : "catch"
  return makeBuiltIn({
    kind,
    description: `catch of ${tags.join(", ")}`,
    terms: { after: { what: `the catch of ${tags.join(", ")}` } },
    wrap: (run, { name }, call) => (params) =>
      Effect.catch(run(params), (failure) =>
        tags.includes(failure._tag)
          ? Effect.andThen(
            call.instead(failure),
            askSource("a catch", false, () => callUser(`The catch of '${name}'`, () => recover(failure, params)))
          )
          : Effect.fail(failure))
  })
}

/**
 * Turns each failure into another one. See `Tool.mapFailure`.
 *
 * @category policies
 * @since 0.1.0
 */
export const mapFailure = <E extends ToolFailure>(f: (failure: never) => E): Policy<never, E> => {
  const map = eraseTypes("A mapping of failures", f)
  return makeBuiltIn({
    kind: "map",
    description: "maps failures",
    terms: {},
    wrap: (run, { name }) => (params) =>
      Effect.catch(
        run(params),
        (failure) =>
          Effect.mapError(
            failWith(`The mapping of failures of '${name}'`, map(failure)),
            (made) => withCauseOf(made, failure)
          )
      )
  })
}

/**
 * If it is unknown whether a call took effect, runs a check to find out. See `Tool.reconcile`.
 *
 * @category policies
 * @since 0.1.0
 */
export const reconcile = <Checked extends CheckAnswer<unknown>>(
  check: (params: never, call: ReconcileCall) => Checked,
  options: ReconcileOptions = {}
  // A promise needs no services. As a parameter of its own, they would be inferred as `unknown` from it.
): Policy<Effect.Services<Checked>> => {
  demandKnown("Tool.reconcile", options, reconcileNames)
  const reconciliation = new Reconciliation(needing<Checked>(eraseTypes("A check of an outcome", check)), options)
  const { isFinal, looksFirst, settle } = reconciliation
  const within = settle === undefined ? "" : ` within ${Duration.format(settle)}`
  return makeBuiltIn({
    kind: "reconcile",
    description: `${looksFirst ? "looks first, and " : ""}reconciles unknown outcomes${within}`,
    terms: { reconciles: { settle, isFinal, looksFirst } },
    wrap: (run, { name }, call) => (params) => {
      const checked = Effect.catch(run(params), (failure) => reconciliation.of(name, call, params, failure))
      return reconciliation.before(name, params, checked)
    }
  })
}

// The compiler does not see that an answer needs the services that `Effect.Services` finds in its type.
const needing = <Checked>(check: (...args: ReadonlyArray<unknown>) => CheckAnswer<unknown>) =>
  check as (...args: ReadonlyArray<unknown>) => CheckAnswer<Effect.Services<Checked>>

/**
 * How pages are merged, and how many are fetched.
 *
 * @category models
 * @since 0.1.0
 */
export interface PaginateOptions<A> {
  /** Merges the pages so far with the next page. */
  readonly merge: (soFar: A, page: A) => A
  /**
   * Computes the coverage to report when the result stays incomplete. Default: the number of pages, with the total number if
   * the pages state it.
   */
  readonly coverage?: (soFar: A) => Coverage
  /** The largest number of pages, including the first: a whole number of at least 2. Default: 10. */
  readonly pages?: number
  /** How long the pages after the first may take. Default: 30 seconds. */
  readonly time?: Duration.Input
  /**
   * The size of the fetched data, in bytes of JSON, at which no further page is fetched. Default:
   * 1,000,000.
   */
  readonly bytes?: number
}

/**
 * Fetches the rest of a partial result. See `Tool.paginate`.
 *
 * @category policies
 * @since 0.1.0
 */
export const paginate = <A>(options: PaginateOptions<A>): Policy => {
  const { bytes = 1_000_000, coverage, merge, pages = 10, time = "30 seconds" } = options
  if (!(bytes > 0)) throw new TypeError(`A limit of bytes must be a number above zero; got ${bytes}.`)
  const limits = {
    merge: requireSyncFunction("merge of pages", merge),
    coverage: coverage === undefined ? undefined : requireSyncFunction("coverage of pages", coverage),
    pages: whole("A limit of pages", pages, 2),
    time: positive("limit of time", time),
    bytes
  }
  return makeBuiltIn({
    kind: "paginate",
    description: `fetches up to ${pages} pages`,
    terms: { pages: { max: pages, time: limits.time } },
    wrap: (run, { name, parameters, sideEffect }) => {
      if (!isIdempotent(sideEffect)) {
        throw new TypeError(
          `The pages of ${name} cannot be followed, because each run of it acts. Declare its sideEffect if it is read-only or idempotent.`
        )
      }
      return followPages({ parameters, run }, limits)
    }
  })
}

/**
 * The options of a concurrency limit.
 *
 * @category models
 * @since 0.1.0
 */
export interface ConcurrencyOptions {
  /** How long a call waits for a permit; with zero, a call never waits. Default: no limit. */
  readonly maxWait?: Duration.Input
}

/**
 * Limits how many calls run at the same time. See `Tool.concurrency`.
 *
 * @category policies
 * @since 0.1.0
 */
export const concurrency = (
  permits: number,
  { maxWait = Duration.infinity }: ConcurrencyOptions = {}
): Policy => {
  whole("A concurrency limit", permits)
  const patience = Duration.fromInputUnsafe(maxWait)
  if (Duration.isNegative(patience)) throw new TypeError("A concurrency limit's maxWait must be zero or more.")
  const bulkheadOf = (name: string, call: Call) =>
    bulkhead(permits, patience, Effect.suspend(() => call.refuse(full(name, permits))), call.waiting)
  // Each tool has its own bulkhead, since a default policy serves many tools. The policy stores the
  // bulkheads, so that all runs of a tool share the same one.
  const bulkheads = new Map<string, ReturnType<typeof bulkheadOf>>()
  return makeBuiltIn({
    kind: "concurrency",
    description: `concurrency limit of ${permits}`,
    terms: { waits: { for: "a permit", max: patience } },
    wrap: (run, { name }, call) => {
      const throughBulkhead = bulkheads.get(name) ?? bulkheadOf(name, call)
      bulkheads.set(name, throughBulkhead)
      return (params) => throughBulkhead(run(params))
    }
  })
}

// -----------------------------------------------------------------------------
// Defaults
// -----------------------------------------------------------------------------

/**
 * The order of default policies, from the inside out.
 *
 * @category defaults
 * @since 0.1.0
 */
export const order: ReadonlyArray<Kind> = defaultKinds

/**
 * Returns a tool's own policies, together with the defaults of those kinds that the tool lacks.
 *
 * A default is placed just inside the first of the tool's policies that ranks later in the {@link order}.
 * If there is none, the default goes outermost. So a default timeout limits each attempt of a tool that has
 * a retry. A default always goes outside a policy that maps failures.
 *
 * A default {@link deadline} must not end before the tool's own {@link timeout}, or before the `settle`
 * time of its {@link reconcile}. So the default deadline is extended by these times; `settle` counts twice,
 * since a running attempt gets the same time to finish. So waits outside the
 * timeout, such as a queue, still have the deadline's original time. If one of these times is infinite or unknown, the default
 * deadline is left out. (A custom `timeout` built with {@link make} has no known length.)
 *
 * A tool can have both a default timeout and a default deadline. A default deadline always goes outside a
 * {@link concurrency}, because a call may wait forever for a permit. The default is added even if the tool
 * has its own deadline inside the `concurrency`.
 *
 * @category defaults
 * @since 0.1.0
 */
export const withDefaults = (own: ReadonlyArray<Any>, defaults: ReadonlyArray<Any>): ReadonlyArray<Any> => {
  // A deadline inside `concurrency` does not limit the wait for a permit.
  const queue = own.findLastIndex(({ kind }) => kind === "concurrency")
  const deadlinesInQueue = own.filter(({ kind }, index) => kind === "deadline" && index < queue)
  return defaults.reduce((policies, added) => {
    if (policies.some((existing) => isOfSameKind(existing, added) && !deadlinesInQueue.includes(existing))) {
      return policies
    }
    const policy = added.kind === "deadline" ? extendDeadline(added, own, policies) : added
    if (policy === undefined) return policies
    const place = order.indexOf(policy.kind)
    // A function that maps failures knows only the failures that the tool had when the function was added.
    // So defaults go outside the mapping.
    const inside = policies.findLastIndex(({ kind }) =>
      kind === "map" || kind === "concurrency" && policy.kind === "deadline"
    )
    const outer = policies.findIndex(({ kind }, index) => index > inside && order.indexOf(kind) > place)
    return place === -1 || outer === -1 ? [...policies, policy] : policies.toSpliced(outer, 0, policy)
  }, own)
}

/**
 * Returns a deadline extended by the times of the policies inside it, or `undefined` if one of these times
 * is infinite.
 */
const extendDeadline = (original: Any, own: ReadonlyArray<Any>, inside: ReadonlyArray<Any>): Any | undefined => {
  // A default timeout may be cut short by the deadline, so it does not extend the deadline.
  const times = inside.flatMap((policy) =>
    policy.kind !== "timeout" || own.includes(policy) ? timeOf(policy) ?? [] : []
  )
  if (times.length === 0) return original
  const limit = times.reduce(Duration.sum, timeOf(original) ?? Duration.infinity)
  return Duration.isFinite(limit) ? deadline(limit) : undefined
}

// The length of a user-made limit is unknown, so it counts as infinite.
const timeOf = ({ kind, terms = {} }: Any): Duration.Duration | undefined =>
  timeOfTerms(terms) ?? (kind === "timeout" || kind === "deadline" ? Duration.infinity : undefined)

// Custom policies are of the same kind only if they have the same name.
const isOfSameKind = ({ kind, name }: Any, other: Any): boolean =>
  kind === other.kind && (kind !== "custom" || name === other.name)

/**
 * The options of the standard policies.
 *
 * @category models
 * @since 0.1.0
 */
export interface StandardOptions {
  /**
   * How long each attempt may take: a finite time above zero. Default: 30 seconds, unless the `totalTimeout` is shorter.
   */
  readonly attemptTimeout?: Duration.Input
  /**
   * How long all attempts may take, including the waits between them: a finite time, at least as long
   * as the `attemptTimeout`. Default: 90 seconds.
   */
  readonly totalTimeout?: Duration.Input
  /** The largest number of attempts, including the first: a whole number of at least 1. Default: 3. */
  readonly attempts?: number
  /**
   * Whether an attempt that timed out is retried. Default: `false`, so that a service that hangs is called
   * only once.
   */
  readonly retryTimeouts?: boolean
}

/**
 * Returns policies that fit most tools: a timeout for each attempt, a retry of transient failures, and a
 * deadline for the whole call.
 *
 * When to use: as an agent's `policies`, or as a toolkit's defaults (`Toolkit.withDefaults`). Without these
 * defaults, tools have only their own policies.
 *
 * - `timeout`: each attempt may take 30 seconds.
 * - `retry`: three attempts in all, with the backoff of {@link RetryPolicy.make}. A `Retry-After` is
 *   honoured up to the `totalTimeout`.
 * - `deadline`: the whole call may take 90 seconds. A wait that could not end in time is not started.
 *
 * The three policies and their order are those of .NET's standard resilience handler
 * (`Microsoft.Extensions.Http.Resilience`, built on Polly). Its times are 10 and 30 seconds, which are short for what
 * agents call: a slow search, a deployment. Unlike that handler, this retry repeats a timed-out attempt only if
 * `retryTimeouts` is set.
 *
 * A tool's own policy replaces the standard policy of the same kind. If a tool has its own timeout, the
 * deadline is extended by that time. To replace one of the three policies for all tools, put yours first:
 * `[Policy.retry(mine), ...Policy.standard()]`.
 *
 * The deadline does not limit the policies outside it, such as a breaker or a fallback. To limit these, too,
 * add a `timeout` or a `deadline` to the tool, outside them. `Tool.explain` warns of a fallback to a tool that has
 * no time limit (`unbounded_fallback`). A fixer has its own time limit (`Tool.fix`).
 *
 * A tool with these policies may fail with `ToolUnavailable`. Throws if an option is out of range, or if
 * `attemptTimeout` is longer than `totalTimeout`.
 *
 * @example
 * ```ts
 * import { Policy, Tool, Toolkit } from "@fallible/core"
 * import * as Explanation from "@fallible/core/Explanation"
 * import { Effect, Schema } from "effect"
 *
 * const ping = Tool.make("ping", { description: "Answers", success: Schema.String, sideEffect: "none" }, () =>
 *   Effect.succeed("pong")
 * )
 * const toolkit = Toolkit.make(ping).pipe(Toolkit.withDefaults(Policy.standard({ attemptTimeout: "2 seconds", totalTimeout: "5 seconds" })))
 *
 * Explanation.overview(Toolkit.explain(toolkit)).split("\n").slice(2, 7)
 * // => ["  policy       timeout of 2s", "  policy       retry of transient failures", "  policy       deadline of 5s", "  attempts     3", "  waiting      5s"]
 * ```
 *
 * @category defaults
 * @since 0.1.0
 */
export const standard = (options: StandardOptions = {}): ReadonlyArray<Policy> => {
  demandKnown("Policy.standard", options, standardNames)
  const { attemptTimeout, attempts = 3, retryTimeouts = false, totalTimeout = "90 seconds" } = options
  const total = finite("totalTimeout", totalTimeout)
  const perAttempt = attemptTimeout === undefined
    ? Duration.min(Duration.seconds(30), total)
    : finite("attemptTimeout", attemptTimeout)
  if (Duration.isGreaterThan(perAttempt, total)) {
    const [one, whole] = [Duration.format(perAttempt), Duration.format(total)]
    throw new TypeError(`An 'attemptTimeout' must not be longer than the 'totalTimeout'; got ${one} and ${whole}.`)
  }
  const retries = retry(RetryPolicy.make({ attempts, honourRetryAfter: total, retryTimeouts }))
  return [timeout(perAttempt), retries, deadline(total)].map(forAllTools)
}

// -----------------------------------------------------------------------------
// Internals
// -----------------------------------------------------------------------------

/** Returns how many retries a schedule allows, if it publishes that. */
const limitOf = (schedule: object): number | undefined => {
  const terms = termsOf(schedule)
  return terms === undefined || "around" in terms ? undefined : terms.attempts - 1
}

/** A source that answers in place of a tool. */
interface Elsewhere<R> {
  readonly name: string | undefined
  /** The name of what it replaces. */
  readonly insteadOf: string
  /** True if it is the `run` of a tool. */
  readonly isTool: boolean
  readonly ask: () => Effect.Effect<unknown, ToolFailure, R>
}

/**
 * Takes the answer from another source. If that is unavailable, too, the failure lists all sources that were tried.
 *
 * @param newAttempts returns how many attempts began since its last use
 */
const askElsewhere = <R>(
  call: Call,
  failure: ToolUnavailable,
  newAttempts: () => number,
  { ask, insteadOf, isTool, name }: Elsewhere<R>
): Effect.Effect<unknown, ToolFailure, R> => {
  const tried = sourcesTried(failure, insteadOf, newAttempts())
  return Effect.andThen(
    call.instead(failure, name === undefined ? undefined : { name }),
    Effect.mapError(askSource("a fallback", isTool, ask), (last) =>
      last._tag === "ToolUnavailable"
        ? failExhausted(failure, last, [...tried, ...sourcesTried(last, name ?? "a fallback", newAttempts())])
        : last)
  )
}

/** Returns the hint of a failure after a reply of the user. The reply comes first, since a long hint is cut at its end. */
const hintOn = (replied: string, { hint }: ToolUnavailable): string => {
  const end = /[.!?]"$/.test(replied) ? "" : "."
  const sentence = `${replied.charAt(0).toUpperCase()}${replied.slice(1)}${end}`
  return hint === undefined ? sentence : `${sentence} ${hint}`
}

/** Marks a policy as meant for all kinds of tools. */
const forAllTools = (policy: Policy): Policy => builtIn({ ...policy, terms: { ...policy.terms, isForAllTools: true } })

const notASchedule = (value: unknown): TypeError => {
  const times = Predicate.hasProperty(value, "times") ? value.times : value
  // One attempt more than the retries: the first attempt is not a retry.
  const attempts = Predicate.isNumber(times) && Number.isSafeInteger(times) && times >= 0 ? times + 1 : 3
  return new TypeError(
    `A retry needs a Schedule; got ${kind(value)}. Write RetryPolicy.make({ attempts: ${attempts} }).`
  )
}

const fallbackNames: Names<FallbackOptions> = { name: true, insteadOf: true }

const reconcileNames: Names<ReconcileOptions> = { settle: true, schedule: true, final: true, lookFirst: true }

const standardNames: Names<StandardOptions> = {
  attemptTimeout: true,
  totalTimeout: true,
  attempts: true,
  retryTimeouts: true
}

const full = (name: string, permits: number): ToolUnavailable =>
  refusal({
    code: "bulkhead_full",
    detail: `${name} already has ${permits} ${permits === 1 ? "call" : "calls"} running.`
  })

const tagsOfFailures: ReadonlyArray<Tag> = Handled.fields.tag.literals

interface BuiltInOptions<R> extends Omit<Options<R>, "wrap"> {
  readonly wrap: <R0>(
    run: Run<unknown, ToolFailure, R0>,
    subject: Subject,
    call: Call
  ) => Run<unknown, ToolFailure, R0 | R>
}

// The combinators in `Tool` declare how each policy changes a tool's type. In this module, a policy has the
// same type for every tool.
function asTyped<R, E extends ToolFailure>(wrap: BuiltInOptions<R>["wrap"]) {
  return wrap as Options<R, E>["wrap"]
}

function makeBuiltIn<R = never, E extends ToolFailure = ToolUnavailable>(
  { wrap, ...options }: BuiltInOptions<R>
): Policy<R, E> {
  return builtIn(make<R, E>({ ...options, wrap: asTyped<R, E>(wrap) }))
}

// Erases the types of a user's function. The combinators in `Tool`, such as `Tool.fallback`, guarantee that
// the function gets only parameters and failures of its own types.
const eraseTypes = <Args extends ReadonlyArray<never>, B>(what: string, f: (...args: Args) => B) => {
  if (typeof f !== "function") throw new TypeError(`${what} must be a function; got ${kind(f)}.`)
  return f as unknown as (...args: ReadonlyArray<unknown>) => B
}

// Wraps a function that must return its result directly: throws if the result is a promise.
const requireSyncFunction = <Args extends ReadonlyArray<never>, B>(what: string, f: (...args: Args) => B) => {
  const call = eraseTypes(`A ${what}`, f)
  return (...args: ReadonlyArray<unknown>) => requireSync(`The ${what}`, call(...args))
}
