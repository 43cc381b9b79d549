import * as Predicate from "effect/Predicate"
import { Reply } from "../../Model.ts"
import { issuesBy } from "../arguments/issuesBy.ts"
import { isCall } from "../call/modelCall.ts"
import { firstIssue } from "../value/text.ts"
import { attempted } from "../value/untrusted.ts"

/** Is it a reply? Asked of each, so it looks at what a run relies on, and at no more. */
export const isReply = (reply: unknown): reply is Reply =>
  attempted(() =>
    Predicate.isObject(reply) && typeof reply["text"] === "string" && Array.isArray(reply["calls"]) &&
    reply["calls"].every(isCall) && (reply["usage"] === undefined || isUsage(reply["usage"]))
  ) === true

const isUsage = (usage: unknown): boolean =>
  Predicate.isObject(usage) && Number.isSafeInteger(usage["inputTokens"]) &&
  Number.isSafeInteger(usage["outputTokens"])

/** What is wrong with a value that is not a reply, in one sentence. */
export const faultOf = (reply: unknown): string =>
  `The model's reply is ill-typed: ${firstIssue(issuesOf(reply) ?? [])}.`

const issuesOf = issuesBy(Reply)

/** The same reply with an id of its own for each call: each result is matched to its call by id; models repeat ids, and some send none. */
export const withDistinctIds = (reply: Reply): Reply => {
  const { calls } = reply
  const ids = new Set(calls.map(({ id }) => id))
  if (ids.size === calls.length && !ids.has("")) return reply
  const taken = new Set<string>()
  const next = new Map<string, number>()
  // The id itself where it is free, else with the first number that makes it so.
  const free = (id: string): string => {
    if (id !== "" && !taken.has(id)) return id
    let n = next.get(id) ?? 1
    while (ids.has(numbered(id, n)) || taken.has(numbered(id, n))) n++
    next.set(id, n + 1)
    return numbered(id, n)
  }
  const distinct = calls.map((call) => {
    const id = free(call.id)
    taken.add(id)
    return id === call.id ? call : { ...call, id }
  })
  return { ...reply, calls: distinct }
}

const numbered = (id: string, n: number): string => `${id || "call"}_${n}`
