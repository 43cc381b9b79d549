/*
 * Makes a prompt from a transcript. Each message is converted once: on the next turn only the new ones are.
 */
import type { LanguageModelV3Message, LanguageModelV4Message } from "@ai-sdk/provider"
import type { ToolCall, Transcript } from "@fallible/core"
import { argumentsObject, fileNote, toolName } from "@fallible/core/ModelAdapter"
import * as Predicate from "effect/Predicate"
import { attachedPart, bytesOf, filePart, isFile, type Target, textPart, withoutDataUrl } from "./files.ts"
import { type Fields, textAt } from "./untyped.ts"

/** A message in the form of either version, which differ in their files. */
export type Message = LanguageModelV3Message | LanguageModelV4Message

/** What was made of the messages of a lineage. It grows in place. */
interface Known {
  readonly messages: Array<Message>
  /** How many messages of the transcript they stand for. */
  count: number
}

/** The prompts that were made so far. */
export class Prompts {
  readonly #target: Target
  readonly #known = new WeakMap<object, Known>()
  /** What was made of each message. A conversation that is continued has the messages of earlier runs. */
  readonly #made = new WeakMap<Transcript.Message, object>()

  constructor(target: Target) {
    this.#target = target
  }

  /** Returns the prompt of a transcript, as a new array. */
  of(transcript: Transcript.Transcript): Array<Message> {
    const known = this.#known.get(transcript.lineage)
    // An older transcript than the known one is rare.
    if (known !== undefined && known.count <= transcript.length) return this.#grown(known, transcript)
    const fresh: Known = { messages: [], count: 0 }
    if (known === undefined) this.#known.set(transcript.lineage, fresh)
    return this.#grown(fresh, transcript)
  }

  #grown(known: Known, transcript: Transcript.Transcript): Array<Message> {
    const added: Array<Message> = []
    let results: Array<object> | undefined
    for (let index = known.count; index < transcript.length; index++) {
      const message = transcript.at(index)!
      const made = this.#madeOf(message)
      if (message.role !== "tool") {
        results = undefined
        added.push(asMessage(made))
      } else if (results === undefined) {
        // The results of a turn are one message.
        results = [made]
        added.push(asMessage({ role: "tool", content: results }))
      } else results.push(made)
    }
    const prompt = known.messages.concat(added)
    // More results may follow, so a message of results is kept only if it is not the last.
    if (results !== undefined) added.pop()
    for (const message of added) known.messages.push(message)
    known.count = transcript.length - (results?.length ?? 0)
    return prompt
  }

  #madeOf(message: Transcript.Message): object {
    const known = this.#made.get(message)
    if (known !== undefined) return known
    const made = message.role === "tool" ? resultOf(message, this.#target) : messageOf(message, this.#target)
    this.#made.set(message, made)
    return made
  }
}

// A message was made in the form of the model's version. Its parts hold what its provider sent, which nothing can check.
const asMessage = (message: object) => message as Message

const messageOf = (message: Exclude<Transcript.Message, { readonly role: "tool" }>, target: Target): object => {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text, ...caching(message) }
    case "user":
      return { role: "user", content: contentOf(message, target), ...caching(message) }
    case "assistant":
      return { role: "assistant", content: assistantContent(message, target), ...caching(message) }
  }
}

// Each provider reads its own name. Those that have no such mark ignore it.
const caching = ({ cache = false }: { readonly cache?: boolean }) => cache ? { providerOptions: cacheMarks } : {}

const cacheMarks = {
  anthropic: { cacheControl: { type: "ephemeral" } },
  bedrock: { cachePoint: { type: "default" } },
  openrouter: { cacheControl: { type: "ephemeral" } }
}

// -----------------------------------------------------------------------------
// Users and tools
// -----------------------------------------------------------------------------

const contentOf = (
  { files = [], text }: Transcript.MessageOf<"user">,
  target: Target
): ReadonlyArray<object> => {
  const parts = files.map(withoutDataUrl).map((file) =>
    target.reads(file) ? filePart(file, target) : textPart(fileNote(file))
  )
  // Some providers refuse an empty text.
  return text === "" && parts.length > 0 ? parts : [textPart(text), ...parts]
}

