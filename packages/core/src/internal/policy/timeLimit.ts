import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Deadline from "../../Deadline.ts"
import { type ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import { current, type Frame } from "../call/frame.ts"
import { currentContext } from "../effect/contained.ts"
import { abandonable } from "./abandonable.ts"

/** The kinds of policies that end what takes too long. */
export type TimeLimit = "timeout" | "deadline"

/** The tool that is limited, and its run. */
interface Subject {
  readonly name: string
}

type Run<A, R> = (params: unknown) => Effect.Effect<A, ToolFailure, R>

/**
 * Ends a run when the deadline has come that somebody else has set: `Dispatch` puts it around every call of a run that has one.
 */
export const limitedByDeadline = <A, R>(run: Run<A, R>, subject: Subject): Run<A, R> => (params) =>
  limited(run(params), subject, Infinity, "deadline")

// For so long, or until the deadline, if that comes first; what runs inside knows of it, and what it notes is heard until then. Nobody
// begins what acts only to leave it behind.
export const limited = <A, R>(
  run: Effect.Effect<A, ToolFailure, R>,
  subject: Subject,
  limit: number,
  by: TimeLimit
): Effect.Effect<A, ToolFailure, R> =>
  Effect.withFiber((fiber) => {
    const now = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
    const deadline = fiber.getRef(Deadline.current)
    const left = Math.max(0, deadline - now)
    const time = Math.min(limit, left)
    if (time === Infinity) return run
    const frame = fiber.getRef(current)
    const { name } = subject
    if (time === 0) return Effect.fail(timedOut(frame, `${name} was not run: its time was up.`))
    const context = currentContext<R>()
    return abandonable(run, frame, time, {
      context: limit < left ? Context.add(context, Deadline.current, now + limit) : context,
      late: () => {
        frame.note({ _tag: "AttemptAbandoned", by })
        const late = left < limit ? "before its time was up" : `within ${Duration.format(Duration.millis(limit))}`
        return Effect.fail(timedOut(frame, `${name} did not answer ${late}.`))
      }
    })
  })

// Whether it has taken effect the call knows: what only waited for its turn has not.
const timedOut = ({ certainty, tool: { sideEffect } }: Frame, detail: string): ToolUnavailable => {
  if (sideEffect === "none") return new ToolUnavailable({ code: "timeout", detail, transient: true })
  return sideEffect === "non_idempotent" && certainty === "unknown"
    ? new ToolUnavailable({
      code: "outcome_unknown",
      detail,
      transient: false,
      outcome: certainty
    })
    : new ToolUnavailable({ code: "timeout", detail, transient: true, outcome: certainty })
}
