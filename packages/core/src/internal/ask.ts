import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../AgentEvent.ts"
import * as Journal from "../Journal.ts"
import { type Model, ModelFailure, type Part, Reply } from "../Model.ts"
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

/** Asks the model for its next reply, as a step of the journal. Transient failures are retried. */
export const ask = (run: Asking, turn: number, transcript: Transcript): Effect.Effect<Reply, ModelFailure> => {
  const { watch } = run
  const step = { name: `turn/${turn}/model`, success: Reply, error: ModelFailure.schema }
  const replies = retrying(respond(run, turn, transcript), {
    schedule: run.modelRetry,
    retryable: isTransient,
    onRetry: (failure, waitMillis) =>
      Effect.sync(() => watch?.({ _tag: "ModelRetried", turn, failure, wait: Duration.millis(waitMillis) }))
  })
  const reply = Effect.map(Journal.step(step, replies), withDistinctIds)
  if (watch === undefined) return reply
  return Effect.suspend(() => {
    watch({ _tag: "TurnStarted", turn })
    return Effect.map(Effect.timed(reply), ([elapsed, reply]) => {
      watch({ _tag: "ModelReplied", turn, reply, elapsed })
      return reply
    })
  })
}

// The port is somebody's code: what it throws is a failure of the model like any other, and logged whole.
const respond = (
  { model, toolkit, watch }: Asking,
  turn: number,
  transcript: Transcript
): Effect.Effect<Reply, ModelFailure> => {
  const request = { transcript, tools: toolkit.definitions }
  return Effect.catchDefect(
    Effect.suspend(() =>
      watch === undefined
        ? model.respond(request)
        : streamed(model.stream(request), (text) => watch({ _tag: "TextDelta", turn, text }))
    ),
    (defect) =>
      Effect.andThen(
        Effect.logError("The model failed because of a fault of its own", defect),
        Effect.fail(faulty(defect))
      )
  )
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

// Each result is matched to its call by id; models repeat ids, and some send none.
const withDistinctIds = (reply: Reply): Reply => {
  const { calls } = reply
  const ids = new Set(calls.map(({ id }) => id))
  if (ids.size === calls.length && !ids.has("")) return reply
  const taken = new Set<string>()
  const distinct = calls.map((call) => {
    const id = freeId(call.id, ids, taken)
    taken.add(id)
    return id === call.id ? call : { ...call, id }
  })
  // The provider's own form has the old ids.
  const { native: _, ...rest } = reply
  return { ...rest, calls: distinct }
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

const faulty = (cause: unknown) =>
  new ModelFailure({
    code: "defect",
    detail: "The model failed because of a fault in the program that asks it.",
    transient: false,
    cause
  })

const cutOff = new ModelFailure({
  code: "cut_off",
  detail: "The model's reply ended before it was complete.",
  transient: true
})
