/*
 * What a log says of a result that does not fit its tool's own schema. It may be secret, so that the log has its form, and of the value
 * itself no more than its issues quote (`resultIssues`).
 */
import { partAt } from "@fallible/arguments"
import * as Effect from "effect/Effect"
import type { FieldIssue } from "../../ToolFailure.ts"
import { cut, firstIssue, oneLine } from "../value/text.ts"
import { attempted, isA } from "../value/untrusted.ts"

/** Logs a warning: one line for the tool, and one for each issue. */
export const misfitLogged = (tool: string, issues: ReadonlyArray<FieldIssue>, value: unknown): Effect.Effect<void> =>
  // What a logger dies of is not the tool's.
  Effect.ignoreCause(Effect.suspend(() => {
    const lines = issues.map((issue) => `\n  ${lineOf(issue, value)}`)
    return Effect.logWarning(`The result of '${tool}' does not fit its own schema:${lines.join("")}`)
  }))

const lineOf = ({ actual, expected, path }: FieldIssue, value: unknown): string =>
  firstIssue([{
    path: path.map((key) => cut(oneLine(String(key)), 80)),
    // The words of an author may have the value in them.
    expected: mayQuote(expected, partAt(value, path)) ? "a valid value" : expected,
    actual
  }])

/** Is a value, or a part of it, in these words? In doubt it is. */
const mayQuote = (words: string, value: unknown): boolean => {
  // What was cut may have stood where a value was.
  if (words.endsWith(cutOff)) return true
  let left = mostParts
  const isQuoted = (part: unknown): boolean => {
    if (left-- === 0) return true
    if (typeof part === "string") return isSaid(words, part)
    if (typeof part === "number" || typeof part === "bigint") return isSaid(words, String(part))
    if (typeof part !== "object" || part === null) return false
    return isA(Date)(part)
      ? [String(part), String(part.getTime()), JSON.stringify(part).slice(1, -1)].some((text) => isSaid(words, text))
      : partsOf(part).some(isQuoted)
  }
  return attempted(() => isQuoted(value)) ?? true
}

const cutOff = "more characters)"
const mostParts = 1000

const partsOf = (value: object): ReadonlyArray<unknown> =>
  isA(Map)(value) ? Array.from(value).flat() : isA(Set)(value) ? Array.from(value) : Object.values(value)

// A short one, or a number, is looked for as a whole word: else every '1' would be found in a '10'.
const isSaid = (words: string, value: string): boolean => {
  // The words are on one line. Of a long text the beginning is enough.
  const text = oneLine(value).slice(0, 12)
  if (text === "") return false
  for (let at = words.indexOf(text); at !== -1; at = words.indexOf(text, at + 1)) {
    if (text.length > 2 && !isNumber(text)) return true
    if (!isPartOfWord(words[at - 1]) && !isPartOfWord(words[at + text.length])) return true
  }
  return false
}

const isNumber = (text: string): boolean => /^-?[\d.]+$/.test(text)

const isPartOfWord = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}]/u.test(character)
