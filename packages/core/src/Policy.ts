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
 * Put `timeout` inside `retry` for a limit per attempt, outside of it for one over all attempts.
 * Put `fallback` outermost: what stands outside of it never sees the failures that it handles.
 *
 * The typed combinators are in `Tool`. This module is for what looks at policies as values, and
 * for writing new ones.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schedule from "effect/Schedule"
import { withCauseOf } from "./internal/failure.ts"
import { Relay } from "./internal/relay.ts"
import { retrying } from "./internal/retrying.ts"
import { withinTime } from "./internal/withinTime.ts"
import * as ToolCall from "./ToolCall.ts"
import { isTransient, type Tag, type ToolFailure, ToolUnavailable } from "./ToolFailure.ts"

/**
 * What running a tool may change. `"none"`: it only reads. `"idempotent"`: running it twice with the
 * same arguments is the same as once. `"non_idempotent"`: each run acts, and must not be repeated
 * unless it certainly did not happen.
 *
 * @category models
 * @since 0.1.0
 */
export type SideEffect = "none" | "idempotent" | "non_idempotent"

/**
 * What a policy may know of the tool that it wraps.
 *
 * @category models
 * @since 0.1.0
 */
export interface Subject {
  readonly name: string
  readonly sideEffect: SideEffect
}

/**
 * A tool's run with its types erased: a policy treats every tool alike.
 *
 * @category models
 * @since 0.1.0
 */
export type Run = (params: unknown) => Effect.Effect<unknown, ToolFailure, unknown>

/**
 * One policy: what kind it is, what it does in words, and how it wraps a tool's run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Policy {
  /** `"retry"`, `"timeout"`, …: what the ledger says, and what a default is compared by. */
  readonly kind: string
  /** For people: `"timeout of 5s"`. */
  readonly description: string
  readonly wrap: (run: Run, subject: Subject) => Run
}

/**
 * Tries again on a Schedule while the failure is a transient `ToolUnavailable` and a repetition is safe:
 * the tool is read-only or idempotent, or the failure says that the call was not executed.
 *
 * @category policies
 * @since 0.1.0
 */
export const retry = (schedule: Schedule.Schedule<unknown, ToolUnavailable, never, unknown>): Policy => ({
  kind: "retry",
  description: "retry of transient failures",
  wrap: (run, subject) => {
    const retryable = (failure: ToolFailure): failure is ToolUnavailable =>
      isTransient(failure) && (subject.sideEffect !== "non_idempotent" || failure.outcome === "not_executed")
    const onRetry = (failure: ToolUnavailable, waitMillis: number) =>
      Effect.map(ToolCall.current, (call) => {
        call.handled(failure, "retry")
        call.waited(waitMillis)
      })
    return (params) => retrying(run(params), { schedule, retryable, onRetry })
  }
})

/**
 * Ends an attempt after a time. See `Tool.timeout`.
 *
 * @category policies
 * @since 0.1.0
 */
export const timeout = (duration: Duration.Input): Policy => {
  const limit = Duration.format(Duration.fromInputUnsafe(duration))
  return {
    kind: "timeout",
    description: `timeout of ${limit}`,
    wrap: (run, subject) => {
      const timedOut = Effect.suspend(() => Effect.fail(timeoutFailure(subject, limit)))
      return (params) =>
        Effect.flatMap(ToolCall.current, (call) => {
          const relay = new Relay(call)
          return Effect.flatMap(
            withinTime(Effect.provideService(run(params), ToolCall.current, relay), duration),
            Option.match({
              onSome: (value) => Effect.succeed(value),
              onNone: () => {
                relay.close()
                return timedOut
              }
            })
          )
        })
    }
  }
}

/**
 * Answers from elsewhere when the tool is unavailable.
 *
 * @category policies
 * @since 0.1.0
 */
export const fallback = (
  source: (params: never, failure: ToolUnavailable) => Effect.Effect<unknown, ToolFailure, unknown>
): Policy => handle("fallback", "ToolUnavailable", source)

/**
 * Handles the failures of one or more tags.
 *
 * @category policies
 * @since 0.1.0
 */
export const catchTag = (
  tag: Tag | ReadonlyArray<Tag>,
  handler: (failure: never, params: never) => Effect.Effect<unknown, ToolFailure, unknown>
): Policy => handle("catch", tag, (params, failure) => handler(failure, params))

/**
 * Turns a failure into another one.
 *
 * @category policies
 * @since 0.1.0
 */
export const mapFailure = (f: (failure: never) => ToolFailure): Policy => ({
  kind: "map",
  description: "maps failures",
  wrap: (run) => {
    const map = erased(f)
    return (params) => Effect.mapError(run(params), (failure) => withCauseOf(map(failure), failure))
  }
})

const handle = (
  kind: string,
  tags: Tag | ReadonlyArray<Tag>,
  handler: (params: never, failure: never) => Effect.Effect<unknown, ToolFailure, unknown>
): Policy => {
  const handled = Array.isArray(tags) ? tags : [tags]
  const recover = erased(handler)
  return {
    kind,
    description: `${kind} of ${handled.join(", ")}`,
    wrap: (run) => (params) =>
      Effect.catch(run(params), (failure) =>
        handled.includes(failure._tag)
          ? Effect.flatMap(ToolCall.current, (call) => {
            call.handled(failure, kind)
            return recover(params, failure)
          })
          : Effect.fail(failure))
  }
}

// A read-only tool is simply tried again. Of one that acts nobody knows whether it did.
const timeoutFailure = (subject: Subject, limit: string): ToolUnavailable => {
  const detail = `${subject.name} did not answer within ${limit}.`
  switch (subject.sideEffect) {
    case "none":
      return new ToolUnavailable({ code: "timeout", detail, transient: true })
    case "idempotent":
      return new ToolUnavailable({ code: "timeout", detail, transient: true, outcome: "unknown" })
    case "non_idempotent":
      return new ToolUnavailable({
        code: "outcome_unknown",
        detail: `${detail} It may have taken effect all the same.`,
        hint: "Find out whether it took effect before anything else.",
        transient: false,
        outcome: "unknown"
      })
  }
}

// A policy's own function is typed where it is added to a tool (`Tool.fallback` and the rest), which
// is what guarantees that these are the parameters and failures it gets.
const erased = <Args extends ReadonlyArray<never>, B>(f: (...args: Args) => B) =>
  f as unknown as (...args: ReadonlyArray<unknown>) => B
