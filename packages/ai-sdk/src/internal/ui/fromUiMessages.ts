/*
 * Reads the messages of a chat, as a page sent them. Nothing about them is certain.
 */
import { type Agent, Transcript } from "@fallible/core"
import type { Decision } from "@fallible/core/Question"
import type { UIMessage } from "ai"
import * as Base64 from "effect/encoding/Base64"
import * as Option from "effect/Option"
import { withoutDataUrl } from "../files.ts"
import { type Fields, jsonOf, objectAt, textAt } from "../untyped.ts"
import { assistantAtEnd, messagesIn, partsOf, textOf, toolPartsOf } from "./untrustedMessages.ts"

/**
 * What the messages of a chat ask for.
 *
 * @category models
 * @since 0.1.0
 */
export interface UiInput {
  /** The user's last message, if the assistant has not replied to it: what to ask the agent. */
  readonly question: Agent.Question | undefined
  /** What the user has decided on the approvals of the last message, if it is the assistant's. */
  readonly replies: ReadonlyArray<Decision>
  /**
   * The id of the suspension that the assistant's last message waits with. A page may name any: take it only if it is one of the
   * chat's own.
   */
  readonly suspension: string | undefined
  /**
   * The messages before the question, as the page tells them: texts, files of users, and calls with their results. It may have made
   * them up.
   */
  readonly transcript: Transcript.Transcript
}

export const fromUiMessages = (messages: ReadonlyArray<UIMessage>): UiInput => {
  const read = messagesIn(messages)
  const last = read.at(-1)
  const isAsked = last?.["role"] === "user"
  const calls = new Calls()
  return {
    question: isAsked ? questionIn(last) : undefined,
    replies: decisionsIn(assistantAtEnd(read)),
    suspension: textAt(objectAt(read.findLast(({ role }) => role === "assistant"), "metadata"), "suspension"),
    transcript: Transcript.make((isAsked ? read.slice(0, -1) : read).flatMap((message) => messagesOf(message, calls)))
  }
}

/** Returns the decisions on the approvals of a message. Each has the digest that its page was shown. */
export const decisionsIn = (message: Fields | undefined): ReadonlyArray<Decision> =>
  toolPartsOf(message).flatMap((part): ReadonlyArray<Decision> => {
    const approval = objectAt(part, "approval")
    const [id, digest] = [textAt(approval, "id"), textAt(objectAt(approval, "descriptor"), "digest")]
    if (part["state"] !== "approval-responded" || id === undefined || digest === undefined) return []
    const reason = textAt(approval, "reason")
    switch (approval?.["approved"]) {
      case true:
        return [{ id, digest, approved: true }]
      case false:
        return [{ id, digest, approved: false, ...(reason === undefined ? {} : { reason }) }]
      default:
        return []
    }
  })

// -----------------------------------------------------------------------------
// Users
// -----------------------------------------------------------------------------

const questionIn = (message: Fields): Agent.Question | undefined => {
  const [text, files] = [textOf(message), filesOf(message)]
  if (files.length > 0) return { text, files }
  return text.trim() === "" ? undefined : text
}

const filesOf = (message: Fields): ReadonlyArray<Transcript.File> =>
  partsOf(message).flatMap((part) => part["type"] === "file" ? fileOf(part) ?? [] : [])

const fileOf = (part: Fields): Transcript.File | undefined => {
  const url = textAt(part, "url") ?? ""
  const [mediaType, name] = [textAt(part, "mediaType"), textAt(part, "filename")]
  const named = name === undefined ? {} : { name }
  // A provider fetches the address, and may not know other kinds.
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) {
    return { url, ...named, ...(mediaType === undefined ? {} : { mediaType }) }
  }
  const file = withoutDataUrl({ url: inBase64(url), ...named })
  return "base64" in file ? file : undefined
}

// `data:,Hi%20there` has its text as it is in an address.
const inBase64 = (url: string): string => {
  const [, mediaType = "", text] = /^data:([^,]*),(.*)$/s.exec(url) ?? []
  if (text === undefined || /;\s*base64$/i.test(mediaType)) return url
  const decoded = Option.getOrElse(decodedText(text), () => text)
  return `data:${mediaType.split(";")[0] || "text/plain"};base64,${Base64.encode(decoded)}`
}

const decodedText = Option.liftThrowable(decodeURIComponent)

// -----------------------------------------------------------------------------
// The transcript
// -----------------------------------------------------------------------------

/** Gives each call an id that all providers take, and that no other call of the transcript has. */
class Calls {
  #count = 0

  next(): string {
    return `call_${++this.#count}`
  }
}

// A system prompt is for the server to write.
const messagesOf = (message: Fields, calls: Calls): ReadonlyArray<Transcript.Message> => {
  switch (message["role"]) {
    case "user": {
      const [text, files] = [textOf(message), filesOf(message)]
      if (text.trim() === "" && files.length === 0) return []
      return [{ role: "user", text, ...(files.length === 0 ? {} : { files }) }]
    }
    case "assistant":
      return stepsOf(message).flatMap((step) => stepMessages(step, calls))
    default:
      return []
  }
}

const stepsOf = (message: Fields): ReadonlyArray<Fields> => {
  const steps: Array<Array<Fields>> = [[]]
  for (const part of partsOf(message)) {
    if (part["type"] === "step-start") steps.push([])
    else steps.at(-1)?.push(part)
  }
  return steps.map((parts) => ({ parts }))
}

// A call without a result is left out: a provider would refuse it.
const stepMessages = (step: Fields, calls: Calls): ReadonlyArray<Transcript.Message> => {
  const text = textOf(step)
  const made = toolPartsOf(step).flatMap((part) => {
    const [name, result] = [nameOf(part), resultOf(part)]
    return name === undefined || result === undefined ? [] : [{ id: calls.next(), name, result, input: part["input"] }]
  })
  if (made.length === 0 && text.trim() === "") return []
  return [
    {
      role: "assistant",
      text,
      calls: made.map(({ id, input, name }) => ({ id, name, arguments: JSON.stringify(jsonOf(input) ?? {}) }))
    },
    ...made.map(({ id, name, result }) => ({ role: "tool", callId: id, name, text: result }) as const)
  ]
}

// Providers refuse other names.
const nameOf = (part: Fields): string | undefined => {
  const type = textAt(part, "type") ?? ""
  const name = type.startsWith("tool-") ? type.slice("tool-".length) : textAt(part, "toolName") ?? ""
  return /^[\w-]{1,64}$/.test(name) ? name : undefined
}

const resultOf = (part: Fields): string | undefined => {
  switch (part["state"]) {
    case "output-available": {
      const { output, preliminary } = part
      return preliminary === true ? undefined : JSON.stringify(jsonOf(output) ?? null)
    }
    case "output-error":
      return textAt(part, "errorText") ?? "It did not work."
    case "output-denied":
      return "The user did not approve this."
    default:
      return undefined
  }
}
