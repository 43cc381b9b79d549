/**
 * Three ways to show a run: line by line for people, as JSON for programs, or the answer alone.
 */
import type { AgentFailure, ToolCall } from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import { TerminalCapabilities } from "effect/cli/TerminalCapabilities"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Stdio from "effect/Stdio"
import * as Terminal from "effect/Terminal"
import * as Conversation from "./Conversation.ts"
import * as Line from "./Line.ts"
import type { SentMessages } from "./SentMessages.ts"
import * as TextFlow from "./TextFlow.ts"
import * as Trace from "./Trace.ts"

export interface Run<R> {
  readonly agent: Conversation.Agent<R>
  readonly notice: string
  readonly question: string
  /** The user's replies to questions of tools, given in advance. */
  readonly replies: ReadonlyArray<string>
  /** The messages to show to the user as the model reads them. Nothing is shown if it is `undefined`. */
  readonly messages?: SentMessages | undefined
  /** What to try next, after the totals. */
  readonly epilogue?: ReadonlyArray<Next>
}

export interface Next {
  readonly text: string
  readonly command: string
}

export const readable = <R>({ agent, epilogue = [], messages, notice, question, replies }: Run<R>) =>
  Effect.gen(function*() {
    const terminal = yield* Terminal.Terminal
    const format = (lines: ReadonlyArray<Line.Line>) =>
      Effect.map(screen, (screen) => lines.map((line) => Line.format(line, screen)).join("\n"))
    const print = (...lines: ReadonlyArray<Line.Line>) => Effect.flatMap(format(lines), (text) => Console.log(text))
    const plain = (text: string): Line.Line => ({ mark: "", text })
    const end = (totals: string) => print(plain(""), plain(totals))
    // A command is not wrapped: who copies it from a terminal must get it whole.
    const last = Effect.forEach(
      epilogue,
      ({ command, text }) => Effect.andThen(print(plain(""), plain(text)), Console.log(command)),
      { discard: true }
    )
    // A broken pipe is ignored here: `CommandLine` ends the run when its reader leaves.
    const display = (text: string) =>
      Effect.catch(terminal.display(text), (error) => isBrokenPipe(error.cause) ? Effect.void : Effect.die(error))
    const sent = sentAfter(messages)
    // The model's text while it arrives. There is a blank line before and after it.
    let speech: TextFlow.TextFlow | undefined
    const view = {
      onEvent: (event: AgentEvent.AgentEvent) =>
        Effect.gen(function*() {
          const told = sent(event).flatMap(({ text, tool }) => Trace.told(tool, text))
          if (told.length > 0) yield* print(...told)
          if (event._tag === "TextDelta") {
            const isFirst = speech === undefined
            speech ??= TextFlow.make((yield* screen).columns)
            yield* display(`${isFirst ? "\n" : ""}${speech.add(Line.printableText(event.text))}`)
            return
          }
          if (speech !== undefined) yield* display(`${speech.end()}\n\n`)
          speech = undefined
          const lines = Trace.readable(event)
          if (lines.length > 0) yield* print(...lines)
        }),
      onQuestion: (text: string) => print(plain(""), plain(text)),
      onReply: (reply: string) => print(plain(`> ${reply}`))
    }
    yield* print(plain(notice), plain(""), plain(`Question: ${question}`), plain(""))
    yield* Conversation.run(agent, question, view, replies).pipe(
      // A typed answer is a call, so its text was not streamed.
      Effect.tap((answer) => "value" in answer ? print(plain(""), plain(answer.text)) : Effect.void),
      Effect.tap(({ report }) => end(Trace.totals(report))),
      Effect.tapError((failure) =>
        Effect.gen(function*() {
          // The model may have failed in the middle of its text.
          if (speech !== undefined) yield* display(`${speech.end()}\n`)
          const totals = plain(Trace.totals(failure.report))
          yield* Console.error(yield* format([plain(""), totals, plain(""), ...explained(failure).map(plain)]))
        })
      ),
      Effect.andThen(last),
      Effect.tapError(() => last)
    )
  })

export const json = <R>({ agent, messages, notice, question, replies }: Run<R>) =>
  Effect.gen(function*() {
    const print = (line: object) => Console.log(Line.printable(JSON.stringify(line)))
    const sent = sentAfter(messages)
    yield* print({ _tag: "RunStarted", notice, question })
    const view = {
      onEvent: (event: AgentEvent.AgentEvent) =>
        Effect.gen(function*() {
          for (const { call, text, tool } of sent(event)) yield* print({ _tag: "MessageSent", call, tool, text })
          for (const line of Trace.json(event)) yield* Console.log(Line.printable(line))
        }),
      onQuestion: (question: string) => print({ _tag: "UserAsked", question }),
      onReply: (reply: string) => print({ _tag: "UserReplied", reply })
    }
    yield* Effect.tapError(
      Conversation.run(agent, question, view, replies),
      (failure) => Console.log(Trace.failedJson(failure))
    )
  })

export const quiet = <R>({ agent, notice, question, replies }: Run<R>) =>
  Effect.gen(function*() {
    yield* Console.error(notice)
    const view = {
      onEvent: () => Effect.void,
      onQuestion: (question: string) => Console.error(Line.printable(question)),
      onReply: () => Effect.void
    }
    const { text } = yield* Effect.tapError(
      Conversation.run(agent, question, view, replies),
      (failure) => Console.error(explained(failure).join("\n"))
    )
    yield* Console.log(Line.printableText(text))
  })

/** True if an error is the system's report of a pipe without a reader (`EPIPE`). */
export const isBrokenPipe = (error: unknown): boolean => Predicate.isObject(error) && error["code"] === "EPIPE"

const explained = (failure: AgentFailure.AgentFailure): ReadonlyArray<string> =>
  failure._tag === "RunSuspended"
    ? ["The run waits for your reply. Give it in a terminal, or in advance: --reply \"your reply\"."]
    : [Trace.why(failure)]

/** Reads the screen: anew for each line, because the user may change its width while the agent runs. */
export const screen = Effect.gen(function*() {
  const { columns } = yield* Terminal.Terminal
  const { canColor: hasColor } = yield* TerminalCapabilities
  const { stdoutIsTerminal } = yield* Stdio.Stdio
  const width = (yield* stdoutIsTerminal) ? yield* columns : 0
  return { hasColor, columns: width === 0 ? undefined : width }
})

/**
 * Returns a function from an event to the messages that have been sent since the last event. The messages of a turn
 * are sent when the next turn has begun.
 */
const sentAfter = (messages: SentMessages | undefined) => {
  let ended: Array<{ readonly index: number; readonly call: ToolCall.ToolCall }> = []
  let due: typeof ended = []
  return (event: AgentEvent.AgentEvent) => {
    if (messages === undefined) return []
    if (event._tag === "CallEnded" && event.outcome._tag !== "Suspended") ended.push(event)
    if (event._tag === "TurnStarted") {
      due = ended.toSorted((a, b) => a.index - b.index)
      ended = []
      return []
    }
    const sent = due.flatMap(({ call }) => {
      const text = messages.textFor(call)
      return text === undefined ? [] : [{ call: call.id, tool: call.name, text }]
    })
    due = []
    return sent
  }
}
