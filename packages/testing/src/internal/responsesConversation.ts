/** The conversation in a request of OpenAI's Responses API: its form and its rules. */
import type { Transcript } from "@fallible/core"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { ArgumentText, fileOf, Name } from "./chatCompletions.ts"
import { firstProblem } from "./messageHistory.ts"
import { type OwnItem, sign } from "./scriptedReply.ts"

// -----------------------------------------------------------------------------
// Form
// -----------------------------------------------------------------------------

const optionalText = Schema.optionalKey(Schema.NullOr(Schema.String))

/** A media item may be given in one of several ways. */
const Part = Schema.Union([
  Schema.Struct({ type: Schema.Literal("input_text"), text: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("input_image"),
    image_url: optionalText,
    file_id: optionalText,
    detail: Schema.optionalKey(Schema.Literals(["low", "high", "auto", "original"]))
  }),
  Schema.Struct({
    type: Schema.Literal("input_file"),
    file_data: optionalText,
    file_url: optionalText,
    file_id: optionalText,
    filename: optionalText
  })
])

const Parts = Schema.Union([Schema.String, Schema.Array(Part)])

/** Returns the schema of an item's id. */
const idOf = (prefix: string) => Schema.String.check(Schema.isStartingWith(prefix))

const status = Schema.optionalKey(Schema.NullOr(Schema.Literals(["in_progress", "completed", "incomplete"])))
const type = Schema.Literal("message")

const Said = Schema.Struct({
  type,
  role: Schema.Literals(["user", "system", "developer"]),
  content: Parts,
  id: Schema.optionalKey(idOf("msg")),
  status
})

const Replied = Schema.Struct({
  type,
  role: Schema.Literal("assistant"),
  content: Schema.Union([
    Schema.String,
    Schema.Array(Schema.Union([
      Schema.Struct({
        type: Schema.Literal("output_text"),
        text: Schema.String,
        annotations: Schema.optionalKey(Schema.Array(Schema.Unknown)),
        logprobs: Schema.optionalKey(Schema.Array(Schema.Unknown))
      }),
      Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String })
    ]))
  ]),
  id: Schema.optionalKey(idOf("msg")),
  status,
  phase: optionalText
})

const FunctionCall = Schema.Struct({
  type: Schema.Literal("function_call"),
  call_id: Schema.NonEmptyString,
  name: Name,
  arguments: ArgumentText,
  id: Schema.optionalKey(idOf("fc")),
  status
})

const FunctionCallOutput = Schema.Struct({
  type: Schema.Literal("function_call_output"),
  call_id: Schema.NonEmptyString,
  output: Parts,
  id: Schema.optionalKey(Schema.NullOr(idOf("fc"))),
  status
})

const Reasoning = Schema.Struct({
  type: Schema.Literal("reasoning"),
  id: idOf("rs"),
  summary: Schema.Array(Schema.Struct({ type: Schema.Literal("summary_text"), text: Schema.String })),
  content: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Unknown))),
  encrypted_content: optionalText,
  status
})

const Reference = Schema.Struct({ type: Schema.Literal("item_reference"), id: Schema.String })

const ApprovalRequest = Schema.Struct({
  type: Schema.Literal("mcp_approval_request"),
  id: idOf("mcpr"),
  name: Schema.String,
  arguments: Schema.String,
  server_label: Schema.String
})

const ApprovalResponse = Schema.Struct({
  type: Schema.Literal("mcp_approval_response"),
  approval_request_id: Schema.String,
  approve: Schema.Boolean,
  id: Schema.optionalKey(Schema.NullOr(Schema.String)),
  reason: optionalText
})

export const Item = Schema.Union([
  Said,
  Replied,
  FunctionCall,
  FunctionCallOutput,
  Reasoning,
  ApprovalRequest,
  ApprovalResponse,
  Reference
])
export type Item = typeof Item.Type

/** Writes the type of messages, which may be left out, and puts stored items in place of references. */
export const resolve = (input: unknown, stored: ReadonlyMap<unknown, OwnItem>): unknown =>
  Array.isArray(input)
    ? input.map((item: unknown) =>
      Predicate.hasProperty(item, "role")
        ? { type: "message", ...item }
        : Predicate.hasProperty(item, "id") && isReference(item)
        ? stored.get(item.id) ?? item
        : item
    )
    : input

const isReference = (item: object): boolean => "type" in item && item.type === "item_reference"

// -----------------------------------------------------------------------------
// Rules
// -----------------------------------------------------------------------------

/** Returns what is wrong with a conversation, in the words of the real server. */
export const problemIn = (items: ReadonlyArray<Item>, isStored: boolean): string | undefined =>
  firstProblem(items, (item, index) => itemProblem(item, items.slice(0, index), items.slice(index + 1), isStored)) ??
    callProblem(items)

