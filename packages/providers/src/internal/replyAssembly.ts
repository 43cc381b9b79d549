/**
 * Assembles a reply from the pieces that a server sends, in the server's own form.
 *
 * Both formats (OpenAI's and Ollama's) have the same message in different envelopes: text, and calls as `{
 * id, function: { name, arguments } }`. A server's extra fields (the model's reasoning, signatures) are kept,
 * because they must be sent back unchanged.
 */
import type { Model, ToolCall } from "@fallible/core"
import * as Iterable from "effect/Iterable"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { asJson, type Fields, isObjectText, write } from "./json.ts"
import type { Server } from "./server.ts"
import { type Path, sourcesAt } from "./sourceText.ts"

/** A message, or a piece of one. The schema is lenient, because servers are careless. */
export const Message = Schema.Struct({
  content: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.String, Schema.Array(Schema.Unknown)]))),
  refusal: Schema.optionalKey(Schema.NullOr(Schema.String)),
  tool_calls: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Record(Schema.String, Schema.Unknown))))
})

/** The content of one piece, in any format. */
export interface Chunk {
  /** A part of the message. */
  readonly delta?: Fields
  /** The whole message, or a part of it if the format has no deltas. */
  readonly message: Fields
  readonly usage?: Model.Usage | undefined
  /** Why the model stopped, once it has. */
  readonly finish?: "stop" | "length" | "refused" | "failed" | undefined
  /** Whether this is the last piece, or a whole reply. */
  readonly done: boolean
}

/** Returns the text of a message. Some servers send the text as a list of parts. */
export const textOf = ({ message }: Pick<Chunk, "message">): string => contentText(message["content"])

const contentText = (content: unknown): string =>
  typeof content === "string"
    ? content
    : Array.isArray(content)
    ? content.map((part: unknown) => stringAt(part, "text")).join("")
    : ""

/** Returns what the model thought. Servers have different names for it, and some send it under two of them. */
const reasoningOf = (message: Fields): string =>
  thoughtFields.map((name) => stringAt(message, name)).find((text) => text !== "") ?? ""

// Of DeepSeek and vLLM; of OpenRouter and Groq; of Ollama.
const thoughtFields = ["reasoning_content", "reasoning", "thinking"]

/** Replaces arguments that the server sent as an object by their source text. */
export const withSources = (message: Fields, body: string, path: Path): Fields => {
  const calls = callsAt(message)
  if (!calls.some((call) => isParsed(argumentsOf(call)))) return message
  const sources = sourcesAt(body, path)
  return {
    ...message,
    tool_calls: calls.map((call, index) =>
      isParsed(argumentsOf(call))
        ? {
          ...call,
          function: { ...functionOf(call), arguments: sources.get(index) ?? JSON.stringify(argumentsOf(call)) }
        }
        : call
    )
  }
}

// -----------------------------------------------------------------------------
// Putting pieces together
// -----------------------------------------------------------------------------

/**
 * A streamed reply so far. It grows in place, because a long reply has thousands of pieces.
 *
 * Some servers end a reply with the whole message, which says everything again. It adds what the pieces left out,
 * and takes nothing away. If the two differ, the pieces are believed about the text, which has been shown by then.
 * The message is believed about a call: nothing has run yet, and the server wrote the message with all of the
 * model's output at hand.
 */
export class Assembly {
  readonly #message: Growing = {}
  #hasDeltas = false
  #usage: Model.Usage | undefined
  #finish: Chunk["finish"]

