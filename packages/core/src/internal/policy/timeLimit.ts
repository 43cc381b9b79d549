import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Deadline from "../../Deadline.ts"
import { type ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import { fullyKnown } from "../call/known.ts"
import { note } from "../call/note.ts"
import { current, type Scope } from "../call/scope.ts"
import { currentContext } from "../fiber/runContained.ts"
import { abandonable } from "./abandonOnTimeout.ts"

/** The kinds of policies that limit time. */
export type TimeLimit = "timeout" | "deadline"

/** The tool whose runs are limited. */
interface Subject {
  readonly name: string
}

type Run<A, R> = (params: unknown) => Effect.Effect<A, ToolFailure, R>

/**
 * Limits a tool's run by the deadline that is already set. `Dispatch` uses this for every call while
 * a deadline is set.
 */
export const limitedByDeadline = <A, R>(run: Run<A, R>, subject: Subject): Run<A, R> => (params) =>
  limitTime(run(params), subject, Infinity, "deadline")

// Limits a run to `limit` milliseconds, or to the deadline if that comes first. The inner run sees the earlier
// of the two as its deadline, and its events count until then. If no time is left, the run does not start.
export const limitTime = <A, R>(
  run: Effect.Effect<A, ToolFailure, R>,
  subject: Subject,
  limit: number,
  by: TimeLimit
): Effect.Effect<A, ToolFailure, R> =>
  Effect.withFiber((fiber) => {
    const now = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
    const deadline = fiber.getRef(Deadline.current)
    const timeLeft = Math.max(0, deadline - now)
    const time = Math.min(limit, timeLeft)
    if (time === Infinity) return run
    const scope = fiber.getRef(current)
    const { name } = subject
    if (time === 0) return Effect.fail(timedOut(scope, `${name} was not run: its deadline had passed.`))
    const context = currentContext<R>()
    return abandonable(run, scope, time, {
      context: limit < timeLeft ? Context.add(context, Deadline.current, now + limit) : context,
      late: (wire) => {
        note(scope, { _tag: "AttemptAbandoned", by, ...(wire.length === 0 ? {} : { wire }) })
        const late = timeLeft < limit ? "before its deadline" : `within ${Duration.format(Duration.millis(limit))}`
        return Effect.fail(timedOut(scope, `${name} did not answer ${late}.`))
      }
    })
  })

// A call that was still waiting for its turn has done nothing. What a read-only tool ran inside it says nothing about the tool.
const timedOut = (scope: Scope, detail: string): ToolFailure => {
  const { certainty: outcome, tool: { sideEffect } } = scope
  const fields = { code: "timeout", detail, transient: true } as const
  return sideEffect === "none"
    ? new ToolUnavailable(fields)
    : fullyKnown(new ToolUnavailable({ ...fields, outcome }), scope)
}
