/*
 * How what was stored by the version before is read: answers of version 6, failures and suspensions of version 5. There,
 * a report was called a ledger, and how a failure was handled, how it had ended.
 */
import type * as Schema from "effect/Schema"
import { isJsonObject } from "../value/plainJson.ts"
import type { Upgrade } from "../value/versioned.ts"

export const answerBefore: Upgrade = ({ ended = "answered", ...answer }) => ({
  ...runBefore(answer),
  stopReason: ended
})

/** A failure of a run, a suspension, or a postponement. */
export const runBefore: Upgrade = ({ ledger = null, outcomes, ...run }) => ({
  ...run,
  report: reportBefore(ledger),
  ...(outcomes === undefined ? {} : { outcomes: each(outcomes, outcomeBefore) })
})

const reportBefore = (report: Schema.Json): Schema.Json =>
  isJsonObject(report) && report["failures"] !== undefined
    ? { ...report, failures: each(report["failures"], ({ ended = null, ...entry }) => ({ ...entry, handling: ended })) }
    : report

const outcomeBefore: Upgrade = ({ fixing, ...outcome }) =>
  fixing === undefined ? outcome : { ...outcome, fixing: reportBefore(fixing) }

const each = (list: Schema.Json, upgrade: Upgrade): Schema.Json =>
  Array.isArray(list) ? list.map((item: Schema.Json) => isJsonObject(item) ? upgrade(item) : item) : list
