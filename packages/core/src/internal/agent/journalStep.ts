import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { memoize } from "effect/Function"
import * as Schema from "effect/Schema"
import * as Journal from "../../Journal.ts"
import { heedPromise, requireEffect } from "../call/runUserCode.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { runContained } from "../fiber/runContained.ts"
import type { RunTime } from "./elapsedTime.ts"

/** The parts of a run that its steps need. */
interface Recording {
  readonly journal: Journal.Journal
  readonly time: RunTime
}

/**
 * Runs an Effect as a step of the journal. Records its result, together with the time that the run has used so far.
 *
 * @param makeStep returns the step; without a journal, it is not called
 */
export const journalStep = <A, E, R>(
  { journal, time }: Recording,
  makeStep: () => Journal.Step<A, E, R>,
  effect: Effect.Effect<A, E, R>,
  otherwise: (cause: unknown, ownResult: A | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E, R> => {
  if (journal === passThrough) return effect
  const timed = Effect.map((value: A) => ({ value, used: time.used }))
  const { error, lost, name, success } = makeStep()
  return Effect.map(
    stepOr(
      journal,
      { name, error, success: withTime(success), lost: lost === undefined ? undefined : timed(time.within(lost)) },
      timed(time.within(effect)),
      (cause, ownResult) => timed(otherwise(cause, ownResult?.value))
    ),
    ({ used, value }) => {
      time.replayed(used)
      return value
    }
  )
}

const withTime = <A>(success: Schema.ConstraintCodec<A, unknown>) => asRecorded<A>(recordOf(success))

const recordOf = memoize((success: Schema.Constraint) => Schema.Struct({ value: success, used: Schema.Finite }))

// The cached schema was made from the same `success`, so it has this type.
const asRecorded = <A>(schema: Schema.Constraint) =>
  schema as Schema.ConstraintCodec<{ readonly value: A; readonly used: number }, unknown>

/** The default journal, which records nothing. */
const passThrough = Journal.current.defaultValue()

/** True if a journal may replay what it has recorded. */
export const isRecording = (journal: Journal.Journal): boolean => journal !== passThrough

const stepOf = <A, E, R>(journal: Journal.Journal, step: Journal.Step<A, E, R>, effect: Effect.Effect<A, E, R>) =>
  journal.step(step.lost === undefined ? step : { ...step, lost: withoutJournal(step.lost) }, withoutJournal(effect))

// A step is recorded as a whole. For example, if another agent runs inside a step, that run records no steps.
const withoutJournal = Effect.provideService(Journal.current, passThrough)

/**
 * Runs an Effect as a step of the journal. The journal is user code: it may throw, or return a result that the step
 * cannot have. The run then continues with the result of `otherwise`.
 *
 * @param journal the journal of the run, which the run looks up only once
 * @param otherwise returns the result of the step if the journal fails; receives the cause, and the result of
 * `effect` if it succeeded
 */
export const stepOr = <A, E, R>(
  journal: Journal.Journal,
  step: Journal.Step<A, E, R>,
  effect: Effect.Effect<A, E, R>,
  otherwise: (cause: Cause.Cause<unknown>, ownResult: A | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E, R> => {
  if (journal === passThrough) return effect
  let ownResult: A | undefined
  const remembered = Effect.map((value: A) => {
    ownResult = value
    return value
  })
  const { lost } = step
  const watched = lost === undefined ? step : { ...step, lost: remembered(lost) }
  const judge = (exit: Exit.Exit<A, E>): Effect.Effect<A, E> => {
    // The journal returned the effect's own result, which needs no check.
    if (ownResult !== undefined && Exit.isSuccess(exit) && exit.value === ownResult) return exit
    const cause = faultOf(step, exit)
    return cause === undefined
      ? exit
      : Effect.andThen(
        reportDefect("The journal failed with an internal error", cause),
        otherwise(cause, ownResult)
      )
  }
  return Effect.suspend(() =>
    runContained(requireEffect("The journal's step", stepOf(journal, watched, remembered(effect))), judge)
  )
    .pipe(
      // The journal threw, or reading its result threw.
      Effect.catchDefect((defect) => judge(Exit.die(defect)))
    )
}

const faultOf = <A, E, R>(
  { error, name, success }: Journal.Step<A, E, R>,
  exit: Exit.Exit<A, E>
): Cause.Cause<unknown> | undefined => {
  if (Exit.isSuccess(exit)) {
    heedPromise("The journal", exit.value)
    return Schema.is(success)(exit.value)
      ? undefined
      : Cause.die(new TypeError(`The journal's result of '${name}' does not match the schema of the step.`))
  }
  const [reason] = exit.cause.reasons
  heedPromise("The journal", Cause.squash(exit.cause))
  return reason !== undefined && Cause.isFailReason(reason) && Schema.is(error)(reason.error) ? undefined : exit.cause
}
