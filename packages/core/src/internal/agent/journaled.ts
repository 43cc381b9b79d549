import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Defect from "../../Defect.ts"
import * as Journal from "../../Journal.ts"
import { answered, heed } from "../call/userCode.ts"
import { contained } from "../effect/contained.ts"
import type { RunTime } from "./runTime.ts"

/** What a step of a run needs of it. */
interface Recording {
  readonly journal: Journal.Journal
  readonly time: RunTime
}

/** A step of a run: its result is recorded with the time that the run has used until then. */
export const journaled = <A, E, R>(
  { journal, time }: Recording,
  step: Journal.Step<A, E, R>,
  effect: Effect.Effect<A, E, R>,
  otherwise: (cause: unknown, known: A | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E, R> => {
  if (journal === passThrough) return effect
  const timed = Effect.map((value: A) => ({ value, used: time.used }))
  const { error, lost, name } = step
  return Effect.map(
    stepOr(
      journal,
      { name, error, success: withTime(step.success), lost: lost === undefined ? undefined : timed(time.within(lost)) },
      timed(time.within(effect)),
      (cause, known) => timed(otherwise(cause, known?.value))
    ),
    ({ used, value }) => {
      time.replayed(used)
      return value
    }
  )
}

const schemas = new WeakMap<object, Schema.Constraint>()

const withTime = <A>(success: Schema.ConstraintCodec<A, unknown>) => {
  const known = schemas.get(success) ?? Schema.Struct({ value: success, used: Schema.Finite })
  schemas.set(success, known)
  return asRecorded<A>(known)
}

// It is stored under the very schema that it was made from.
const asRecorded = <A>(schema: Schema.Constraint) =>
  schema as Schema.ConstraintCodec<{ readonly value: A; readonly used: number }, unknown>

/** What a run has without a journal. */
const passThrough = Journal.current.defaultValue()

// What a user's journal answers is looked at, so it is asked here, and not by `Journal.step`.
const taken = <A, E, R>(journal: Journal.Journal, step: Journal.Step<A, E, R>, effect: Effect.Effect<A, E, R>) =>
  journal.step(step.lost === undefined ? step : { ...step, lost: alone(step.lost) }, alone(effect))

// A step is recorded as a whole: another agent's run inside it has no steps of its own.
const alone = Effect.provideService(Journal.current, passThrough)

/**
 * A step of a run. A journal is a user's code: what it dies of, and a result that the step cannot have, do not end the run.
 *
 * @param journal the run's, which it looks up once
 * @param otherwise what the step comes to then; it is told what the effect itself came to, if it was run
 */
export const stepOr = <A, E, R>(
  journal: Journal.Journal,
  step: Journal.Step<A, E, R>,
  effect: Effect.Effect<A, E, R>,
  otherwise: (cause: Cause.Cause<unknown>, known: A | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E, R> => {
  if (journal === passThrough) return effect
  let known: A | undefined
  const noted = Effect.map((value: A) => {
    known = value
    return value
  })
  const { lost } = step
  const watched = lost === undefined ? step : { ...step, lost: noted(lost) }
  const judged = (exit: Exit.Exit<A, E>): Effect.Effect<A, E> => {
    // What it has passed on is not its own.
    if (known !== undefined && Exit.isSuccess(exit) && exit.value === known) return exit
    const cause = faultOf(step, exit)
    return cause === undefined
      ? exit
      : Effect.andThen(
        Defect.report("The journal failed because of a fault of its own", cause),
        otherwise(cause, known)
      )
  }
  return Effect.suspend(() => contained(answered("The journal's step", taken(journal, watched, noted(effect))), judged))
    .pipe(
      // Thrown by the journal, or by a result that cannot be looked at.
      Effect.catchDefect((defect) => judged(Exit.die(defect)))
    )
}

const faultOf = <A, E, R>(
  { error, name, success }: Journal.Step<A, E, R>,
  exit: Exit.Exit<A, E>
): Cause.Cause<unknown> | undefined => {
  if (Exit.isSuccess(exit)) {
    heed("The journal", exit.value)
    return Schema.is(success)(exit.value)
      ? undefined
      : Cause.die(new TypeError(`The journal's result of '${name}' is not what the step can have.`))
  }
  const [reason] = exit.cause.reasons
  heed("The journal", Cause.squash(exit.cause))
  return reason !== undefined && Cause.isFailReason(reason) && Schema.is(error)(reason.error) ? undefined : exit.cause
}
