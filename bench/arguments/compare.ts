/**
 * Compares readers of broken JSON: the values that they read from the same texts, and their cost. Prints
 * three Markdown tables.
 *
 * The readers have different purposes. jsonrepair repairs documents for people. partial-json and
 * best-effort-json-parser show JSON that is still streaming, so completing a cut-off text is their job. The
 * tables show what would run if a tool call were read with each of them.
 *
 * Only this folder depends on the libraries: `npx -y pnpm@12 compare` installs them and runs. The valid
 * calls come from `toolcalls_valid.json`, in the folder that `FALLIBLE_CORPORA` names, or else in
 * `../shared/corpora` beside the repository. Without that file, some calls of our own are used.
 */
import { Ajv } from "ajv"
import * as BestEffort from "best-effort-json-parser"
import { jsonrepair } from "jsonrepair"
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { isDeepStrictEqual } from "node:util"
import * as PartialJson from "partial-json"
import { Arguments, decode, message } from "../../packages/arguments/src/index.ts"
import { median, timed } from "../../test/support/measure.ts"

/** Returns the value of a text, or throws. */
type Reader = (text: string) => unknown

BestEffort.disableErrorLogging()
BestEffort.parse.onExtraToken = () => undefined

const readers: { readonly [name: string]: Reader } = {
  "JSON.parse": (text) => JSON.parse(text),
  "@fallible/arguments": (text) => {
    const decoded = decode(text, { type: "object" })
    if (!decoded.ok) throw new Error(decoded.refusal.kind)
    return decoded.value
  },
  jsonrepair: (text) => JSON.parse(jsonrepair(text)),
  "partial-json": (text) => PartialJson.parse(text),
  "best-effort-json-parser": (text) => BestEffort.parse(text)
}

const refused = Symbol("refused")

const outcome = (reader: Reader, text: string): unknown => {
  try {
    const value = reader(text)
    return value === undefined ? refused : value
  } catch {
    return refused
  }
}

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>) => {
  for (const row of [head, head.map((_, index) => index === 0 ? "---" : "---:"), ...rows]) {
    console.log(`| ${row.join(" | ")} |`)
  }
}

// -----------------------------------------------------------------------------
// The texts
// -----------------------------------------------------------------------------

const root = resolve(import.meta.dirname, "../..")
const corpora = process.env["FALLIBLE_CORPORA"] || join(root, "../shared/corpora")

const rowsIn = <Row>(file: string): ReadonlyArray<Row> => JSON.parse(readFileSync(file, "utf8"))

// Typical arguments: ids, amounts, text with quotes and line breaks, lists, dates with colons, code, non-ASCII text.
const samples = [
  { city: "Paris", unit: "celsius", days: 3 },
  { base: 10, height: 5, unit: "units" },
  { to: "ana@example.com", subject: "Re: lunch", body: "Hi Ana,\n\n\"12:30\" is fine.\n\nBest, Jo" },
  { amount: 1500.5, currency: "EUR", confirm: true, memo: null },
  { start: "2024-03-22T11:00:00Z", end: "2024-03-22T13:00:00+01:00", zone: "Europe/Paris" },
  { sql: "SELECT \"name\" FROM users WHERE id = 7 -- it's one", limit: 100 },
  { point1: [40.7128, -74.006], point2: [34.0522, -118.2437], unit: "degree" },
  { items: [{ id: 1, tags: ["a", "b"] }, { id: 2, tags: [] }], dry_run: false },
  { path: "C:\\Users\\jo\\a.txt", url: "https://example.com/a?b=c#d" },
  { command: "다용도실, 통돌이, 중지", name: "阿迪达斯", mood: "😀" },
  { code: "const a = {b: [1, 2]}; // it's done", language: "ts" },
  { filter: { and: [{ field: "age", op: ">", value: 25 }, { or: [] }] }, page: { size: 20 } }
]

const corpus = join(corpora, "toolcalls_valid.json")
const calls = existsSync(corpus)
  ? rowsIn<{ readonly input: string }>(corpus).map(({ input }) => input)
  : samples.map((sample) => JSON.stringify(sample))

