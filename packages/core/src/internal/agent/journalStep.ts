/*
 * Runs the steps of a run in its journal. The journal is user code: it may refuse a step, throw, or return a result that
 * the step cannot have. Then the run halts: it begins nothing more, and ends as `RunHalted`.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { memoize } from "effect/Function"
import * as Schema from "effect/Schema"
import * as Journal from "../../Journal.ts"
import { heedPromise, requireEffect } from "../call/runUserCode.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { runContained } from "../fiber/runContained.ts"
import { isA } from "../value/untrusted.ts"
import type { RunTime } from "./elapsedTime.ts"
import { enclosing, EnclosingStep, type Fault, type Halt } from "./enclosingStep.ts"

/** The parts of a run that its steps need. */
export interface Recording {
  readonly journal: Journal.Journal
  readonly time: RunTime
  /** Whether the journal has failed. Absent if nothing is recorded. */
  readonly halt: Halt | undefined
  /** The step inside which the run runs; `undefined` if it runs in none. */
  readonly around: EnclosingStep | undefined
  /** What the names of its steps begin with. */
  readonly prefix: string
}

/**
 * Runs an Effect as a step of the journal. Records its result, together with the time that the run has used so far.
 *
 * @param makeStep returns the step; without a journal, it is not called
 * @param otherwise returns the result of the step if the journal fails; receives the result of the Effect if it succeeded
 */
export const journalStep = <A, E, R>(
  { around, halt, journal, prefix, time }: Recording,
  makeStep: () => Journal.Step<A, E, R>,
  effect: Effect.Effect<A, E, R>,
  otherwise: (own: A | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E, R> => {
  if (halt === undefined) return effect
  return Effect.suspend(() => {
    const { error, lost, name: ownName, success } = makeStep()
    const name = `${prefix}${ownName}`
    const inside = new EnclosingStep(name, halt)
    let isOver = false
    const timed = (self: Effect.Effect<A, E, R>) =>
      // What a journal leaves behind must not begin once the step has ended.
      Effect.suspend(() => {
        if (isOver) return Effect.interrupt
        halt.isAhead = true
        return Effect.flatMap(
          Effect.exit(Effect.provideService(time.within(self), enclosing, inside)),
          (exit) =>
            inside.isInterrupted
              ? Effect.interrupt
              : Effect.map(exit, (value) => ({ version, value, used: time.used }))
        )
      })
    const step = {
      name,
      error,
      success: withTime(success),
      lost: lost === undefined ? undefined : timed(lost)
    }
    return Effect.flatMap(runStep(journal, step, timed(effect), around), (result): Effect.Effect<A, E> => {
      isOver = true
      if ("fault" in result) {
        halt.fail(result.fault)
        return otherwise(result.own?.value)
      }
      return Effect.map(result.exit, ({ used, value }) => {
        time.replayed(used)
        return value
      })
    })
  })
}

/** The form in which results are recorded. */
const version = 1

const withTime = <A>(success: Schema.ConstraintCodec<A, unknown>) => asRecorded<A>(recordOf(success))

const recordOf = memoize((success: Schema.Constraint) =>
  Schema.Struct({ version: Schema.Literal(version), value: success, used: Schema.Finite })
)

// The cached schema was made from the same `success`, so it has this type.
const asRecorded = <A>(schema: Schema.Constraint) =>
  schema as Schema.ConstraintCodec<
    { readonly version: typeof version; readonly value: A; readonly used: number },
    unknown
  >

/** The default journal, which records nothing. */
const passThrough = Journal.current.defaultValue()

/** True if a journal may replay what it has recorded. */
export const isRecording = (journal: Journal.Journal): boolean => journal !== passThrough

/** The end of a step, or why the journal could not run it; then with the step's own result, if it succeeded. */
export type StepResult<A, E> =
  | { readonly exit: Exit.Exit<A, E> }
  | { readonly fault: Fault; readonly own: A | undefined }

/**
 * Runs an Effect as a step of the journal. An interruption of the journal is an interruption of the caller: so does a
 * workflow engine stop a run that it will start again.
 *
 * @param journal the journal of the run, which the run looks up only once
 * @param around the step inside which the run runs, which has no result then, either
 */
export const runStep = <A, E, R>(
  journal: Journal.Journal,
  step: Journal.Step<A, E, R>,
  effect: Effect.Effect<A, E, R>,
  around?: EnclosingStep
): Effect.Effect<StepResult<A, E>, never, R> => {
  if (!isRecording(journal)) return Effect.map(Effect.exit(effect), (exit) => ({ exit }))
  let own: A | undefined
  const remembered = Effect.map((value: A) => {
    own = value
    return value
  })
  const { lost } = step
  const watched = lost === undefined ? step : { ...step, lost: remembered(lost) }
  const judge = (exit: Exit.Exit<A, E | Journal.JournalFailure>): Effect.Effect<StepResult<A, E>> => {
    if (Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)) {
      if (around !== undefined) around.isInterrupted = true
      return Effect.failCause(Cause.fromReasons(exit.cause.reasons.filter(Cause.isInterruptReason)))
    }
    // The journal returned the effect's own result, which needs no check.
    if (own !== undefined && Exit.isSuccess(exit) && exit.value === own) return Effect.succeed({ exit: asOwn(exit) })
    const cause = faultOf(step, exit)
    if (cause === undefined) return Effect.succeed({ exit: asOwn(exit) })
    const result = { fault: { step: step.name, cause }, own }
    return isRefusal(cause)
      ? Effect.succeed(result)
      : Effect.as(reportDefect(`The journal failed with an internal error at '${step.name}'`, cause), result)
  }
  return Effect.suspend(() =>
    Effect.flatMap(
      Effect.exit(runContained(requireEffect("The journal's step", journal.step(watched, remembered(effect))))),
      judge
    )
  ).pipe(
    // The journal threw, or reading its result threw.
    Effect.catchDefect((defect) => judge(Exit.die(defect)))
  )
}

// A `JournalFailure` is a fault of the journal, and not the end of the step.
const asOwn = <A, E>(exit: Exit.Exit<A, E | Journal.JournalFailure>) => exit as Exit.Exit<A, E>

const isRefusal = ({ reasons: [reason] }: Cause.Cause<unknown>): boolean =>
  reason !== undefined && Cause.isFailReason(reason) && isA(Journal.JournalFailure)(reason.error)

const faultOf = <A, E, R>(
  { error, name, success }: Journal.Step<A, E, R>,
  exit: Exit.Exit<A, E | Journal.JournalFailure>
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
