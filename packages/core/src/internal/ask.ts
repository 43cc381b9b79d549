import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { Happened } from "../AgentEvent.ts"
import * as Availability from "../Availability.ts"
import * as Defect from "../Defect.ts"
import * as Journal from "../Journal.ts"
import * as Model from "../Model.ts"
import type { Definition, Toolkit } from "../Toolkit.ts"
import type { Transcript } from "../Transcript.ts"
import { contained } from "./containment.ts"
import { faultOf, isReply, withDistinctIds } from "./reply.ts"
import { isA } from "./stranger.ts"
import { kind } from "./text.ts"
import { answered, heed, IllTyped, present } from "./userCode.ts"

/** What asking needs of a run. */
export interface Asking {
  readonly model: Model.Model["Service"]
  readonly toolkit: Toolkit
  /** Is the model to be offered only what may be called now? */
  readonly offersAvailable: boolean
  readonly modelRetry: Schedule.Schedule<unknown, Model.ModelFailure>
  readonly watch: ((event: Happened) => void) | undefined
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
    typed(Model.retry(respond(run, turn, { transcript, tools, options }), run.modelRetry))
  const replies = run.offersAvailable
    ? Effect.flatMap(Availability.offered(run.toolkit), (tools) => asking(tools, fitting(options, tools)))
    : asking(run.toolkit.definitions, options)
  const reply = Effect.map(Journal.stepOr(step, replies, unrecorded), withDistinctIds)
  if (watch === undefined) return reply

  return Effect.suspend(() => {
    let attempt = 0
    const onRetry: (typeof Model.onRetry)["Service"] = (failure, wait) =>
      Effect.sync(() => watch({ _tag: "ModelRetried", turn, attempt: ++attempt, failure, wait }))
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

// The port is a user's code: what it throws, or makes up, is a failure of the model like any other, and logged whole.
const respond = (
  { model, watch }: Asking,
  turn: number,
  request: Model.Request
): Effect.Effect<Model.Reply, Model.ModelFailure> =>
  contained(
    Effect.suspend(() =>
      watch === undefined
        ? answered("The model's respond", model.respond(request))
        : streamed(model.stream(request), (text) => watch({ _tag: "TextDelta", turn, text }))
    ),
    judged
  )

// So are the schedule of its retries, and the budget that they have.
const typed = <A>(asking: Effect.Effect<A, Model.ModelFailure>): Effect.Effect<A, Model.ModelFailure> =>
  Effect.catchDefect(asking, (defect) => {
    heed("The model", defect)
    return Effect.andThen(
      Defect.report("The model failed because of a fault of its own", Cause.die(defect)),
      Effect.fail(faulty(defect))
    )
  })

const streamed = (parts: Stream.Stream<Model.Part, Model.ModelFailure>, onText: (text: string) => void) => {
  if (!Stream.isStream(parts)) {
    heed("The model", parts)
    return Effect.die(new IllTyped(`The model's stream is ${kind(parts)}, and not a Stream.`))
  }
  return Effect.flatMap(
    Stream.runFold(parts, (): Model.Reply | undefined => undefined, (reply, part) => {
      if (part._tag === "Replied") return part.reply
      if (typeof part.text !== "string") throw new IllTyped(`A text of the model's stream is ${kind(part.text)}.`)
      onText(part.text)
      return reply
    }),
    (reply) => reply === undefined ? Effect.fail(cutOff) : Effect.succeed(reply)
  )
}

const judged = (exit: Exit.Exit<Model.Reply, Model.ModelFailure>): Effect.Effect<Model.Reply, Model.ModelFailure> => {
  if (Exit.isSuccess(exit)) {
    return isReply(present("The model", "succeeded with", exit.value))
      ? exit
      : Effect.die(new IllTyped(faultOf(exit.value)))
  }
  const [reason] = exit.cause.reasons
  if (reason !== undefined && Cause.isFailReason(reason) && isA(Model.ModelFailure)(reason.error)) return exit
  // It died, interrupted itself, or failed with something else.
  return Effect.die(Cause.squash(exit.cause))
}

const faulty = (cause: unknown) =>
  new Model.ModelFailure({
    code: "defect",
    detail: isA(IllTyped)(cause)
      ? cause.message
      : "The model failed because of a fault in the program that asks it.",
    transient: false,
    cause
  })

/** What a run ends with when its journal fails beside the model. */
export const unrecorded = (cause: unknown) =>
  Effect.fail(
    new Model.ModelFailure({
      code: "defect",
      detail: "The journal of the run failed because of a fault of its own.",
      transient: false,
      cause
    })
  )

const cutOff = new Model.ModelFailure({
  code: "cut_off",
  detail: "The model's reply ended before it was complete.",
  transient: true
})
