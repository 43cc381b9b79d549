/**
 * Compares `read` with other readers: JSON.parse, JavaScript (`vm`) and Python (`ast.literal_eval`, if
 * `python3` is installed). The texts are random, in the dialects of models and from pieces of their
 * grammar. If another reader reads a text as plain JSON and `read` accepts it, both must have the same
 * value.
 *
 * Run it with `pnpm differential`. Arguments: the number of texts (default: 300,000) and a seed (default: a
 * new one, which is printed).
 *
 * Two differences are intended, and not reported. `null` and `[]` count as no arguments. In double quotes,
 * `\/` is a slash as in JSON, although Python keeps the backslash.
 */
import { type Json, read } from "@fallible/arguments"
import { isDeepStrictEqual } from "node:util"
import { anyObject, inside, randomly, write } from "../support/dialects.ts"
import { javaScript, python, strict } from "../support/otherReaders.ts"

const [count = "300000", seed = String(Date.now() % 1_000_000_007)] = process.argv.slice(2)
const next = randomly(Number(seed))
const pick = <A>(all: ReadonlyArray<A>): A => all[next(all.length)]!
const maxListed = 20
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
  // The dialects of JavaScript and of Python, and one that neither reads.
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

// A string may contain the object. The round trip through JSON drops the sign of -0, which Python does not keep.
const argumentsIn = (value: Json | undefined): Json | undefined => {
  const inner = typeof value === "string" ? strict(value) : value
  return isObject(inner) ? unsigned(inner!) : undefined
}

const unsigned = (value: Json): Json => JSON.parse(JSON.stringify(value))

const findings = new Map<string, Array<string>>()
const report = (reader: string, text: string, ours: Json, theirs: Json): void => {
  const earlier = findings.get(reader) ?? []
  findings.set(reader, [
    ...earlier,
    `  ${JSON.stringify(text)}\n    => ${JSON.stringify(ours)}\n    ${reader}: ${JSON.stringify(theirs)}`
  ])
}

const compared = new Map<string, number>()
const compare = (reader: string, text: string, ours: Json, theirs: Json | undefined): void => {
  const value = argumentsIn(theirs)
  if (value === undefined) return
  compared.set(reader, (compared.get(reader) ?? 0) + 1)
  if (!isDeepStrictEqual(ours, value)) report(reader, text, ours, value)
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
for (const [reader, all] of findings) {
  console.log(`WRONG, ${all.length} times by ${reader}:`)
  console.log(all.toSorted((one, other) => one.length - other.length).slice(0, maxListed).join("\n"))
  process.exitCode = 1
}
