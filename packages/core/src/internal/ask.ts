import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../AgentEvent.ts"
import * as Availability from "../Availability.ts"
import * as Defect from "../Defect.ts"
import * as Journal from "../Journal.ts"
import * as Model from "../Model.ts"
import type { Definition, Toolkit } from "../Toolkit.ts"
import type { Transcript } from "../Transcript.ts"

/** What asking needs of a run. */
export interface Asking {
  readonly model: Model.Model["Service"]
  readonly toolkit: Toolkit
  /** Is the model to be offered only what may be called now? */
  readonly offersAvailable: boolean
  readonly modelRetry: Schedule.Schedule<unknown, Model.ModelFailure>
  readonly watch: ((event: AgentEvent) => void) | undefined
}

/** Asks the model for its next reply, as a step of the journal. Transient failures are retried. */
export const ask = (
  run: Asking,
  turn: number,
  transcript: Transcript,
  options: Model.Options
): Effect.Effect<Model.Reply, Model.ModelFailure> => {
  const { watch } = run
  const step = { name: `turn/${turn}/model`, success: Model.Reply, error: Model.ModelFailure.schema }
  const asking = (tools: ReadonlyArray<Definition>, options: Model.Options) =>
    Model.retry(respond(run, turn, { transcript, tools, options }), run.modelRetry)
  const replies = run.offersAvailable
    ? Effect.flatMap(Availability.offered(run.toolkit), (tools) => asking(tools, fitting(options, tools)))
    : asking(run.toolkit.definitions, options)
  const reply = Effect.map(Journal.step(step, replies), withDistinctIds)
  if (watch === undefined) return reply

  const onRetry: (typeof Model.onRetry)["Service"] = (failure, wait) =>
    Effect.sync(() => watch({ _tag: "ModelRetried", turn, failure, wait }))
  return Effect.suspend(() => {
    watch({ _tag: "TurnStarted", turn })
    return Effect.map(Effect.timed(Effect.provideService(reply, Model.onRetry, onRetry)), ([elapsed, reply]) => {
      watch({ _tag: "ModelReplied", turn, reply, elapsed })
      return reply
    })
  })
}

// A choice of what is not offered would be refused by the provider.
const fitting = (options: Model.Options, tools: ReadonlyArray<Definition>): Model.Options => {
  const { toolChoice, ...others } = options
  const isOffered = toolChoice === undefined || (typeof toolChoice === "object"
    ? tools.some(({ name }) => name === toolChoice.tool)
    : toolChoice !== "required" || tools.length > 0)
  return isOffered ? options : others
}

// The port is somebody's code: what it throws is a failure of the model like any other, and logged whole.
const respond = (
  { model, watch }: Asking,
  turn: number,
  request: Model.Request
): Effect.Effect<Model.Reply, Model.ModelFailure> =>
  Effect.catchDefect(
    Effect.suspend(() =>
      watch === undefined
        ? model.respond(request)
        : streamed(model.stream(request), (text) => watch({ _tag: "TextDelta", turn, text }))
    ),
    (defect) =>
      Effect.andThen(
        Defect.report("The model failed because of a fault of its own", Cause.die(defect)),
        Effect.fail(faulty(defect))
      )
  )

const streamed = (parts: Stream.Stream<Model.Part, Model.ModelFailure>, onText: (text: string) => void) =>
  Effect.flatMap(
    Stream.runFold(parts, (): Model.Reply | undefined => undefined, (reply, part) => {
      if (part._tag === "Replied") return part.reply
      onText(part.text)
      return reply
    }),
    (reply) => reply === undefined ? Effect.fail(cutOff) : Effect.succeed(reply)
  )

// Each result is matched to its call by id; models repeat ids, and some send none.
const withDistinctIds = (reply: Model.Reply): Model.Reply => {
  const { calls } = reply
  const ids = new Set(calls.map(({ id }) => id))
  if (ids.size === calls.length && !ids.has("")) return reply
  const taken = new Set<string>()
  const next = new Map<string, number>()
  // The id itself where it is free, else with the first number that makes it so.
  const free = (id: string): string => {
    if (id !== "" && !taken.has(id)) return id
    let n = next.get(id) ?? 1
    while (ids.has(numbered(id, n)) || taken.has(numbered(id, n))) n++
    next.set(id, n + 1)
    return numbered(id, n)
  }
  const distinct = calls.map((call) => {
    const id = free(call.id)
    taken.add(id)
    return id === call.id ? call : { ...call, id }
  })
  return { ...reply, calls: distinct }
}

const numbered = (id: string, n: number): string => `${id || "call"}_${n}`

const faulty = (cause: unknown) =>
  new Model.ModelFailure({
    code: "defect",
    detail: "The model failed because of a fault in the program that asks it.",
    transient: false,
    cause
  })

const cutOff = new Model.ModelFailure({
  code: "cut_off",
  detail: "The model's reply ended before it was complete.",
  transient: true
})
