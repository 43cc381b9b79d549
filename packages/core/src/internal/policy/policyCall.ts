import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { CallEvent, Source } from "../../CallEvent.ts"
import type { Certainty } from "../../Certainty.ts"
import type { ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import { whyNot } from "../call/mayBegin.ts"
import { note, noteReplaced } from "../call/note.ts"
import { askOthers } from "../call/partScope.ts"
import { policyFields, type PolicyName } from "../call/policyKind.ts"
import { current, identityOf, type Scope } from "../call/scope.ts"

/**
 * The current call, as a policy sees it. A policy uses it to read the state of the call, and to
 * report what it does.
 *
 * The call counts attempts, handled failures and waits even if a policy reports nothing. Each report
 * is noted immediately, under the name of the policy.
 *
 * @category models
 * @since 0.1.0
 */
export interface Call {
  /** Reports that the policy handles the failure by running the inner run again. */
  readonly again: (failure: ToolFailure, retry?: Again) => Effect.Effect<void>
  /** Reports that the failure is retryable, but will not be retried. */
  readonly notAgain: (failure: ToolFailure, why: WhyNot) => Effect.Effect<void>
  /**
   * Reports that the policy handles the failure with an answer from elsewhere; `source` names its
   * origin. From now on, each tool that the policy runs counts as an attempt of the call.
   */
  readonly instead: (failure: ToolFailure, source?: Source) => Effect.Effect<void>
  /** Refuses the call, or a further attempt, before any part of it runs. Fails with the given failure. */
  readonly refuse: (failure: ToolUnavailable) => Effect.Effect<never, ToolUnavailable>
  /** Runs an Effect that waits, and counts the time it actually took. `length` is the planned time, if known. */
  readonly waiting: <A, E, R>(wait: Effect.Effect<A, E, R>, length?: Duration.Duration) => Effect.Effect<A, E, R>
  /** Reports that the circuit of a breaker has changed its state. */
  readonly changed: (change: Omit<CallEvent & { readonly _tag: "CircuitChanged" }, "_tag">) => Effect.Effect<void>
  /** The current state of the call. */
  readonly state: Effect.Effect<State>
}

/**
 * The reason why a failure is not retried. `CallEvent` explains the values (`RetryRefused`).
 *
 * @category models
 * @since 0.1.0
 */
export type WhyNot = (CallEvent & { readonly _tag: "RetryRefused" })["why"]

/**
 * The details of a retry. Unknown details are absent.
 *
 * @category models
 * @since 0.1.0
 */
export interface Again {
  /** The 1-based number of the retry. */
  readonly number?: number
  /** The maximum number of retries. */
  readonly limit?: number
  /** How long the policy waits before the retry. */
  readonly wait?: Duration.Duration
}

/**
 * The current state of a call.
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
  /** The name of the tool. */
  readonly tool: string
  /** The name of the call in logs and events. */
  readonly id: string
  /** The id of the agent's run. Absent if no agent runs the call. */
  readonly run?: string
  /** The 1-based number of the turn. Absent if no agent runs the call. */
  readonly turn?: number
  /** How many times the handler has started. */
  readonly attempt: number
  /** Whether the call has taken effect. */
  readonly certainty: Certainty
  /**
   * The reason why the tool must not run again now; `undefined` if it may. If there is a reason and
   * the tool acts (has side effects), another inner run would fail.
   */
  readonly whyNot: WhyNot | undefined
  /** Where the answer came from, if this was reported. */
  readonly source: Source | undefined
  /** Whether an observer receives events as they happen. */
  readonly isWatched: boolean
}

/**
 * Returns the `Call` of a policy. A policy has one `Call` object for all calls: the object looks up
 * the current call each time it is used.
 */
export const callOf = (policy: PolicyName): Call => {
  const by = policyFields(policy)
  return {
    again: (failure, retry) =>
      Effect.map(current, (scope) => {
        const attempt = scope.policy?.settle(failure)
        // The next attempt counts its inner tools from the beginning again. The counts are reset
        // here, since the handler of that attempt may never start.
        scope.restart()
        noteReplaced(scope, failure, retry === undefined ? by : { ...by, retry: writable(retry) }, attempt)
      }),
    notAgain: (failure, why) =>
      Effect.map(current, (scope) => note(scope, { _tag: "RetryRefused", ...by, code: failure.code, why }, failure)),
    instead: (failure, source) =>
      Effect.map(current, (scope) => {
        const attempt = scope.policy?.settle(failure)
        if (scope.policy !== undefined) askOthers(scope)
        noteReplaced(scope, failure, by, attempt)
        if (source !== undefined) note(scope, { _tag: "SourceNamed", ...source })
      }),
    refuse: (failure) =>
      Effect.flatMap(current, (scope) => {
        note(scope, { _tag: "CallRefused", ...by, code: failure.code })
        return Effect.fail(failure)
      }),
    waiting: (wait, length) =>
      Effect.withFiber((fiber) => {
        const scope = fiber.getRef(current)
        const clock = fiber.getRef(Clock.Clock)
        const start = clock.currentTimeMillisUnsafe()
        note(scope, { _tag: "WaitStarted", ...by, ...writable({ wait: length }) })
        scope.policy?.occupy()
        return Effect.onExit(wait, (exit) =>
          Effect.sync(() => {
            scope.policy?.release()
            const elapsed = Duration.millis(clock.currentTimeMillisUnsafe() - start)
            // A clock with whole milliseconds may be off by one.
            const isAsPlanned = length !== undefined && Exit.isSuccess(exit) &&
              Math.abs(Duration.toMillis(length) - Duration.toMillis(elapsed)) <= 1
            const waited = isAsPlanned ? length : elapsed
            note(scope, { _tag: "WaitEnded", ...by, wait: waited })
          }))
      }),
    changed: (change) => Effect.map(current, (scope) => note(scope, { _tag: "CircuitChanged", ...change })),
    state: Effect.withFiber((fiber) => Effect.succeed(stateOf(fiber.getRef(current))))
  }
}

// JSON has no infinite numbers, so infinite values are left out.
const writable = ({ limit, number, wait }: { readonly [Key in keyof Again]: Again[Key] | undefined }): Again => ({
  ...(isWhole(number) ? { number } : {}),
  ...(isWhole(limit) ? { limit } : {}),
  ...(wait !== undefined && Duration.isFinite(wait) ? { wait } : {})
})

const isWhole = (count: number | undefined): count is number => Number.isSafeInteger(count)

const stateOf = (scope: Scope): State => {
  const { certainty, isWatched, state: { executions, source } } = scope
  const why = whyNot(scope)
  return {
    ...identityOf(scope),
    attempt: executions,
    certainty,
    whyNot: why === "abandoned" ? "deadline" : why,
    source,
    isWatched
  }
}
