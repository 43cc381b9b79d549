import type { AgentFailure } from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import type * as Answer from "@fallible/core/Answer"
import { Effect, Option, Stream } from "effect"

/** Runs a stream of events to its end, as `agent.run` would: it succeeds with the answer, and fails if the run waits. */
export const asRun = <R>(
  events: Stream.Stream<AgentEvent.AgentEvent, AgentFailure.Failed, R>
): Effect.Effect<Answer.Answer, AgentFailure.AgentFailure, R> =>
  Effect.flatMap(
    Stream.runLast(events),
    (last): Effect.Effect<Answer.Answer, AgentFailure.RunSuspended | AgentFailure.RunPostponed> => {
      const event = Option.getOrUndefined(last)
      if (event?._tag === "RunEnded") return Effect.succeed(event.answer)
      return event?._tag === "RunSuspended" || event?._tag === "RunPostponed"
        ? Effect.fail(event.waiting)
        : Effect.die(new Error("A stream of a run must end with what became of it."))
    }
  )
