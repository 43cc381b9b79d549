import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Reply } from "../../Model.ts"
import * as Question from "../../Question.ts"
import type * as Tool from "../../Tool.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import { requireEffect } from "../call/runUserCode.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { runContained } from "../fiber/runContained.ts"
import { journalStep } from "./journalStep.ts"
import { questionsIn } from "./openQuestions.ts"
import type { Run, State } from "./runState.ts"
import { takeReplies } from "./takenReplies.ts"

/** Returns true if somebody may reply to the questions of a turn while the run waits. */
export const mayBeAnswered = <T extends Tool.Any>(
  { approver, halt }: Run<T>,
  outcomes: ReadonlyArray<ToolOutcome>
): boolean =>
  approver !== undefined && halt?.fault === undefined && outcomes.every(({ _tag }) => _tag !== "Stopped") &&
  questionsIn(outcomes).length > 0 &&
  // A handler may ask for ever. Then the program decides whether the run goes on.
  outcomes.every((outcome) => outcome._tag !== "Suspended" || outcome.replies.length < maxReplies)

const maxReplies = 100

/**
 * Asks the approver of a run. Returns the outcomes of the turn with the replies; `undefined` if there are none that count. The
 * time of waiting is not the run's own.
 */
export const answeredInPlace = <T extends Tool.Any>(
  run: Run<T>,
  { facts, transcript, turn }: State,
  { calls }: Reply,
  outcomes: ReadonlyArray<ToolOutcome>
): Effect.Effect<ReadonlyArray<ToolOutcome> | undefined> => {
  const { approver } = run
  if (approver === undefined) return Effect.undefined
  const questions = questionsIn(outcomes)
  const number = outcomes.reduce((sum, outcome) => sum + (outcome._tag === "Suspended" ? outcome.replies.length : 0), 1)
  const step = { name: `turn/${turn}/replies/${number}`, success: Given, error: Schema.Never }
  const asked = Effect.flatMap(
    Effect.timed(repliesOf(approver, questions)),
    ([elapsed, replies]) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        run.time.waited(Duration.toMillis(elapsed))
        return { at, replies }
      })
  )
  return Effect.flatMap(
    journalStep(run, () => step, asked, () => Effect.succeed(none)),
    ({ at, replies }) =>
      replies.length === 0
        ? Effect.undefined
        : Effect.matchEffect(
          takeReplies(run.toolkit, { calls, outcomes }, replies, at, run.admit, { facts, transcript }),
          {
            onSuccess: (answered) => Effect.succeed(answered),
            onFailure: ({ detail }) =>
              Effect.as(Effect.logWarning(`The approver's replies do not count. ${detail}`), undefined)
          }
        )
  )
}

/** The replies of an approver, and when they came. */
const Given = Schema.Struct({ at: Schema.Finite, replies: Schema.Array(Question.Reply) })

const none: typeof Given.Type = { at: 0, replies: [] }

const areReplies = Schema.is(Given.fields.replies)

const repliesOf = (
  { reply, within }: NonNullable<Run<Tool.Any>["approver"]>,
  questions: ReadonlyArray<Question.Question>
): Effect.Effect<ReadonlyArray<Question.Reply>> =>
  Effect.suspend(() => runContained(requireEffect("The approver", reply(questions)))).pipe(
    Effect.timeoutOption(within),
    Effect.map(Option.getOrElse((): unknown => [])),
    Effect.filterOrElse(
      areReplies,
      () => Effect.die(new TypeError("An approver returns a list of replies (Question.Reply)."))
    ),
    Effect.catchCause((cause) => Effect.as(reportDefect("The approver failed, so the run waits", cause), []))
  )
