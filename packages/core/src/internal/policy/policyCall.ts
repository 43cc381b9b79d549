import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { CallEvent, Source } from "../../CallEvent.ts"
import type { Certainty } from "../../Certainty.ts"
import type { ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import { current, type Frame } from "../call/frame.ts"
import { named, type PolicyName } from "../call/policyKind.ts"
import { PolicyFrame } from "./policyFrame.ts"

/**
 * What a policy may say of the call that runs, and ask of it. A policy that says nothing is right, too: attempts, handled failures and
 * waits are counted without it. What it says is known at once, and by its name.
 *
 * @category models
 * @since 0.1.0
 */
export interface Call {
  /** The failure is handled: what is inside runs again. */
  readonly again: (failure: ToolFailure, retry?: Again) => Effect.Effect<void>
  /** The failure is worth a retry, and has none. */
  readonly notAgain: (failure: ToolFailure, why: WhyNot) => Effect.Effect<void>
  /** The failure is handled: something else answers, named by `source`. A tool that the policy runs from now on is an attempt. */
  readonly instead: (failure: ToolFailure, source?: Source) => Effect.Effect<void>
  /** Refuses the call, or another attempt, before anything of it runs. */
  readonly refuse: (failure: ToolUnavailable) => Effect.Effect<never, ToolUnavailable>
  /** Runs an Effect that waits. How long it really took is counted. */
  readonly waiting: <A, E, R>(wait: Effect.Effect<A, E, R>, length?: Duration.Duration) => Effect.Effect<A, E, R>
  /** A circuit has changed. */
  readonly changed: (change: Omit<CallEvent & { readonly _tag: "CircuitChanged" }, "_tag">) => Effect.Effect<void>
  /** How the call stands. */
  readonly state: Effect.Effect<State>
}

/**
 * Why a failure has no retry: see `CallEvent`.
 *
 * @category models
 * @since 0.1.0
 */
export type WhyNot = (CallEvent & { readonly _tag: "RetryRefused" })["why"]

/**
 * What is known of a retry.
 *
 * @category models
 * @since 0.1.0
 */
export interface Again {
  /** Its number, from 1. */
  readonly number?: number
  /** How many there may be. */
  readonly limit?: number
  /** How long the policy waits before it. */
  readonly wait?: Duration.Duration
}

/**
 * How a call stands.
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
  /** How often the handler began. */
  readonly attempt: number
  /** Has the call taken effect, as far as anybody knows? */
  readonly certainty: Certainty
  /** Why a tool that acts would not run again now, if so: a run of what is inside would fail. */
  readonly whyNot: WhyNot | undefined
  /** Where the answer came from, as far as anybody said so. */
  readonly source: Source | undefined
  /** Is anybody told of events as they happen? */
  readonly isWatched: boolean
}

/** What a policy is given to speak in its name. It is the same for every call, and looks the call up when it is used. */
export const callOf = (policy: PolicyName): Call => {
  const by = named(policy)
  return {
    again: (failure, retry) =>
      Effect.map(current, (frame) => {
        const attempt = settle(frame, failure)
        // The next attempt counts what runs inside of it from the start, also when its handler never begins.
        frame.live.restart()
        frame.replaced(failure, retry === undefined ? by : { ...by, retry: writable(retry) }, attempt)
      }),
    notAgain: (failure, why) =>
      Effect.map(current, (frame) => {
        frame.note({ _tag: "RetryRefused", ...by, code: failure.code, why }, failure)
      }),
    instead: (failure, source) =>
      Effect.map(current, (frame) => {
        const attempt = settle(frame, failure)
        if (frame instanceof PolicyFrame) frame.askOthers()
        frame.replaced(failure, by, attempt)
        if (source !== undefined) frame.note({ _tag: "SourceNamed", ...source })
      }),
    refuse: (failure) =>
      Effect.flatMap(current, (frame) => {
        frame.note({ _tag: "CallRefused", ...by, code: failure.code })
        return Effect.fail(failure)
      }),
    waiting: (wait, length) =>
      Effect.withFiber((fiber) => {
        const frame = fiber.getRef(current)
        const clock = fiber.getRef(Clock.Clock)
        const start = clock.currentTimeMillisUnsafe()
        frame.note({ _tag: "WaitStarted", ...by, ...writable({ wait: length }) })
        frame.occupy()
        return Effect.onExit(wait, (exit) =>
          Effect.sync(() => {
            frame.release()
            const elapsed = Duration.millis(clock.currentTimeMillisUnsafe() - start)
            // A clock that counts whole milliseconds may be one off.
            const isAsSaid = length !== undefined && Exit.isSuccess(exit) &&
              Math.abs(Duration.toMillis(length) - Duration.toMillis(elapsed)) <= 1
            const waited = isAsSaid ? length : elapsed
            frame.note({ _tag: "WaitEnded", ...by, wait: waited })
          }))
      }),
    changed: (change) =>
      Effect.map(current, (frame) => {
        frame.note({ _tag: "CircuitChanged", ...change })
      }),
    state: Effect.withFiber((fiber) => Effect.succeed(stateOf(fiber.getRef(current))))
  }
}

// JSON has no number without end. What has none is not known.
const writable = ({ limit, number, wait }: { readonly [Key in keyof Again]: Again[Key] | undefined }): Again => ({
  ...(isWhole(number) ? { number } : {}),
  ...(isWhole(limit) ? { limit } : {}),
  ...(wait !== undefined && Duration.isFinite(wait) ? { wait } : {})
})

const isWhole = (count: number | undefined): count is number => Number.isSafeInteger(count)

const stateOf = (frame: Frame): State => {
  const { certainty, isWatched, state: { executions, source } } = frame
  const why = frame.whyNot()
  return {
    attempt: executions,
    certainty,
    whyNot: why === "abandoned" ? "deadline" : why,
    source,
    isWatched
  }
}

const settle = (frame: Frame, failure: ToolFailure): number | undefined =>
  frame instanceof PolicyFrame ? frame.settle(failure) : undefined
