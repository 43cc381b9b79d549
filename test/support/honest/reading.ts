/** How a weak but sensible model reads a conversation: it looks at the text of results, and at nothing else. */
import { ScriptedModel } from "@fallible/testing"
import type { Model } from "./scenario.ts"

type Request = Parameters<Model>[0]

/** The results of a tool in this conversation, or of all tools, as texts. */
export const resultsOf = (request: Request, tool?: string): ReadonlyArray<string> =>
  request.messages.flatMap((message) =>
    message.role === "tool" && (tool === undefined || message.name === tool) ? [message.text] : []
  )

/** The results since the last reply. */
export const latest = (request: Request): ReadonlyArray<string> => {
  const before = request.messages.findLastIndex(({ role }) => role === "assistant")
  return request.messages.slice(before + 1).flatMap((message) => message.role === "tool" ? [message.text] : [])
}

/** Whether a call is told to have failed. */
export const isFailure = (text: string): boolean => /^Error\b|"ok":false,"error"/.test(text)

/** Whether a failure says that it may be gone later. */
export const maySoonWork = (text: string): boolean =>
  /try again|retry|again (later|in|shortly)|not (yet )?ready|still|too early|locked/i.test(text)

export const isForbidden = (text: string): boolean => /do not (repeat|call)/i.test(text)

/** What a model says that gives up: it makes no claim. */
export const giveUp = (text: string): ReturnType<typeof ScriptedModel.text> =>
  ScriptedModel.text(`I could not do it. The last thing I read was: ${text.slice(0, 600)}`)

/** One step of a plan: a call, or several, or the answer; made from all results so far. */
export type Step = (results: ReadonlyArray<string>) => ReturnType<typeof ScriptedModel.text>

/**
 * A model that takes one step after the other, and gives up if a call is told to have failed. The step of a request is the
 * number of turns with results so far.
 */
export const steps = (...plan: ReadonlyArray<Step>): Model => (request) => {
  const failure = latest(request).find((text) => isFailure(text))
  if (failure !== undefined) return giveUp(failure)
  return plan[Math.min(turnsOf(request), plan.length - 1)]!(resultsOf(request))
}

/** The number of turns in which something was called. */
export const turnsOf = (request: Request): number =>
  request.messages.filter((message) => message.role === "assistant" && message.calls.length > 0).length

/** A step that calls a tool. */
export const call = (name: string, args: object = {}): Step => () => ScriptedModel.call(name, args)

/** A step that answers with what `answer` makes of the last result. */
export const answer = (answer: (last: string) => string): Step => (results) =>
  ScriptedModel.text(answer(results.at(-1) ?? ""))

/**
 * A model that calls a tool until `answer` finds the answer in a result, at most 20 times. It repeats a call that failed,
 * unless the failure forbids it.
 */
export const until =
  (name: string, args: object, answer: (results: ReadonlyArray<string>) => string | undefined): Model => (request) => {
    const results = resultsOf(request, name)
    const last = results.at(-1)
    if (last === undefined) return ScriptedModel.call(name, args)
    const found = answer(results)
    if (found !== undefined) return ScriptedModel.text(found)
    return results.length >= 20 || isFailure(last) && isForbidden(last)
      ? giveUp(last)
      : ScriptedModel.call(name, args)
  }

/** The text of a pattern's group in a text, or of the whole match if it has no group. */
export const find = (text: string, pattern: RegExp): string | undefined => {
  const match = pattern.exec(text)
  return match === null ? undefined : match[1] ?? match[0]
}
