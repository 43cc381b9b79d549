import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Model from "../../Model.ts"
import type { ModelRecovery } from "../../ModelRecovery.ts"
import { ModelEntry } from "../../RunReport.ts"
import type { Definition } from "../../Toolkit.ts"
import type { Transcript } from "../../Transcript.ts"
import type { Masks } from "../arguments/secretArguments.ts"
import { heedPromise, IllTyped, requireEffect, requireNoPromise } from "../call/runUserCode.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { runContainedCall, type Watcher } from "../fiber/runContained.ts"
import { kind } from "../value/text.ts"
import { isA } from "../value/untrusted.ts"
import { runUnwatched } from "../wire/places.ts"
import { type Output } from "./finalAnswer.ts"
import { isRecording, journalStep } from "./journalStep.ts"
import { StepStart } from "./journalStepStart.ts"
import { entriesOf, lastOf, retriedOf, timesAsked } from "./modelEntry.ts"
import {
  faultOf,
  isBlank,
  isReply,
  named,
  namedFailure,
  received,
  shownReply,
  withoutUndefinedFields,
  withText
} from "./modelReply.ts"
import { notifyRetry, recoverReply } from "./recoverReply.ts"
import type { RunContext } from "./runContext.ts"
import type { Happened } from "./runEvent.ts"
import type { RequestResults } from "./shorterTranscript.ts"
import { StreamedAnswer } from "./streamedAnswer.ts"
import { shownText } from "./writtenAnswer.ts"

/** The parts of a run that are needed to ask its model. */
export interface Asking extends RunContext {
  readonly model: Model.Model["Service"]
  readonly modelRetry: Schedule.Schedule<unknown, Model.ModelFailure>
  readonly onModelFailure: ModelRecovery | undefined
  /** What is sent of the results. */
  readonly request: RequestResults
  readonly watch: ((event: Happened) => void) | undefined
  /** Which pieces of a reply are watched, beside those of its text. */
  readonly deltas: ReadonlyArray<"reasoning" | "arguments">
  /** What masks the secrets in the calls of a reply. */
  readonly masks: Masks | undefined
  /** What typed answers need. Absent if the agent has no `output`. */
  readonly output: Output | undefined
}

// -----------------------------------------------------------------------------
// Failures of the model
// -----------------------------------------------------------------------------

// The journal records the failures together with the reply, so that a replayed step leads to the same report.
const failures = Schema.Array(ModelEntry)

/** A reply, together with the failures before it if there were any. Most replies have none. */
const Asked = Schema.Union([Model.Reply, Schema.Struct({ reply: Model.Reply, failures })])
export type Asked = typeof Asked.Type

/** True if there were no failures before the reply. Only a bare reply has a `text` field. */
export const isReplyAlone = (asked: Asked): asked is Model.Reply => "text" in asked

/** True if a fallback text takes the place of a reply. */
export const isFallback = (asked: Asked): boolean =>
  !isReplyAlone(asked) && asked.failures.at(-1)?.handling === "fallback"

/** The result of a turn without a reply: the last failure, and all failures as entries of the report. */
const Unanswered = Schema.Struct({
  failure: Model.ModelFailure.schema,
  failures,
  /** When the model failed, in milliseconds since 1970. Present if the failure says how long to wait. */
  at: Schema.optionalKey(Schema.Finite)
})
export type Unanswered = typeof Unanswered.Type

const unanswered = (
  { retried }: Asking,
  turn: number,
  failure: Model.ModelFailure,
  attempts = timesAsked([...retried, failure])
): Unanswered => ({ failure, failures: [...entriesOf(retried, turn, attempts), lastOf(failure, turn, attempts)] })

// -----------------------------------------------------------------------------
// Asking
// -----------------------------------------------------------------------------

/** A request to the model. If the tools must be looked up first, the options may not fit them. */
export interface Question {
  readonly transcript: Transcript
  /** Distinguishes the journal step of this request from an earlier one in the same turn. Default: none. */
  readonly step?: string
  readonly tools: ReadonlyArray<Definition> | Effect.Effect<ReadonlyArray<Definition>>
  readonly options: Model.Options
}

