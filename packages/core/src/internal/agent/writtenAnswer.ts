/*
 * An answer that a model writes as a text, as the arguments of `final_answer`. The arguments are read and checked later. What
 * is decided here is only where in the text the answer is, and whether it is in its field.
 */
import { numberAt, read, type Readable } from "@fallible/arguments"
import { defaults } from "@fallible/arguments/internal"
import * as Predicate from "effect/Predicate"
import type { Reply } from "../../Model.ts"
import type { ToolCall } from "../../ToolCall.ts"
import { coerce } from "../arguments/coercion.ts"
import { finalAnswerName, inField, type Output, shownAnswer, writtenId } from "./finalAnswer.ts"
import { withoutThought } from "./thought.ts"

/** Returns an answer as it may be shown; `undefined` if its output has no secrets. */
export const shownText = (output: Output, text: string): string | undefined =>
  output.isSecret ? shownAnswer(output, writtenArguments(output, text)) : undefined

/** Returns a reply that gives its text as the answer, by a call. */
export const answeringReply = (output: Output, reply: Reply): Reply & { readonly calls: readonly [ToolCall] } => ({
  text: "",
  calls: [{ id: writtenId, name: finalAnswerName, arguments: writtenArguments(output, reply.text) }]
})

/** True if all of a text is the answer, as it is. */
export const isInWords = (output: Output, { arguments: args }: ToolCall, text: string): boolean =>
  output.field !== undefined && args === inField(output.field, JSON.stringify(saidIn(text)))

/** True if a text says nothing: read as arguments, it would be an object without keys. */
export const saysNothing = ({ field }: Output, text: string): boolean => {
  const said = saidIn(text).trim()
  return said === "" || thought.test(said) || field === undefined && isEmpty(said)
}

const isEmpty = (said: string): boolean => {
  if (said.length > 1000 || said.includes("{")) return false
  const readable = read(said)
  return readable.ok && Object.keys(readable.value).length === 0
}

const thought = /^\s*<think(?:ing)?>/

const saidIn = (text: string): string => thought.test(text) ? withoutThought(text.trim()) : text

// A text that is too long is refused as it is: looking at it takes time, and a pattern takes memory.
const writtenArguments = (output: Output, text: string): string => {
  if (text.length > defaults.bytes) return text
  const said = saidIn(text)
  return writtenCall(said) ?? argumentsOf(output, said)
}

// A call that the model, or its server, wrote as text. A call that does nothing but answer need not be asked for again.
const writtenCall = (text: string): string | undefined => {
  const readable = read(text)
  if (!readable.ok || !readable.isExact || readable.value["name"] !== finalAnswerName) return undefined
  const { name: _, ...rest } = readable.value
  const { arguments: args = rest["parameters"] } = rest
  if (Object.keys(rest).length !== 1 || args === undefined) return undefined
  return Predicate.isString(args) ? args : JSON.stringify(args)
}

// An answer that is not an object may be written with its key, or without. A string may be written with quotes, or without.
const argumentsOf = (output: Output, text: string): string => {
  const { field, isText, tool } = output
  if (field === undefined) return text
  const bare = withoutFence(text)
  const quoted = inField(field, JSON.stringify(text))
  if (isText) {
    // All of a text is the answer, also if it quotes an answer. But what begins as one, and does not end, is cut off.
    if (keyed(bare, field, false) !== undefined || hasBegun(bare, field)) return bare
    return isJsonString(bare, field) ? inField(field, bare) : quoted
  }
  // A number that ends in a comma is cut off.
  const whole = /,\s*$/.test(bare) ? bare : inField(field, bare)
  const readable = (looksLikeJson(bare) ? [text, whole] : [text, whole, quoted]).flatMap((args) => {
    const value = keyed(args, field, true)
    if (value === undefined) return []
    const fitted = coerce(value.value, tool.parameters, { numberAt: (path) => numberAt(value, path) })
    // Words in place of a list are not a list with these words.
    return args !== text && isPut(value.value[field], fitted.value, field) ? [] : [{ args, fits: fitted.fits }]
  })
  return (readable.find(({ fits }) => fits) ?? readable[0])?.args ?? bare
}

// True if an answer was put in a list or in an object.
const isPut = (answer: unknown, fitted: unknown, field: string): boolean =>
  !isNested(answer) && Predicate.hasProperty(fitted, field) && isNested(fitted[field])

const isNested = (value: unknown): boolean => typeof value === "object" && value !== null

const withoutFence = (text: string): string => /^\s*```(?:json)?\s([^]*?)(?:```\s*)?$/.exec(text)?.[1] ?? text

/** Reads a text as an object that has this key, and no other. */
const keyed = (text: string, key: string, prose: boolean): Readable | undefined => {
  const readable = read(text, { prose })
  return readable.ok && Object.keys(readable.value).join() === key ? readable : undefined
}

const hasBegun = (text: string, field: string): boolean =>
  new RegExp(`^\\s*\\{\\s*"${field}"\\s*:`).test(text) || /^\s*"(?:[^"\\]|\\[^])*\\?$/.test(text)

const isJsonString = (text: string, field: string): boolean =>
  /^\s*"(?:[^"\\]|\\[^])*"\s*$/.test(text) && keyed(inField(field, text), field, false) !== undefined

const looksLikeJson = (text: string): boolean => /^\s*[{["]/.test(text)
