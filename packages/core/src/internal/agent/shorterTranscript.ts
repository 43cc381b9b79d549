import type * as Schema from "effect/Schema"
import * as Transcript from "../../Transcript.ts"
import { cutJson, startOf } from "../value/cutJson.ts"
import { isJsonObject } from "../value/plainJson.ts"
import { cut, utf8Length } from "../value/text.ts"
import { attempt } from "../value/untrusted.ts"

/** The fewest bytes that are left of a result. */
const minLeft = 400

/** A shorter result stays whole. It may be a failure, whose advice must not be lost. */
const minShortened = 2500

/** Returns how many bytes the results of a transcript have, in UTF-8. */
export const resultLengthOf = (transcript: Transcript.Transcript): number => {
  let length = 0
  for (const message of transcript) if (message.role === "tool") length += utf8Length(message.text)
  return length
}

/**
 * Keeps the results in the requests of a run below a limit. If a request would exceed it, the results are shortened to
 * three quarters of it, and later requests continue from there. So a turn costs the same at any length, and most requests begin
 * like the one before, which providers can cache.
 */
export class RequestResults {
  #max: number
  #short: Transcript.Transcript | undefined = undefined
  /** How many messages and bytes of the run's transcript `#short` stands for. */
  #messages = 0
  #bytes = 0
  /** How many bytes the results of `#short` have, and how many they may have before it is shortened again. */
  #length = 0
  #next = 0

  /** @param max the most bytes of results in a request */
  constructor(max: number) {
    this.#max = max
  }

  /**
   * Returns a transcript whose results have about half of their bytes, because the conversation is too long for the model.
   * The limit is lowered for the rest of the run. Returns `undefined` if the results must not, or cannot, be shortened.
   */
  halved(transcript: Transcript.Transcript): Transcript.Transcript | undefined {
    if (this.#max === Infinity) return undefined
    const length = resultLengthOf(transcript)
    const max = Math.floor(length / 2)
    const short = shorter(transcript, max)
    if (resultLengthOf(short) >= length) return undefined
    this.#max = max
    this.#next = max
    return short
  }

  /**
   * Returns what is sent of a transcript.
   *
   * @param length how many bytes the results of the transcript have
   */
  of(transcript: Transcript.Transcript, length: number): Transcript.Transcript {
    if (this.#short === undefined) {
      return length <= this.#max ? transcript : this.#shorten(transcript, transcript, length)
    }
    const added: Array<Transcript.Message> = []
    for (let index = this.#messages; index < transcript.length; index++) added.push(transcript.at(index)!)
    const sent = this.#short.append(...added)
    this.#length += length - this.#bytes
    if (this.#length > this.#next) {
      return this.#shorten(sent, transcript, length)
    }
    return this.#keep(sent, transcript, length)
  }

  #shorten(sent: Transcript.Transcript, transcript: Transcript.Transcript, length: number): Transcript.Transcript {
    const short = shorter(sent, this.#max * 0.75)
    this.#length = resultLengthOf(short)
    // Many small results cannot become shorter. Then it is tried again only after some more.
    this.#next = this.#length < this.#max * 0.9 ? this.#max : this.#length * 1.5
    return this.#keep(short, transcript, length)
  }

  #keep(sent: Transcript.Transcript, { length: messages }: Transcript.Transcript, bytes: number) {
    this.#short = sent
    this.#messages = messages
    this.#bytes = bytes
    return sent
  }
}

/**
 * Returns a transcript whose results are shortened to a number of bytes in all. The latest results keep as much as
 * possible. The messages stay complete, so any provider accepts them.
 */
export const shorter = (transcript: Transcript.Transcript, max: number): Transcript.Transcript => {
  const messages = Transcript.toArray(transcript)
  let left = max
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]!
    if (message.role !== "tool") continue
    const { text } = message
    const length = Math.max(minLeft, left)
    const bytes = utf8Length(text)
    const short = bytes <= Math.max(length, minShortened) ? text : shortTextOf(message, length)
    left -= short === text ? bytes : utf8Length(short)
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
  const value = attempt((): Schema.Json => JSON.parse(text))
  if (value === undefined || typeof value !== "object" || value === null) {
    // The notes stand at the end.
    const start = startOf(text, Math.max(minLeft, length - note.length - maxEnd))
    return `${cut(text, start.length)} … ${endOf(text)} ${note}.`
  }
  const { content, notes } = partsOf(value)
  const short = cutJson(content, { bytes: length - note.length - 50, items: Infinity })?.value ?? content
  return JSON.stringify({ value: short, notes: [...notes.filter((other) => other !== note), note] })
}

/** How many bytes of the end of a text are kept. */
const maxEnd = 300

const endOf = (text: string): string => {
  let end = text.slice(-maxEnd)
  for (let over = utf8Length(end) - maxEnd; over > 0; over = utf8Length(end) - maxEnd) {
    end = end.slice(Math.ceil(over / 3))
  }
  // The end does not begin in the middle of a character.
  return end.replace(/^[\udc00-\udfff]/, "")
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