const resultOf = (message: Transcript.MessageOf<"tool">, target: Target): object => {
  const { callId, files = [], name, text } = message
  return {
    type: "tool-result",
    toolCallId: callId,
    toolName: toolName(name),
    output: files.length === 0
      ? { type: "text", value: text }
      : {
        type: "content",
        value: [
          textPart(text),
          ...files.map(withoutDataUrl).map((file) =>
            target.reads(file) ? attachedPart(file, target) : textPart(fileNote(file))
          )
        ]
      },
    ...caching(message)
  }
}

// -----------------------------------------------------------------------------
// The model's own messages
// -----------------------------------------------------------------------------

/**
 * A message goes back to its provider as that provider sent it, with calls whose arguments any server accepts. A message from
 * elsewhere is rebuilt without the foreign fields.
 */
const assistantContent = (message: Transcript.MessageOf<"assistant">, target: Target): ReadonlyArray<object> => {
  const { calls, text } = message
  const own = nativeOf(message, target)
  if (own === undefined) return [...textsOf(text), ...calls.map((call) => callPart(call, noFields))]
  // If the text has been changed in the transcript since, the new text is sent.
  const isOwnText = textIn(own) === text
  const content: Array<object> = isOwnText ? [] : textsOf(text)
  const sent = matched(calls, own)
  for (const [index, part] of own.entries()) {
    const call = sent[index]
    if (call !== undefined) content.push(callPart(call, part))
    else if (!isOwnCall(part) && (isOwnText || part["type"] !== "text")) content.push(...asSent(part, target))
  }
  for (const call of calls) if (!sent.includes(call)) content.push(callPart(call, noFields))
  return content
}

const noFields: Fields = {}

const textIn = (parts: ReadonlyArray<Fields>): string => {
  let text = ""
  for (const part of parts) if (part["type"] === "text") text += textAt(part, "text") ?? ""
  return text
}

// Files were kept as JSON, and so were the arguments of calls that the provider ran.
const asSent = (part: Fields, target: Target): ReadonlyArray<object> => {
  const { file, ...rest } = part
  switch (part["type"]) {
    case "file":
    case "reasoning-file":
      if (!isFile(file)) return []
      return [target.reads(file) ? { ...rest, data: bytesOf(file, target) } : textPart(fileNote(file))]
    case "tool-call":
      return [{ ...part, input: argumentsObject({ arguments: textAt(part, "input") }) }]
    default:
      return [part]
  }
}

// Some providers refuse an empty text.
const textsOf = (text: string) => text === "" ? [] : [textPart(text)]

const nativeOf = (
  { native }: Transcript.MessageOf<"assistant">,
  { key }: Target
): ReadonlyArray<Fields> | undefined => {
  const content = Predicate.isObject(native) ? native[key] : undefined
  return Array.isArray(content) ? content.filter(Predicate.isObject) : undefined
}

const isOwnCall = (part: Fields): boolean => part["type"] === "tool-call" && part["providerExecuted"] !== true

/**
 * Returns for each part the call that the provider sent as it. Calls may have other ids by now, and one that came twice is
 * left out, but they have the same names and order.
 */
const matched = (
  calls: ReadonlyArray<ToolCall.ToolCall>,
  parts: ReadonlyArray<Fields>
): ReadonlyArray<ToolCall.ToolCall | undefined> => {
  const found: Array<ToolCall.ToolCall | undefined> = parts.map(() => undefined)
  for (const isSame of [hasSameId, hasSameName]) {
    for (const call of calls) {
      if (found.includes(call)) continue
      const at = parts.findIndex((part, index) => found[index] === undefined && isOwnCall(part) && isSame(call, part))
      if (at >= 0) found[at] = call
    }
  }
  return found
}

const hasSameName = (call: ToolCall.ToolCall, part: Fields): boolean => call.name === part["toolName"]

const hasSameId = (call: ToolCall.ToolCall, part: Fields): boolean =>
  call.id === part["toolCallId"] && hasSameName(call, part)

const callPart = (call: ToolCall.ToolCall, part: Fields): object => ({
  ...part,
  type: "tool-call",
  toolCallId: call.id,
  toolName: toolName(call.name),
  input: argumentsObject(call)
})
