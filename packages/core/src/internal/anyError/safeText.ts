/*
 * Decides which words of an error a model may read, and removes secrets and internals from them.
 */
import * as Predicate from "effect/Predicate"
import { cut, oneLine } from "../value/text.ts"
import { attempted } from "../value/untrusted.ts"
import { at, lengthAt, textAt } from "./readError.ts"

/** A class of errors whose messages are written for the model. */
export type Told = abstract new(...args: Array<never>) => Error

/**
 * Returns the message of an error that was thrown to be read: a plain `Error`, or an error of a listed class.
 * Returns `undefined` for any other error. Errors of systems and libraries have extra fields, and their
 * messages have addresses, statements and paths.
 */
export const wordsOf = (error: unknown, listed: ReadonlyArray<Told>): string | undefined => {
  const isListed = listed.some((listedClass) => attempted(() => error instanceof listedClass))
  if (!isPlain(error) && !isListed) return undefined
  const field = fieldOfLibraries(error)
  // A program's own class may have a code. `Error` says nothing of whose error it is.
  const isOwn = field === "code" &&
    listed.some((listedClass) => !builtIn.has(listedClass) && attempted(() => error instanceof listedClass) === true)
  if (field !== undefined && !isOwn) return undefined
  const message = textAt(error, "message") ?? ""
  const inner = textAt(error, "cause", "message") ?? ""
  // A message that repeats its cause was not written for a model.
  if (inner !== "" && message.includes(inner) || statement.test(message) || page.test(message)) return undefined
  const words = clean(message)
  // `textAt` reads only the beginning of a long message.
  const unreadLength = lengthAt(error, "message") - message.length
  return words === "" ? undefined : cut(words, 500, unreadLength)
}

/**
 * Returns the name of a field that marks an error as a library's; `undefined` if the error has no such field.
 * If there is such a field, the error's message is never shown.
 */
export const fieldOfLibraries = (error: unknown): string | undefined =>
  ofLibraries.find((field) => attempted(() => Predicate.hasProperty(error, field)) !== false)

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

/** Returns text on one line, without internals. */
export const clean = (text: string): string => oneLine(withoutInsides(text))

