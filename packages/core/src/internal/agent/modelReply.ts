import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { type Model, type ModelFailure, type ProviderCall, Reply } from "../../Model.ts"
import { issuesBy } from "../arguments/schemaIssues.ts"
import { type Masks, withShown } from "../arguments/secretArguments.ts"
import { isCall, shownCall } from "../call/modelCall.ts"
import { withFields } from "../failure/failureClass.ts"
import { firstIssue } from "../value/text.ts"
import { attempt } from "../value/untrusted.ts"
import { isUsage, withoutUndefined } from "../value/usage.ts"
import { withApprovals } from "./providerApproval.ts"

/** True if a value is a reply. The check runs for every reply, so it covers only what a run relies on. */
export const isReply = (reply: unknown): reply is Reply =>
  attempt(() =>
    Predicate.isObject(reply) && typeof reply["text"] === "string" && Array.isArray(reply["calls"]) &&
    reply["calls"].every(isCall) && isUsage(reply["usage"]) && isText(reply["model"]) && isText(reply["reasoning"]) &&
    (hasNone(reply) || isWhole(reply))
  ) === true

// Few replies have these. They are stored with the reply, so their schema must fit.
const hasNone = ({ files, providerCalls, sources }: { readonly [key: PropertyKey]: unknown }): boolean =>
  providerCalls === undefined && sources === undefined && files === undefined

const isWhole = Schema.is(Reply)

const isText = (value: unknown): boolean => value === undefined || typeof value === "string"

/** Returns one sentence that says why a value is not a reply. */
export const faultOf = (reply: unknown): string =>
  `The model's reply has the wrong type: ${firstIssue(issuesOf(reply) ?? [])}.`

const issuesOf = issuesBy(Reply)

/**
 * Returns a reply as its run uses it: its calls have distinct ids, and say what may be shown of them. The provider's requests
 * for approval are among them.
 */
export const received = (reply: Reply, masks: Masks | undefined): Reply =>
  withShown(withDistinctIds(reply.providerCalls === undefined ? reply : withApprovals(reply)), masks)

/** Returns a reply with the name of its model. The name of a custom model may be of any type. */
export const named = (reply: Reply, { name }: Model["Service"]): Reply =>
  reply.model !== undefined || !Predicate.isString(name) ? reply : { ...reply, model: name }

/** Returns what a model replied without fields that are `undefined`, which plain JavaScript has in place of absent ones. */
export const withoutUndefinedFields = (reply: unknown): unknown =>
  Predicate.isObject(reply) ? attempt(() => needsCleaning(reply) ? cleaned(reply) : reply) ?? reply : reply

type Fields = { readonly [key: PropertyKey]: unknown }

// The calls are checked by themselves, and the native form is JSON.
const needsCleaning = (reply: Fields): boolean => {
  for (const key in reply) {
    const value = reply[key]
    if (value === undefined) return true
    if (key === "usage" ? hasUndefined(value) : isList(key, value) && value.some(hasUndefined)) return true
  }
  return false
}

const hasUndefined = (value: unknown): boolean => Predicate.isObject(value) && withoutUndefined(value) !== value

const isList = (key: string, value: unknown): value is ReadonlyArray<unknown> =>
  (key === "providerCalls" || key === "sources" || key === "files") && Array.isArray(value)

const cleaned = (reply: Fields): Fields => {
  const clean = (value: unknown) => Predicate.isObject(value) ? withoutUndefined(value) : value
  return Object.fromEntries(
    Object.entries(reply).filter(([, value]) => value !== undefined).map(([key, value]) => [
      key,
      key === "usage" ? clean(value) : isList(key, value) ? value.map(clean) : value
    ])
  )
}

/** Returns a failure with the name of its model. */
export const namedFailure = (failure: ModelFailure, { name }: Model["Service"]): ModelFailure =>
  !Predicate.isString(name) || failure.model !== undefined
    ? failure
    : withFields(failure, { model: name })

/**
 * Returns a reply as it may be shown: without the secrets in its calls. If a tool has secrets, the model may have thought of
 * one, whatever it calls. The native form holds all that, too.
 */
export const shownReply = (reply: Reply, masks: Masks | undefined): Reply => {
  const isHidden = masks !== undefined && (reply.reasoning !== undefined || reply.providerCalls !== undefined)
  if (!isHidden && reply.calls.every(({ shown }) => shown === undefined)) return reply
  const { native: _, providerCalls, reasoning, ...others } = reply
  return {
    ...others,
    ...(reasoning === undefined || isHidden ? {} : { reasoning }),
    ...(providerCalls === undefined
      ? {}
      : { providerCalls: isHidden ? providerCalls.map(withoutText) : providerCalls }),
    calls: reply.calls.map(shownCall)
  }
}

const withoutText = (call: ProviderCall): ProviderCall => {
  const { arguments: _, result: __, ...rest } = call
  return rest
}

/** Returns a reply with another text, which its native form does not have. */
export const withText = (reply: Reply, text: string): Reply => {
  const { native: _, ...rest } = reply
  return { ...rest, text }
}

/** True if a reply has no text. */
export const isBlank = (text: string): boolean => text.trim() === ""

/**
 * Returns a reply in which every call has a distinct id. Results are matched to calls by id, but models repeat
 * ids, and some send none. A call that is sent twice, with its id, is one call.
 */
const withDistinctIds = (reply: Reply): Reply => {
  // Most replies have one call.
  if (reply.calls.length === 1 && reply.calls[0]?.id !== "") return reply
  const ids = new Set(reply.calls.map(({ id }) => id))
  if (ids.size === reply.calls.length && !ids.has("")) return reply
  const calls = withoutRepetitions(reply.calls)
  const taken = new Set<string>()
  const next = new Map<string, number>()
  // Returns the id if it is free. Otherwise, appends the first number that makes it free.
  const freeId = (id: string): string => {
    if (id !== "" && !taken.has(id)) return id
    let n = next.get(id) ?? 1
    while (ids.has(numbered(id, n)) || taken.has(numbered(id, n))) n++
    next.set(id, n + 1)
    return numbered(id, n)
  }
  const distinct = calls.map((call) => {
    const id = freeId(call.id)
    taken.add(id)
    return id === call.id ? call : { ...call, id }
  })
  return { ...reply, calls: distinct }
}

// Only equal texts count. Some servers give every call the same id, so nothing else says that a call is the same.
const withoutRepetitions = (calls: Reply["calls"]): Reply["calls"] => {
  const seen = new Set<string>()
  return calls.filter(({ arguments: text = "", id, name }) => {
    const call = JSON.stringify([id, name, text.trim()])
    return id === "" || (!seen.has(call) && seen.add(call))
  })
}

const numbered = (id: string, n: number): string => `${id || "call"}_${n}`
