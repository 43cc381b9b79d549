/**
 * Lists the typos that are read as another value. Changes each valid call in one place, in every way that
 * an alphabet allows. Texts that are accepted with a different value are counted by their repairs, with an
 * example. Each kind must be a row of the parser's table; any other is a bug.
 *
 * Run it with `pnpm mutations`. Its argument `n` takes every nth call (default: 8; 1 takes all). A changed
 * text that is itself valid JSON does not count, because no parser can tell that it is wrong.
 */
import * as Arguments from "@fallible/core/Arguments"
import * as Result from "effect/Result"
import { isDeepStrictEqual } from "node:util"
import { areThere, missing, validCalls } from "../support/corpora.ts"

const alphabet: ReadonlyArray<string> = [
  ...Array.from("\"'`{}[]():,;.\\/*#-+=<>|&%$@!?~^_019eEntfNTFax \t\n\r"),
  // Quotes, white space and invisible characters.
  ..."“”‘’„«»＂".split(""),
  "\u00a0",
  "\u2028",
  "\u3000",
  "\u200b",
  "\ufeff",
  "\0",
  "\b",
  "\f",
  "\x1b",
  "\u007f",
  "\u0085",
  "é",
  "漢",
  "，",
  "：",
  "…",
  "\ud800"
]

const names: Readonly<Record<string, string>> = { "\n": "LF", "\r": "CR", "\t": "TAB", " ": "SPACE" }

const nameOf = (char: string): string =>
  /[0-9]/.test(char)
    ? "a digit"
    : /[\p{L}_]/u.test(char)
    ? "a letter"
    : names[char] ?? (/[\p{C}\p{Z}]/u.test(char) ? "U+" + char.charCodeAt(0).toString(16).padStart(4, "0") : char)

/** Yields each change of a text in one place, and its name. */
function* mutationsOf(text: string): Generator<readonly [kind: string, text: string]> {
  for (let at = 0; at <= text.length; at++) {
    const [before, after, char] = [text.slice(0, at), text.slice(at + 1), text[at]]
    if (char !== undefined) yield [`delete ${nameOf(char)}`, before + after]
    for (const other of alphabet) {
      if (char !== undefined && other !== char) {
        yield [`replace ${nameOf(char)} by ${nameOf(other)}`, before + other + after]
      }
      yield [`insert ${nameOf(other)}`, before + other + text.slice(at)]
    }
  }
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

interface Finding {
  count: number
  readonly changes: Map<string, number>
  readonly original: string
  readonly changed: string
  readonly value: object
}

const [every = "8"] = process.argv.slice(2)
const calls = validCalls().filter((_, index) => index % Math.max(1, Number(every)) === 0)
if (!areThere) console.log(missing)

const findings = new Map<string, Finding>()
let [changes, valid, same, different] = [0, 0, 0, 0]
for (const original of calls) {
  const intended: unknown = JSON.parse(original)
  for (const [change, changed] of mutationsOf(original)) {
    changes++
    const read = Arguments.parse(changed)
    if (Result.isFailure(read)) continue
    const { repairs, value } = read.success
    if (isDeepStrictEqual(value, intended)) {
      same++
      continue
    }
    if (isJson(changed)) {
      valid++
      continue
    }
    different++
    const kinds = repairs.map(({ kind, note }) => note === undefined ? kind : `${kind} (noted)`).join(", ")
    const one = findings.get(kinds) ?? { count: 0, changes: new Map(), original, changed, value }
    one.count++
    one.changes.set(change, (one.changes.get(change) ?? 0) + 1)
    findings.set(kinds, one)
  }
}

console.log(
  `${calls.length} calls, ${changes} changes of one character: ${same} read as the value that was meant, ${valid} valid JSON of another one, ` +
    `${different} repaired to another one`
)
for (const [kinds, one] of [...findings].toSorted(([, a], [, b]) => b.count - a.count)) {
  const changes = [...one.changes].toSorted(([, a], [, b]) => b - a)
  console.log(`\n${one.count} by ${kinds}`)
  console.log(
    `  ${changes.slice(0, 12).map(([change, count]) => `${change}: ${count}`).join("; ")}${
      changes.length > 12 ? "; …" : ""
    }`
  )
  console.log(`  ${JSON.stringify(one.changed).slice(0, 160)}\n  => ${JSON.stringify(one.value).slice(0, 160)}`)
}
