import * as Duration from "effect/Duration"
import * as RunReport from "../../RunReport.ts"
import * as ToolOutcome from "../../ToolOutcome.ts"

/**
 * Returns the outcome of a call that ran in several parts, with the sums of its attempts, waits, failures and tokens.
 *
 * @param before the parts before: those before a suspension, or earlier polls
 */
export const joinOutcomes = (
  before: ToolOutcome.ToolOutcome | undefined,
  outcome: ToolOutcome.ToolOutcome
): ToolOutcome.ToolOutcome => {
  if (before === undefined) return outcome
  const attempts = before.attempts + outcome.attempts
  const executions = ToolOutcome.executions(before) + ToolOutcome.executions(outcome)
  const fixing = before.fixing === undefined || outcome.fixing === undefined
    ? before.fixing ?? outcome.fixing
    : RunReport.plus(before.fixing, outcome.fixing)
  const spent = before.spent === undefined || outcome.spent === undefined
    ? before.spent ?? outcome.spent
    : RunReport.plusSpent(before.spent, outcome.spent)
  return {
    ...outcome,
    attempts,
    ...(executions === attempts ? {} : { executions }),
    waited: Duration.sum(before.waited, outcome.waited),
    handled: [...before.handled, ...outcome.handled],
    ...(fixing === undefined ? {} : { fixing }),
    ...(spent === undefined ? {} : { spent })
  }
}
