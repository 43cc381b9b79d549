import type * as Schema from "effect/Schema"
import * as Transcript from "../../Transcript.ts"
import { cutJson } from "../value/cutJson.ts"
import { isJsonObject } from "../value/plainJson.ts"
import { cut } from "../value/text.ts"
import { attempted } from "../value/untrusted.ts"

/** The fewest characters that are left of a result. */
const fewest = 400

/** Returns how many characters the results of a transcript have. */
export const resultLengthOf = (transcript: Transcript.Transcript): number => {
  let length = 0
  for (const message of transcript) if (message.role === "tool") length += message.text.length
  return length
}

/**
 * Returns a transcript whose results are shortened to a number of characters in all. The latest results keep as much as
 * possible. The messages stay complete, so any provider accepts them.
 */
export const shorter = (transcript: Transcript.Transcript, most: number): Transcript.Transcript => {
  const messages = Transcript.toArray(transcript)
  let left = most
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]!
    if (message.role !== "tool") continue
    const { text } = message
    const length = Math.max(fewest, left)
    const short = text.length <= length ? text : shortTextOf(message, length)
    left -= short.length
    if (short !== text) messages[index] = { ...message, text: short }
  }
  return Transcript.make(messages)
}

// An old result has the same short text in each later request, so it is not made again.
const latest = new WeakMap<Transcript.MessageOf<"tool">, { readonly length: number; readonly text: string }>()

const shortTextOf = (message: Transcript.MessageOf<"tool">, length: number): string => {
  const known = latest.get(message)
  if (known?.length === length) return known.text
  const short = shortText(message.text, length)
  // The notes of a result are kept, so a result may be too short to become shorter.
  const text = short.length < message.text.length ? short : message.text
  latest.set(message, { length, text })
  return text
}

const shortText = (text: string, length: number): string => {
  const value = attempted((): Schema.Json => JSON.parse(text))
  if (value === undefined || typeof value !== "object" || value === null) {
    return `${cut(text, length - note.length - 10)} ${note}.`
  }
  const { content, notes } = partsOf(value)
  const short = cutJson(content, { bytes: length - note.length - 50, items: Infinity })?.value ?? content
  return JSON.stringify({ value: short, notes: [...notes, note] })
}

const note = "This result was shortened to save space"

// A result may already have notes.
const partsOf = (value: Schema.Json): { readonly content: Schema.Json; readonly notes: ReadonlyArray<Schema.Json> } => {
  if (!isJsonObject(value)) return { content: value, notes: [] }
  const { notes, value: content, ...others } = value
  return content === undefined || !Array.isArray(notes) || Object.keys(others).length > 0
    ? { content: value, notes: [] }
    : { content, notes: notes.slice(0, 3) }
}
