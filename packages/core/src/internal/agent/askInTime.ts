import * as Effect from "effect/Effect"
import * as Deadline from "../../Deadline.ts"
import type * as Tool from "../../Tool.ts"
import { withinTime } from "../fiber/withinTime.ts"
import { type Asked, askModel, type Question, type Unanswered } from "./askModel.ts"
import type { Run, State } from "./runState.ts"

/** Stands for a reply if the time of the run was up first. */
export const timeIsUp: unique symbol = Symbol("time is up")

/** Asks the model, but stops waiting when the time of the run is up, even if the model ignores its interruption. */
export const askInTime = <T extends Tool.Any>(
  run: Run<T>,
  { turn }: State,
  question: Question
): Effect.Effect<Asked | typeof timeIsUp, Unanswered> => within(run.time.millisLeft, askModel(run, turn, question))

/** Like {@link askInTime}, but for the last question of a run, which may use the time that was kept for it. */
export const askToConclude = <T extends Tool.Any>(
  run: Run<T>,
  { turn }: State,
  question: Question
): Effect.Effect<Asked | typeof timeIsUp, Unanswered> =>
  Effect.suspend(() => {
    const { end, millisToEnd } = run.time
    return within(millisToEnd, Effect.provideService(askModel(run, turn, question), Deadline.current, end))
  })

const within = <A, E>(millis: number, asked: Effect.Effect<A, E>): Effect.Effect<A | typeof timeIsUp, E> => {
  if (millis === Infinity) return asked
  const late = () => Effect.succeed<typeof timeIsUp>(timeIsUp)
  return millis === 0 ? late() : withinTime(asked, millis, { late })
}
