/**
 * Two ways to listen, for any script: a model that heeds every word of advice in the results of its tools, and a model
 * that is deaf to advice and sees only data. Advice that makes the first one end worse than the second is bad advice.
 */
import type { Transcript } from "@fallible/core"
import type * as CoreModel from "@fallible/core/Model"
import { ScriptedModel } from "@fallible/testing"
import type * as FakeModelServer from "@fallible/testing/FakeModelServer"

type Request = ScriptedModel.Recorded
type Result = Transcript.MessageOf<"tool">
type Call = CoreModel.Reply["calls"][number]

const moveOf = (script: FakeModelServer.Script, request: Request, index: number): FakeModelServer.Move =>
  typeof script === "function" ? script(request, index) : script[index] ?? ScriptedModel.text("")

// -----------------------------------------------------------------------------
// Deaf
// -----------------------------------------------------------------------------

/** A script that never sees advice: neither notes beside a value, nor what a failure says to do next. */
export const deaf = (script: FakeModelServer.Script): FakeModelServer.Script => (request, index) =>
  moveOf(script, { ...request, messages: request.messages.map(withoutAdvice) }, index)

const withoutAdvice = (message: Transcript.Message): Transcript.Message =>
  message.role === "tool" ? { ...message, text: dataOf(message.text) } : message

/** The data of a result. */
export const dataOf = (text: string): string => {
  const lines = text.split("\n")
  const value = parsed(text) ?? parsed(lines[0] ?? "")
  // A text without JSON is a document, or it ends with lines of notes.
  if (value === undefined) return lines.filter((line) => !/^Notes?:/.test(line)).join("\n")
  return JSON.stringify(isNoted(value.json) ? value.json["value"] : withoutSuggestions(value.json))
}

const parsed = (text: string): { readonly json: unknown } | undefined => {
  try {
    return { json: JSON.parse(text) }
  } catch {
    return undefined
  }
}

type Fields = Readonly<Record<string, unknown>>

const isFields = (json: unknown): json is Fields => typeof json === "object" && json !== null && !Array.isArray(json)

const isNoted = (json: unknown): json is Fields =>
  isFields(json) && Object.keys(json).toSorted().join() === "notes,value"

const withoutSuggestions = (json: unknown): unknown => {
  if (!isFields(json) || json["ok"] !== false || !("retry" in json)) return json
  const { hint: _, notes: __, retry: ___, ...rest } = json
  return rest
}

// -----------------------------------------------------------------------------
// Heeding
// -----------------------------------------------------------------------------

/**
 * A script that follows the advice of the latest results to the letter, whatever it would do else. Where it may not repeat a
 * call, it does what the advice names instead, or answers with all that it has.
 */
export const heeding = (script: FakeModelServer.Script): FakeModelServer.Script => (request, index) => {
  const move = moveOf(script, request, index)
  if (!("calls" in move)) return move
  const told = latestOf(request)
  const asked = told.flatMap(({ result }) => orderOf(result.text)).find((call) => !isMade(request, move.calls, call))
  if (asked !== undefined) return ScriptedModel.call(...asked)
  const kept = move.calls.filter((call) => !told.some((one) => forbids(one, call)))
  if (move.calls.length === 0 || kept.length > 0) return { ...move, calls: kept }
  return instead(request, told)
}

interface Told {
  readonly call: Call
  readonly result: Result
}

/** The latest results, each with its call. */
const latestOf = ({ messages }: Request): ReadonlyArray<Told> => {
  const at = messages.findLastIndex(({ role }) => role === "assistant")
  const reply = messages[at]
  if (reply?.role !== "assistant") return []
  return messages.slice(at + 1).flatMap((result) => {
    const call = result.role === "tool" ? reply.calls.find(({ id }) => id === result.callId) : undefined
    return result.role === "tool" && call !== undefined ? [{ call, result }] : []
  })
}

const forbids = ({ call, result }: Told, next: Call): boolean => {
  if (next.name !== call.name) return false
  if (/do not call (this tool|it) again|do not call this tool/i.test(result.text)) return true
  return /do not (repeat|make) (this|the|that) call/i.test(result.text) && isSame(next, call)
}

