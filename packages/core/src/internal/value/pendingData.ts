/*
 * Recognizes a result that says that something is still under way, so that it may be another one in a moment:
 * `{"status":"running"}`, `{"done":false}`, `{"progress":40}`, "The report is not ready yet."
 */
import type * as Schema from "effect/Schema"
import { isJsonObject } from "./plainJson.ts"

/** True if a result says that it is not final. Looks at its first fields and at theirs; the items of a list are data. */
export const isPending = (value: Schema.Json): boolean =>
  typeof value === "string"
    ? value.length <= 60 && pendingState.test(value) || isShort(value) && later.test(value)
    : hasPendingField(value, 2)

const hasPendingField = (value: Schema.Json, levels: number): boolean => {
  if (levels === 0 || !isJsonObject(value)) return false
  let fields = 0
  for (const name in value) {
    if (fields++ === maxFields) return false
    const field = value[name] ?? null
    if (typeof field === "object" ? hasPendingField(field, levels - 1) : isPendingField(name, field)) return true
  }
  return false
}

const isPendingField = (name: string, value: string | number | boolean | null): boolean => {
  if (typeof value === "string") {
    return isShort(value) && (stateNames.test(name) && pendingState.test(value) || later.test(value))
  }
  if (typeof value === "boolean") return (value ? pendingNames : finalNames).test(name)
  return typeof value === "number" && progressNames.test(name) && value >= 0 && value < 100 && value !== 1
}

const isShort = (text: string): boolean => text.length <= 300

const maxFields = 30

const stateNames =
  /(?:^|[_\W]|[a-z](?=[A-Z]))(?:status|state|phase|stage|step|progress|condition|health|result|message)$/i

const pendingState =
  /^\W*(?:is |still |currently )*(?:pending|queued|waiting|running|started|starting|(?:in|on)[ _-]?(?:progress|going)|ongoing|processing|building|deploying|provisioning|creating|updating|deleting|uploading|downloading|indexing|syncing|copying|restoring|scheduled|preparing|initiali[sz]ing|warming(?:[ _-]up)?|not[ _-](?:yet|ready|started|finished|done|complete)|unfinished|incomplete|accepted|busy|locked)\b/i

const later =
  /\b(?:still (?:being |pending|queued|waiting|running|\w+ing\b)|not (?:ready|done|finished|complete|available|visible|indexed) yet|not yet (?:ready|done|finished|complete|available|visible|indexed)|in progress|try again (?:in|later|shortly|soon)|check (?:again|back))\b/i

const pendingNames = /^(?:is)?_?(?:pending|running|processing|queued|building|busy|locked|in_?progress)$/i

const finalNames =
  /^(?:is|has)?_?(?:done|ready|finished|complete|completed|ended|available|indexed|processed|settled|confirmed|delivered|arrived|deployed|built|online|up)$/i

const progressNames = /^(?:progress|percent|percentage|pct|percent_?(?:done|complete|completed)|completion)$/i
