/**
 * Is what is accepted what others read, too? Texts at random, in the dialects of models and from pieces near their grammar, are read by `read`, by JSON.parse, by JavaScript
 * (`vm`) and by Python (`ast.literal_eval`, where there is a `python3`). Where one of these reads a text as plain JSON, and `read` accepts it, both have to have
 * the same value. Run it with `pnpm differential`; its arguments are how many texts (default: 300,000) and a seed (default: another one each time, which is printed).
 *
 * Two differences are meant, and not told: `null` and `[]` are no arguments, and between double quotes `\/` is JSON's slash, before which Python keeps the backslash.
 */
import { type Json, read } from "@fallible/arguments"
import { isDeepStrictEqual } from "node:util"
import { anyObject, inside, randomly, write } from "../support/dialects.ts"
import { javaScript, python, strict } from "../support/otherReaders.ts"

const [count = "300000", seed = String(Date.now() % 1_000_000_007)] = process.argv.slice(2)
const next = randomly(Number(seed))
const pick = <A>(all: ReadonlyArray<A>): A => all[next(all.length)]!
const mostListed = 20
const batch = 50_000

// -----------------------------------------------------------------------------
// Texts
// -----------------------------------------------------------------------------

const pieces = [
  ..."{}[]::,,\"\"''\\/#*-+.e01 \n\n\t\r\f`()".split(""),
  ..."\u00a0\u2028\ufeff\0".split(""),
  "\"a\":",
  "'b':",
  "c:",
  "\"c\": ",
  "{\"a\":",
  "[1,2]",
  "[]",
  "{}",
  "1",
  "-1",
  "-0",
  "0.5",
  "1e5",
  "1E-7",
  "1_0",
  "0x1",
  "01",
  "9007199254740993",
  "true",
  "True",
  "None",
  "null",
  "NaN",
  "// c\n",
  "//\n",
  "// 2\n",
  "# c\n",
  "/* c */",
  "/* 1 */",
  "\\n",
  "\\u0041",
  "\\x41",
  "\\'",
  "\\\"",
  "\\\\",
  "\\/",
  "\\\n",
  "\\0",
  "\\a",
  "\\v",
  "'x'",
  "\"y\"",
  "\"\"\"",
  "'''",
  "b'",
  "r\"",
  "...",
  ",\n",
  "\n\"d\":",
  "\n2",
  "\n[0]",
  " if 1 else 2"
]
const starts = [
  "{",
  "{\"a\":",
  "{'a':",
  "{a:",
  "{\"a\":[",
  "{'a':[",
  "{\"a\":\"",
  "{'a':'",
  "\"{",
  "'{\"a\":",
  "{\"a\": {"
]
const ends = ["}", "]}", "\"}", "'}", "}}", "}\"", "}'", ",}", ",]}", "\n}", ""]

const soup = (): string => {
  let text = pick(starts)
  for (let left = 1 + next(7); left > 0; left--) text += pick(pieces)
  return text + pick(ends)
}

const dialects = [
  // What JavaScript reads, what Python reads, what neither does.
  ["comment", "single_quotes", "trailing_comma", "unquoted_key", "duplicate_key"],
  ["single_quotes", "trailing_comma", "python_constant", "duplicate_key"],
  inside
] as const

const written = (): string => write(anyObject(next), next, pick(dialects)).text

const mangled = (): string => {
  let text = written()
  for (let left = 1 + next(3); left > 0; left--) {
    const at = next(text.length + 1)
    text = text.slice(0, at) + (next(3) === 0 ? "" : pick(pieces)) + text.slice(at + next(3))
  }
  return text
}

const textOf = (): string => pick([soup, soup, soup, written, mangled])()

// -----------------------------------------------------------------------------
// Readers
// -----------------------------------------------------------------------------

const isObject = (value: Json | undefined): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value)

// A string may hold the object. Zero has no sign in Python, and a key that stands twice has its last value where others read it.
const asArguments = (value: Json | undefined): Json | undefined => {
  const inner = typeof value === "string" ? strict(value) : value
  return isObject(inner) ? unsigned(inner!) : undefined
}

const unsigned = (value: Json): Json => JSON.parse(JSON.stringify(value))

const findings = new Map<string, Array<string>>()
const found = (who: string, text: string, ours: Json, theirs: Json): void => {
  const known = findings.get(who) ?? []
  findings.set(who, [
    ...known,
    `  ${JSON.stringify(text)}\n    => ${JSON.stringify(ours)}\n    ${who}: ${JSON.stringify(theirs)}`
  ])
}

const compared = new Map<string, number>()
const compare = (who: string, text: string, ours: Json, theirs: Json | undefined): void => {
  const value = asArguments(theirs)
  if (value === undefined) return
  compared.set(who, (compared.get(who) ?? 0) + 1)
  if (!isDeepStrictEqual(ours, value)) found(who, text, ours, value)
}

const began = performance.now()
let accepted = 0
let hasPython = true
for (let left = Number(count); left > 0; left -= batch) {
  const repaired: Array<readonly [text: string, value: Json]> = []
  for (let index = Math.min(left, batch); index > 0; index--) {
    const text = textOf()
    const got = read(text)
    if (!got.ok || got.repairs.length === 0) continue
    accepted++
    const ours = unsigned(got.value)
    repaired.push([text, ours])
    compare("JSON.parse", text, ours, strict(text))
    compare("JavaScript", text, ours, javaScript(text))
  }
  const theirs: ReadonlyArray<Json | undefined> | undefined = hasPython
    ? python(repaired.map(([text]) => text))
    : undefined
  hasPython = theirs !== undefined
  repaired.forEach(([text, ours], index) => {
    if (!/(?<!\\)(?:\\\\)*\\\//.test(text)) compare("Python", text, ours, theirs?.[index])
  })
}

console.log(
  `${count} texts, seed ${seed}, ${
    ((performance.now() - began) / 1000).toFixed(0)
  } s: ${accepted} accepted with a repair`
)
console.log("compared with:", Object.fromEntries(compared))
if (!hasPython) console.log("There is no python3 here: Python was not asked.")
if (findings.size === 0) console.log("Nothing found.")
for (const [who, all] of findings) {
  console.log(`WRONG, ${all.length} times by ${who}:`)
  console.log(all.toSorted((one, other) => one.length - other.length).slice(0, mostListed).join("\n"))
  process.exitCode = 1
}
