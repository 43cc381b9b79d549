/*
 * Reads messages that a page sent. Their types are declared, but a page can send anything.
 */
import { type Fields, fieldsOf, textAt } from "../untyped.ts"

const listOf = (value: unknown): ReadonlyArray<Fields> => Array.isArray(value) ? value.map(fieldsOf) : []

export const messagesIn: (messages: unknown) => ReadonlyArray<Fields> = listOf

/** Returns the last message if it is the assistant's; `undefined` if it is not. */
export const assistantAtEnd = (messages: ReadonlyArray<Fields>): Fields | undefined => {
  const last = messages.at(-1)
  return last?.["role"] === "assistant" ? last : undefined
}

export const partsOf = (message: Fields | undefined): ReadonlyArray<Fields> => listOf(message?.["parts"])

/** Returns the tool parts of a message. */
export const toolPartsOf = (message: Fields | undefined): ReadonlyArray<Fields> =>
  partsOf(message).filter((part) => textAt(part, "toolCallId") !== undefined)

/** Returns the text of a message. */
export const textOf = (message: Fields): string =>
  partsOf(message).flatMap((part) => part["type"] === "text" ? textAt(part, "text") ?? [] : []).join("\n")
