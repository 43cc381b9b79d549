/**
 * The model: a function of all messages that it was sent, and of the descriptions of its tools. It reads natural text, and
 * knows no library. `reader.ts` says how it understands a text.
 *
 * It looks for what it wants in the results of its tools. If that is not there, it follows what the text says plainly: another
 * page, a free room, the right name. Otherwise it may repeat the call. Then it turns to its other tool if it has one. In the
 * end it says that it could not do it.
 *
 * The two manners differ in how often a failed call is repeated (`repeatsOf`), and in how they hear instructions.
 */
import { ModelFailure } from "../../packages/core/src/index.ts"
import * as FakeModelServer from "../../packages/testing/src/FakeModelServer.ts"
import { ScriptedModel } from "../../packages/testing/src/index.ts"
import { actsBy, advisesAgainst, asksToWait, deniesTool, instructed, invitesToRepeat, leavesOpen } from "./reader.ts"

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

/** How a model reads: a weak one tries a failed call once more, a careful one thinks first. */
export const manners = ["weak", "careful"] as const
export type Manner = typeof manners[number]

export const found = "The answer: "
export const gaveUp = "I could not do it: "

// -----------------------------------------------------------------------------
// What it has read
// -----------------------------------------------------------------------------

type Request = ScriptedModel.Recorded

/** The messages since the user's last question. */
const sinceQuestion = ({ messages }: Request) =>
  messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1)

/** The calls since the user's last question. */
export const callsIn = (request: Request) =>
  sinceQuestion(request).flatMap((message) => message.role === "assistant" ? message.calls : [])

/** The texts of results since the user's last question: of one tool, or of all. The latest is the last. */
export const resultsIn = (request: Request, tool?: string): ReadonlyArray<string> =>
  sinceQuestion(request).flatMap((message) =>
    message.role === "tool" && (tool === undefined || message.name === tool) ? [message.text] : []
  )

/** The latest result of each call since the user's last question: the call's arguments and the text. */
export const answersIn = (request: Request): ReadonlyMap<string, string> => {
  const made = new Map(callsIn(request).map(({ arguments: text = "", id }) => [id, text]))
  return new Map(
    sinceQuestion(request).flatMap((message) =>
      message.role === "tool" ? [[made.get(message.callId) ?? "", message.text] as const] : []
    )
  )
}

/** The text of the last message if it is the user's. */
export const questionIn = ({ messages }: Request): string => {
  const message = messages.at(-1)
  return message?.role === "user" ? message.text : ""
}

const instructionsIn = ({ messages }: Request) =>
  messages.flatMap((message) => message.role === "system" ? [message.text] : []).join("\n")

// -----------------------------------------------------------------------------
// What it does
// -----------------------------------------------------------------------------

const call = ([name, args = {}]: Call) => ScriptedModel.call(name, args)

export const giveUp = (text: string) => ScriptedModel.text(gaveUp + text)

/**
 * How often a failed call may be repeated. Both manners obey a result that advises against it, also an earlier one.
 *
 * - A tool that reads: weak once, careful once if the instructions or the result ask for it, both three times if the result says
 *   that waiting helps.
 * - A tool that acts, by its description: careful never. Weak once, unless the instructions forbid it and the result itself
 *   says that its outcome is open: the weak model does not connect the two on its own.
 */
export const repeatsOf = (request: Request, name: string, manner: Manner): number => {
  const told = resultsIn(request, name)
  if (told.some(advisesAgainst)) return 0
  const description = request.tools.find((tool) => tool.name === name)?.description ?? ""
  const { forbidsRepeatedActs, allowsRepeatedReads } = instructed(`${instructionsIn(request)}\n${description}`)
  if (actsBy(description)) {
    return manner === "careful" || forbidsRepeatedActs && told.some(leavesOpen) ? 0 : 1
  }
  const last = told.at(-1) ?? ""
  return asksToWait(last) ? 3 : manner === "weak" || allowsRepeatedReads || invitesToRepeat(last) ? 1 : 0
}

export const pursuing = (goal: Goal, manner: Manner): FakeModelServer.Script => (request) => {
  const { corrected, first, other, wanted } = goal
  if (corrected !== undefined && /fix the inputs/.test(questionIn(request))) {
    return ScriptedModel.text(JSON.stringify(corrected[1][1]))
  }
  const called = callsIn(request)
  const results = resultsIn(request)
  const text = results.at(-1) ?? ""
  if (corrected !== undefined && called.length < 3 && isCorrected(corrected, request, text)) return call(corrected[1])
  if (called.length === 0) return call(first)
  const times = called.filter(({ name }) => name === first[0]).length
  const page = /"?has_more"?:\s*true/.test(text) ? times + 1 : undefined
  if (page !== undefined && page < 9) return call([first[0], { page }])
  const good = wanted === undefined ? undefined : results.findLast((one) => wanted.test(one))
  if (good !== undefined) return ScriptedModel.text(found + good)
  if (called.length >= 6) return giveUp(text)
  const room = /(?:Free rooms|Freie Zimmer): (\w+)/.exec(text)?.[1]
  if (room !== undefined) return call([first[0], { room }])
  // The other tool says that the first one did nothing, so the first one may be called again.
  if (/\bnot paid\b/.test(text)) return call(first)
  if (times <= repeatsOf(request, first[0], manner)) return call(first)
  return other !== undefined && !called.some(isCall(other)) ? call(other) : giveUp(text)
}

/** Whether a result, or a note of the program, names what is right, or the model's own list of tools does. */
const isCorrected = ([named, [tool]]: NonNullable<Goal["corrected"]>, request: Request, text: string) => {
  const last = request.messages.at(-1)
  const told = last?.role === "system" || last?.role === "user" ? last.text : text
  return named.test(told) ||
    deniesTool(text) && text !== "" && request.tools.some(({ name }) => named.test(name) && name === tool)
}

const isCall =
  ([name, args = {}]: Call) => (made: { readonly name: string; readonly arguments?: string | undefined }) =>
    made.name === name && made.arguments === JSON.stringify(args)

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
