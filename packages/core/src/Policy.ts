/**
 * What stands between a tool's handler and its caller: retry, timeout, fallback, …
 *
 * A policy is a value. A tool holds its policies in a list, innermost first, in the order in which
 * `pipe` added them, and its `run` is made from handler and list once. So the order that is written
 * is the order that runs:
 *
 *     tool.pipe(Tool.timeout("5 seconds"), Tool.retry(RetryPolicy.transient), Tool.fallback(lastKnown))
 *
 *     fallback( retry( timeout( handler ) ) )      each attempt has 5 s; the fallback sees the last failure
 *
 * From the inside out, this is the order that fits most tools:
 *
 * | policy      | why there                                                                          |
 * | ----------- | ---------------------------------------------------------------------------------- |
 * | `timeout`   | inside `retry`, so that it limits each attempt                                     |
 * | `reconcile` | right outside of what loses answers, so that `retry` may try again what did not happen |
 * | `retry`     | inside the breaker, so that the breaker sees one outcome per call                  |
 * | `paginate`  | outside of `retry`, so that each page has attempts of its own                      |
 * | `concurrency` | outside of `retry`: one permit a call, held while it waits; inside, one an attempt |
 * | `rate`      | the same: outside of `retry` a call counts once, inside each attempt does          |
 * | `deadline`  | outside of all that waits: it limits the whole call, its attempts and its waits    |
 * | `breaker`   | outside of `concurrency` and `rate`: while it is open, nobody queues                     |
 * | `fallback`  | outermost: what stands outside of it never sees the failures that it handles       |
 *
 * The typed combinators are in `Tool`. This module is for what looks at policies as values, for the defaults of a
 * toolkit or an agent, and for writing new ones: `docs/writing-a-policy.md` shows how.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import type { Bounds } from "./Explanation.ts"
import { begun } from "./internal/call/execution.ts"
import { isIdempotent } from "./internal/call/idempotent.ts"
import { defaultKinds, type PolicyKind, PolicyKind as PolicyKinds } from "./internal/call/policyKind.ts"
import { callUser, failing, outright } from "./internal/call/userCode.ts"
import * as bounds from "./internal/explain/bounds.ts"
import { exhausted, sourcesTried } from "./internal/failure/exhausted.ts"
import { withCauseOf } from "./internal/failure/failureClass.ts"
import { refusal } from "./internal/failure/refusalCode.ts"
import { builtIn } from "./internal/policy/builtIn.ts"
import { bulkhead } from "./internal/policy/bulkhead.ts"
import { sourced } from "./internal/policy/fallbackSource.ts"
import { following } from "./internal/policy/followPages.ts"
import { withoutOwnFiber } from "./internal/policy/ownFiber.ts"
import type { Call } from "./internal/policy/policyCall.ts"
import { type ReconcileOptions, Reconciliation } from "./internal/policy/reconciliation.ts"
import { retrying } from "./internal/policy/retrying.ts"
import { retriesOf } from "./internal/policy/retryTerms.ts"
import { limited, type TimeLimit } from "./internal/policy/timeLimit.ts"
import { finite, positive, whole } from "./internal/value/numberOption.ts"
import { excerpt, kind, list } from "./internal/value/text.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import type { SideEffect } from "./SideEffect.ts"
import type { ToolUnavailable } from "./ToolFailure.ts"
import { type Coverage, isTransient, type Tag, type ToolFailure } from "./ToolFailure.ts"
import { Handled } from "./ToolOutcome.ts"

export type { Again, Call, State, WhyNot } from "./internal/policy/policyCall.ts"
export type { ReconcileOptions } from "./internal/policy/reconciliation.ts"

/**
 * What a policy may know of the tool that it wraps.
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
 * A tool's run, as a policy sees it: parameters in, an answer or a failure out.
 *
 * @category models
 * @since 0.1.0
 */
export type Run<A = unknown, E extends ToolFailure = ToolFailure, R = unknown> = (
  params: unknown
) => Effect.Effect<A, E, R>

/**
 * What a policy does: its place among defaults, and its name in the ledger. `"custom"` is a policy of your own.
 *
 * @category models
 * @since 0.1.0
 */
export type Kind = PolicyKind

