/*
 * Makes a prompt from a transcript. Each message is converted once: on the next turn only the new ones are.
 */
import type { LanguageModelV3Message, LanguageModelV4Message } from "@ai-sdk/provider"
import type { ToolCall, Transcript } from "@fallible/core"
import { argumentsText, fileNote, toolName } from "@fallible/core/ModelAdapter"
import * as Predicate from "effect/Predicate"
import { type Fields, textAt } from "./untyped.ts"

/** A message in the form of either version, which differ in their files. */
export type Message = LanguageModelV3Message | LanguageModelV4Message

/** What a prompt depends on, beside its transcript. */
export interface Target {
  /** Whether files have the form of version 4. */
  readonly isV4: boolean
  /** The key under which the provider's own form of a message is kept. */
  readonly key: string
  /** Whether the model can be sent a file. Otherwise, it reads a note. */
  readonly reads: (file: Transcript.File) => boolean
}

/** The prompts that were made so far. */
export class Prompts {
  readonly #target: Target
  readonly #known = new WeakMap<object, { readonly count: number; readonly messages: ReadonlyArray<Message> }>()

  constructor(target: Target) {
    this.#target = target
  }

  /** Returns the prompt of a transcript, as a new array. */
  of(transcript: Transcript.Transcript): Array<Message> {
    const known = this.#known.get(transcript.lineage)
    const messages = known === undefined || known.count > transcript.length ? [] : known.messages.slice()
    let index = messages.length === 0 ? 0 : known?.count ?? 0
    let results: Array<object> = []
    let whole = { count: index, messages: messages.length }
    for (; index < transcript.length; index++) {
      const message = transcript.at(index)!
      if (message.role !== "tool") {
        // Some providers refuse empty instructions.
        if (message.role !== "system" || !isBlank(message.text)) messages.push(messageOf(message, this.#target))
        whole = { count: index + 1, messages: messages.length }
        continue
      }
      // The results of a turn are one message. More of them may follow later, so the message is not kept.
      if (transcript.at(index - 1)?.role !== "tool") {
        results = []
        messages.push(asMessage({ role: "tool", content: results }))
      }
      results.push(resultOf(message, this.#target))
      if (transcript.at(index + 1)?.role !== "tool" && index + 1 < transcript.length) {
        whole = { count: index + 1, messages: messages.length }
      }
    }
    this.#known.set(transcript.lineage, { count: whole.count, messages: messages.slice(0, whole.messages) })
    return messages
  }
}

// A message was made in the form of the model's version. Its parts hold what its provider sent, which nothing can check.
const asMessage = (message: object) => message as Message

const messageOf = (message: Exclude<Transcript.Message, { readonly role: "tool" }>, target: Target): Message => {
  switch (message.role) {
    case "system":
      return asMessage({ role: "system", content: message.text, ...caching(message) })
    case "user":
      return asMessage({ role: "user", content: contentOf(message, target), ...caching(message) })
    case "assistant":
      return asMessage({ role: "assistant", content: assistantContent(message, target), ...caching(message) })
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

const withoutDataUrl = (file: Transcript.File): Transcript.File => {
  const [, mediaType, base64] = "url" in file ? /^data:([^;,]+);base64,(.*)$/s.exec(file.url) ?? [] : []
  return mediaType === undefined || base64 === undefined
    ? file
    : { mediaType, base64, ...(file.name === undefined ? {} : { name: file.name }) }
}

const textPart = (text: string) => ({ type: "text", text })

// Some providers refuse a message without a text.
const nothingSaid = textPart("(no text)")

const filePart = (file: Transcript.File, target: Target): object => ({
  type: "file",
  mediaType: file.mediaType ?? "image/*",
  ...(file.name === undefined ? {} : { filename: file.name }),
  data: bytesOf(file, target)
})

const bytesOf = (file: Transcript.File, { isV4 }: Target): object | string =>
  "url" in file
    ? isV4 ? { type: "url", url: new URL(file.url) } : new URL(file.url)
    : isV4
    ? { type: "data", data: file.base64 }
    : file.base64

const resultOf = (message: Transcript.MessageOf<"tool">, target: Target): object => {
  const { callId, name } = message
  const files = (message.files ?? []).map(withoutDataUrl)
  const attached = files.filter((file) => target.reads(file) && isReadInResults(file))
  const notes = files.filter((file) => !attached.includes(file)).map(fileNote)
  // One text: some providers take each text as a result of its own.
  const text = [...(message.text === "" && notes.length > 0 ? [] : [message.text]), ...notes].join("\n")
  return {
    type: "tool-result",
    toolCallId: callId,
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

const attachedPart = (file: Transcript.File, target: Target): object => {
  if (target.isV4) return filePart(file, target)
  const { mediaType = "image/*" } = file
  const kind = mediaType.startsWith("image/") ? "image" : "file"
  return "url" in file
    ? { type: `${kind}-url`, url: file.url }
    : { type: `${kind}-data`, data: file.base64, mediaType }
}

// -----------------------------------------------------------------------------
// The model's own messages
// -----------------------------------------------------------------------------

/**
 * A message goes back to its provider as that provider sent it, with calls whose arguments any server accepts. A message from
 * elsewhere is rebuilt without the foreign fields.
 */
const assistantContent = (message: Transcript.MessageOf<"assistant">, target: Target): ReadonlyArray<object> => {
  const own = nativeOf(message, target)
  if (own === undefined) {
    return orNothing([...textsOf(message.text), ...message.calls.map((call) => callPart(target, call))])
  }
  // If the text has been changed in the transcript since, the new text is sent.
  const isOwnText =
    own.map((part) => part["type"] === "text" ? textAt(part, "text") ?? "" : "").join("") === message.text
  const callOf = matched(message.calls, own.filter(isOwnCall))
  const left = new Set(message.calls)
  const parts = own.flatMap((part): ReadonlyArray<object> => {
    switch (part["type"]) {
      case "text":
        return isOwnText && !(isBlank(textAt(part, "text") ?? "") && part["providerOptions"] === undefined)
          ? [part]
          : []
      case "file":
      case "reasoning-file": {
        const { file, ...rest } = part
        return isFile(file) ? [{ ...rest, data: bytesOf(file, target) }] : []
      }
      case "tool-call": {
        if (part["providerExecuted"] === true) return [{ ...part, input: inputOf(textAt(part, "input")) }]
        const call = callOf.get(part)
        if (call === undefined) return []
        left.delete(call)
        return [callPart(target, call, part)]
      }
      default:
        return [part]
    }
  })
  return orNothing([
    ...(isOwnText ? [] : textsOf(message.text)),
    ...parts,
    ...Array.from(left, (call) => callPart(target, call))
  ])
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

// Finds the call that the provider sent as each part. Calls may have other ids by now, but they have the same names and order.
const matched = (
  calls: ReadonlyArray<ToolCall.ToolCall>,
  parts: ReadonlyArray<Fields>
): ReadonlyMap<Fields, ToolCall.ToolCall> => {
  const found = new Map<Fields, ToolCall.ToolCall>()
  const left = new Set(calls)
  const isEqual = [
    (call: ToolCall.ToolCall, part: Fields) => call.id === part["toolCallId"] && call.name === part["toolName"],
    (call: ToolCall.ToolCall, part: Fields) => call.name === part["toolName"]
  ]
  for (const isSame of isEqual) {
    for (const part of parts) {
      const call = found.has(part) ? undefined : Array.from(left).find((call) => isSame(call, part))
      if (call === undefined) continue
      found.set(part, call)
      left.delete(call)
    }
  }
  return found
}

const callPart = (target: Target, call: ToolCall.ToolCall, part: Fields = {}): object => ({
  ...part,
  type: "tool-call",
  toolCallId: call.id,
  toolName: nameFor(target, call.name),
  input: inputOf(call.arguments)
})

const inputOf = (text: string | undefined): unknown => JSON.parse(argumentsText({ arguments: text }))

const isFile = (value: unknown): value is Transcript.File =>
  Predicate.isObject(value) && (typeof value["base64"] === "string" || typeof value["url"] === "string")