  /** Adds a piece. Returns what is new. */
  add({ delta = {}, finish, message, usage }: Chunk): ReadonlyArray<Delta> {
    this.#usage = usage ?? this.#usage
    this.#finish = finish ?? this.#finish
    this.#hasDeltas ||= hasFields(delta)
    merge(this.#message, delta)
    const thoughts = this.#hasDeltas ? reasoningOf(delta) : reasoningOf(message)
    const added = textOf({ message: delta })
    const text = hasFields(message) ? added + this.#addMessage(message, finish !== undefined) : added
    return [
      ...(thoughts === "" ? [] : [{ _tag: "ReasoningDelta", text: thoughts } as const]),
      ...(text === "" ? [] : [{ _tag: "TextDelta", text } as const]),
      ...this.#argumentsIn(delta)
    ]
  }

  /** Returns the pieces of arguments in a piece that was added, for display. */
  #argumentsIn(delta: Fields): ReadonlyArray<Delta> {
    const pieces = callsAt(delta)
    if (pieces.length === 0) return none
    const calls = callsAt(this.#message)
    const places = pieces.map((piece) => lastCallOf(calls, piece))
    return pieces.flatMap((piece, number): ReadonlyArray<Delta> => {
      const at = places[number] ?? -1
      // Pieces of several calls may have the same index, or none. What belongs to which call is not shown then.
      if (places.indexOf(at) !== places.lastIndexOf(at)) return []
      const text = stringAt(functionOf(piece), "arguments")
      const tool = stringAt(functionOf(calls[at] ?? {}), "name")
      return text === "" ? [] : [{ _tag: "ArgumentsDelta", call: at, tool, text }]
    })
  }

  #addMessage(message: Fields, isLast: boolean): string {
    const isWhole = this.#hasDeltas || (isLast && repeats(this.#message, message))
    const text = textOf({ message })
    const added = isWhole ? restOf(textOf({ message: this.#message }), text) : text
    merge(this.#message, message, isWhole)
    return added
  }

  /** Whether the model has said why it stopped. */
  get isFinished(): boolean {
    return this.#finish !== undefined
  }

  get chunk(): Chunk {
    return { message: this.#message, usage: this.#usage, finish: this.#finish, done: true }
  }
}

type Delta = Exclude<Model.Part, { readonly _tag: "Replied" }>

const none: ReadonlyArray<never> = []

const hasFields = (message: Fields): boolean => Object.keys(message).length > 0

/** Returns what a whole text adds to the text so far. */
const restOf = (before: string, whole: string): string => whole.startsWith(before) ? whole.slice(before.length) : ""

/** True if a message begins with everything that was said so far: with the text, the calls, or both. */
const repeats = (all: Fields, message: Fields): boolean => {
  const [before, text] = [textOf({ message: all }), textOf({ message })]
  const [callsBefore, calls] = [callsAt(all), callsAt(message)]
  const repeatsText = before === "" || text === "" ? undefined : text.startsWith(before)
  const repeatsCalls = callsBefore.length === 0 || calls.length === 0
    ? undefined
    : callsBefore.every((call, index) => isEqualCall(call, calls[index]))
  return (repeatsText ?? repeatsCalls) === true && (repeatsCalls ?? repeatsText) === true
}

// A message that grows in place. All its values were parsed for this reply and are not shared, so they may change.
type Growing = Record<string, unknown>

/** Merges a piece of a message into it, or the message as a whole. */
const merge = (all: Growing, piece: Fields, isWhole = false, depth = 0): void => {
  for (const [key, value] of Object.entries(piece)) {
    // A model never means this key, and setting it would change the object's prototype.
    if (key === "__proto__") continue
    if (key === "tool_calls") all[key] = isWhole ? replaceCalls(all[key], value) : mergeCalls(all[key], value)
    else all[key] = isWhole ? restate(key, all[key], value, depth) : joinValues(key, all[key], value, depth)
  }
}

// The fields that keep their first value, although some servers repeat them in every piece.
const labels: ReadonlySet<string> = new Set(["role", "type", "id", "index"])

// The deepest nesting that is merged. No server's reply is this deep.
const deepest = 64

const joinValues = (key: string, before: unknown, value: unknown, depth: number): unknown => {
  if (isEmpty(before)) return value
  if (isEmpty(value) || labels.has(key)) return before
  if (typeof before === "string" && typeof value === "string") {
    return key === "name" && before === value ? before : before + value
  }
  if (key === "content" && !(Array.isArray(before) && Array.isArray(value))) {
    return joinValues(key, contentParts(before), contentParts(value), depth)
  }
  if (Array.isArray(before) && Array.isArray(value)) {
    for (const element of value) before.push(element)
    return before
  }
  if (!isGrowing(before) || !Predicate.isObject(value) || depth > deepest) return value
  merge(before, value, false, depth + 1)
  return before
}

const restate = (key: string, before: unknown, value: unknown, depth: number): unknown => {
  if (isEmpty(before)) return value
  if (isEmpty(value) || labels.has(key)) return before
  if (key === "content") return joinValues(key, before, restOf(contentText(before), contentText(value)), depth)
  // A text that was cut off says less than the pieces.
  if (typeof before === "string" && typeof value === "string" && before.startsWith(value)) return before
  if (!isGrowing(before) || !isGrowing(value) || depth > deepest) return value
  merge(before, value, true, depth + 1)
  return before
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0)

const isGrowing = (value: unknown): value is Growing => Predicate.isObject(value)

/** Returns content as a list of parts. A string is a single part. */
const contentParts = (content: unknown): ReadonlyArray<unknown> =>
  Array.isArray(content) ? content : [{ type: "text", text: content }]

const mergeCalls = (before: unknown, pieces: unknown): unknown => {
  const calls: Array<Growing> = Array.isArray(before) ? before : []
  const countBefore = calls.length
  for (const piece of callsAt({ tool_calls: pieces })) {
    const at = indexOfCall(calls, piece, countBefore)
    const call = calls[at]
    if (call === undefined) calls.push({ ...piece })
    // Arguments that are complete have no further pieces, so this piece says them again.
    else if (!isEqualCall(call, piece) || !isComplete(call)) merge(call, piece)
  }
  return calls
}

/** Returns the calls so far as the whole message tells them. A call that only the pieces had stays. */
const replaceCalls = (before: unknown, whole: unknown): unknown => {
  const calls: Array<Growing> = Array.isArray(before) ? before : []
  const left = new Map(callsAt({ tool_calls: whole }).entries())
  const free = new Set(calls)
  const isInPlace = (call: Growing, _: Fields, at: number) => call === calls[at]
  for (const isSame of [hasEqualId, isEqualCall, isInPlace]) {
    for (const [at, told] of left) {
      const call = Option.getOrUndefined(Iterable.findFirst(free, (call) => isSame(call, told, at)))
      if (call === undefined) continue
      free.delete(call)
      left.delete(at)
      // Arguments that are not complete may be a piece. They say no more than the deltas, if these have any.
      if (isComplete(told) || textAt(call) === "") merge(call, told, true)
    }
  }
  return [...calls, ...left.values()]
}

const hasEqualId = (a: Fields, b: Fields): boolean =>
  stringAt(a, "id") !== "" && stringAt(a, "id") === stringAt(b, "id")

/** True if two calls have the same name and the same arguments, whatever their ids. */
const isEqualCall = (a: Fields, b: Fields = {}): boolean =>
  stringAt(functionOf(a), "name") === stringAt(functionOf(b), "name") && textAt(a) === textAt(b)

const textAt = (call: Fields): string => stringAt(functionOf(call), "arguments").trim()

// Without an index, a piece belongs to the last call.
const lastCallOf = (calls: ReadonlyArray<Fields>, { index }: Fields): number =>
  typeof index === "number" ? calls.findLastIndex((call) => call["index"] === index) : calls.length - 1

/**
 * Returns the index of the call that a piece belongs to; -1 if it begins a new one. Calls from the index
 * `countBefore` on came together with the piece.
 */
const indexOfCall = (calls: ReadonlyArray<Fields>, piece: Fields, countBefore: number): number => {
  const at = lastCallOf(calls, piece)
  const call = calls[at]
  if (call === undefined || stringAt(functionOf(piece), "name") === "") return at
  return at >= countBefore || isAnotherCall(call, piece) ? -1 : at
}

/**
 * True if a piece with a name begins a new call. Some servers repeat the name of a call, and some give all
 * calls the index 0.
 */
const isAnotherCall = (call: Fields, piece: Fields): boolean => {
  const [before, id] = [stringAt(call, "id"), stringAt(piece, "id")]
  if (before !== "" && id !== "" && before !== id) return true
  const isSameCall = typeof piece["index"] === "number" && before !== "" && before === id
  return !isSameCall && isComplete(call)
}

/** True if a call's arguments are the text of an object. */
const isComplete = (call: Fields): boolean => textAt(call).endsWith("}") && isObjectText(textAt(call))

// -----------------------------------------------------------------------------
// The reply
// -----------------------------------------------------------------------------

/** Makes a reply. Its `native` keeps the message in the server's own form, under the server's address. */
export const toReply = ({ endpoint, model }: Server, { finish, message, usage }: Chunk): Model.Reply => {
  const reasoning = reasoningOf(message)
  return {
    text: textOf({ message }),
    calls: callsAt(message).map(toCall),
    model,
    ...(usage === undefined ? {} : { usage }),
    ...(finish === "length" ? { truncated: true } : {}),
    ...(reasoning === "" ? {} : { reasoning }),
    ...nativeOf(endpoint.url, message)
  }
}

// A message that is nested too deeply to be written cannot be sent back.
const nativeOf = (provider: string, message: Fields): Pick<Model.Reply, "native"> =>
  Option.isNone(write(message)) ? {} : { native: { [provider]: asJson(message) } }

const toCall = (call: Fields): ToolCall.ToolCall => {
  const text = argumentsOf(call)
  return {
    id: stringAt(call, "id"),
    name: stringAt(functionOf(call), "name"),
    ...(typeof text === "string" ? { arguments: text } : {})
  }
}

/** Returns the calls of a message. */
export const callsAt = (message: Fields): ReadonlyArray<Fields> =>
  Array.isArray(message["tool_calls"]) ? message["tool_calls"].filter(Predicate.isObject) : []

/** Returns the function of a call: its name and its arguments. */
export const functionOf = (call: Fields): Fields => Predicate.isObject(call["function"]) ? call["function"] : {}

const argumentsOf = (call: Fields): unknown => functionOf(call)["arguments"]

const isParsed = (value: unknown): boolean => value !== undefined && value !== null && typeof value !== "string"

const stringAt = (value: unknown, key: string): string => {
  const text = Predicate.isObject(value) ? value[key] : undefined
  return typeof text === "string" ? text : ""
}
