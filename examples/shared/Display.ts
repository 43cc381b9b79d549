/**
 * Three ways to show a run: line by line for people, as JSON for programs, or the answer alone.
 */
import type { AgentEvent, AgentFailure, Answer } from "@fallible/core"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Stream from "effect/Stream"
import * as Terminal from "effect/Terminal"
import * as Trace from "./Trace.ts"

export interface Run<R> {
  readonly notice: string
  readonly question: string
  readonly events: Stream.Stream<AgentEvent.AgentEvent, AgentFailure.AgentFailure, R>
}

export const readable = <R>({ events, notice, question }: Run<R>) =>
  Effect.gen(function*() {
    const terminal = yield* Terminal.Terminal
    // A broken pipe is ignored here: `CommandLine` ends the run when its reader leaves.
    const display = (text: string) =>
      Effect.catch(terminal.display(text), (error) => isBrokenPipe(error.cause) ? Effect.void : Effect.die(error))
    yield* Console.log(`${notice}\n\nQuestion: ${Trace.printable(question)}\n`)
    // Prints the model's text as it arrives, with a blank line before and after it.
    let speaking = false
    const { ledger } = yield* follow(events, (event) =>
      Effect.gen(function*() {
        if (event._tag === "TextDelta") {
          yield* display(`${speaking ? "" : "\n"}${Trace.printableText(event.text)}`)
          speaking = true
          return
        }
        if (speaking) yield* display("\n\n")
        speaking = false
        yield* printLines(Trace.readable(event))
      }))
    yield* Console.log(`\n${Trace.totals(ledger)}`)
  }).pipe(Effect.tapError((failure) => Console.error(`\n${Trace.totals(failure.ledger)}\n\n${Trace.why(failure)}`)))

export const json = <R>({ events, notice, question }: Run<R>) =>
  Effect.gen(function*() {
    yield* Console.log(JSON.stringify({ _tag: "RunStarted", notice, question }))
    yield* follow(events, (event) => printLines(Trace.json(event)))
  }).pipe(Effect.tapError((failure) => Console.log(Trace.failedJson(failure))))

export const quiet = <R>({ events, notice }: Run<R>) =>
  Effect.gen(function*() {
    yield* Console.error(notice)
    const { text } = yield* follow(events, () => Effect.void)
    yield* Console.log(Trace.printableText(text))
  }).pipe(Effect.tapError((failure) => Console.error(Trace.why(failure))))

/** True if an error is the system's report of a pipe without a reader (`EPIPE`). */
export const isBrokenPipe = (error: unknown): boolean => Predicate.isObject(error) && error["code"] === "EPIPE"

const printLines = (lines: ReadonlyArray<string>) =>
  Effect.forEach(lines, (line) => Console.log(Trace.printable(line)), { discard: true })

/** Shows each event when it happens, and returns the answer. */
const follow = <E, R, R2>(
  events: Run<R>["events"],
  show: (event: AgentEvent.AgentEvent) => Effect.Effect<void, E, R2>
) =>
  Stream.runFoldEffect(
    events,
    (): Answer.Answer | undefined => undefined,
    (answer, event) => Effect.as(show(event), event._tag === "RunEnded" ? event.answer : answer)
  ).pipe(
    Effect.flatMap((answer) => answer === undefined ? Effect.die("a run ends with RunEnded") : Effect.succeed(answer))
  )