interface PolicyRow {
  readonly input: string
  readonly verdict: "value" | "invalid"
  readonly expected: unknown
}

const policy = rowsIn<PolicyRow>(join(root, "test/corpora/policy.json"))

// -----------------------------------------------------------------------------
// Values
// -----------------------------------------------------------------------------

/** Every proper prefix of each call, except the empty one: an empty text is a call without arguments. */
const beginnings = calls.flatMap((call) => {
  const value: unknown = JSON.parse(call)
  return Array.from({ length: Math.max(0, call.trimEnd().length - 1) }, (_, index) => ({
    text: call.slice(0, index + 1),
    value
  }))
})

const readCutOff = (reader: Reader) => {
  const count = { refused: 0, same: 0, another: 0 }
  for (const { text, value } of beginnings) {
    const read = outcome(reader, text)
    count[read === refused ? "refused" : isDeepStrictEqual(read, value) ? "same" : "another"]++
  }
  return count
}

const readPolicy = (reader: Reader) => {
  const count = { right: 0, wrong: 0, lost: 0 }
  for (const { expected, input, verdict } of policy) {
    const read = outcome(reader, input)
    const isRight = verdict === "invalid" ? read === refused : isDeepStrictEqual(read, expected)
    count[isRight ? "right" : read === refused ? "lost" : "wrong"]++
  }
  return count
}

const share = (part: number, whole: number) =>
  part === 0 ? "none" : part === whole ? "all" : `${(100 * part / whole).toFixed(1)} %`

console.log(
  `${beginnings.length} texts that were cut off: every beginning of ${calls.length} valid calls. And the ${policy.length} texts of policy.json.\n`
)
table(
  [
    "reader",
    "cut off: refused",
    "cut off: same value",
    "cut off: another value",
    "policy: right",
    "policy: wrong",
    "policy: refused"
  ],
  Object.entries(readers).map(([name, reader]) => {
    const { another, refused, same } = readCutOff(reader)
    const { lost, right, wrong } = readPolicy(reader)
    const all = beginnings.length
    return [name, share(refused, all), share(same, all), share(another, all), `${right}`, `${wrong}`, `${lost}`]
  })
)

// -----------------------------------------------------------------------------
// Cost
// -----------------------------------------------------------------------------

const order = {
  id: 1234,
  name: "Ana Lopez",
  active: true,
  memo: null,
  tags: ["a", "b"],
  at: { city: "Madrid", zip: "28001" },
  total: 12.5
}

const large = 256_000
const valid = JSON.stringify(order)
const said = "He said \"hi\" to me. ".repeat(800)

interface Text {
  readonly name: string
  readonly text: string
  readonly meant: unknown
}

const ofOrders = (name: string, written: string): Text => {
  const count = Math.round(large / (written.length + 1))
  return {
    name: `${name}, 256 KB`,
    text: `{"a":[${Array.from({ length: count }, () => written).join()}]}`,
    meant: { a: Array.from({ length: count }, () => order) }
  }
}

const texts: ReadonlyArray<Text> = [
  ofOrders("valid", valid),
  ofOrders("single quotes", valid.replaceAll("\"", "'")),
  ofOrders("Python constants", valid.replaceAll("true", "True").replaceAll("null", "None")),
  ofOrders("trailing commas", valid.replaceAll(/[}\]]/g, ",$&")),
  { name: "unescaped quotes, 16 KB", text: `{"text":"${said}"}`, meant: { text: said } }
]

// Doubles the runs until the clock's resolution is negligible. Measures each count twice, because first runs are slow.
const runsOf = (run: () => unknown): number => {
  let runs = 1
  while (Math.min(timed(run, runs), timed(run, runs)) < 20_000) runs *= 2
  return runs
}

const rounds = 9

