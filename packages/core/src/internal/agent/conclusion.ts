/*
 * When a run is concluded: the model is asked for the best answer from what is known, because a limit is reached or the
 * run is stuck.
 */
import type { Answer } from "../../Answer.ts"
import type * as Tool from "../../Tool.ts"
import { ofRun, type Unfinished } from "./runEndings.ts"
import type { Run } from "./runState.ts"
import type { UsedUp } from "./runUsage.ts"

/** True if the model may be asked once more. The limit of turns is never exceeded; those of tokens and calls may be. */
export const canConclude = <T extends Tool.Any>({ budget, concludes, time, usage }: Run<T>): boolean => {
  if (!concludes) return false
  const { isOwn = true } = usage.usedUp ?? {}
  return isOwn && usage.left(0).turns > 0 && time.millisLeft > 0 && budget.turns > 1
}

/**
 * Returns the limit that is nearly used up, so that the next request must be the last: one turn is left, or a tenth of
 * the time.
 */
export const limitToConclude = <T extends Tool.Any>(run: Run<T>): UsedUp | undefined => {
  const { budget, concludes, time, usage } = run
  if (!concludes) return undefined
  if (usage.left(0).turns === 1 && budget.turns > 1) return ofRun(run, "turns")
  // A deadline around the run may leave less time than the run's own limit.
  const left = budget.elapsed - time.used
  return budget.elapsed !== Infinity && left <= budget.elapsed / 10 ? ofRun(run, "elapsed") : undefined
}

export const reasonOf = (failure: Unfinished): Answer["concluded"] =>
  failure._tag === "LoopDetected" ? "loop" : failure.limit
