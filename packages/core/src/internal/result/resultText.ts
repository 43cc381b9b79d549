/*
 * Detects whether the text of a result was cut off, and formats a path in a result.
 */
import type { Path } from "@fallible/arguments"
import { parse } from "@fallible/arguments/internal"
import { excerpt } from "../value/text.ts"

/**
 * Whether a text is JSON that was cut off inside an object or an array. For a text of more than a
 * million characters, returns false without a check.
 */
export const isCutOff = (text: string): boolean => {
  if (text.length > longestChecked || !container.test(text)) return false
  const parsed = parse(text)
  return !parsed.ok && parsed.refusal.kind === "cut_off"
}

const container = /^[ \t\n\r]*[{[]/
const longestChecked = 1_000_000

/** Formats a path as code: `orders[0].total`. A long path is shortened to its last keys. */
export const dottedPath = (path: Path): string => {
  const last = path.slice(-maxKeys)
  const text = last.map((key) =>
    typeof key === "number" ? `[${key}]` : identifier.test(key) ? `.${key}` : `[${excerpt(key, 40)}]`
  ).join("")
  return last.length < path.length ? `…${text}` : text.replace(/^\./, "")
}

const maxKeys = 10
const identifier = /^[\p{L}_$][\p{L}\p{N}_$]{0,79}$/u
