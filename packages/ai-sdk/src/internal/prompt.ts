/*
 * Makes a prompt from a transcript. Each message is converted once: on the next turn only the new ones are.
 */
import type { LanguageModelV3Message, LanguageModelV4Message } from "@ai-sdk/provider"
import type { ToolCall, Transcript } from "@fallible/core"
import { argumentsObject, fileNote, toolName } from "@fallible/core/ModelAdapter"
import * as Predicate from "effect/Predicate"
import { attachedPart, bytesOf, filePart, isFile, type Target, textPart, withoutDataUrl } from "./files.ts"
import { type Fields, frozenCopyOf, textAt } from "./untyped.ts"

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
    let asked = assistantBefore(transcript, known.count)
    let results: Array<object> | undefined
    for (let index = known.count; index < transcript.length; index++) {
      const message = transcript.at(index)!
      if (message.role === "assistant") asked = message
      const made = this.#madeOf(message, asked)
      if (message.role !== "tool") {
        results = undefined
        // Some providers refuse empty instructions.
        if (message.role !== "system" || !isBlank(message.text)) added.push(asMessage(made))
      } else if (results === undefined) {
        // The results of a turn are one message.
        results = [made]
        added.push(asMessage({ role: "tool", content: results }))
      } else results.push(made)
    }
    const prompt = known.messages.concat(added)
    for (const message of added) Object.freeze(Object.freeze(message).content)
    // More results may follow, so a message of results is kept only if it is not the last.
    if (results !== undefined) added.pop()
    for (const message of added) known.messages.push(message)
    known.count = transcript.length - (results?.length ?? 0)
    return prompt
  }

  // The message that a result belongs to is the same wherever the result is.
  #madeOf(message: Transcript.Message, asked: Transcript.MessageOf<"assistant"> | undefined): object {
    const known = this.#made.get(message)
    if (known !== undefined) return known
    // A copy: the transcript has what a provider sent, and may go on elsewhere.
    const made = frozenCopyOf(
      message.role === "tool" ? resultOf(message, asked, this.#target) : messageOf(message, this.#target)
    )
    this.#made.set(message, made)
    return made
  }
}

const assistantBefore = (transcript: Transcript.Transcript, index: number) => {
  const before = transcript.at(index - 1)
  return before?.role === "assistant" ? before : undefined
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
  return isBlank(text) ? parts.length > 0 ? parts : [nothingSaid] : [textPart(text), ...parts]
}

const isBlank = (text: string): boolean => text.trim() === ""

// Some providers refuse a message without a text.
const nothingSaid = textPart("(no text)")

const resultOf = (
  message: Transcript.MessageOf<"tool">,
  asked: Transcript.MessageOf<"assistant"> | undefined,
  target: Target
): object => {
  const { approved, callId, name } = message
  const isOwn = asked !== undefined && nativeOf(asked, target) !== undefined
  const approval = approved === undefined ? undefined : asked?.calls.find(({ id }) => id === callId)?.approval
  if (isOwn && approval !== undefined) return { type: "tool-approval-response", approvalId: approval, approved }
  const files = (message.files ?? []).map(withoutDataUrl)
  const attached = files.filter((file) => target.reads(file) && isReadInResults(file))
  const elsewhere = approved === undefined ? [] : ["This was a request of another provider. Its call did not run."]
  const notes = files.filter((file) => !attached.includes(file)).map(fileNote)
  // One text: some providers take each text as a result of its own.
  const text = [...(message.text === "" && notes.length > 0 ? [] : [message.text]), ...notes, ...elsewhere].join("\n")
  return {
    type: "tool-result",
    toolCallId: isOwn ? callId : foreignId(callId),
    toolName: nameFor(target, name),
    output: attached.length === 0
      ? { type: "text", value: text }
      : {
        type: "content",
        value: [
          ...(isBlank(text) ? [nothingSaid] : [textPart(text)]),
          ...attached.map((file) => attachedPart(file, target))
        ]
      },
    ...caching(message)
  }
}

// Some packages drop all other files of a result, and only warn.
const isReadInResults = ({ mediaType = "image/*" }: Transcript.File): boolean =>
  mediaType.startsWith("image/") || mediaType === "application/pdf"

// At Google, a name begins with a letter or `_`.
const nameFor = ({ key }: Target, name: string): string => {
  const valid = toolName(name)
  return /google|vertex/.test(key) && /^[\d-]/.test(valid) ? `_${valid}`.slice(0, 64) : valid
}

// Some providers refuse ids of other forms than their own.
const foreignId = (id: string): string => id.replace(/[^\w-]/g, "_").slice(-64)

// -----------------------------------------------------------------------------
// The model's own messages
// -----------------------------------------------------------------------------

/**
 * A message goes back to its provider as that provider sent it, with calls whose arguments any server accepts. A message from
 * elsewhere is rebuilt without the foreign fields.
 */
const assistantContent = (message: Transcript.MessageOf<"assistant">, target: Target): ReadonlyArray<object> => {
  const { text } = message
  const own = nativeOf(message, target)
  // To approve a call of the provider is no call of the model's.
  const calls = own === undefined ? message.calls : message.calls.filter(({ approval }) => approval === undefined)
  if (own === undefined) {
    return orNothing([
      ...textsOf(text),
      ...calls.map((call) => callPart(target, { ...call, id: foreignId(call.id) }, noFields))
    ])
  }
  // If the text has been changed in the transcript since, the new text is sent.
  const isOwnText = textIn(own) === text
  const content: Array<object> = isOwnText ? [] : textsOf(text)
  const sent = matched(calls, own)
  for (const [index, part] of own.entries()) {
    const call = sent[index]
    if (call !== undefined) content.push(callPart(target, call, part))
    else if (!isOwnCall(part) && (isOwnText || part["type"] !== "text")) content.push(...asSent(part, target))
  }
  for (const call of calls) if (!sent.includes(call)) content.push(callPart(target, call, noFields))
  return orNothing(content)
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
    case "text":
      return isBlank(textAt(part, "text") ?? "") && part["providerOptions"] === undefined ? [] : [part]
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

const textsOf = (text: string) => isBlank(text) ? [] : [textPart(text)]

const orNothing = (parts: ReadonlyArray<object>): ReadonlyArray<object> => parts.length === 0 ? [nothingSaid] : parts

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

const callPart = (target: Target, call: ToolCall.ToolCall, part: Fields): object => ({
  ...part,
  type: "tool-call",
  toolCallId: call.id,
  toolName: nameFor(target, call.name),
  input: argumentsObject(call)
})
