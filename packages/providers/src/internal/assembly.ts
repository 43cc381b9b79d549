/**
 * A reply in the making: the pieces that a server sends, put together in its own form.
 *
 * Both formats have the same message in different envelopes: a text, and calls as
 * `{ id, function: { name, arguments } }`. What else a server adds (its model's reasoning, signatures) is kept
 * with it, since it has to go back unchanged.
 */
import type { Model, ToolCall } from "@fallible/core"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { asJson, type Fields, isObjectText, write } from "./json.ts"
import { type Path, sourcesAt } from "./source.ts"

/** A message, or a piece of one, as lenient as servers are careless. */
export const Message = Schema.Struct({
  content: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.String, Schema.Array(Schema.Unknown)]))),
  refusal: Schema.optionalKey(Schema.NullOr(Schema.String)),
  tool_calls: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Record(Schema.String, Schema.Unknown))))
})

/** What one piece says, in any format. */
export interface Chunk {
  /** A message, or what is to be added to one. */
  readonly message: Fields
  readonly usage?: Model.Usage | undefined
  /** Why the model stopped, once it has. */
  readonly finish?: "stop" | "length" | "refused" | "failed" | undefined
  /** Is it the last piece, or a whole? */
  readonly done: boolean
}

/** The text of a piece. Some servers send it in parts. */
export const textOf = ({ message: { content } }: Pick<Chunk, "message">): string =>
  typeof content === "string"
    ? content
    : Array.isArray(content)
    ? content.map((part: unknown) => stringAt(part, "text")).join("")
    : ""

/** A message whose calls have the source text of their arguments, also where a server sent an object. */
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

/** What there is of a streamed reply. It grows in place: a long reply has thousands of pieces. */
export class Assembly {
  readonly #message: Growing = {}
  #usage: Model.Usage | undefined
  #finish: Chunk["finish"]

  add({ finish, message, usage }: Chunk): void {
    merge(this.#message, message)
    this.#usage = usage ?? this.#usage
    this.#finish = finish ?? this.#finish
  }

  /** Has the model said why it stopped? */
  get isFinished(): boolean {
    return this.#finish !== undefined
  }

  get chunk(): Chunk {
    return { message: this.#message, usage: this.#usage, finish: this.#finish, done: true }
  }
}

// All of it was parsed for this reply, and nobody else has it.
type Growing = Record<string, unknown>

const merge = (all: Growing, piece: Fields, depth = 0): void => {
  for (const [key, value] of Object.entries(piece)) {
    // Nobody means it, and to set it is to change what the object is.
    if (key === "__proto__") continue
    if (key === "tool_calls") all[key] = withCalls(all[key], value)
    else all[key] = joined(key, all[key], value, depth)
  }
}

// Said once, though some servers repeat them in every piece.
const labels: ReadonlySet<string> = new Set(["role", "type", "id", "index"])

// No server means more.
const deepest = 64

const joined = (key: string, before: unknown, value: unknown, depth: number): unknown => {
  if (before === undefined || before === null || before === "") return value
  if (value === null || value === "" || labels.has(key)) return before
  if (typeof before === "string" && typeof value === "string") {
    return key === "name" && before === value ? before : before + value
  }
  if (key === "content" && !(Array.isArray(before) && Array.isArray(value))) {
    return joined(key, contentParts(before), contentParts(value), depth)
  }
  if (Array.isArray(before) && Array.isArray(value)) {
    for (const element of value) before.push(element)
    return before
  }
  if (!isGrowing(before) || !Predicate.isObject(value) || depth > deepest) return value
  merge(before, value, depth + 1)
  return before
}

const isGrowing = (value: unknown): value is Growing => Predicate.isObject(value)

/** A content in parts, of which a text is one. */
const contentParts = (content: unknown): ReadonlyArray<unknown> =>
  Array.isArray(content) ? content : [{ type: "text", text: content }]

const withCalls = (before: unknown, pieces: unknown): unknown => {
  const calls: Array<Growing> = Array.isArray(before) ? before : []
  const begun = calls.length
  for (const piece of callsAt({ tool_calls: pieces })) {
    const at = belongingTo(calls, piece, begun)
    const call = calls[at]
    if (call === undefined) calls.push({ ...piece })
    else merge(call, piece)
  }
  return calls
}

/** Which call a piece belongs to; -1 when it begins a new one. Those from `begun` on came together with it. */
const belongingTo = (calls: ReadonlyArray<Fields>, piece: Fields, begun: number): number => {
  const { index } = piece
  // Without an index there is only the order.
  const at = typeof index === "number" ? calls.findLastIndex((call) => call["index"] === index) : calls.length - 1
  const call = calls[at]
  if (call === undefined || stringAt(functionOf(piece), "name") === "") return at
  return at >= begun || isOther(call, piece) ? -1 : at
}

/** A piece with a name may be of a call that has one: some servers repeat it, and some number all calls 0. */
const isOther = (call: Fields, piece: Fields): boolean => {
  const [before, id] = [stringAt(call, "id"), stringAt(piece, "id")]
  if (before !== "" && id !== "" && before !== id) return true
  const isSame = typeof piece["index"] === "number" && before !== "" && before === id
  const text = stringAt(functionOf(call), "arguments")
  return !isSame && text.trimEnd().endsWith("}") && isObjectText(text)
}

// -----------------------------------------------------------------------------
// The reply
// -----------------------------------------------------------------------------

/** A reply, which keeps the provider's own form under its name. */
export const toReply = (provider: string, { finish, message, usage }: Chunk): Model.Reply => ({
  text: textOf({ message }),
  calls: callsAt(message).map(toCall),
  ...(usage === undefined ? {} : { usage }),
  ...(finish === "length" ? { truncated: true } : {}),
  ...nativeOf(provider, message)
})

// What is nested too deeply to be written cannot go back.
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

/** The calls of a message. */
export const callsAt = (message: Fields): ReadonlyArray<Fields> =>
  Array.isArray(message["tool_calls"]) ? message["tool_calls"].filter(Predicate.isObject) : []

/** What a call is of. */
export const functionOf = (call: Fields): Fields => Predicate.isObject(call["function"]) ? call["function"] : {}

const argumentsOf = (call: Fields): unknown => functionOf(call)["arguments"]

const isParsed = (value: unknown): boolean => value !== undefined && value !== null && typeof value !== "string"

const stringAt = (value: unknown, key: string): string => {
  const found = Predicate.isObject(value) ? value[key] : undefined
  return typeof found === "string" ? found : ""
}
