import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../AgentEvent.ts"
import * as Journal from "../Journal.ts"
import { type Model, ModelFailure, type Part, Reply } from "../Model.ts"
import type { ToolCall } from "../ToolCall.ts"
import type { Definition } from "../Toolkit.ts"
import type { Transcript } from "../Transcript.ts"
import { retrying } from "./retrying.ts"

/** What asking needs of a run. */
export interface Asking {
  readonly model: Model["Service"]
  readonly toolkit: { readonly definitions: ReadonlyArray<Definition> }
  readonly modelRetry: Schedule.Schedule<unknown, ModelFailure>
  readonly watch: ((event: AgentEvent) => void) | undefined
}

/** Asks the model for its next reply, as a step of the journal: transient failures are retried, empty replies refused. */
export const ask = (
  run: Asking,
  turn: number,
  transcript: Transcript
): Effect.Effect<Reply, ModelFailure> => {
  const step = { name: `turn/${turn}/model`, success: Reply, error: ModelFailure.schema }
  const replies = retrying(respond(run, turn, transcript), {
    schedule: run.modelRetry,
    retryable: isTransient,
    onRetry: (failure, waitMillis) =>
      Effect.sync(() => run.watch?.({ _tag: "ModelRetried", turn, failure, wait: Duration.millis(waitMillis) }))
  })
  return Journal.step(step, replies)
}

const respond = (
  { model, toolkit, watch }: Asking,
  turn: number,
  transcript: Transcript
): Effect.Effect<Reply, ModelFailure> => {
  const request = { transcript, tools: toolkit.definitions }
  if (watch === undefined) return Effect.suspend(() => Effect.flatMap(model.respond(request), usable))
  return Effect.suspend(() => {
    watch({ _tag: "TurnStarted", turn })
    return streamed(model.stream(request), (text) => watch({ _tag: "TextDelta", turn, text })).pipe(
      Effect.flatMap(usable),
      Effect.timed,
      Effect.map(([elapsed, reply]) => {
        watch({ _tag: "ModelReplied", turn, reply, elapsed })
        return reply
      })
    )
  })
}

const streamed = (parts: Stream.Stream<Part, ModelFailure>, onText: (text: string) => void) =>
  Effect.flatMap(
    Stream.runFold(parts, (): Reply | undefined => undefined, (reply, part) => {
      if (part._tag === "Replied") return part.reply
      onText(part.text)
      return reply
    }),
    (reply) => reply === undefined ? Effect.fail(cutOff) : Effect.succeed(reply)
  )

// Neither text nor calls is no answer, and an empty one must not pass for one.
const usable = (reply: Reply): Effect.Effect<Reply, ModelFailure> => {
  if (reply.calls.length === 0 && reply.text.trim() === "") return Effect.fail(emptyReply)
  const calls = withDistinctIds(reply.calls)
  return Effect.succeed(calls === reply.calls ? reply : { ...reply, calls })
}

// Each result is matched to its call by id; models repeat ids, and some send none.
const withDistinctIds = (calls: ReadonlyArray<ToolCall>): ReadonlyArray<ToolCall> => {
  const ids = new Set(calls.map(({ id }) => id))
  if (ids.size === calls.length && !ids.has("")) return calls
  const taken = new Set<string>()
  return calls.map((call) => {
    const id = freeId(call.id, ids, taken)
    taken.add(id)
    return id === call.id ? call : { ...call, id }
  })
}

// The id itself where it is free, else with the first number that makes it so.
const freeId = (id: string, given: ReadonlySet<string>, taken: ReadonlySet<string>): string => {
  if (id !== "" && !taken.has(id)) return id
  const numbered = (n: number): string => `${id || "call"}_${n}`
  let n = 1
  while (given.has(numbered(n)) || taken.has(numbered(n))) n++
  return numbered(n)
}

const isTransient = (failure: ModelFailure): failure is ModelFailure => failure.transient

const emptyReply = new ModelFailure({
  code: "empty_reply",
  detail: "The model replied with neither text nor a tool call.",
  transient: true
})

const cutOff = new ModelFailure({
  code: "cut_off",
  detail: "The model's reply ended before it was complete.",
  transient: true
})
