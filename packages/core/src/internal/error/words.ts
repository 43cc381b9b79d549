/*
 * What of an error's words a model may read.
 */
import * as Predicate from "effect/Predicate"
import { attempted } from "../stranger.ts"
import { cut, oneLine } from "../text.ts"
import { at, textAt } from "./look.ts"

/** A class of errors whose messages are written for the model. */
export type Told = abstract new(...args: Array<never>) => Error

/**
 * The message of an error that was thrown to say something: a plain `Error`, or one of a class that is listed. Errors of systems and
 * libraries have fields of their own, and messages with addresses, statements and paths in them.
 */
export const wordsOf = (error: unknown, listed: ReadonlyArray<Told>): string | undefined => {
  if (!isPlain(error) && !listed.some((told) => attempted(() => error instanceof told))) return undefined
  if (ofLibraries.some((field) => attempted(() => Predicate.hasProperty(error, field)) !== false)) return undefined
  const message = textAt(error, "message") ?? ""
  const inner = textAt(error, "cause", "message") ?? ""
  // What it repeats of its cause was not written for a model.
  if (inner !== "" && message.includes(inner)) return undefined
  const words = cut(oneLine(withoutInsides(message)), 500)
  return words === "" ? undefined : words
}

const isPlain = (error: unknown): boolean => at(error, "constructor") === Error

const ofLibraries = ["code", "errno", "sql", "config", "request", "response"]

/** Without addresses, queries, the lines of a stack, paths, and what looks like a secret. */
export const withoutInsides = (text: string): string =>
  insides.reduce((text, [pattern, instead]) => text.replace(pattern, instead), plain(text))

/** Without addresses, queries, and the lines of a stack. */
export const plain = (text: string): string =>
  text
    .replace(/^[ \t]+(?:at |File ").*$/gm, "")
    .replace(/\b[a-z][a-z\d]{1,15}:\/\/[^\s"'<>]+/gi, "<address>")
    .replace(/\?[^\s?="'<>]+=[^\s"'<>]*/g, "")

const insides: ReadonlyArray<readonly [pattern: RegExp, instead: string]> = [
  // A word for a secret, and what follows it: password: hunter2, api_key=…, Bearer ….
  [
    /\b((?:[\w-]{0,40}[_-])?(?:password|passwd|passphrase|pwd|secret|token|api[_ -]?key|access[_ -]?key|authorization|credentials?|signature|cookie)s?["']?(?:\s*[:=]\s*|\s+(?:is|was)\s+(?=\S{0,40}\d)))(?:(?:bearer|basic)\s+)?["']?[^\s"',;]+/gi,
    "$1<redacted>"
  ],
  [/\b((?:password|secret|token|api[ _-]?key)\s+)(?=\S{0,40}\d)\S{6,}/gi, "$1<redacted>"],
  [/\b(?=[\w-]{0,100}\d)[\w-]*(?:secret|passw)[\w-]*/gi, "<redacted>"],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, "$1 <redacted>"],
  // Keys by their prefix, and JSON web tokens.
  [/\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs]|npm|hf|whsec)[_-][\w-]{8,}/g, "<redacted>"],
  [/\b(?:AKIA|ASIA|AIza|eyJ)[\w.-]{12,}/g, "<redacted>"],
  // What is long and has no words in it, but for a UUID.
  [
    /\b(?![\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b)(?=[\w+-]{0,200}\d)(?=[\w+-]{0,200}[a-z])[\w+-]{32,}/gi,
    "<redacted>"
  ],
  [/(?<![\w.])(?:~|\.{1,2})?(?:\/[\w.@+-]+){2,}\/?/g, "<path>"],
  [/\b[a-z]:\\[^\s"'<>|]+/gi, "<path>"],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, "<address>"]
]
