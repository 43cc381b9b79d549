/**
 * Fuzzes the readers: each text, and each value with a schema, must quickly give a value or a refusal.
 *
 * The texts are random, or made of pieces of JSON and of the text that models put around it. They go
 * through `Arguments.parse`, `preview` and `decode`. The pairs are a schema with any supported keywords and
 * a value near it. One worker per core checks the laws of `fit`, `coerce`, `fits` and `explain` for them.
 *
 * Run it with `pnpm fuzz`. Arguments: the number of texts (default: 1,000,000), a seed (default: a new one,
 * which is printed) and the number of pairs (default: 400,000).
 */
import { coerce } from "@fallible/arguments/internal"
import * as Arguments from "@fallible/core/Arguments"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { availableParallelism } from "node:os"
import { isDeepStrictEqual } from "node:util"
import { Worker } from "node:worker_threads"
import { validCalls } from "../support/corpora.ts"
import { randomly } from "../support/dialects.ts"
import type { Report } from "../support/pairs.ts"

const [count = "1000000", seed = String(Date.now() % 1_000_000_007), pairs = "400000"] = process.argv.slice(2)
const next = randomly(Number(seed))
const pick = <A>(all: ReadonlyArray<A>): A => all[next(all.length)]!

// -----------------------------------------------------------------------------
// Texts
// -----------------------------------------------------------------------------

const calls = validCalls()

const pieces = [
  ..."{}[]{}[]::::,,,,\"\"''\\/#*`()<>|=+-.;!? \n\t\r".split(""),
  ..."“”‘’„…\u00a0\u2028\ufeff\0\x1b\ud800é漢".split(""),
  "\"a\"",
  "\"a\":",
  "\"b\":",
  "'c':",
  "d:",
  "“e”:",
  "{\"a\":1}",
  "{\"a\":",
  "[1,2]",
  "{}",
  "[]",
  "1",
  "-0",
  "0.5",
  "1e5",
  "1e999",
  "01",
  "9007199254740993",
  "true",
  "false",
  "null",
  "True",
  "None",
  "NaN",
  "undefined",
  "\"__proto__\":",
  "__proto__:",
  "\"\\u005f_proto__\":{\"x\":1}",
  "\"constructor\":{\"prototype\":",
  "constructor:",
  "prototype:",
  "\\\"",
  "\\\\",
  "\\n",
  "\\u00e9",
  "\\u00",
  "\\ud83d",
  "\\x",
  "//",
  "/*",
  "*/",
  "// c\n",
  "# c\n",
  "/* c */",
  "```",
  "```json\n",
  "\n```",
  "<|im_end|>",
  "<|x",
  "<tool_call>",
  "</tool_call>",
  "</function>",
  "<s>",
  "Here you are: ",
  "name ",
  "name: ",
  " Done.",
  "...",
  "it's",
  "f(",
  ")",
  " + ",
  "text "
]

const soup = (): string => {
  let text = next(3) === 0 ? "" : pick(["{", "{\"a\":", "{\"a\":[", "{'a':'", "```\n{", " {a:"])
  for (let left = next(16); left > 0; left--) text += pick(pieces)
  return next(3) === 0 ? `${text}${pick(["}", "]}", "\"}", "'}", "}\n```"])}` : text
}

const noise = (): string => {
  let text = ""
  for (let left = next(24); left > 0; left--) text += String.fromCharCode(next(next(3) === 0 ? 0x10000 : 0x80))
  return text
}

/** Changes a valid call in a few places. */
const mangled = (): string => {
  let text = pick(calls)
  for (let left = 1 + next(4); left > 0; left--) {
    const at = next(text.length + 1)
    text = text.slice(0, at) + (next(4) === 0 ? "" : pick(pieces)) + text.slice(at + next(4))
  }
  return text
}

/** Inserts or appends a part of one call to a part of another. */
const spliced = (): string => {
  const [one, other] = [pick(calls), pick(calls)]
  const [cut, from] = [next(one.length + 1), next(other.length + 1)]
  return one.slice(0, cut) + other.slice(from, from + next(40)) + (next(2) === 0 ? one.slice(cut) : "")
}