/** Returns each reader's nanoseconds per character (medians of interleaved rounds), and how it read the text. */
const costsOf = ({ meant, text }: Text): ReadonlyArray<string> => {
  const subjects = Object.values(readers).map((reader) => {
    const run = () => outcome(reader, text)
    const read = run()
    const became = read === refused ? "refused" : isDeepStrictEqual(read, meant) ? "" : "another value"
    return { run, runs: runsOf(run), became, costs: new Array<number>() }
  })
  for (let round = 0; round < rounds; round++) {
    for (const { costs, run, runs } of subjects) costs.push(timed(run, runs) / runs)
  }
  return subjects.map(({ became, costs }) => {
    const cost = (1000 * median(costs) / text.length).toFixed(1)
    return became === "" ? cost : `${cost} (${became})`
  })
}

console.log(`\nNanoseconds of CPU a character, Node ${process.version}.\n`)
table(
  ["text", ...Object.keys(readers)],
  texts.map((text) => [text.name, ...costsOf(text)])
)

// -----------------------------------------------------------------------------
// Small calls
// -----------------------------------------------------------------------------

const schema = {
  type: "object",
  properties: {
    city: { type: "string" },
    days: { type: "integer", minimum: 1, maximum: 14 },
    unit: { type: "string", enum: ["celsius", "fahrenheit"] }
  },
  required: ["city"],
  additionalProperties: false
}
const forecast = Arguments.of(schema)
const validate = new Ajv({ allErrors: true }).compile(schema)

const checkers: { readonly [name: string]: (text: string) => unknown } = {
  "JSON.parse": (text) => JSON.parse(text),
  "@fallible/arguments": (text) => {
    const decoded = forecast.decode(text)
    return decoded.ok ? decoded.value : message(decoded.refusal)
  },
  "JSON.parse and ajv": (text) => validate(JSON.parse(text)) || validate.errors,
  "jsonrepair and ajv": (text) => validate(JSON.parse(jsonrepair(text))) || validate.errors
}

const smallCalls = {
  valid: "{\"city\":\"Paris\",\"days\":3,\"unit\":\"celsius\"}",
  "a number as text": "{\"city\":\"Paris\",\"days\":\"3\",\"unit\":\"celsius\"}",
  "out of bounds": "{\"city\":\"Paris\",\"days\":30,\"unit\":\"celsius\"}",
  "three mistakes": "{\"town\":\"Paris\",\"days\":\"x\",\"unit\":\"kelvin\"}",
  "cut off": "{\"city\":\"Paris\",\"days\":3,\"unit\":\"cel"
}

const costOf = (checker: (text: string) => unknown, text: string) => {
  const run = () => outcome(checker, text)
  const runs = runsOf(run)
  // The compiler takes a while to know so much code.
  for (let round = 0; round < 40; round++) timed(run, runs)
  return median(Array.from({ length: rounds }, () => timed(run, runs) / runs))
}

const unit = costOf(JSON.parse, smallCalls.valid)
console.log(`\nA small call, relative to JSON.parse of the valid one (${(1000 * unit).toFixed(0)} ns).\n`)
table(
  ["call", ...Object.keys(checkers)],
  Object.entries(smallCalls).map(([name, text]) => [
    name,
    ...Object.values(checkers).map((checker) => (costOf(checker, text) / unit).toFixed(1))
  ])
)

// A union of many members without a tag, none of which fits: the worst case of a schema. Each schema is new.
const unionOf = (count: number) => ({
  type: "object",
  properties: {
    items: {
      type: "array",
      items: {
        anyOf: Array.from({ length: count }, (_, index) => ({
          type: "object",
          properties: { [`f${index}`]: { type: "integer" }, x: { type: "integer" } },
          required: ["x"]
        }))
      }
    }
  }
})
const [written, items] = [
  JSON.stringify(unionOf(8_000)),
  JSON.stringify({ items: Array.from({ length: 200 }, () => ({ x: "z" })) })
]
const parsing = median(Array.from({ length: 9 }, () => timed(() => [JSON.parse(written), JSON.parse(items)])))
const deciding = median(
  Array.from({ length: 3 }, () => {
    const union: object = JSON.parse(written)
    return timed(() => decode(items, union))
  })
)
console.log(
  `\n200 items that fit none of 8,000 members of a union: ${
    (deciding / parsing).toFixed(0)
  } times JSON.parse of schema and text.`
)
