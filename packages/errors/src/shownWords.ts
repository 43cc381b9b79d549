/*
 * Decides which words of an error may be shown: those that were written to be read.
 */
import { at, attempt, type ErrorClass, has, isOneOf, lengthAt, max, textAt } from "./reading.ts"
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
  if (inner !== "" && message.includes(inner) || isStatement(message) || page.test(message)) return undefined
  const words = redact(message)
  // `textAt` reads only the beginning of a long message.
  const unreadLength = lengthAt(error, "message") - message.length
  if (words !== "") return cut(words, 500, unreadLength)
  const tag = message === "" ? tagOf(error) : undefined
  return tag === undefined ? undefined : [tag, cut(fieldsOf(error), 450)].filter((part) => part !== "").join(": ")
}

/** Returns the tag of an error, such as `ServiceLocked`. The part before a slash says where its class is. */
export const tagOf = (error: unknown): string | undefined => {
  const [, tag, stem = ""] =
    /^(?:.*\/)?(([a-z][\w-]{0,59}?)(?:Error|Exception)?)$/i.exec(textAt(error, "_tag") ?? "") ?? []
  return tag !== undefined && redact(stem) === stem ? tag : undefined
}

/** Writes a tag as the words that it consists of: `service locked`. */
export const inWords = (tag: string): string => tag.replace(/[_-]+|(?<=[a-z\d])(?=[A-Z])/g, " ").toLowerCase()

/** The plain fields of a tagged error: `service: "db", seats: 3`. */
const fieldsOf = (error: unknown): string =>
  Object.keys(Object(error) as object).slice(0, max.items).flatMap((key) => {
    const value = at(error, key)
    if (!/^(?:string|number|boolean|bigint)$/.test(typeof value) || notShown.test(key)) return []
    const text = redact(String(value).slice(0, max.text))
    // The name of a field may say that its value is a secret.
    const field = `${key}: ${text}`
    if (isStatement(text) || redact(field) !== field) return []
    return typeof value === "string" ? `${key}: "${cut(text, 100)}"` : field
  }).join(", ")

/** Fields that say nothing, or that hold a secret which may look like any other word. */
const notShown =
  /^(?:_tag|name|message|stack|cause)$|[^\w$]|pass|pwd|pin$|secret|token|key|auth|cred|cookie|session|otp|cvv|cvc|ssn|iban|card/i

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

/**
 * A SQL statement: its keywords in capitals, or in any case with what follows them in SQL, but not in a sentence.
 */
const isStatement = (text: string): boolean => capitals.test(text) || statement.test(text)

const capitals = /\b(?:SELECT\b[^]{1,200}?\bFROM|INSERT\s+INTO|UPDATE\b[^]{1,60}?\bSET|DELETE\s+FROM)\b/

const name = "[\\w.\"`]{1,60}"
const statement = new RegExp(
  "\\b(?:" + [
    `select\\s+(?:\\*|\\w+\\([^)]{0,60}\\)|${name}\\s*,)[^]{0,200}?\\sfrom\\s+(?!(?:an?|the|this|these|your|our)\\s)[\\w"\`(]`,
    `select\\b[^]{1,200}?\\bfrom\\s+${name}\\s+where\\s+${name}\\s*(?:[=<>]|\\slike\\b)`,
    `insert\\s+into\\b[^]{1,100}?(?:\\bvalues\\b|\\(|\\bselect\\b)`,
    `update\\s+${name}\\s+set\\s+${name}\\s*=`,
    `delete\\s+from\\b[^]{1,100}?(?:\\bwhere\\b|;)`,
    `create\\s+(?:unique\\s+)?(?:table|index|view)\\b[^]{1,100}?(?:\\(|\\bas\\b)`,
    "(?:alter|drop|truncate)\\s+(?:table|index|view)\\s",
    "with\\s+\\w+\\s+as\\s*\\("
  ].join("|") + ")",
  "i"
)

/** A web page that a server sends instead of a message. */
const page = /^\s*<(?:!doctype|html|head|body|\?xml)\b/i
