/**
 * The support desk: its agent, and a run of it that keeps what it says and does in its conversation.
 */
import { Agent, type AgentFailure } from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import type { Turn } from "./Conversations.ts"
import type * as Problem from "./Problem.ts"
import { longest, Runs } from "./Runs.ts"
import { toolkit } from "./tools.ts"

export const agent = Agent.make({
  instructions:
    "You work at the support desk of a small shop. Use the tools. Refund only what the user asks you to refund.",
  toolkit,
  limits: { turns: 15, calls: 20, elapsed: longest },
  // A tool that an operator has disabled, or whose service is down, is not offered.
  offer: "available"
})

export type Events<R> = Stream.Stream<AgentEvent.AgentEvent, AgentFailure.Failed, R>

/** A run that has its place and its conversation until its scope closes. */
export interface Begun<T extends Turn> {
  readonly turn: T
  readonly events: Events<never>
}

/** Begins a run of a conversation: takes a place for it, opens the conversation, and waits for the first event. */
export const begin = <T extends Turn, R, R2>(
  open: Effect.Effect<T, Problem.Problem, R>,
  run: (turn: T) => Events<R2>,
  problemOf: (failure: AgentFailure.Failed, turn: T) => Problem.Problem
): Effect.Effect<Begun<T>, Problem.Problem, R | R2 | Runs | Scope.Scope> =>
  Effect.gen(function*() {
    yield* Effect.flatMap(Runs, ({ admit }) => admit)
    const turn = yield* open
    const events = Stream.provideContext(logged(run(turn)), yield* Effect.context<R2>())
    return { turn, events: yield* Effect.mapError(started(events), (failure) => problemOf(failure, turn)) }
  })

/**
 * Waits for the first event of a run, which comes before it does anything. A run that fails before is a problem with a status
 * of its own, also for a client that wants a stream.
 */
const started = (events: Events<never>): Effect.Effect<Events<never>, AgentFailure.Failed, Scope.Scope> =>
  Effect.map(
    Stream.peel(events, Sink.head()),
    ([first, rest]) => Stream.concat(Stream.fromIterable(Option.toArray(first)), rest)
  )

/** Logs why a run failed. */
const logged = <R>(run: Events<R>): Events<R> =>
  Stream.suspend(() => {
    let id = ""
    return run.pipe(
      Stream.tap((event) => Effect.sync(() => id = event.run)),
      Stream.tapError((failure) =>
        failure._tag === "RunRefused"
          // Nothing has run. Replies that were refused leave their questions open.
          ? Effect.logInfo(`The run was refused: ${failure.detail}`)
          : Effect.annotateLogs(Effect.logWarning(`The run failed (${failure._tag}): ${failure.detail}`), { run: id })
      )
    )
  })
