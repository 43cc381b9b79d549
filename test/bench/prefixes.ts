/**
 * Is a text that was cut off, or has one slip of the pen, ever read as another value? Objects at random are written as models write them; of each text all
 * proper prefixes are read, and some texts with one character deleted, doubled or swapped with its neighbour. Run it with `pnpm prefixes`; its arguments are
 * how many prefixes (default: a million) and a seed (default: another one each time, which is printed).
 *
 * A prefix with another value is a mistake. A slip with another value may be one, unless it is in the letters of one text, or JSON.parse, JavaScript or Python
 * read the same: a person has to look.
 * A prefix of which nothing is left but white space was never begun, and counts as no arguments; words before the object are no text of their own.
 */
import { type Json, read } from "@fallible/arguments"
import { isDeepStrictEqual } from "node:util"
import { anyObject, inside, randomly, write } from "../support/dialects.ts"
import { javaScript, python, strict } from "../support/otherReaders.ts"

const [count = "1000000", seed = String(Date.now() % 1_000_000_007)] = process.argv.slice(2)
const next = randomly(Number(seed))
const mostListed = 20

const valueOf = (text: string): Json | undefined => {
  const found = read(text, { prose: true })
  return found.ok ? found.value : undefined
}

/** A text and what it was read as, which it should not have been. */
interface Finding {
  readonly of: string
  readonly text: string
  readonly value: Json
}

const mistakes: Array<Finding> = []
const slips: Array<Finding> = []
let [texts, refused, prefixes, changed, same, letters] = [0, 0, 0, 0, 0, 0]

const notBegun = /^[\ufeff\s]*$/

const cutOff = (text: string, value: Json): void => {
  for (let cut = 1; cut < text.length; cut++) {
    const prefix = text.slice(0, cut)
    prefixes++
    const got = valueOf(prefix)
    if (got !== undefined && !notBegun.test(prefix) && !isDeepStrictEqual(got, value)) {
      mistakes.push({ of: text, text: prefix, value: got })
    }
  }
}

const changes: ReadonlyArray<(text: string, at: number) => string> = [
  (text, at) => text.slice(0, at) + text.slice(at + 1),
  (text, at) => text.slice(0, at + 1) + text.slice(at),
  (text, at) => text.slice(0, at) + text.charAt(at + 1) + text.charAt(at) + text.slice(at + 2)
]

/** The keys and scalars of a value, in its order, each with the kind of what it is. */
const leavesOf = (value: Json): ReadonlyArray<string> =>
  typeof value !== "object" || value === null
    ? [`${value === null ? "null" : typeof value} ${String(value)}`]
    : Array.isArray(value)
    ? ["[", ...value.flatMap(leavesOf), "]"]
    : ["{", ...Object.entries(value).flatMap(([key, item]: [string, Json]) => [`key ${key}`, ...leavesOf(item)]), "}"]

// An escape is six letters, two of them a pair.
const mostLetters = 12

/** Is the slip in a text, a key or a number, and the other value for that reason alone? */
const isOfLetters = (one: Json, other: Json): boolean => {
  const [ones, others] = [leavesOf(one), leavesOf(other)]
  const different = ones.flatMap((leaf, index) => leaf === others[index] ? [] : [[leaf, others[index] ?? ""] as const])
  const [[before, after] = ["", ""], ...more] = different
  if (ones.length !== others.length || more.length > 0) return false
  if (before.startsWith("number ") && after.startsWith("number ")) return true
  const end = Math.min(before.length, after.length)
  let start = 0
  while (start < end && before[start] === after[start]) start++
  let tail = 0
  while (tail < end - start && before.at(-1 - tail) === after.at(-1 - tail)) tail++
  return /^(?:string|key) /.test(before.slice(0, start)) &&
    Math.max(before.length, after.length) - start - tail <= mostLetters
}

const slipped = (text: string, value: Json): void => {
  for (let left = Math.min(20, text.length); left > 0; left--) {
    const slip = changes[next(changes.length)]!(text, next(text.length))
    changed++
    const got = valueOf(slip)
    if (got === undefined) continue
    if (isDeepStrictEqual(got, value)) same++
    else if (isOfLetters(value, got)) letters++
    else if (![strict(slip), javaScript(slip)].some((other) => isDeepStrictEqual(got, other))) {
      slips.push({ of: text, text: slip, value: got })
    }
  }
}

const began = performance.now()
while (prefixes < Number(count)) {
  const object = anyObject(next)
  const written = write(object, next, inside.filter(() => next(2) === 0))
  const { text } = written
  texts++
  const value = valueOf(text)
  // Of repairs that are told there may be two kinds at most.
  if (value === undefined) {
    refused++
    continue
  }
  if (!isDeepStrictEqual(value, object)) mistakes.push({ of: JSON.stringify(object), text, value })
  cutOff(text, value)
  // A slip in one of two equal keys makes another key of it.
  if (!written.kinds.has("duplicate_key")) slipped(text, value)
}

const asPython = python(slips.map(({ text }) => text))
const toJudge = slips.filter(({ value }, index) => !isDeepStrictEqual(value, asPython?.[index]))

const shown = ({ of, text, value }: Finding): string =>
  `  ${JSON.stringify(text)}\n    => ${JSON.stringify(value)}\n    of ${JSON.stringify(of)}`
const shortest = (findings: ReadonlyArray<Finding>): string =>
  findings.toSorted((one, other) => one.text.length - other.text.length).slice(0, mostListed).map(shown).join("\n")

console.log(`${texts} texts (${refused} refused), seed ${seed}, ${((performance.now() - began) / 1000).toFixed(0)} s`)
console.log(
  `${prefixes} prefixes, ${changed} slips, ${same} of them read as the value that was meant, ${letters} with other letters`
)
if (toJudge.length > 0) {
  console.log(`TO JUDGE, ${toJudge.length} slips that nobody else reads so:\n${shortest(toJudge)}`)
}
if (mistakes.length === 0) console.log("Nothing found.")
else {
  console.log(`WRONG, ${mistakes.length} prefixes or texts with another value:\n${shortest(mistakes)}`)
  process.exitCode = 1
}
