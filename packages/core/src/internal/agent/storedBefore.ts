/*
 * How what was stored by the version before is read: answers of version 7, failures and suspensions of version 6. There,
 * tokens that no provider had counted were 0. The transcripts inside have versions of their own.
 */
import type * as Schema from "effect/Schema"
import { isJsonObject } from "../value/plainJson.ts"
import { eachOf, type Upgrade } from "../value/versioned.ts"

/** An answer, a failure of a run, a suspension, or a postponement. */
export const runBefore: Upgrade = ({ outcomes, report = null, ...run }) => ({
  ...run,
  report: countsBefore(report),
  ...(outcomes === undefined ? {} : { outcomes: eachOf(outcomes, outcomeBefore) })
})

const countsBefore = (report: Schema.Json): Schema.Json => {
  if (!isJsonObject(report) || report["inputTokens"] !== 0 || report["outputTokens"] !== 0) return report
  const { inputTokens: _, outputTokens: __, ...rest } = report
  return rest
}

const outcomeBefore: Upgrade = ({ fixing, spent, ...outcome }) => ({
  ...outcome,
  ...(fixing === undefined ? {} : { fixing: countsBefore(fixing) }),
  ...(spent === undefined ? {} : { spent: countsBefore(spent) })
})