/** Asks the model for its next reply, as a step of the journal. Transient failures are retried. */
export const askModel = (run: Asking, turn: number, question: Question): Effect.Effect<Asked, Unanswered> => {
  const { options, tools } = question
  const { journal, watch } = run
  run.place.turn = turn
  const replies = Effect.isEffect(tools)
    ? Effect.flatMap(tools, (tools) => askForReply(run, turn, question, tools, fitting(options, tools)))
    : askForReply(run, turn, question, tools, options)
  if (watch !== undefined) return watchReply(run, turn, question, replies, watch)
  return isRecording(journal) ? recordReply(run, turn, question, replies) : replies
}

const askForReply = (
  run: Asking,
  turn: number,
  question: Question,
  tools: ReadonlyArray<Definition>,
  options: Model.Options
): Effect.Effect<Asked, Unanswered> => {
  const { reply } = new Request(run, turn, question.transcript, tools, options)
  // Until the model fails, nothing else has to wait for it. But a budget for retries counts the successes, too.
  return run.hasRetryBudget
    ? withTypedFailure(run, turn, retryReply(run, turn, reply))
    : Effect.catchCause(
      reply,
      (cause) => withTypedFailure(run, turn, retryReply(run, turn, startingWith(cause, reply)))
    )
}

const retryReply = (run: Asking, turn: number, reply: Effect.Effect<Asked, Model.ModelFailure>) =>
  run.onModelFailure === undefined
    ? Model.retry(reply, run.modelRetry)
    : recoverReply(reply, {
      decide: run.onModelFailure,
      schedule: run.modelRetry,
      turn,
      fallback: (text, failure, attempt): Asked => ({
        reply: { text, calls: [] },
        failures: [...entriesOf(run.retried, turn, attempt), {
          ...lastOf(failure, turn, attempt),
          handling: "fallback"
        }]
      })
    })

// An Effect that has failed once, without running.
const startingWith = <A, E>(cause: Cause.Cause<E>, self: Effect.Effect<A, E>): Effect.Effect<A, E> => {
  let isFirst = true
  return Effect.suspend(() => {
    if (!isFirst) return self
    isFirst = false
    return Effect.failCause(cause)
  })
}

const recordReply = (
  run: Asking,
  turn: number,
  { step = "" }: Question,
  replies: Effect.Effect<Asked, Unanswered>
): Effect.Effect<Asked, Unanswered> =>
  Effect.map(
    journalStep(
      run,
      () => ({ name: `turn/${turn}/model${step}`, success: Asked, error: Unanswered }),
      replies,
      (own) => Effect.fail(unanswered(run, turn, unrecorded, timesAsked(run.retried) + (own === undefined ? 0 : 1)))
    ),
    // The journal may return a reply that it did not get from here.
    (asked) => isReplyAlone(asked) ? received(asked, run.masks) : { ...asked, reply: received(asked.reply, run.masks) }
  )

const watchReply = (
  run: Asking,
  turn: number,
  question: Question,
  replies: Effect.Effect<Asked, Unanswered>,
  watch: (event: Happened) => void
): Effect.Effect<Asked, Unanswered> =>
  Effect.flatMap(Model.onRetry, (outerOnRetry) => {
    let attempt = 0
    const onRetry: (typeof Model.onRetry)["Service"] = (unnamed, wait) =>
      Effect.suspend(() => {
        const failure = namedFailure(unnamed, run.model)
        watch({ _tag: "ModelRetried", turn, attempt: ++attempt, failure, wait })
        return outerOnRetry(failure, wait)
      })
    const beginning = new StepStart((replay) => watch({ _tag: "TurnStarted", turn, ...replay }))
    const asked = Effect.provideService(beginning.of(replies), Model.onRetry, onRetry)
    return Effect.map(Effect.timed(recordReply(run, turn, question, asked)), ([elapsed, asked]) => {
      const replay = beginning.replay()
      const { output } = run
      const reply = shownReply(isReplyAlone(asked) ? asked : asked.reply, run.masks)
      const text = output === undefined || isBlank(reply.text) ? undefined : shownText(output, reply.text)
      watch({
        _tag: "ModelReplied",
        turn,
        reply: text === undefined ? reply : withText(reply, text),
        elapsed,
        ...replay
      })
      return asked
    })
  })

