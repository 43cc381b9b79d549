/**
 * Runs an agent to its end. Whenever a tool asks the user, the run waits for a reply, and goes on with it.
 *
 * Replies come from `--reply` first, in the order of the flags. Then they come from the terminal, if standard input is
 * one. If there is no reply, the run ends with its question.
 */
import type { AgentFailure } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import type * as Answer from "@fallible/core/Answer"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import * as Terminal from "effect/Terminal"

/** The part of an agent that this module needs. */
export interface Agent<R> {
  readonly stream: (question: string) => Events<R>
  readonly resumeStream: (suspension: AgentFailure.Suspension, reply: string) => Events<R>
}

type Events<R> = Stream.Stream<AgentEvent.AgentEvent, AgentFailure.Failed, R>

/** What is shown of a conversation, and when. */
export interface View<R> {
  readonly onEvent: (event: AgentEvent.AgentEvent) => Effect.Effect<void, never, R>
  readonly onQuestion: (question: string) => Effect.Effect<void, never, R>
  readonly onReply: (reply: string) => Effect.Effect<void, never, R>
}

/** Runs an agent, shows what happens, and returns the answer. */
export const run = <R, R2>(
  agent: Agent<R>,
  question: string,
  view: View<R2>,
  replies: ReadonlyArray<string>
): Effect.Effect<Answer.Answer, AgentFailure.AgentFailure, R | R2 | Stdio.Stdio | Terminal.Terminal> => {
  const goOn = (
    events: Events<R>,
    [reply, ...later]: ReadonlyArray<string>
  ): Effect.Effect<Answer.Answer, AgentFailure.AgentFailure, R | R2 | Stdio.Stdio | Terminal.Terminal> =>
    Effect.gen(function*() {
      const end = yield* follow(events, view.onEvent)
      if (end._tag === "RunEnded") return end.answer
      if (end._tag === "RunPostponed") return yield* end.waiting
      const { question, suspension } = end.waiting
      yield* view.onQuestion(question)
      const said = reply === undefined ? yield* fromTerminal : Option.some(reply)
      if (Option.isNone(said)) return yield* end.waiting
      if (reply !== undefined) yield* view.onReply(reply)
      return yield* goOn(agent.resumeStream(suspension, said.value), later)
    })
  return goOn(agent.stream(question), replies)
}

/** Shows each event when it happens, and returns the last one. */
const follow = <R, R2>(events: Events<R>, show: View<R2>["onEvent"]) =>
  Stream.runFoldEffect(
    events,
    (): AgentEvent.Last | undefined => undefined,
    (end, event) => Effect.as(show(event), AgentEvent.isLast(event) ? event : end)
  ).pipe(Effect.flatMap((end) => end === undefined ? Effect.die("a run ends with an event") : Effect.succeed(end)))

/**
 * Reads a line that the user types. Returns nothing if standard input is not a terminal, or if it ends (Ctrl-D).
 *
 * The terminal stays in its usual mode. So Ctrl-C interrupts the program as it does everywhere else, and there is no
 * mode to restore. The prompt goes to standard error, because standard output may be read by a program.
 */
const fromTerminal = Effect.gen(function*() {
  const stdio = yield* Stdio.Stdio
  if (!(yield* stdio.stdinIsTerminal)) return Option.none<string>()
  yield* Effect.ignore(Stream.run(Stream.make("> "), stdio.stderr()))
  const { readLine } = yield* Terminal.Terminal
  const endLine = Console.error("")
  return yield* Effect.matchEffect(Effect.onInterrupt(readLine, () => endLine), {
    onFailure: () => Effect.as(endLine, Option.none<string>()),
    onSuccess: (line) => Effect.succeed(Option.some(line.trim()))
  })
})
