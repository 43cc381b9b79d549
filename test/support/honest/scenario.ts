/** What a scenario of honest work is, and how its model reads. */
import type { Model } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import type { PlainTool } from "./plainTool.ts"

/** What a scenario's tools need of the world. */
export interface World {
  /** The side effects that really happened. */
  readonly done: Array<string>
  /** The names of the tools that ran. */
  readonly ran: Array<string>
  /** Waits for a time, in milliseconds. */
  readonly hold: (millis: number) => Promise<void>
}

export type Script = (request: ScriptedModel.Recorded, index: number) => Model.Reply

export interface HonestScenario {
  readonly kind: string
  readonly name: string
  readonly tools: (world: World) => ReadonlyArray<PlainTool>
  readonly model: Script
  /** The replies that a plain loop needs; if that loop ends wrongly, the replies in the best case. */
  readonly replies: number
  /** Matches the right answer. */
  readonly says: RegExp
  /** The side effects in the end. Default: none. */
  readonly done?: ReadonlyArray<string>
  /** How long it takes in the best case, in milliseconds. Default: not checked. */
  readonly time?: number
  /** True if a plain loop ends with a wrong answer. */
  readonly plainIsWrong?: true
}

export const call = (name: string, args: object = {}): Model.Reply => ScriptedModel.call(name, args)
export const say = ScriptedModel.text

/** Returns the text of the last message if it is a tool's. */
export const heard = ({ messages }: ScriptedModel.Recorded): string => {
  const message = messages.at(-1)
  return message?.role === "tool" ? message.text : ""
}

/** Returns the data in a tool's text, without the notes beside it. */
export const dataOf = (text: string): unknown => {
  try {
    const parsed: unknown = JSON.parse(text)
    const isNoted = typeof parsed === "object" && parsed !== null && "value" in parsed && "notes" in parsed
    return isNoted ? parsed.value : parsed
  } catch {
    return text
  }
}

export const hasFailed = (text: string): boolean => /"ok":false|^\w*Error:|^\[object|not found/i.test(text)

/** Calls a tool, and answers with what it returns. */
export const once = (name: string, args: object = {}): Script => (request, index) =>
  index === 0 ? call(name, args) : say(JSON.stringify(dataOf(heard(request))))

/** Repeats a call until its text matches, and then answers with it. */
export const until = (pattern: RegExp, name: string, args: object = {}): Script => (request) =>
  pattern.test(heard(request)) ? say(heard(request)) : call(name, args)

// -----------------------------------------------------------------------------
// What a model makes of advice
// -----------------------------------------------------------------------------

const forbids = (text: string): boolean => /do not (repeat|call)|not call it again/i.test(text)

const latestCalls = ({ messages }: ScriptedModel.Recorded) =>
  messages.findLast((message) => message.role === "assistant")?.calls ?? []

/** Returns a model that heeds every word: it makes no call again that the latest text forbids. */
export const heeding = <Move>(script: (request: ScriptedModel.Recorded, index: number) => Move) =>
(
  request: ScriptedModel.Recorded,
  index: number
): Move | Model.Reply => {
  const move = script(request, index)
  const before = latestCalls(request)
  const isAgain = callsOf(move).some((next) =>
    before.some((call) => call.name === next.name && call.arguments === next.arguments)
  )
  return isAgain && forbids(heard(request)) ? say(heard(request)) : move
}

const callsOf = (move: unknown): Model.Reply["calls"] =>
  typeof move === "object" && move !== null && "calls" in move && Array.isArray(move.calls) ? move.calls : []

/** Returns a model that heeds none: it reads the data of its tools, and no advice. */
export const deaf = <Move>(script: (request: ScriptedModel.Recorded, index: number) => Move) =>
(
  request: ScriptedModel.Recorded,
  index: number
): Move =>
  script({
    ...request,
    messages: request.messages.map((message) =>
      message.role === "tool" ? { ...message, text: withoutAdvice(message.text) } : message
    )
  }, index)

const withoutAdvice = (text: string): string => {
  const data = dataOf(text)
  if (typeof data !== "object" || data === null || !("error" in data) || !("retry" in data)) {
    return typeof data === "string" && data === text ? text : JSON.stringify(data)
  }
  const { hint: _, notes: __, retry: ___, ...rest } = { hint: undefined, notes: undefined, ...data }
  return JSON.stringify(rest)
}