// Drops `toolChoice` if it requires a tool that is not offered, because the provider would reject the request.
const fitting = (options: Model.Options, tools: ReadonlyArray<Definition>): Model.Options => {
  const { toolChoice, ...others } = options
  const isOffered = toolChoice === undefined || (typeof toolChoice === "object"
    ? tools.some(({ name }) => name === toolChoice.tool)
    : toolChoice !== "required" || tools.length > 0)
  return isOffered ? options : others
}

/**
 * A request, which may be sent more than once. The model is user code: if it throws, or returns a result of the wrong type,
 * that counts as a failure of the model and is logged in full.
 */
class Request implements Watcher<Asked, Model.ModelFailure> {
  readonly #run: Asking
  readonly #turn: number
  #transcript: Transcript
  readonly #tools: ReadonlyArray<Definition>
  readonly #options: Model.Options
  readonly #sent: Effect.Effect<Asked, Model.ModelFailure>
  readonly reply: Effect.Effect<Asked, Model.ModelFailure>

  constructor(
    run: Asking,
    turn: number,
    transcript: Transcript,
    tools: ReadonlyArray<Definition>,
    options: Model.Options
  ) {
    this.#run = run
    this.#turn = turn
    this.#transcript = transcript
    this.#tools = tools
    this.#options = options
    // Suspended, so that the model is called in the fiber of the request.
    this.#sent = Effect.suspend((): Effect.Effect<Asked, Model.ModelFailure> => {
      const { model, output, watch } = this.#run
      const request = { transcript: this.#transcript, tools: this.#tools, options: this.#options }
      return watch === undefined
        ? requireEffect("The model's respond", model.respond(request))
        : runStream(model.stream(request), this.#watcher(watch, output))
    })
    this.reply = runContainedCall(() => this.#sent, this)
  }

  #watcher(watch: (event: Happened) => void, output: Output | undefined): (part: Piece) => void {
    const answer = output === undefined
      ? undefined
      : new StreamedAnswer(output, (soFar) => watch({ _tag: "AnswerPreview", turn: this.#turn, soFar }))
    const turn = this.#turn
    const { deltas, masks } = this.#run
    return (part) => {
      // A piece of an answer may be a piece of its secret. The model may think of it, too.
      if (part._tag === "TextDelta") {
        if (output?.isSecret !== true) watch({ _tag: "TextDelta", turn, text: part.text })
      } else if (part._tag === "ReasoningDelta") {
        if (deltas.includes("reasoning") && masks === undefined) {
          watch({ _tag: "ReasoningDelta", turn, text: part.text })
        }
        return
        // Another version of a model's package may have pieces that are not known here.
      } else if (part._tag !== "ArgumentsDelta") {
        return
      } else if (deltas.includes("arguments") && masks?.get(part.tool) === undefined) {
        watch({ _tag: "ArgumentsDelta", turn, index: part.call + 1, tool: part.tool, text: part.text })
      }
      answer?.add(part)
    }
  }

  // If the agent runs in a handler, a request to its model says nothing of what that handler does.
  within<B>(start: () => B): B {
    return runUnwatched(start)
  }

  judge(exit: Exit.Exit<Asked, Model.ModelFailure>): Effect.Effect<Asked, Model.ModelFailure> {
    const failure = failureOf(exit)
    const short = failure?.code === "context_overflow" ? this.#run.request.halved(this.#transcript) : undefined
    if (failure === undefined || short === undefined) return judgeReply(this.#run, this.#turn, exit)
    // The conversation is too long for the model, so it is asked once more with shorter results. After another failure, what
    // was shortened is not sent whole again.
    this.#transcript = short
    const again = {
      within: runUnwatched,
      judge: (exit: Exit.Exit<Asked, Model.ModelFailure>) => judgeReply(this.#run, this.#turn, exit)
    }
    return Effect.andThen(notifyRetry(failure, Duration.zero), runContainedCall(() => this.#sent, again))
  }
}

// A function, and no method of the class: an engine calls private methods slowly.
const judgeReply = (
  { masks, model, retried }: Asking,
  turn: number,
  exit: Exit.Exit<Asked, Model.ModelFailure>
): Effect.Effect<Asked, Model.ModelFailure> => {
  // The model died, interrupted itself, or failed with something other than a `ModelFailure`.
  if (Exit.isFailure(exit)) {
    const failure = failureOf(exit)
    return failure === undefined
      ? Effect.die(Cause.squash(exit.cause))
      : Effect.fail(namedFailure(failure, model))
  }
  const reply = withoutUndefinedFields(requireNoPromise("The model", "succeeded with", exit.value))
  if (!isReply(reply)) return Effect.die(new IllTyped(faultOf(reply)))
  const usable = received(named(reply, model), masks)
  if (retried.length > 0) return Effect.succeed({ reply: usable, failures: retriedOf(retried, turn) })
  return usable === exit.value ? exit : Effect.succeed(usable)
}

const failureOf = (exit: Exit.Exit<unknown, unknown>): Model.ModelFailure | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  const [reason] = exit.cause.reasons
  return reason !== undefined && Cause.isFailReason(reason) && isA(Model.ModelFailure)(reason.error)
    ? reason.error
    : undefined
}

// Turns defects of the model call into failures. The schedule and the budget of its retries are user code, too.
const withTypedFailure = <A>(
  run: Asking,
  turn: number,
  asking: Effect.Effect<A, Model.ModelFailure>
): Effect.Effect<A, Unanswered> =>
  Effect.catchCause(asking, (cause) => {
    const died = cause.reasons.find(Cause.isDieReason)
    if (died === undefined) {
      return Effect.catch(Effect.failCause(cause), (failure) => failAt(failure, unanswered(run, turn, failure)))
    }
    const { defect } = died
    heedPromise("The model", defect)
    return Effect.andThen(
      reportDefect("The model failed with an internal error", Cause.die(defect)),
      Effect.suspend(() => Effect.fail(unanswered(run, turn, defectFailure(defect))))
    )
  })

// A replayed run must be postponed until the same time.
const failAt = ({ retryAfter }: Model.ModelFailure, end: Unanswered): Effect.Effect<never, Unanswered> =>
  retryAfter === undefined
    ? Effect.fail(end)
    : Effect.flatMap(Clock.currentTimeMillis, (at) => Effect.fail({ ...end, at }))

type Piece = Exclude<Model.Part, { readonly _tag: "Replied" }>

const runStream = (parts: Stream.Stream<Model.Part, Model.ModelFailure>, onPiece: (piece: Piece) => void) => {
  if (!Stream.isStream(parts)) {
    heedPromise("The model", parts)
    return Effect.die(new IllTyped(`The model's stream must be a Stream; got ${kind(parts)}.`))
  }
  return Effect.flatMap(
    Stream.runFold(parts, (): Model.Reply | undefined => undefined, (reply, part) => {
      if (part._tag === "Replied") return part.reply
      if (typeof part.text !== "string") {
        throw new IllTyped(`The text of a part of the model's stream must be a string; got ${kind(part.text)}.`)
      }
      if (part._tag === "ArgumentsDelta" && !(Number.isSafeInteger(part.call) && typeof part.tool === "string")) {
        throw new IllTyped("A part of the model's stream with arguments must have the 'call' and the 'tool' of them.")
      }
      onPiece(part)
      return reply
    }),
    (reply) => reply === undefined ? Effect.fail(cutOff) : Effect.succeed(reply)
  )
}

const defectFailure = (cause: unknown) =>
  new Model.ModelFailure({
    code: "defect",
    detail: isA(IllTyped)(cause)
      ? cause.message
      : "The model failed with an error in the program that calls it.",
    transient: false,
    cause
  })

// Stands for a reply that the journal could not record, until the run halts.
const unrecorded = new Model.ModelFailure({
  code: "halted",
  detail: "The journal of the run failed.",
  transient: false
})

const cutOff = new Model.ModelFailure({
  code: "cut_off",
  detail: "The model's reply ended before it was complete.",
  transient: true
})
