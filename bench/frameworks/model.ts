/**
 * The model: a function of the messages that it was sent. It reads natural text as a weak model does, and knows no
 * framework.
 *
 * It looks for what it wants in a result. If that is not there, it follows what the text says plainly: another
 * page, a free room, the right name. Otherwise it repeats the call, unless the text advises against that. Then it
 * turns to its other tool if it has one. In the end it says that it could not do it.
 */
import { ModelFailure } from "../../packages/core/src/index.ts"
import * as FakeModelServer from "../../packages/testing/src/FakeModelServer.ts"
import { ScriptedModel } from "../../packages/testing/src/index.ts"
import { heard } from "../../test/support/plainTools.ts"

/** A call: the tool's name and its arguments, or their text. */
export type Call = readonly [name: string, args?: object | string]

export interface Goal {
  readonly first: Call
  /** What the user wants to read. Absent: nobody can get it, and the model has to say so. */
  readonly wanted?: RegExp
  /** What the model tries if the first call fails for good. */
  readonly other?: Call
  /** What the model calls if an error names it. */
  readonly corrected?: readonly [named: RegExp, call: Call]
}

/** How often a model repeats a call that failed. */
export type Manner = "weak" | "careful"
export const repeats: Readonly<Record<Manner, number>> = { weak: 1, careful: 0 }

export const found = "The answer: "
export const gaveUp = "I could not do it: "

const call = ([name, args = {}]: Call) => ScriptedModel.call(name, args)

/** Whether a text tells a reader that a further call is of no use. */
const advisesAgainst = (text: string) =>
  /\b(do not|don't|cannot|must not) (repeat|retry|call|try)|no further|permanent|after \d+ attempts/i.test(text)

export const pursuing = (goal: Goal, manner: Manner): FakeModelServer.Script => (request) => {
  const { corrected, first, other, wanted } = goal
  const text = heard(request)
  if (corrected !== undefined && /fix the inputs/.test(asked(request))) {
    return ScriptedModel.text(JSON.stringify(corrected[1][1]))
  }
  const called = request.messages.flatMap((message) => message.role === "assistant" ? message.calls : [])
  const times = (name: string) => called.filter((made) => made.name === name).length
  if (called.length === 0) return call(first)
  const page = /"?has_more"?:\s*true/.test(text) ? times(first[0]) + 1 : undefined
  if (page !== undefined && page < 9) return call([first[0], { page }])
  if (wanted?.test(text) === true) return ScriptedModel.text(found + text)
  if (called.length >= 6) return ScriptedModel.text(gaveUp + text)
  const room = /Free rooms: (\w+)/.exec(text)?.[1]
  if (room !== undefined) return call([first[0], { room }])
  if (corrected?.[0].test(text) === true && called.length < 3) return call(corrected[1])
  // The other tool says that the first one did nothing, so the first one may be called again.
  if (/\bnot paid\b/.test(text)) return call(first)
  if (times(first[0]) <= repeats[manner] && !advisesAgainst(text)) return call(first)
  return other !== undefined && !called.some(isCall(other)) ? call(other) : ScriptedModel.text(gaveUp + text)
}

/**
 * Gives every reply and every call an id of its own, as the servers of OpenAI do: LangChain takes replies with equal
 * ids for one reply.
 */
export const numbered = (script: FakeModelServer.Script): FakeModelServer.Script => (request, index) => {
  const move = typeof script === "function" ? script(request, index) : script[index] ?? exhausted
  if (!("calls" in move)) return move
  const tool_calls = move.calls.map(({ arguments: text = "{}", name }, position) => ({
    id: `call_${index}_${position}`,
    type: "function",
    function: { name, arguments: text }
  }))
  const message = { role: "assistant", content: move.text, ...(tool_calls.length === 0 ? {} : { tool_calls }) }
  const finish_reason = tool_calls.length === 0 ? "stop" : "tool_calls"
  return FakeModelServer.raw(JSON.stringify({
    id: `chatcmpl-${index}`,
    object: "chat.completion",
    created: 0,
    model: "any",
    choices: [{ index: 0, message, finish_reason }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  }))
}

const exhausted = new ModelFailure({ code: "script_exhausted", detail: "No more moves.", transient: false })

/** The text of the last message if it is the user's. */
const asked = (request: ScriptedModel.Recorded): string => {
  const message = request.messages.at(-1)
  return message?.role === "user" ? message.text : ""
}

const isCall =
  ([name, args = {}]: Call) => (made: { readonly name: string; readonly arguments?: string | undefined }) =>
    made.name === name && made.arguments === JSON.stringify(args)
