import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Availability from "../../Availability.ts"
import * as Defect from "../../Defect.ts"
import { ModelEntry } from "../../Ledger.ts"
import * as Model from "../../Model.ts"
import type { Definition, Toolkit } from "../../Toolkit.ts"
import type { Transcript } from "../../Transcript.ts"
import { answered, heed, IllTyped, present } from "../call/userCode.ts"
import { contained } from "../effect/contained.ts"
import { kind } from "../value/text.ts"
import { isA } from "../value/untrusted.ts"
import type { Happened } from "./happened.ts"
import { journaled } from "./journaled.ts"
import { entriesOf, lastOf, retriedOf, timesAsked } from "./modelEntry.ts"
import { faultOf, isReply, withDistinctIds } from "./modelReply.ts"
import type { RunContext } from "./runContext.ts"
import { StepStart } from "./stepStart.ts"

/** What asking needs of a run. */
export interface Asking extends RunContext {
  readonly model: Model.Model["Service"]
  readonly toolkit: Toolkit
  /** Is the model to be offered only what may be called now? */
  readonly offersAvailable: boolean
  readonly modelRetry: Schedule.Schedule<unknown, Model.ModelFailure>
  readonly watch: ((event: Happened) => void) | undefined
}

// -----------------------------------------------------------------------------
// What the model failed with
// -----------------------------------------------------------------------------

// A part of what the journal has of a step, so that a ledger is the same when the step is not run again.
const failures = Schema.Array(ModelEntry)

/** A reply, and the failures before it, if there were any: most replies come without more. */
const Asked = Schema.Union([Model.Reply, Schema.Struct({ reply: Model.Reply, failures })])
export type Asked = typeof Asked.Type

/** Which of the two it is: no other than a reply has a text. */
export const isReplyAlone = (asked: Asked): asked is Model.Reply => "text" in asked

/** No reply: the last failure, and all of them. */
const Unanswered = Schema.Struct({ failure: Model.ModelFailure.schema, failures })
type Unanswered = typeof Unanswered.Type

const unanswered = (
  { retried }: Asking,
  turn: number,
  failure: Model.ModelFailure,
  attempts = timesAsked([...retried, failure])
): Unanswered => ({ failure, failures: [...entriesOf(retried, turn, attempts), lastOf(failure, turn, attempts)] })

// -----------------------------------------------------------------------------
// Asking
// -----------------------------------------------------------------------------

/** Asks the model for its next reply, as a step of the journal. Transient failures are retried. */
export const askModel = (
  run: Asking,
  turn: number,
  transcript: Transcript,
  options: Model.Options
): Effect.Effect<Asked, Unanswered> => {
  const { retried, watch } = run
  run.place.turn = turn
  const step = { name: `turn/${turn}/model`, success: Asked, error: Unanswered }
  const asking = (tools: ReadonlyArray<Definition>, options: Model.Options) =>
    typed(run, turn, Model.retry(respond(run, turn, { transcript, tools, options }), run.modelRetry))
  const replies = run.offersAvailable
    ? Effect.flatMap(Availability.offered(run.toolkit), (tools) => asking(tools, fitting(options, tools)))
    : asking(run.toolkit.definitions, options)
  const lost = (cause: unknown, known: Asked | undefined) =>
    Effect.mapError(
      unrecorded(cause),
      (failure) => unanswered(run, turn, failure, timesAsked(retried) + (known === undefined ? 0 : 1))
    )
  const asked = (replies: Effect.Effect<Asked, Unanswered>) =>
    Effect.map(journaled(run, step, replies, lost), (asked): Asked => {
      retried.length = 0
      return isReplyAlone(asked) ? withDistinctIds(asked) : { ...asked, reply: withDistinctIds(asked.reply) }
    })
  if (watch === undefined) return asked(replies)

  return Effect.flatMap(Model.onRetry, (tell) => {
    let attempt = 0
    const onRetry: (typeof Model.onRetry)["Service"] = (failure, wait) =>
      Effect.suspend(() => {
        watch({ _tag: "ModelRetried", turn, attempt: ++attempt, failure, wait })
        return tell(failure, wait)
      })
    const beginning = new StepStart((replay) => watch({ _tag: "TurnStarted", turn, ...replay }))
    const told = Effect.provideService(beginning.of(replies), Model.onRetry, onRetry)
    return Effect.map(Effect.timed(asked(told)), ([elapsed, asked]) => {
      const replay = beginning.replay()
      watch({ _tag: "ModelReplied", turn, reply: isReplyAlone(asked) ? asked : asked.reply, elapsed, ...replay })
      return asked
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
  { model, retried, watch }: Asking,
  turn: number,
  request: Model.Request
): Effect.Effect<Asked, Model.ModelFailure> =>
  contained(
    Effect.suspend((): Effect.Effect<Asked, Model.ModelFailure> =>
      watch === undefined
        ? answered("The model's respond", model.respond(request))
        : streamed(model.stream(request), (text) => watch({ _tag: "TextDelta", turn, text }))
    ),
    (exit) => judged(exit, retried, turn)
  )

// So are the schedule of its retries, and the budget that they have.
const typed = <A>(
  run: Asking,
  turn: number,
  asking: Effect.Effect<A, Model.ModelFailure>
): Effect.Effect<A, Unanswered> =>
  Effect.catchCause(asking, (cause) => {
    const died = cause.reasons.find(Cause.isDieReason)
    if (died === undefined) {
      return Effect.mapError(Effect.failCause(cause), (failure) => unanswered(run, turn, failure))
    }
    const { defect } = died
    heed("The model", defect)
    return Effect.andThen(
      Defect.report("The model failed because of a fault of its own", Cause.die(defect)),
      Effect.suspend(() => Effect.fail(unanswered(run, turn, faulty(defect))))
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

const judged = (
  exit: Exit.Exit<Asked, Model.ModelFailure>,
  retried: ReadonlyArray<Model.ModelFailure>,
  turn: number
): Effect.Effect<Asked, Model.ModelFailure> => {
  if (Exit.isSuccess(exit)) {
    const reply = present("The model", "succeeded with", exit.value)
    if (!isReply(reply)) return Effect.die(new IllTyped(faultOf(reply)))
    return retried.length === 0 ? exit : Effect.succeed({ reply, failures: retriedOf(retried, turn) })
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
