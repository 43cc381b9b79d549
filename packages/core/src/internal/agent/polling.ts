import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Tool from "../../Tool.ts"
import { type Completed, executions, type ToolOutcome } from "../../ToolOutcome.ts"
import { isSameData } from "../value/volatileData.ts"
import type { RunTime } from "./elapsedTime.ts"
import { joinOutcomes } from "./joinOutcomes.ts"

/**
 * Polls a tool that declares it: waits, runs the call, and again, until the result differs from the one that the
 * model has. Ends with the latest result when the time of polling, or of the run, is up.
 *
 * @param before the result that the model has; if it has none, the call just runs
 */
export const pollUntilChanged = <R>(
  { poll, volatile }: Pick<Tool.Any, "poll" | "volatile">,
  time: RunTime,
  before: Completed | undefined,
  call: Effect.Effect<ToolOutcome, never, R>
): Effect.Effect<ToolOutcome, never, R> => {
  if (poll === undefined || before === undefined) return call
  const every = Duration.toMillis(poll.every)
  const isUnchanged = (outcome: ToolOutcome) =>
    outcome._tag === "Completed" && isSameData(before.value, outcome.value, volatile)
  return Effect.flatMap(Clock.currentTimeMillis, (start) => {
    const until = Math.min(start + Duration.toMillis(poll.atMost), time.deadline)
    const look = (soFar: ToolOutcome | undefined): Effect.Effect<ToolOutcome, never, R> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        if (now + every > until) return soFar === undefined ? call : Effect.succeed(unchanged(soFar, now - start))
        return Effect.flatMap(Effect.delay(call, poll.every), (outcome) => {
          const all = joinOutcomes(soFar, { ...outcome, waited: Duration.sum(outcome.waited, poll.every) })
          return isUnchanged(outcome) ? look(all) : Effect.succeed(ended(all, outcome))
        })
      })
    return look(undefined)
  })
}

// The polls that succeeded are no failed executions, which are limited.
const ended = (all: ToolOutcome, last: ToolOutcome): ToolOutcome =>
  last._tag === "Failed" ? { ...all, executions: executions(last) } : all

const unchanged = (outcome: ToolOutcome, waited: number): ToolOutcome =>
  outcome._tag === "Completed"
    ? {
      ...outcome,
      caveats: [...outcome.caveats, `The result has not changed in ${Duration.format(Duration.millis(waited))}`]
    }
    : outcome
