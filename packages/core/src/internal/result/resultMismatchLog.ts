/*
 * Describes a result that does not fit its tool's schema. The result may be secret. So a description names the
 * fields of the result, and quotes only those values that the issues quote (`resultIssues`).
 */
import { partAt } from "@fallible/arguments/internal"
import * as Effect from "effect/Effect"
import type { FieldIssue } from "../../ToolFailure.ts"
import { cut, firstIssue, oneLine } from "../value/text.ts"
import { attempt, isA } from "../value/untrusted.ts"

/** Logs a warning with one line for the tool and one for each issue. */
export const logMismatch = (tool: string, lines: ReadonlyArray<string>): Effect.Effect<void> =>
  // A logger that dies must not fail the tool.
  Effect.ignoreCause(
    Effect.logWarning(
      `The result of '${tool}' does not match its schema:${lines.map((line) => `\n  ${line}`).join("")}`
    )
  )

/** Describes an issue on one line, for a log or a model. */
export const lineOf = ({ actual, expected, path }: FieldIssue, value: unknown): string =>
  firstIssue([{
    path: path.map((key) => cut(oneLine(String(key)), 80)),
    // A text that the schema's author wrote may quote the value.
    expected: mayQuote(expected, partAt(value, path)) ? "a valid value" : expected,
    actual
  }])

/** Whether a text may quote a value or a part of that value. In doubt, returns true. */
const mayQuote = (words: string, value: unknown): boolean => {
  // The part that was cut off may have quoted the value.
  if (words.endsWith(cutOff)) return true
  let partsLeft = maxParts
  const isQuoted = (part: unknown): boolean => {
    if (partsLeft-- === 0) return true
    if (typeof part === "string") return contains(words, part)
    if (typeof part === "number" || typeof part === "bigint") return contains(words, String(part))
    if (typeof part !== "object" || part === null) return false
    return isA(Date)(part)
      ? [String(part), String(part.getTime()), JSON.stringify(part).slice(1, -1)].some((text) => contains(words, text))
      : partsOf(part).some(isQuoted)
  }
  return attempt(() => isQuoted(value)) ?? true
}

const cutOff = "more characters)"
const maxParts = 1000

const partsOf = (value: object): ReadonlyArray<unknown> =>
  isA(Map)(value) ? Array.from(value).flat() : isA(Set)(value) ? Array.from(value) : Object.values(value)

// A number or a short value must match as a whole word. Otherwise '1' would be found in '10'.
const contains = (words: string, value: string): boolean => {
  // `words` is on one line, so the value is put on one line, too. Of a long value, the beginning is enough.
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