const isSame = (one: Call, other: Call): boolean =>
  one.name === other.name && canonical(one.arguments) === canonical(other.arguments)

const canonical = (args: string | undefined): string => {
  const value = parsed(args ?? "{}")
  return value === undefined ? args ?? "" : JSON.stringify(sorted(value.json))
}

const sorted = (json: unknown): unknown => {
  if (Array.isArray(json)) return json.map(sorted)
  return isFields(json)
    ? Object.fromEntries(Object.keys(json).toSorted().map((key) => [key, sorted(json[key])]))
    : json
}

type Order = readonly [name: string, args: object]

/** A call that a result asks for without a condition: a sentence that begins with "Call x with {…}". */
const orderOf = (text: string): ReadonlyArray<Order> => callsIn(text, /(?:^|[.:"] ?)Call (\w+) with (?=\{)/g)

/** The calls that a text suggests, with their arguments: "call x with {…}", or "call x again with a=1, b=2". */
export const suggestedCalls = (text: string): ReadonlyArray<Order> => [
  ...callsIn(text, /\bcall (\w+) (?:again )?with (?=\{)/gi),
  ...Array.from(
    unescaped(text).matchAll(/\bcall (\w+) (?:again )?with (\w+=(?:"[^"]*"|[\w.-]+)(?:, \w+=(?:"[^"]*"|[\w.-]+))*)/gi),
    ([, name = "", assigned = ""]): Order => [name, argumentsOf(assigned)]
  )
]

const argumentsOf = (assigned: string): object =>
  Object.fromEntries(
    Array.from(
      assigned.matchAll(/(\w+)=("[^"]*"|[\w.-]+)/g),
      ([, key = "", value = ""]) => [key, parsed(value)?.json ?? value]
    )
  )

const callsIn = (text: string, pattern: RegExp): ReadonlyArray<Order> => {
  const plain = unescaped(text)
  return Array.from(plain.matchAll(pattern)).flatMap((match) => {
    const args = parsed(objectAt(plain, match.index + match[0].length))
    return match[1] !== undefined && isFields(args?.json) ? [[match[1], args.json] as const] : []
  })
}

/** A text whose quotes are escaped, as they are in the JSON of a result. */
const unescaped = (text: string): string => text.replaceAll("\\\"", "\"")

/** The text of the object that begins at a place. */
const objectAt = (text: string, start: number): string => {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    if (text[at] === "{") depth++
    if (text[at] === "}" && --depth === 0) return text.slice(start, at + 1)
  }
  return ""
}

/** Whether a call was made before, or is about to be made. */
const isMade = ({ messages }: Request, next: ReadonlyArray<Call>, [name, args]: Order): boolean => {
  const call: Call = { id: "", name, arguments: JSON.stringify(args) }
  const made = messages.flatMap((message) => message.role === "assistant" ? message.calls : [])
  return next.some((one) => one.name === name) || made.some((one) => isSame(one, call))
}

/** What the advice allows in place of a call: the call or the tool that it names, or an answer from what is known. */
const instead = (request: Request, told: ReadonlyArray<Told>): CoreModel.Reply => {
  const offered = new Set(request.tools.map(({ name }) => name))
  for (const { call, result } of told) {
    const named = suggestedCalls(result.text).find((one) => !isMade(request, [], one))
    if (named !== undefined) return ScriptedModel.call(...named)
    const other = /\b(?:call|use) (\w+) (?:instead|to find out)/i.exec(result.text)?.[1]
    if (other !== undefined && offered.has(other) && other !== call.name) {
      const args: unknown = parsed(call.arguments ?? "{}")?.json
      const order: Order = [other, isFields(args) ? args : {}]
      if (!isMade(request, [], order)) return ScriptedModel.call(...order)
    }
  }
  const results = request.messages.flatMap((message) => message.role === "tool" ? [message.text] : [])
  return ScriptedModel.text(`What I know so far: ${Array.from(new Set(results)).join(" ").slice(0, 20_000)}`)
}
