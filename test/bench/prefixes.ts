/**
 * Searches for texts that are read as another value after they are cut off or mistyped. Writes random
 * objects as models do, then reads all proper prefixes of each text, and variants with one typo: a
 * character deleted, doubled, or swapped with its neighbour.
 *
 * Run it with `pnpm prefixes`. Arguments: the number of prefixes (default: 1,000,000) and a seed (default:
 * a new one, which is printed).
 *
 * A prefix that is read as another value is a mistake. A typo that is read as another value may be a
 * mistake, so a person has to judge it. It is not reported if it only changes letters within one string,
 * key or number, or if JSON.parse, JavaScript or Python reads the same value. A prefix of white space
 * counts as no arguments. Words before the object are ignored.
 */
import { type Json, read } from "@fallible/arguments"
import { isDeepStrictEqual } from "node:util"
import { anyObject, inside, randomly, write } from "../support/dialects.ts"
import { javaScript, python, strict } from "../support/otherReaders.ts"

const [count = "1000000", seed = String(Date.now() % 1_000_000_007)] = process.argv.slice(2)
const next = randomly(Number(seed))
const maxListed = 20

const valueOf = (text: string): Json | undefined => {
  const result = read(text, { prose: true })
  return result.ok ? result.value : undefined
}

/** A text that was read as the wrong value. */
interface Finding {
  readonly of: string
  readonly text: string
  readonly value: Json
}

const mistakes: Array<Finding> = []
const slips: Array<Finding> = []
let [texts, refused, prefixes, changed, same, letters] = [0, 0, 0, 0, 0, 0]

const notBegun = /^[\ufeff\s]*$/

const checkPrefixes = (text: string, value: Json): void => {
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

/** Lists the keys and scalars of a value in order, each with its kind. */
const leavesOf = (value: Json): ReadonlyArray<string> =>
  typeof value !== "object" || value === null
    ? [`${value === null ? "null" : typeof value} ${String(value)}`]
    : Array.isArray(value)
    ? ["[", ...value.flatMap(leavesOf), "]"]
    : ["{", ...Object.entries(value).flatMap(([key, item]: [string, Json]) => [`key ${key}`, ...leavesOf(item)]), "}"]

// A surrogate pair is two escapes of six characters each.
const maxLetters = 12

/** True if two values differ only in the characters of one string, one key or one number. */
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
    Math.max(before.length, after.length) - start - tail <= maxLetters
}

const checkTypos = (text: string, value: Json): void => {
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
  // The parser refuses a text that needs more than two kinds of noted repairs.
  if (value === undefined) {
    refused++
    continue
  }
  if (!isDeepStrictEqual(value, object)) mistakes.push({ of: JSON.stringify(object), text, value })
  checkPrefixes(text, value)
  // With a duplicate key, a typo in one of the two makes a different key.
  if (!written.kinds.has("duplicate_key")) checkTypos(text, value)
}

const asPython = python(slips.map(({ text }) => text))
const toJudge = slips.filter(({ value }, index) => !isDeepStrictEqual(value, asPython?.[index]))

const shown = ({ of, text, value }: Finding): string =>
  `  ${JSON.stringify(text)}\n    => ${JSON.stringify(value)}\n    of ${JSON.stringify(of)}`
const shortest = (findings: ReadonlyArray<Finding>): string =>
  findings.toSorted((one, other) => one.text.length - other.text.length).slice(0, maxListed).map(shown).join("\n")

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