/** Repeats one piece many times, which exposes quadratic time. */
const repeated = (): string => {
  const times = 1 + next(400)
  return pick(["", "{", "{\"a\":", "{\"a\":[", "x "]) +
    (pick(pieces) + (next(2) === 0 ? pick(pieces) : "")).repeat(times) + pick(["", "}", "x"])
}

const kindsOfText = { soup, noise, mangled, spliced, repeated }
type KindOfText = keyof typeof kindsOfText
const often: ReadonlyArray<KindOfText> = [
  "soup",
  "soup",
  "soup",
  "soup",
  "noise",
  "mangled",
  "mangled",
  "mangled",
  "spliced"
]

// -----------------------------------------------------------------------------
// Laws
// -----------------------------------------------------------------------------

const schemas: ReadonlyArray<Schema.ConstraintDecoder<unknown>> = [
  Schema.Record(Schema.String, Schema.Json),
  Schema.Struct({}),
  Schema.Struct({ a: Schema.Int, b: Schema.optionalKey(Schema.String) }),
  Schema.Struct({
    a: Schema.optionalKey(Schema.Array(Schema.Finite)),
    b: Schema.optionalKey(Schema.Struct({ c: Schema.NullOr(Schema.Boolean), d: Schema.optionalKey(Schema.BigInt) })),
    unit: Schema.optionalKey(Schema.Literals(["celsius", "fahrenheit"])),
    days: Schema.optionalKey(Schema.Union([Schema.Date, Schema.Int]))
  })
]

const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null

const isTainted = (value: unknown): boolean => {
  if (!isContainer(value)) return typeof value === "number" && !Number.isFinite(value)
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== Array.prototype) return true
  for (const [key, item] of Object.entries(value)) {
    if (key === "__proto__" || key === "constructor" && isContainer(item) && Object.hasOwn(item, "prototype")) {
      return true
    }
    if (isTainted(item)) return true
  }
  return false
}

const frozen = <A>(value: A): A => {
  if (isContainer(value)) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}

const strict = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const complaints = new Map<string, { count: number; readonly text: string }>()
const complain = (what: string, text: string) => {
  const complaint = complaints.get(what)
  if (complaint === undefined) complaints.set(what, { count: 1, text })
  else complaint.count++
}

const accepted = new Map<string, number>()
const refused = new Map<string, number>()
const add = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1)