const itemProblem = (
  item: Item,
  before: ReadonlyArray<Item>,
  after: ReadonlyArray<Item>,
  isStored: boolean
): string | undefined => {
  if (item.type === "item_reference") return isStored ? `Item with id '${item.id}' not found.` : notStored(item.id)
  if (item.type === "reasoning") return reasoningProblem(item, after, isStored)
  if (item.type === "mcp_approval_response") {
    const { approval_request_id: id } = item
    return before.some((other) => other.type === "mcp_approval_request" && other.id === id)
      ? undefined
      : `No approval request found for approval response with approval_request_id ${id}.`
  }
  const reasoning = reasoningIdOf(item)
  return reasoning === undefined || before.some((other) => other.type === "reasoning" && other.id === reasoning)
    ? undefined
    : `Item '${item.id}' of type '${item.type}' was provided without its required 'reasoning' item: '${reasoning}'.`
}

const notStored = (id: string): string =>
  `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. ` +
  "Try again with `store` set to true, or remove this item from your input."

const reasoningProblem = (
  { encrypted_content: encrypted = null, id }: typeof Reasoning.Type,
  after: ReadonlyArray<Item>,
  isStored: boolean
): string | undefined => {
  if (encrypted === null && !isStored) return notStored(id)
  if (encrypted !== null && encrypted !== sign(id)) {
    return `The encrypted content for item ${id} could not be verified. ` +
      "Reason: Encrypted content could not be decrypted or parsed."
  }
  const next = after.find(({ type }) => type !== "reasoning")
  const isReplied = next !== undefined && (next.type === "function_call" || "role" in next && next.role === "assistant")
  return isReplied && (reasoningIdOf(next) ?? id) === id
    ? undefined
    : `Item '${id}' of type 'reasoning' was provided without its required following item.`
}

/** The id of an item that came with reasoning. */
export const idWith = (prefix: string, reasoning: string, index: number): string =>
  `${prefix}_${reasoning.slice("rs_".length)}_after_${index}`

const reasoningIdOf = (item: Item): string | undefined => {
  const [, reasoning] = /^[a-z]+_(.*)_after_\d+$/.exec(item.id ?? "") ?? []
  return reasoning === undefined ? undefined : `rs_${reasoning}`
}

const callProblem = (items: ReadonlyArray<Item>): string | undefined => {
  const pending = new Set<string>()
  const problem = firstProblem(items, (item) => {
    if (item.type === "function_call") {
      if (pending.has(item.call_id)) return unanswered(item.call_id)
      pending.add(item.call_id)
    }
    if (item.type === "function_call_output" && !pending.delete(item.call_id)) {
      return `No tool call found for function call output with call_id ${item.call_id}.`
    }
    return undefined
  })
  const [first] = pending
  return problem ?? (first === undefined ? undefined : unanswered(first))
}

const unanswered = (id: string): string => `No tool output found for function call ${id}.`

// -----------------------------------------------------------------------------
// Transcript
// -----------------------------------------------------------------------------

export const transcriptOf = (items: ReadonlyArray<Item>): ReadonlyArray<Transcript.Message> => {
  const names = new Map<string, string>()
  const messages: Array<Transcript.Message> = []
  for (const item of items) {
    if (item.type === "function_call") names.set(item.call_id, item.name)
    const message = messageOf(item, names)
    const last = messages.at(-1)
    if (message?.role === "assistant" && last?.role === "assistant") {
      const { calls, text } = message
      messages.splice(-1, 1, { ...last, text: last.text + text, calls: [...last.calls, ...calls] })
    } else if (message !== undefined) messages.push(message)
  }
  return messages
}

const messageOf = (item: Item, names: ReadonlyMap<string, string>): Transcript.Message | undefined => {
  if (!("content" in item) && item.type !== "function_call" && item.type !== "function_call_output") return undefined
  if (item.type === "reasoning") return undefined
  if (item.type === "function_call") {
    const { arguments: text, call_id: id, name } = item
    return { role: "assistant", text: "", calls: [{ id, name, arguments: text }] }
  }
  if (item.type === "function_call_output") {
    const { call_id: callId, output } = item
    return { role: "tool", callId, name: names.get(callId) ?? "", text: textOf(output) }
  }
  return item.role === "assistant" ? { role: "assistant", text: textOf(item.content), calls: [] } : saidIn(item)
}

const saidIn = ({ content, role }: typeof Said.Type): Transcript.Message => {
  const text = textOf(content)
  if (role !== "user") return { role: "system", text }
  if (typeof content === "string") return { role, text }
  const urls = content.flatMap((part) => part.type === "input_image" ? [part.image_url ?? ""] : [])
  return { role, text, ...(urls.length === 0 ? {} : { files: urls.map(fileOf) }) }
}

const textOf = (content: typeof Parts.Type | typeof Replied.Type["content"]): string =>
  typeof content === "string"
    ? content
    : content.flatMap((part) => "text" in part ? [part.text] : "refusal" in part ? [part.refusal] : []).join("")
