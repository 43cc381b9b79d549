import * as Effect from "effect/Effect"
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
): Effect.Effect<Asked | typeof timeIsUp, Unanswered> => {
  const asked = askModel(run, turn, question)
  return Effect.suspend(() => {
    const { millisLeft } = run.time
    if (millisLeft === Infinity) return asked
    const late = () => Effect.succeed<typeof timeIsUp>(timeIsUp)
    return millisLeft === 0 ? late() : withinTime(asked, millisLeft, { late })
  })
}

/** True if a reply has no text. */
export const isBlank = (text: string): boolean => text.trim() === ""
