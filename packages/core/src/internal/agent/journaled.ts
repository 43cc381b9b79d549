import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Journal from "../../Journal.ts"
import type { RunTime } from "./runTime.ts"

/** What a step of a run needs of it. */
interface Recording {
  readonly journal: Journal.Journal
  readonly time: RunTime
}

/** A step of a run: its result is recorded with the time that the run has used until then. */
export const recorded = <A, E, R>(
  { journal, time }: Recording,
  step: Journal.Step<A, E, R>,
  effect: Effect.Effect<A, E, R>,
  otherwise: (cause: unknown, known: A | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E, R> => {
  if (Journal.isAbsent(journal)) return effect
  const timed = Effect.map((value: A) => ({ value, used: time.used }))
  const { error, lost, name } = step
  return Effect.map(
    Journal.stepOr(
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
