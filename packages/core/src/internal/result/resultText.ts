/*
 * The text of a result: whether it was cut off, and how a place in it is named.
 */
import { parse, type Path } from "@fallible/arguments"
import { excerpt } from "../value/text.ts"

/** Is it an object or an array that ends too early? Of a longer text than a million characters nobody can tell. */
export const isCutOff = (text: string): boolean => {
  if (text.length > mostLookedAt || !container.test(text)) return false
  const parsed = parse(text)
  return !parsed.ok && parsed.refusal.kind === "cut_off"
}

const container = /^[ \t\n\r]*[{[]/
const mostLookedAt = 1_000_000

/** `orders[0].total`: the same as a program would write it. Of a long one, its end. */
export const dotted = (path: Path): string => {
  const last = path.slice(-mostKeys)
  const text = last.map((key) =>
    typeof key === "number" ? `[${key}]` : identifier.test(key) ? `.${key}` : `[${excerpt(key, 40)}]`
  ).join("")
  return last.length < path.length ? `…${text}` : text.replace(/^\./, "")
}

const mostKeys = 10
const identifier = /^[\p{L}_$][\p{L}\p{N}_$]{0,79}$/u