const check = (text: string): void => {
  const read = Arguments.parse(text)
  Arguments.preview(text)
  if (Result.isFailure(read)) {
    const { detail, fault } = read.failure
    add(refused, fault?.kind ?? "without a fault")
    if (fault === undefined || fault.offset < 0 || fault.offset > text.length) complain("a fault out of the text", text)
    if (detail.length > 3_000) complain("a detail without an end", text)
    return
  }
  const { repairs, value } = read.success
  if (repairs.length === 0) add(accepted, "as it is")
  for (const { kind } of repairs) add(accepted, kind)
  if (isTainted(value)) complain("a value with a prototype of its own, or none", text)
  if (repairs.filter(({ note }) => note !== undefined).length > 2) complain("more than two noted repairs", text)
  // V8 may confuse a key with an escape with a key of an earlier text, so such a text is not parsed again.
  const second = text.includes("\\") ? value : strict(text)
  if (repairs.length === 0 && !isDeepStrictEqual(value, second)) {
    complain("accepted as it is, but not as JSON.parse reads it", text)
  }
  if (isContainer(second) && !Array.isArray(second) && !isDeepStrictEqual(value, second)) {
    complain("not what JSON.parse reads", text)
  }
  if (Object.keys(value).length === 0 && repairs.some(({ kind }) => kind === "no_arguments") && /[{:"]/.test(text)) {
    complain("no arguments, of a text that has some", text)
  }
  const parameters = pick(schemas)
  Effect.runSync(Effect.result(Arguments.decode(text, { parameters })))
  // Writing to a frozen value would throw.
  coerce(frozen(value), Arguments.jsonSchema(parameters))
}

const prototypes = () =>
  [Object.prototype, Array.prototype].map((prototype) => Reflect.ownKeys(prototype).length).join()

const microsOf = (text: string): number => {
  const start = performance.now()
  Arguments.parse(text)
  Arguments.preview(text)
  return 1000 * (performance.now() - start)
}

const before = prototypes()
const slowest = { micros: 0, text: "" }
const began = performance.now()
for (let index = 0; index < Number(count); index++) {
  // Long texts are rare, because short ones expose most mistakes.
  const text = kindsOfText[index % 50 === 0 ? "repeated" : pick(often)]()
  const start = performance.now()
  try {
    check(text)
  } catch (error) {
    complain(`a crash: ${String(error).slice(0, 80)}`, text)
  }
  const micros = 1000 * (performance.now() - start)
  // The first texts are slow because the code is cold.
  if (index < 10_000 || micros <= slowest.micros) continue
  // Measures again, because the garbage collector may have run.
  const quickest = Math.min(micros, ...[1, 2, 3].map(() => microsOf(text)))
  if (quickest > slowest.micros) Object.assign(slowest, { micros: quickest, text })
}
if (prototypes() !== before) complain("a prototype that was changed", "")

const listed = (counts: ReadonlyMap<string, number>) =>
  Object.fromEntries([...counts].toSorted(([, a], [, b]) => b - a))

console.log(`${count} texts, seed ${seed}, ${((performance.now() - began) / 1000).toFixed(0)} s`)
console.log("accepted, by repair:", listed(accepted))
console.log("refused, by kind:", listed(refused))
console.log(
  `slowest: ${(slowest.micros / 1000).toFixed(2)} ms for ${slowest.text.length} units: ${
    JSON.stringify(slowest.text.slice(0, 100))
  }`
)
for (const [what, { count, text }] of complaints) console.log(`WRONG, ${count} times: ${what}: ${JSON.stringify(text)}`)

// -----------------------------------------------------------------------------
// Values and schemas
// -----------------------------------------------------------------------------

const cores = availableParallelism()
const url = new URL("../support/pairs.ts", import.meta.url)
const started = performance.now()
const counts = new Map<string, number>()
const worst = { millis: 0, pair: "" }
const wrong = new Map<string, { readonly count: number; readonly pair: string }>()
const complainOfPair = (what: string, count: number, pair: string) => {
  const complaint = wrong.get(what)
  const shorter = complaint === undefined || pair.length < complaint.pair.length ? pair : complaint.pair
  wrong.set(what, { count: count + (complaint?.count ?? 0), pair: shorter })
}
await Promise.all(Array.from({ length: cores }, (_, index) =>
  new Promise<void>((done) => {
    const seedOf = Number(seed) + 7919 * index
    // The index of the current pair, because a worker that runs out of memory cannot report it.
    const at = new Int32Array(new SharedArrayBuffer(4))
    const worker = new Worker(url, { workerData: { count: Math.ceil(Number(pairs) / cores), seed: seedOf, at } })
    worker.on("message", (report: Report) => {
      for (const [what, count] of report.counts) counts.set(what, (counts.get(what) ?? 0) + count)
      if (report.slowest.millis > worst.millis) Object.assign(worst, report.slowest)
      for (const [what, { count, pair }] of report.complaints) complainOfPair(what, count, pair)
    })
    worker.on(
      "error",
      (error) => complainOfPair(`a worker died: ${String(error)}`, 1, `pair ${at[0]} of seed ${seedOf}`)
    )
    worker.on("exit", () => done())
  })))
console.log(`${pairs} pairs, seed ${seed}, ${cores} workers, ${((performance.now() - started) / 1000).toFixed(0)} s`)
console.log("pairs:", listed(counts))
console.log(`slowest: ${worst.millis.toFixed(1)} ms: ${worst.pair.slice(0, 300)}`)
for (const [what, { count, pair }] of wrong) console.log(`WRONG, ${count} times: ${what}: ${pair}`)
if (complaints.size + wrong.size === 0) console.log("Nothing found.")
else process.exitCode = 1
