import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { AgentBudget } from "../../AgentBudget.ts"
import type { Happened } from "../../AgentEvent.ts"
import * as Availability from "../../Availability.ts"
import * as CallEvent from "../../CallEvent.ts"
import * as Deadline from "../../Deadline.ts"
import * as Defect from "../../Defect.ts"
import * as FailureLog from "../../FailureLog.ts"
import * as Journal from "../../Journal.ts"
import { ModelEntry } from "../../Ledger.ts"
import * as Model from "../../Model.ts"
import type { Definition, Toolkit } from "../../Toolkit.ts"
import type { Transcript } from "../../Transcript.ts"
import { current } from "../call/frame.ts"
import { fixerAround } from "../call/innerFrame.ts"
import { answered, heed, IllTyped, present } from "../call/userCode.ts"
import { contained } from "../effect/containment.ts"
import { cut, kind, mostDetail } from "../value/text.ts"
import { isA } from "../value/untrusted.ts"
import type { Account } from "./account.ts"
import { recorded } from "./journaled.ts"
import { faultOf, isReply, withDistinctIds } from "./modelReply.ts"
import { Beginning } from "./replay.ts"
import { RunTime } from "./runTime.ts"
import { around, Spending } from "./usage.ts"

/** What asking needs of a run. */
export interface Asking extends Surroundings {
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

/** What a run has around it. It is looked up once for a run, so that a turn in which nothing happens pays nothing for it. */
export interface Surroundings {
  /** What the model has failed with since its last reply: filled by {@link surrounded}, emptied by {@link ask}. */
  readonly retried: Array<Model.ModelFailure>
  /** Told of what happens in calls, beside who watches the run. */
  readonly watcher: CallEvent.Watcher | undefined
  readonly time: RunTime
  /** What it has used of its limits. */
  readonly spending: Spending
  readonly journal: Journal.Journal
  /** Where the run is, as logs have it. */
  readonly place: { readonly run: string; turn: number }
}

/**
 * Runs in its surroundings, and hears of each failure that the model is asked again after, by the agent or below it.
 *
 * @param account what it has used before
 * @param used how many milliseconds of its time it has used before
 */
export const surrounded = <A, E, R>(
  id: string,
  budget: AgentBudget,
  account: Account,
  used: number,
  run: (surroundings: Surroundings) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const { elapsed: limit } = budget
    const time = new RunTime(fiber, limit, used)
    const retried: Array<Model.ModelFailure> = []
    const place = { run: id, turn: 0 }
    const tell = fiber.getRef(Model.onRetry)
    const call = fiber.getRef(current)
    const spending = new Spending(budget, account, fixerAround(call), fiber.getRef(around))
    const hear: (typeof Model.onRetry)["Service"] = (failure, wait) =>
      Effect.flatMap(current, (asking) => {
        // A tool may ask a model, too. That is not the run's.
        if (asking !== call) return tell(failure, wait)
        const number = retried.push(failure)
        const told = FailureLog.told("The model", failure, FailureLog.retried({ number, wait }))
        return Effect.andThen(Effect.annotateLogs(told, { ...place }), tell(failure, wait))
      })
    const surroundings = {
      retried,
      watcher: fiber.getRef(CallEvent.watcher),
      time,
      spending,
      journal: fiber.getRef(Journal.current),
      place
    }
    // Merged, and not put on top: effect copies a context that has grown by eight services, which calls under policies would do each
    // for themselves.
    return Effect.updateContext(
      run(surroundings),
      (context: Context.Context<R>) => {
        const own = Context.add(Context.make(Model.onRetry, hear), around, spending)
        // The run's own limit, or the deadline that is set already: the tighter one, known to all that runs inside.
        return Context.merge(context, limit === Infinity ? own : Context.add(own, Deadline.current, time.deadline))
      }
    )
  })

/** For the ledger: the failures that the model was asked again after. */
export const retriedOf = (retried: ReadonlyArray<Model.ModelFailure>, turn: number): ReadonlyArray<ModelEntry> =>
  retried.length === 0 ? none : entriesOf(retried, turn, timesAsked(retried) + 1)

/** For the ledger: the failure that a run ends with. */
export const lastOf = ({ code, detail }: Model.ModelFailure, turn: number, attempts: number): ModelEntry => ({
  turn,
  tag: "ModelFailure",
  code,
  detail: cut(detail, mostDetail),
  attempts,
  ended: "run_failed"
})

const none: ReadonlyArray<never> = []

const entriesOf = (retried: ReadonlyArray<Model.ModelFailure>, turn: number, attempts: number) =>
  retried.map((failure): ModelEntry => ({ ...lastOf(failure, turn, attempts), ended: "retry" }))

// Who asks again below says in its last failure how often; it may have told of those before, or not.
const timesAsked = (failures: ReadonlyArray<Model.ModelFailure>): number =>
  failures.reduce((times, { attempts = 1 }) => Math.max(times + 1, attempts), 0)

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
export const ask = (
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
    Effect.map(recorded(run, step, replies, lost), (asked): Asked => {
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
    const beginning = new Beginning((replay) => watch({ _tag: "TurnStarted", turn, ...replay }))
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
