import type { Reply } from "../../Model.ts"
import type { Question } from "../../Question.ts"
import type { Suspended, ToolOutcome } from "../../ToolOutcome.ts"
import { digestOf } from "../call/idempotencyKey.ts"
import { isNotRun } from "../dispatch/concurrentCalls.ts"
import { canonical } from "../value/canonical.ts"

/** True if the question of a call has its reply. The call may still have to wait for calls before it. */
export const isAnswered = ({ asks, replies }: Pick<Suspended, "asks" | "replies">): boolean =>
  replies.some(({ to }) => to === asks.id)

/** Returns the open questions of a turn, in the order of its calls. */
export const questionsIn = (outcomes: ReadonlyArray<ToolOutcome>): ReadonlyArray<Question> =>
  outcomes.flatMap((outcome) => outcome._tag === "Suspended" && !isAnswered(outcome) ? [outcome.asks] : [])

/** Returns the names of those tools of a toolkit that the rest of a turn needs. */
export const neededIn = (
  { calls }: Pick<Reply, "calls">,
  outcomes: ReadonlyArray<ToolOutcome>,
  tools: ReadonlyMap<string, unknown>
): ReadonlyArray<string> => {
  const names = calls.flatMap(({ approval, name }, index) => {
    const outcome = outcomes[index]
    const isOpen = outcome !== undefined && (outcome._tag === "Suspended" || isNotRun(outcome))
    return isOpen && approval === undefined && tools.has(name) ? [name] : []
  })
  return Array.from(new Set(names))
}

/**
 * Returns the id of a suspension. A run that is replayed has the same one, and so has a job that is delivered twice: what has
 * been claimed once is not resumed again.
 */
export const suspensionId = (runId: string, turn: number, outcomes: ReadonlyArray<ToolOutcome>): string =>
  idOfAsked(
    runId,
    String(turn),
    outcomes.map((outcome) => outcome._tag === "Suspended" ? [outcome.asks.id, outcome.replies] : null)
  )

/** @param asked for each call of the turn, the id of its question and the replies before it; `null` if it asks nothing */
export const idOfAsked = (runId: string, turn: string, asked: ReadonlyArray<unknown>): string =>
  digestOf("suspension", runId, turn, canonical(asked) ?? "")