/**
 * What a policy is made of.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<out R = never, out E extends ToolFailure = never> {
  /** What it does. A policy of another kind than `"custom"` replaces a default of that kind. */
  readonly kind: Kind
  /** Its name in events, ledgers and logs. A custom policy must have one. */
  readonly name?: string
  /** For people: `"timeout of 5s"`. */
  readonly description: string
  /**
   * Wraps a tool's run. It is called once for each tool, and what it returns for each call. It answers with what is inside answers,
   * and fails with what is inside fails with, or with an `E`.
   */
  readonly wrap: <A, E0 extends ToolFailure, R0>(
    run: Run<A, E0, R0>,
    subject: Subject<A>,
    call: Call
  ) => Run<A, E0 | E, R0 | R>
  /**
   * What it makes of the bounds of what is inside, for `Tool.explain`; `(inner) => inner` where it changes none. Of a policy that
   * does not say, nothing is known, and the tool is unbounded.
   */
  readonly bound?: (inner: Bounds, subject: Subject) => Bounds
}

/**
 * One policy. It needs an `R`, and may fail with an `E` of its own. Make one with {@link make}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Policy<out R = never, out E extends ToolFailure = ToolUnavailable> extends Options<R, E> {
  readonly [TypeId]: typeof TypeId
}

const TypeId = "~@fallible/core/Policy"

/**
 * Any policy, whatever it needs and fails with.
 *
 * @category models
 * @since 0.1.0
 */
export type Any = Policy<unknown, ToolFailure>

/**
 * A schedule over the failures that a tool is retried after, or a function that makes one: its `$` gives a schedule
 * their type, as in `Effect.retry`.
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

// -----------------------------------------------------------------------------
// Constructors
// -----------------------------------------------------------------------------

/**
 * A policy of your own. `Tool.with` adds it to a tool.
 *
 * When to use: for what no policy of this library does: a hedge, a cache, an audit. `docs/writing-a-policy.md` has examples.
 *
 * The account of a call is right whatever the policy does. Each run of what is inside is an attempt; a failure that does not come out
 * was handled by it; the time in which nothing inside runs was waited; what still runs when it ends was left behind. `call` lets it say
 * more, and at once. Nor can it make anything act twice: a tool that is neither read-only nor idempotent fails as `not_repeated` where it
 * would run after an attempt that may have taken effect (`Certainty`). What effects the policy has of its own, only it knows.
 *
 * A description that is not a text, an unknown kind, or a `wrap` that is not a function throws.
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
  const { bound, description, kind: is, name, wrap } = options
  if (!kinds.includes(is)) {
    throw new TypeError(`A policy's kind is one of ${list(kinds, kinds.length)}; got ${excerpt(is)}.`)
  }
  if (typeof description !== "string") {
    throw new TypeError(`A policy's description is a text; got ${kind(description)}.`)
  }
  if (name !== undefined && typeof name !== "string") {
    throw new TypeError(`A policy's name is a text; got ${kind(name)}.`)
  }
  if (is === "custom" && name === undefined) throw new TypeError("A custom policy has a name.")
  if (typeof wrap !== "function") throw new TypeError(`A policy's wrap is a function; got ${kind(wrap)}.`)
  return {
    [TypeId]: TypeId,
    kind: is,
    ...(name === undefined ? {} : { name }),
    description,
    wrap,
    ...(bound === undefined ? {} : { bound })
  }
}

/**
 * Was a value made by {@link make}?
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
 * Tries again on a Schedule while the failure is a transient `ToolUnavailable` and a repetition is safe. See `Tool.retry`.
 *
 * @category policies
 * @since 0.1.0
 */