/** Removes addresses, query strings, and the lines of a stack. */
export const plain = (text: string): string =>
  text
    .replace(/^[ \t]+(?:at |File ").*$/gm, "")
    .replace(/\b[a-z][a-z\d]{1,15}:\/\/[^\s"'<>]+/gi, "<address>")
    .replace(/\?[^\s?="'<>]+=[^\s"'<>]*/g, "")

/**
 * Removes addresses, query strings, stacks, paths, class names, and everything that looks like a secret. No
 * pattern finds every secret, so this is only the second line of defence. The first is `wordsOf`, which
 * decides which messages are shown.
 */
export const withoutInsides = (text: string): string =>
  insides.reduce(
    (text, [pattern, instead]) => text.replace(pattern, instead),
    // Full-width letters and invisible characters could hide a word.
    plain(text.normalize("NFKC").replace(/\p{Cf}/gu, ""))
  )

const label =
  "[\\w-]{0,40}(?:passwords?|passwd|passphrase|pwd|secret|token|(?:api|access|account|private|shared|secret)[ _-]?key|authorization|credentials?|signature|session[ _-]?id)"
const quoted = "\\\\?\"(?:[^\"\\\\]|\\\\.)*\"?|'[^']*'?|`[^`]*`?"

const insides: ReadonlyArray<readonly [pattern: RegExp, instead: string]> = [
  [/ {2,}at \S.*$/gm, ""],
  [/-----BEGIN [^]*?(?:-----END [^-]*-----|$)/g, "<redacted>"],
  [/\b(?:set-)?cookie["']?\s*[:=]\s*[^\s=;]+=.*$/gim, "cookie: <redacted>"],
  [/\b(authorization["'\\]*\s*[:=]\s*)(?:[a-z]+\s+)?[^\s,;]+/gi, "$1<redacted>"],
  // A user name and a password before a host.
  [/[^\s"'`<>:@/]{1,100}:[^\s"'`<>@/]{1,100}@[\w.-]+(?::\d+)?[^\s"'<>]*/g, "<address>"],
  // A word for a secret, and the value after it: password: hunter2, api_key=…, Authorization: Bearer ….
  [
    new RegExp(
      `((?:${label})[\\\\"']*\\s*(?:=>|->|[:=]|%3[ad])\\s*)(?:(?:bearer|basic)\\s+)?(?:${quoted}|[^\\s,;&"')\\]}]+)`,
      "gi"
    ),
    "$1<redacted>"
  ],
  [new RegExp(`((?:${label})\\s+(?:(?:is|was)\\s+)?)(?=\\S{0,60}\\d)[^\\s,;]{6,}`, "gi"), "$1<redacted>"],
  [
    new RegExp(`((?:${label})\\s[^.=:'"\\x60]{0,20})(?:'[^']{3,}'|"[^"]{3,}"|\\x60[^\\x60]{3,}\\x60)`, "gi"),
    "$1<redacted>"
  ],
  [/((?:\b|_)(?:key|pass|pw|auth|sig|otp|sid|bearer)=|\b\w{0,20}sess\w{0,10}id=)[^\s,;&"')]+/gi, "$1<redacted>"],
  [/(\s-(?:u|p|-(?:api-key|token|password|user)) ?)\S{5,}/g, "$1<redacted>"],
  [/(<(?:\w{0,40}(?:password|secret|token|key))>)[^<]*/gi, "$1<redacted>"],
  [/\bcards?\b([^.\d]{0,20})\d{12,19}\b/gi, "card$1<redacted>"],
  [/\b(bearer|basic)\s+(?:(?=[\w.~+/-]{0,200}[\d=])[\w.~+/=-]{8,}|[\w.~+/=-]{16,})/gi, "$1 <redacted>"],
  // Keys by their prefix, and JSON web tokens.
  [/\b(?:sk|pk|rk|gh[pousr]|github_pat|glpat|xox[abprs]|npm|hf|whsec|shp(?:at|ca|pa|ss))[_-][\w-]{8,}/g, "<redacted>"],
  [/\b(?:AKIA|ASIA|AIza|eyJ|ya29\.|SG\.)[\w.-]{12,}/g, "<redacted>"],
  [/\b(?=[\w-]{0,60}\d)[\w-]{0,60}(?:secret|passw)[\w-]{0,60}/gi, "<redacted>"],
  // A long run of letters and digits, except a UUID.
  [
    /(?<![\w+/-])(?![\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b)(?=[\w+/-]{0,200}\d)(?=[\w+/-]{0,200}[a-z])[\w+/-]{32,}=*/gi,
    "<redacted>"
  ],
  [/\b\d{4}([ -])\d{4}\1\d{4}\1\d{1,7}\b/g, "<redacted>"],
  [/\b[a-z]:\\(?:[^\\/:*?"<>|\r\n]{1,100}\\)*[^\\/:*?"<>|\s]*/gi, "<path>"],
  [/\\\\[\w.-]+\\[^\s"'<>|]*/g, "<path>"],
  [/\b(?:file:\/?|node:(?=[a-z]))[^\s"'<>,;)]+/g, "<path>"],
  // A path to a file, recognized by its extension.
  [/(?<![\w.])(?:~|\.{1,2})?(?:\/[\w.@+-]{1,100}){1,20}\.[a-z][a-z\d]{1,4}\b/gi, "<path>"],
  [/(?<![\w.])~\/[^\s"'<>:,;)]+/g, "<path>"],
  [
    /(?<![\w.])~?\/(?:home|root|usr|var|etc|opt|srv|app|tmp|Users|private|mnt|proc|run|workspace|bin|lib)\b[^\s"'<>:,;)]*/g,
    "<path>"
  ],
  [/(?<![\w.])(?:~|\.{1,2})?(?:\/[\w.@+-]+){3,}\/?/g, "<path>"],
  [/(?<![\w/])(?:[\w.@+-]{0,100}\/){1,20}[\w@+-]{1,100}\.[a-z]{1,5}(?::\d+){1,2}\b/g, "<path>"],
  [/(?<![\w/])(?:[\w.@+-]{0,100}\/){0,20}(?:node_modules|dist)\/[\w.@+/-]*/g, "<path>"],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, "<address>"],
  [/(?<![\w:])\[?(?=[\d:]{0,40}[a-f])(?:[\da-f]{1,4}:){4,7}[\da-f]{1,4}\]?(?::\d{1,5})?(?![\w:])/gi, "<address>"],
  [/(?<![\w:])\[?(?:[\da-f]{1,4}:){0,6}:(?::?[\da-f]{1,4}){1,7}\]?(?::\d{1,5})?(?![\w:])/gi, "<address>"],
  [/\b(?:localhost|(?:[\w-]{1,63}\.){1,10}[a-z][\w-]{0,62}):\d{2,5}\b/gi, "<address>"],
  [/\b(?:[a-z\d-]{1,63}\.){2,10}[a-z]{2,63}\b/gi, "<address>"],
  [/\b(?:[A-Z]\w{0,60})?(?:Error|Exception)\b:\s*/g, ""],
  [/\b[A-Z][a-z\d]\w{0,60}(?:Error|Exception)\b/g, "<error>"],
  [/\[object \w+\]/g, ""]
]

/** Removes what looks like a secret from the path of an address: a long part of letters and digits, except a UUID. */
export const withoutSecretParts = (path: string): string =>
  path.split("/").map((part) => secretPart.test(part) && !uuid.test(part) ? "<redacted>" : part).join("/")

const secretPart = /^(?=.*\d)(?=.*[a-z])[\w.~:+=%-]{24,}$/i
const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i
