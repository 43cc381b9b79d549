/*
 * Decides which words of an error may be shown: those that were written to be read.
 */
import { at, attempt, type ErrorClass, has, isOneOf, lengthAt, textAt } from "./reading.ts"
import { redact } from "./redact.ts"
import { cut } from "./text.ts"

/**
 * Returns the message of an error that was thrown to be read: a plain `Error`, or an error of a listed class.
 * Returns `undefined` for any other error. Errors of systems and libraries have extra fields, and their
 * messages have addresses, statements and paths.
 */
export const wordsOf = (error: unknown, listed: ReadonlyArray<ErrorClass>): string | undefined => {
  if (!isPlain(error) && !isOneOf(error, listed)) return undefined
  const field = libraryField(error)
  // A program's own class may have a code. `Error` says nothing of whose error it is.
  const isOwn = field === "code" && isOneOf(error, listed.filter((type) => !builtIn.has(type)))
  if (field !== undefined && !isOwn) return undefined
  const message = textAt(error, "message") ?? ""
  const inner = textAt(error, "cause", "message") ?? ""
  // A message that repeats its cause was not written to be read.
  if (inner !== "" && message.includes(inner) || statement.test(message) || page.test(message)) return undefined
  const words = redact(message)
  // `textAt` reads only the beginning of a long message.
  const unreadLength = lengthAt(error, "message") - message.length
  return words === "" ? undefined : cut(words, 500, unreadLength)
}

/**
 * Returns the name of a field that marks an error as a library's; `undefined` if the error has no such field.
 * If there is such a field, the error's message is never shown.
 */
export const libraryField = (error: unknown): string | undefined =>
  ofLibraries.find((field) => attempt(() => has(error, field)) !== false)

const builtIn: ReadonlySet<unknown> = new Set([
  Error,
  AggregateError,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError
])

const isPlain = (error: unknown): boolean => at(error, "constructor") === Error

const ofLibraries = [
  "code",
  "errno",
  "sql",
  "config",
  "request",
  "response",
  // Fields of a failed process.
  "cmd",
  "stdout",
  "stderr",
  "output"
]

/** A SQL statement. */
const statement =
  /\b(?:SELECT\b.{1,200}?\bFROM|INSERT INTO|insert into\b.{1,100}?\bvalues|UPDATE\b.{1,60}?\bSET|DELETE FROM|delete from\b.{1,100}?\bwhere|select\b.{1,200}?\bfrom [\w."`]{1,60} where [\w."`]{1,60}(?= ?[=<>]| like\b))\b/

/** A web page that a server sends instead of a message. */
const page = /^\s*<(?:!doctype|html|head|body|\?xml)\b/i