export const retry = <R>(retries: Retries<R>): Policy<R> => {
  if (!Schedule.isSchedule(retries) && typeof retries !== "function") {
    throw new TypeError(`A retry takes a Schedule; got ${kind(retries)}.`)
  }
  const schedule = Schedule.isSchedule(retries) ? retries : retries((schedule) => schedule)
  if (!Schedule.isSchedule(schedule)) throw new TypeError(`A retry takes a Schedule; got ${kind(schedule)}.`)
  return ours({
    kind: "retry",
    description: "retry of transient failures",
    bound: bounds.retry(schedule),
    wrap: (run, _, call) => (params) =>
      retrying(run(params), () => {
        let number = 0
        const limit = retriesOf(schedule)
        let wait = Duration.zero
        return {
          schedule,
          retryable: isTransient,
          // What a failure says of its outcome may be a policy's; what the call knows is not.
          refusal: () => Effect.map(call.state, ({ whyNot }) => whyNot),
          onRefused: call.notAgain,
          begin: begun,
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
 * Ends an attempt after a time. See `Tool.timeout`.
 *
 * @category policies
 * @since 0.1.0
 */
export const timeout = (duration: Duration.Input): Policy => timeLimit("timeout", duration)

/**
 * Ends a whole call after a time, with all its attempts and waits. See `Tool.deadline`.
 *
 * As a default it is longer for a tool that has a timeout of its own: see {@link withDefaults}.
 *
 * @category policies
 * @since 0.1.0
 */
export const deadline = (duration: Duration.Input): Policy => timeLimit("deadline", duration)

const timeLimit = (kind: TimeLimit, duration: Duration.Input): Policy => {
  const limit = positive(kind, duration)
  const millis = Duration.toMillis(limit)
  return ours({
    kind,
    description: `${kind} of ${Duration.format(limit)}`,
    bound: bounds.timeLimit(limit),
    wrap: (run, subject) => {
      // What is never ended has no fiber of the limit's.
      const inside = millis === Infinity ? run : withoutOwnFiber(run)
      return (params) => limited(inside(params), subject, millis, kind)
    }
  })
}

/**
 * Answers from elsewhere when the tool is unavailable. See `Tool.fallback`.
 *
 * @category policies
 * @since 0.1.0
 */
export const fallback = <R, E extends ToolFailure>(
  source: (params: never, failure: ToolUnavailable) => Effect.Effect<unknown, E, R>,
  options?: FallbackOptions
): Policy<R, E> => {
  const answer = erased("A fallback", source)
  const name = options?.name
  return ours({
    kind: "fallback",
    description: name === undefined ? "fallback" : `fallback to ${name}`,
    bound: bounds.fallback(source, name),
    wrap: (run, subject, call) => (params) =>
      Effect.catch(run(params), (failure): Effect.Effect<unknown, ToolFailure, R> =>
        failure._tag !== "ToolUnavailable"
          ? Effect.fail(failure)
          : Effect.andThen(
            call.instead(failure, name === undefined ? undefined : { name }),
            Effect.mapError(
              sourced(
                "a fallback",
                bounds.sources.has(source),
                () => callUser(`The fallback of '${subject.name}'`, () => answer(params, failure))
              ),
              (last) =>
                last._tag === "ToolUnavailable"
                  ? exhausted(failure, last, [
                    ...sourcesTried(failure, subject.name),
                    ...sourcesTried(last, name ?? "a fallback")
                  ])
                  : last
            )
          ))
  })
}

/**
 * What can be said of a fallback.
 *
 * @category models
 * @since 0.1.0
 */
export interface FallbackOptions {
  /** What the source is called: in the outcome, and in the list of what was tried. Default: it has no name. */
  readonly name?: string
}

/**
 * Handles the failures of one or more tags. See `Tool.catchTag`.
 *
 * @category policies
 * @since 0.1.0
 */
export const catchTag = <R, E extends ToolFailure>(
  tag: Tag | ReadonlyArray<Tag>,
  handler: (failure: never, params: never) => Effect.Effect<unknown, E, R>
): Policy<R, E> => {
  const tags = Array.isArray(tag) ? tag : [tag]
  const stranger = tags.find((tag) => !tagsOfFailures.includes(tag))
  if (stranger !== undefined) {
    throw new TypeError(`A failure's tag is one of ${list(tagsOfFailures)}; got ${excerpt(stranger)}.`)
  }
  const recover = erased("The handler of a catch", handler)
  // Catching `ToolUnavailable` counts as a fallback.
  const kind = tags.includes("ToolUnavailable") ? "fallback" : "catch"
  return ours({
    kind,
    description: `catch of ${tags.join(", ")}`,
    bound: bounds.afterwards(`the catch of ${tags.join(", ")}`),
    wrap: (run, { name }, call) => (params) =>
      Effect.catch(run(params), (failure) =>
        tags.includes(failure._tag)
          ? Effect.andThen(
            call.instead(failure),
            sourced("a catch", false, () => callUser(`The catch of '${name}'`, () => recover(failure, params)))
          )
          : Effect.fail(failure))
  })
}

/**
 * Turns a failure into another one. See `Tool.mapFailure`.
 *
 * @category policies
 * @since 0.1.0
 */
export const mapFailure = <E extends ToolFailure>(f: (failure: never) => E): Policy<never, E> => {
  const map = erased("A mapping of failures", f)
  return ours({
    kind: "map",
    description: "maps failures",
    bound: bounds.same,
    wrap: (run, { name }) => (params) =>
      Effect.catch(
        run(params),
        (failure) =>
          Effect.mapError(
            failing(`The mapping of failures of '${name}'`, map(failure)),
            (made) => withCauseOf(made, failure)
          )
      )
  })
}

/**
 * Finds out what became of a call whose outcome is unknown. See `Tool.reconcile`.
 *
 * @category policies
 * @since 0.1.0
 */
export const reconcile = <R>(
  check: (
    params: never,
    failure: ToolFailure
  ) => Effect.Effect<Option.Option<unknown>, ToolFailure, R>,
  options: ReconcileOptions = {}
): Policy<R> => {
  const reconciliation = new Reconciliation(erased("A check of an outcome", check), options)
  const { settle } = reconciliation
  return ours({
    kind: "reconcile",
    description: `reconciles unknown outcomes${settle === undefined ? "" : ` within ${Duration.format(settle)}`}`,
    bound: bounds.reconcile(settle, reconciliation.isFinal),
    wrap: (run, subject, call) => (params) =>
      Effect.catch(run(params), (failure) => reconciliation.of(subject.name, call, params, failure))
  })
}

/**
 * How pages are put together, and how far they are followed.
 *
 * @category models
 * @since 0.1.0
 */
export interface PaginateOptions<A> {
  /** What has been fetched so far and the next page, as one. */
  readonly merge: (soFar: A, page: A) => A
  /** How much of how much a result is that stays incomplete. Default: its pages, and of how many if the pages say so. */
  readonly coverage?: (soFar: A) => Coverage
  /** How many pages at most, the first among them. Default: 10. */
  readonly pages?: number
  /** How long the pages after the first may take together. Default: 30 seconds. */
  readonly time?: Duration.Input
  /** After how many bytes of JSON no further page is fetched. Default: 1,000,000. */
  readonly bytes?: number
}

/**
 * Fetches what is missing from a partial result. See `Tool.paginate`.
 *
 * @category policies
 * @since 0.1.0
 */
export const paginate = <A>(options: PaginateOptions<A>): Policy => {
  const { bytes = 1_000_000, coverage, merge, pages = 10, time = "30 seconds" } = options
  if (!(bytes > 0)) throw new TypeError(`A limit of bytes is a number above zero; got ${bytes}.`)
  const limits = {
    merge: immediate("merge of pages", merge),
    coverage: coverage === undefined ? undefined : immediate("coverage of pages", coverage),
    pages: whole("A limit of pages", pages, 2),
    time: positive("limit of time", time),
    bytes
  }
  return ours({
    kind: "paginate",
    description: `fetches up to ${pages} pages`,
    bound: bounds.paginate(pages, limits.time),
    wrap: (run, { name, parameters, sideEffect }) => {
      if (!isIdempotent(sideEffect)) {
        throw new TypeError(
          `The pages of ${name} cannot be followed, since each run of it acts. Declare its sideEffect, if it is read-only or idempotent.`
        )
      }
      return following({ parameters, run }, limits)
    }
  })
}

/**
 * How a call waits for its turn.
 *
 * @category models
 * @since 0.1.0
 */
export interface ConcurrencyOptions {
  /** How long a call waits while others are under way; zero refuses it at once. Default: as long as it takes. */
  readonly maxWait?: Duration.Input
}

/**
 * Runs at most so many calls at once. See `Tool.concurrency`.
 *
 * @category policies
 * @since 0.1.0
 */
export const concurrency = (
  permits: number,
  { maxWait = Duration.infinity }: ConcurrencyOptions = {}
): Policy => {
  whole("A limit of calls at once", permits)
  const patience = Duration.fromInputUnsafe(maxWait)
  if (Duration.isNegative(patience)) throw new TypeError("A limit's maxWait is zero or above.")
  const bulkheadOf = (name: string, call: Call) =>
    bulkhead(permits, patience, Effect.suspend(() => call.refuse(full(name, permits))), call.waiting)
  // One for each tool, since a default serves many; the policy's, and not the run's, since all runs share it.
  const bulkheads = new Map<string, ReturnType<typeof bulkheadOf>>()
  return ours({
    kind: "concurrency",
    description: `concurrency limit of ${permits}`,
    bound: bounds.turn("a permit", patience),
    wrap: (run, { name }, call) => {
      const through = bulkheads.get(name) ?? bulkheadOf(name, call)
      bulkheads.set(name, through)
      return (params) => through(run(params))
    }
  })
}

// -----------------------------------------------------------------------------
// Defaults
// -----------------------------------------------------------------------------

/**
 * The order of policies that are added as defaults, from the inside out.
 *
 * @category defaults
 * @since 0.1.0
 */
export const order: ReadonlyArray<Kind> = defaultKinds

/**
 * A tool's own policies, with the defaults whose kind it lacks. A default goes inside of the first one that stands
 * further out in the {@link order} (outermost, if its kind is not in there), so that a default timeout limits the attempts of a tool that has a retry;
 * but outside of what maps failures.
 *
 * A tool that has a {@link timeout} or a {@link reconcile} with a `settle` of its own has said how long it may take, and a shorter default
 * must not cut it off. So it has that time, and the default {@link deadline}'s on top: for what waits outside of its timeout, such as a
 * queue. The default is left out where nobody knows how long that is: of a timeout without an end, or one made by {@link make}.
 *
 * A default timeout and a default deadline stand side by side. A default deadline also goes outside of a {@link concurrency}, wherever that
 * stands, and outside of a deadline inside of it: a call may wait there for ever.
 *
 * @category defaults
 * @since 0.1.0
 */
export const withDefaults = (builtIn: ReadonlyArray<Any>, defaults: ReadonlyArray<Any>): ReadonlyArray<Any> => {
  // A deadline of the tool's own does not end what waits in a queue outside of it.
  const queue = builtIn.findLastIndex(({ kind }) => kind === "concurrency")
  const shorter = builtIn.filter(({ kind }, index) => kind === "deadline" && index < queue)
  return defaults.reduce((policies, given) => {
    if (policies.some((known) => isOfSameKind(known, given) && !shorter.includes(known))) return policies
    const policy = given.kind === "deadline" ? prolonged(given, builtIn, policies) : given
    if (policy === undefined) return policies
    const place = order.indexOf(policy.kind)
    // A function that maps failures knows of those that were there when it was written, and of no others.
    const inside = policies.findLastIndex(({ kind }) =>
      kind === "map" || kind === "concurrency" && policy.kind === "deadline"
    )
    const outer = policies.findIndex(({ kind }, index) => index > inside && order.indexOf(kind) > place)
    return place === -1 || outer === -1 ? [...policies, policy] : policies.toSpliced(outer, 0, policy)
  }, builtIn)
}

/** A deadline that leaves what is inside the time that it asks for; `undefined` where that has no end. */
const prolonged = (deadlined: Any, builtIn: ReadonlyArray<Any>, inside: ReadonlyArray<Any>): Any | undefined => {
  // A default timeout may be cut short.
  const times = inside.flatMap((policy) =>
    policy.kind !== "timeout" || builtIn.includes(policy) ? timeOf(policy) ?? [] : []
  )
  if (times.length === 0) return deadlined
  const limit = times.reduce(Duration.sum, timeOf(deadlined) ?? Duration.infinity)
  return Duration.isFinite(limit) ? deadline(limit) : undefined
}

// Of a limit that a user has made, nobody knows how long it is.
const timeOf = ({ bound, kind }: Any): Duration.Duration | undefined =>
  bounds.timeOf(bound) ?? (kind === "timeout" || kind === "deadline" ? Duration.infinity : undefined)

// Custom ones are of as many kinds as they have names.
const isOfSameKind = ({ kind, name }: Any, other: Any): boolean =>
  kind === other.kind && (kind !== "custom" || name === other.name)

/**
 * What can be changed of the standard policies.
 *
 * @category models
 * @since 0.1.0
 */
export interface StandardOptions {
  /** How long each attempt may take, finite and above zero. Default: 10 seconds, or the `totalTimeout` if that is shorter. */
  readonly attemptTimeout?: Duration.Input
  /** How long the whole call may take, with all its attempts and waits: no less than an attempt. Default: 30 seconds. */
  readonly totalTimeout?: Duration.Input
  /** How many attempts at most, the first among them: a whole number from 1. Default: 3. */
  readonly attempts?: number
  /** Retries an attempt that timed out. Default: `false`, so that a service that hangs is asked once. */
  readonly retryTimeouts?: boolean
}

/**
 * Policies that are right for most tools: each attempt is limited, transient failures are retried, and the whole call has a deadline.
 *
 * When to use: as an agent's `policies`, or as a toolkit's defaults (`Toolkit.withDefaults`). Nothing is added unless you ask for it.
 *
 * - `timeout`: each attempt has 10 seconds.
 * - `retry`: {@link RetryPolicy.make}, three attempts in all. A wait that `Retry-After` asks for is honoured, as far as the total allows.
 * - `deadline`: the whole call has 30 seconds. A wait that could not end before is not begun.
 *
 * Both times are those of .NET's standard resilience handler (`Microsoft.Extensions.Http.Resilience`, built on Polly). Unlike that one, it
 * does not retry an attempt that timed out unless you ask for it.
 *
 * A tool's own policies win, kind by kind. A tool with a timeout of its own has that time, and the total on top. To replace one of the
 * three, put yours first: `[Policy.retry(mine), ...Policy.standard()]`.
 *
 * What stands outside of the deadline has its own time: a breaker, a fallback. A {@link timeout} or a {@link deadline} of the tool's own
 * around them limits them, too. A fixer has a time of its own (`Tool.fix`).
 *
 * A tool with these policies may fail with `ToolUnavailable`. An option out of its range throws, and so does an attempt that is longer
 * than the total.
 *
 * @example
 * ```ts
 * import { Explanation, Policy, Tool, Toolkit } from "@fallible/core"
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
export const standard = (
  { attemptTimeout, attempts = 3, retryTimeouts = false, totalTimeout = "30 seconds" }: StandardOptions = {}
): ReadonlyArray<Policy> => {
  const all = finite("totalTimeout", totalTimeout)
  const each = attemptTimeout === undefined
    ? Duration.min(Duration.seconds(10), all)
    : finite("attemptTimeout", attemptTimeout)
  if (Duration.isGreaterThan(each, all)) {
    const [one, whole] = [Duration.format(each), Duration.format(all)]
    throw new TypeError(`An 'attemptTimeout' must not be longer than the 'totalTimeout'; got ${one} and ${whole}.`)
  }
  const again = retry(RetryPolicy.make({ attempts, honourRetryAfter: all, retryTimeouts }))
  bounds.forAllTools(again.bound)
  return [timeout(each), again, deadline(all)]
}

// -----------------------------------------------------------------------------
// Inside
// -----------------------------------------------------------------------------

const full = (name: string, permits: number): ToolUnavailable =>
  refusal({
    code: "bulkhead_full",
    detail: `${name} already has ${permits} ${permits === 1 ? "call" : "calls"} under way.`
  })

const tagsOfFailures: ReadonlyArray<Tag> = Handled.fields.tag.literals

interface Ours<R> extends Omit<Options<R>, "wrap"> {
  readonly wrap: <R0>(
    run: Run<unknown, ToolFailure, R0>,
    subject: Subject,
    call: Call
  ) => Run<unknown, ToolFailure, R0 | R>
}

// The combinators in `Tool` say what each of these does to a tool's types; here they treat every tool alike.
function asTyped<R, E extends ToolFailure>(wrap: Ours<R>["wrap"]) {
  return wrap as Options<R, E>["wrap"]
}

function ours<R = never, E extends ToolFailure = ToolUnavailable>({ wrap, ...options }: Ours<R>): Policy<R, E> {
  return builtIn(make<R, E>({ ...options, wrap: asTyped<R, E>(wrap) }))
}

// A policy's own function is typed where it is added to a tool (`Tool.fallback` and the rest), which
// is what guarantees that these are the parameters and failures it gets.
const erased = <Args extends ReadonlyArray<never>, B>(what: string, f: (...args: Args) => B) => {
  if (typeof f !== "function") throw new TypeError(`${what} is a function; got ${kind(f)}.`)
  return f as unknown as (...args: ReadonlyArray<unknown>) => B
}

// One that answers by itself, and not by an Effect.
const immediate = <Args extends ReadonlyArray<never>, B>(what: string, f: (...args: Args) => B) => {
  const call = erased(`A ${what}`, f)
  return (...args: ReadonlyArray<unknown>) => outright(`The ${what}`, call(...args))
}
